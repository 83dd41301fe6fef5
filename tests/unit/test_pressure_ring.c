// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet lib
/*
 * What a ring keeps, against a list that keeps everything: samples of two seconds, the minutes
 * that they add up to, gaps, and figures that cannot be compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/pressure_ring.h"
#include "lib/cleanup.h"
#include "random.h"

#define MS	1000000ULL
#define S	(1000 * MS)
#define MINUTE	(60 * S)
#define HOUR	(60 * MINUTE)
#define LONGEST (7 * S / 2)

/* A second after the end of a minute. */
#define BEGIN (1000 * MINUTE + S)

static struct pressure_ring ring;
static uint64_t now_ns;
static struct pressure_reading readings[PRESSURE_RING_MINUTES];

static int set_up(void **state)
{
	memset(&ring, 0, sizeof(ring));
	now_ns = BEGIN;
	return 0;
}

/* So much run time and waiting for a CPU, some and full, in the next `length_ns`. */
static struct pressure_growth growth_of(uint64_t length_ns, uint64_t run_ns, uint64_t waited_ns)
{
	struct pressure_growth growth = {
		.usage_ns = length_ns, .run_ns = run_ns, .pressure_ns = length_ns};

	growth.wait_ns[WAIT_HOST] = waited_ns;
	growth.waited_ns[PRESSURE_CPU_SOME] = waited_ns;
	return growth;
}

static void add(uint64_t length_ns, uint64_t run_ns, uint64_t waited_ns)
{
	const struct pressure_growth growth = growth_of(length_ns, run_ns, waited_ns);

	now_ns += length_ns;
	pressure_ring_add(&ring, now_ns, &growth);
}

static uint32_t read_fine(void)
{
	return pressure_ring_read(&ring, PRESSURE_SPAN_10M, now_ns, readings);
}

static uint32_t read_minutes(void)
{
	return pressure_ring_read(&ring, PRESSURE_SPAN_24H, now_ns, readings);
}

/* --- samples ------------------------------------------------------------------------------------- */

static void an_empty_ring_has_no_samples(void **state)
{
	assert_int_equal(read_fine(), 0);
	assert_int_equal(read_minutes(), 0);
}

static void a_sample_has_what_was_added(void **state)
{
	struct pressure_growth growth = {
		.usage_ns = 2 * S, .run_ns = 7 * S, .outside_ns = 5 * S, .pressure_ns = 3 * S};

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		growth.wait_ns[cause] = (uint64_t)(cause + 1) * 10000;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		growth.waited_ns[kind] = (uint64_t)(kind + 1) * 2 * MS;
	now_ns += 2 * S;
	pressure_ring_add(&ring, now_ns, &growth);
	assert_int_equal(read_fine(), 1);
	assert_int_equal(readings[0].time_ns, now_ns);
	assert_memory_equal(&readings[0].growth, &growth, sizeof(growth));
}

static void the_fine_samples_are_the_last_ten_minutes(void **state)
{
	for (uint64_t i = 0; i < 1000; i++)
		add(2 * S, i * MS, 0);
	assert_int_equal(read_fine(), PRESSURE_RING_FINE);
	assert_int_equal(pressure_ring_room(PRESSURE_SPAN_10M), PRESSURE_RING_FINE);
	for (uint64_t i = 0; i < PRESSURE_RING_FINE; i++) {
		assert_int_equal(readings[i].growth.run_ns, (700 + i) * MS);
		assert_int_equal(readings[i].time_ns, now_ns - (299 - i) * 2 * S);
	}
	/* Time passes without samples: they leave the span one by one. */
	now_ns += 9 * MINUTE;
	assert_int_equal(read_fine(), 30);
	assert_int_equal(readings[0].growth.run_ns, 970 * MS);
	now_ns += MINUTE;
	assert_int_equal(read_fine(), 0);
}

