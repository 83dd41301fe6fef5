// SPDX-License-Identifier: Apache-2.0
/*
 * The memory manager: the machine's capacity, the charges, and names.
 *
 * The files above it, from the bottom: requests (memory_request.c), offers
 * (memory_offer.c), allocation per container (memory_allocate.c), pods with a budget
 * (memory_pod.c), restart (memory_restore.c).
 */
#include "core/memory/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/memory/memory_private.h"
#include "core/quantity.h"

/* --- blocks ----------------------------------------------------------------------------------- */

static size_t blocks_size(uint32_t nr)
{
	return sizeof(struct memory_blocks) + nr * sizeof(struct memory_share);
}

struct memory_blocks *memory_blocks_new(uint32_t nr_containers)
{
	struct memory_blocks *blocks = calloc(1, blocks_size(nr_containers));

	if (blocks)
		blocks->nr = nr_containers;
	return blocks;
}

struct memory_blocks *memory_blocks_copy(const struct memory_blocks *blocks)
{
	struct memory_blocks *copy = malloc(blocks_size(blocks->nr));

	if (copy)
		memcpy(copy, blocks, blocks_size(blocks->nr));
	return copy;
}

void memory_blocks_free(struct memory_blocks *blocks)
{
	free(blocks);
}

int memory_blocks_insert(struct memory_blocks **blocks, uint32_t index)
{
	const uint32_t nr = (*blocks)->nr;
	struct memory_blocks *grown = realloc(*blocks, blocks_size(nr + 1));

	if (!grown)
		return -ENOMEM;
	memmove(&grown->containers[index + 1], &grown->containers[index],
		(nr - index) * sizeof(*grown->containers));
	grown->containers[index] = (struct memory_share){.present = false};
	grown->nr = nr + 1;
	*blocks = grown;
	return 0;
}

void memory_blocks_drop(struct memory_blocks *blocks, uint32_t index)
{
	blocks->nr--;
	memmove(&blocks->containers[index], &blocks->containers[index + 1],
		(blocks->nr - index) * sizeof(*blocks->containers));
}

node_mask_t memory_container_nodes(const struct memory_blocks *blocks, uint32_t index)
{
	const struct memory_share *share = &blocks->containers[index];

	return share->present && share->types ? share->nodes : 0;
}

/* --- capacity --------------------------------------------------------------------------------- */

uint32_t memory_find_type(const struct memory_manager *manager, uint64_t page_bytes)
{
	uint32_t type = 0;

	while (type < manager->nr_types && manager->page_bytes[type] != page_bytes)
		type++;
	return type;
}

void memory_type_name(const struct memory_manager *manager, uint32_t type, char *buffer,
		      size_t size)
{
	char pages[24];

	if (!manager->page_bytes[type]) {
		snprintf(buffer, size, "memory");
		return;
	}
	quantity_format_binary(manager->page_bytes[type], pages, sizeof(pages));
	snprintf(buffer, size, "hugepages-%s", pages);
}

/* Keep the page sizes ascending. */
static int add_type(struct memory_manager *manager, uint64_t page_bytes, char *error, size_t size)
{
	uint32_t at = manager->nr_types;

	if (memory_find_type(manager, page_bytes) < manager->nr_types)
		return 0;
	if (manager->nr_types == MEMORY_MAX_TYPES) {
		snprintf(error, size, "the machine has more than %d huge page sizes",
			 TOPOLOGY_MAX_HUGEPAGES);
		return -EINVAL;
	}
	for (; at && manager->page_bytes[at - 1] > page_bytes; at--)
		manager->page_bytes[at] = manager->page_bytes[at - 1];
	manager->page_bytes[at] = page_bytes;
	manager->nr_types++;
	return 0;
}

static int find_types(struct memory_manager *manager, char *error, size_t error_size)
{
	const struct topology *topology = manager->topology;
	int r = add_type(manager, 0, error, error_size);

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const struct topology_node *node = &topology->memory_nodes[i];

		for (uint32_t j = 0; j < node->nr_hugepages && !r; j++)
			r = add_type(manager, node->hugepages[j].size_bytes, error, error_size);
	}
	return r;
}

static uint32_t find_node(const struct topology *topology, uint32_t id)
{
	uint32_t node = 0;

	while (node < topology->nr_memory_nodes && topology->memory_nodes[node].id != id)
		node++;
	return node;
}

static int reserve(struct memory_manager *manager, const struct memory_reservation *reservation,
		   char *error, size_t error_size)
{
	uint32_t node = find_node(manager->topology, reservation->node_id);
	uint32_t type = memory_find_type(manager, reservation->size_bytes);
	bool is_there;

	if (node == memory_nr_nodes(manager)) {
		snprintf(error, error_size,
			 "the reserved memory configuration references a NUMA node %u that does "
			 "not exist on this machine",
			 reservation->node_id);
		return -EINVAL;
	}
	is_there = manager->types[node] >> type & 1;
	if (!is_there && memory_is_repaired(manager)) {
		snprintf(error, error_size,
			 "reservedMemory reserves huge pages of %llu KiB on NUMA node %u, which "
			 "has none of this size; remove the entry or set the pages up",
			 (unsigned long long)reservation->size_bytes >> 10, reservation->node_id);
		return -EINVAL;
	}
	if (type == manager->nr_types)
		return 0;
	/* If a pair of node and size occurs twice, the kubelet uses the last one. */
	if (memory_is_repaired(manager))
		manager->reserved_bytes[node][type] += reservation->bytes;
	else
		manager->reserved_bytes[node][type] = reservation->bytes;
	return 0;
}

