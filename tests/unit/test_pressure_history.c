// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet lib
/*
 * Shares of windows from totals that are updated as the kernel does it: every two seconds
 * while tasks are active, once afterwards, and not at all while nothing happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/pressure_history.h"

#define S  1000000000ULL
#define MS 1000000ULL
/* The scheduler's clock and ours differ. */
#define BEGIN (77 * S)
#define APART (1000 * S)

/* PSI_FREQ of a kernel with HZ=250 */
#define PERIOD (2004 * MS)

static struct pressure_history history;
static uint64_t kernel_ns;
static struct pressure_row row;

static void add_row(uint64_t lag_ns)
{
	pressure_history_add(&history, kernel_ns + APART + lag_ns, &row);
}

static int set_up(void **state)
{
	memset(&history, 0, sizeof(history));
	memset(&row, 0, sizeof(row));
	kernel_ns = row.updated_ns = BEGIN;
	row.due_ns = BEGIN + PERIOD;
	add_row(0);
	return 0;
}

static void wait_for_cpu(uint64_t step_ns, unsigned int percent)
{
	kernel_ns += step_ns;
	row.total_ns[PRESSURE_CPU_SOME] += step_ns * percent / 100;
}

/* An update that is not late and is seen after `lag_ns`. */
static void update(uint64_t step_ns, unsigned int percent, uint64_t lag_ns)
{
	wait_for_cpu(step_ns, percent);
	memcpy(row.updated_total_ns, row.total_ns, sizeof(row.total_ns));
	row.updated_ns = kernel_ns;
	add_row(lag_ns);
}

/* The kernel's worker runs: update_averages() of kernel/sched/psi.c. */
static void run_worker(void)
{
	uint64_t missed = 0, period_ns;

	if (kernel_ns < row.due_ns)
		return;
	missed = (kernel_ns - row.due_ns) / PERIOD;
	row.due_ns += (1 + missed) * PERIOD;
	period_ns = kernel_ns - (row.updated_ns + missed * PERIOD);
	row.updated_ns = kernel_ns;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		uint32_t sample = (uint32_t)(row.total_ns[kind] - row.updated_total_ns[kind]);

		row.updated_total_ns[kind] += sample > period_ns ? period_ns : sample;
	}
}

static void work_after(uint64_t step_ns, unsigned int percent)
{
	wait_for_cpu(step_ns, percent);
	run_worker();
	add_row(100 * MS);
}

static void wait_so(uint64_t seconds, unsigned int percent)
{
	for (uint64_t passed = 0; passed < seconds; passed += 2)
		update(2 * S, percent, passed % 3 * 600 * MS);
}

/* The kernel updates nothing, and we look all the same. */
static void look_on(uint64_t seconds)
{
	for (uint64_t passed = 0; passed < seconds; passed += 2) {
		kernel_ns += 2 * S;
		add_row(0);
	}
}

static int share(uint64_t window_seconds)
{
	return pressure_history_share(&history, kernel_ns + APART, window_seconds * S,
				      PRESSURE_CPU_SOME);
}

static int share_later(uint64_t later_ns, uint64_t window_seconds)
{
	return pressure_history_share(&history, kernel_ns + APART + later_ns, window_seconds * S,
				      PRESSURE_CPU_SOME);
}

#define assert_near(value, wanted, error) \
	assert_in_range((value) + 20000, (wanted) - (error) + 20000, (wanted) + (error) + 20000)

static void steady_pressure_is_the_same_in_all_windows(void **state)
{
	wait_so(400, 37);
	assert_near(share(10), 3700, 1);
	assert_near(share(60), 3700, 1);
	assert_near(share(300), 3700, 1);
	assert_int_equal(
		pressure_history_share(&history, kernel_ns + APART, 10 * S, PRESSURE_IO_FULL), 0);
}

static void a_window_holds_its_own_seconds_only(void **state)
{
	wait_so(300, 0);
	wait_so(20, 100);
	assert_int_equal(share(10), 10000);
	assert_near(share(60), 3333, 1);
	assert_near(share(300), 667, 1);
	wait_so(10, 0);
	assert_int_equal(share(10), 0);
	assert_near(share(60), 3333, 1);
	wait_so(20, 0);
	assert_near(share(60), 3333, 1);
	wait_so(30, 0);
	assert_int_equal(share(60), 0);
	assert_near(share(300), 667, 50);
	wait_so(300, 0);
	assert_int_equal(share(300), 0);
}

