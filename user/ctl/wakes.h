/* SPDX-License-Identifier: Apache-2.0 */
/* When controller_wake is called next: for our own sake, or because others wrote. */
#ifndef CTL_WAKES_H
#define CTL_WAKES_H

#include "ctl/ports.h"
#include "ctl/token_bucket.h"

/* Until what failed, or could not be told now, is asked again. */
#define WAKES_RETRY_NS (1000ULL * 1000000ULL)

struct wakes {
	const struct loop_port *loop;	/* borrowed */
	const struct clock_port *clock; /* borrowed */
	struct token_bucket budget;	/* of resyncs that others cause */
	bool others_wrote;		/* since the last resync */
};

/* A resync that is accounted for: who caused it, and when it began. */
struct wake {
	bool is_for_others;
	uint64_t since_ns;
};

void wakes_init(struct wakes *wakes, const struct loop_port *loop, const struct clock_port *clock);
/* Have controller_wake called in so long, or sooner. */
void wakes_schedule(struct wakes *wakes, uint64_t delay_ns);
/*
 * Somebody else wrote, made or removed a cgroup: the same, at once, or when the budget of
 * such resyncs allows it.
 */
void wakes_request_resync(struct wakes *wakes);
/* Around what controller_wake does: what others caused is taken from their budget. */
struct wake wakes_begin(struct wakes *wakes);
void wakes_end(struct wakes *wakes, const struct wake *wake);

#endif
