// SPDX-License-Identifier: Apache-2.0
/* What was granted, and where it is: computed from the ledger for each page. */
#include "ctl/measure_grants.h"

#include <stdio.h>

#include "ctl/internal.h"
#include "format/metrics.h"

/* --- where containers are ---------------------------------------------------------------------- */

/* A set is a kilobyte, mostly of zeros: going over its CPUs is cheaper than comparing it with each node's. */
static node_mask_t nodes_of_cpus(const struct topology *topology, const struct cpuset *cpus)
{
	node_mask_t mask = 0;

	for (unsigned int cpu = cpuset_next(cpus, 0); cpu < topology->nr_cpu_ids;
	     cpu = cpuset_next(cpus, cpu + 1))
		mask |= 1ULL << topology->memory_index[topology->node_of[cpu]];
	return mask;
}

/* A container on the node's shared pool is on no node, unless it was granted memory. */
static void count_containers(const struct ledger *ledger, uint32_t nr[TOPOLOGY_MAX_NODES])
{
	const struct topology *topology = ledger_topology(ledger);

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);
		const struct cpuset *last = NULL;
		node_mask_t nodes = 0;

		for (uint32_t j = 0; j < pod->nr_grants; j++) {
			const struct grant *grant = &pod->grants[j];

			/* Equal sets of a pod are one set. */
			if (grant->cpus != last)
				nodes = nodes_of_cpus(topology, grant->cpus);
			last = grant->cpus;
			for (node_mask_t rest = nodes | grant->mems; rest; rest &= rest - 1)
				nr[__builtin_ctzll(rest)]++;
		}
	}
}

void measure_grants_pools(const struct controller *controller, const struct cpu_states *states,
			  struct exposition *page)
{
	const struct topology *topology = controller->topology;
	uint32_t nr[TOPOLOGY_MAX_NODES] = {0};

	exposition_family(page, &metric_families.pool_cpus);
	exposition_count(page, LABELS({"pool", "node"}),
			 cpuset_count(ledger_shared_pool(controller->ledger)));
	exposition_count(page, LABELS({"pool", "pod"}), cpuset_count(&states->pod_shared));
	count_containers(controller->ledger, nr);
	exposition_family(page, &metric_families.numa_containers);
	for (uint32_t node = 0; node < topology->nr_memory_nodes; node++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", topology->memory_nodes[node].id);
		exposition_count(page, LABELS({"numa_node", id}), nr[node]);
	}
}

/* --- allocations ------------------------------------------------------------------------------- */

static const char *const resources[ALLOCATION_RESOURCE_NR] = {
	[ALLOCATION_CPU] = "cpu",
	[ALLOCATION_MEMORY] = "memory",
};

static const char *const sources[ALLOCATION_SOURCE_NR] = {
	[ALLOCATION_NODE] = "node",
	[ALLOCATION_POD] = "pod",
};

static void write_sources(const struct metric_family *family,
			  const uint64_t nr[][ALLOCATION_SOURCE_NR], struct exposition *page)
{
	exposition_family(page, family);
	for (int resource = 0; resource < ALLOCATION_RESOURCE_NR; resource++)
		for (int source = 0; source < ALLOCATION_SOURCE_NR; source++)
			exposition_count(page,
					 LABELS({"resource_name", resources[resource]},
						{"source", sources[source]}),
					 nr[resource][source]);
}

static void write_alignment(const struct allocations *allocations, struct exposition *page)
{
	static const char *const boundaries[BOUNDARY_NR] = {
		[BOUNDARY_CORE] = "core",
		[BOUNDARY_UNCORE_CACHE] = "uncore_cache",
		[BOUNDARY_NUMA_NODE] = "numa_node",
		[BOUNDARY_SOCKET] = "socket",
	};
	static const char *const results[] = {"unaligned", "aligned"};

	exposition_family(page, &metric_families.aligned_allocations);
	for (int scope = 0; scope < ALIGN_SCOPE_NR; scope++)
		for (int boundary = 0; boundary < BOUNDARY_NR; boundary++)
			for (size_t result = 0; result < ARRAY_SIZE(results); result++)
				exposition_count(page,
						 LABELS({"scope", align_scope_names[scope]},
							{"boundary", boundaries[boundary]},
							{"result", results[result]}),
						 allocations->nr_aligned[scope][boundary][result]);
}

void measure_grants_allocations(const struct controller *controller, struct exposition *page)
{
	const struct allocations *allocations = &controller->admission.allocations;

	/* Elsewhere the kubelet allocates, and has series of these names. */
	if (controller->options.config->mode == MODE_ALLOCATE) {
		write_sources(&metric_families.allocations, allocations->nr, page);
		write_sources(&metric_families.allocation_errors, allocations->nr_errors, page);
	}
	write_alignment(allocations, page);
	exposition_family(page, &metric_families.resizes);
	exposition_count(page, LABELS({"result", "admitted"}), allocations->nr_resizes[1]);
	exposition_count(page, LABELS({"result", "rejected"}), allocations->nr_resizes[0]);
}
