// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* Rows that the rooms of the agent fill in become objects with the described keys. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/event.h"
#include "view_scene.h"

#define POD_DB .namespace = "prod", .pod = "db", .uid = "u1"
/* The kernel has not told what a program costs. */
#define NO_FIGURES .run_time_ns = -1, .run_count = -1, .recursion_misses = -1, .memory_bytes = -1
#define NO_QUANTILES                                                                      \
	.p50_ns = -1, .p50_least_ns = -1, .p90_ns = -1, .p90_least_ns = -1, .p99_ns = -1, \
	.p99_least_ns = -1, .p999_ns = -1, .p999_least_ns = -1

static void events_become_objects(void **state)
{
	const struct event_row rows[] = {
		{.record = {.kind = EVENT_GUARD,
			    .aspect = ASPECT_NR,
			    .action = ACTION_DENY,
			    .pid = 42,
			    .comm = "bad\xff\xc0name",
			    .guard = {.hook = HOOK_NONE}},
		 .time_ns = 5,
		 .cgroup = "user.slice"},
		{.record = {.kind = EVENT_GUARD,
			    .aspect = ASPECT_CPUSET_FILES,
			    .action = ACTION_UNKNOWN,
			    .suppressed = 3,
			    .guard = {.hook = HOOK_NONE, .file = "cpuset.cpus"}},
		 .log_ns = 1700000000000000000,
		 .sequence = 7,
		 .time_ns = 1700000000123456789,
		 .last_ns = 1700000060123456789,
		 .target = "pinfold.slice/x",
		 .pod = "prod/db",
		 .container = "main"},
	};
	struct json_object *json = view_events(rows, ARRAY_SIZE(rows));

	check("events", &view_event_desc, json);
	/* a process may call itself anything; JSON may not */
	expect(json, "/0/comm", "bad\xef\xbf\xbd\xef\xbf\xbdname");
	expect(json, "/0/target", "null");
	json_object_put(json);
}

static void watch_lines_become_objects(void **state)
{
	const struct view_watch lost = {.time_ns = 1700000000123456789,
					.watch = WATCH_LOST,
					.nr_lost = 12,
					.detail = "the agent overwrote 12 events"};
	const struct view_watch back = {.time_ns = 1700000000123456789,
					.watch = WATCH_BACK,
					.nr_lost = -1,
					.detail = "the agent answers again"};
	struct text line cleanup_text = {0};
	struct json_object *json = view_watch(&lost), *other = view_watch(&back);

	check("watch", &view_watch_desc, json);
	expect(other, "/nr_lost", "null");
	object_render_line(&view_watch_desc, json, &line);
	object_render_line(&view_watch_desc, other, &line);
	assert_string_equal(line.data,
			    "2023-11-14T22:13:20.123Z  lost  12  the agent overwrote 12 events\n"
			    "2023-11-14T22:13:20.123Z  back  -  the agent answers again\n");
	json_object_put(json);
	json_object_put(other);
}

static void drift_becomes_objects(void **state)
{
	const struct drift_row rows[] = {
		{.path = "pinfold.slice/x",
		 .attribute = GROUP_CPUSET_CPUS,
		 .wanted = "1-2",
		 .found = "0-15",
		 .action = ACTION_NONE,
		 .since_ns = 9},
		{.path = "pinfold.slice/y",
		 .attribute = GROUP_CPUSET_MEMS,
		 .wanted = "0",
		 .found = "0-1",
		 .cause = CAUSE_USER,
		 .pid = 43,
		 .comm = "sh",
		 .cgroup = "user.slice",
		 .since_ns = 1700000000000000000,
		 .repaired_ns = 1700000000001000000,
		 .action = ACTION_REPAIR},
		/* The clock was set back before the repair. */
		{.path = "pinfold.slice/y",
		 .attribute = GROUP_CPUSET_CPUS,
		 .wanted = "2",
		 .found = "3",
		 .since_ns = 1700000000000000000,
		 .repaired_ns = 1600000000000000000,
		 .action = ACTION_REPAIR},
	};
	struct json_object *json = view_drifts(rows, ARRAY_SIZE(rows));

	check("drifts", &view_drift_desc, json);
	expect(json, "/0/open", "true");
	expect(json, "/0/pid", "null");
	expect(json, "/0/lasted_seconds", "null");
	expect(json, "/1/lasted_seconds", "0.001000000");
	expect(json, "/2/lasted_seconds", "null");
	json_object_put(json);
}

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

