/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the memory manager and private to them. */
#ifndef CORE_MEMORY_MEMORY_PRIVATE_H
#define CORE_MEMORY_MEMORY_PRIVATE_H

#include "core/memory/memory.h"

static inline bool memory_is_repaired(const struct memory_manager *manager)
{
	return !compatibility_is_kubelet(manager->policy->compatibility);
}

static inline uint32_t memory_nr_nodes(const struct memory_manager *manager)
{
	return manager->topology->nr_memory_nodes;
}

/* The lowest `nr` bits; up to 64, where a shift by the width would be undefined. */
static inline node_mask_t memory_first_nodes(uint32_t nr)
{
	return nr >= 64 ? ~(node_mask_t)0 : ((node_mask_t)1 << nr) - 1;
}

static inline node_mask_t memory_all_nodes(const struct memory_manager *manager)
{
	return memory_first_nodes(memory_nr_nodes(manager));
}

static inline uint32_t memory_count(node_mask_t nodes)
{
	return (uint32_t)__builtin_popcountll(nodes);
}

/* --- memory.c --------------------------------------------------------------------------------- */

/* Charge to the state, which makes `nodes` one group, and release from it. */
void memory_charge(struct memory_state *state, node_mask_t nodes, uint32_t types,
		   const uint64_t *bytes);
/*
 * Give back what the share has of each type, from the highest node down, or from the lowest up
 * where the kubelet's answers are reproduced.
 */
void memory_release(const struct memory_manager *manager, struct memory_state *state,
		    const struct memory_share *share);

/* --- memory_offer.c --------------------------------------------------------------------------- */

/* May this set be used next to the sets already in use? This is the group rule. */
bool memory_offer_is_lawful(const struct memory_offer *offer, node_mask_t nodes);
/* Is enough memory free there, not counting what init containers leave? */
bool memory_offer_is_free(const struct memory_offer *offer, node_mask_t nodes);
/* The amount that earlier init containers leave on exactly these nodes. */
uint64_t memory_offer_reusable(const struct memory_offer *offer, node_mask_t nodes, uint32_t type);
/* Fill in what is short on these nodes. */
void memory_offer_shortage(const struct memory_offer *offer, node_mask_t nodes,
			   struct memory_shortage *ret_shortage);
/* Make an offer for known sizes, independent of a pod. */
void memory_offer_sizes(const struct memory_manager *manager, const struct memory_state *state,
			const struct memory_request *request, struct memory_offer *ret_offer);

/* --- memory_allocate.c ------------------------------------------------------------------------ */

/* Choose the nodes for the offer's request, given the result of alignment. */
enum memory_result memory_choose(const struct memory_offer *offer, const struct hint *hint,
				 node_mask_t *ret_nodes, struct memory_shortage *ret_shortage);
/* Memory that a later container takes over no longer belongs to the earlier init container. */
void memory_shrink_inits(struct memory_pod *pod, uint32_t index);

/* --- memory_pod.c ----------------------------------------------------------------------------- */

/* Compute the budget and its division for these nodes; nothing is charged. */
void memory_divide(const struct memory_manager *manager, node_mask_t nodes, struct memory_pod *pod);

#endif
