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
#include "ctl/internal.h"
#include "format/bpf_inventory.h"

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

static int64_t run_time_ns;
static unsigned int nr_timed, nr_untimed;

static uint32_t one_program(void *self, const struct prog_row **ret_rows)
{
	static struct prog_row row = {.name = "on_switch", .type = "tp_btf"};

	row.run_time_ns = run_time_ns;
	*ret_rows = &row;
	return 1;
}

/* Those who want the maps do so for another family. */
static void note_what_is_wanted(void *self, struct bpf_inventory *inventory)
{
	nr_timed += inventory->without_maps && inventory->is_timed;
	nr_untimed += inventory->without_maps && !inventory->is_timed;
}

/* The other ports' programs are timed if the kernel times those of this one; 0 is a time as well. */
static void programs_of_other_ports_are_timed_alike(void **state)
{
	static const struct pressure_port pressure = {.list = note_what_is_wanted};
	static const int64_t times_ns[] = {-1, 0, 1};
	struct kernel_port kernel = fake_side_port;
	struct controller *controller;

	kernel.programs = one_program;
	scene_kernel = &kernel;
	controller = start_controller();
	scene_kernel = NULL;
	controller->ports.pressure = &pressure;
	for (size_t i = 0; i < ARRAY_SIZE(times_ns); i++) {
		run_time_ns = times_ns[i];
		nr_timed = nr_untimed = 0;
		expect_metric(controller,
			      "pinfold_bpf_program_runs_total{program=\"on_switch\"} 0\n");
		assert_int_equal(nr_timed, run_time_ns >= 0);
		assert_int_equal(nr_untimed, run_time_ns < 0);
	}
	controller->ports.pressure = NULL;
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
	/* Nor is there a series for the number that no program counts by any more. */
	assert_int_equal(nr_series(controller, "pinfold_bpf_events_lost_total{map=\"\""), 0);
	assert_int_equal(nr_series(controller, lost), EVENTS_NR - EVENTS_LOST - 2);
	assert_int_equal(nr_series(controller, "pinfold_enforcement_actions_total{"), 0);
	assert_int_equal(nr_series(controller, "pinfold_bpf_program_run_seconds_total{"), 0);
	assert_int_equal(nr_series(controller, "pinfold_bpf_program_runs_total{"), 0);
	controller_free(controller);
}

static uint32_t no_programs(void *self, const struct prog_row **ret_rows)
{
	return 0;
}

static void without_programs_none_is_shown(void **state)
{
	struct kernel_port empty = fake_side_port;
	struct controller *controller;

	empty.programs = no_programs;
	scene_kernel = &empty;
	controller = start_controller();
	scene_kernel = NULL;
	assert_int_equal(nr_series(controller, "pinfold_bpf_program_runs_total{"), 0);
	assert_true(nr_series(controller, "pinfold_bpf_events_lost_total{") > 0);
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

/* A backend that need not leave any out has nothing to count. */
static void cgroups_without_room_are_counted(void **state)
{
	struct kernel_port roomy = fake_side_port;
	struct controller *controller;

	scene_kernel = &roomy;
	controller = start_controller();
	scene_kernel = NULL;
	fake_side.nr_left_out = 2;
	expect_metric(controller, "pinfold_bpf_groups_left_out 2\n");
	roomy.groups_left_out = NULL;
	expect_metric(controller, "pinfold_bpf_groups_left_out 0\n");
	controller_free(controller);
}

static int no_space(void *self, struct observer_space *ret_space)
{
	return -EAGAIN;
}

#define NOT_MEASURED "pinfold_not_measured"

/* 0 would say that all containers are in figures that nobody has. */
static void those_without_figures_are_counted_where_there_are_figures(void **state)
{
	static const struct pressure_port pressure = {.list = note_what_is_wanted};
	struct kernel_port kernel = fake_side_port;
	struct controller *controller;

	scene_kernel = &kernel;
	controller = start_controller();
	scene_kernel = NULL;
	for (int i = 0; i < 4; i++) {
		const bool has_observer = i & 1, has_pressure = i & 2;

		kernel.observer_space = has_observer ? side_observer_space : no_space;
		controller->ports.pressure = has_pressure ? &pressure : NULL;
		assert_int_equal(nr_series(controller, NOT_MEASURED "{what=\"usage\"} 2\n"),
				 has_observer);
		assert_int_equal(nr_series(controller, NOT_MEASURED "{what=\"history\"} 0\n"),
				 has_pressure);
		assert_int_equal(nr_series(controller, NOT_MEASURED "{what=\"cpu_pressure\"} 0\n"),
				 has_pressure);
		assert_int_equal(nr_series(controller, "# TYPE " NOT_MEASURED " "),
				 has_observer || has_pressure);
	}
	controller->ports.pressure = NULL;
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(programs_that_are_not_timed_show_no_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(programs_of_other_ports_are_timed_alike, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_programs_none_is_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(missed_calls_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			those_without_figures_are_counted_where_there_are_figures, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(cgroups_without_room_are_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(counters_that_cannot_be_read_are_left_out, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
