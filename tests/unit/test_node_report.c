// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What the node says of itself: tiers and guard only as they are in force, each
 * finding raised and cleared with its cause, readiness with the reason against it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "ctl/guard.h"
#include "node_scene.h"

static void expect_node(struct controller *controller, const char *key, const char *wanted)
{
	struct json_object *node = query(controller, "node"), *value = NULL;

	assert_true(json_object_object_get_ex(node, key, &value));
	assert_string_equal(json_object_get_string(value), wanted);
	json_object_put(node);
}

static void expect_unready(struct controller *controller, const char *part)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[256] = "";

	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	if (!strstr(reason, part))
		fail_msg("'%s' does not say '%s'", reason, part);
}

static void expect_ready(struct controller *controller)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[256] = "";

	if (!faces->ready(faces->self, reason, sizeof(reason)))
		fail_msg("not ready: %s", reason);
}

/* --- tiers and guard ------------------------------------------------------------------------------- */

static void tiers_in_force_are_listed(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	expect_node(controller, "tiers", "0 1 2");
	expect_node(controller, "guard", "enforce");
	expect_node(controller, "partition", "root");
	assert_int_equal(nr_findings(controller, "", ""), 0);
	/* What protects less is still there, what does not protect is not. */
	fake_side.guard.state = GUARD_PARTIAL;
	expect_node(controller, "guard", "partial");
	expect_node(controller, "tiers", "0 1 2");
	fake_side.guard.state = GUARD_INACTIVE;
	expect_node(controller, "guard", "absent");
	expect_node(controller, "tiers", "0 1");
	controller_free(controller);
}

static void a_guard_that_only_records_is_not_a_tier(void **state)
{
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	expect_node(controller, "guard", "audit");
	expect_node(controller, "tiers", "0 1");
	controller_free(controller);
}

static void without_bpf_there_is_no_guard(void **state)
{
	struct controller *controller = start_node(NULL);

	expect_node(controller, "guard", "absent");
	expect_node(controller, "tiers", "0 1");
	assert_int_equal(nr_rows(controller, "feature"), 0);
	assert_int_equal(nr_rows(controller, "prog"), 0);
	controller_tick(controller);
	controller_free(controller);
}

static void an_invalid_partition_is_not_a_tier(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	partition_invalid = true;
	controller_wake(controller);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_held",
				     "cpuset.cpus.partition has 'root invalid (Cpu list in "
				     "cpuset.cpus not exclusive)'"),
			 1);
	partition_invalid = false;
	controller_wake(controller);
	expect_node(controller, "tiers", "0 1 2");
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 0);
	controller_free(controller);
}

/* While the root's own step waits in the kernel nobody can tell: what was known stands. */
static void an_unknown_partition_keeps_its_last_state(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	expect_node(controller, "tiers", "0 1 2");
	unknown_path = "pinfold.slice";
	controller_wake(controller);
	expect_node(controller, "tiers", "0 1 2");
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 0);
	unknown_path = NULL;
	partition_invalid = true;
	controller_wake(controller);
	unknown_path = "pinfold.slice";
	controller_wake(controller);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_held", "not exclusive"), 1);
	controller_free(controller);
}

/* Whatever it was before: nobody can say that it protects anybody. */
static void a_partition_that_cannot_be_read_is_not_a_tier(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	expect_node(controller, "tiers", "0 1 2");
	unknown_path = "pinfold.slice";
	unknown_error = -EIO;
	controller_wake(controller);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_held",
				     "cpuset.cpus.partition cannot be read: 'Input/output error'"),
			 1);
	unknown_path = NULL;
	controller_wake(controller);
	expect_node(controller, "tiers", "0 1 2");
	controller_free(controller);
}

static void reload(struct controller *controller)
{
	char error[256] = "";

	if (controller_reload(controller, &policy, &options, error, sizeof(error)))
		fail_msg("%s", error);
}

static void a_partition_that_was_given_up_is_not_a_tier(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, NULL, 0);
	expect_node(controller, "tiers", "0 1 2");
	config.partitions = PARTITIONS_OFF;
	reload(controller);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 1);
	expect_ready(controller);
	config.partitions = PARTITIONS_AUTO;
	reload(controller);
	expect_node(controller, "tiers", "0 1 2");
	/* Nobody misses what nobody wants. */
	partition_invalid = true;
	controller_wake(controller);
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 1);
	config.partitions = PARTITIONS_OFF;
	reload(controller);
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 0);
	expect_node(controller, "tiers", "0 2");
	expect_ready(controller);
	controller_free(controller);
}

