// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* Figures that the agent measured become objects with the described keys. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view_scene.h"

#define NO_QUANTILES                                                                      \
	.p50_ns = -1, .p50_least_ns = -1, .p90_ns = -1, .p90_least_ns = -1, .p99_ns = -1, \
	.p99_least_ns = -1, .p999_ns = -1, .p999_least_ns = -1

static void pressure_becomes_objects(void **state)
{
	const struct view_pressure rows[] = {
		{POD_DB, .resource = PRESSURE_CPU, .state = PRESSURE_MEASURED, .some_10 = 10000,
		 .some_60 = 1234, .some_300 = 205, .some_ns = 123456789012,
		 .task_wait_10_ns = 1534000000, .task_wait_60_ns = 250000000},
		{POD_DB, .container = "main", .resource = PRESSURE_IO, .state = PRESSURE_OFF_CGROUP,
		 .some_10 = -1, .some_60 = -1, .some_300 = -1, .full_10 = -1, .full_60 = -1,
		 .full_300 = -1, .some_ns = -1, .full_ns = -1, .task_wait_10_ns = -1,
		 .task_wait_60_ns = -1, .task_wait_300_ns = -1,
		 .remedy = "write 1 to /sys/fs/cgroup/x/cgroup.pressure"},
	};
	struct json_object *json = view_pressures(rows, ARRAY_SIZE(rows));

	check("pressures", &view_pressure_desc, json);
	expect(json, "/0/some_60", "12.34");
	expect(json, "/0/some_300", "2.05");
	expect(json, "/0/container", "null");
	expect(json, "/0/task_wait_10", "1.534000000");
	expect(json, "/1/some_10", "null");
	expect(json, "/1/task_wait_10", "null");
	json_object_put(json);
}

#define PART_KNOWN                                                                            \
	.state = PRESSURE_PART_MEASURED, .some_10 = 10000, .some_60 = 5000, .some_300 = 1000, \
	.full_10 = 100, .full_60 = 50, .full_300 = 10, .some_ns = 30000000000,                \
	.full_ns = 300000000, .active_ns = 31000000000, .known_ns = 120000000000,             \
	.missed_ns = 7000000000
#define PART_UNKNOWN                                                                   \
	.some_10 = -1, .some_60 = -1, .some_300 = -1, .full_10 = -1, .full_60 = -1,    \
	.full_300 = -1, .some_ns = -1, .full_ns = -1, .active_ns = -1, .known_ns = -1, \
	.missed_ns = -1

static void pressure_of_parts_becomes_objects(void **state)
{
	const struct view_pressure_part cpus[] = {
		{POD_DB, .cpu = 4, .numa = 0, .resource = PRESSURE_CPU, PART_KNOWN},
		{POD_DB, .container = "main", .cpu = 17, .numa = -1, .resource = PRESSURE_MEMORY,
		 PART_KNOWN},
		{POD_DB, .container = "late", .cpu = -1, .numa = -1, .resource = PRESSURE_IO,
		 .state = PRESSURE_PART_LEFT_OUT, PART_UNKNOWN},
	};
	const struct view_pressure_part numas[] = {
		{POD_DB, .numa = 1, .resource = PRESSURE_CPU, PART_KNOWN},
		{POD_DB, .container = "main", .numa = -1, .resource = PRESSURE_IO,
		 .state = PRESSURE_PART_UNREADABLE, PART_UNKNOWN},
	};
	const struct view_pressure_second seconds[] = {
		{POD_DB, .resource = PRESSURE_CPU, .state = PRESSURE_PART_MEASURED,
		 .window_ns = 1001000000, .some = 9950, .full = 0},
		{POD_DB, .container = "main", .resource = PRESSURE_CPU, .state = PRESSURE_PART_OFF,
		 .window_ns = -1, .some = -1, .full = -1},
	};
	struct json_object *json = view_pressure_cpus(cpus, ARRAY_SIZE(cpus));

	check("pressure-cpus", &view_pressure_cpu_desc, json);
	expect(json, "/0/missed_seconds", "7.000000000");
	expect(json, "/1/numa", "null");
	expect(json, "/2/cpu", "null");
	expect(json, "/2/some_seconds", "null");
	expect(json, "/2/state", "left_out");
	json_object_put(json);
	json = view_pressure_numas(numas, ARRAY_SIZE(numas));
	check("pressure-numas", &view_pressure_numa_desc, json);
	expect(json, "/0/numa", "1");
	expect(json, "/1/missed_seconds", "null");
	json_object_put(json);
	json = view_pressure_seconds(seconds, ARRAY_SIZE(seconds));
	check("pressure-seconds", &view_pressure_second_desc, json);
	expect(json, "/0/some", "99.50");
	expect(json, "/1/window_seconds", "null");
	json_object_put(json);
}

