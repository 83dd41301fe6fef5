// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What the page of metrics says of the programs' own counters, and of those it cannot read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_kernel.h"
#include "controller_scene.h"

static uint32_t untimed_programs(void *self, const struct prog_row **ret_rows)
{
	static const struct prog_row rows[] = {
		{.name = "on_switch", .type = "tp_btf", .run_time_ns = -1, .run_count = -1}};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

/* The kernel measures run times only if it is told to. */
static void programs_that_are_not_timed_show_no_time(void **state)
{
	struct kernel_port untimed = fake_side_port;
	struct controller *controller;

	untimed.programs = untimed_programs;
	scene_kernel = &untimed;
	controller = start_controller();
	scene_kernel = NULL;
	expect_metric(controller,
		      "pinfold_bpf_program_run_seconds_total{program=\"on_switch\"} 0.0");
	expect_metric(controller, "pinfold_bpf_program_runs_total{program=\"on_switch\"} 0\n");
	controller_free(controller);
}

static int unreadable_losses(void *self, enum event_counter what, uint64_t *ret_nr)
{
	return what == EVENTS_NO_ERRAND ? -EPERM : side_events_lost(self, what, ret_nr);
}

static uint32_t unreadable_hooks(void *self, const struct hook_count **ret_counts)
{
	return 0;
}

static uint32_t unreadable_programs(void *self, const struct prog_row **ret_rows)
{
	static const struct prog_row rows[] = {{.name = "on_switch",
						.type = "tp_btf",
						.run_time_ns = -1,
						.run_count = -1,
						.recursion_misses = -1}};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

/* 0 would say that nothing was lost, denied or run, or that the counters began again. */
static void counters_that_cannot_be_read_are_left_out(void **state)
{
	static const char lost[] = "pinfold_bpf_events_lost_total{";
	struct kernel_port unreadable = fake_side_port;
	struct controller *controller;

	unreadable.events_lost = unreadable_losses;
	unreadable.hook_counts = unreadable_hooks;
	unreadable.programs = unreadable_programs;
	scene_kernel = &unreadable;
	controller = start_controller();
	scene_kernel = NULL;
	expect_metric(controller, "pinfold_bpf_events_lost_total{map=\"events\"} 5\n");
	assert_int_equal(nr_series(controller, "pinfold_bpf_events_lost_total{map=\"errands\""), 0);
	/* Nobody looks for noise here. */
	assert_int_equal(
		nr_series(controller, "pinfold_bpf_events_lost_total{map=\"noise_strangers\""), 0);
	assert_int_equal(nr_series(controller, lost), EVENTS_NR - EVENTS_LOST - 1);
	assert_int_equal(nr_series(controller, "pinfold_enforcement_actions_total{"), 0);
	assert_int_equal(nr_series(controller, "pinfold_bpf_program_run_seconds_total{"), 0);
	assert_int_equal(nr_series(controller, "pinfold_bpf_program_runs_total{"), 0);
	controller_free(controller);
}

/* What a preemptible kernel let pass, with fmod_ret. */
static void missed_calls_are_counted(void **state)
{
	struct controller *controller;

	scene_kernel = &fake_side_port;
	controller = start_controller();
	scene_kernel = NULL;
	expect_metric(controller, "pinfold_guard_missed_calls_total 0\n");
	fake_side.guard.recursion_misses = 3;
	expect_metric(controller, "pinfold_guard_missed_calls_total 3\n");
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(programs_that_are_not_timed_show_no_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missed_calls_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_that_cannot_be_read_are_left_out, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
