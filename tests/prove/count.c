// SPDX-License-Identifier: Apache-2.0
// CBMC: user/core/cpuset.c -DCPUSET_MAX=64 --unwind 3
// FAULT: user/core/cpuset.c s/0x3333333333333333ULL) + (word >> 2/0x3333333333333331ULL) + (word >> 2/
/*
 * Counting, by induction over any set of 64 CPUs: the empty set has none, and a
 * set has one more than it has without its lowest CPU.
 */
#include <assert.h>

#include "core/cpuset.h"

uint64_t nondet_word(void);

int main(void)
{
	struct cpuset set = {.nr_words = 1, .words = {nondet_word()}};
	struct cpuset less = set, none = CPUSET_EMPTY;

	__CPROVER_assume(set.words[0]);
	less.words[0] &= less.words[0] - 1;
	assert(cpuset_count(&none) == 0);
	assert(cpuset_count(&set) == cpuset_count(&less) + 1);
	return 0;
}
