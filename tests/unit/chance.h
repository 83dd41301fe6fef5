/* SPDX-License-Identifier: Apache-2.0 */
/* Random machines, policies and pods from a seed. Include after scene.h. */
#ifndef CHANCE_H
#define CHANCE_H

#include "random.h"
#include "scene.h"

/*
 * 1 to 16 NUMA nodes with ids that may have holes, SMT 1 to 8, siblings
 * numbered adjacent or far apart, offline CPUs, an uncore cache per node or
 * per few cores.
 */
static inline struct topology *chance_machine(struct chance *chance)
{
	static const uint32_t smt[] = {1, 2, 2, 2, 4, 8};
	uint32_t threads = smt[chance_below(chance, ARRAY_SIZE(smt))];
	uint32_t nr_nodes = chance_percent(chance, 80) ? 1 + chance_below(chance, 4)
						       : 1 + chance_below(chance, 16);
	uint32_t cores_per_node = 1 + chance_below(chance, 8) + (nr_nodes * threads < 4 ? 3 : 0);
	uint32_t nr_cores = nr_nodes * cores_per_node;
	uint32_t per_socket = 1 + chance_below(chance, nr_nodes);
	uint32_t per_uncore = 1 + chance_below(chance, cores_per_node);
	uint32_t offline_percent = chance_percent(chance, 30) ? 15 : 0;
	uint32_t node_stride = 1 + chance_below(chance, 3);
	bool adjacent = chance_percent(chance, 40);
	struct topology_cpu *cpus = calloc(nr_cores * threads, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	assert_non_null(cpus);
	for (uint32_t i = 0; i < nr_cores * threads; i++) {
		uint32_t core = adjacent ? i / threads : i % nr_cores;
		uint32_t node = core / cores_per_node;

		/* CPUs 0 to 2 stay online: one to reserve, two to grant */
		if (i > 2 && chance_percent(chance, offline_percent))
			continue;
		cpus[facts.nr_cpus++] = (struct topology_cpu){
			.id = i,
			.core = core,
			.node = node * node_stride,
			.socket = node / per_socket,
			.uncore = core / per_uncore,
		};
	}
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	free(cpus);
	return topology;
}

/* A policy that policy_check() accepts; tries until it does. */
static inline struct policy chance_policy(struct chance *chance, const struct topology *topology)
{
	char error[256];

	for (;;) {
		struct policy policy = policy_default();
		struct cpu_options *options = &policy.cpu_options;

		options->full_pcpus_only = chance_percent(chance, 25);
		options->distribute_across_numa = chance_percent(chance, 25);
		options->distribute_across_cores = chance_percent(chance, 20);
		options->align_by_socket = chance_percent(chance, 20);
		options->prefer_uncore = chance_percent(chance, 25);
		options->strict_reservation = chance_percent(chance, 60);
		policy.align = chance_below(chance, ALIGN_NR);
		policy.scope = chance_below(chance, ALIGN_SCOPE_NR);
		policy.pod_level_managers = chance_percent(chance, 80);
		policy.reserved_mcpu = 1 + chance_below(chance, 2000);
		if (chance_percent(chance, 40)) {
			policy.has_reserved_list = true;
			cpuset_for_each (cpu, &topology->all) {
				if (chance_percent(chance, 10))
					cpuset_add(&policy.reserved_list, cpu);
			}
		}
		if (!policy_check(&policy, topology, error, sizeof(error)))
			return policy;
	}
}

/* Up to five containers of every kind and class, with or without a budget. */
static inline struct pod_spec *chance_pod(struct chance *chance, const char *uid,
					  uint32_t most_cpus)
{
	struct pod_spec *spec = scene_pod(uid);
	uint32_t nr_init = chance_percent(chance, 30) ? 1 + chance_below(chance, 2) : 0;
	uint32_t nr = nr_init + 1 + chance_below(chance, 3);
	bool guaranteed = chance_percent(chance, 75);
	int64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		int64_t mcpu = (1 + chance_below(chance, most_cpus)) * INT64_C(1000);
		enum container_kind kind = CONTAINER_APP;
		char name[8];

		if (i < nr_init)
			kind = chance_percent(chance, 50) ? CONTAINER_INIT : CONTAINER_SIDECAR;
		if (chance_percent(chance, 20))
			mcpu -= 500;
		snprintf(name, sizeof(name), "c%u", i);
		if (guaranteed || chance_percent(chance, 50))
			add_container(spec, name, kind, mcpu, mcpu);
		else
			add_container(spec, name, kind, mcpu, RESOURCE_UNSET);
		if (kind != CONTAINER_INIT)
			sum += mcpu;
	}
	if (chance_percent(chance, 35)) {
		set_budget(spec, (sum + 999) / 1000 + chance_below(chance, 3));
		/* sidecars without resources of their own, as the feature is meant for */
		if (chance_percent(chance, 60))
			add_container(spec, "shared", CONTAINER_APP, RESOURCE_UNSET,
				      RESOURCE_UNSET);
	}
	return spec;
}

#endif
