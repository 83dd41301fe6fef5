// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Every merge of a few hints on machines of up to 4 NUMA nodes against the
 * definition: all lists there can be of one or two nodes, lists of up to 2 hints
 * of more, under every policy, with and without distances.
 */
#include <stdlib.h>

#include "../lib/align_definition.h"
#include "verdict.h"

#define MAX_NODES 4
#define MAX_LISTS 3
/* Every mask but the empty one, preferred or not; and "any", preferred or not. */
#define NR_HINTS(nr_nodes) (2U << (nr_nodes))

static struct hint hints[NR_HINTS(MAX_NODES)];

/* Irregular distances, so that they break ties between sets of equal size. */
static const uint32_t distances[MAX_NODES * MAX_NODES] = {10, 21, 15, 30, 21, 10, 28, 12,
							  15, 28, 10, 17, 30, 12, 17, 10};

static void fill_hints(unsigned int nr_nodes)
{
	unsigned int nr = 0;

	for (unsigned int preferred = 0; preferred < 2; preferred++) {
		hints[nr++] = (struct hint){.any = true, .preferred = preferred};
		for (node_mask_t mask = 1; mask < 1U << nr_nodes; mask++)
			hints[nr++] = (struct hint){.nodes = mask, .preferred = preferred};
	}
}

struct tally {
	uint64_t merges, wrong, admitted;
};

static bool is_same(const struct alignment *a, const struct alignment *b)
{
	return a->hint.any == b->hint.any && (a->hint.any || a->hint.nodes == b->hint.nodes) &&
	       a->hint.preferred == b->hint.preferred && a->admitted == b->admitted && a->exact;
}

static void compare(struct align_problem *problem, struct tally *tally)
{
	for (int policy = ALIGN_NONE + 1; policy < ALIGN_NR; policy++) {
		for (int closest = 0; closest < 2; closest++) {
			struct alignment got, want;

			problem->policy = (enum align_policy)policy;
			problem->prefer_closest = closest;
			want = by_definition(problem);
			if (align_merge(problem, &got))
				abort();
			tally->merges++;
			tally->admitted += want.admitted;
			tally->wrong += !is_same(&got, &want);
		}
	}
}

/* All choices for the remaining lists; a list is a set of hints in their order. */
static void choose_lists(struct align_problem *problem, struct hint_list *lists, uint32_t nr_lists,
			 unsigned int most_hints, struct tally *tally)
{
	static struct hint chosen[MAX_LISTS][NR_HINTS(MAX_NODES)];
	unsigned int nr_hints = NR_HINTS(problem->nr_nodes), list = problem->nr_lists;
	unsigned int picked[NR_HINTS(MAX_NODES)], nr = 0;

	if (list == nr_lists) {
		compare(problem, tally);
		return;
	}
	problem->nr_lists++;
	/* Sets in lexicographic order: append the next hint, or advance the last one. */
	for (;;) {
		unsigned int next = nr ? picked[nr - 1] + 1 : 0;

		for (unsigned int i = 0; i < nr; i++)
			chosen[list][i] = hints[picked[i]];
		lists[list] = (struct hint_list){nr, chosen[list]};
		choose_lists(problem, lists, nr_lists, most_hints, tally);
		if (nr < most_hints && next < nr_hints) {
			picked[nr++] = next;
			continue;
		}
		while (nr && picked[nr - 1] + 1 == nr_hints)
			nr--;
		if (!nr)
			break;
		picked[nr - 1]++;
	}
	problem->nr_lists--;
}

static void play(unsigned int nr_nodes, uint32_t nr_lists, unsigned int most_hints)
{
	struct hint_list lists[MAX_LISTS];
	uint32_t corner[MAX_NODES * MAX_NODES];
	struct align_problem problem = {.nr_nodes = nr_nodes, .lists = lists, .distances = corner};
	struct tally tally = {0};

	for (unsigned int i = 0; i < nr_nodes * nr_nodes; i++)
		corner[i] = distances[i / nr_nodes * MAX_NODES + i % nr_nodes];
	fill_hints(nr_nodes);
	choose_lists(&problem, lists, nr_lists, most_hints, &tally);
	verdict(!tally.wrong && tally.admitted && tally.admitted < tally.merges,
		"%u nodes, %u lists of up to %u hints: %llu of %llu merges are not what the "
		"definition says, %llu are admitted",
		nr_nodes, nr_lists, most_hints, (unsigned long long)tally.wrong,
		(unsigned long long)tally.merges, (unsigned long long)tally.admitted);
}

int main(void)
{
	play(1, 1, NR_HINTS(1));
	play(1, 3, NR_HINTS(1));
	play(2, 2, NR_HINTS(2));
	play(2, 3, 2);
	play(3, 2, 2);
	play(3, 3, 1);
	play(4, 2, 2);
	play(4, 3, 1);
	return verdicts();
}
