/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alignment by its definition: fold every choice of one hint per list with the
 * pairwise comparison of the kubelet's Topology Manager. Exponential.
 */
#ifndef ALIGN_DEFINITION_H
#define ALIGN_DEFINITION_H

#include "core/align/align.h"

static int count(node_mask_t mask)
{
	return __builtin_popcountll(mask);
}

static double average_distance(const struct align_problem *problem, node_mask_t mask)
{
	double sum = 0;

	for (unsigned int a = 0; a < problem->nr_nodes; a++) {
		for (unsigned int b = 0; b < problem->nr_nodes; b++) {
			if (mask >> a & 1 && mask >> b & 1)
				sum += problem->distances[a * problem->nr_nodes + b];
		}
	}
	return sum / (count(mask) * count(mask));
}

/* The better of two masks that are equally preferred. */
static node_mask_t fitter(const struct align_problem *problem, node_mask_t a, node_mask_t b)
{
	if (count(a) != count(b))
		return count(a) < count(b) ? a : b;
	if (problem->prefer_closest && problem->policy != ALIGN_SINGLE_NUMA_NODE && a != b) {
		double x = average_distance(problem, a), y = average_distance(problem, b);

		if (x != y)
			return x < y ? a : b;
	}
	return a < b ? a : b;
}

struct fold {
	bool any, preferred;
	node_mask_t mask;
};

static void fold_one(const struct align_problem *problem, int best, struct fold *fold,
		     node_mask_t mask, bool preferred)
{
	node_mask_t current = fold->mask;

	if (mask == 0)
		return;
	if (!fold->any || preferred != fold->preferred) {
		if (!fold->any || preferred)
			*fold = (struct fold){true, preferred, mask};
		return;
	}
	if (preferred || count(current) > best)
		fold->mask = fitter(problem, current, mask);
	else if (count(current) == best)
		fold->mask = count(mask) == best ? fitter(problem, current, mask) : current;
	else if (count(mask) > best)
		fold->mask = current;
	else if (count(mask) == best)
		fold->mask = mask;
	else if (count(mask) != count(current))
		fold->mask = count(mask) > count(current) ? mask : current;
	else
		fold->mask = fitter(problem, current, mask);
}

static bool kept(const struct align_problem *problem, const struct hint *hint)
{
	return problem->policy != ALIGN_SINGLE_NUMA_NODE ||
	       (hint->preferred && (hint->any || count(hint->nodes) == 1));
}

static void choose(const struct align_problem *problem, int best, uint32_t list, node_mask_t mask,
		   node_mask_t same, bool preferred, struct fold *fold)
{
	if (list == problem->nr_lists) {
		fold_one(problem, best, fold, mask, preferred);
		return;
	}
	for (uint32_t i = 0; i < problem->lists[list].nr; i++) {
		const struct hint *hint = &problem->lists[list].hints[i];

		if (!kept(problem, hint))
			continue;
		if (hint->any)
			choose(problem, best, list + 1, mask, same, preferred && hint->preferred,
			       fold);
		else
			choose(problem, best, list + 1, mask & hint->nodes,
			       same ? same : hint->nodes,
			       preferred && hint->preferred && (!same || same == hint->nodes),
			       fold);
	}
}

static struct alignment by_definition(const struct align_problem *problem)
{
	node_mask_t all = problem->nr_nodes < 64 ? (1ULL << problem->nr_nodes) - 1 : ~0ULL;
	struct fold fold = {false, false, 0};
	struct alignment answer = {.exact = true};
	int best = 0;

	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		int narrowest = 0;

		for (uint32_t j = 0; j < problem->lists[i].nr; j++) {
			const struct hint *hint = &problem->lists[i].hints[j];

			if (!hint->any && kept(problem, hint) &&
			    (!narrowest || count(hint->nodes) < narrowest))
				narrowest = count(hint->nodes);
		}
		best = narrowest > best ? narrowest : best;
	}
	choose(problem, best, 0, all, 0, true, &fold);
	answer.hint =
		(struct hint){.nodes = fold.any ? fold.mask : all, .preferred = fold.preferred};
	if (problem->policy == ALIGN_SINGLE_NUMA_NODE && answer.hint.nodes == all)
		answer.hint = (struct hint){.any = true, .preferred = fold.preferred};
	answer.admitted = fold.preferred || problem->policy == ALIGN_BEST_EFFORT;
	return answer;
}

#endif
