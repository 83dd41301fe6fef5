/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long tasks waited for a CPU, as a histogram whose bounds double. Plain values and
 * arithmetic; bpf/observe_latency.bpf.h counts.
 */
#ifndef FORMAT_LATENCY_H
#define FORMAT_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/abi.h>

struct latency {
	uint64_t counts[LATENCY_BUCKETS]; /* waits by length */
	uint64_t sum_ns, longest_ns;	  /* of all of them; exact */
};

/* The longest wait that bucket `bucket` counts, in ns; UINT64_MAX for the last one. */
uint64_t latency_bound(uint32_t bucket);

/* The number of waits. */
uint64_t latency_count(const struct latency *latency);

/* Count the waits of `other` as well. */
void latency_add(struct latency *sum, const struct latency *other);

/* A value that is known to be at least `least_ns` and at most `most_ns`. */
struct latency_range {
	uint64_t least_ns, most_ns;
};

/*
 * The shortest wait that at least `per_mille` (1 to 1000) of each thousand waits do not exceed,
 * as far as a histogram tells: the bounds of its bucket, which differ by a factor of two, or the
 * longest wait where that is less. The first bucket begins with 0, the last one ends with the
 * longest wait. Returns false, and leaves *ret_range untouched, if there are no waits.
 */
bool latency_quantile(const struct latency *latency, uint32_t per_mille,
		      struct latency_range *ret_range);

#endif
