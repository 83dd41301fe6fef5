// SPDX-License-Identifier: Apache-2.0
/*
 * A case of kind memory_seq between JSON and the core. Masks in JSON are over
 * NUMA ids, in the core over node indexes.
 */
#include "memory_case.h"

#include <stdio.h>
#include <string.h>

#include "core/quantity.h"

bool memory_case_type(const char *name, uint64_t *ret_page_bytes)
{
	int64_t bytes;

	*ret_page_bytes = 0;
	if (!strcmp(name, "memory"))
		return true;
	if (strncmp(name, "hugepages-", 10) != 0 ||
	    quantity_parse(name + 10, strlen(name + 10), &bytes))
		return false;
	*ret_page_bytes = (uint64_t)bytes;
	return true;
}

/* --- machine ---------------------------------------------------------------------------------- */

static struct topology *make_machine(struct json_object *list, struct json_object *rows,
				     char *error, size_t error_size)
{
	static struct topology_node nodes[TOPOLOGY_MAX_NODES];
	static uint32_t distances[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
	size_t nr = json_object_array_length(list);
	struct topology *topology = NULL;
	struct topology_cpu cpu = {0};
	struct topology_facts facts = {
		.cpus = &cpu,
		.nr_cpus = 1,
		.nodes = nodes,
		.nr_nodes = nr,
		.distances = rows ? distances : NULL,
		TOPOLOGY_COUNT_ALL,
	};

	if (!nr || nr > TOPOLOGY_MAX_NODES) {
		snprintf(error, error_size, "%zu nodes, expected 1 to %d", nr, TOPOLOGY_MAX_NODES);
		return NULL;
	}
	for (size_t i = 0; i < nr; i++) {
		struct json_object *row = rows ? json_object_array_get_idx(rows, i) : NULL;

		replay_node(json_object_array_get_idx(list, i), &nodes[i]);
		for (size_t j = 0; row && j < nr; j++)
			distances[i * nr + j] =
				(uint32_t)json_object_get_int(json_object_array_get_idx(row, j));
	}
	cpu.node = nodes[0].id;
	if (topology_new(&facts, error, error_size, &topology))
		return NULL;
	return topology;
}

bool memory_case_reserved(struct json_object *reserved, struct policy *policy)
{
	policy->nr_memory_reservations = 0;
	if (!reserved)
		return true;
	json_object_object_foreach (reserved, node, limits) {
		json_object_object_foreach (limits, name, bytes) {
			struct memory_reservation *entry =
				&policy->memory_reservations[policy->nr_memory_reservations];

			if (policy->nr_memory_reservations == POLICY_MAX_RESERVATIONS ||
			    !memory_case_type(name, &entry->size_bytes))
				return false;
			entry->node_id = (uint32_t)strtoul(node, NULL, 10);
			entry->bytes = (uint64_t)json_object_get_int64(bytes);
			policy->nr_memory_reservations++;
		}
	}
	return true;
}

static enum align_policy policy_of(const char *name)
{
	enum align_policy policy = ALIGN_NONE;

	while (policy + 1 < ALIGN_NR && strcmp(align_policy_name(policy), name) != 0)
		policy++;
	return policy;
}

/* --- pods ------------------------------------------------------------------------------------- */

static struct resources read_resources(struct json_object *object)
{
	struct resources resources = RESOURCES_UNSET;

	if (!object)
		return resources;
	json_object_object_foreach (object, name, value) {
		int64_t amount = json_object_get_int64(value);
		uint64_t page_bytes;

		if (!strcmp(name, "cpu"))
			resources.cpu_mcpu = amount;
		else if (!memory_case_type(name, &page_bytes))
			continue;
		else if (!page_bytes)
			resources.memory_bytes = amount;
		else if (resources.nr_hugepages < POD_MAX_HUGEPAGES) {
			resources.hugepages[resources.nr_hugepages].size_bytes = page_bytes;
			resources.hugepages[resources.nr_hugepages++].bytes = amount;
		}
	}
	return resources;
}

static size_t length_of(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

static bool read_containers(struct json_object *list, bool init, struct pod_spec *spec)
{
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *object = json_object_array_get_idx(list, i);
		struct container_spec *container = &spec->containers[spec->nr_containers++];
		struct json_object *request = field_of(object, "req");
		struct json_object *limit = field_of(object, "lim");

		if (!field_copy(field_text(object, "name", ""), container->name,
				sizeof(container->name)))
			return false;
		container->kind = CONTAINER_APP;
		if (init)
			container->kind = field_bool(object, "sidecar") ? CONTAINER_SIDECAR
									: CONTAINER_INIT;
		container->request = read_resources(request);
		container->limit = read_resources(limit ? limit : request);
	}
	return true;
}

/* NULL = no memory, or a name that does not fit. */
static struct pod_spec *read_pod(const char *name, struct json_object *object)
{
	struct pod_spec *spec cleanup_pod_spec = calloc(1, sizeof(*spec));
	struct json_object *init = field_of(object, "init");
	struct json_object *apps = field_of(object, "containers");

	if (!spec || !field_copy(name, spec->uid, sizeof(spec->uid)) ||
	    !field_copy(name, spec->name, sizeof(spec->name)))
		return NULL;
	spec->overhead = RESOURCES_UNSET;
	spec->has_pod_resources = field_of(object, "level") != NULL;
	spec->request = spec->limit = read_resources(field_of(object, "level"));
	spec->containers = calloc(length_of(init) + length_of(apps) + 1, sizeof(*spec->containers));
	if (!spec->containers || !read_containers(init, true, spec) ||
	    !read_containers(apps, false, spec))
		return NULL;
	return TAKE_PTR(spec);
}

static bool add_pod(struct memory_case *memory, const char *name, struct json_object *object)
{
	uint32_t at = memory->nr_pods;
	struct pod_spec *spec;

	if (at == MEMORY_CASE_PODS)
		return false;
	spec = read_pod(name, object);
	if (!spec)
		return false;
	for (; at && strcmp(memory->pods[at - 1].name, name) > 0; at--)
		memory->pods[at] = memory->pods[at - 1];
	memory->pods[at].name = name;
	memory->pods[at].spec = spec;
	memory->pods[at].pod = (struct memory_pod){
		.spec = spec,
		.qos = pod_qos(spec),
		.blocks = memory_blocks_new(spec->nr_containers),
	};
	memory->nr_pods++;
	return true;
}

const char *memory_case_new(struct json_object *line, bool repaired, char *error, size_t error_size,
			    struct memory_case **ret_memory)
{
	struct memory_case *memory cleanup_memory_case = calloc(1, sizeof(*memory));
	struct json_object *topology = field_of(line, "topology");

	if (!memory)
		return "no memory";
	memory->policy = policy_default();
	memory->policy.compatibility = repaired ? COMPATIBILITY_REPAIRED
						: COMPATIBILITY_KUBELET_1_36;
	memory->policy.memory = MEMORY_POLICY_STATIC;
	memory->policy.pod_level_managers = field_bool(line, "pod_level");
	memory->policy.align = policy_of(field_text(topology, "policy", "none"));
	if (!memory_case_reserved(field_of(line, "reserved"), &memory->policy))
		return "reserved: unknown types, or too many";
	memory->topology = make_machine(field_of(line, "nodes"), field_of(topology, "distances"),
					error, error_size);
	if (!memory->topology || memory_manager_init(&memory->manager, memory->topology,
						     &memory->policy, error, error_size))
		return error;
	memory_set_kernel_free(&memory->manager, memory->topology->memory_nodes,
			       memory->topology->nr_memory_nodes);
	memory_initial_state(&memory->manager, &memory->state);
	json_object_object_foreach (field_of(line, "pods"), name, pod) {
		if (!add_pod(memory, name, pod))
			return "too many pods, or one whose names are too long";
	}
	*ret_memory = TAKE_PTR(memory);
	return NULL;
}

void memory_case_free(struct memory_case *memory)
{
	if (!memory)
		return;
	for (uint32_t i = 0; i < memory->nr_pods; i++) {
		pod_spec_free(memory->pods[i].spec);
		memory_blocks_free(memory->pods[i].pod.blocks);
	}
	topology_free(memory->topology);
	free(memory);
}

struct memory_pod *memory_case_pod(struct memory_case *memory, const char *name)
{
	for (uint32_t i = 0; i < memory->nr_pods; i++) {
		if (!strcmp(memory->pods[i].name, name))
			return &memory->pods[i].pod;
	}
	return NULL;
}

uint32_t memory_case_container(const struct memory_pod *pod, const char *name)
{
	for (uint32_t i = 0; name && i < pod->spec->nr_containers; i++) {
		if (!strcmp(pod->spec->containers[i].name, name))
			return i;
	}
	return UINT32_MAX;
}

/* --- masks and hints -------------------------------------------------------------------------- */

static uint64_t ids_of(const struct topology *topology, node_mask_t nodes)
{
	uint64_t ids = 0;

	for (; nodes; nodes &= nodes - 1)
		ids |= (uint64_t)1 << (topology->memory_nodes[__builtin_ctzll(nodes)].id & 63);
	return ids;
}

static node_mask_t nodes_of(const struct topology *topology, uint64_t ids)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		nodes |= (node_mask_t)(ids >> (topology->memory_nodes[i].id & 63) & 1) << i;
	return nodes;
}

