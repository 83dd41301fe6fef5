// SPDX-License-Identifier: Apache-2.0
/* What still fits: the part of simulate's object that is about room, not about pods. */
#include <stdio.h>

#include "core/capacity.h"
#include "core/quantity.h"
#include "format/view_build.h"

static struct json_object *totals(struct build *build, const struct capacity *capacity)
{
	struct json_object *array = build_array(build);

	for (uint32_t i = 0; i < capacity->nr_nodes; i++) {
		const struct capacity_node *node = &capacity->nodes[i];
		struct json_object *object = build_object(build);

		build_put_int(build, object, "numa", node->id);
		build_put_int(build, object, "nr_cpus", node->nr_cpus);
		build_put_int(build, object, "nr_reserved", node->nr_reserved);
		build_put_int(build, object, "nr_shared", node->nr_shared);
		build_put_int(build, object, "nr_exclusive", node->nr_exclusive);
		build_put_int(build, object, "nr_free_cores", node->nr_free_cores);
		build_put_int(build, object, "largest_request", node->largest_request);
		build_push(build, array, object);
	}
	return array;
}

/* In kubelet-1.36 mode a figure may have wrapped around; JSON has no such numbers. */
static int64_t known(uint64_t bytes)
{
	return bytes <= INT64_MAX ? (int64_t)bytes : -1;
}

static void push_pinned(struct build *build, struct json_object *array, const struct ledger *ledger,
			uint32_t index)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];

	for (uint32_t type = 0; type < manager->nr_types; type++) {
		struct json_object *object;
		char name[MEMORY_NAME_MAX];

		if (!(manager->types[index] >> type & 1))
			continue;
		memory_type_name(manager, type, name, sizeof(name));
		object = build_object(build);
		build_put_int(build, object, "numa", manager->topology->memory_nodes[index].id);
		build_put_text(build, object, "type", name);
		build_put_known(build, object, "total_bytes",
				known(manager->total_bytes[index][type]));
		build_put_known(build, object, "reserved_bytes",
				known(manager->reserved_bytes[index][type]));
		build_put_known(
			build, object, "allocated_bytes",
			known(manager->allocatable_bytes[index][type] - node->free_bytes[type]));
		build_put_known(build, object, "free_bytes", known(node->free_bytes[type]));
		build_push(build, array, object);
	}
}

static void push_total(struct build *build, struct json_object *array,
		       const struct topology_node *node, const char *type, uint64_t bytes)
{
	struct json_object *object = build_object(build);

	build_put_int(build, object, "numa", node->id);
	build_put_text(build, object, "type", type);
	build_put_known(build, object, "total_bytes", known(bytes));
	build_put(build, object, "reserved_bytes", NULL);
	build_put(build, object, "allocated_bytes", NULL);
	build_put(build, object, "free_bytes", NULL);
	build_push(build, array, object);
}

/* Nobody keeps a book of it, so there are totals alone. */
static void push_unpinned(struct build *build, struct json_object *array,
			  const struct topology_node *node)
{
	char pages[24], type[MEMORY_NAME_MAX];

	push_total(build, array, node, "memory", node->memory_bytes);
	for (uint32_t i = 0; i < node->nr_hugepages; i++) {
		const struct hugepages *size = &node->hugepages[i];

		quantity_format_binary(size->size_bytes, pages, sizeof(pages));
		snprintf(type, sizeof(type), "hugepages-%s", pages);
		push_total(build, array, node, type, size->total_pages * size->size_bytes);
	}
}

static struct json_object *memory(struct build *build, const struct ledger *ledger)
{
	const struct topology *topology = ledger_topology(ledger);
	struct json_object *array = build_array(build);

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		if (ledger_policy(ledger)->memory == MEMORY_POLICY_STATIC)
			push_pinned(build, array, ledger, i);
		else
			push_unpinned(build, array, &topology->memory_nodes[i]);
	}
	return array;
}

void build_put_capacity(struct build *build, struct json_object *object,
			const struct ledger *ledger)
{
	struct capacity capacity;

	capacity_measure(ledger, &capacity);
	build_put_int(build, object, "largest_request", capacity.largest_request);
	build_put_int(build, object, "conceivable_request", capacity.conceivable_request);
	build_put_int(build, object, "fragmentation_percent", capacity.fragmentation_percent);
	build_put(build, object, "totals", totals(build, &capacity));
	build_put(build, object, "memory", memory(build, ledger));
}
