// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet lib
/*
 * Single updates of the kernel's totals, with each figure chosen by the test: to which seconds
 * they are counted, and what becomes of those that a kernel should not give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/pressure_history.h"
#include "lib/cleanup.h"

#define S  1000000000ULL
#define MS 1000000ULL
/* PSI_FREQ of a kernel with HZ=250 */
#define PERIOD (2004 * MS)
/* The scheduler's clock and ours differ. */
#define BEGIN (77 * S)
#define APART (1000 * S)

static struct pressure_history history;
static uint64_t kernel_ns;
static struct pressure_row row;

/* We look now, and the kernel may have updated its figures. */
static void look(void)
{
	pressure_history_add(&history, kernel_ns + APART, &row);
}

static int set_up(void **state)
{
	memset(&history, 0, sizeof(history));
	memset(&row, 0, sizeof(row));
	kernel_ns = row.updated_ns = BEGIN;
	row.due_ns = BEGIN + PERIOD;
	look();
	return 0;
}

/* An update that is seen at once, and counts this time of this kind. */
static void update_of(enum pressure_kind kind, uint64_t step_ns, uint64_t grown_ns)
{
	kernel_ns += step_ns;
	row.updated_ns = kernel_ns;
	row.due_ns += PERIOD;
	row.total_ns[kind] += grown_ns;
	row.updated_total_ns[kind] = row.total_ns[kind];
	look();
}

static void update(uint64_t step_ns, uint64_t grown_ns)
{
	update_of(PRESSURE_CPU_SOME, step_ns, grown_ns);
}

static void update_for(uint64_t seconds, unsigned int percent)
{
	for (uint64_t passed = 0; passed < seconds; passed += 2)
		update(2 * S, 2 * S * percent / 100);
}

/* The kernel updates nothing, and we look all the same. */
static void look_on(uint64_t length_ns)
{
	for (uint64_t passed = 0; passed < length_ns; passed += S) {
		kernel_ns += S;
		look();
	}
}

static int share_of(enum pressure_kind kind, uint64_t window_ns)
{
	return pressure_history_share(&history, kernel_ns + APART, window_ns, kind);
}

static int share(uint64_t window_ns)
{
	return share_of(PRESSURE_CPU_SOME, window_ns);
}

/* --- which seconds are kept ------------------------------------------------------------------------ */

/* The last update before a pause is kept, although everything is old when the pause ends. */
static void a_pause_does_not_blur_what_was_before(void **state)
{
	update_for(200, 100);
	look_on(200 * S);
	update(0, 2 * S);
	assert_int_equal(share(100 * S), 200);
	assert_int_equal(share(200 * S), 100);
}

/* About one point in ten seconds, and no window begins far from one. */
static void old_points_are_twelve_seconds_apart_at_most(void **state)
{
	update_for(400, 50);
	for (uint32_t i = 1; i < history.nr; i++)
		assert_in_range(history.points[i].time_ns - history.points[i - 1].time_ns, 2 * S,
				12 * S);
	assert_in_range(history.nr, 300 / 12, 96 - 1);
}

/* Not the second oldest one: what was before is then unknown and not part of the share. */
static void the_oldest_of_too_many_is_dropped(void **state)
{
	for (int i = 0; i < 100; i++)
		update(S / 2, 0);
	for (int i = 0; i < 200; i++)
		update(S / 20, S / 20);
	assert_int_equal(history.nr, PRESSURE_HISTORY_LIMIT);
	assert_int_equal(share(60 * S), 10000);
}

static void looking_again_forgets_nothing(void **state)
{
	update_for(20, 30);
	look();
	look();
	assert_int_equal(share(20 * S), 3000);
}

/* --- what a late update leaves ---------------------------------------------------------------------- */