static void the_minutes_are_the_last_day(void **state)
{
	/* One sample a minute is enough for a minute. */
	for (uint64_t i = 0; i < 2000; i++) {
		now_ns += 58 * S;
		add(2 * S, i * MS, 0);
	}
	/* The last one has not ended. */
	assert_int_equal(read_minutes(), PRESSURE_RING_MINUTES);
	assert_int_equal(readings[0].growth.run_ns, (1999 - 1440) * MS);
	assert_int_equal(readings[1439].growth.run_ns, 1998 * MS);
	assert_int_equal(readings[1439].time_ns % MINUTE, 0);
	assert_int_equal(readings[1439].time_ns - readings[0].time_ns, 1439 * MINUTE);
	now_ns += MINUTE;
	assert_int_equal(read_minutes(), PRESSURE_RING_MINUTES);
	assert_int_equal(readings[1439].growth.run_ns, 1999 * MS);
}

static void a_full_day_has_1440_minutes(void **state)
{
	now_ns = 1000 * MINUTE;
	for (int i = 0; i < 30 * 1440; i++)
		add(2 * S, MS, 0);
	assert_int_equal(read_minutes(), PRESSURE_RING_MINUTES);
	for (int i = 0; i < PRESSURE_RING_MINUTES; i++) {
		assert_int_equal(readings[i].growth.usage_ns, MINUTE);
		assert_int_equal(readings[i].growth.run_ns, 30 * MS);
	}
	assert_int_equal(pressure_ring_room(PRESSURE_SPAN_24H), PRESSURE_RING_MINUTES);
}

/* --- minutes ------------------------------------------------------------------------------------- */

static void add_up(struct pressure_growth *sum, const struct pressure_growth *growth)
{
	sum->usage_ns += growth->usage_ns;
	sum->run_ns += growth->run_ns;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum->wait_ns[cause] += growth->wait_ns[cause];
	sum->pressure_ns += growth->pressure_ns;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		sum->waited_ns[kind] += growth->waited_ns[kind];
}

static struct chance chance;

static uint64_t any_below(uint64_t limit)
{
	return chance_next(&chance) % limit;
}

/* Growth of a sample, often of a part of it only, with figures down to the nanosecond. */
static struct pressure_growth any_growth(uint64_t length_ns)
{
	struct pressure_growth growth = {0};

	if (any_below(10)) {
		growth.usage_ns = length_ns;
		growth.run_ns = any_below(200 * S);
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			growth.wait_ns[cause] = any_below(S);
	}
	if (any_below(10)) {
		growth.pressure_ns = any_below(length_ns + S / 10);
		for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
			growth.waited_ns[kind] = any_below(growth.pressure_ns + 1);
	}
	return growth;
}

/*
 * Random samples with gaps. Each minute must be the sum of the fine samples that ended in it, as
 * they were read when they were the newest.
 */
static void each_minute_is_the_sum_of_its_samples(void **state)
{
	static struct pressure_growth sums[300]; /* by minute since BEGIN */
	uint32_t nr;

	memset(sums, 0, sizeof(sums));
	chance.state = 20;
	for (int i = 0; i < 3000; i++) {
		const uint64_t length_ns = 3 * S / 2 + any_below(S);
		struct pressure_growth growth = any_growth(length_ns);

		now_ns += length_ns;
		if (!any_below(50))
			now_ns += any_below(5 * MINUTE);
		pressure_ring_add(&ring, now_ns, &growth);
		nr = read_fine();
		if (nr && readings[nr - 1].time_ns / MS == now_ns / MS)
			add_up(&sums[(now_ns - BEGIN + S - 1) / MINUTE], &readings[nr - 1].growth);
		if ((now_ns - BEGIN) / MINUTE > 290)
			break;
	}
	now_ns += MINUTE;
	nr = read_minutes();
	assert_true(nr > 50);
	for (uint32_t i = 0; i < nr; i++) {
		const uint64_t minute = (readings[i].time_ns - BEGIN + S) / MINUTE - 1;

		assert_memory_equal(&readings[i].growth, &sums[minute], sizeof(sums[minute]));
		memset(&sums[minute], 0, sizeof(sums[minute]));
	}
	/* And there is no other minute in which anything was added. */
	for (size_t i = 0; i < sizeof(sums); i++)
		assert_int_equal(((const unsigned char *)sums)[i], 0);
}