static void a_window_may_begin_between_two_updates(void **state)
{
	wait_so(20, 0);
	update(2 * S, 0, 0);
	update(2 * S + 500 * MS, 80, 0);
	update(2 * S + 500 * MS, 80, 0);
	/* 10 s: 5 of them at 80 %. */
	assert_near(share(10), 4000, 1);
	assert_near(pressure_history_share(&history, kernel_ns + APART, 4 * S, PRESSURE_CPU_SOME),
		    8000, 1);
}

static void without_updates_the_share_falls(void **state)
{
	wait_so(20, 100);
	assert_int_equal(share_later(2900 * MS, 10), 10000);
	assert_near(share_later(5 * S, 10), 5000, 1);
	assert_int_equal(share_later(10 * S, 10), 0);
	assert_int_equal(share_later(1000 * S, 300), 0);
}

/* Not spread over the hour of silence, but where it must have been. */
static void the_first_update_after_a_pause_counts_late(void **state)
{
	wait_so(20, 0);
	look_on(3600);
	row.total_ns[PRESSURE_CPU_SOME] += 2 * S;
	update(0, 0, 0);
	assert_near(share(10), 2000, 1);
	assert_near(share(60), 333, 1);
}

/* The pause is told from a late update by the idle period before it, or by its length. */
static void a_pause_right_after_pressure_is_a_pause(void **state)
{
	wait_so(20, 50);
	look_on(3600);
	row.total_ns[PRESSURE_CPU_SOME] += 2 * S;
	update(0, 0, 0);
	assert_near(share(10), 2000, 1);
	assert_near(share(60), 333, 1);
}

/* Tasks woke while we did not look: when, and how hard they were pressed, nobody knows. */
static void whoever_was_held_up_begins_anew(void **state)
{
	static const unsigned int idle_s[] = {2, 40};

	for (size_t i = 0; i < sizeof(idle_s) / sizeof(*idle_s); i++) {
		wait_so(20, 0);
		kernel_ns += idle_s[i] * S;
		wait_for_cpu(10 * S, 80);
		update(0, 0, 0);
		assert_int_equal(share(10), -1);
		wait_so(4, 80);
		assert_near(share(10), 8000, 1);
		assert_near(share(300), 8000, 1);
		wait_so(10, 0);
	}
}

/* While tasks are pressed all the time, it does not matter how often we look. */
static void whoever_looks_seldom_knows_all_the_same(void **state)
{
	wait_so(10, 80);
	for (int i = 0; i < 5; i++)
		update(12 * S, 80, 0);
	assert_near(share(10), 8000, 1);
	assert_near(share(60), 8000, 1);
}

static void what_is_known_is_told(void **state)
{
	assert_int_equal(share(10), -1);
	update(900 * MS, 50, 0);
	assert_int_equal(share(10), -1);
	update(2 * S, 50, 0);
	assert_near(share(10), 5000, 1);
	assert_near(share(300), 5000, 1);
	memset(&history, 0, sizeof(history));
	assert_int_equal(share(10), -1);
}

static void the_same_figures_twice_change_nothing(void **state)
{
	struct pressure_history before;

	wait_so(10, 30);
	add_row(5 * S);
	before = history;
	add_row(5 * S);
	assert_memory_equal(&before, &history, sizeof(history));
}

static void totals_that_begin_anew_forget_the_past(void **state)
{
	wait_so(100, 90);
	memset(row.total_ns, 0, sizeof(row.total_ns));
	update(2 * S, 0, 0);
	assert_int_equal(share(60), -1);
	wait_so(10, 20);
	assert_near(share(60), 2000, 1);
	/* Time alone may go back, too: another cgroup with the id of this one. */
	kernel_ns -= 50 * S;
	update(0, 0, 0);
	assert_int_equal(share(60), -1);
}

/* Points have microseconds modulo 2^32, and totals go on beyond. */
static void totals_of_more_than_an_hour_are_told_apart(void **state)
{
	const uint64_t wrap_ns = (1ULL << 32) * 1000;
	uint64_t time_ns, totals[PRESSURE_KIND_NR];

	wait_so(20, 10);
	row.total_ns[PRESSURE_CPU_SOME] = 3 * wrap_ns - 5 * S;
	update(2 * S, 0, 0);
	/* So much cannot have been waited: nothing before can be compared with it. */
	assert_int_equal(share(60), -1);
	wait_so(20, 50);
	assert_near(share(10), 5000, 1);
	assert_near(share(20), 5000, 1);
	assert_true(pressure_history_settled(&history, kernel_ns + APART, &time_ns, totals));
	assert_int_equal(time_ns, kernel_ns - 4 * S);
	assert_int_equal(totals[PRESSURE_CPU_SOME], 3 * wrap_ns + 3 * S);
}

