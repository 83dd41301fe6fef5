// SPDX-License-Identifier: Apache-2.0
// CBMC: user/core/cpuset.c -DCPUSET_MAX=128 --unwind 18
// FAULT: user/core/cpuset.c s/a->nr_words > b->nr_words ? a->nr_words/a->nr_words < b->nr_words ? a->nr_words/
// FAULT: user/core/cpuset.c s/set->words\[word_of(cpu)\] &= ~bit_of(cpu)/set->words[word_of(cpu)] ^= bit_of(cpu)/
/*
 * The algebra of CPU sets, for every pair of sets of 128 CPUs and every CPU: each
 * operation is what it is for one CPU, and what every loop relies on stays true:
 * words at and above nr_words are zero. (Counting: count.c.)
 */
#include <assert.h>

#include "core/cpuset.h"

#define NR_WORDS (CPUSET_MAX / CPUSET_WORD_BITS)

struct cpuset nondet_set(void);
unsigned int nondet_cpu(void);

static bool is_sound(const struct cpuset *set)
{
	if (set->nr_words > NR_WORDS)
		return false;
	for (uint32_t i = 0; i < NR_WORDS; i++) {
		if (i >= set->nr_words && set->words[i])
			return false;
	}
	return true;
}

static bool has(const struct cpuset *set, unsigned int cpu)
{
	return set->words[cpu / CPUSET_WORD_BITS] >> (cpu % CPUSET_WORD_BITS) & 1;
}

static bool is_empty(const struct cpuset *set)
{
	for (uint32_t i = 0; i < NR_WORDS; i++) {
		if (set->words[i])
			return false;
	}
	return true;
}

/* Do they have the same CPUs, this one aside? */
static bool is_same_without(const struct cpuset *a, const struct cpuset *b, unsigned int cpu)
{
	unsigned int other = nondet_cpu();

	__CPROVER_assume(other < CPUSET_MAX && other != cpu);
	return has(a, other) == has(b, other);
}

int main(void)
{
	struct cpuset a = nondet_set(), b = nondet_set(), set;
	unsigned int cpu = nondet_cpu(), next;

	__CPROVER_assume(is_sound(&a) && is_sound(&b) && cpu < CPUSET_MAX);
	assert(cpuset_has(&a, cpu) == has(&a, cpu));

	set = a;
	cpuset_union(&set, &b);
	assert(is_sound(&set) && has(&set, cpu) == (has(&a, cpu) || has(&b, cpu)));
	set = a;
	cpuset_intersect(&set, &b);
	assert(is_sound(&set) && has(&set, cpu) == (has(&a, cpu) && has(&b, cpu)));
	assert(cpuset_intersects(&a, &b) == !cpuset_is_empty(&set));
	set = a;
	cpuset_subtract(&set, &b);
	assert(is_sound(&set) && has(&set, cpu) == (has(&a, cpu) && !has(&b, cpu)));
	assert(cpuset_is_subset(&a, &b) == is_empty(&set));

	assert(cpuset_is_empty(&a) == is_empty(&a));
	assert(cpuset_equal(&a, &b) == (cpuset_is_subset(&a, &b) && cpuset_is_subset(&b, &a)));

	/* The next one is the lowest: there is none between. */
	next = cpuset_next(&a, cpu);
	assert(next == CPUSET_MAX || (next >= cpu && next < CPUSET_MAX && has(&a, next)));
	for (uint32_t i = 0; i < NR_WORDS; i++) {
		unsigned int other = nondet_cpu();

		__CPROVER_assume(other >= cpu && other < next);
		assert(!has(&a, other));
	}

	set = a;
	cpuset_add(&set, cpu);
	assert(is_sound(&set) && has(&set, cpu) && is_same_without(&set, &a, cpu));
	set = a;
	cpuset_remove(&set, cpu);
	assert(is_sound(&set) && !has(&set, cpu) && is_same_without(&set, &a, cpu));
	return 0;
}