static void a_minute_is_shown_when_it_has_ended(void **state)
{
	now_ns = 1000 * MINUTE;
	for (int i = 0; i < 29; i++)
		add(2 * S, S, 0);
	assert_int_equal(read_minutes(), 0);
	/* The sample that ends with the minute is of it. */
	add(2 * S, S, 0);
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].time_ns, 1001 * MINUTE);
	assert_int_equal(readings[0].growth.run_ns, 30 * S);
	add(2 * S, S, 0);
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].growth.run_ns, 30 * S);
	/* And until a day after its end. */
	now_ns = 1002 * MINUTE + 24 * HOUR - 1;
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].time_ns, 1002 * MINUTE);
	now_ns++;
	assert_int_equal(read_minutes(), 0);
}

/* --- rests and limits ------------------------------------------------------------------------------ */

static void sums_agree_with_the_totals_to_a_unit(void **state)
{
	uint64_t run_ns = 0, waited_ns = 0;
	uint32_t nr;

	for (uint64_t i = 1; i <= 250; i++)
		add(2 * S, 9999, 999999);
	nr = read_fine();
	for (uint32_t i = 0; i < nr; i++) {
		run_ns += readings[i].growth.run_ns;
		waited_ns += readings[i].growth.waited_ns[PRESSURE_CPU_SOME];
	}
	assert_in_range(run_ns, 250 * 9999 - 9999, 250 * 9999);
	assert_in_range(waited_ns, 250 * 999999 - 1999999, 250 * 999999);
}

static void pressure_longer_than_time_is_the_largest(void **state)
{
	now_ns = 1000 * MINUTE;
	add(2 * S, S, 140 * S);
	assert_int_equal(read_fine(), 1);
	assert_int_equal(readings[0].growth.waited_ns[PRESSURE_CPU_SOME], UINT16_MAX * 2 * MS);
	/* It stays so in a minute, and does not wrap around. */
	add(58 * S, S, S);
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].growth.waited_ns[PRESSURE_CPU_SOME], UINT16_MAX * 2 * MS);
	/* The next one is not affected. */
	add(2 * S, S, S);
	assert_int_equal(read_fine(), 3);
	assert_int_equal(readings[2].growth.run_ns, S);
}

/* Of one of some tasks up to as many as Linux can have, which all run or wait for the whole minute. */
static void no_number_of_tasks_is_too_large(void **state)
{
	static const uint64_t numbers[] = {1, 700, 720, 5000, 30000, 1000000, 4 << 20};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const uint64_t run_ns = numbers[i] * (2 * S + 1234567);
		uint64_t fine_ns = 0;
		uint32_t nr;

		ring = (struct pressure_ring){0};
		now_ns = 1000 * MINUTE;
		for (int sample = 0; sample < 30; sample++)
			add(2 * S, run_ns, 0);
		/* What a sample cannot hold is in the next one. */
		nr = read_fine();
		assert_int_equal(nr, 30);
		for (uint32_t at = 0; at < nr; at++)
			fine_ns += readings[at].growth.run_ns;
		assert_in_range(fine_ns, 30 * run_ns - run_ns / (1 << 23) - 20000, 30 * run_ns);
		assert_int_equal(read_minutes(), 1);
		assert_in_range(readings[0].growth.run_ns,
				30 * run_ns - 30 * run_ns / (1 << 18) - 20000, 30 * run_ns);
		/* what fits is exact */
		if (numbers[i] < 170)
			assert_int_equal(readings[0].growth.run_ns, fine_ns);
	}
}

/* Nothing wraps around, whatever counters say. */
static void the_largest_growth_is_one(void **state)
{
	now_ns = 1000 * MINUTE;
	add(30 * S, 1ULL << 62, 0);
	add(30 * S, 1ULL << 62, 0);
	assert_int_equal(read_minutes(), 1);
	assert_in_range(readings[0].growth.run_ns, 1ULL << 62, 1ULL << 63);
	assert_int_equal(read_fine(), 2);
	assert_in_range(readings[1].growth.run_ns, (1ULL << 62) - (1ULL << 40),
			(1ULL << 62) + (1ULL << 40));
}

/* --- gaps ------------------------------------------------------------------------------------------ */