/* However long, however irregular: never full, never without the longest window. */
static void a_day_fits(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 60000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		update(2 * S + (seed >> 60) * 100 * MS, 45, 0);
		assert_true(history.nr < PRESSURE_HISTORY_LIMIT);
	}
	assert_near(share(10), 4500, 1);
	assert_near(share(300), 4500, 1);
	assert_true(history.points[0].time_ns + 300 * S <= kernel_ns);
}

static void too_many_updates_cost_the_oldest(void **state)
{
	for (int i = 0; i < 1000; i++)
		update(S / 10, 45, 0);
	assert_int_equal(history.nr, PRESSURE_HISTORY_LIMIT);
	assert_near(share(5), 4500, 1);
}

/* On a busy machine the worker comes late, and counts only a part of what it finds. */
static void a_late_update_leaves_nothing_out(void **state)
{
	for (int i = 0; i < 10; i++)
		work_after(PERIOD + 3 * MS, 80);
	work_after(2 * PERIOD + 700 * MS, 80);
	assert_near(share(10), 8000, 1);
	for (int i = 0; i < 10; i++) {
		work_after(PERIOD, 80);
		assert_near(share(10), 8000, 1);
		assert_near(share(60), 8000, 1);
	}
}

/* Under full pressure no later update makes up for what a late one left. */
static void what_is_never_made_up_for_counts_once(void **state)
{
	for (int i = 0; i < 5; i++)
		work_after(PERIOD, 100);
	work_after(2 * PERIOD, 100);
	for (int i = 0; i < 10; i++)
		work_after(PERIOD + 1 * MS, 100);
	assert_int_equal(share(60), 10000);
	for (int i = 0; i < 5; i++)
		work_after(PERIOD, 0);
	assert_int_equal(share(10), 0);
	assert_near(share(60), 8000, 600);
}

/* A period that was missed, each time. */
static void an_update_that_is_always_late_is_right(void **state)
{
	for (int i = 0; i < 10; i++) {
		work_after(2 * PERIOD + 100 * MS, 90);
		if (i > 3)
			assert_near(share(10), 9000, 1);
	}
}

/* The kernel subtracts in 32 bits: of 4.3 s and more it loses 4.294967296 s for good. */
static void what_the_kernel_loses_is_not_lost(void **state)
{
	for (int i = 0; i < 5; i++)
		work_after(PERIOD, 100);
	work_after(3 * PERIOD, 100);
	for (int i = 0; i < 3; i++)
		work_after(PERIOD, 100);
	assert_int_equal(share(10), 10000);
	assert_int_equal(share(60), 10000);
	work_after(PERIOD, 50);
	assert_true(row.total_ns[PRESSURE_CPU_SOME] - row.updated_total_ns[PRESSURE_CPU_SOME] >
		    UINT32_MAX);
	for (int i = 0; i < 5; i++)
		work_after(PERIOD, 50);
	assert_near(share(10), 5000, 1);
}

/* Whoever reads a file brings the total up to date, between two updates. */
static void readers_of_the_files_change_nothing(void **state)
{
	for (int i = 0; i < 10; i++) {
		wait_for_cpu(PERIOD, 60);
		run_worker();
		wait_for_cpu(300 * MS, 60);
		add_row(300 * MS);
		wait_for_cpu(PERIOD - 300 * MS, 60);
		run_worker();
		add_row(0);
		if (i > 3)
			assert_near(share(10), 6000, 1);
	}
}

