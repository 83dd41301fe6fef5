/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the memory manager have in common; nobody else includes it. */
#ifndef CORE_MEMORY_PRIVATE_H
#define CORE_MEMORY_PRIVATE_H

#include "core/memory.h"

/* Walk the types of a request or a share, ascending. */
#define memory_for_each_type(type, mask)        \
	for (uint32_t rest_ = (mask), type = 0; \
	     rest_ && (type = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)

static inline bool memory_is_repaired(const struct memory_manager *manager)
{
	return manager->policy->compatibility != COMPATIBILITY_KUBELET_1_36;
}

static inline uint32_t memory_nr_nodes(const struct memory_manager *manager)
{
	return manager->topology->nr_memory_nodes;
}

static inline node_mask_t memory_all_nodes(const struct memory_manager *manager)
{
	uint32_t nr = memory_nr_nodes(manager);

	return nr >= 64 ? ~(node_mask_t)0 : ((node_mask_t)1 << nr) - 1;
}

static inline uint32_t memory_count(node_mask_t nodes)
{
	return (uint32_t)__builtin_popcountll(nodes);
}

/* May this set be used beside what is in use: the rule of single nodes and groups. */
bool memory_offer_is_lawful(const struct memory_offer *offer, node_mask_t nodes);
/* Is it free there, without what init containers leave? */
bool memory_offer_is_free(const struct memory_offer *offer, node_mask_t nodes);
/* What earlier init containers leave on exactly these nodes. */
uint64_t memory_offer_reusable(const struct memory_offer *offer, node_mask_t nodes, uint32_t type);
/* What is short on these nodes. */
void memory_offer_shortage(const struct memory_offer *offer, node_mask_t nodes,
			   struct memory_shortage *ret_shortage);
/* An offer for sizes that are known, free of any pod. */
void memory_offer_sizes(const struct memory_manager *manager, const struct memory_state *state,
			const struct memory_request *request, struct memory_offer *ret_offer);

/* The nodes for what `offer` asks, given what alignment settled on. */
enum memory_result memory_choose(const struct memory_offer *offer, const struct hint *hint,
				 node_mask_t *ret_nodes, struct memory_shortage *ret_shortage);

/* What later containers take over is not an earlier init container's any more. */
void memory_shrink_inits(struct memory_pod *pod, uint32_t index);
/* The budget and its division on these nodes, on paper. */
void memory_divide(const struct memory_manager *manager, node_mask_t nodes, struct memory_pod *pod);

/* Take from and give back to the state; `nodes` become one group. */
void memory_charge(const struct memory_manager *manager, struct memory_state *state,
		   node_mask_t nodes, uint32_t types, const uint64_t *bytes);
void memory_release(const struct memory_manager *manager, struct memory_state *state,
		    const struct memory_share *share);

#endif