static void noise_becomes_objects(void **state)
{
	const struct view_noise rows[] = {
		{.cpu = 2,
		 POD_DB,
		 .container = "main",
		 .source = NOISE_HARDIRQ,
		 .irq = 33,
		 .sibling = -1,
		 .name = "eth0",
		 .count = 12345,
		 .total_ns = 1500000000,
		 .longest_ns = 42000},
		{.cpu = 2,
		 POD_DB,
		 .container = "main",
		 .source = NOISE_HOST_TASK,
		 .irq = -1,
		 .sibling = -1,
		 .name = "bash",
		 .cgroup = "user.slice",
		 .pid = 4242,
		 .count = 1,
		 .total_ns = 70,
		 .longest_ns = 70},
		{.cpu = 2,
		 POD_DB,
		 .container = "main",
		 .source = NOISE_SMT_SIBLING,
		 .irq = -1,
		 .sibling = 6,
		 .by = "other_pod",
		 .name = "redis",
		 .pid = 7,
		 .cgroup = "pinfold.slice/podu2/main",
		 .count = 2,
		 .total_ns = 65,
		 .longest_ns = 60},
		{.cpu = 2,
		 POD_DB,
		 .container = "main",
		 .source = NOISE_KTHREAD,
		 .irq = -1,
		 .sibling = -1,
		 .count = 3,
		 .total_ns = 60,
		 .longest_ns = 30},
		{.cpu = 3,
		 POD_DB,
		 .source = NOISE_TIMER,
		 .irq = -1,
		 .sibling = -1,
		 .count = -1,
		 .total_ns = -1,
		 .longest_ns = -1,
		 .state = NOISE_ROW_UNSUPPORTED},
	};
	struct json_object *json = view_noises(rows, ARRAY_SIZE(rows));

	check("noises", &view_noise_desc, json);
	expect(json, "/0/irq", "33");
	expect(json, "/1/irq", "null");
	expect(json, "/1/sibling", "null");
	expect(json, "/2/sibling", "6");
	expect(json, "/2/by", "other_pod");
	expect(json, "/3/name", "null");
	expect(json, "/4/count", "null");
	expect(json, "/4/container", "null");
	json_object_put(json);
}

static void interrupts_become_objects(void **state)
{
	const struct view_irq rows[] = {
		{.kind = IRQ_KIND_DEFAULT,
		 .irq = -1,
		 .name = "new interrupts",
		 .state = IRQ_STATE_STEERED,
		 .affinity = "0-1,6-15",
		 .original = "0-15",
		 .fired = -1},
		{.kind = IRQ_KIND_INTERRUPT,
		 .irq = 24,
		 .name = "virtio0-config",
		 .state = IRQ_STATE_ALLOWED,
		 .affinity = "0",
		 .effective = "0"},
		{.kind = IRQ_KIND_INTERRUPT,
		 .irq = 25,
		 .name = "nvme0q3",
		 .state = IRQ_STATE_MANAGED,
		 .affinity = "2-3",
		 .effective = "2",
		 .exclusive_cpus = "2",
		 .fired = 1234,
		 .remedy = "boot with isolcpus=managed_irq,2"},
	};
	struct json_object *json = view_irqs(rows, ARRAY_SIZE(rows));

	check("irqs", &view_irq_desc, json);
	expect(json, "/0/irq", "null");
	expect(json, "/1/exclusive_cpus", "null");
	expect(json, "/2/fired", "1234");
	json_object_put(json);
}

