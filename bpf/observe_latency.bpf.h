/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits by length: one count in a bucket for each, whose bounds are powers of two. */
#ifndef OBSERVE_LATENCY_BPF_H
#define OBSERVE_LATENCY_BPF_H

#include <bpf/bpf_helpers.h>
#include <pinfold/abi.h>

/* How many bits a byte has below and with its highest 1. */
#define TWICE(n)    n, n
#define TIMES_4(n)  TWICE(n), TWICE(n)
#define TIMES_8(n)  TIMES_4(n), TIMES_4(n)
#define TIMES_16(n) TIMES_8(n), TIMES_8(n)
#define TIMES_32(n) TIMES_16(n), TIMES_16(n)
#define TIMES_64(n) TIMES_32(n), TIMES_32(n)
const __u8 bit_lengths[256] = {0,	    1,		 TWICE(2),    TIMES_4(3),  TIMES_8(4),
			       TIMES_16(5), TIMES_32(6), TIMES_64(7), TIMES_64(8), TIMES_64(8)};

/* clang knows that the index is below 256, the verifier does not: hence the asm. */
static __always_inline __u32 bit_length(__u32 byte)
{
	__u64 index = byte;

	__asm__ volatile("" : "+r"(index));
	return bit_lengths[index & 0xff];
}

/* A table, because BPF has no instruction that counts leading zeroes. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u64 units = (ns - (ns != 0)) >> LATENCY_FIRST_SHIFT; /* bounds are inclusive */

	if (likely(units < 1U << 8))
		return bit_length(units);
	if (units < 1U << 16)
		return 8 + bit_length(units >> 8);
	if (units < 1U << (LATENCY_BUCKETS - 2))
		return 16 + bit_length(units >> 16);
	return LATENCY_BUCKETS - 1;
}

static __always_inline void count_latency(struct observe_counter *counter, __u64 ns)
{
	__u64 bucket = bucket_of(ns);

	__asm__ volatile("" : "+r"(bucket));
	if (bucket >= LATENCY_BUCKETS)
		return;
	__asm__ volatile("" : "+r"(bucket));
	counter->latencies[bucket]++;
	counter->latency_ns += ns;
	if (ns > counter->longest_ns)
		counter->longest_ns = ns;
}

#endif
