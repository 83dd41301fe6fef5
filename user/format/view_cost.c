// SPDX-License-Identifier: Apache-2.0
/* What the agent and its BPF programs use of the machine, out of two readings. */
#include <stdlib.h>

#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

/* --- readings -------------------------------------------------------------------------------------- */

static const struct field_desc usage_prog_fields[] = {
	COUNT(view_usage_prog, id, NULL, 0, "The kernel's id of the program."),
	TEXT(view_usage_prog, name, NULL, 0, "Name of the program."),
	TEXT_AS(view_usage_prog, object, "part", NULL, 0, "Object it belongs to."),
	TEXT(view_usage_prog, hook, NULL, OR_NULL, "What it is attached to."),
	COUNT(view_usage_prog, run_time_ns, NULL, OR_NULL,
	      "Time spent in it while the kernel measured; null if it never did."),
	COUNT(view_usage_prog, run_count, NULL, OR_NULL, "Number of runs; null as above."),
};
DESCRIBE_PART(view_usage_prog, usage_prog_fields, .layout = OBJECT_TABLE);

static const struct field_desc usage_fields[] = {
	COUNT(view_usage, time_ns, NULL, HEAD, "When this was read, on a clock that never jumps."),
	COUNT(view_usage, cpus, NULL, HEAD, "Online CPUs."),
	COUNT(view_usage, agent_ns, NULL, LINE | OR_NULL, "CPU time of the agent since its start."),
	BYTES(view_usage, agent_memory_bytes, NULL, OR_NULL, "Resident memory of the agent."),
	LIST(view_usage, programs, view_usage_prog, NULL, BARE, "Each loaded BPF program."),
};
DESCRIBE(view_usage, usage_fields, "usage",
	 "What the agent and its BPF programs have used so far.");

struct json_object *view_usage(const struct view_usage *usage)
{
	return object_json(&view_usage_desc, usage, 1);
}

/* --- the cost --------------------------------------------------------------------------------------- */

static const struct field_desc cost_prog_fields[] = {
	TEXT(view_cost_prog, name, NULL, 0, "Name of the program."),
	TEXT_AS(view_cost_prog, object, "part", NULL, 0, "Object it belongs to."),
	TEXT(view_cost_prog, hook, NULL, OR_NULL, "What it is attached to."),
	COUNT(view_cost_prog, runs_per_second, "runs/s", 0, "How often it ran."),
	COUNT(view_cost_prog, ns_per_run, "ns/run", OR_NULL,
	      "Mean length of a run, without the entry into the program; null if it did not run."),
	COUNT(view_cost_prog, ns_per_second, "ns/s", 0, "Time spent in it, on all CPUs together."),
	PERCENT(view_cost_prog, machine_percent, "of machine", 0,
		"That as a share of the time of all CPUs."),
};
DESCRIBE_PART(view_cost_prog, cost_prog_fields, .layout = OBJECT_TABLE);

static const struct field_desc cost_fields[] = {
	SECONDS(view_cost, measured_ns, "measured_seconds", "measured for", HEAD,
		"Length of the measurement."),
	COUNT(view_cost, cpus, "CPUs", HEAD, "Online CPUs."),
	COUNT(view_cost, agent_ns_per_second, "agent ns/s", LINE | OR_NULL,
	      "CPU time of the agent in each second."),
	PERCENT(view_cost, agent_percent, "of machine", OR_NULL,
		"That as a share of the time of all CPUs."),
	BYTES(view_cost, agent_memory_bytes, "memory", OR_NULL, "Resident memory of the agent."),
	COUNT(view_cost, programs_ns_per_second, "programs ns/s", LINE,
	      "Time spent in all BPF programs in each second, on all CPUs together."),
	PERCENT(view_cost, programs_percent, "of machine", 0,
		"That as a share of the time of all CPUs."),
	LIST(view_cost, programs, view_cost_prog, NULL, BARE,
	     "Each loaded BPF program, the most expensive one first."),
};
DESCRIBE(view_cost, cost_fields, "cost",
	 "What the agent and its BPF programs use of the machine, measured for some seconds.");

