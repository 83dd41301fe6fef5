// SPDX-License-Identifier: Apache-2.0
/*
 * Measures the remaining capacity, from the sets that the managers allocate from. Linear
 * in the number of CPUs.
 */
#include "core/capacity/capacity.h"

struct measure {
	const struct ledger *ledger;
	const struct topology *topology;
	struct cpuset exclusive, grantable;
	uint32_t group; /* CPUs are granted in groups of this size */
	uint32_t most;	/* limit for any request, whatever its nodes */
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The largest request that `nr` grantable CPUs can satisfy. */
static uint32_t request_of(const struct measure *measure, uint32_t nr)
{
	nr = smaller(nr, measure->most);
	return nr - nr % measure->group;
}

static void start(const struct ledger *ledger, struct measure *measure)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	const struct policy *policy = ledger_policy(ledger);
	struct cpuset whole = *ledger_shared_pool(ledger);

	measure->ledger = ledger;
	measure->topology = ledger_topology(ledger);
	measure->group = 1;
	ledger_exclusive(ledger, &measure->exclusive);
	cpu_grantable(manager, &whole, &measure->grantable);
	measure->most = cpuset_count(&measure->grantable);
	if (policy->cpu_options.full_pcpus_only) {
		/* 0 only for counts that no machine has; cpu_allocate() then ignores them too. */
		if (measure->topology->cpus_per_core)
			measure->group = measure->topology->cpus_per_core;
		cpuset_subtract(&whole, &manager->reserved_cores);
		cpuset_subtract(&whole, &manager->withheld);
		measure->most = smaller(measure->most, cpuset_count(&whole));
	}
	/*
	 * Containers on the shared pool keep one of its CPUs. Reserved CPUs belong to it
	 * unless the reservation is strict.
	 */
	if (measure->most && measure->most == cpuset_count(ledger_shared_pool(ledger)) &&
	    !policy->may_empty_shared_pool && !compatibility_is_kubelet(policy->compatibility) &&
	    ledger_nr_host_containers(ledger))
		measure->most--;
	if (policy->cpu == CPU_POLICY_NONE)
		measure->most = 0;
}

static uint32_t count_free_cores(const struct measure *measure, const struct cpuset *node)
{
	const struct topology_level *cores = &measure->topology->cores;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < cores->nr; i++) {
		if (cpuset_intersects(&cores->cpus[i], node) &&
		    cpuset_is_subset(&cores->cpus[i], &measure->grantable))
			nr++;
	}
	return nr;
}

static void measure_cpus(const struct measure *measure, const struct cpuset *cpus,
			 struct capacity_node *node)
{
	node->nr_cpus = cpuset_count(cpus);
	node->nr_reserved = cpuset_count_common(cpus, ledger_reserved(measure->ledger));
	node->nr_exclusive = cpuset_count_common(cpus, &measure->exclusive);
	node->nr_shared = cpuset_count_common(cpus, ledger_shared_pool(measure->ledger));
	node->nr_grantable = cpuset_count_common(cpus, &measure->grantable);
	node->nr_free_cores = count_free_cores(measure, cpus);
	node->largest_request = request_of(measure, node->nr_grantable);
}

/* Gathering free CPUs cannot give more than the largest node has when nothing is granted. */
static uint32_t conceivable(const struct measure *measure)
{
	const struct topology_level *nodes = &measure->topology->nodes;
	struct cpuset pool;
	uint32_t largest = 0;

	cpu_initial_pool(ledger_cpu_manager(measure->ledger), &pool);
	cpuset_subtract(&pool, ledger_reserved(measure->ledger));
	for (uint32_t i = 0; i < nodes->nr; i++) {
		uint32_t nr = cpuset_count_common(&nodes->cpus[i], &pool);

		largest = nr > largest ? nr : largest;
	}
	return request_of(measure, smaller(largest, cpuset_count(&measure->grantable)));
}

void capacity_measure(const struct ledger *ledger, struct capacity *ret_capacity)
{
	const struct topology *topology = ledger_topology(ledger);
	struct capacity *capacity = ret_capacity;
	struct measure measure;

	*capacity = (struct capacity){.nr_nodes = topology->nr_memory_nodes};
	start(ledger, &measure);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		capacity->nodes[i].id = topology->memory_nodes[i].id;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		struct capacity_node *node = &capacity->nodes[topology->memory_index[i]];

		measure_cpus(&measure, &topology->nodes.cpus[i], node);
		if (node->largest_request > capacity->largest_request)
			capacity->largest_request = node->largest_request;
	}
	capacity->conceivable_request = conceivable(&measure);
	if (capacity->conceivable_request > capacity->largest_request)
		capacity->fragmentation_percent =
			100 * (capacity->conceivable_request - capacity->largest_request) /
			capacity->conceivable_request;
}