static void tier_one_needs_a_strict_reservation(void **state)
{
	struct controller *controller;

	config.policy.cpu_options.strict_reservation = false;
	policy = config.policy;
	controller = start_node(&fake_side_port);
	expect_node(controller, "tiers", "0 2");
	expect_node(controller, "partition", "member");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", "may run on CPUs"), 1);
	/* Nor is it asked for where it is switched off. */
	config.policy.cpu_options.strict_reservation = true;
	policy = config.policy;
	config.partitions = PARTITIONS_OFF;
	controller_free(controller);
	controller = start_node(&fake_side_port);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 1);
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 0);
	controller_free(controller);
}

static void foreign_containers_prevent_the_partition(void **state)
{
	struct controller *controller;

	strcpy(foreign_scope, "machine.slice");
	controller = start_node(&fake_side_port);
	expect_node(controller, "tiers", "0 2");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", "it would push machine.slice"),
			 1);
	controller_free(controller);
	/* An operator may accept what becomes of them. */
	config.host_tasks = HOST_TASKS_RESERVED;
	controller = start_node(&fake_side_port);
	expect_node(controller, "tiers", "0 1 2");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 0);
	controller_free(controller);
}

/* --- the guard's self-test -------------------------------------------------------------------------- */

static void the_self_test_is_repeated(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	assert_int_equal(fake_side.nr_self_tests, 1);
	assert_string_equal(fake_side.self_test_path, "pinfold.slice/pinfold-selftest");
	fake_side.guard.state = GUARD_PARTIAL;
	strcpy(fake_side.guard.reason, "one program is missing");
	fake->now_ns += 59 * S;
	controller_tick(controller);
	assert_int_equal(fake_side.nr_self_tests, 1);
	/* What the BPF backend knows without a test is told at once. */
	assert_int_equal(nr_findings(controller, "guard_not_active", "one program is missing"), 1);
	fake->now_ns += S;
	controller_tick(controller);
	assert_int_equal(fake_side.nr_self_tests, 2);
	assert_int_equal(nr_findings(controller, "guard_not_active", "one program is missing"), 1);
	/* Another reason takes the place of the first. */
	strcpy(fake_side.guard.reason, "all of them are");
	fake->now_ns += 60 * S;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "guard_not_active", ""), 1);
	assert_int_equal(nr_findings(controller, "guard_not_active", "all of them are"), 1);
	fake_side.guard.state = GUARD_ACTIVE;
	fake->now_ns += 60 * S;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "guard_not_active", ""), 0);
	assert_int_equal(fake_side.nr_ticks, 4);
	controller_free(controller);
}