struct hint memory_case_hint(const struct topology *topology, struct json_object *hint)
{
	struct json_object *mask = hint ? json_object_array_get_idx(hint, 0) : NULL;
	struct hint result = {.any = mask == NULL};

	result.nodes = mask ? nodes_of(topology, json_object_get_uint64(mask)) : 0;
	result.preferred = hint && json_object_get_int(json_object_array_get_idx(hint, 1)) != 0;
	return result;
}

uint32_t memory_case_lists(const struct topology *topology, struct json_object *provider,
			   struct hint_list *lists, struct hint **owned)
{
	static const struct hint no_opinion = HINT_NO_OPINION, impossible = HINT_IMPOSSIBLE;
	uint32_t nr = 0;

	if (!provider || !json_object_object_length(provider)) {
		lists[0] = (struct hint_list){1, &no_opinion};
		return 1;
	}
	json_object_object_foreach (provider, resource, hints) {
		size_t length = length_of(hints);

		(void)resource;
		if (nr == MEMORY_CASE_LISTS)
			return UINT32_MAX;
		if (!length) {
			lists[nr++] = (struct hint_list){1, hints ? &impossible : &no_opinion};
			continue;
		}
		owned[nr] = calloc(length, sizeof(**owned));
		for (size_t i = 0; owned[nr] && i < length; i++)
			owned[nr][i] =
				memory_case_hint(topology, json_object_array_get_idx(hints, i));
		lists[nr] = (struct hint_list){(uint32_t)length, owned[nr]};
		nr++;
	}
	return nr;
}

