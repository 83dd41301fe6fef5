// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What the controller makes of the events of the BPF programs: the right group, the right
 * culprit, the right container.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "node_scene.h"

/* --- events ------------------------------------------------------------------------------------------ */

static struct event_record event_of(uint32_t kind, uint64_t culprit, uint64_t target)
{
	struct event_record event = EVENT_RECORD(kind);

	event.aspect = ASPECT_CPUSET_FILES;
	event.action = ACTION_DENY;
	event.pid = 77;
	event.culprit_id = culprit;
	event.target_id = target;
	event.suppressed = 4;
	snprintf(event.comm, sizeof(event.comm), "culprit");
	return event;
}

static struct event_record denied(uint64_t culprit, uint64_t target, const char *file)
{
	struct event_record event = event_of(EVENT_GUARD, culprit, target);

	event.guard.hook = HOOK_FILE_OPEN;
	snprintf(event.guard.file, sizeof(event.guard.file), "%s", file);
	return event;
}

static struct event_record written(uint64_t culprit, uint64_t target, enum group_file file)
{
	struct event_record event = event_of(EVENT_DRIFT, culprit, target);

	event.action = ACTION_ALLOW;
	event.attribute = file;
	return event;
}

static void tell(struct controller *controller, const struct event_record *event)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	sink->event(sink->self, event);
}

static struct json_object *last_of(struct json_object *list)
{
	size_t nr = json_object_array_length(list);

	assert_true(nr > 0);
	return json_object_array_get_idx(list, nr - 1);
}

static void an_event_is_named(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;
	struct json_object *list, *row;
	uint64_t culprit, target;

	scan(controller, pods, 1);
	culprit = make_stranger("user.slice");
	target = id_of_path("pinfold.slice/poduid-a/exclusive");
	event = denied(culprit, target, "cpuset.cpus");
	/* As if process 1 had done it. */
	event.client.pid = 12;
	event.client.cgroup_id = make_stranger("app.slice");
	strcpy(event.client.comm, "systemctl");
	tell(controller, &event);
	list = query(controller, "event");
	row = last_of(list);
	assert_string_equal(member(row, "kind"), "deny");
	assert_string_equal(member(row, "aspect"), "cpuset_files");
	assert_string_equal(member(row, "action"), "deny");
	assert_string_equal(member(row, "pid"), "77");
	assert_string_equal(member(row, "comm"), "culprit");
	assert_string_equal(member(row, "cgroup"), "user.slice");
	assert_string_equal(member(row, "client_pid"), "12");
	assert_string_equal(member(row, "client_comm"), "systemctl");
	assert_string_equal(member(row, "client_cgroup"), "app.slice");
	assert_string_equal(member(row, "target"), "pinfold.slice/poduid-a/exclusive");
	assert_string_equal(member(row, "pod"), "default/a");
	assert_string_equal(member(row, "container"), "exclusive");
	assert_string_equal(member(row, "detail"), "open for writing cpuset.cpus");
	assert_string_equal(member(row, "suppressed"), "4");
	json_object_put(list);
	/* A denied write has changed nothing. */
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_removed_cgroup_keeps_its_number(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event = denied(1999, 0, "x");
	struct json_object *list, *row;

	tell(controller, &event);
	list = query(controller, "event");
	row = last_of(list);
	assert_string_equal(member(row, "cgroup"), "(gone, id 1999)");
	assert_string_equal(member(row, "client_pid"), "null");
	assert_string_equal(member(row, "client_comm"), "null");
	assert_string_equal(member(row, "client_cgroup"), "null");
	assert_string_equal(member(row, "target"), "null");
	assert_string_equal(member(row, "pod"), "null");
	json_object_put(list);
	controller_free(controller);
}

/* --- names that take their time -------------------------------------------------------------------- */

/* The n-th event from the end, 0 = the last; of the kernel's kinds only. */
static void expect_event(struct controller *controller, size_t n, const char *detail,
			 const char *cgroup)
{
	struct json_object *list = query(controller, "event"), *row;
	size_t nr = json_object_array_length(list);

	assert_true(n < nr);
	row = json_object_array_get_idx(list, nr - 1 - n);
	assert_string_equal(member(row, "detail"), detail);
	assert_string_equal(member(row, "cgroup"), cgroup);
	json_object_put(list);
}

static void a_slow_name_keeps_the_order(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record first = denied(make_stranger("user.slice"), 0, "first");
	struct event_record second = denied(make_stranger("app.slice"), 0, "second");
	size_t nr;

	nr = nr_rows(controller, "event");
	fake->slow_name = true;
	tell(controller, &first);
	tell(controller, &second);
	assert_int_equal(nr_rows(controller, "event"), nr);
	fake->now_ns += 2 * 1000000000ULL;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "every event has waited 2 s for the name of "
				     "cgroup"),
			 1);
	fake_end_name(controller);
	assert_int_equal(nr_rows(controller, "event"), nr + 1);
	expect_event(controller, 0, "open for writing first", "user.slice");
	fake_end_name(controller);
	assert_int_equal(nr_rows(controller, "event"), nr + 2);
	expect_event(controller, 1, "open for writing first", "user.slice");
	expect_event(controller, 0, "open for writing second", "app.slice");
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	controller_free(controller);
}

