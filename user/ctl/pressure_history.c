// SPDX-License-Identifier: Apache-2.0
/*
 * Points are kept as they come for a minute, about every two seconds; older ones are thinned
 * out to about one in ten seconds. Between two points a total is taken to have grown evenly.
 */
#include "ctl/pressure_history.h"

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
/* A pause that is longer is recognised even if the idle period before it was not seen. */
#define LATE_NS (20 * SECOND_NS)
/* Whoever looks less often than this cannot tell when the tasks woke. */
#define HELD_UP_NS (2 * PRESSURE_PERIOD_NS)
/* A period is at most 1 % longer than PRESSURE_PERIOD_NS (HZ=100): so many can be counted. */
#define PERIODS_MAX 99
/* More than this cannot have been waited in what the points are apart; they count modulo 2^32 us. */
#define FARTHEST_NS ((1ULL << 31) * 1000)

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
	if (!history->nr)
		history->since_ns = time_ns;
	point = &history->points[history->nr++];
	point->time_ns = time_ns;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		point->total_us[kind] = (uint32_t)(total_ns[kind] / 1000);
	memcpy(history->newest_ns, total_ns, sizeof(history->newest_ns));
}

/*
 * The kernel's period in ns: two seconds and a tick, so it depends on HZ. An update becomes due
 * one or more periods after the one before. 0: not a period, or too many to tell how many.
 */
static uint64_t period_between(uint64_t due_ns, uint64_t next_due_ns)
{
	const uint64_t passed_ns = next_due_ns - due_ns, nr = passed_ns / PRESSURE_PERIOD_NS;

	return nr && nr <= PERIODS_MAX && passed_ns % nr == 0 ? passed_ns / nr : 0;
}

/*
 * What an update left to the next ones: it counts no more than the time since the last update,
 * less the periods that it missed, and under full pressure the next ones never make up for it.
 * It left something only if it counted exactly so much, and then at most the missed periods and
 * what was left before. The limit matters because `rest_ns` may have grown since the update:
 * reading a pressure file brings the total up to date.
 */
static uint64_t left_by_update(const struct pressure_history *history,
			       const struct pressure_row *row, int kind, uint64_t rest_ns)
{
	const struct pressure_point *last = &history->points[history->nr - 1];
	const uint64_t passed_ns = row->updated_ns - last->time_ns;
	const uint64_t counted_ns = row->updated_total_ns[kind] - history->updated_total_ns[kind];
	const uint64_t period_ns = period_between(history->due_ns, row->due_ns);
	uint64_t missed_ns;

	if (!period_ns || counted_ns > passed_ns)
		return 0;
	missed_ns = passed_ns - counted_ns;
	if (missed_ns % period_ns || missed_ns >= row->due_ns - history->due_ns)
		return 0;
	missed_ns += history->left_ns[kind];
	return rest_ns < missed_ns ? rest_ns : missed_ns;
}

/* The totals at the time of an update, which never fall, and what it left. */
static void reckon(const struct pressure_history *history, const struct pressure_row *row,
		   uint64_t ret_total_ns[PRESSURE_KIND_NR], uint64_t ret_left_ns[PRESSURE_KIND_NR])
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		const uint64_t updated_ns = row->updated_total_ns[kind];
		const uint64_t total_ns = row->total_ns[kind];
		const uint64_t behind_ns = total_ns > updated_ns ? total_ns - updated_ns : 0;
		/* The kernel computes this in 32 bits, and misses the upper ones for good. */
		const uint32_t rest_ns = (uint32_t)behind_ns;
		uint64_t least_ns = 0;

		ret_left_ns[kind] = 0;
		if (history->nr) {
			ret_left_ns[kind] = left_by_update(history, row, kind, rest_ns);
			least_ns = history->newest_ns[kind];
		}
		ret_total_ns[kind] = updated_ns + (behind_ns - rest_ns) + ret_left_ns[kind];
		if (ret_total_ns[kind] < least_ns)
			ret_total_ns[kind] = least_ns;
	}
}

static bool went_back(const struct pressure_history *history, const struct pressure_row *row)
{
	if (row->updated_ns < history->points[history->nr - 1].time_ns)
		return true;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		if (row->updated_total_ns[kind] < history->updated_total_ns[kind])
			return true;
	return false;
}

/* Has anything waited since the newest point? */
static bool has_grown(const struct pressure_history *history,
		      const uint64_t total_ns[PRESSURE_KIND_NR])
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		if (total_ns[kind] != history->newest_ns[kind])
			return true;
	return false;
}

/* The most that any kind has grown by since the newest point. */
static uint64_t most_grown(const struct pressure_history *history,
			   const uint64_t total_ns[PRESSURE_KIND_NR])
{
	uint64_t most_ns = 0;

	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		if (total_ns[kind] - history->newest_ns[kind] > most_ns)
			most_ns = total_ns[kind] - history->newest_ns[kind];
	return most_ns;
}

