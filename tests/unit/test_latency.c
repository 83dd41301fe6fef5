// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * Histograms of waits: bounds, sums, and quantiles compared with those of the sorted waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/latency.h"

#define SAMPLES_MAX 3000
#define RUNS	    400

static uint64_t samples[SAMPLES_MAX];

/* The first bucket whose bound the wait does not exceed, which is what Prometheus means by le. */
static uint32_t find_bucket(uint64_t ns)
{
	uint32_t bucket = 0;

	while (ns > latency_bound(bucket))
		bucket++;
	return bucket;
}

static void add_wait(struct latency *latency, uint64_t ns)
{
	latency->counts[find_bucket(ns)]++;
	latency->sum_ns += ns;
	if (ns > latency->longest_ns)
		latency->longest_ns = ns;
}

static struct latency_range range_of(const struct latency *latency, uint32_t per_mille)
{
	struct latency_range range = {0};

	assert_true(latency_quantile(latency, per_mille, &range));
	return range;
}

static uint64_t quantile(const struct latency *latency, uint32_t per_mille)
{
	return range_of(latency, per_mille).most_ns;
}

static void bounds_double_up_to_four_seconds(void **state)
{
	(void)state;
	assert_int_equal(latency_bound(0), 1024);
	assert_int_equal(latency_bound(1), 2048);
	assert_int_equal(latency_bound(22), 4294967296);
	assert_true(latency_bound(23) == UINT64_MAX);
	assert_int_equal(LATENCY_BUCKETS, 24);
}

static void without_waits_there_is_no_quantile(void **state)
{
	const struct latency none = {0};
	struct latency_range range = {.least_ns = 66, .most_ns = 77};

	(void)state;
	assert_false(latency_quantile(&none, 500, &range));
	assert_int_equal(range.least_ns, 66);
	assert_int_equal(range.most_ns, 77);
	assert_int_equal(latency_count(&none), 0);
}

static void one_wait_is_every_quantile(void **state)
{
	struct latency latency = {0};

	(void)state;
	add_wait(&latency, 5000);
	assert_int_equal(quantile(&latency, 1), 5000);
	assert_int_equal(range_of(&latency, 1).least_ns, 4096);
	assert_int_equal(quantile(&latency, 1000), 5000);
}

static void waits_of_no_time_are_waits(void **state)
{
	struct latency latency = {0};

	(void)state;
	add_wait(&latency, 0);
	assert_int_equal(latency_count(&latency), 1);
	assert_int_equal(quantile(&latency, 500), 0);
	assert_int_equal(range_of(&latency, 500).least_ns, 0);
}

static void the_last_bucket_is_bounded_by_the_longest_wait(void **state)
{
	struct latency latency = {0};

	(void)state;
	add_wait(&latency, 5000000000);
	add_wait(&latency, 90000000000);
	assert_int_equal(latency.counts[LATENCY_BUCKETS - 1], 2);
	assert_true(quantile(&latency, 500) == 90000000000);
	assert_true(range_of(&latency, 500).least_ns == 4294967296);
}

static void counts_that_fill_64_bits_have_quantiles(void **state)
{
	struct latency latency = {.longest_ns = 9000};

	(void)state;
	latency.counts[0] = UINT64_MAX / 2;
	latency.counts[4] = UINT64_MAX / 2;
	assert_int_equal(quantile(&latency, 500), 1024);
	assert_int_equal(quantile(&latency, 501), 9000);
}

static void sums_are_those_of_all_waits(void **state)
{
	struct latency one = {0}, other = {0};

	(void)state;
	add_wait(&one, 1024);
	add_wait(&one, 7000);
	add_wait(&other, 1025);
	latency_add(&one, &other);
	assert_int_equal(one.counts[0], 1);
	assert_int_equal(one.counts[1], 1);
	assert_int_equal(latency_count(&one), 3);
	assert_int_equal(one.sum_ns, 9049);
	assert_int_equal(one.longest_ns, 7000);
	latency_add(&other, &one);
	assert_int_equal(other.longest_ns, 7000);
	assert_int_equal(other.counts[0], 1);
	assert_int_equal(other.counts[1], 2);
}

static int by_length(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Any number of bits is as likely as any other, and bounds themselves come often. */
static uint64_t random_wait(void)
{
	const int bits = rand() % 36;
	const uint64_t top = 1ULL << bits;

	return rand() % 4 ? top | (uint64_t)rand() % top : top;
}

/* The wait that at least so many of a thousand do not exceed, counted one by one. */
static uint64_t exact_quantile(uint32_t nr, uint32_t per_mille)
{
	uint32_t i = 0;

	while ((uint64_t)(i + 1) * 1000 < (uint64_t)nr * per_mille)
		i++;
	return samples[i];
}

static void quantiles_are_bounds_of_those_of_the_sorted_waits(void **state)
{
	static const uint32_t asked[] = {1, 250, 500, 900, 990, 999, 1000};

	(void)state;
	srand(20261123);
	for (int run = 0; run < RUNS; run++) {
		const uint32_t nr = 1 + (uint32_t)rand() % SAMPLES_MAX;
		struct latency latency = {0};

		for (uint32_t i = 0; i < nr; i++) {
			samples[i] = random_wait();
			add_wait(&latency, samples[i]);
		}
		qsort(samples, nr, sizeof(*samples), by_length);
		assert_int_equal(latency_count(&latency), nr);
		assert_int_equal(quantile(&latency, 1000), samples[nr - 1]);
		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
			const uint64_t exact = exact_quantile(nr, asked[i]);
			const struct latency_range range = range_of(&latency, asked[i]);

			assert_true(range.least_ns <= exact && exact <= range.most_ns);
			if (exact > 1024 && exact <= 4294967296)
				assert_true(range.most_ns <= 2 * range.least_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_double_up_to_four_seconds),
		cmocka_unit_test(without_waits_there_is_no_quantile),
		cmocka_unit_test(one_wait_is_every_quantile),
		cmocka_unit_test(waits_of_no_time_are_waits),
		cmocka_unit_test(the_last_bucket_is_bounded_by_the_longest_wait),
		cmocka_unit_test(counts_that_fill_64_bits_have_quantiles),
		cmocka_unit_test(sums_are_those_of_all_waits),
		cmocka_unit_test(quantiles_are_bounds_of_those_of_the_sorted_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
