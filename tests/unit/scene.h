/* SPDX-License-Identifier: Apache-2.0 */
/* Small machines and pods for the tests of the core. Include after cmocka.h. */
#ifndef SCENE_H
#define SCENE_H

#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"

#define GIB (INT64_C(1) << 30)

/* The threads of a core have distant numbers, as on most x86 servers. */
static inline struct topology *scene_machine(uint32_t sockets, uint32_t nodes_per_socket,
					     uint32_t cores_per_node, uint32_t threads)
{
	uint32_t nr_cores = sockets * nodes_per_socket * cores_per_node;
	struct topology_cpu *cpus = calloc(nr_cores * threads, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cores * threads,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	assert_non_null(cpus);
	for (uint32_t i = 0; i < nr_cores * threads; i++) {
		uint32_t core = i % nr_cores, node = core / cores_per_node;

		cpus[i] = (struct topology_cpu){.id = i,
						.core = core,
						.node = node,
						.socket = node / nodes_per_socket,
						.uncore = node / nodes_per_socket};
	}
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	free(cpus);
	return topology;
}

static inline struct cpuset cpus_of(const char *list)
{
	struct cpuset set;

	assert_int_equal(cpuset_parse(list, strlen(list), &set), 0);
	return set;
}

/* The same for a record, which points to its sets: it lives as long as the block. */
#define set_of(list) (&((struct cpuset[1]){cpus_of(list)})[0])

static inline void assert_cpus(const struct cpuset *set, const char *list)
{
	static char text[CPUSET_TEXT_MAX];

	cpuset_format(set, text, sizeof(text));
	assert_string_equal(text, list);
}

static inline struct policy strict_policy(const char *reserved)
{
	struct policy policy = policy_default();

	policy.cpu_options.strict_reservation = true;
	policy.has_reserved_list = true;
	policy.reserved_list = cpus_of(reserved);
	return policy;
}

static inline struct ledger *scene_ledger(const struct topology *topology,
					  const struct policy *policy)
{
	struct ledger *ledger = NULL;
	char error[256] = "";

	if (policy_check(policy, topology, error, sizeof(error)))
		fail_msg("policy: %s", error);
	assert_int_equal(ledger_new(topology, policy, error, sizeof(error), &ledger), 0);
	return ledger;
}

/*
 * A copy of a record, for changes and for when the ledger has it no more. `grants` has room for its
 * grants, the caller frees its `sets`, and the spec is borrowed.
 */
static inline struct ledger_pod record_of(const struct ledger_pod *pod, struct grant *grants)
{
	struct ledger_pod copy = *pod;

	memcpy(grants, pod->grants, pod->nr_grants * sizeof(*grants));
	copy.grants = grants;
	copy.sets = NULL;
	assert_int_equal(ledger_pod_own_sets(&copy), 0);
	return copy;
}

static inline void assert_sound(const struct ledger *ledger)
{
	char error[256] = "";

	if (ledger_check(ledger, error, sizeof(error)))
		fail_msg("ledger: %s", error);
}

/* A pod without containers; name = uid, namespace "test". */
static inline struct pod_spec *scene_pod(const char *uid)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	assert_non_null(spec);
	snprintf(spec->uid, sizeof(spec->uid), "%s", uid);
	snprintf(spec->name, sizeof(spec->name), "%s", uid);
	snprintf(spec->namespace, sizeof(spec->namespace), "test");
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	spec->containers = calloc(POD_MAX_CONTAINERS, sizeof(*spec->containers));
	assert_non_null(spec->containers);
	return spec;
}

static inline struct container_spec *add_container(struct pod_spec *spec, const char *name,
						   enum container_kind kind, int64_t request_mcpu,
						   int64_t limit_mcpu)
{
	struct container_spec *container = &spec->containers[spec->nr_containers++];

	snprintf(container->name, sizeof(container->name), "%s", name);
	container->kind = kind;
	container->request = container->limit = RESOURCES_UNSET;
	container->request.cpu_mcpu = request_mcpu;
	container->limit.cpu_mcpu = limit_mcpu;
	if (limit_mcpu != RESOURCE_UNSET)
		container->request.memory_bytes = container->limit.memory_bytes = GIB;
	return container;
}

/* One Guaranteed container of `cpus` exclusive CPUs. */
static inline struct pod_spec *guaranteed_pod(const char *uid, int64_t cpus)
{
	struct pod_spec *spec = scene_pod(uid);

	add_container(spec, "main", CONTAINER_APP, cpus * 1000, cpus * 1000);
	return spec;
}

/* One container on the shared pool. */
static inline struct pod_spec *burstable_pod(const char *uid)
{
	struct pod_spec *spec = scene_pod(uid);

	add_container(spec, "main", CONTAINER_APP, 500, RESOURCE_UNSET);
	return spec;
}

static inline void set_budget(struct pod_spec *spec, int64_t cpus)
{
	spec->has_pod_resources = true;
	spec->request.cpu_mcpu = spec->limit.cpu_mcpu = cpus * 1000;
	spec->request.memory_bytes = spec->limit.memory_bytes = 16 * GIB;
}

/* Takes `spec`. */
static inline struct decision admit_and_free(struct ledger *ledger, struct pod_spec *spec)
{
	struct decision decision;

	assert_int_equal(admit_pod(ledger, spec, &decision), 0);
	pod_spec_free(spec);
	assert_sound(ledger);
	return decision;
}

#endif