static void strangers_become_objects(void **state)
{
	const struct view_stranger rows[] = {
		{.pid = 812,
		 .process = 812,
		 .name = "sshd",
		 .kind = STRANGER_TASK,
		 .state = STRANGER_STATE_MOVED,
		 .cause = STRANGER_CAUSE_DEFAULT,
		 .origin = CAUSE_USER,
		 .cgroup = "/system.slice/ssh.service",
		 .unit = "ssh.service",
		 .affinity = "0-1,6-15",
		 .original = "0-15"},
		{.pid = 31,
		 .process = 31,
		 .name = "migration/2",
		 .kind = STRANGER_BOUND,
		 .state = STRANGER_STATE_BOUND,
		 .cause = STRANGER_CAUSE_CHOSEN,
		 .origin = CAUSE_KERNEL,
		 .cgroup = "/",
		 .affinity = "2",
		 .exclusive_cpus = "2",
		 .remedy = "nobody can move it"},
		{.pid = 4712,
		 .process = 4711,
		 .name = "fighter",
		 .kind = STRANGER_TASK,
		 .state = STRANGER_STATE_CONTENDED,
		 .cause = STRANGER_CAUSE_SET_BACK,
		 .affinity = "0-15",
		 .original = "0-15",
		 .exclusive_cpus = "2-5",
		 .set_back = 7,
		 .remedy = "find out what calls sched_setaffinity(2) for it"},
	};
	struct json_object *json = view_strangers(rows, ARRAY_SIZE(rows));

	check("strangers", &view_stranger_desc, json);
	expect(json, "/0/exclusive_cpus", "null");
	expect(json, "/1/kind", "bound");
	expect(json, "/2/cause", "set_back");
	json_object_put(json);
}

static void discoveries_become_objects(void **state)
{
	const struct view_discovery rows[] = {
		{.kind = "pod",
		 .names = "unknown",
		 .uid = "0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42",
		 .qos = "Burstable",
		 .driver = "cgroupfs",
		 .cpu_request_mcpu = -1,
		 .cpu_weight = -1,
		 .tasks = -1,
		 .run_ns = -1,
		 .throttled_ns = -1,
		 .cgroup = "kubepods/burstable/pod0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"},
		{.kind = "container",
		 .namespace = "shop",
		 .pod = "web-0",
		 .container = "nginx",
		 .names = "read",
		 .id = "4e5d6c7b8a3f",
		 .uid = "0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42",
		 .qos = "Burstable",
		 .runtime = "containerd",
		 .driver = "cgroupfs",
		 .cpus = "2-3",
		 .kubelet_cpus = "2-3",
		 .cpu_request_mcpu = 1500,
		 .cpu_weight = -1,
		 .tasks = 3,
		 .run_ns = -1,
		 .throttled_ns = -1,
		 .cgroup =
			 "kubepods/burstable/pod0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42/4e5d6c7b8a3f"},
		{.kind = "container",
		 .names = "none",
		 .id = "3f4e5d6c7b8a",
		 .runtime = "podman",
		 .driver = "systemd",
		 .cpus = "",
		 .effective_cpus = "0-15",
		 .mems = "",
		 .effective_mems = "0",
		 .cpu_max = "200000 100000",
		 .memory_max = "max",
		 .cpu_request_mcpu = -1,
		 .cpu_weight = 79,
		 .tasks = 5,
		 .run_ns = 1234567890,
		 .throttled_ns = 20000000,
		 .cgroup = "machine.slice/libpod-3f4e5d6c7b8a.scope"},
	};
	struct json_object *json = view_discoveries(rows, ARRAY_SIZE(rows));

	check("discoveries", &view_discovery_desc, json);
	expect(json, "/0/id", "null");
	expect(json, "/0/run_seconds", "null");
	expect(json, "/0/pod", "null");
	expect(json, "/0/names", "unknown");
	expect(json, "/0/kubelet_cpus", "null");
	expect(json, "/0/cpu_request_mcpu", "null");
	expect(json, "/1/pod", "web-0");
	expect(json, "/1/cpu_request_mcpu", "1500");
	expect(json, "/1/kubelet_cpus", "2-3");
	expect(json, "/2/cpus", "");
	expect(json, "/2/names", "none");
	expect(json, "/2/run_seconds", "1.234567890");
	json_object_put(json);
}

static void features_become_objects(void **state)
{
	const struct feature_row rows[] = {
		{.name = "bpf_lsm", .state = FEATURE_UNKNOWN, .error = -EPERM, .reason = "why"},
		{.name = "cpuset", .state = FEATURE_YES},
		{.name = "psi", .state = FEATURE_NO, .error = ENOENT, .remedy = "boot with psi=1"},
	};
	struct json_object *json = view_features(rows, ARRAY_SIZE(rows));

	check("features", &view_feature_desc, json);
	expect(json, "/0/state", "unknown");
	expect(json, "/0/errno", "1");
	expect(json, "/0/error", "EPERM");
	json_object_put(json);
}

