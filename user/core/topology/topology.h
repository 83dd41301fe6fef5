/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's topology: CPUs, cores, uncore caches, NUMA nodes, sockets, memory. It is
 * built once from plain facts and constant afterwards.
 *
 * Ids are those of the kubelet: non-negative integers, possibly with gaps. The core works
 * on dense *indexes* (0..nr-1, ascending by id), so a mask of NUMA nodes is a 64-bit word
 * over node indexes. Ids are converted on input and output. Ordering by index is the same
 * as ordering by id.
 */
#ifndef CORE_TOPOLOGY_TOPOLOGY_H
#define CORE_TOPOLOGY_TOPOLOGY_H

#include "core/cpuset.h"
#include "lib/cleanup.h"

#ifndef TOPOLOGY_MAX_NODES
#define TOPOLOGY_MAX_NODES 64
#endif
#define TOPOLOGY_MAX_HUGEPAGES 8
#define TOPOLOGY_MAX_ID	       0x7fffffff
/* "no distances known" is an all-zero matrix; a real local distance is 10. */

typedef uint64_t node_mask_t; /* bit i = NUMA node index i of this topology */

struct topology_cpu {
	uint32_t id, core, socket, node, uncore; /* ids, not indexes */
};

struct hugepages {
	uint64_t size_bytes;
	uint64_t total_pages;
	uint64_t free_pages; /* currently free in the kernel; UINT64_MAX = not known */
};

struct topology_node {
	uint32_t id;
	uint64_t memory_bytes; /* total, hugepages included */
	uint32_t nr_hugepages;
	struct hugepages hugepages[TOPOLOGY_MAX_HUGEPAGES];
};

/* Bytes of this size of huge pages that are free on the node; -1 = not known. */
int64_t topology_free_hugepages(const struct topology_node *node, uint64_t page_bytes);

/* Input of topology_new; arrays are borrowed for the call. */
struct topology_facts {
	const struct topology_cpu *cpus;
	size_t nr_cpus;
	/* Optional. Nodes without CPUs appear only here. */
	const struct topology_node *nodes;
	size_t nr_nodes;
	const uint32_t *distances; /* nr_nodes * nr_nodes, row by row, or NULL */
	/*
	 * Overrides for the five counts of the kubelet, whose unit tests use counts that
	 * differ from the CPU list; TOPOLOGY_COUNTED = count from the list.
	 */
	uint32_t num_cpus, num_cores, num_sockets, num_nodes, num_uncores;
	/*
	 * Accept a core whose CPUs lie in several sockets, nodes or caches. No kernel
	 * reports such a core, but the kubelet's unit tests contain them.
	 */
	bool split_cores;
};

#define TOPOLOGY_COUNTED 0xffffffffU
/*
 * For initialisers of topology_facts: compute all five counts from the list, as for every
 * real machine.
 */
#define TOPOLOGY_COUNT_ALL                                              \
	.num_cpus = TOPOLOGY_COUNTED, .num_cores = TOPOLOGY_COUNTED,    \
	.num_sockets = TOPOLOGY_COUNTED, .num_nodes = TOPOLOGY_COUNTED, \
	.num_uncores = TOPOLOGY_COUNTED

/* One level of the topology: cores, uncore caches, NUMA nodes or sockets. */
struct topology_level {
	uint32_t nr;
	uint32_t *ids;	     /* [nr], ascending */
	struct cpuset *cpus; /* [nr] */
	uint32_t *nr_cpus;   /* [nr] = count of cpus[i] */
};

struct topology {
	struct cpuset all;
	struct topology_level cores, uncores, nodes, sockets;
	/* per CPU id, 0..max id; meaningful for members of `all` only */
	uint32_t nr_cpu_ids;
	uint32_t *core_of, *uncore_of, *node_of, *socket_of; /* indexes */
	/* The kubelet's counts and integer averages (0 if the divisor is 0). */
	uint32_t num_cpus, num_cores, num_sockets, num_nodes, num_uncores;
	uint32_t cpus_per_core, cpus_per_socket, cpus_per_uncore;
	/*
	 * All memory nodes, including those without CPUs, ascending by id. Masks of
	 * memory nodes refer to this array; index i of `nodes` above corresponds to
	 * memory_index[i].
	 */
	uint32_t nr_memory_nodes;
	struct topology_node *memory_nodes;
	uint32_t *memory_index;
	uint32_t *distances; /* nr_memory_nodes squared, by memory index; NULL = not known */
};

/*
 * Validate the facts and build a topology, which owns copies of all data. Returns
 * -ENOMEM, or -EINVAL with a message in `error` (size >= 160) if there is no CPU, if a
 * CPU or node is listed twice, if an id is out of range (CPUs and nodes must be below
 * CPUSET_MAX, others at most TOPOLOGY_MAX_ID), if there are more than 64 nodes, or if a
 * core spans several sockets, nodes or caches.
 */
int topology_new(const struct topology_facts *facts, char *error, size_t error_size,
		 struct topology **ret_topology);
void topology_free(struct topology *topology);
DEFINE_CLEANUP(struct topology, topology_freep, topology_free);
#define cleanup_topology cleanup(topology_freep)

/* All threads of the cores to which these CPUs belong. */
void topology_cores_of_cpus(const struct topology *topology, const struct cpuset *cpus,
			    struct cpuset *ret_cpus);
/*
 * The smallest number of NUMA nodes that together have nr_cpus CPUs, free or not; the
 * number of all nodes if the machine has fewer CPUs.
 */
uint32_t topology_fewest_nodes(const struct topology *topology, uint32_t nr_cpus);
/* The CPUs of all nodes in `mask` (over topology->nodes). */
void topology_cpus_of_nodes(const struct topology *topology, node_mask_t mask,
			    struct cpuset *ret_cpus);
/*
 * Convert between the two kinds of masks: CPU hints use the nodes with CPUs, alignment
 * and memory use all memory nodes. On most machines the two are the same.
 */
node_mask_t topology_to_memory_mask(const struct topology *topology, node_mask_t nodes);
node_mask_t topology_to_cpu_mask(const struct topology *topology, node_mask_t memory_mask);
/*
 * Convert a mask over memory_nodes to a set of node ids, for example for cpuset.mems
 * (cpuset_format prints it).
 */
void topology_mems_of_mask(const struct topology *topology, node_mask_t memory_mask,
			   struct cpuset *ret_ids);
/* The memory nodes of these CPUs. */
node_mask_t topology_memory_of_cpus(const struct topology *topology, const struct cpuset *cpus);
/* The other way round from topology_mems_of_mask(). Ids of nodes that have no memory, or do not exist, are left out. */
node_mask_t topology_mask_of_mems(const struct topology *topology, const struct cpuset *ids);

#endif
