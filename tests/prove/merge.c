// SPDX-License-Identifier: Apache-2.0
// CBMC: user/core/align/align.c user/core/align/align_exact.c -DALIGN_EXACT_NODES=3 -DALIGN_STACK_NODES=3 -DALIGN_STACK_LISTS=2 --slice-formula --unwind 34 --unwindset best_of_count.0:4,best_of_count.1:2,distance_of.0:1,is_maximal.0:4,best_of_counts.0:4,first_count.0:2,first_count.1:4,collect_preferred.0:5,collect_named.0:5,best_count.0:5
// FAULT: user/core/align/align_exact.c s/common.words\[w\] &= any ? ~0ULL : preferred.words\[w\]/common.words[w] |= any ? 0 : preferred.words[w]/
// FAULT: user/core/align/align_exact.c s/best_of_counts(merge, set, merge->best_count, 0)/best_of_counts(merge, set, 1, merge->best_count)/
/*
 * Merging the hints of two providers on machines of 1 to 3 NUMA nodes, for every
 * pair of lists of up to NR_HINTS hints in any order and every policy that aligns.
 * Distances are not considered.
 *
 * The rule is the kubelet's: a permutation takes one hint of each list. Its nodes
 * are those that all of them allow, and it is preferred when all of them are and
 * those that name nodes name the same. The result is a permutation with at least
 * one node that no other one is better than; without one, it is all nodes, not
 * preferred. single-numa-node drops all hints but the preferred ones of one node
 * or any, and calls all nodes no affinity.
 */
#include <assert.h>

#include "core/align/align.h"

#define MAX_NODES 3
#define NR_LISTS  2
#ifndef NR_HINTS
#define NR_HINTS 4
#endif

unsigned int nondet_index(void);
uint8_t nondet_distance(void);
unsigned char nondet_mask(void);
bool nondet_bool(void);

struct permutation {
	node_mask_t nodes;
	bool preferred;
};

static unsigned int nr_of(node_mask_t nodes)
{
	return (nodes & 1) + (nodes >> 1 & 1) + (nodes >> 2 & 1);
}

static bool is_kept(const struct align_problem *problem, const struct hint *hint)
{
	if (problem->policy != ALIGN_SINGLE_NUMA_NODE)
		return true;
	return hint->preferred && (hint->any || nr_of(hint->nodes) == 1);
}

/* False when this choice of hints is not a permutation that counts. */
static bool permute(const struct align_problem *problem, unsigned int a, unsigned int b,
		    struct permutation *ret_permutation)
{
	const struct hint *x, *y;
	node_mask_t all = (1U << problem->nr_nodes) - 1;

	if (a >= problem->lists[0].nr || b >= problem->lists[1].nr)
		return false;
	x = &problem->lists[0].hints[a];
	y = &problem->lists[1].hints[b];
	ret_permutation->nodes = (x->any ? all : x->nodes) & (y->any ? all : y->nodes);
	ret_permutation->preferred = x->preferred && y->preferred &&
				     (x->any || y->any || x->nodes == y->nodes);
	return is_kept(problem, x) && is_kept(problem, y) && ret_permutation->nodes;
}

/* The most nodes that any list needs for its narrowest hint. */
static unsigned int best_count(const struct align_problem *problem)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < NR_LISTS; i++) {
		unsigned int narrowest = MAX_NODES + 1;

		for (unsigned int j = 0; j < problem->lists[i].nr; j++) {
			const struct hint *hint = &problem->lists[i].hints[j];

			if (is_kept(problem, hint) && !hint->any && nr_of(hint->nodes) < narrowest)
				narrowest = nr_of(hint->nodes);
		}
		if (narrowest <= MAX_NODES && narrowest > most)
			most = narrowest;
	}
	return most;
}

static unsigned int distance(const struct align_problem *problem, node_mask_t nodes)
{
	unsigned int sum = 0;

	for (unsigned int a = 0; a < problem->nr_nodes; a++) {
		for (unsigned int b = 0; b < problem->nr_nodes; b++) {
			if (nodes >> a & 1 && nodes >> b & 1)
				sum += problem->distances[a * problem->nr_nodes + b];
		}
	}
	return sum;
}

