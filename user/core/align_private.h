/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two ways of merging: bit vectors (align.c) and sorted masks (align_large.c). */
#ifndef CORE_ALIGN_PRIVATE_H
#define CORE_ALIGN_PRIVATE_H

#include "core/align.h"

struct merge {
	const struct align_problem *problem;
	node_mask_t all;
	bool single_only; /* hints are filtered: preferred, and one node or any */
	bool closest;
	/* Size of the widest of the lists' narrowest hints; decides between imperfect results. */
	unsigned int best_count;
	const struct distance_table *distances; /* where `closest`; align.c */
};

/* In plain arithmetic: without -mpopcnt the builtin is a call, and this is counted per hint. */
static inline unsigned int count_nodes(node_mask_t mask)
{
	mask -= mask >> 1 & 0x5555555555555555ULL;
	mask = (mask & 0x3333333333333333ULL) + (mask >> 2 & 0x3333333333333333ULL);
	mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (unsigned int)(mask * 0x0101010101010101ULL >> 56);
}

/* Does the policy look at this hint at all? */
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

/* More than ALIGN_EXACT_NODES nodes. *ret_mask is 0 when nothing survives. */
int merge_large(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred, bool *ret_exact);

#endif
