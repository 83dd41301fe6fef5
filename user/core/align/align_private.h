/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two merge algorithms: bit vectors (align_exact.c) and sorted masks
 * (align_large.c).
 */
#ifndef CORE_ALIGN_ALIGN_PRIVATE_H
#define CORE_ALIGN_ALIGN_PRIVATE_H

#include "core/align/align.h"

struct merge {
	const struct align_problem *problem;
	node_mask_t all;
	bool single_only; /* single-numa-node: only preferred hints of one node or any node count */
	bool closest;
	/*
	 * The size of each list's narrowest hint, maximised over the lists; ranks
	 * imperfect results.
	 */
	unsigned int best_count;
	const struct distance_table *distances; /* set if `closest`; align_exact.c only */
};

/*
 * Plain arithmetic, because the builtin is a function call without -mpopcnt and this runs
 * once per hint.
 */
static inline unsigned int count_nodes(node_mask_t mask)
{
	mask -= mask >> 1 & 0x5555555555555555ULL;
	mask = (mask & 0x3333333333333333ULL) + (mask >> 2 & 0x3333333333333333ULL);
	mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (unsigned int)(mask * 0x0101010101010101ULL >> 56);
}

/* Does the policy consider this hint at all? */
static inline bool is_considered(const struct merge *merge, const struct hint *hint)
{
	return !merge->single_only ||
	       (hint->preferred && (hint->any || count_nodes(hint->nodes) == 1));
}

/* Nodes of the machine that the hint allows. */
static inline node_mask_t allowed_nodes(const struct merge *merge, const struct hint *hint)
{
	return hint->any ? merge->all : hint->nodes & merge->all;
}

/* Set *ret_mask to 0 if no mask satisfies all lists. Return 0 or -ENOMEM. */
int merge_exact(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred);
/* The same for machines with more than ALIGN_EXACT_NODES nodes. */
int merge_large(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred, bool *ret_exact);

#endif