static void placements_become_objects(void **state)
{
	const struct cpuset granted = cpuset_of_text("1-2,9-10"), one = cpuset_of_text("2"),
			    in_force = cpuset_of_text("1-2,9-11"), nodes = cpuset_of_text("0-1");
	const struct view_placement_affinity affinities[] = {
		{.cpus = &granted, .tasks = 12, .narrower = 1, .task = 4711},
		{.cpus = &one, .tasks = 1, .narrower = 1, .task = 4720},
		{.cpus = &in_force, .tasks = 2, .narrower = 0, .task = 4799},
	};
	const struct view_placement_cpu places[] = {
		{.cpu = 1,
		 .numa = 0,
		 .granted = 1,
		 .local = 1,
		 .run_ns = 3600000000000,
		 .wait_ns = 2500000000,
		 .switches = 7200,
		 .preemptions = 16,
		 .migrations = 45,
		 .run_percent = 9474,
		 .window_run_ns = 15000000000,
		 .window_percent = 10000},
		{.cpu = 11,
		 .numa = 0,
		 .local = 1,
		 .run_ns = 200000000000,
		 .outside_ns = 200000000000,
		 .run_percent = 526,
		 .window_run_ns = 1234567,
		 .window_percent = 1},
		{.cpu = 12,
		 .numa = -1,
		 .local = -1,
		 .run_ns = 1500,
		 .wait_ns = -1,
		 .switches = -1,
		 .preemptions = -1,
		 .migrations = -1,
		 .window_run_ns = -1,
		 .window_percent = -1},
	};
	const struct view_placement rows[] = {
		{.namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .isolation = ISOLATION_CONTAINER,
		 .state = PLACEMENT_COUNTED,
		 .cpus = "1-2,9-10",
		 .mems = "0",
		 .effective_cpus = &in_force,
		 .effective_mems = &nodes,
		 .run_ns = 3800000001500,
		 .outside_ns = 200000000000,
		 .remote_ns = 0,
		 .switches = 7201,
		 .preemptions = 17,
		 .migrations_thread = 6,
		 .migrations_core = 40,
		 .migrations_llc = 3,
		 .migrations_numa = 2,
		 .window_ns = 15000000000,
		 .window_run_ns = 15001234567,
		 .window_outside_ns = 1234567,
		 .window_remote_ns = 0,
		 .tasks = 15,
		 .narrower_tasks = 13,
		 .tasks_left_out = 3,
		 .places_left_out = 0,
		 .nr_affinities = ARRAY_SIZE(affinities),
		 .affinities = affinities,
		 .nr_places = ARRAY_SIZE(places),
		 .places = places},
		{.namespace = "prod",
		 .pod = "web",
		 .container = "late",
		 .uid = "u2",
		 .cpus = "3-7,11-15",
		 .run_ns = -1,
		 .outside_ns = -1,
		 .remote_ns = -1,
		 .switches = -1,
		 .preemptions = -1,
		 .migrations_thread = -1,
		 .migrations_core = -1,
		 .migrations_llc = -1,
		 .migrations_numa = -1,
		 .window_ns = -1,
		 .window_run_ns = -1,
		 .window_outside_ns = -1,
		 .window_remote_ns = -1,
		 .tasks = -1,
		 .narrower_tasks = -1,
		 .tasks_left_out = -1,
		 .places_left_out = 256},
	};
	struct json_object *json = view_placements(rows, ARRAY_SIZE(rows));

	check("placements", &view_placement_desc, json);
	expect(json, "/0/effective_cpus", "1-2,9-11");
	expect(json, "/0/places/0/window_percent", "100.00");
	expect(json, "/0/places/1/run_percent", "5.26");
	expect(json, "/0/places/2/window_run_seconds", "null");
	expect(json, "/0/places/0/switches", "7200");
	expect(json, "/0/places/2/wait_seconds", "null");
	expect(json, "/0/affinities/2/narrower", "false");
	expect(json, "/1/run_seconds", "null");
	json_object_put(json);
}

static void uses_of_cpus_become_objects(void **state)
{
	const struct view_cpu_use rows[] = {
		{.cpu = 1, .run_ns = 15007500000, .window_ns = 15000000000},
		{.cpu = 9, .run_ns = 0, .window_ns = 15000000000},
		{.cpu = 11, .run_ns = 1234567, .window_ns = 15000000000},
		{.cpu = 12, .run_ns = 6000000, .window_ns = 15000000000},
	};
	struct json_object *json = view_cpu_uses(rows, ARRAY_SIZE(rows));

	check("cpu-uses", &view_cpu_use_desc, json);
	expect(json, "/0/run_seconds", "15.007500000");
	json_object_put(json);
}

