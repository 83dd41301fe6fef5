// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the frequency of this processor's time stamp counter in kHz, measured against
 * CLOCK_MONOTONIC for a tenth of a second.
 *
 * A counter and a clock cannot be read at the same moment. Of many attempts the one counts whose
 * two readings of the counter around the clock are closest, so that a busy machine makes this
 * slower and not wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define ATTEMPTS    1000
#define INTERVAL_NS 100000000

struct instant {
	uint64_t ticks, ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct instant read_both(void)
{
	struct instant best = {0};
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < ATTEMPTS; i++) {
		const uint64_t before = __rdtsc();
		const uint64_t ns = now_ns();
		const uint64_t width = __rdtsc() - before;

		if (width >= best_width)
			continue;
		best_width = width;
		best = (struct instant){.ticks = before + width / 2, .ns = ns};
	}
	return best;
}

int main(void)
{
	const struct timespec interval = {.tv_nsec = INTERVAL_NS};
	const struct instant begin = read_both();
	struct instant end;

	nanosleep(&interval, NULL);
	end = read_both();
	printf("%.0f\n", (double)(end.ticks - begin.ticks) * 1e6 / (double)(end.ns - begin.ns));
	return 0;
}