/* Unsigned and unchecked, as in the kubelet; wrapped results are detected afterwards. */
static void fill_capacity(struct memory_manager *manager, uint32_t index)
{
	const struct topology_node *node = &manager->topology->memory_nodes[index];
	uint64_t *total = manager->total_bytes[index];
	uint64_t *allocatable = manager->allocatable_bytes[index];
	uint64_t hugepages = 0;

	manager->types[index] = 1;
	for (uint32_t i = 0; i < node->nr_hugepages; i++) {
		const struct hugepages *pages = &node->hugepages[i];
		uint32_t type = memory_find_type(manager, pages->size_bytes);

		manager->types[index] |= 1U << type;
		total[type] = pages->total_pages * pages->size_bytes;
		allocatable[type] = total[type] - manager->reserved_bytes[index][type];
		hugepages += total[type];
	}
	total[0] = node->memory_bytes;
	allocatable[0] = total[0] - manager->reserved_bytes[index][0] - hugepages;
}

static int check_capacity(struct memory_manager *manager, uint32_t index, char *error, size_t size)
{
	memory_for_each_type(type, manager->types[index])
	{
		char name[MEMORY_NAME_MAX];

		if (manager->allocatable_bytes[index][type] <= manager->total_bytes[index][type])
			continue;
		manager->wraps = true;
		if (!memory_is_repaired(manager))
			continue;
		memory_type_name(manager, type, name, sizeof(name));
		snprintf(error, size,
			 "NUMA node %u has %llu bytes of %s, less than the %llu reserved for the "
			 "system%s; lower reservedMemory for this node",
			 manager->topology->memory_nodes[index].id,
			 (unsigned long long)manager->total_bytes[index][type], name,
			 (unsigned long long)manager->reserved_bytes[index][type],
			 type ? "" : " and its huge pages together");
		return -EINVAL;
	}
	return 0;
}

void memory_set_kernel_free(struct memory_manager *manager, const struct topology_node *nodes,
			    uint32_t nr_nodes)
{
	for (uint32_t i = 0; i < nr_nodes; i++) {
		uint32_t index = find_node(manager->topology, nodes[i].id);

		for (uint32_t j = 0; j < nodes[i].nr_hugepages && index < memory_nr_nodes(manager);
		     j++) {
			const struct hugepages *pages = &nodes[i].hugepages[j];
			uint32_t type = memory_find_type(manager, pages->size_bytes);

			if (type == manager->nr_types)
				continue;
			manager->kernel_free_bytes[index][type] =
				pages->free_pages == UINT64_MAX
					? MEMORY_NOT_KNOWN
					: pages->free_pages * pages->size_bytes;
		}
	}
}

int memory_manager_init(struct memory_manager *manager, const struct topology *topology,
			const struct policy *policy, char *error, size_t error_size)
{
	int r;

	*manager = (struct memory_manager){.topology = topology, .policy = policy};
	memset(manager->kernel_free_bytes, 0xff, sizeof(manager->kernel_free_bytes));
	r = find_types(manager, error, error_size);
	/* The reservations of a node can only be checked once its types are known. */
	for (uint32_t i = 0; i < topology->nr_memory_nodes && !r; i++)
		fill_capacity(manager, i);
	for (uint32_t i = 0; i < policy->nr_memory_reservations && !r; i++)
		r = reserve(manager, &policy->memory_reservations[i], error, error_size);
	for (uint32_t i = 0; i < topology->nr_memory_nodes && !r; i++) {
		fill_capacity(manager, i);
		r = check_capacity(manager, i, error, error_size);
	}
	return r;
}

void memory_initial_state(const struct memory_manager *manager, struct memory_state *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	for (uint32_t i = 0; i < memory_nr_nodes(manager); i++) {
		ret_state->nodes[i].cells = (node_mask_t)1 << i;
		memcpy(ret_state->nodes[i].free_bytes, manager->allocatable_bytes[i],
		       sizeof(ret_state->nodes[i].free_bytes));
	}
}

bool memory_state_equal(const struct memory_manager *manager, const struct memory_state *a,
			const struct memory_state *b)
{
	for (uint32_t i = 0; i < memory_nr_nodes(manager); i++) {
		const struct memory_node *x = &a->nodes[i], *y = &b->nodes[i];

		if (x->nr_assignments != y->nr_assignments || x->cells != y->cells ||
		    memcmp(x->free_bytes, y->free_bytes, sizeof(x->free_bytes)) != 0)
			return false;
	}
	return true;
}