/* The kernel changes effective sets without telling, so time is a reason to look. */
static void a_tick_resyncs_after_ten_seconds(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->now_ns += 10 * S - 1;
	controller_tick(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	fake->now_ns += 1;
	controller_tick(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_bpf_backend_that_fails_is_left_out(void **state)
{
	struct controller *controller;
	char reason[ROW_DETAIL_MAX];

	fake_side.start_error = -EPERM;
	controller = start_node(&fake_side_port);
	assert_int_equal(fake_side.nr_entered, 0);
	assert_int_equal(nr_findings(controller, "kernel_side_absent", "could not be loaded"), 1);
	expect_node(controller, "guard", "absent");
	assert_true(ctl_lacks_guard(controller, reason, sizeof(reason)));
	assert_non_null(strstr(reason, "could not be loaded"));
	/* where nothing is to be denied nothing promised is broken */
	config.mode = MODE_OBSERVE;
	assert_false(ctl_lacks_guard(controller, reason, sizeof(reason)));
	config.mode = MODE_ALLOCATE;
	assert_int_equal(fake_side.nr_published, 0);
	controller_free(controller);
	/* Loaded, but it would deny our own writes: as bad. */
	fake_side.start_error = 0;
	fake_side.enter_error = -EIO;
	controller = start_node(&fake_side_port);
	assert_int_equal(fake_side.nr_entered, 1);
	assert_int_equal(nr_findings(controller, "kernel_side_absent", ""), 1);
	controller_free(controller);
	/* A newer agent's: the caller must leave everything as it is. */
	fake_side.start_error = -EPROTO;
	controller = make_node(&fake_side_port);
	assert_int_equal(controller_start(controller), -EPROTO);
	controller_free(controller);
}

/* --- readiness -------------------------------------------------------------------------------------- */

static void readiness_needs_all_conditions(void **state)
{
	struct controller *controller = make_node(&fake_side_port);
	const struct faces_port *faces = controller_faces(controller);
	const struct source_sink *sink = &controller_sinks(controller)->source;
	char reason[64] = "";

	expect_unready(controller, "starting");
	assert_true(faces->healthy(faces->self, reason, sizeof(reason)));
	assert_string_equal(reason, "ok");
	assert_int_equal(controller_start(controller), 0);
	expect_unready(controller, "manifests");
	expect_node(controller, "ready", "false");
	/* Half of the manifests is not all of them. */
	sink->scanned(sink->self, NULL, 0, false);
	expect_unready(controller, "manifests");
	sink->scanned(sink->self, NULL, 0, true);
	expect_ready(controller);
	expect_node(controller, "ready", "true");
	controller_free(controller);
}

static void a_root_that_cannot_be_set_up_is_not_ready(void **state)
{
	struct controller *controller;

	fake->apply_error = -EROFS;
	strcpy(fake->apply_path, "pinfold.slice");
	controller = start_node(&fake_side_port);
	scan(controller, NULL, 0);
	expect_unready(controller, "the workload root cannot be set up: pinfold.slice: injected");
	fake->apply_error = 0;
	fake->now_ns += S;
	controller_wake(controller);
	/* The step that failed is done; the next look sees that there is nothing left to do. */
	controller_wake(controller);
	expect_ready(controller);
	controller_free(controller);
}

/* --- findings of others ----------------------------------------------------------------------------- */

static void findings_are_raised_and_cleared_by_kind(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	controller_finding(controller, FINDING_GRANT_LOST, "one", "do a");
	controller_finding(controller, FINDING_CPUS_CHANGED, "two", "do b");
	controller_finding(controller, FINDING_GRANT_LOST, "changed", "do c");
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 1);
	assert_int_equal(nr_findings(controller, "grant_lost", "changed"), 1);
	controller_clear_finding(controller, FINDING_GRANT_LOST);
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 0);
	assert_int_equal(nr_findings(controller, "cpus_changed", "two"), 1);
	controller_clear_finding(controller, FINDING_IRQS_UNKNOWN);
	assert_int_equal(nr_findings(controller, "cpus_changed", "two"), 1);
	controller_free(controller);
}

static void a_remedy_may_change_alone(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct json_object *node, *finding;

	controller_finding(controller, FINDING_GRANT_LOST, "message", "old remedy");
	controller_finding(controller, FINDING_GRANT_LOST, "message", "new remedy");
	node = query(controller, "node");
	finding = json_object_array_get_idx(json_object_object_get(node, "findings"), 0);
	assert_string_equal(json_object_get_string(json_object_object_get(finding, "remedy")),
			    "new remedy");
	json_object_put(node);
	controller_free(controller);
}

/* --- the other objects -------------------------------------------------------------------------------- */

static int near_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = fake_status(self, path, ret_status);

	cpuset_add(&ret_status->effective_mems, 1);
	return r;
}

static void a_container_without_counters_is_shown(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;
	struct json_object *list, *row;

	groups.status = near_status;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	list = query(controller, "container");
	row = json_object_array_get_idx(list, 0);
	assert_string_equal(member(row, "cgroup"), "pinfold.slice/poduid-a/exclusive");
	assert_string_equal(member(row, "effective_cpus"), "2-5");
	assert_string_equal(member(row, "effective_mems"), "1");
	assert_string_equal(member(row, "run_seconds"), "null");
	json_object_put(list);
	controller_free(controller);
	free_pods(pods, 1);
}

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

static void what_is_wrong_at_the_start_is_told_at_once(void **state)
{
	struct controller *controller;

	config.runtime_writes = RUNTIME_WRITES_DENY;
	fake->check_error = -EBUSY;
	controller = start_node(NULL);
	assert_int_equal(nr_findings(controller, "runtime_writes_not_built", ""), 1);
	assert_int_equal(nr_findings(controller, "cgroups_out_of_reach", ""), 1);
	controller_free(controller);
}