/* The kernel pauses only when a whole period was idle; otherwise the update is late. */
static bool was_paused(const struct pressure_history *history, uint64_t updated_ns)
{
	const struct pressure_point *last = &history->points[history->nr - 1];

	return !history->is_active || updated_ns - last->time_ns > LATE_NS;
}

/*
 * If we were held up, the update that ended a pause may be one of several since the tasks woke,
 * and nobody knows when that was.
 */
static bool missed_wake(const struct pressure_history *history, uint64_t now_ns, uint64_t grown_ns)
{
	return grown_ns && now_ns - history->looked_ns > HELD_UP_NS;
}

/* After a pause, what an update adds belongs to the time since the tasks woke. */
static void append_wake(struct pressure_history *history, uint64_t updated_ns, uint64_t grown_ns)
{
	const uint64_t last_ns = history->points[history->nr - 1].time_ns;
	const uint64_t active_ns = grown_ns > WAKE_NS ? grown_ns : WAKE_NS;
	uint64_t total_ns[PRESSURE_KIND_NR];

	memcpy(total_ns, history->newest_ns, sizeof(total_ns));
	if (updated_ns - last_ns > active_ns)
		append(history, updated_ns - active_ns, total_ns);
}

void pressure_history_add(struct pressure_history *history, uint64_t now_ns,
			  const struct pressure_row *row)
{
	uint64_t total_ns[PRESSURE_KIND_NR], left_ns[PRESSURE_KIND_NR];
	bool is_active;

	/* That should not happen; then nothing before can be compared with it. */
	if (history->nr && went_back(history, row))
		history->nr = 0;
	if (history->nr && row->updated_ns == history->points[history->nr - 1].time_ns) {
		history->looked_ns = now_ns;
		return;
	}
	reckon(history, row, total_ns, left_ns);
	if (history->nr && most_grown(history, total_ns) > FARTHEST_NS)
		history->nr = 0;
	is_active = history->nr && has_grown(history, total_ns);
	if (history->nr && was_paused(history, row->updated_ns)) {
		const uint64_t grown_ns = most_grown(history, total_ns);

		/* Then nothing before can be compared with it either. */
		if (missed_wake(history, now_ns, grown_ns))
			history->nr = 0;
		else
			append_wake(history, row->updated_ns, grown_ns);
	}
	append(history, row->updated_ns, total_ns);
	memcpy(history->left_ns, left_ns, sizeof(left_ns));
	memcpy(history->updated_total_ns, row->updated_total_ns, sizeof(row->updated_total_ns));
	history->is_active = is_active;
	history->due_ns = row->due_ns;
	history->seen_ns = history->looked_ns = now_ns;
}

/* In whole microseconds, and always the same for a point, so that no total ever falls. */
static uint64_t point_total(const struct pressure_history *history, uint32_t at,
			    enum pressure_kind kind)
{
	const uint64_t newest_us = history->newest_ns[kind] / 1000;

	return (newest_us - (uint32_t)((uint32_t)newest_us - history->points[at].total_us[kind])) *
	       1000;
}

/* The time is not before the first point. */
static uint64_t total_at(const struct pressure_history *history, uint64_t time_ns,
			 enum pressure_kind kind)
{
	const struct pressure_point *points = history->points;
	uint32_t after = history->nr;
	uint64_t before_ns;
	double part;

	/* Most who ask want to know of the last seconds. */
	while (points[after - 1].time_ns > time_ns)
		after--;
	if (after == history->nr)
		return point_total(history, after - 1, kind);
	before_ns = point_total(history, after - 1, kind);
	part = (double)(time_ns - points[after - 1].time_ns) /
	       (double)(points[after].time_ns - points[after - 1].time_ns);
	return before_ns +
	       (uint64_t)(part * (double)(point_total(history, after, kind) - before_ns));
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
	grown_ns = history->newest_ns[kind] - total_at(history, begin_ns, kind);
	return (int)(grown_ns >= end_ns - begin_ns ? 10000
						   : grown_ns * 10000 / (end_ns - begin_ns));
}

/*
 * The kernel's clock has passed at least what ours has since the last update was seen. An update
 * that ends a pause changes the totals of WAKE_NS before it, or of more if more was waited.
 */
bool pressure_history_settled(const struct pressure_history *history, uint64_t now_ns,
			      uint64_t *ret_time_ns, uint64_t ret_total_ns[PRESSURE_KIND_NR])
{
	uint64_t passed_ns, time_ns;

	if (!history->nr)
		return false;
	passed_ns = now_ns > history->seen_ns ? now_ns - history->seen_ns : 0;
	time_ns = history->points[history->nr - 1].time_ns + passed_ns;
	if (time_ns < history->points[0].time_ns + WAKE_NS)
		return false;
	time_ns -= WAKE_NS;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		ret_total_ns[kind] = total_at(history, time_ns, (enum pressure_kind)kind);
	*ret_time_ns = time_ns;
	return true;
}