/* A total that was not read together with the others is not taken for a huge rest. */
static void a_total_behind_its_update_is_no_rest(void **state)
{
	for (int i = 0; i < 10; i++)
		work_after(PERIOD, 60);
	wait_for_cpu(PERIOD, 60);
	run_worker();
	row.total_ns[PRESSURE_CPU_SOME] -= 5 * MS;
	add_row(0);
	row.total_ns[PRESSURE_CPU_SOME] += 5 * MS;
	assert_near(share(10), 6000, 1);
	work_after(PERIOD, 60);
	assert_near(share(10), 6000, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

/* What is settled now: the moment, and how long tasks waited for a CPU until then. */
struct settled {
	bool is_known;
	uint64_t time_ns, total_ns;
};

static struct settled settled_after(uint64_t later_ns)
{
	uint64_t total_ns[PRESSURE_KIND_NR] = {0};
	struct settled settled = {0};

	settled.is_known = pressure_history_settled(&history, kernel_ns + APART + later_ns,
						    &settled.time_ns, total_ns);
	settled.total_ns = total_ns[PRESSURE_CPU_SOME];
	return settled;
}

static void what_is_settled_is_two_periods_old(void **state)
{
	assert_false(settled_after(0).is_known);
	wait_so(2, 0);
	assert_false(settled_after(0).is_known);
	wait_so(2, 0);
	assert_true(settled_after(0).is_known);
	assert_int_equal(settled_after(0).total_ns, 0);
	update(2 * S, 50, 0);
	assert_int_equal(settled_after(0).time_ns, kernel_ns - 4 * S);
	assert_int_equal(settled_after(0).total_ns, 0);
	/* Half of the two seconds in which tasks waited half of the time. */
	assert_int_equal(settled_after(3 * S).total_ns, S / 2);
	assert_int_equal(settled_after(4 * S).total_ns, S);
	assert_int_equal(settled_after(400 * S).total_ns, S);
	assert_int_equal(settled_after(400 * S).time_ns, kernel_ns + 396 * S);
	/* Of an empty history nothing is. */
	memset(&history, 0, sizeof(history));
	assert_false(settled_after(400 * S).is_known);
}

static void steady_pressure_settles_steadily(void **state)
{
	struct settled before;

	wait_so(20, 37);
	before = settled_after(0);
	for (int i = 0; i < 100; i++) {
		struct settled now;

		update(2 * S, 37, 0);
		now = settled_after(0);
		assert_int_equal(now.time_ns - before.time_ns, 2 * S);
		assert_near((int)((now.total_ns - before.total_ns) / 200000), 3700, 1);
		before = now;
	}
}

/* An update that ends a pause changes the past, but not what was settled. */
static void a_wake_does_not_change_what_is_settled(void **state)
{
	struct settled before;

	wait_so(10, 50);
	wait_so(2, 0);
	look_on(30);
	before = settled_after(0);
	update(2 * S, 100, 0);
	assert_int_equal(settled_after(0).total_ns, before.total_ns);
	assert_true(settled_after(0).time_ns >= before.time_ns);
	assert_int_equal(settled_after(4 * S).total_ns, before.total_ns + 2 * S);
}

static void what_was_settled_before_a_break_cannot_be_compared(void **state)
{
	const uint64_t since_ns = history.since_ns;

	wait_so(100, 50);
	assert_int_equal(history.since_ns, since_ns);
	memset(row.total_ns, 0, sizeof(row.total_ns));
	update(2 * S, 0, 0);
	assert_false(settled_after(0).is_known);
	wait_so(10, 50);
	assert_true(settled_after(0).is_known);
	assert_true(history.since_ns > since_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(steady_pressure_is_the_same_in_all_windows),
		TEST(a_window_holds_its_own_seconds_only),
		TEST(a_window_may_begin_between_two_updates),
		TEST(without_updates_the_share_falls),
		TEST(the_first_update_after_a_pause_counts_late),
		TEST(a_pause_right_after_pressure_is_a_pause),
		TEST(whoever_was_held_up_begins_anew),
		TEST(whoever_looks_seldom_knows_all_the_same),
		TEST(what_is_known_is_told),
		TEST(the_same_figures_twice_change_nothing),
		TEST(totals_that_begin_anew_forget_the_past),
		TEST(totals_of_more_than_an_hour_are_told_apart),
		TEST(a_day_fits),
		TEST(too_many_updates_cost_the_oldest),
		TEST(a_late_update_leaves_nothing_out),
		TEST(what_is_never_made_up_for_counts_once),
		TEST(an_update_that_is_always_late_is_right),
		TEST(what_the_kernel_loses_is_not_lost),
		TEST(readers_of_the_files_change_nothing),
		TEST(a_total_behind_its_update_is_no_rest),
		cmocka_unit_test_setup(what_is_settled_is_two_periods_old, set_up),
		cmocka_unit_test_setup(steady_pressure_settles_steadily, set_up),
		cmocka_unit_test_setup(a_wake_does_not_change_what_is_settled, set_up),
		cmocka_unit_test_setup(what_was_settled_before_a_break_cannot_be_compared, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
