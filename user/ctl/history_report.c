// SPDX-License-Identifier: Apache-2.0
/*
 * Samples have times of CLOCK_MONOTONIC. They are shown as the wall clock would have shown them if
 * it had not been set since.
 */
#include "ctl/history_report.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl/internal.h"
#include "format/page.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/json.h"

#define SECOND_NS 1000000000ULL
#define MINUTE_NS (60 * SECOND_NS)
/* Passes do not come at the same fraction of each second. */
#define JITTER_NS SECOND_NS
/* The next sample may be so late without anything being wrong. */
#define FINE_DUE_NS    (5 * SECOND_NS)
#define MINUTES_DUE_NS (MINUTE_NS + FINE_DUE_NS)

/* --- rows ---------------------------------------------------------------------------------------- */

/* In hundredths of a percent. */
static int share_of(const struct pressure_growth *growth, enum pressure_kind kind)
{
	const uint64_t length_ns = growth->pressure_ns;
	const uint64_t waited_ns = growth->waited_ns[kind];

	if (!length_ns)
		return -1;
	/* What was waited before a pass may become known with the next one. */
	return (int)(waited_ns >= length_ns ? 10000 : waited_ns * 10000 / length_ns);
}

static struct view_history_sample row_of(const struct pressure_reading *reading, uint64_t offset_ns)
{
	const struct pressure_growth *growth = &reading->growth;
	struct view_history_sample row = {
		.time_ns = reading->time_ns + offset_ns,
		.length_ns = (int64_t)(growth->usage_ns ? growth->usage_ns : growth->pressure_ns),
		.kind = HISTORY_SAMPLE,
		.cpu_some = share_of(growth, PRESSURE_CPU_SOME),
		.cpu_full = share_of(growth, PRESSURE_CPU_FULL),
		.memory_some = share_of(growth, PRESSURE_MEMORY_SOME),
		.memory_full = share_of(growth, PRESSURE_MEMORY_FULL),
		.io_some = share_of(growth, PRESSURE_IO_SOME),
		.io_full = share_of(growth, PRESSURE_IO_FULL),
		.pressure_length_ns = growth->pressure_ns ? (int64_t)growth->pressure_ns : -1,
		.run_ns = growth->usage_ns ? (int64_t)growth->run_ns : -1,
	};

	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		row.waited_ns[kind] = growth->pressure_ns ? (int64_t)growth->waited_ns[kind] : -1;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		row.cause_ns[cause] = growth->usage_ns ? (int64_t)growth->wait_ns[cause] : -1;
	return row;
}

static struct view_history_sample gap_row(uint64_t begin_ns, uint64_t end_ns, uint64_t offset_ns)
{
	return (struct view_history_sample){
		.time_ns = end_ns + offset_ns,
		.length_ns = (int64_t)(end_ns - begin_ns),
		.kind = HISTORY_GAP,
		.cpu_some = -1,
		.cpu_full = -1,
		.memory_some = -1,
		.memory_full = -1,
		.io_some = -1,
		.io_full = -1,
		.pressure_length_ns = -1,
		.waited_ns = {[0 ... PRESSURE_KIND_NR - 1] = -1},
		.run_ns = -1,
		.cause_ns = {[0 ... WAIT_CAUSE_NR - 1] = -1},
	};
}

/* Where a sample begins: a minute is a whole one, also if only a part of it is known. */
static uint64_t begin_of(const struct pressure_reading *reading, enum pressure_span span)
{
	const struct pressure_growth *growth = &reading->growth;

	if (span == PRESSURE_SPAN_24H)
		return reading->time_ns - MINUTE_NS;
	return reading->time_ns - (growth->usage_ns ? growth->usage_ns : growth->pressure_ns);
}

static void add_growth(struct pressure_growth *sum, const struct pressure_growth *growth)
{
	sum->usage_ns += growth->usage_ns;
	sum->run_ns += growth->run_ns;
	sum->outside_ns += growth->outside_ns;
	sum->pressure_ns += growth->pressure_ns;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum->wait_ns[cause] += growth->wait_ns[cause];
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		sum->waited_ns[kind] += growth->waited_ns[kind];
}

/* Without a gap between them, and is the same known of both? */
static bool are_one(const struct pressure_reading *before, const struct pressure_reading *next,
		    uint64_t length_ns)
{
	return before->time_ns / length_ns == next->time_ns / length_ns &&
	       !before->growth.usage_ns == !next->growth.usage_ns &&
	       !before->growth.pressure_ns == !next->growth.pressure_ns &&
	       begin_of(next, PRESSURE_SPAN_10M) <= before->time_ns + JITTER_NS;
}

/* Fine samples that are neighbours become one, where that is no longer than `length_ns`. Returns the new number. */
static uint32_t merge(struct pressure_reading *readings, uint32_t nr, uint64_t length_ns)
{
	uint32_t nr_merged = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct pressure_reading *last = nr_merged ? &readings[nr_merged - 1] : NULL;

		if (!last || !are_one(last, &readings[i], length_ns)) {
			readings[nr_merged++] = readings[i];
			continue;
		}
		last->time_ns = readings[i].time_ns;
		add_growth(&last->growth, &readings[i].growth);
	}
	return nr_merged;
}

/* `rows` has room for twice as many. Returns the number. */
static size_t fill_rows(const struct pressure_reading *readings, uint32_t nr,
			enum pressure_span span, const struct controller *controller,
			struct view_history_sample *rows)
{
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	const uint64_t offset_ns = clock_wall_ns(controller->ports.clock) - now_ns;
	const uint64_t due_ns = span == PRESSURE_SPAN_10M ? FINE_DUE_NS : MINUTES_DUE_NS;
	size_t nr_rows = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const uint64_t begin_ns = begin_of(&readings[i], span);

