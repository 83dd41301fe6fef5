// SPDX-License-Identifier: Apache-2.0
/*
 * Resyncs triggered by other processes, which write, create or remove cgroups, may use a
 * twentieth of the time and a burst beyond that. A process that writes without end can neither
 * keep the agent busy, nor delay a comparison for more than LONGEST_GAP_NS.
 */
#include "ctl/wakes.h"
#include "ctl/clock.h"

#define RESYNC_SHARE   20
#define BURST_NS       (500ULL * 1000000ULL)
#define LONGEST_GAP_NS (5ULL * 1000000000ULL)

void wakes_init(struct wakes *wakes, const struct loop_port *loop, const struct clock_port *clock)
{
	*wakes = (struct wakes){
		.loop = loop,
		.clock = clock,
		.budget = {.share = RESYNC_SHARE, .burst_ns = BURST_NS},
	};
}

void wakes_schedule(struct wakes *wakes, uint64_t delay_ns)
{
	wakes->loop->wake(wakes->loop->self, delay_ns);
}

void wakes_request_resync(struct wakes *wakes)
{
	uint64_t gap_ns = token_bucket_delay_ns(&wakes->budget, clock_now_ns(wakes->clock));

	wakes->others_wrote = true;
	wakes_schedule(wakes, gap_ns < LONGEST_GAP_NS ? gap_ns : LONGEST_GAP_NS);
}

struct wake wakes_begin(struct wakes *wakes)
{
	struct wake wake = {wakes->others_wrote, clock_now_ns(wakes->clock)};

	wakes->others_wrote = false;
	return wake;
}

void wakes_end(struct wakes *wakes, const struct wake *wake)
{
	uint64_t now_ns = clock_now_ns(wakes->clock);

	if (wake->is_for_others)
		token_bucket_take(&wakes->budget, now_ns, now_ns - wake->since_ns);
}
