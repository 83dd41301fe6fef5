// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What leaves a gap in the history of pods and containers, and what makes a longer sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_scene.h"

static void passes_that_fail(struct controller *controller, int nr)
{
	fake_pressure.result = -EIO;
	pass_times(controller, nr);
	fake_pressure.result = 0;
}

static void after_a_pass_that_fails_the_sample_is_longer(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	passes_that_fail(controller, 1);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 4 + 1 + 2);
	assert_int_equal(nr_gaps, 0);
	assert_int_equal(samples[4].length_ns, 4 * S);
	assert_int_equal(samples[4].run_ns, 2 * S);
	controller_free(controller);
}

static void passes_that_keep_failing_are_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	passes_that_fail(controller, 8);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	/* Four samples; the failed passes and the first one after them; two samples. */
	assert_int_equal(nr_samples, 4 + 1 + 2);
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[4].kind, HISTORY_GAP);
	assert_int_equal(samples[4].length_ns, 18 * S);
	expect_no_usage(4);
	expect_no_pressure(4);
	assert_int_equal(samples[5].run_ns, S);
	controller_free(controller);
}

static void minutes_without_a_sample_are_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 2 * 30);
	passes_that_fail(controller, 5 * 30);
	pass_times(controller, 2 * 30);
	read_history(controller, "a", "exclusive", PRESSURE_SPAN_24H);
	assert_int_equal(nr_gaps, 1);
	for (size_t i = 0; i < nr_samples; i++)
		if (samples[i].kind == HISTORY_GAP)
			assert_in_range(samples[i].length_ns, 4 * 60 * S, 5 * 60 * S);
	controller_free(controller);
}

/* Where only the pressure is known, the kernel's period is the length of a sample. */
static void up_to_a_second_is_not_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 6);
	fake_pressure.all.updated_ns -= S;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(samples[nr_samples - 1].length_ns, S);
	assert_int_equal(nr_gaps, 0);
	fake_pressure.all.updated_ns -= S + 2 * MS;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 1);
	controller_free(controller);
}

static void a_late_pass_is_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	fake->now_ns += 15 * S;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 5);
	assert_int_equal(nr_gaps, 0);
	assert_int_equal(samples[4].length_ns, 17 * S);
	fake->now_ns += 15 * S + 1;
	pass(controller);
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 7);
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[5].kind, HISTORY_GAP);
	controller_free(controller);
}

/* After a pass that took long the agent pauses, and what grows meanwhile is known all the same. */
static void a_long_pause_is_a_long_sample(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 3);
	fake_pressure.is_slow = true;
	pass(controller);
	fake->now_ns += S;
	fake_pressure_end();
	fake_pressure.is_slow = false;
	pass_times(controller, 9);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	/* After a pass that took a second the next one begins not before 20 s have passed. */
	assert_int_equal(nr_samples, 2 + 1 + 3);
	assert_int_equal(samples[2].length_ns, 3 * S);
	assert_int_equal(samples[3].length_ns, 20 * S);
	assert_int_equal(samples[3].run_ns, 10 * S);
	controller_free(controller);
}

static void the_time_since_the_last_sample_may_be_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	fake->now_ns += 5 * S;
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	fake->now_ns++;
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[nr_samples - 1].time_ns, wall_now(NULL));
	assert_int_equal(samples[nr_samples - 1].length_ns, 5 * S + 1);
	controller_free(controller);
}

static void what_is_not_measured_is_not_known(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	fake_pressure.all.state = PRESSURE_OFF;
	pass_times(controller, 5);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 4);
	assert_int_equal(samples[3].run_ns, S);
	expect_no_pressure(3);
	fake_pressure.all.state = PRESSURE_MEASURED;
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 5);
	read_fine(controller, "a", "exclusive");
	expect_no_usage(nr_samples - 1);
	assert_int_equal(samples[nr_samples - 1].waited_ns[PRESSURE_IO_SOME], S);
	/* Nor is the sum of its pod. */
	read_fine(controller, "a", NULL);
	assert_int_equal(samples[nr_samples - 1].run_ns, -1);
	assert_int_equal(samples[nr_samples - 1].waited_ns[PRESSURE_IO_SOME], S);
	controller_free(controller);
}

static void counters_that_begin_anew_are_not_a_sample(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	counted.of = id_of(GROUP_CONTAINER, "exclusive");
	counted.of_run_ns = 0;
	pass(controller);
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 6);
	assert_int_equal(samples[4].run_ns, -1);
	assert_int_equal(samples[5].run_ns, S);
	read_fine(controller, "a", NULL);
	assert_int_equal(samples[4].run_ns, -1);
	assert_int_equal(samples[5].run_ns, S);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTORY_TEST(after_a_pass_that_fails_the_sample_is_longer),
		HISTORY_TEST(passes_that_keep_failing_are_a_gap),
		HISTORY_TEST(minutes_without_a_sample_are_a_gap),
		HISTORY_TEST(up_to_a_second_is_not_a_gap),
		HISTORY_TEST(a_late_pass_is_a_gap),
		HISTORY_TEST(a_long_pause_is_a_long_sample),
		HISTORY_TEST(the_time_since_the_last_sample_may_be_a_gap),
		HISTORY_TEST(what_is_not_measured_is_not_known),
		HISTORY_TEST(counters_that_begin_anew_are_not_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