/* After 99 periods under full pressure the rest of the last ones is still told from a new wait. */
static void an_update_may_be_late_by_many_periods(void **state)
{
	update_for(20, 100);
	row.total_ns[PRESSURE_CPU_SOME] += 99 * PERIOD;
	look_on(97 * PERIOD);
	kernel_ns = row.updated_ns + 99 * PERIOD;
	row.updated_ns = kernel_ns;
	row.due_ns += 99 * PERIOD;
	row.updated_total_ns[PRESSURE_CPU_SOME] += PERIOD;
	look();
	assert_int_equal(share(300 * S), 10000);
}

/*
 * A rest belongs to the time after an update, unless the update missed whole periods and counted
 * exactly the others. Each row is such an update, of which the total is half a second ahead because
 * somebody has read it; the next update counts that.
 */
static void a_rest_belongs_to_the_next_update(void **state)
{
	static const struct {
		uint64_t due_ns, passed_ns, counted_ns;
	} rows[] = {
		/* it counted something else */
		{2 * PERIOD, 2 * PERIOD, PERIOD + 1},
		{2 * PERIOD, 2 * PERIOD, PERIOD / 2},
		/* more than time has passed */
		{2 * PERIOD, 2 * PERIOD, 3 * PERIOD},
		/* nothing waited, and no period was missed */
		{PERIOD, PERIOD, 0},
		{2 * PERIOD, 2 * PERIOD, 0},
		/* what is missing is no whole period: 5.001000001 s are none */
		{5001000001, 2500500000 + S, S},
		/* 400 periods with HZ=100 look like 402 of two seconds */
		{804 * S, 804 * S, 402 * S},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		look_on(rows[i].passed_ns - S);
		kernel_ns = BEGIN + rows[i].passed_ns;
		row.updated_ns = kernel_ns;
		row.due_ns += rows[i].due_ns;
		row.updated_total_ns[PRESSURE_CPU_SOME] = rows[i].counted_ns;
		row.total_ns[PRESSURE_CPU_SOME] = rows[i].counted_ns + S / 2;
		look();
		update(2 * S, 0);
		assert_int_equal(share(2 * S), 2500);
	}
}

/* What was left stays left under full pressure, however much later the total is read. */
static void what_was_left_does_not_grow(void **state)
{
	update_for(10, 100);
	kernel_ns += 2 * PERIOD;
	row.updated_ns = kernel_ns;
	row.due_ns += 2 * PERIOD;
	row.updated_total_ns[PRESSURE_CPU_SOME] += PERIOD;
	row.total_ns[PRESSURE_CPU_SOME] += 2 * PERIOD;
	look();
	for (int i = 0; i < 2; i++) {
		kernel_ns += PERIOD;
		row.updated_ns = kernel_ns;
		row.due_ns += PERIOD;
		row.updated_total_ns[PRESSURE_CPU_SOME] += PERIOD;
		row.total_ns[PRESSURE_CPU_SOME] =
			row.updated_total_ns[PRESSURE_CPU_SOME] + PERIOD + (i ? 0 : 300 * MS);
		look();
	}
	assert_int_equal(share(PERIOD), 10000);
}

/* A total that was not read together with the others may be behind what was left. */
static void totals_never_fall(void **state)
{
	update_for(10, 50);
	look_on(3 * PERIOD);
	kernel_ns = row.updated_ns + 4 * PERIOD;
	row.updated_ns = kernel_ns;
	row.due_ns += 4 * PERIOD;
	row.updated_total_ns[PRESSURE_CPU_SOME] += PERIOD;
	row.total_ns[PRESSURE_CPU_SOME] += PERIOD + 4 * S;
	look();
	kernel_ns += PERIOD;
	row.updated_ns = kernel_ns;
	row.due_ns += PERIOD;
	row.updated_total_ns[PRESSURE_CPU_SOME] += PERIOD;
	row.total_ns[PRESSURE_CPU_SOME] = row.updated_total_ns[PRESSURE_CPU_SOME] - 5 * MS;
	look();
	assert_int_equal(share(PERIOD), 0);
}