/* One grew, one was first measured in between, one is new, and one did not run. */
static void readings_become_a_cost(void **state)
{
	struct view_usage_prog earlier[] = {
		{7, "on_switch", "observe", "sched_switch", 1000000, 2000},
		{8, "on_open", "guard", "file_open", -1, -1},
		{9, "read_pressure", "pressure", NULL, -1, -1},
	};
	struct view_usage_prog later[] = {
		{9, "read_pressure", "pressure", NULL, -1, -1},
		{8, "on_open", "guard", "file_open", 30000, 10},
		{7, "on_switch", "observe", "sched_switch", 401000000, 22000},
		{12, "on_irq", "noise", "irq_handler_entry", 20000, 4},
	};
	const struct view_usage before = {.time_ns = 5000000000,
					  .cpus = 4,
					  .agent_ns = 100000000,
					  .agent_memory_bytes = 9000000,
					  .programs = earlier,
					  .nr_programs = ARRAY_SIZE(earlier)};
	const struct view_usage after = {.time_ns = 7000000000,
					 .cpus = 4,
					 .agent_ns = 140000000,
					 .agent_memory_bytes = 9437184,
					 .programs = later,
					 .nr_programs = ARRAY_SIZE(later)};
	struct json_object *json = view_usage(&before);

	(void)state;
	check("usage-before", &view_usage_desc, json);
	json_object_put(json);
	json = view_usage(&after);
	check("usage", &view_usage_desc, json);
	json_object_put(json);
	json = view_cost(&before, &after);
	check("cost", &view_cost_desc, json);
	expect(json, "/measured_seconds", "2.000000000");
	expect(json, "/agent_ns_per_second", "20000000");
	expect(json, "/agent_percent", "0.50");
	expect(json, "/programs_ns_per_second", "200025000");
	expect(json, "/programs_percent", "5.00");
	expect(json, "/programs/0/name", "on_switch");
	expect(json, "/programs/0/runs_per_second", "10000");
	expect(json, "/programs/0/ns_per_run", "20000");
	expect(json, "/programs/1/name", "on_open");
	expect(json, "/programs/1/ns_per_second", "15000");
	expect(json, "/programs/2/name", "on_irq");
	expect(json, "/programs/2/runs_per_second", "2");
	expect(json, "/programs/3/runs_per_second", "0");
	expect(json, "/programs/3/ns_per_run", "null");
	json_object_put(json);
}

/* Nobody knows the agent's own use, or it has begun anew. */
static void an_agent_that_is_not_known_costs_nothing_known(void **state)
{
	const struct view_usage unknown = {
		.time_ns = 1, .cpus = 2, .agent_ns = -1, .agent_memory_bytes = -1};
	const struct view_usage after = {
		.time_ns = 1000000001, .cpus = 2, .agent_ns = 5, .agent_memory_bytes = -1};
	struct json_object *json = view_cost(&unknown, &after);

	(void)state;
	expect(json, "/agent_percent", "null");
	expect(json, "/agent_memory_bytes", "null");
	expect(json, "/programs_percent", "0.00");
	json_object_put(json);
}

/* Samples of which only a part is known, and a gap. */
static void history_becomes_an_object(void **state)
{
	struct view_history_sample samples[4];
	const struct view_history row = {
		.namespace = "prod",
		.pod = "db",
		.container = "main",
		.uid = "u1",
		.span = PRESSURE_SPAN_10M,
		.memory_bytes = 97968,
		.histories = 500,
		.histories_max = 1024,
		.histories_bytes = 48984000,
		.nr_samples = ARRAY_SIZE(samples),
		.samples = samples,
	};
	struct json_object *json;

	samples[0] = (struct view_history_sample){
		.time_ns = 1700000002000000000,
		.length_ns = 2000000000,
		.cpu_some = 4250,
		.cpu_full = 100,
		.io_some = 10000,
		.pressure_length_ns = 2004000000,
		.waited_ns = {[PRESSURE_CPU_SOME] = 851700000,
			      [PRESSURE_CPU_FULL] = 20040000,
			      [PRESSURE_IO_SOME] = 2004000000},
		.run_ns = 1500000000,
		.cause_ns = {[WAIT_OWN_QUOTA] = 12340000, [WAIT_HOST] = 1000000},
	};
	samples[1] = samples[0];
	samples[1].time_ns += 2000000000;
	samples[1].run_ns = -1;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		samples[1].cause_ns[cause] = -1;
	samples[2] = samples[1];
	samples[2].kind = HISTORY_GAP;
	samples[2].time_ns += 120000000000;
	samples[2].length_ns = 120000000000;
	samples[2].cpu_some = samples[2].cpu_full = -1;
	samples[2].memory_some = samples[2].memory_full = -1;
	samples[2].io_some = samples[2].io_full = -1;
	samples[2].pressure_length_ns = -1;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		samples[2].waited_ns[kind] = -1;
	samples[3] = samples[0];
	samples[3].time_ns = samples[2].time_ns + 2000000000;
	json = view_history(&row);
	check("history", &view_history_desc, json);
	expect(json, "/span", "10m");
	expect(json, "/samples/0/cpu_some", "42.50");
	expect(json, "/samples/1/run_seconds", "null");
	expect(json, "/samples/2/kind", "gap");
	expect(json, "/samples/2/io_some", "null");
	json_object_put(json);
}

