// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* A grant waits until the state file has it: before that no cgroup is changed for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waiting_scene.h"

static void a_grant_waits_for_the_disk(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, pods, 1);
	fake->slow_save = true;
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_null(file_of("exclusive-too", GROUP_CPUSET_CPUS));
	/* Who runs is held as before. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	fake->now_ns += 6 * SECOND;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "every new grant has waited 6 s for the write "
				     "of the state file (in fake_fsync)"),
			 1);
	assert_false(is_ready(controller, reason));
	assert_false(controller_wants_scan(controller));
	/* Named again meanwhile, it is not asked for twice. */
	scan(controller, pods, 3);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	/* How long it took is from when it was asked for first. */
	expect_metric(controller, "pinfold_admission_duration_seconds_sum 6.000000000\n");
	/* It had the second pod; the third one's turn is at the next scan, asked for now. */
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_true(controller_wants_scan(controller));
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	assert_true(is_ready(controller, reason));
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 3);
	end(controller, pods, 3);
}

/* What was decided is not looked for in the manifests again. */
static void a_grant_that_is_durable_needs_no_scan(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_false(controller_wants_scan(controller));
	end(controller, pods, 1);
}

static void a_save_that_fails_late_refuses(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	char reason[512];

	fake->slow_save = true;
	scan(controller, pods, 1);
	fake->slow_save = false;
	fake->save_error = -ENOSPC;
	fake_end_save(controller, -ENOSPC);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	expect_refusal(controller, 0, "reason", "UnexpectedAdmissionError");
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	expect_refusal(controller, 0, "line", "1");
	assert_false(is_ready(controller, reason));
	/* Space again, and slow: admitted once the record that says so is there. */
	fake->save_error = 0;
	fake->slow_save = true;
	for (int i = 0; i < 4 && nr_rows(controller, "pod") == 0; i++) {
		controller_wake(controller);
		if (fake->is_saving)
			fake_end_save(controller, 0);
	}
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_wake(controller);
	assert_true(is_ready(controller, reason));
	end(controller, pods, 1);
}

/* A disk that fails slowly is not asked again in the same moment, for ever. */
static void a_save_that_fails_late_is_not_repeated_at_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_wake(controller);
	fake->wake_ns = 0;
	fake_end_save(controller, -EIO);
	/* Not before then, and not never. */
	assert_true(fake->wake_ns >= fake->now_ns + SECOND);
	fake->now_ns += SECOND;
	controller_wake(controller);
	assert_true(fake->is_saving);
	end(controller, pods, 1);
}

/* The ledger moved on while the file was written: the file follows, without being asked. */
static void a_release_during_a_save_reaches_the_file(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	fake->slow_save = true;
	scan(controller, pods, 2);
	assert_true(fake->is_saving);
	/* Both are gone before the record with both is there. */
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 0);
	end(controller, pods, 2);
}

/* No pod before the record is there, the whole pod after it, whenever the agent dies. */
static void a_crash_while_a_save_waits(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_free(controller);
	fake->is_saving = false;
	fake->slow_save = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 0);
	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_free(controller);
	/* The record came to be, and nobody lived to hear of it. */
	fake->is_saving = false;
	memcpy(fake->state, fake->saving, fake->saving_len);
	fake->state_len = fake->saving_len;
	fake->has_state = true;
	fake->slow_save = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	end(controller, pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_grant_waits_for_the_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_grant_that_is_durable_needs_no_scan, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_save_that_fails_late_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_save_that_fails_late_is_not_repeated_at_once,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_release_during_a_save_reaches_the_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_crash_while_a_save_waits, set_up, tear_down),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