/* --- state ------------------------------------------------------------------------------------ */

void memory_charge(struct memory_state *state, node_mask_t nodes, uint32_t types,
		   const uint64_t *bytes)
{
	memory_for_each_type(type, types)
	{
		uint64_t rest = bytes[type];

		for (node_mask_t left = nodes; left; left &= left - 1) {
			struct memory_node *node = &state->nodes[__builtin_ctzll(left)];
			uint64_t taken = rest < node->free_bytes[type] ? rest
								       : node->free_bytes[type];

			node->nr_assignments++;
			node->cells = nodes;
			node->free_bytes[type] -= taken;
			rest -= taken;
		}
	}
}

static void give_back(const struct memory_manager *manager, struct memory_state *state,
		      uint32_t index, uint32_t type, uint64_t *rest)
{
	struct memory_node *node = &state->nodes[index];
	uint64_t reserved = manager->allocatable_bytes[index][type] - node->free_bytes[type];
	uint64_t given = *rest < reserved ? *rest : reserved;

	if (node->nr_assignments)
		node->nr_assignments--;
	if (!node->nr_assignments)
		node->cells = (node_mask_t)1 << index;
	node->free_bytes[type] += given;
	*rest -= given;
}

void memory_release(const struct memory_manager *manager, struct memory_state *state,
		    const struct memory_share *share)
{
	bool highest_first = memory_is_repaired(manager);

	memory_for_each_type(type, share->types)
	{
		uint64_t rest = share->bytes[type];
		node_mask_t left = share->nodes;

		while (left) {
			uint32_t index = highest_first ? 63 - (uint32_t)__builtin_clzll(left)
						       : (uint32_t)__builtin_ctzll(left);

			give_back(manager, state, index, type, &rest);
			left &= ~((node_mask_t)1 << index);
		}
	}
}

/* --- names ------------------------------------------------------------------------------------ */

const char *memory_result_name(enum memory_result result)
{
	static const char *const names[] = {
		[MEMORY_OK] = "ok",
		[MEMORY_NO_DEFAULT] = "no-default",
		[MEMORY_NO_DEFAULT_PREFERRED] = "no-default-preferred",
		[MEMORY_NO_EXTENSION] = "no-extension",
		[MEMORY_NO_EXTENSION_PREFERRED] = "no-extension-preferred",
		[MEMORY_GROUP] = "group",
		[MEMORY_EMPTY_POOL] = "empty-pool",
		[MEMORY_EMPTY_INIT_POOL] = "empty-init-pool",
		[MEMORY_INIT_OVER_BUDGET] = "init-over-budget",
	};

	_Static_assert(ARRAY_SIZE(names) == MEMORY_RESULT_NR, "a name for each result");
	return names[result];
}

void memory_result_text(const struct memory_manager *manager, enum memory_result result,
			const struct memory_shortage *shortage, char *buffer, size_t size)
{
	static const char *const sentences[MEMORY_RESULT_NR] = {
		[MEMORY_NO_DEFAULT] = "failed to get the default NUMA affinity, no NUMA nodes with "
				      "enough memory is available",
		[MEMORY_NO_DEFAULT_PREFERRED] = "failed to find the default preferred hint",
		[MEMORY_NO_EXTENSION] =
			"failed to find NUMA nodes to extend the current topology hint",
		[MEMORY_NO_EXTENSION_PREFERRED] = "failed to find the extended preferred hint",
		[MEMORY_GROUP] = "preferred hint violates NUMA node allocation",
	};
	char name[MEMORY_NAME_MAX];

	memory_type_name(manager, shortage->type, name, sizeof(name));
	if (sentences[result])
		snprintf(buffer, size, "[memorymanager] %s", sentences[result]);
	else if (result == MEMORY_EMPTY_POOL)
		snprintf(buffer, size,
			 "pod rejected, sum of exclusive container %s requests equals pod budget, "
			 "leaving no memory for shared containers",
			 name);
	else if (result == MEMORY_EMPTY_INIT_POOL)
		snprintf(
			buffer, size,
			"pod rejected, pod has shared init containers but no %s available for them",
			name);
	else if (result == MEMORY_INIT_OVER_BUDGET)
		snprintf(buffer, size,
			 "pod rejected, largest exclusive init container requests %llu of %s, but "
			 "only %llu available",
			 (unsigned long long)shortage->wanted_bytes, name,
			 (unsigned long long)shortage->available_bytes);
	else
		snprintf(buffer, size, "ok");
}

struct memory_figures memory_figures(const struct memory_manager *manager,
				     const struct memory_state *state, uint32_t node, uint32_t type)
{
	uint64_t free_bytes = state->nodes[node].free_bytes[type];

	return (struct memory_figures){
		.reserved_bytes = manager->reserved_bytes[node][type],
		.granted_bytes = manager->allocatable_bytes[node][type] - free_bytes,
		.free_bytes = free_bytes,
	};
}