/* An event has the time at which it came. */
static void a_delayed_event_keeps_its_time(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event = denied(make_stranger("user.slice"), 0, "x");
	struct json_object *list;
	char before[64];

	tell(controller, &event);
	list = query(controller, "event");
	snprintf(before, sizeof(before), "%s", member(last_of(list), "time_ns"));
	json_object_put(list);
	fake->slow_name = true;
	tell(controller, &event);
	fake->now_ns += 50 * 1000000000ULL;
	fake_end_name(controller);
	list = query(controller, "event");
	assert_string_equal(member(last_of(list), "time_ns"), before);
	json_object_put(list);
	controller_free(controller);
}

/* What waits is bounded, and what is too much is told all the same. */
static void a_full_queue_loses_no_event(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event = denied(make_stranger("user.slice"), 0, "");
	size_t nr = nr_rows(controller, "event");
	char unknown[64];

	fake->slow_name = true;
	for (int i = 0; i < 300; i++) {
		snprintf(event.guard.file, sizeof(event.guard.file), "%d", i);
		tell(controller, &event);
	}
	assert_int_equal(nr_rows(controller, "event"), nr + 300 - 256);
	snprintf(unknown, sizeof(unknown), "(name not known, id %llu)",
		 (unsigned long long)event.culprit_id);
	expect_event(controller, 0, "open for writing 43", unknown);
	fake->slow_name = false;
	fake_end_name(controller);
	assert_int_equal(nr_rows(controller, "event"), nr + 300);
	expect_event(controller, 255, "open for writing 44", "user.slice");
	expect_event(controller, 0, "open for writing 299", "user.slice");
	controller_free(controller);
}

/* Who did it may be told later; that something was done is looked at now. */
static void drift_is_compared_before_its_culprit_is_named(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;

	scan(controller, pods, 1);
	event = written(make_stranger("user.slice"), id_of_path("pinfold.slice/poduid-a/exclusive"),
			GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->slow_name = true;
	fake->wake_ns = 0;
	tell(controller, &event);
	assert_int_not_equal(fake->wake_ns, 0);
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static int root_path_of(void *self, uint64_t id, char *ret_path, size_t size)
{
	*ret_path = '\0';
	return 0;
}

static void the_root_cgroup_has_a_name(void **state)
{
	struct event_record event = denied(1, 0, "x");
	struct controller *controller;
	struct json_object *list;

	groups.path_of = root_path_of;
	controller = start_node(&fake_side_port);
	tell(controller, &event);
	list = query(controller, "event");
	assert_string_equal(member(last_of(list), "cgroup"), "/");
	json_object_put(list);
	controller_free(controller);
}

/* Its own cgroups are a workload's affair; one that became empty may end a pod. */
static void life_cycles_are_not_reported(void **state)
{
	static const struct {
		uint32_t kind;
		bool is_populated, looks;
	} rows[] = {
		{EVENT_MKDIR, false, false},	{EVENT_ATTACH, false, false},
		{EVENT_POPULATED, true, false}, {EVENT_RELEASE, false, false},
		{EVENT_POPULATED, false, true}, {EVENT_RMDIR, false, true},
	};
	struct controller *controller = start_node(&fake_side_port);
	size_t nr = nr_rows(controller, "event");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_record event = event_of(rows[i].kind, 1, 1);

		event.life.is_populated = rows[i].is_populated;
		fake->wake_ns = 0;
		tell(controller, &event);
		assert_int_equal(!!fake->wake_ns, rows[i].looks);
	}
	assert_int_equal(nr_rows(controller, "event"), nr);
	controller_free(controller);
}

/* --- culprits ------------------------------------------------------------------------------------------ */

static void expect_drift(struct controller *controller, size_t index, const char *key,
			 const char *wanted)
{
	struct json_object *list = query(controller, "drift");

	assert_true(index < json_object_array_length(list));
	assert_string_equal(member(json_object_array_get_idx(list, index), key), wanted);
	json_object_put(list);
}

/* Two events are of this kind, that of the write and that of the change; both have this. */
static void expect_events_of(struct controller *controller, const char *kind, const char *key,
			     const char *wanted)
{
	struct json_object *list = query(controller, "event");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (strcmp(member(row, "kind"), kind))
			continue;
		assert_string_equal(member(row, key), wanted);
		nr++;
	}
	assert_int_equal(nr, 2);
	json_object_put(list);
}

