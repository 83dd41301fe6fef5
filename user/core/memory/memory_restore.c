// SPDX-License-Identifier: Apache-2.0
/* Restores recorded blocks after a restart, and checks reservedMemory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/memory/memory_private.h"
#include "core/quantity.h"

/* --- the kubelet's start check ---------------------------------------------------------------- */

static void charge_blocks(struct memory_state *state, const struct memory_blocks *blocks)
{
	const struct memory_share *pod = &blocks->pod;

	if (pod->present) {
		memory_charge(state, pod->nodes, pod->types, pod->bytes);
		return;
	}
	for (uint32_t i = 0; i < blocks->nr; i++) {
		const struct memory_share *share = &blocks->containers[i];

		if (share->present)
			memory_charge(state, share->nodes, share->types, share->bytes);
	}
}

static uint64_t free_of_group(const struct memory_state *state, node_mask_t group, uint32_t type)
{
	uint64_t sum = 0;

	for (; group; group &= group - 1)
		sum += state->nodes[__builtin_ctzll(group)].free_bytes[type];
	return sum;
}

int memory_check_state(const struct memory_manager *manager, const struct memory_state *state,
		       const struct memory_blocks *const *pods, uint32_t nr_pods)
{
	struct memory_state expected;

	memory_initial_state(manager, &expected);
	for (uint32_t i = 0; i < nr_pods; i++)
		charge_blocks(&expected, pods[i]);
	for (uint32_t i = 0; i < memory_nr_nodes(manager); i++) {
		const struct memory_node *is = &state->nodes[i], *should = &expected.nodes[i];

		if (is->nr_assignments != should->nr_assignments || is->cells != should->cells)
			return -EUCLEAN;
		for (uint32_t type = 0; type < manager->nr_types; type++) {
			if (free_of_group(state, is->cells, type) !=
			    free_of_group(&expected, is->cells, type))
				return -EUCLEAN;
		}
	}
	return 0;
}

/* --- repaired restart ------------------------------------------------------------------------- */

const char *memory_restored_name(enum memory_restored restored)
{
	static const char *const names[] = {
		[MEMORY_KEPT] = "kept",
		[MEMORY_EXTENDED] = "extended",
		[MEMORY_MOVED] = "moved",
		[MEMORY_DROPPED] = "dropped",
	};

	_Static_assert(ARRAY_SIZE(names) == MEMORY_RESTORED_NR, "a name for each");
	return names[restored];
}

/* The nodes of a budget; containers that have no part of it have no nodes. */
static node_mask_t budget_nodes(const struct memory_blocks *blocks)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < blocks->nr && !nodes; i++)
		nodes = blocks->containers[i].nodes;
	return nodes;
}

void memory_rebuild(const struct memory_manager *manager, struct memory_pod *pod, bool whole)
{
	struct memory_blocks *blocks = pod->blocks;

	if (whole) {
		if (budget_nodes(blocks))
			memory_divide(manager, budget_nodes(blocks), pod);
		return;
	}
	for (uint32_t i = 0; i < blocks->nr; i++) {
		struct memory_share *share = &blocks->containers[i];
		struct memory_request request;

		memory_container_request(manager, pod->spec, i, &request);
		if (!share->nodes || !request.types)
			continue;
		share->present = true;
		share->types = request.types;
		memcpy(share->bytes, request.bytes, sizeof(share->bytes));
		memory_shrink_inits(pod, i);
	}
}

/* Find nodes for a share: its own nodes, these and additional ones, or any others. 0 = none. */
static enum memory_restored find_nodes(const struct memory_offer *offer, node_mask_t nodes,
				       bool lost_nodes, node_mask_t *ret_nodes)
{
	struct hint best;

	if (!lost_nodes && memory_offer_has(offer, nodes)) {
		*ret_nodes = nodes;
		return MEMORY_KEPT;
	}
	if (nodes && memory_offer_best(offer, nodes, &best)) {
		*ret_nodes = best.nodes;
		return lost_nodes ? MEMORY_MOVED : MEMORY_EXTENDED;
	}
	if (memory_offer_best(offer, 0, &best)) {
		*ret_nodes = best.nodes;
		return MEMORY_MOVED;
	}
	return MEMORY_DROPPED;
}

