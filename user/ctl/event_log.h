/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: a ring of events for `pinfold event`, and a journal line for each of them,
 * subject to the rate limit. It is not a history: the oldest events are overwritten, and a gap
 * in the sequence numbers shows how many.
 */
#ifndef CTL_EVENT_LOG_H
#define CTL_EVENT_LOG_H

#include "ctl/ports.h"

#define EVENT_LOG_ROWS	   512
#define EVENT_LOG_CULPRITS 64 /* number of culprits with a rate limit for journal lines */
/* New rows that one caller gets for audited debugging in each EVENT_LOG_MERGE_NS. */
#define EVENT_LOG_CALLER_ROWS 32
#define EVENT_LOG_MERGE_NS    (3600ULL * 1000000000ULL)

struct event_log_culprit {
	uint64_t key;
	uint64_t window_start_ns;
	uint32_t suppressed;
};

struct event_log {
	const struct clock_port *clock;
	uint64_t began_ns; /* CLOCK_REALTIME; tells this log from that of the agent before */
	uint64_t next_sequence;
	struct event_row ring[EVENT_LOG_ROWS];
	struct event_log_culprit culprits[EVENT_LOG_CULPRITS];
};

/* An empty log; the clock is borrowed for its life. */
void event_log_init(struct event_log *log, const struct clock_port *clock);

/*
 * Copy the event into the ring with the next sequence number, and with the current time if it
 * has none. The journal gets at most one line per minute for each culprit (cgroup and command)
 * and kind.
 *
 * Debugging that the guard only audits goes on for as long as a monitor runs. If the ring has a row
 * of the last hour for the same operation of the same process on the same target, the event is
 * only counted there (`suppressed`, `last_ns`), and so it is in the culprit's latest row if the
 * culprit has EVENT_LOG_CALLER_ROWS rows of the last hour. Events of kind "suppressed" add up in
 * the same way.
 */
void event_log_add(struct event_log *log, const struct event_row *event);

/* The same for an event without cgroup and pod. */
void event_log_record(struct event_log *log, const struct event_record *record);

/*
 * The index of the first event with this sequence number or a later one; event_log_nr() if there
 * is none yet.
 */
uint32_t event_log_find(const struct event_log *log, uint64_t sequence);

/* Oldest first; NULL beyond the last. `index` counts from 0. */
const struct event_row *event_log_at(const struct event_log *log, uint32_t index);
uint32_t event_log_nr(const struct event_log *log);

#endif
