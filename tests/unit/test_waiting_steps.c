// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * While a step waits in the kernel, its pod stands still, and so does the pod that is to
 * get its CPUs. All others go on, and an operator is told. After each step the world is
 * looked at: no exclusive container ever shares a CPU with anybody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waiting_scene.h"

static void expect_pod(struct controller *controller, const char *state, const char *detail)
{
	struct json_object *pods = query(controller, "pod"), *pod = NULL;
	const char *found;

	assert_int_equal(json_object_array_length(pods), 1);
	pod = json_object_array_get_idx(pods, 0);
	found = json_object_get_string(json_object_object_get(pod, "detail"));
	assert_string_equal(json_object_get_string(json_object_object_get(pod, "state")), state);
	assert_string_equal(found ? found : "none", detail);
	json_object_put(pods);
}

static void a_waiting_step_stops_its_pod_only(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	scan(controller, pods, 2);
	assert_true(fake->has_step);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	/* The fake aborts when it is asked for a second step of the chain that waits. */
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	tamper("exclusive-too", GROUP_CPUSET_CPUS, "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-b/exclusive-too", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	fake->wake_ns = 0;
	be_fast();
	fake_end_step(controller, 0);
	assert_int_not_equal(fake->wake_ns, 0);
	controller_wake(controller);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-a", GROUP_MEMORY_MAX), "67108864");
	assert_false(fake->overlap_seen);
	end(controller, pods, 2);
}

static void a_step_that_fails_late_is_tried_again(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	be_fast();
	fake_end_step(controller, -EIO);
	controller_wake(controller);
	assert_null(file_of("exclusive", GROUP_CPUSET_CPUS));
	fake->now_ns += SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	end(controller, pods, 1);
}

static void a_repair_that_takes_long_is_a_repair(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	struct json_object *drift, *action;

	scan(controller, pods, 1);
	be_slow_with("exclusive", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_true(fake->has_step);
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	json_object_object_get_ex(json_object_array_get_idx(drift, 0), "action", &action);
	assert_string_equal(json_object_get_string(action), "repair");
	json_object_put(drift);
	end(controller, pods, 1);
}

/* What was not written yet, because an earlier step waited, nobody else has changed. */
static void a_delayed_write_is_not_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_CPUSET_MEMS);
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	controller_wake(controller);
	be_fast();
	/* The kernel has a value of its own in a file that was never written. */
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_CPU_WEIGHT], "100");
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "max");
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "67108864");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	/* From now on it is. */
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "max");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 1);
	end(controller, pods, 1);
}

/* What the kernel did not tell before the agent died is compared anew by the next one. */
static void a_crash_while_a_step_waits_loses_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	controller_free(controller);
	fake->has_step = false;
	be_fast();
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	end(controller, pods, 1);
}

/* --- CPUs that are not free yet ------------------------------------------------------------------- */

static void a_waiting_release_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "batch", 500, false)};
	struct controller *controller = start_with_web(pods);

	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 3);
	assert_true(fake->has_step);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	end(controller, pods, 3);
}

static void a_failed_release_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "batch", 500, false)};
	struct controller *controller = start_with_web(pods);

	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "web")->path);
	scan(controller, pods, 3);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
	/* Not even while the chain that failed waits for its next try. */
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	fake->apply_error = 0;
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	end(controller, pods, 3);
}

/* The growth was right when it began; the CPUs have another owner by now. */
static void a_growth_under_way_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("d", "exclusive-too", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	assert_string_equal(fake->going_value, "2-15");
	{
		struct pod_spec *now[] = {pods[0], pods[2]};

		scan(controller, now, 2);
		assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "");
		be_fast();
		fake_end_step(controller, 0);
		controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	end(controller, pods, 3);
}

/* --- telling ------------------------------------------------------------------------------------- */

static void a_wait_is_reported_and_cleared(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, NULL, 0);
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	be_slow_with("uid-a", GROUP_CPUSET_MEMS);
	scan(controller, pods, 1);
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	expect_metric(controller, "pinfold_operations_waiting 1\n");
	/* "running" would say that they were written and read back. */
	expect_pod(controller, "waiting", "its cgroups are being written");
	assert_true(is_ready(controller, reason));
	fake->now_ns += 2 * SECOND;
	controller_tick(controller);
	expect_pod(controller, "waiting",
		   "pod default/a has waited 2 s for the write of "
		   "pinfold.slice/poduid-a/exclusive/cpuset.mems (in fake_wait)");
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "pod default/a has waited 2 s for the write of "
				     "pinfold.slice/poduid-a/exclusive/cpuset.mems (in fake_wait)"),
			 1);
	assert_true(is_ready(controller, reason));
	fake->now_ns += 4 * SECOND;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", "waited 6 s"), 1);
	assert_false(is_ready(controller, reason));
	assert_non_null(strstr(reason, "pod default/a has waited 6 s"));
	expect_metric(controller, "pinfold_operation_longest_wait_seconds 6");
	be_fast();
	fake_end_step(controller, 0);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	assert_true(is_ready(controller, reason));
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	controller_wake(controller);
	expect_pod(controller, "running", "none");
	end(controller, pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_waiting_step_stops_its_pod_only, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_fails_late_is_tried_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_repair_that_takes_long_is_a_repair, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_delayed_write_is_not_drift, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_crash_while_a_step_waits_loses_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_waiting_release_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_failed_release_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_growth_under_way_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_wait_is_reported_and_cleared, set_up, tear_down),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