static void a_reload_that_would_move_a_pod_is_refused_with_the_reason(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct policy other = policy;
	char error[256] = "";

	scan(controller, pods, 1);
	cpuset_parse("0-2", 3, &other.reserved_list);
	assert_int_equal(controller_reload(controller, &other, &options, error, sizeof(error)),
			 -EBUSY);
	assert_string_equal(error, "pod default/a would lose its grant: pod uid-a holds reserved "
				   "CPUs");
	/* Nothing has changed. */
	assert_true(cpuset_equal(controller_reserved(controller), &policy.reserved_list));
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_reload_replaces_the_options(void **state)
{
	struct controller *controller = start_node(NULL);
	struct config observing = config;
	char error[256];

	expect_node(controller, "mode", "allocate");
	observing.mode = MODE_OBSERVE;
	options.config = &observing;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	expect_node(controller, "mode", "observe");
	controller_free(controller);
}

static void the_hierarchy_is_named(void **state)
{
	struct controller *controller = start_node(NULL);

	expect_node(controller, "hierarchy", "cgroupfs");
	controller_free(controller);
	groups.layout = systemd_layout;
	controller = start_node(NULL);
	expect_node(controller, "hierarchy", "systemd");
	controller_free(controller);
}

static void a_container_is_shown_as_it_runs(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct json_object *list, *row;

	scan(controller, pods, 1);
	list = query(controller, "container");
	assert_int_equal(json_object_array_length(list), 1);
	row = json_object_array_get_idx(list, 0);
	assert_string_equal(member(row, "effective_cpus"), "2-5");
	assert_string_equal(member(row, "processes"), "0");
	assert_string_equal(member(row, "run_seconds"), "7.000000007");
	assert_string_equal(member(row, "wait_seconds"), "141.000000141");
	assert_string_equal(member(row, "wait_host_seconds"), "19.000000019");
	assert_string_equal(member(row, "migrations_within_node"), "240");
	assert_string_equal(member(row, "migrations_across_nodes"), "256");
	json_object_put(list);
	/* Not counted is not zero. */
	fake_side.usage_error = -ENOENT;
	list = query(controller, "container");
	row = json_object_array_get_idx(list, 0);
	assert_string_equal(member(row, "run_seconds"), "null");
	assert_string_equal(member(row, "effective_cpus"), "2-5");
	json_object_put(list);
	controller_free(controller);
	free_pods(pods, 1);
}

static void the_state_file_is_shown(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_node(&fake_side_port);
	struct json_object *row = query(controller, "state");

	assert_string_equal(member(row, "present"), "false");
	assert_string_equal(member(row, "written_ns"), "null");
	json_object_put(row);
	scan(controller, pods, 2);
	row = query(controller, "state");
	assert_string_equal(member(row, "present"), "true");
	assert_string_equal(member(row, "writable"), "true");
	assert_string_equal(member(row, "pods"), "2");
	assert_string_equal(member(row, "containers"), "2");
	assert_string_equal(member(row, "problem"), "null");
	json_object_put(row);
	fake->save_error = -ENOSPC;
	scan(controller, pods, 1);
	row = query(controller, "state");
	assert_string_equal(member(row, "writable"), "false");
	assert_string_equal(member(row, "problem"), "No space left on device");
	json_object_put(row);
	controller_free(controller);
	free_pods(pods, 2);
}

static void other_objects_are_there(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;

	assert_int_equal(nr_rows(controller, "cpu"), 16);
	assert_int_equal(nr_rows(controller, "feature"), 3);
	assert_int_equal(nr_rows(controller, "prog"), 4);
	json = query(controller, "policy");
	assert_string_equal(member(json, "cpu_manager_policy"), "static");
	json_object_put(json);
	json = NULL;
	assert_int_equal(faces->query(faces->self, "nothing", &json), -ENOENT);
	assert_null(json);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tiers_in_force_are_listed, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_guard_that_only_records_is_not_a_tier,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(without_bpf_there_is_no_guard, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_partition_keeps_its_last_state,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_partition_that_cannot_be_read_is_not_a_tier,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(an_invalid_partition_is_not_a_tier, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_partition_that_was_given_up_is_not_a_tier,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(tier_one_needs_a_strict_reservation, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(foreign_containers_prevent_the_partition,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(the_self_test_is_repeated, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_tick_resyncs_after_ten_seconds, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bpf_backend_that_fails_is_left_out, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(readiness_needs_all_conditions, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_root_that_cannot_be_set_up_is_not_ready,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(findings_are_raised_and_cleared_by_kind,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_remedy_may_change_alone, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_container_is_shown_as_it_runs, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_container_without_counters_is_shown, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(the_hierarchy_is_named, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_at_the_start_is_told_at_once,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(
			a_reload_that_would_move_a_pod_is_refused_with_the_reason, set_up_node,
			tear_down),
		cmocka_unit_test_setup_teardown(a_reload_replaces_the_options, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(the_state_file_is_shown, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(other_objects_are_there, set_up_node, tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
