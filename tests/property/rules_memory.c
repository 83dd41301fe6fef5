// SPDX-License-Identifier: Apache-2.0
/*
 * The accounts of memory: what each node has, less what requests and the nodes
 * recorded of them say is granted there, is what must be free.
 */
#include "rules_private.h"

#define MAX_TYPES (1 + TOPOLOGY_MAX_HUGEPAGES)

struct tally {
	uint32_t nr_types;
	uint64_t page_bytes[MAX_TYPES];
	uint64_t allocatable[TOPOLOGY_MAX_NODES][MAX_TYPES];
	uint32_t nr_placements;
	struct placement {
		node_mask_t nodes;
		uint64_t charged[MAX_TYPES], reusable[MAX_TYPES];
	} placements[TOPOLOGY_MAX_NODES];
};

static uint32_t tally_type(struct tally *tally, uint64_t page_bytes)
{
	for (uint32_t i = 0; i < tally->nr_types; i++) {
		if (tally->page_bytes[i] == page_bytes)
			return i;
	}
	tally->page_bytes[tally->nr_types] = page_bytes;
	return tally->nr_types++;
}

static void open_tally(const struct stage *stage, struct tally *tally)
{
	const struct hardware *hardware = stage->hardware;
	const struct policy *policy = &stage->policy;

	tally->nr_types = tally->nr_placements = 0;
	memset(tally->allocatable, 0, sizeof(tally->allocatable));
	tally_type(tally, 0);
	for (uint32_t i = 0; i < hardware->nr_nodes; i++) {
		const struct topology_node *node = &hardware->nodes[i];

		tally->allocatable[i][0] += node->memory_bytes;
		for (uint32_t j = 0; j < node->nr_hugepages; j++) {
			uint64_t bytes =
				node->hugepages[j].size_bytes * node->hugepages[j].total_pages;
			uint32_t type = tally_type(tally, node->hugepages[j].size_bytes);

			tally->allocatable[i][type] += bytes;
			tally->allocatable[i][0] -= bytes;
		}
	}
	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++) {
		const struct memory_reservation *taken = &policy->memory_reservations[i];

		for (uint32_t j = 0; j < hardware->nr_nodes; j++) {
			if (hardware->nodes[j].id == taken->node_id)
				tally->allocatable[j][tally_type(tally, taken->size_bytes)] -=
					taken->bytes;
		}
	}
}

static struct placement *tally_placement(struct stage *stage, struct tally *tally,
					 node_mask_t nodes)
{
	for (uint32_t i = 0; i < tally->nr_placements; i++) {
		if (tally->placements[i].nodes == nodes)
			return &tally->placements[i];
		if (tally->placements[i].nodes & nodes) {
			complain(stage,
				 "sums: nodes %#llx are used alone or in a group and also in %#llx",
				 (unsigned long long)tally->placements[i].nodes,
				 (unsigned long long)nodes);
			return NULL;
		}
	}
	tally->placements[tally->nr_placements] = (struct placement){.nodes = nodes};
	return &tally->placements[tally->nr_placements++];
}

/* The charge for one container or budget, minus what earlier init containers leave there. */
static void charge(struct stage *stage, struct tally *tally, node_mask_t nodes,
		   const struct resources *request, bool is_init)
{
	struct placement *placement = tally_placement(stage, tally, nodes);

	for (uint32_t i = 0; placement && i <= request->nr_hugepages; i++) {
		int64_t bytes = i ? request->hugepages[i - 1].bytes : request->memory_bytes;
		uint32_t type = tally_type(tally, i ? request->hugepages[i - 1].size_bytes : 0);
		uint64_t wanted = bytes > 0 ? (uint64_t)bytes : 0;
		uint64_t *reusable = &placement->reusable[type];

		placement->charged[type] += wanted > *reusable ? wanted - *reusable : 0;
		if (is_init)
			*reusable = wanted > *reusable ? wanted : *reusable;
		else
			*reusable = wanted > *reusable ? 0 : *reusable - wanted;
	}
}