/* --- pauses ----------------------------------------------------------------------------------------- */

/* The first kind is as good as any other. */
static void each_kind_alone_may_begin_anew(void **state)
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		set_up(NULL);
		for (int i = 0; i < 10; i++)
			update_of(kind, 2 * S, S);
		row.total_ns[kind] = row.updated_total_ns[kind] = 0;
		update_of(kind, 2 * S, 0);
		assert_int_equal(share_of(kind, 10 * S), -1);
	}
}

/* Up to 20 s after pressure, and whatever the tasks waited for. */
static void an_update_after_pressure_is_late(void **state)
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		set_up(NULL);
		for (int i = 0; i < 10; i++)
			update_of(kind, 2 * S, S);
		update_of(kind, 20 * S, 10 * S);
		assert_int_equal(share_of(kind, 10 * S), 5000);
	}
}

/* Tasks cannot have waited for longer than they have been awake, whatever they waited for. */
static void after_a_pause_a_long_wait_has_its_own_seconds(void **state)
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		set_up(NULL);
		for (int other = 0; other < PRESSURE_KIND_NR; other++)
			row.total_ns[other] = row.updated_total_ns[other] = 30 * S;
		for (int i = 0; i < 10; i++)
			update_of(kind, 2 * S, S);
		for (int i = 0; i < 10; i++)
			update_of(kind, 2 * S, 0);
		look_on(100 * S);
		update_of(kind, 0, 10 * S);
		look_on(5 * S);
		assert_int_equal(share_of(kind, 10 * S), 5000);
	}
}

static void held_up_is_who_looks_less_than_every_four_seconds(void **state)
{
	update_for(20, 0);
	kernel_ns += 4 * S;
	update(0, S);
	assert_int_equal(share(10 * S), 1000);
	update_for(20, 0);
	kernel_ns += 4 * S + 1;
	update(0, S);
	assert_int_equal(share(10 * S), -1);
}

/* Without any wait it does not matter when the tasks woke. */
static void an_idle_hour_is_known_to_be_idle(void **state)
{
	update_for(20, 0);
	kernel_ns += 3600 * S;
	update(0, 0);
	assert_int_equal(share(300 * S), 0);
}

/* --- windows ---------------------------------------------------------------------------------------- */

static void a_second_is_enough_to_be_told(void **state)
{
	update(S - 1, S / 2);
	assert_int_equal(share(10 * S), -1);
	set_up(NULL);
	update(S, S / 2);
	assert_int_equal(share(10 * S), 5000);
}

/* The next update may be half a period late before its absence says anything. */
static void a_missing_update_is_waited_for(void **state)
{
	update_for(20, 100);
	kernel_ns += 3 * S;
	assert_int_equal(share(10 * S), 10000);
	kernel_ns += 1;
	assert_in_range(share(10 * S), 6999, 7000);
}

static void no_share_is_more_than_all(void **state)
{
	update_for(20, 50);
	update(2 * S, 3 * S);
	assert_int_equal(share(2 * S), 10000);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pause_does_not_blur_what_was_before),
		TEST(old_points_are_twelve_seconds_apart_at_most),
		TEST(the_oldest_of_too_many_is_dropped),
		TEST(looking_again_forgets_nothing),
		TEST(an_update_may_be_late_by_many_periods),
		TEST(a_rest_belongs_to_the_next_update),
		TEST(what_was_left_does_not_grow),
		TEST(totals_never_fall),
		TEST(each_kind_alone_may_begin_anew),
		TEST(an_update_after_pressure_is_late),
		TEST(after_a_pause_a_long_wait_has_its_own_seconds),
		TEST(held_up_is_who_looks_less_than_every_four_seconds),
		TEST(an_idle_hour_is_known_to_be_idle),
		TEST(a_second_is_enough_to_be_told),
		TEST(a_missing_update_is_waited_for),
		TEST(no_share_is_more_than_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
