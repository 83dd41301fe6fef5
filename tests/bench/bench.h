/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring one function: samples of several calls each, median and 99th
 * percentile per call, one JSON line. CPU time of the thread, so that a busy
 * machine does not look like a slow function.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"

#define BENCH_SAMPLES	301
#define BENCH_SAMPLE_NS 100000	   /* a sample lasts at least this long */
#define BENCH_TOTAL_NS	2000000000 /* then fewer samples, at least BENCH_LEAST */
#define BENCH_LEAST	11

static inline uint64_t bench_now_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Time of one call over `calls` calls, in nanoseconds. */
static inline double bench_sample(void (*call)(void *arg), void *arg, uint64_t calls)
{
	uint64_t start = bench_now_ns();

	for (uint64_t i = 0; i < calls; i++)
		call(arg);
	return (double)(bench_now_ns() - start) / (double)calls;
}

/* `params` is a JSON object. */
static inline void bench_run(const char *name, const char *params, void (*call)(void *arg),
			     void *arg)
{
	static double samples[BENCH_SAMPLES];
	double once;
	uint64_t calls, spent = 0;
	unsigned int nr = 0;

	call(arg);
	once = bench_sample(call, arg, 1);
	calls = once < BENCH_SAMPLE_NS ? (uint64_t)(BENCH_SAMPLE_NS / (once + 1)) + 1 : 1;
	while (nr < BENCH_SAMPLES && (nr < BENCH_LEAST || spent < BENCH_TOTAL_NS)) {
		samples[nr] = bench_sample(call, arg, calls);
		spent += (uint64_t)(samples[nr] * (double)calls);
		nr++;
	}
	qsort(samples, nr, sizeof(samples[0]), bench_compare);
	printf("{\"name\": \"%s\", \"params\": %s, \"unit\": \"ns\", \"median\": %.0f, "
	       "\"p99\": %.0f, \"n\": %u}\n",
	       name, params, samples[nr / 2], samples[nr * 99 / 100], nr);
	fflush(stdout);
}

#endif