static void what_is_not_known_leaves_a_gap(void **state)
{
	add(2 * S, S, 0);
	for (int i = 0; i < 5; i++) {
		struct pressure_growth unknown = {0};

		now_ns += 2 * S;
		pressure_ring_add(&ring, now_ns, &unknown);
	}
	add(2 * S, S, 0);
	assert_int_equal(read_fine(), 2);
	assert_int_equal(readings[1].time_ns - readings[0].time_ns, 12 * S);
}

static void minutes_without_samples_are_missing(void **state)
{
	add(2 * S, S, 0);
	now_ns += 3 * HOUR;
	add(2 * S, 2 * S, 0);
	now_ns += MINUTE;
	assert_int_equal(read_minutes(), 2);
	assert_int_equal(readings[1].time_ns - readings[0].time_ns, 3 * HOUR);
	assert_int_equal(readings[0].growth.usage_ns, 2 * S);
	assert_int_equal(readings[1].growth.run_ns, 2 * S);
}

/* Times are stored modulo 49.7 days. */
static void old_samples_do_not_come_back(void **state)
{
	static const uint64_t pauses[] = {24 * HOUR + MINUTE, 1194 * HOUR, 1194 * HOUR + 12 * HOUR};

	for (size_t i = 0; i < 3; i++) {
		add(2 * S, S, 0);
		now_ns += pauses[i];
		assert_int_equal(read_fine(), 0);
		assert_int_equal(read_minutes(), 0);
		add(2 * S, S, 0);
		assert_int_equal(read_fine(), 1);
		now_ns += MINUTE;
		assert_int_equal(read_minutes(), 1);
		now_ns += 48 * HOUR;
	}
	memset(&ring, 0, sizeof(ring));
	/* A gap of almost a day drops nothing of it. */
	now_ns = BEGIN;
	add(2 * S, S, 0);
	now_ns += 24 * HOUR - 30 * S;
	add(2 * S, S, 0);
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].time_ns, 1001 * MINUTE);
	memset(&ring, 0, sizeof(ring));
	/* Samples that are rare, but never a day apart. */
	for (int i = 0; i < 100; i++) {
		add(2 * S, S, 0);
		now_ns += MINUTE;
		assert_int_equal(read_minutes(), i ? 2 : 1);
		now_ns += 17 * HOUR;
	}
}