static void programs_become_objects(void **state)
{
	const struct prog_row rows[] = {
		{.name = "p",
		 .type = "lsm",
		 .hook = "file_open",
		 .object = "guard",
		 .tag = "0123456789abcdef",
		 .id = 3,
		 NO_FIGURES},
		{.name = "q",
		 .type = "tp_btf",
		 .object = "watch",
		 .attached = true,
		 .pinned = true,
		 .run_time_ns = 1234,
		 .run_count = 2,
		 .recursion_misses = 1,
		 .memory_bytes = 8192},
		{.object = "noise", NO_FIGURES, .reason = "no CPU is exclusive"},
	};
	struct json_object *json = view_progs(rows, ARRAY_SIZE(rows));

	check("progs", &view_prog_desc, json);
	expect(json, "/0/run_count", "null");
	expect(json, "/0/recursion_misses", "null");
	expect(json, "/2/name", "null");
	json_object_put(json);
}

static void maps_become_objects(void **state)
{
	const struct map_row rows[] = {
		{.id = 4,
		 .name = "managed",
		 .type = "hash",
		 .objects = "guard,watch",
		 .pinned = true,
		 .used = 0,
		 .max_entries = 1024,
		 .memory_bytes = 123456},
		{.id = 5,
		 .name = "events",
		 .type = "ringbuf",
		 .used = -1,
		 .max_entries = 262144,
		 .memory_bytes = -1},
	};
	struct json_object *json = view_maps(rows, ARRAY_SIZE(rows));

	check("maps", &view_map_desc, json);
	expect(json, "/0/used", "0");
	expect(json, "/1/used", "null");
	json_object_put(json);
}

static void the_modes_of_the_guard_are_listed(void **state)
{
	const struct guard_row rows[] = {
		{.protection = "cpusetFiles",
		 .asked = "enforce",
		 .in_force = "audit",
		 .reason = "an operator has released the guard"},
		{.protection = "affinity", .asked = "enforce", .in_force = "enforce"},
		{.protection = "priorities", .asked = "audit", .reason = "it cannot be read"},
	};
	struct json_object *json = view_guard(rows, ARRAY_SIZE(rows));

	check("guard", &view_guard_desc, json);
	expect(json, "/0/in_force", "audit");
	expect(json, "/1/reason", "null");
	expect(json, "/2/in_force", "null");
	json_object_put(json);
}

static void the_state_file_becomes_an_object(void **state)
{
	const char *const set_aside[] = {"state.json.bad-1"};
	const struct view_state state_file = {.file = "/s",
					      .version = -1,
					      .writable = -1,
					      .written_ns = -1,
					      .nr_pods = -1,
					      .nr_containers = -1,
					      .nr_set_aside = 1,
					      .set_aside = set_aside};
	const struct view_state good_file = {.file = "/s",
					     .present = 1,
					     .version = 1,
					     .boot_id = "boot",
					     .written_ns = 1700000000000000000,
					     .nr_pods = 2,
					     .problem = "none really"};
	struct json_object *good = view_state(&good_file), *unusable = view_state(&state_file);

	check("state", &view_state_desc, good);
	check("state-unusable", &view_state_desc, unusable);
	expect(unusable, "/present", "false");
	expect(unusable, "/set_aside/0", "state.json.bad-1");
	json_object_put(good);
	json_object_put(unusable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_become_objects),
		cmocka_unit_test(watch_lines_become_objects),
		cmocka_unit_test(drift_becomes_objects),
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
		cmocka_unit_test(noise_becomes_objects),
		cmocka_unit_test(interrupts_become_objects),
		cmocka_unit_test(strangers_become_objects),
		cmocka_unit_test(discoveries_become_objects),
		cmocka_unit_test(features_become_objects),
		cmocka_unit_test(programs_become_objects),
		cmocka_unit_test(maps_become_objects),
		cmocka_unit_test(the_modes_of_the_guard_are_listed),
		cmocka_unit_test(the_state_file_becomes_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
