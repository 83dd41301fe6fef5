// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of the kubelet's resource_manager_* metrics: a container that shares its pod's CPUs or
 * memory is an allocation from the pod; from the node each type of memory counts.
 */
#include "ctl/allocations.h"

static bool is_within_one(const struct topology_level *level, const uint32_t *index_of,
			  const struct cpuset *cpus)
{
	return cpuset_is_subset(cpus, &level->cpus[index_of[cpuset_next(cpus, 0)]]);
}

static bool is_whole_cores(const struct topology *topology, const struct cpuset *cpus)
{
	struct cpuset cores;

	topology_cores_of_cpus(topology, cpus, &cores);
	return cpuset_equal(&cores, cpus);
}

/* `cpus` are CPUs of the machine. */
static void count_alignment(struct allocations *allocations, const struct topology *topology,
			    enum align_scope scope, const struct cpuset *cpus)
{
	uint64_t(*nr)[2] = allocations->nr_aligned[scope];

	if (cpuset_is_empty(cpus))
		return;
	nr[BOUNDARY_CORE][is_whole_cores(topology, cpus)]++;
	nr[BOUNDARY_UNCORE_CACHE][is_within_one(&topology->uncores, topology->uncore_of, cpus)]++;
	nr[BOUNDARY_NUMA_NODE][is_within_one(&topology->nodes, topology->node_of, cpus)]++;
	nr[BOUNDARY_SOCKET][is_within_one(&topology->sockets, topology->socket_of, cpus)]++;
}

static void count_cpus(struct allocations *allocations, const struct ledger_pod *pod,
		       const struct grant *grant)
{
	if (pod->has_bubble)
		allocations->nr[ALLOCATION_CPU][ALLOCATION_POD]++;
	else if (grant->isolation == ISOLATION_CONTAINER)
		allocations->nr[ALLOCATION_CPU][ALLOCATION_NODE]++;
}

static void count_memory(struct allocations *allocations, const struct ledger_pod *pod,
			 const struct grant *grant)
{
	const struct memory_share *share;

	if (!pod->memory)
		return;
	share = &pod->memory->containers[grant - pod->grants];
	if (!share->present)
		return;
	if (pod->memory->pod.present)
		allocations->nr[ALLOCATION_MEMORY][ALLOCATION_POD]++;
	else
		allocations->nr[ALLOCATION_MEMORY][ALLOCATION_NODE] +=
			(uint64_t)__builtin_popcount(share->types);
}

void allocations_count_container(struct allocations *allocations, const struct ledger *ledger,
				 const struct ledger_pod *pod, const struct grant *grant)
{
	count_cpus(allocations, pod, grant);
	count_memory(allocations, pod, grant);
	if (grant->isolation == ISOLATION_CONTAINER)
		count_alignment(allocations, ledger_topology(ledger), ALIGN_SCOPE_CONTAINER,
				grant->cpus);
}

void allocations_count_pod(struct allocations *allocations, const struct ledger *ledger,
			   const struct ledger_pod *pod)
{
	struct cpuset all = CPUSET_EMPTY;

	if (ledger_policy(ledger)->scope == ALIGN_SCOPE_CONTAINER) {
		for (uint32_t i = 0; i < pod->nr_grants; i++)
			allocations_count_container(allocations, ledger, pod, &pod->grants[i]);
		return;
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		count_cpus(allocations, pod, &pod->grants[i]);
		count_memory(allocations, pod, &pod->grants[i]);
		if (pod->grants[i].isolation == ISOLATION_CONTAINER)
			cpuset_union(&all, pod->grants[i].cpus);
	}
	if (pod->has_bubble)
		cpuset_union(&all, pod->bubble);
	count_alignment(allocations, ledger_topology(ledger), ALIGN_SCOPE_POD, &all);
}

/* What could not be allocated; ALLOCATION_RESOURCE_NR = nothing was to be. */
static enum allocation_resource failed_resource(const struct decision *decision)
{
	switch (decision->refusal) {
	case REFUSAL_CPUS:
	case REFUSAL_SMT:
	case REFUSAL_EMPTY_SHARED_POOL:
	case REFUSAL_LAST_SHARED_CPU:
		return ALLOCATION_CPU;
	case REFUSAL_MEMORY:
	case REFUSAL_HUGEPAGES:
		return ALLOCATION_MEMORY;
	case REFUSAL_POD_BUDGET:
		return decision->is_memory ? ALLOCATION_MEMORY : ALLOCATION_CPU;
	default:
		return ALLOCATION_RESOURCE_NR;
	}
}

void allocations_count_refusal(struct allocations *allocations, const struct ledger *ledger,
			       const struct pod_spec *spec, const struct decision *decision)
{
	const enum allocation_resource resource = failed_resource(decision);
	bool is_bubble;

	if (resource == ALLOCATION_RESOURCE_NR)
		return;
	is_bubble = spec && cpu_is_bubble_pod(ledger_cpu_manager(ledger), spec, pod_qos(spec));
	allocations->nr_errors[resource][is_bubble ? ALLOCATION_POD : ALLOCATION_NODE]++;
}

void allocations_count_resize(struct allocations *allocations, bool is_admitted)
{
	allocations->nr_resizes[is_admitted]++;
}