/* The kernel's event first, then the look that finds the change. */
static void a_culprit_is_named_before_the_change_is_seen(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;

	scan(controller, pods, 1);
	event = written(make_stranger("user.slice/a"),
			id_of_path("pinfold.slice/poduid-a/exclusive"), GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->wake_ns = 0;
	tell(controller, &event);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	/* Whom the event names is mended first, even where the whole look fails. */
	fake->read_error = -EIO;
	controller_wake(controller);
	fake->read_error = 0;
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "cause", "user");
	expect_drift(controller, 0, "pid", "77");
	expect_drift(controller, 0, "comm", "culprit");
	expect_drift(controller, 0, "writer_cgroup", "user.slice/a");
	expect_drift(controller, 0, "wanted", "2-5");
	expect_drift(controller, 0, "found", "2-15");
	expect_drift(controller, 0, "action", "repair");
	expect_events_of(controller, "drift", "aspect", "cpuset_files");
	expect_events_of(controller, "drift", "pid", "77");
	expect_events_of(controller, "drift", "comm", "culprit");
	expect_events_of(controller, "drift", "cgroup", "user.slice/a");
	controller_free(controller);
	free_pods(pods, 1);
}

/* The look first: the event completes the row that is there. */
static void a_culprit_is_named_after_the_repair(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;

	scan(controller, pods, 2);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 2);
	event = written(make_stranger("user.slice"),
			id_of_path("pinfold.slice/poduid-b/exclusive-too"), GROUP_CPUSET_CPUS);
	tell(controller, &event);
	assert_int_equal(nr_rows(controller, "drift"), 2);
	expect_drift(controller, 0, "cause", "unknown");
	expect_drift(controller, 0, "pid", "null");
	expect_drift(controller, 1, "cgroup", "pinfold.slice/poduid-b/exclusive-too");
	expect_drift(controller, 1, "cause", "user");
	expect_drift(controller, 1, "pid", "77");
	/* Another file of the same group is another row. */
	event = written(event.culprit_id, event.target_id, GROUP_CPUSET_PARTITION);
	tell(controller, &event);
	assert_int_equal(nr_rows(controller, "drift"), 3);
	expect_drift(controller, 2, "attribute", "partition");
	controller_free(controller);
	free_pods(pods, 2);
}

static void causes_follow_where_the_culprit_lives(void **state)
{
	static const struct {
		const char *cgroup, *cause;
		uint32_t pid;
	} rows[] = {
		{"init.scope", "systemd", 1},
		{"system.slice/kubelet.service", "kubelet", 9},
		{"system.slice/containerd.service", "runtime", 9},
		{"system.slice/crio.service", "runtime", 9},
		{"system.slice/docker.service", "runtime", 9},
		{"system.slice/cron.service", "user", 9},
	};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;

	scan(controller, pods, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		event = written(make_stranger(rows[i].cgroup),
				id_of_path("pinfold.slice/poduid-a/exclusive"), i);
		event.pid = rows[i].pid;
		tell(controller, &event);
		expect_drift(controller, i, "cause", rows[i].cause);
	}
	expect_drift(controller, 0, "attribute", "mems");
	expect_drift(controller, 1, "attribute", "cpus");
	expect_drift(controller, 2, "attribute", "partition");
	expect_drift(controller, 3, "attribute", "weight");
	expect_drift(controller, 4, "attribute", "quota");
	expect_drift(controller, 5, "attribute", "memory");
	/* A file that is not ours has no row. */
	event = written(event.culprit_id, event.target_id, GROUP_ATTRIBUTE_NR);
	tell(controller, &event);
	assert_int_equal(nr_rows(controller, "drift"), ARRAY_SIZE(rows));
	controller_free(controller);
	free_pods(pods, 1);
}

/* Nobody knows what was written, so everything is looked at; there is no culprit to name. */
static void unjudged_calls_request_a_look(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event = EVENT_RECORD(EVENT_UNJUDGED);
	size_t nr = nr_rows(controller, "drift");
	struct json_object *list;

	event.nr_unjudged = 3;
	fake->wake_ns = 0;
	tell(controller, &event);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	assert_int_equal(nr_rows(controller, "drift"), nr);
	list = query(controller, "event");
	assert_string_equal(member(last_of(list), "kind"), "drift");
	assert_string_equal(member(last_of(list), "detail"),
			    "the guard missed 3 calls; all managed files are read back");
	json_object_put(list);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_event_is_named, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_name_keeps_the_order, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_delayed_event_keeps_its_time, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_queue_loses_no_event, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(drift_is_compared_before_its_culprit_is_named,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_removed_cgroup_keeps_its_number, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(the_root_cgroup_has_a_name, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(life_cycles_are_not_reported, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_culprit_is_named_before_the_change_is_seen,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_culprit_is_named_after_the_repair, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(causes_follow_where_the_culprit_lives, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(unjudged_calls_request_a_look, set_up_node,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