static void times_survive_the_wrap_of_the_clock(void **state)
{
	now_ns = (1ULL << 32) * MS - 5 * S;
	for (int i = 0; i < 5; i++)
		add(2 * S, S, 0);
	assert_int_equal(read_fine(), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(readings[i].time_ns, now_ns - (4 - i) * 2 * S);
}

static void a_sum_is_of_the_samples_in_its_window(void **state)
{
	struct pressure_growth growth = {.usage_ns = 2 * S, .run_ns = S, .outside_ns = S / 4}, sum;

	growth.wait_ns[WAIT_HOST] = 20 * MS;
	growth.wait_ns[WAIT_UNATTRIBUTED] = 10 * MS;
	pressure_ring_sum(&ring, MINUTE, now_ns, &sum);
	assert_int_equal(sum.usage_ns, 0);
	/* More than there is room for. */
	for (int i = 0; i < PRESSURE_RING_FINE + 50; i++) {
		now_ns += 2 * S;
		pressure_ring_add(&ring, now_ns, &growth);
	}
	pressure_ring_sum(&ring, MINUTE, now_ns, &sum);
	assert_int_equal(sum.usage_ns, MINUTE);
	assert_int_equal(sum.run_ns, 30 * S);
	assert_int_equal(sum.outside_ns, 30 * S / 4);
	assert_int_equal(sum.wait_ns[WAIT_HOST], 600 * MS);
	assert_int_equal(sum.wait_ns[WAIT_UNATTRIBUTED], 300 * MS);
	assert_int_equal(sum.wait_ns[WAIT_KERNEL], 0);
	/* A gap is left out; the sample that ended exactly a window ago is not of it. */
	now_ns += 58 * S;
	pressure_ring_sum(&ring, MINUTE, now_ns, &sum);
	assert_int_equal(sum.usage_ns, 2 * S);
	assert_int_equal(sum.outside_ns, S / 4);
	now_ns += 2 * S;
	pressure_ring_sum(&ring, MINUTE, now_ns, &sum);
	assert_int_equal(sum.usage_ns, 0);
	assert_int_equal(sum.run_ns, 0);
}

/* Of a minute it is not kept. */
static void a_minute_does_not_say_where_it_ran(void **state)
{
	const struct pressure_growth growth = {.usage_ns = 2 * S, .run_ns = S, .outside_ns = S / 4};

	now_ns += 2 * S;
	pressure_ring_add(&ring, now_ns, &growth);
	now_ns += MINUTE;
	assert_int_equal(read_minutes(), 1);
	assert_int_equal(readings[0].growth.run_ns, S);
	assert_int_equal(readings[0].growth.outside_ns, 0);
}

/* --- growth ---------------------------------------------------------------------------------------- */

static const struct pressure_totals before = {
	.time_ns = 100 * S,
	.cgroup_id = 7,
	.has_usage = true,
	.run_ns = 50 * S,
	.outside_ns = 20 * S,
	.wait_ns = {[0 ... WAIT_CAUSE_NR - 1] = 3 * S},
	.has_pressure = true,
	.since_ns = 10 * S,
	.until_ns = 90 * S,
	.waited_ns = {[0 ... PRESSURE_KIND_NR - 1] = 4 * S},
};

/* Two seconds later: of each cause and kind it has grown by another number of ms. */
static struct pressure_totals after_it(void)
{
	struct pressure_totals after = before;

	after.time_ns += 2 * S;
	after.run_ns += S;
	after.outside_ns += S / 4;
	for (uint64_t cause = 0; cause < WAIT_CAUSE_NR; cause++)
		after.wait_ns[cause] += (1 + cause) * MS;
	after.until_ns += 2004 * MS;
	for (uint64_t kind = 0; kind < PRESSURE_KIND_NR; kind++)
		after.waited_ns[kind] += (20 + kind) * MS;
	return after;
}

static struct pressure_growth growth_until(const struct pressure_totals *after)
{
	struct pressure_growth growth;

	memset(&growth, 0xff, sizeof(growth));
	pressure_ring_growth(&before, after, LONGEST, &growth);
	return growth;
}

static void expect_nothing(const struct pressure_totals *after)
{
	const struct pressure_growth nothing = {0}, growth = growth_until(after);

	assert_memory_equal(&growth, &nothing, sizeof(nothing));
}

static void growth_is_the_difference(void **state)
{
	const struct pressure_totals after = after_it();
	const struct pressure_growth growth = growth_until(&after);

	assert_int_equal(growth.usage_ns, 2 * S);
	assert_int_equal(growth.run_ns, S);
	assert_int_equal(growth.outside_ns, S / 4);
	for (uint64_t cause = 0; cause < WAIT_CAUSE_NR; cause++)
		assert_int_equal(growth.wait_ns[cause], (1 + cause) * MS);
	assert_int_equal(growth.pressure_ns, 2004 * MS);
	for (uint64_t kind = 0; kind < PRESSURE_KIND_NR; kind++)
		assert_int_equal(growth.waited_ns[kind], (20 + kind) * MS);
}

static void a_late_pass_is_a_gap(void **state)
{
	struct pressure_totals after = after_it();

	after.time_ns = before.time_ns + LONGEST;
	assert_int_equal(growth_until(&after).usage_ns, LONGEST);
	after.time_ns++;
	expect_nothing(&after);
}

static void no_time_is_a_gap(void **state)
{
	struct pressure_totals after = after_it();

	after.time_ns = before.time_ns;
	expect_nothing(&after);
	after.time_ns--;
	expect_nothing(&after);
}

static void a_restarted_container_is_a_gap(void **state)
{
	struct pressure_totals after = after_it();

	after.cgroup_id = 8;
	expect_nothing(&after);
	after.cgroup_id = 0;
	expect_nothing(&after);
}

static void the_first_totals_are_a_gap(void **state)
{
	const struct pressure_totals none = {0}, after = after_it();
	struct pressure_growth growth;

	pressure_ring_growth(&none, &after, LONGEST, &growth);
	assert_int_equal(growth.usage_ns, 0);
	assert_int_equal(growth.pressure_ns, 0);
	pressure_ring_growth(&none, &none, LONGEST, &growth);
	assert_int_equal(growth.usage_ns, 0);
}

static void counters_that_go_back_are_a_gap(void **state)
{
	struct pressure_totals after = after_it();

	after.run_ns = before.run_ns - 1;
	assert_int_equal(growth_until(&after).usage_ns, 0);
	assert_int_equal(growth_until(&after).run_ns, 0);
	assert_int_equal(growth_until(&after).wait_ns[WAIT_HOST], 0);
	assert_int_equal(growth_until(&after).pressure_ns, 2004 * MS);
	after = after_it();
	after.outside_ns = before.outside_ns - 1;
	assert_int_equal(growth_until(&after).usage_ns, 0);
	assert_int_equal(growth_until(&after).outside_ns, 0);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		after = after_it();
		after.wait_ns[cause] = before.wait_ns[cause] - 1;
		assert_int_equal(growth_until(&after).usage_ns, 0);
	}
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		after = after_it();
		after.waited_ns[kind] = before.waited_ns[kind] - 1;
		assert_int_equal(growth_until(&after).pressure_ns, 0);
		assert_int_equal(growth_until(&after).waited_ns[PRESSURE_IO_FULL], 0);
		assert_int_equal(growth_until(&after).usage_ns, 2 * S);
	}
	after = after_it();
	after.until_ns = before.until_ns - 1;
	assert_int_equal(growth_until(&after).pressure_ns, 0);
}