static struct json_object *hint_to_json(const struct topology *topology, const struct hint *hint)
{
	struct json_object *pair = json_object_new_array();

	json_object_array_add(
		pair,
		hint->any ? NULL : json_object_new_int64((int64_t)ids_of(topology, hint->nodes)));
	json_object_array_add(pair, json_object_new_int(hint->preferred));
	return pair;
}

struct json_object *memory_case_merged(const struct topology *topology, const char *name,
				       const struct hint *hint, bool admitted)
{
	struct json_object *entry = json_object_new_array();

	json_object_array_add(entry, json_object_new_string(name));
	json_object_array_add(entry, hint_to_json(topology, hint));
	json_object_array_add(entry, json_object_new_boolean(admitted));
	return entry;
}

struct json_object *memory_case_hints(const struct memory_offer *offer, const struct hint *hints,
				      uint32_t nr)
{
	const struct topology *topology = offer->manager->topology;
	struct json_object *map;

	if (offer->opinion == MEMORY_NO_OPINION)
		return NULL;
	map = json_object_new_object();
	if (offer->opinion == MEMORY_OFFERS && !nr)
		return map;
	if (offer->opinion == MEMORY_KEEPS) {
		hints = &offer->kept;
		nr = 1;
	}
	for (uint32_t type = 0; type < offer->manager->nr_types; type++) {
		struct json_object *list;
		char name[MEMORY_NAME_MAX];

		if (!(offer->request.types >> type & 1))
			continue;
		list = json_object_new_array();
		for (uint32_t i = 0; i < nr; i++)
			json_object_array_add(list, hint_to_json(topology, &hints[i]));
		memory_type_name(offer->manager, type, name, sizeof(name));
		json_object_object_add(map, name, list);
	}
	return map;
}

