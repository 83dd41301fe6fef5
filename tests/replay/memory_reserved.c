// SPDX-License-Identifier: Apache-2.0
/*
 * Kind memory_reserved: what the kubelet makes of reservedMemory, or why it does
 * not start. By the kubelet's rules whatever the mode: a pair given twice is
 * summed by the check and overwritten by the conversion.
 */
#include <stdio.h>
#include <string.h>

#include "memory_case.h"

#define MAX_AMOUNTS 16

/* The readers give UINT32_MAX or false for more than there is room for. */
static uint32_t read_nodes(struct json_object *list, uint32_t *ids)
{
	uint32_t nr = 0;

	if (json_object_array_length(list) > TOPOLOGY_MAX_NODES)
		return UINT32_MAX;
	for (size_t i = 0; i < json_object_array_length(list); i++)
		ids[nr++] = (uint32_t)json_object_get_int64(json_object_array_get_idx(list, i));
	return nr;
}

static uint32_t read_amounts(struct json_object *map, struct memory_amount *amounts)
{
	uint32_t nr = 0;

	json_object_object_foreach (map, name, value) {
		if (nr == MAX_AMOUNTS)
			return UINT32_MAX;
		if (memory_case_type(name, &amounts[nr].page_bytes))
			amounts[nr++].bytes = (uint64_t)json_object_get_int64(value);
	}
	return nr;
}

static bool read_reservations(struct json_object *list, struct policy *policy)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		struct memory_amount amounts[MAX_AMOUNTS];
		uint32_t nr = read_amounts(field_of(entry, "limits"), amounts);

		if (nr == UINT32_MAX ||
		    policy->nr_memory_reservations + nr > POLICY_MAX_RESERVATIONS)
			return false;
		for (uint32_t j = 0; j < nr; j++)
			policy->memory_reservations[policy->nr_memory_reservations++] =
				(struct memory_reservation){
					.node_id = (uint32_t)field_int(entry, "numa", 0),
					.size_bytes = amounts[j].page_bytes,
					.bytes = amounts[j].bytes,
				};
	}
	return true;
}

/* A machine with just these nodes, and pages of every size that is reserved. */
static struct topology *make_machine(const uint32_t *ids, uint32_t nr, const struct policy *policy)
{
	static struct topology_node nodes[TOPOLOGY_MAX_NODES];
	struct topology_cpu cpu = {.node = ids[0]};
	struct topology_facts facts = {
		.cpus = &cpu,
		.nr_cpus = 1,
		.nodes = nodes,
		.nr_nodes = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; i < nr; i++) {
		nodes[i] = (struct topology_node){.id = ids[i]};
		for (uint32_t j = 0; j < policy->nr_memory_reservations; j++) {
			const struct memory_reservation *entry = &policy->memory_reservations[j];
			uint32_t known = 0;

			while (known < nodes[i].nr_hugepages &&
			       nodes[i].hugepages[known].size_bytes != entry->size_bytes)
				known++;
			if (!entry->size_bytes || known < nodes[i].nr_hugepages)
				continue;
			nodes[i].hugepages[nodes[i].nr_hugepages++].size_bytes = entry->size_bytes;
		}
	}
	return topology_new(&facts, error, sizeof(error), &topology) ? NULL : topology;
}

static struct json_object *reserved_of(const struct memory_manager *manager)
{
	struct json_object *map = json_object_new_object();

	for (uint32_t i = 0; i < manager->topology->nr_memory_nodes; i++) {
		struct json_object *types = json_object_new_object();
		char id[16];

		for (uint32_t type = 0; type < manager->nr_types; type++) {
			uint64_t bytes = manager->reserved_bytes[i][type];
			char name[MEMORY_NAME_MAX];

			memory_type_name(manager, type, name, sizeof(name));
			if (bytes)
				json_object_object_add(types, name,
						       json_object_new_int64((int64_t)bytes));
		}
		snprintf(id, sizeof(id), "%u", manager->topology->memory_nodes[i].id);
		json_object_object_add(map, id, types);
	}
	return map;
}

enum outcome replay_memory_reserved(struct replay *replay, struct json_object *line)
{
	struct json_object *want = field_of(line, "want"), *got;
	const char *refusal = field_text(want, "error", "");
	struct topology *topology cleanup_topology = NULL;
	struct memory_amount allocatable[MAX_AMOUNTS];
	struct policy policy = policy_default();
	struct memory_manager manager;
	uint32_t ids[TOPOLOGY_MAX_NODES], nr, nr_allocatable;
	char error[256] = "";
	bool same;

	replay->kubelet_rules = true;
	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	nr = read_nodes(field_of(line, "numa"), ids);
	nr_allocatable = read_amounts(field_of(line, "node_allocatable_reservation"), allocatable);
	if (nr == UINT32_MAX || nr_allocatable == UINT32_MAX ||
	    !read_reservations(field_of(line, "reservations"), &policy))
		return replay_fail(replay, "more nodes or types than there is room for");
	memory_check_reservations(policy.memory_reservations, policy.nr_memory_reservations, ids,
				  nr, allocatable, nr_allocatable, error, sizeof(error));
	if (error[0] || refusal[0])
		return !strcmp(error, refusal)
			       ? OUTCOME_PASSED
			       : replay_fail(replay, "want '%s', got '%s'", refusal, error);
	topology = make_machine(ids, nr, &policy);
	if (!topology || memory_manager_init(&manager, topology, &policy, error, sizeof(error)))
		return replay_fail(replay, "machine: %s", error);
	got = reserved_of(&manager);
	same = json_object_equal(field_of(want, "reserved"), got);
	if (!same)
		replay_fail(replay, "want %.1500s, got %.1500s",
			    json_object_to_json_string(field_of(want, "reserved")),
			    json_object_to_json_string(got));
	json_object_put(got);
	return same ? OUTCOME_PASSED : OUTCOME_FAILED;
}
