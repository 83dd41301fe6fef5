// SPDX-License-Identifier: Apache-2.0
#include "format/latency.h"

uint64_t latency_bound(uint32_t bucket)
{
	return bucket < LATENCY_BUCKETS - 1 ? 1ULL << (LATENCY_FIRST_SHIFT + bucket) : UINT64_MAX;
}

uint64_t latency_count(const struct latency *latency)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		count += latency->counts[i];
	return count;
}

void latency_add(struct latency *sum, const struct latency *other)
{
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		sum->counts[i] += other->counts[i];
	sum->sum_ns += other->sum_ns;
	if (sum->longest_ns < other->longest_ns)
		sum->longest_ns = other->longest_ns;
}

/* count * per_mille / 1000, rounded up; the product of the two may need more than 64 bits. */
static uint64_t rank_of(uint64_t count, uint32_t per_mille)
{
	return count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;
}

bool latency_quantile(const struct latency *latency, uint32_t per_mille,
		      struct latency_range *ret_range)
{
	const uint64_t rank = rank_of(latency_count(latency), per_mille);
	uint64_t counted = latency->counts[0], bound;
	uint32_t bucket = 0;

	if (!rank)
		return false;
	while (counted < rank)
		counted += latency->counts[++bucket];
	bound = latency_bound(bucket);
	*ret_range = (struct latency_range){
		.least_ns = bucket ? latency_bound(bucket - 1) : 0,
		.most_ns = bound < latency->longest_ns ? bound : latency->longest_ns,
	};
	return true;
}
