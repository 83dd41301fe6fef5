// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * While the cgroups are read, steps, joins and requests begin and end, and the controller
 * knows of each of them although the look does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waiting_scene.h"

/* Nothing runs in "exclusive", so its pod ends as soon as its manifest is gone. */
static void scan_with_idle_exclusive(struct controller *controller, struct pod_spec **pods)
{
	scan(controller, pods, 2);
	populate(true);
	group_of(GROUP_CONTAINER, "exclusive")->populated = false;
	group_of(GROUP_POD, "uid-a")->populated = false;
}

/* The two containers have their own CPUs and never had one in common. */
static void expect_separated(void)
{
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
}

static void a_slow_look_delays_no_pod_forever(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	scan(controller, pods, 2);
	fake->slow_look = true;
	controller_wake(controller);
	/* Drift that the look has passed already: known by name, it is mended at once. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-a/exclusive", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	/* Another one, that nobody knows the name of. */
	tamper("web", GROUP_CPUSET_CPUS, "7");
	sink->changed(sink->self, "", "");
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
	/* What was seen before the repair is not taken, and not what was before the wish. */
	fake->wake_ns = 0;
	for (int i = 0; i < 3 && strcmp(file_of("web", GROUP_CPUSET_CPUS), "6-15"); i++) {
		if (fake->look == FAKE_LOOKING)
			fake_end_look(controller);
		assert_int_not_equal(fake->wake_ns, 0);
		fake->wake_ns = 0;
		controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	end(controller, pods, 2);
}

/* Drift that nobody tells of by name, and that the look which goes on has passed already. */
static void a_request_during_a_look_triggers_another(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	scan(controller, pods, 1);
	fake->slow_look = true;
	controller_wake(controller);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	sink->changed(sink->self, "", "");
	controller_wake(controller);
	fake->slow_look = false;
	end_look(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
	assert_int_not_equal(fake->wake_ns, 0);
	fake->wake_ns = 0;
	fake->slow_look = true;
	controller_wake(controller);
	fake_end_look(controller);
	assert_int_not_equal(fake->wake_ns, 0);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	end(controller, pods, 1);
}

/* Each look is late, and during each a process joins a pod. Drift of another pod is mended. */
static void joins_without_end_do_not_starve_a_look(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 2);
	fake->slow_join = true;
	fake->slow_look = true;
	tamper("web", GROUP_CPUSET_CPUS, "7");
	controller_wake(controller);
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(fake->look, FAKE_LOOKING);
		assert_int_equal(run(controller, 1 + i, "default/a", "exclusive", &status),
				 -EINPROGRESS);
		fake_end_join(controller, 0);
		assert_int_equal(answered_status, 200);
		end_look(controller);
		if (fake->look != FAKE_LOOKING)
			controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	end(controller, pods, 2);
}

/*
 * web leaves CPUs to an exclusive pod, which goes before the look has ended; web gets the
 * CPUs back during the look, and they are granted again. The look knows nothing of it all.
 */
static void a_step_that_ended_during_a_look_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan_with_idle_exclusive(controller, pods);
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	controller_wake(controller);
	assert_true(fake->has_step);
	assert_string_equal(fake->going_value, "2-15");
	fake->slow_look = true;
	scan(controller, pods, 2);
	assert_int_equal(fake->look, FAKE_LOOKING);
	be_fast();
	fake_end_step(controller, 0);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	end_look(controller);
	expect_separated();
	/* What we wrote ourselves is not somebody's drift. */
	assert_int_equal(nr_rows(controller, "drift"), 0);
	end(controller, pods, 2);
}

/* The same, but the kernel took the CPUs and says that it failed: nobody knows what web has. */
static void a_step_that_failed_during_a_look_holds(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan_with_idle_exclusive(controller, pods);
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	controller_wake(controller);
	fake->slow_look = true;
	scan(controller, pods, 2);
	be_fast();
	tamper("web", GROUP_CPUSET_CPUS, "2-15");
	fake_end_step(controller, -EREMOTEIO);
	end_look(controller);
	/* The look saw web on 6-15. */
	assert_false(fake->overlap_seen);
	fake->slow_look = false;
	fake->now_ns += 60 * SECOND;
	if (fake->look == FAKE_LOOKING)
		fake_end_look(controller);
	controller_wake(controller);
	controller_wake(controller);
	expect_separated();
	end(controller, pods, 2);
}

static void a_cgroup_made_during_a_look_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, pods, 1);
	be_slow_with("uid-w/", GROUP_FILE_NR);
	scan(controller, pods, 2);
	assert_true(fake->has_step);
	assert_int_equal(fake->going.kind, STEP_CREATE);
	fake->slow_look = true;
	controller_wake(controller);
	be_fast();
	fake_end_step(controller, 0);
	end_look(controller);
	/* Made a second time it would have failed. */
	for (int i = 0; i < 3 && fake->look == FAKE_LOOKING; i++) {
		end_look(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_true(is_ready(controller, reason));
	end(controller, pods, 2);
}

/*
 * A pod that waits is not looked at. What it was given since it was seen last counts all
 * the same: here web's CPUs, written just before the file that waits.
 */
static void the_last_write_of_a_blocked_pod_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan_with_idle_exclusive(controller, pods);
	be_slow_with("web", GROUP_CPU_WEIGHT);
	tamper("web", GROUP_CPU_WEIGHT, "7");
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	be_fast();
	scan(controller, pods, 2);
	assert_false(fake->overlap_seen);
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	expect_separated();
	end(controller, pods, 2);
}

/* The same where a repair by name waits, with no look since the pod was all right. */
static void a_pod_whose_repair_waits_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with_web(pods);
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	be_slow_with("web", GROUP_CPU_WEIGHT);
	tamper("web", GROUP_CPU_WEIGHT, "7");
	sink->changed(sink->self, "pinfold.slice/poduid-w/web", "cpu.weight");
	controller_wake(controller);
	assert_true(fake->has_step);
	be_fast();
	scan(controller, pods, 2);
	assert_false(fake->overlap_seen);
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	expect_separated();
	end(controller, pods, 2);
}

/* Requests go on while the cgroups cannot be looked at: what they need is known without. */
static void a_run_continues_while_looks_fail(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_kill = true;
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake->read_error = -EIO;
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	end(controller, pods, 1);
}

static void a_run_continues_while_a_look_is_blocked(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake->slow_look = true;
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(fake->look, FAKE_LOOKING);
	assert_int_equal(answered_status, 200);
	end(controller, pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_slow_look_delays_no_pod_forever, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_during_a_look_triggers_another, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(joins_without_end_do_not_starve_a_look, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_ended_during_a_look_is_known,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_failed_during_a_look_holds,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_cgroup_made_during_a_look_is_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_last_write_of_a_blocked_pod_is_known,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_pod_whose_repair_waits_is_known, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_continues_while_looks_fail, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_continues_while_a_look_is_blocked, set_up,
						tear_down),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
