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
	uint32_t mask_words; /* of a CPU mask in an event */
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

struct event;
/* An event as the controller wants it; pure. */
void event_translate(const struct event *event, uint32_t mask_words,
		     struct kernel_event *ret_event);

#endif