static void pressure_that_was_not_measured_meanwhile_is_a_gap(void **state)
{
	struct pressure_totals after = after_it();

	after.since_ns++;
	assert_int_equal(growth_until(&after).pressure_ns, 0);
	assert_int_equal(growth_until(&after).usage_ns, 2 * S);
	after = after_it();
	after.has_pressure = false;
	assert_int_equal(growth_until(&after).pressure_ns, 0);
	after = after_it();
	after.has_usage = false;
	assert_int_equal(growth_until(&after).usage_ns, 0);
	assert_int_equal(growth_until(&after).pressure_ns, 2004 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_ring_has_no_samples, set_up),
		cmocka_unit_test_setup(a_sample_has_what_was_added, set_up),
		cmocka_unit_test_setup(the_fine_samples_are_the_last_ten_minutes, set_up),
		cmocka_unit_test_setup(the_minutes_are_the_last_day, set_up),
		cmocka_unit_test_setup(a_full_day_has_1440_minutes, set_up),
		cmocka_unit_test_setup(each_minute_is_the_sum_of_its_samples, set_up),
		cmocka_unit_test_setup(a_minute_is_shown_when_it_has_ended, set_up),
		cmocka_unit_test_setup(a_minute_does_not_say_where_it_ran, set_up),
		cmocka_unit_test_setup(a_sum_is_of_the_samples_in_its_window, set_up),
		cmocka_unit_test_setup(sums_agree_with_the_totals_to_a_unit, set_up),
		cmocka_unit_test_setup(pressure_longer_than_time_is_the_largest, set_up),
		cmocka_unit_test_setup(no_number_of_tasks_is_too_large, set_up),
		cmocka_unit_test_setup(the_largest_growth_is_one, set_up),
		cmocka_unit_test_setup(what_is_not_known_leaves_a_gap, set_up),
		cmocka_unit_test_setup(minutes_without_samples_are_missing, set_up),
		cmocka_unit_test_setup(old_samples_do_not_come_back, set_up),
		cmocka_unit_test_setup(times_survive_the_wrap_of_the_clock, set_up),
		cmocka_unit_test(growth_is_the_difference),
		cmocka_unit_test(a_late_pass_is_a_gap),
		cmocka_unit_test(no_time_is_a_gap),
		cmocka_unit_test(a_restarted_container_is_a_gap),
		cmocka_unit_test(the_first_totals_are_a_gap),
		cmocka_unit_test(counters_that_go_back_are_a_gap),
		cmocka_unit_test(pressure_that_was_not_measured_meanwhile_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