/* --- answers ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	struct json_object *const *x = a, *const *y = b;

	return strcmp(json_object_get_string(json_object_array_get_idx(*x, 0)),
		      json_object_get_string(json_object_array_get_idx(*y, 0)));
}

static void add_share(const struct memory_case *memory, struct json_object *map, const char *key,
		      const struct memory_share *share)
{
	struct json_object *list;

	if (!share->present)
		return;
	list = json_object_new_array();
	for (uint32_t type = 0; type < memory->manager.nr_types; type++) {
		struct json_object *block;
		char name[MEMORY_NAME_MAX];

		if (!(share->types >> type & 1))
			continue;
		block = json_object_new_array();
		memory_type_name(&memory->manager, type, name, sizeof(name));
		json_object_array_add(block, json_object_new_string(name));
		json_object_array_add(block, json_object_new_int64((int64_t)ids_of(memory->topology,
										   share->nodes)));
		json_object_array_add(block, json_object_new_int64((int64_t)share->bytes[type]));
		json_object_array_add(list, block);
	}
	json_object_array_sort(list, compare_names);
	json_object_object_add(map, key, list);
}

struct json_object *memory_case_blocks(const struct memory_case *memory,
				       const struct memory_pod *pod)
{
	struct json_object *map = json_object_new_object();

	add_share(memory, map, "(pod)", &pod->blocks->pod);
	for (uint32_t i = 0; i < pod->blocks->nr; i++)
		add_share(memory, map, pod->spec->containers[i].name, &pod->blocks->containers[i]);
	return map;
}

struct json_object *memory_case_state(const struct memory_case *memory)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < memory->topology->nr_memory_nodes; i++) {
		const struct memory_node *node = &memory->state.nodes[i];
		struct json_object *object = json_object_new_object();
		struct json_object *free = json_object_new_object();

		for (uint32_t type = 0; type < memory->manager.nr_types; type++) {
			char name[MEMORY_NAME_MAX];

			if (!(memory->manager.types[i] >> type & 1))
				continue;
			memory_type_name(&memory->manager, type, name, sizeof(name));
			json_object_object_add(
				free, name, json_object_new_int64((int64_t)node->free_bytes[type]));
		}
		json_object_object_add(object, "n",
				       json_object_new_int64(memory->topology->memory_nodes[i].id));
		json_object_object_add(object, "a", json_object_new_int64(node->nr_assignments));
		json_object_object_add(
			object, "cells",
			json_object_new_int64((int64_t)ids_of(memory->topology, node->cells)));
		json_object_object_add(object, "free", free);
		json_object_array_add(list, object);
	}
	return list;
}

/* --- repaired restart ------------------------------------------------------------------------- */

/* A share's nodes and types, from the machine before to the one after. */
static bool carry_share(const struct memory_manager *before, const struct topology *old,
			const struct memory_manager *after, struct memory_share *share)
{
	struct memory_share carried = {.present = share->present};
	uint64_t ids = ids_of(old, share->nodes);

	carried.nodes = nodes_of(after->topology, ids);
	for (uint32_t type = 0; type < before->nr_types; type++) {
		if (!(share->types >> type & 1))
			continue;
		for (uint32_t other = 0; other < after->nr_types; other++) {
			if (after->page_bytes[other] != before->page_bytes[type])
				continue;
			carried.types |= 1U << other;
			carried.bytes[other] = share->bytes[type];
		}
	}
	*share = carried;
	return ids_of(after->topology, carried.nodes) != ids;
}

const char *memory_case_restart(struct memory_case *memory, struct json_object *step,
				struct json_object *answer)
{
	static char error[256];
	struct memory_manager before = memory->manager;
	struct topology *old = memory->topology;
	struct json_object *pods = json_object_new_object(), *blocks = json_object_new_object();

	json_object_object_add(answer, "pods", pods);
	json_object_object_add(answer, "blocks", blocks);
	if (field_of(step, "nodes")) {
		memory->topology =
			make_machine(field_of(step, "nodes"), NULL, error, sizeof(error));
		if (!memory->topology)
			memory->topology = old;
	}
	if (field_of(step, "reserved"))
		if (!memory_case_reserved(field_of(step, "reserved"), &memory->policy))
			return "reserved: unknown types, or too many";
	if (memory_manager_init(&memory->manager, memory->topology, &memory->policy, error,
				sizeof(error)))
		return error;
	memory_initial_state(&memory->manager, &memory->state);
	for (uint32_t i = 0; i < memory->nr_pods; i++) {
		struct memory_pod *pod = &memory->pods[i].pod;
		bool lost = carry_share(&before, old, &memory->manager, &pod->blocks->pod);
		bool holds = pod->blocks->pod.present;
		enum memory_restored restored;

		for (uint32_t j = 0; j < pod->blocks->nr; j++) {
			struct memory_share *share = &pod->blocks->containers[j];

			holds |= share->present;
			lost |= carry_share(&before, old, &memory->manager, share);
		}
		if (!holds)
			continue;
		restored = memory_restore(&memory->manager, &memory->state, pod, lost);
		json_object_object_add(pods, memory->pods[i].name,
				       json_object_new_string(memory_restored_name(restored)));
		json_object_object_add(blocks, memory->pods[i].name,
				       memory_case_blocks(memory, pod));
	}
	json_object_object_add(answer, "state", memory_case_state(memory));
	if (old != memory->topology)
		topology_free(old);
	return NULL;
}
