// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Who pays for a resync: those triggered by others have a budget, those of the agent do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/wakes.h"

#define SECOND_NS 1000000000ULL

static uint64_t now_ns, delay_ns;
static struct wakes wakes;

static uint64_t read_clock(void *self)
{
	return now_ns;
}

static void note_wake(void *self, uint64_t delay)
{
	delay_ns = delay;
}

static int set_up(void **state)
{
	static const struct clock_port clock = {.now_ns = read_clock, .wall_ns = read_clock};
	static const struct loop_port loop = {NULL, note_wake};

	now_ns = 100 * SECOND_NS;
	delay_ns = 0;
	wakes_init(&wakes, &loop, &clock);
	return 0;
}

/* A resync that takes this long. */
static bool resync(uint64_t duration_ns)
{
	struct wake wake = wakes_begin(&wakes);

	now_ns += duration_ns;
	wakes_end(&wakes, &wake);
	return wake.is_for_others;
}

/* How long others have to wait for a resync now. */
static uint64_t delay_of_others(void)
{
	wakes_request_resync(&wakes);
	return delay_ns;
}

static void a_resync_is_charged_to_those_who_wrote(void **state)
{
	assert_false(resync(10 * SECOND_NS));
	assert_int_equal(delay_of_others(), 0);
	assert_true(resync(SECOND_NS));
	/* The next one is the agent's own, if nobody has written since. */
	assert_false(resync(SECOND_NS));
	assert_true(delay_of_others() > 0);
}

/* One that wrote while the resync was running is answered by the next. */
static void writes_during_a_resync_need_another(void **state)
{
	struct wake wake;

	wakes_request_resync(&wakes);
	wake = wakes_begin(&wakes);
	wakes_request_resync(&wakes);
	wakes_end(&wakes, &wake);
	assert_true(wake.is_for_others);
	assert_true(resync(0));
	assert_false(resync(0));
}

static void no_comparison_is_delayed_for_more_than_five_seconds(void **state)
{
	uint64_t longest_ns = 0;

	for (int i = 0; i < 50; i++) {
		uint64_t others_ns = delay_of_others();

		assert_true(others_ns <= 5 * SECOND_NS);
		longest_ns = others_ns > longest_ns ? others_ns : longest_ns;
		resync(SECOND_NS);
	}
	assert_int_equal(longest_ns, 5 * SECOND_NS);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_resync_is_charged_to_those_who_wrote),
		TEST(writes_during_a_resync_need_another),
		TEST(no_comparison_is_delayed_for_more_than_five_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
