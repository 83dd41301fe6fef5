// SPDX-License-Identifier: Apache-2.0
/*
 * Points are kept as they come for a minute, about every two seconds; older ones are thinned
 * out to about one in ten seconds. Between two points a total is taken to have grown evenly.
 */
#include "ctl/pressure_history.h"

#include <stdbool.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
/* Points that are younger than this are all kept. */
#define FINE_NS (64 * SECOND_NS)
/* Older ones go while the gap that they leave is not wider. */
#define COARSE_GAP_NS (12 * SECOND_NS)
#define KEPT_NS	      (PRESSURE_LONGEST_NS + COARSE_GAP_NS)
/*
 * Updates stop while no task of the cgroup is active. The first one after that comes up to two
 * periods after the tasks woke, and what it adds belongs to this time.
 */
#define WAKE_NS (2 * PRESSURE_PERIOD_NS)

static void drop(struct pressure_history *history, uint32_t at, uint32_t nr)
{
	memmove(&history->points[at], &history->points[at + nr],
		(history->nr - at - nr) * sizeof(*history->points));
	history->nr -= nr;
}

/* Drop what no window reaches any more; one point at or before its beginning is needed. */
static void forget(struct pressure_history *history, uint64_t newest_ns)
{
	uint32_t nr = 0;

	while (nr + 1 < history->nr && history->points[nr + 1].time_ns + KEPT_NS <= newest_ns)
		nr++;
	drop(history, 0, nr);
}

static void thin_out(struct pressure_history *history, uint64_t newest_ns)
{
	const struct pressure_point *points = history->points;
	uint32_t at = 1;

	while (at + 1 < history->nr && points[at].time_ns + FINE_NS <= newest_ns) {
		if (points[at + 1].time_ns - points[at - 1].time_ns <= COARSE_GAP_NS)
			drop(history, at, 1);
		else
			at++;
	}
}

static void append(struct pressure_history *history, uint64_t time_ns,
		   const uint64_t total_ns[PRESSURE_KIND_NR])
{
	struct pressure_point *point;

	forget(history, time_ns);
	thin_out(history, time_ns);
	/* Not with updates every two seconds; others may come faster one day. */
	if (history->nr == PRESSURE_HISTORY_LIMIT)
		drop(history, 0, 1);
	point = &history->points[history->nr++];
	point->time_ns = time_ns;
	memcpy(point->total_ns, total_ns, sizeof(point->total_ns));
}

static bool went_back(const struct pressure_point *last, uint64_t updated_ns,
		      const uint64_t total_ns[PRESSURE_KIND_NR])
{
	if (updated_ns < last->time_ns)
		return true;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		if (total_ns[kind] < last->total_ns[kind])
			return true;
	return false;
}

void pressure_history_add(struct pressure_history *history, uint64_t now_ns, uint64_t updated_ns,
			  const uint64_t total_ns[PRESSURE_KIND_NR])
{
	struct pressure_point last;

	if (history->nr) {
		last = history->points[history->nr - 1];
		/* That should not happen; then nothing before can be compared with it. */
		if (went_back(&last, updated_ns, total_ns))
			history->nr = 0;
		else if (updated_ns == last.time_ns)
			return;
		else if (updated_ns - last.time_ns > WAKE_NS)
			append(history, updated_ns - WAKE_NS, last.total_ns);
	}
	append(history, updated_ns, total_ns);
	history->seen_ns = now_ns;
}

static uint64_t total_at(const struct pressure_history *history, uint64_t time_ns,
			 enum pressure_kind kind)
{
	const struct pressure_point *points = history->points;
	uint32_t after = 0;
	double part;

	while (after < history->nr && points[after].time_ns <= time_ns)
		after++;
	if (!after)
		return points[0].total_ns[kind];
	if (after == history->nr)
		return points[after - 1].total_ns[kind];
	part = (double)(time_ns - points[after - 1].time_ns) /
	       (double)(points[after].time_ns - points[after - 1].time_ns);
	return points[after - 1].total_ns[kind] +
	       (uint64_t)(part * (double)(points[after].total_ns[kind] -
					  points[after - 1].total_ns[kind]));
}

int pressure_history_share(const struct pressure_history *history, uint64_t now_ns,
			   uint64_t window_ns, enum pressure_kind kind)
{
	uint64_t idle_ns, begin_ns, end_ns, grown_ns;
	const struct pressure_point *last;

	if (!history->nr)
		return -1;
	last = &history->points[history->nr - 1];
	/*
	 * Without updates for more than a period and a half nothing is active. Earlier, the
	 * window ends with the last update, because nobody knows the total of now.
	 */
	idle_ns = now_ns > history->seen_ns ? now_ns - history->seen_ns : 0;
	if (idle_ns <= PRESSURE_PERIOD_NS * 3 / 2)
		idle_ns = 0;
	end_ns = last->time_ns + idle_ns;
	begin_ns = end_ns > window_ns ? end_ns - window_ns : 0;
	if (begin_ns < history->points[0].time_ns)
		begin_ns = history->points[0].time_ns;
	if (end_ns - begin_ns < SECOND_NS)
		return -1;
	grown_ns = last->total_ns[kind] - total_at(history, begin_ns, kind);
	return (int)(grown_ns >= end_ns - begin_ns ? 10000
						   : grown_ns * 10000 / (end_ns - begin_ns));
}
