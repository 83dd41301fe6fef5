// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The token bucket: a burst at once, then a share of the time, and never more than the burst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/token_bucket.h"

static struct token_bucket bucket;

static int set_up(void **state)
{
	bucket = (struct token_bucket){.share = 20, .burst_ns = 500};
	return 0;
}

static void a_full_bucket_allows_a_burst(void **state)
{
	assert_int_equal(token_bucket_delay_ns(&bucket, 0), 0);
	token_bucket_take(&bucket, 0, 499);
	assert_int_equal(token_bucket_delay_ns(&bucket, 0), 0);
	token_bucket_take(&bucket, 0, 1);
	assert_int_equal(token_bucket_delay_ns(&bucket, 0), 0);
	token_bucket_take(&bucket, 0, 1);
	assert_int_equal(token_bucket_delay_ns(&bucket, 0), 20);
}

static void tokens_are_added_with_time(void **state)
{
	token_bucket_take(&bucket, 1000, 600);
	assert_int_equal(token_bucket_delay_ns(&bucket, 1000), 100 * 20);
	assert_int_equal(token_bucket_delay_ns(&bucket, 2000), 50 * 20);
	assert_int_equal(token_bucket_delay_ns(&bucket, 3000), 0);
	/* What is waited for is there when the wait is over. */
	token_bucket_take(&bucket, 3000, 7);
	assert_int_equal(token_bucket_delay_ns(&bucket, 3000 + 7 * 20), 0);
}

static void the_level_never_exceeds_the_burst(void **state)
{
	token_bucket_take(&bucket, 1000, 300);
	assert_int_equal(token_bucket_delay_ns(&bucket, 1000000), 0);
	token_bucket_take(&bucket, 1000000, 510);
	assert_int_equal(token_bucket_delay_ns(&bucket, 1000000), 10 * 20);
}

/* Whoever takes no more than asked gets the share, however often somebody looks. */
static void no_caller_gets_more_than_the_share(void **state)
{
	uint64_t now = 0, taken = 0;

	while (now < 1000000) {
		uint64_t delay = token_bucket_delay_ns(&bucket, now);

		if (delay) {
			now += delay;
			continue;
		}
		token_bucket_take(&bucket, now, 40);
		taken += 40;
	}
	assert_in_range(taken, now / 20, now / 20 + 500 + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_full_bucket_allows_a_burst, set_up),
		cmocka_unit_test_setup(tokens_are_added_with_time, set_up),
		cmocka_unit_test_setup(the_level_never_exceeds_the_burst, set_up),
		cmocka_unit_test_setup(no_caller_gets_more_than_the_share, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
