// SPDX-License-Identifier: Apache-2.0
/*
 * Applies a policy to the hints: which of them count, which merge algorithm is used, and
 * whether the result is admitted.
 */
#include <errno.h>

#include "core/align/align_private.h"

/* Without a mask that satisfies all lists the hint is one of all nodes, never preferred. */
static struct hint hint_of(const struct merge *merge, node_mask_t mask, bool preferred)
{
	node_mask_t nodes = mask ? mask : merge->all;

	/* Under this policy a mask of all nodes means no affinity, whatever it was merged from. */
	if (merge->single_only && nodes == merge->all)
		return (struct hint){.any = true, .preferred = preferred};
	return (struct hint){.nodes = nodes, .preferred = preferred};
}

int align_merge(const struct align_problem *problem, struct alignment *ret_alignment)
{
	struct merge merge = {
		.problem = problem,
		.all = problem->nr_nodes < 64 ? (1ULL << problem->nr_nodes) - 1 : ~0ULL,
		.single_only = problem->policy == ALIGN_SINGLE_NUMA_NODE,
		.closest = problem->prefer_closest && problem->policy != ALIGN_SINGLE_NUMA_NODE,
	};
	struct alignment alignment = {.exact = true};
	node_mask_t mask;
	bool preferred;
	int r;

	if (problem->policy == ALIGN_NONE) {
		alignment.hint.any = true;
		alignment.admitted = true;
		*ret_alignment = alignment;
		return 0;
	}
	if (problem->nr_nodes > TOPOLOGY_MAX_NODES || (merge.closest && !problem->distances))
		return -EINVAL;
	if (problem->nr_nodes <= ALIGN_EXACT_NODES)
		r = merge_exact(&merge, &mask, &preferred);
	else
		r = merge_large(&merge, &mask, &preferred, &alignment.exact);
	if (r < 0)
		return r;
	alignment.hint = hint_of(&merge, mask, preferred);
	alignment.admitted = preferred || problem->policy == ALIGN_BEST_EFFORT;
	*ret_alignment = alignment;
	return 0;
}
