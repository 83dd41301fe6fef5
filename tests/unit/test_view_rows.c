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

/* The kernel has not told what a program costs. */
#define NO_FIGURES .run_time_ns = -1, .run_count = -1, .recursion_misses = -1, .memory_bytes = -1

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
		 .run_time_ns = 1234000000,
		 .run_count = 2,
		 .age_ns = 20000000000,
		 .recursion_misses = 1,
		 .memory_bytes = 8192},
		{.object = "noise", NO_FIGURES, .reason = "no CPU is exclusive"},
	};
	struct json_object *json = view_progs(rows, ARRAY_SIZE(rows), 4);

	check("progs", &view_prog_desc, json);
	expect(json, "/0/run_count", "null");
	expect(json, "/0/recursion_misses", "null");
	expect(json, "/0/machine_percent", "null");
	/* 1.234 s of 80 s of CPUs */
	expect(json, "/1/machine_percent", "1.54");
	expect(json, "/2/machine_percent", "null");
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