static void latencies_become_objects(void **state)
{
	const struct view_latency_bucket buckets[] = {
		{.above_ns = 0, .up_to_ns = 1024, .count = 3},
		{.above_ns = 1024, .up_to_ns = 2048, .count = 0},
		{.above_ns = 2048, .up_to_ns = 4096, .count = 12345},
		{.above_ns = 4096, .up_to_ns = 8192, .count = 6000},
		{.above_ns = 8192, .up_to_ns = -1, .count = 1},
	};
	const struct view_latency rows[] = {
		{POD_DB, .count = 18349, .p50_ns = 4096, .p50_least_ns = 2048, .p90_ns = 8192,
		 .p90_least_ns = 4096, .p99_ns = 8192, .p99_least_ns = 4096, .p999_ns = 8192,
		 .p999_least_ns = 4096, .longest_ns = 1234567890, .sum_ns = 1313131313,
		 .nr_buckets = ARRAY_SIZE(buckets), .buckets = buckets, .state = LATENCY_COUNTED},
		{POD_DB, .container = "main", NO_QUANTILES, .nr_buckets = 1, .buckets = buckets + 1,
		 .state = LATENCY_COUNTED},
		{POD_DB, .container = "late", .count = -1, NO_QUANTILES, .longest_ns = -1,
		 .sum_ns = -1},
	};
	struct json_object *json = view_latencies(rows, ARRAY_SIZE(rows));

	check("latencies", &view_latency_desc, json);
	expect(json, "/0/container", "null");
	expect(json, "/0/buckets/4/up_to_seconds", "null");
	expect(json, "/1/count", "0");
	expect(json, "/1/p99_seconds", "null");
	expect(json, "/2/count", "null");
	expect(json, "/2/state", "unknown");
	json_object_put(json);
}

static void memory_becomes_objects(void **state)
{
	const struct view_memory rows[] = {
		{POD_DB, .container = "main", .local = 1, .anon_bytes = 1073741824,
		 .file_bytes = 4096, .kernel_bytes = 95096, .hugetlb_bytes = 4194304,
		 .state = RESIDENT_READ},
		{POD_DB, .container = "main", .numa = 1, .anon_bytes = 16777216,
		 .state = RESIDENT_READ},
		{.namespace = "prod",
		 .pod = "web",
		 .container = "main",
		 .uid = "u2",
		 .numa = -1,
		 .local = -1,
		 .anon_bytes = -1,
		 .file_bytes = -1,
		 .kernel_bytes = -1,
		 .hugetlb_bytes = -1,
		 .state = RESIDENT_UNSUPPORTED},
	};
	struct json_object *json = view_memories(rows, ARRAY_SIZE(rows));

	check("memories", &view_memory_desc, json);
	expect(json, "/0/local", "true");
	expect(json, "/1/local", "false");
	expect(json, "/1/file_bytes", "0");
	expect(json, "/2/numa", "null");
	expect(json, "/2/local", "null");
	expect(json, "/0/hugetlb_bytes", "4194304");
	expect(json, "/2/anon_bytes", "null");
	expect(json, "/2/hugetlb_bytes", "null");
	json_object_put(json);
}

static void process_memory_becomes_objects(void **state)
{
	const struct view_process_memory rows[] = {
		{4242, "redis", 0, 26 << 20, 0},
		{4242, "redis", 1, 4096, 2 << 20},
	};
	struct json_object *json = view_process_memories(rows, ARRAY_SIZE(rows));

	check("process-memories", &view_process_memory_desc, json);
	expect(json, "/1/hugetlb_bytes", "2097152");
	json_object_put(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure_becomes_objects),
		cmocka_unit_test(pressure_of_parts_becomes_objects),
		cmocka_unit_test(placements_become_objects),
		cmocka_unit_test(uses_of_cpus_become_objects),
		cmocka_unit_test(readings_become_a_cost),
		cmocka_unit_test(an_agent_that_is_not_known_costs_nothing_known),
		cmocka_unit_test(history_becomes_an_object),
		cmocka_unit_test(latencies_become_objects),
		cmocka_unit_test(memory_becomes_objects),
		cmocka_unit_test(process_memory_becomes_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