/* Fewer nodes; then, where it is asked for, closer ones; then lower ones. */
static bool is_narrower(const struct align_problem *problem, node_mask_t a, node_mask_t b)
{
	if (nr_of(a) != nr_of(b))
		return nr_of(a) < nr_of(b);
	if (problem->prefer_closest && problem->policy != ALIGN_SINGLE_NUMA_NODE &&
	    distance(problem, a) != distance(problem, b))
		return distance(problem, a) < distance(problem, b);
	return a < b;
}

static bool is_better(const struct align_problem *problem, const struct permutation *a,
		      const struct permutation *b)
{
	unsigned int best = best_count(problem);
	unsigned int x = nr_of(a->nodes), y = nr_of(b->nodes);

	if (a->preferred != b->preferred)
		return a->preferred;
	if (a->preferred || x == y)
		return is_narrower(problem, a->nodes, b->nodes);
	/* Neither is preferred: best_count nodes, else the most below, else the fewest above. */
	if (x == best || y == best)
		return x == best;
	if (x < best && y < best)
		return x > y;
	return x < y;
}

static bool is_permutation(const struct align_problem *problem, const struct permutation *wanted)
{
	for (unsigned int a = 0; a < NR_HINTS; a++) {
		for (unsigned int b = 0; b < NR_HINTS; b++) {
			struct permutation one;

			if (permute(problem, a, b, &one) && one.nodes == wanted->nodes &&
			    one.preferred == wanted->preferred)
				return true;
		}
	}
	return false;
}

static void prove(unsigned int nr_nodes)
{
	static struct hint hints[NR_LISTS][NR_HINTS];
	struct hint_list lists[NR_LISTS];
	uint32_t distances[MAX_NODES * MAX_NODES];
	node_mask_t all = (1U << nr_nodes) - 1;
	struct align_problem problem = {
		.policy = (enum align_policy)nondet_index(),
		.prefer_closest = false,
		.nr_nodes = nr_nodes,
		.distances = distances,
		.nr_lists = NR_LISTS,
		.lists = lists,
	};
	struct permutation result, other;
	struct alignment alignment;

	__CPROVER_assume(problem.policy > ALIGN_NONE && problem.policy < ALIGN_NR);
	for (unsigned int i = 0; i < MAX_NODES * MAX_NODES; i++)
		distances[i] = nondet_distance();
	for (unsigned int i = 0; i < NR_LISTS; i++) {
		lists[i] = (struct hint_list){nondet_index(), hints[i]};
		__CPROVER_assume(lists[i].nr <= NR_HINTS);
		for (unsigned int j = 0; j < NR_HINTS; j++) {
			hints[i][j] = (struct hint){
				.nodes = nondet_mask() & all,
				.any = nondet_bool(),
				.preferred = nondet_bool(),
			};
			__CPROVER_assume(hints[i][j].any || hints[i][j].nodes);
		}
	}

	assert(align_merge(&problem, &alignment) == 0);
	assert(alignment.exact);
	assert(alignment.admitted ==
	       (alignment.hint.preferred || problem.policy == ALIGN_BEST_EFFORT));
	assert(!alignment.hint.any || problem.policy == ALIGN_SINGLE_NUMA_NODE);
	assert(problem.policy != ALIGN_SINGLE_NUMA_NODE || alignment.hint.any ||
	       alignment.hint.nodes != all);

	result.nodes = alignment.hint.any ? all : alignment.hint.nodes;
	result.preferred = alignment.hint.preferred;
	if (permute(&problem, nondet_index(), nondet_index(), &other)) {
		assert(!is_better(&problem, &other, &result));
		assert(is_permutation(&problem, &result));
	}
	if (!is_permutation(&problem, &result))
		assert(result.nodes == all && !result.preferred);
}

int main(void)
{
	for (unsigned int nr_nodes = 1; nr_nodes <= MAX_NODES; nr_nodes++)
		prove(nr_nodes);
	return 0;
}