/* --- rates ---------------------------------------------------------------------------------------- */

/* Totals are never so large that a double would not do: 2^53 ns are 104 days of CPU time. */
static int64_t per_second(int64_t amount, int64_t elapsed_ns)
{
	return (int64_t)((double)amount * 1e9 / (double)elapsed_ns + 0.5);
}

/* Hundredths of a percent of the time of all CPUs. */
static int share_of(int64_t ns, int64_t elapsed_ns, uint32_t cpus)
{
	return (int)((double)ns / (double)elapsed_ns / cpus * 10000 + 0.5);
}

static const struct view_usage_prog *find(const struct view_usage *usage, uint32_t id)
{
	for (size_t i = 0; i < usage->nr_programs; i++)
		if (usage->programs[i].id == id)
			return &usage->programs[i];
	return NULL;
}

/* What a total has grown by. It is not known as long as a program has not run while it was measured. */
static int64_t growth(int64_t before, int64_t after)
{
	before = before > 0 ? before : 0;
	return after > before ? after - before : 0;
}

static struct view_cost_prog cost_of(const struct view_usage_prog *before,
				     const struct view_usage_prog *after, int64_t elapsed_ns,
				     uint32_t cpus)
{
	const int64_t nr_runs = growth(before ? before->run_count : 0, after->run_count);
	const int64_t ns = growth(before ? before->run_time_ns : 0, after->run_time_ns);

	return (struct view_cost_prog){
		.name = after->name,
		.object = after->object,
		.hook = after->hook,
		.runs_per_second = per_second(nr_runs, elapsed_ns),
		.ns_per_run = nr_runs ? ns / nr_runs : -1,
		.ns_per_second = per_second(ns, elapsed_ns),
		.machine_percent = share_of(ns, elapsed_ns, cpus),
	};
}

static int compare_cost(const void *a, const void *b)
{
	const struct view_cost_prog *left = a, *right = b;

	return (left->ns_per_second < right->ns_per_second) -
	       (left->ns_per_second > right->ns_per_second);
}

struct json_object *view_cost(const struct view_usage *before, const struct view_usage *after)
{
	const int64_t elapsed_ns = (int64_t)(after->time_ns - before->time_ns);
	struct view_cost_prog *programs cleanup_free =
		calloc(after->nr_programs + 1, sizeof(*programs));
	struct view_cost cost = {
		.measured_ns = elapsed_ns,
		.cpus = after->cpus,
		.agent_ns_per_second = -1,
		.agent_percent = -1,
		.agent_memory_bytes = after->agent_memory_bytes,
		.programs = programs,
		.nr_programs = after->nr_programs,
	};
	int64_t programs_ns = 0;

	if (!programs)
		return NULL;
	if (before->agent_ns >= 0 && after->agent_ns >= 0) {
		const int64_t ns = growth(before->agent_ns, after->agent_ns);

		cost.agent_ns_per_second = per_second(ns, elapsed_ns);
		cost.agent_percent = share_of(ns, elapsed_ns, after->cpus);
	}
	for (size_t i = 0; i < after->nr_programs; i++) {
		const struct view_usage_prog *earlier = find(before, after->programs[i].id);

		programs[i] = cost_of(earlier, &after->programs[i], elapsed_ns, after->cpus);
		programs_ns +=
			growth(earlier ? earlier->run_time_ns : 0, after->programs[i].run_time_ns);
	}
	cost.programs_ns_per_second = per_second(programs_ns, elapsed_ns);
	cost.programs_percent = share_of(programs_ns, elapsed_ns, after->cpus);
	qsort(programs, after->nr_programs, sizeof(*programs), compare_cost);
	return object_json(&view_cost_desc, &cost, 1);
}