static void charge_pod(struct stage *stage, struct tally *tally, const struct ledger_pod *pod)
{
	const struct pod_spec *spec = pod->spec;
	bool one = is_one(stage, spec);
	node_mask_t whole = 0;

	for (uint32_t i = 0; i < tally->nr_placements; i++)
		memset(tally->placements[i].reusable, 0, sizeof(tally->placements[i].reusable));
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct container_spec *container = &spec->containers[i];
		node_mask_t nodes = pod->grants[i].mems;
		bool asks = !spec->has_pod_resources || says_all(container);

		if (!is_guaranteed(spec) ||
		    (spec->has_pod_resources && !stage->policy.pod_level_managers))
			asks = one = false;
		/* Every container is on the nodes of the budget or has no part of it. */
		if (one && nodes && whole && nodes != whole)
			complain(stage, "sums: pod %s has memory on two sets of nodes", spec->uid);
		if ((asks && !nodes) || (!asks && !one && nodes))
			complain(stage, "sums: pod %s container %s: NUMA nodes %#llx", spec->uid,
				 container->name, (unsigned long long)nodes);
		whole |= nodes;
		if (asks && !one && nodes)
			charge(stage, tally, nodes, &container->request,
			       container->kind == CONTAINER_INIT);
	}
	if (one && whole)
		charge(stage, tally, whole, &spec->request, false);
}

/* The free bytes of a type on a node according to the ledger, whose types have another order. */
static uint64_t free_on_node(const struct stage *stage, uint32_t node, uint64_t page_bytes)
{
	const struct memory_manager *manager = ledger_memory_manager(stage->ledger);
	const struct memory_state *state = ledger_memory_state(stage->ledger);

	for (uint32_t type = 0; type < manager->nr_types; type++) {
		if (manager->page_bytes[type] == page_bytes)
			return state->nodes[node].free_bytes[type];
	}
	return 0;
}

static void check_free(struct stage *stage, const struct tally *tally, node_mask_t nodes,
		       const uint64_t *charged)
{
	for (uint32_t type = 0; type < tally->nr_types; type++) {
		uint64_t free = 0, allocatable = 0, page_bytes = tally->page_bytes[type];

		for (node_mask_t left = nodes; left; left &= left - 1) {
			uint32_t node = (uint32_t)__builtin_ctzll(left);

			free += free_on_node(stage, node, page_bytes);
			allocatable += tally->allocatable[node][type];
			if (free_on_node(stage, node, page_bytes) > tally->allocatable[node][type])
				complain(stage, "sums: node %u has more memory free than it has",
					 node);
		}
		if (charged && free + charged[type] != allocatable)
			complain(stage,
				 "sums: nodes %#llx have %llu bytes (pages of %llu), %llu are "
				 "granted and %llu free",
				 (unsigned long long)nodes, (unsigned long long)allocatable,
				 (unsigned long long)page_bytes, (unsigned long long)charged[type],
				 (unsigned long long)free);
	}
}

void check_memory(struct stage *stage)
{
	static const uint64_t nothing[MAX_TYPES];
	struct tally tally;
	node_mask_t unused = 0;

	if (stage->policy.memory != MEMORY_POLICY_STATIC)
		return;
	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++)
		unused |= (node_mask_t)1 << i;
	open_tally(stage, &tally);
	if (!rules_hold_memory(stage))
		return check_free(stage, &tally, unused, NULL);
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger) && !stage->error[0]; i++)
		charge_pod(stage, &tally, ledger_pod_at(stage->ledger, i));
	for (uint32_t i = 0; i < tally.nr_placements; i++) {
		unused &= ~tally.placements[i].nodes;
		check_free(stage, &tally, tally.placements[i].nodes, tally.placements[i].charged);
	}
	for (; unused; unused &= unused - 1)
		check_free(stage, &tally, unused & -unused, nothing);
}
