/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events from the ring buffer to the controller. The buffer is pinned: what
 * happened while no agent was there is delivered to the next one.
 */
#ifndef BPF_EVENTS_H
#define BPF_EVENTS_H

#include "ctl/ports.h"
#include "lib/cleanup.h"

struct event_reader;

struct event_setup {
	int events_fd, budgets_fd; /* maps, borrowed for the reader's life */
	struct kernel_sink sink;
};

int events_open(const struct event_setup *setup, struct event_reader **ret_reader);
void events_close(struct event_reader *reader);

/* Readable when there are events; for an event loop. Borrowed. */
int events_fd(const struct event_reader *reader);
/* Hand on what is there, without waiting. Number of events, or a negative errno. */
int events_dispatch(struct event_reader *reader);
/*
 * Report, as events of kind "suppressed", what cgroups were over budget with and
 * no later event has told. Call it about once a second.
 */
void events_sweep(struct event_reader *reader);

/* The record of an event as the kernel sent it. Pure: numbers out of range become none. */
void event_read(const struct event *event, struct event_record *ret_record);

#endif
