/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes events from the ring buffer to the controller. The buffer is pinned: events that
 * occur while no agent runs are delivered to the next agent.
 */
#ifndef BPF_EVENTS_H
#define BPF_EVENTS_H

#include "bpf/bpf_objects.h"
#include "ctl/ports.h"
#include "lib/cleanup.h"

struct event_reader;

struct event_setup {
	int events_fd, budgets_fd; /* maps, borrowed for the reader's life */
	/* borrowed; may have the map of process 1's clients, which is loaded later */
	const struct bpf_objects *objects;
	struct kernel_sink sink;
};

/* Maps the ring buffer into memory. The descriptors remain the caller's. Negative errno. */
int events_open(const struct event_setup *setup, struct event_reader **ret_reader);
/* Events that were not dispatched remain in the ring buffer. NULL is accepted. */
void events_close(struct event_reader *reader);

/* Readable if there are events; for an event loop. Borrowed. */
int events_fd(const struct event_reader *reader);
/* Pass on the available events without waiting. Returns their number or a negative errno. */
int events_dispatch(struct event_reader *reader);
/*
 * Report, as events of kind "suppressed", the number of events that cgroups had beyond their
 * budget and that no later event has reported, and free the budgets of earlier seconds. Call it about
 * once per second.
 */
void events_sweep(struct event_reader *reader);

/*
 * Name the client for which process 1 did what an event of `time_ns` (CLOCK_BOOTTIME) reports: the only
 * one that connected within five seconds before. The record stays as it is if there is none, or several.
 */
void event_name_client(const struct pid1_clients *clients, uint64_t time_ns,
		       struct event_record *record);
/* Convert an event of the kernel to a record. Pure: numbers out of range are replaced by none. */
void event_read(const struct event *event, struct event_record *ret_record);

#endif
