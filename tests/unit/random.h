/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers from a seed, for repeatable tests. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct chance {
	uint64_t state;
};

/* splitmix64: any seed is good, also 0. */
static inline uint64_t chance_next(struct chance *chance)
{
	uint64_t z = chance->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint32_t chance_below(struct chance *chance, uint32_t limit)
{
	return (uint32_t)(chance_next(chance) % limit);
}

static inline bool chance_percent(struct chance *chance, uint32_t percent)
{
	return chance_below(chance, 100) < percent;
}

static inline uint64_t number_from_environment(const char *name, uint64_t absent)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : absent;
}

#endif