		if (i && begin_ns > readings[i - 1].time_ns + JITTER_NS)
			rows[nr_rows++] = gap_row(readings[i - 1].time_ns, begin_ns, offset_ns);
		rows[nr_rows++] = row_of(&readings[i], offset_ns);
	}
	if (nr && now_ns > readings[nr - 1].time_ns + due_ns + controller->samples.pause_ns)
		rows[nr_rows++] = gap_row(readings[nr - 1].time_ns, now_ns, offset_ns);
	return nr_rows;
}

static enum history_state state_of(const struct pressure_samples *samples,
				   const struct sampled_group *sampled)
{
	if (sampled)
		return HISTORY_KEPT;
	return samples->nr < PRESSURE_SAMPLES_MAX ? HISTORY_AWAITED : HISTORY_LEFT_OUT;
}

/* `sampled` NULL = it has no ring; merged_ns 0 = the samples as they are kept. */
static struct json_object *report(struct controller *controller, const struct ledger_pod *pod,
				  const char *container, const struct sampled_group *sampled,
				  enum pressure_span span, uint64_t merged_ns)
{
	const struct pressure_samples *samples = &controller->samples;
	const uint32_t room = pressure_ring_room(span);
	struct pressure_reading *readings cleanup_free = calloc(room, sizeof(*readings));
	struct view_history_sample *rows cleanup_free = calloc(2 * room, sizeof(*rows));
	struct view_history history = {
		.namespace = pod->spec->namespace,
		.pod = pod->spec->name,
		.container = *container ? container : NULL,
		.uid = pod->spec->uid,
		.span = span,
		.memory_bytes = sampled ? sizeof(*sampled) : 0,
		.state = state_of(samples, sampled),
		.histories = samples->nr,
		.histories_max = PRESSURE_SAMPLES_MAX,
		.histories_bytes = samples->nr * sizeof(struct sampled_group),
		.samples = rows,
	};
	uint32_t nr = 0;

	if (!readings || !rows)
		return NULL;
	if (sampled)
		nr = pressure_ring_read(&sampled->ring, span, clock_now_ns(controller->ports.clock),
					readings);
	if (merged_ns)
		nr = merge(readings, nr, merged_ns);
	history.nr_samples = fill_rows(readings, nr, span, controller, rows);
	return view_history(&history);
}

struct json_object *ctl_report_history(struct controller *controller, const struct ledger_pod *pod,
				       const char *container, enum pressure_span span)
{
	return report(controller, pod, container,
		      pressure_samples_find(&controller->samples, pod->spec->uid, container), span,
		      0);
}

/* --- the pods that waited most ------------------------------------------------------------------- */

struct waiting_pod {
	const struct ledger_pod *pod;
	const struct sampled_group *sampled;
	uint64_t waited_ns;
};

/* Tasks that wait for a CPU at once count each where that is known, and else as one. */
static uint64_t waited_of(const struct pressure_growth *sum)
{
	uint64_t cpu_ns = 0;

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		cpu_ns += sum->wait_ns[cause];
	if (sum->waited_ns[PRESSURE_CPU_SOME] > cpu_ns)
		cpu_ns = sum->waited_ns[PRESSURE_CPU_SOME];
	return cpu_ns + sum->waited_ns[PRESSURE_MEMORY_SOME] + sum->waited_ns[PRESSURE_IO_SOME];
}

static int by_waited(const void *left, const void *right)
{
	const struct waiting_pod *a = left, *b = right;

	if (a->waited_ns != b->waited_ns)
		return a->waited_ns < b->waited_ns ? 1 : -1;
	return strcmp(a->pod->spec->uid, b->pod->spec->uid);
}

/* Those that waited at all, longest first. Returns the number; `waiting` has room for all rings. */
static uint32_t find_waiting(struct controller *controller, struct pressure_reading *readings,
			     struct waiting_pod *waiting)
{
	const struct pressure_samples *samples = &controller->samples;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr; i++) {
		const struct sampled_group *sampled = samples->groups[i];
		const struct ledger_pod *pod =
			*sampled->container ? NULL : ledger_find(controller->ledger, sampled->uid);
		struct pressure_growth sum = {0};
		uint32_t nr_readings;

		if (!pod)
			continue;
		nr_readings =
			pressure_ring_read(&sampled->ring, PRESSURE_SPAN_10M, now_ns, readings);
		for (uint32_t at = 0; at < nr_readings; at++)
			add_growth(&sum, &readings[at].growth);
		if (waited_of(&sum))
			waiting[nr++] = (struct waiting_pod){pod, sampled, waited_of(&sum)};
	}
	qsort(waiting, nr, sizeof(*waiting), by_waited);
	return nr;
}

struct json_object *ctl_report_histories(struct controller *controller)
{
	struct json_object *all cleanup_json = json_object_new_array();
	struct pressure_reading *readings cleanup_free =
		calloc(pressure_ring_room(PRESSURE_SPAN_10M), sizeof(*readings));
	struct waiting_pod *waiting cleanup_free =
		calloc(controller->samples.nr + 1, sizeof(*waiting));
	uint32_t nr;

	if (!all || !readings || !waiting)
		return NULL;
	nr = find_waiting(controller, readings, waiting);
	for (uint32_t i = 0; i < nr && i < PAGE_HISTORIES_MAX; i++) {
		struct json_object *one = report(controller, waiting[i].pod, "", waiting[i].sampled,
						 PRESSURE_SPAN_10M, PAGE_HISTORY_SAMPLE_NS);

		if (!one || json_object_array_add(all, one)) {
			json_object_put(one);
			return NULL;
		}
	}
	return TAKE_PTR(all);
}
