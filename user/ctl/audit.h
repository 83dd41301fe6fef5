/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision log: a ring of events for `pinfold event`, one journal line for
 * each that matters, and the list of drift. Not a history: the ring forgets the
 * oldest, and says how many through the gap in sequence numbers.
 */
#ifndef CTL_AUDIT_H
#define CTL_AUDIT_H

#include "ctl/ports.h"

#define AUDIT_RING    512
#define AUDIT_DRIFT   128
#define AUDIT_CULPRIT 64 /* journal lines are limited per culprit; so many are remembered */

struct audit_culprit {
	uint64_t key;
	uint64_t window_start_ns;
	uint32_t suppressed;
};

struct audit {
	const struct clock_port *clock;
	uint64_t next_sequence;
	struct event_row ring[AUDIT_RING];
	uint32_t nr_drift;
	struct drift_row drift[AUDIT_DRIFT]; /* newest last; closed ones age out first */
	struct audit_culprit culprits[AUDIT_CULPRIT];
};

void audit_init(struct audit *audit, const struct clock_port *clock);

/*
 * Record: stamps sequence and time, copies. The journal gets it too, at most one
 * line a minute for each culprit (cgroup and command) of the same kind.
 */
void audit_event(struct audit *audit, const struct event_row *event);

/* Oldest first; NULL behind the last. `index` counts from 0. */
const struct event_row *audit_at(const struct audit *audit, uint32_t index);
uint32_t audit_nr(const struct audit *audit);

/* The open row of this path and attribute, or NULL. */
struct drift_row *audit_open_drift(struct audit *audit, const char *path, const char *attribute);
/* Open one (or find it open); stamps since_ns. Never NULL: a full list drops its oldest row. */
struct drift_row *audit_drift(struct audit *audit, const char *path, const char *attribute);
/* Remember that it was mended, or that nothing will be done about it. */
void audit_close_drift(struct audit *audit, struct drift_row *row, const char *action);
uint32_t audit_nr_open_drift(const struct audit *audit, const char *attribute);

#endif