static enum memory_restored restore_share(const struct memory_manager *manager,
					  struct memory_state *state, struct memory_share *share,
					  bool lost_nodes)
{
	struct memory_request request = {.types = share->types};
	struct memory_offer offer;
	enum memory_restored restored;

	if (!share->types)
		return MEMORY_KEPT;
	memcpy(request.bytes, share->bytes, sizeof(request.bytes));
	memory_offer_sizes(manager, state, &request, &offer);
	offer.is_resident = true;
	restored = find_nodes(&offer, share->nodes, lost_nodes, &share->nodes);
	if (restored == MEMORY_DROPPED)
		share->present = false;
	else
		memory_charge(state, share->nodes, share->types, share->bytes);
	return restored;
}

static enum memory_restored restore_budget(const struct memory_manager *manager,
					   struct memory_state *state, struct memory_blocks *blocks,
					   bool lost_nodes)
{
	enum memory_restored restored = restore_share(manager, state, &blocks->pod, lost_nodes);

	for (uint32_t i = 0; i < blocks->nr; i++) {
		blocks->containers[i].nodes = blocks->pod.nodes;
		blocks->containers[i].present &= blocks->pod.present;
	}
	return restored;
}

enum memory_restored memory_restore(const struct memory_manager *manager,
				    struct memory_state *state, struct memory_pod *pod,
				    bool lost_nodes)
{
	struct memory_blocks *blocks = pod->blocks;
	enum memory_restored worst = MEMORY_KEPT;

	if (blocks->pod.present)
		return restore_budget(manager, state, blocks, lost_nodes);
	for (uint32_t i = 0; i < blocks->nr; i++) {
		struct memory_share *share = &blocks->containers[i];
		enum memory_restored restored;

		if (!share->present)
			continue;
		restored = restore_share(manager, state, share, lost_nodes);
		worst = restored > worst ? restored : worst;
	}
	return worst;
}

/* --- reservedMemory --------------------------------------------------------------------------- */

static uint64_t sum_reserved(const struct memory_reservation *reservations, uint32_t nr,
			     uint64_t page_bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (reservations[i].size_bytes == page_bytes)
			sum += reservations[i].bytes;
	}
	return sum;
}

static uint64_t sum_allocatable(const struct memory_amount *amounts, uint32_t nr,
				uint64_t page_bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (amounts[i].page_bytes == page_bytes)
			sum += amounts[i].bytes;
	}
	return sum;
}

static int compare_sums(uint64_t page_bytes, uint64_t reserved, uint64_t allocatable, char *error,
			size_t error_size)
{
	char pages[24], first[24], second[24];

	if (reserved == allocatable)
		return 0;
	quantity_format_binary(page_bytes, pages, sizeof(pages));
	quantity_format_binary(reserved, first, sizeof(first));
	quantity_format_binary(allocatable, second, sizeof(second));
	snprintf(error, error_size,
		 "the total amount \"%s\" of type \"%s%s\" is not equal to the value \"%s\" "
		 "determined by Node Allocatable feature",
		 first, page_bytes ? "hugepages-" : "memory", page_bytes ? pages : "", second);
	return -EINVAL;
}

static bool has_node(const uint32_t *ids, uint32_t nr, uint32_t id)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

int memory_check_reservations(const struct memory_reservation *reservations, uint32_t nr,
			      const uint32_t *node_ids, uint32_t nr_nodes,
			      const struct memory_amount *allocatable, uint32_t nr_allocatable,
			      char *error, size_t error_size)
{
	int r = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (has_node(node_ids, nr_nodes, reservations[i].node_id))
			continue;
		snprintf(error, error_size,
			 "the reserved memory configuration references a NUMA node %u that does "
			 "not exist on this machine",
			 reservations[i].node_id);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < nr && !r; i++)
		r = compare_sums(reservations[i].size_bytes,
				 sum_reserved(reservations, nr, reservations[i].size_bytes),
				 sum_allocatable(allocatable, nr_allocatable,
						 reservations[i].size_bytes),
				 error, error_size);
	for (uint32_t i = 0; i < nr_allocatable && !r; i++)
		r = compare_sums(allocatable[i].page_bytes,
				 sum_reserved(reservations, nr, allocatable[i].page_bytes),
				 sum_allocatable(allocatable, nr_allocatable,
						 allocatable[i].page_bytes),
				 error, error_size);
	if (!r && !sum_reserved(reservations, nr, 0)) {
		snprintf(error, error_size,
			 "[memorymanager] you should specify the system reserved memory");
		r = -EINVAL;
	}
	return r;
}
