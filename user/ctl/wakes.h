/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules the next call of controller_wake, for the agent itself or because others wrote. */
#ifndef CTL_WAKES_H
#define CTL_WAKES_H

#include "ctl/ports.h"
#include "ctl/token_bucket.h"

/* Delay before a retry of something that failed or was unknown. */
#define WAKES_RETRY_NS (1000ULL * 1000000ULL)

struct wakes {
	const struct loop_port *loop;	/* borrowed */
	const struct clock_port *clock; /* borrowed */
	struct token_bucket budget;	/* for resyncs triggered by others */
	bool others_wrote;		/* since the last resync */
};

/* A resync that is accounted for: whether others triggered it, and when it began. */
struct wake {
	bool is_for_others;
	uint64_t since_ns;
};

/* Nothing is scheduled yet; loop and clock are borrowed for its life. */
void wakes_init(struct wakes *wakes, const struct loop_port *loop, const struct clock_port *clock);
/* Schedule controller_wake after this delay, unless it is due earlier. */
void wakes_schedule(struct wakes *wakes, uint64_t delay_ns);
/*
 * Another process wrote, created or removed a cgroup: schedule a resync at once, or when the
 * budget for such resyncs allows it.
 */
void wakes_request_resync(struct wakes *wakes);
/*
 * Call these before and after a resync: the time of those triggered by others is charged to
 * their budget.
 */
struct wake wakes_begin(struct wakes *wakes);
void wakes_end(struct wakes *wakes, const struct wake *wake);

#endif
