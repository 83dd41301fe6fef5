/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the rules*.c files and private to them. Sets are plain arrays of bits over
 * CPU ids, not the core's.
 */
#ifndef RULES_PRIVATE_H
#define RULES_PRIVATE_H

#include "property.h"

#include <string.h>

#define BITS_WORDS (2 * MAX_CPUS / 64)

struct bits {
	uint64_t words[BITS_WORDS];
};

static inline struct bits bits_of(const struct cpuset *set)
{
	struct bits bits = {{0}};
	uint32_t nr = set->nr_words < BITS_WORDS ? set->nr_words : BITS_WORDS;

	memcpy(bits.words, set->words, nr * sizeof(bits.words[0]));
	return bits;
}

static inline void bits_set(struct bits *bits, uint32_t cpu)
{
	bits->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static inline uint32_t bits_count(const struct bits *bits)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BITS_WORDS; i++)
		nr += (uint32_t)__builtin_popcountll(bits->words[i]);
	return nr;
}

static inline void bits_add(struct bits *bits, const struct bits *other)
{
	for (uint32_t i = 0; i < BITS_WORDS; i++)
		bits->words[i] |= other->words[i];
}

static inline void bits_subtract(struct bits *bits, const struct bits *other)
{
	for (uint32_t i = 0; i < BITS_WORDS; i++)
		bits->words[i] &= ~other->words[i];
}

static inline uint32_t bits_common(const struct bits *a, const struct bits *b)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BITS_WORDS; i++)
		nr += (uint32_t)__builtin_popcountll(a->words[i] & b->words[i]);
	return nr;
}

static inline bool bits_equal(const struct bits *a, const struct bits *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static inline bool bits_within(const struct bits *part, const struct bits *whole)
{
	return bits_common(part, whole) == bits_count(part);
}

/* The CPUs that pods may run on: online, and not isolated by the kernel unless listed. */
struct bits usable_cpus(const struct stage *stage);
struct bits cpus_of_node(const struct stage *stage, uint32_t node_id);

/* What a request is entitled to, given its numbers and the policy at its admission. */
bool is_guaranteed(const struct pod_spec *spec);
/* In a pod with pod-level resources: a container with complete requests and limits. */
bool says_all(const struct container_spec *container);
/* Allocated as a whole: pod-level resources, pod scope, managers enabled. */
bool is_one(const struct stage *stage, const struct pod_spec *spec);
uint32_t entitled_cpus(const struct stage *stage, const struct pod_spec *spec, uint32_t index);
uint32_t bubble_cpus(const struct stage *stage, const struct pod_spec *spec);

void check_memory(struct stage *stage);

#endif
