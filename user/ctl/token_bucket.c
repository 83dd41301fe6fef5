// SPDX-License-Identifier: Apache-2.0
/*
 * Stores what is missing to a full bucket: a zeroed bucket is full, and no number is negative.
 */
#include "ctl/token_bucket.h"

void token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t cost_ns)
{
	uint64_t filled_ns = (now_ns - bucket->filled_ns) / bucket->share;

	bucket->debt_ns -= filled_ns < bucket->debt_ns ? filled_ns : bucket->debt_ns;
	bucket->debt_ns += cost_ns;
	bucket->filled_ns = now_ns;
}

uint64_t token_bucket_delay_ns(struct token_bucket *bucket, uint64_t now_ns)
{
	token_bucket_take(bucket, now_ns, 0);
	if (bucket->debt_ns > bucket->burst_ns)
		return (bucket->debt_ns - bucket->burst_ns) * bucket->share;
	return 0;
}
