/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as facts: CPUs, cores, uncore caches, NUMA nodes, sockets,
 * memory. Built once from plain facts, then constant.
 *
 * Ids are the kubelet's: arbitrary non-negative integers with holes. Inside the
 * core everything works on dense *indexes* (0..nr-1, ascending by id), so masks
 * of NUMA nodes are 64-bit words over node indexes; conversion happens at the
 * door. Ordering by index is ordering by id.
 */
#ifndef CORE_TOPOLOGY_H
#define CORE_TOPOLOGY_H

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
	uint64_t free_pages; /* what the kernel has free now; UINT64_MAX = not known */
};

struct topology_node {
	uint32_t id;
	uint64_t memory_bytes; /* total, hugepages included */
	uint32_t nr_hugepages;
	struct hugepages hugepages[TOPOLOGY_MAX_HUGEPAGES];
};

/* Input of topology_new; arrays are borrowed for the call. */
struct topology_facts {
	const struct topology_cpu *cpus;
	size_t nr_cpus;
	/* Optional: nodes without CPUs may appear here and only here. */
	const struct topology_node *nodes;
	size_t nr_nodes;
	const uint32_t *distances; /* nr_nodes * nr_nodes, row by row, or NULL */
	/*
	 * The kubelet's own five counts where they differ from what the list says
	 * (its unit tests do that); 0xffffffff = count from the list.
	 */
	uint32_t num_cpus, num_cores, num_sockets, num_nodes, num_uncores;
	/*
	 * Accept a core whose CPUs lie in several sockets, nodes or caches. No kernel
	 * reports one; tables of the kubelet's unit tests have them.
	 */
	bool split_cores;
};

#define TOPOLOGY_COUNTED 0xffffffffU
/* In an initialiser of topology_facts: all five from the list, as for every real machine. */
#define TOPOLOGY_COUNT_ALL                                              \
	.num_cpus = TOPOLOGY_COUNTED, .num_cores = TOPOLOGY_COUNTED,    \
	.num_sockets = TOPOLOGY_COUNTED, .num_nodes = TOPOLOGY_COUNTED, \
	.num_uncores = TOPOLOGY_COUNTED

/* One group level: cores, uncore caches, NUMA nodes or sockets. */
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
	/* the kubelet's counts and integer averages (0 when the divisor is 0) */
	uint32_t num_cpus, num_cores, num_sockets, num_nodes, num_uncores;
	uint32_t cpus_per_core, cpus_per_socket, cpus_per_uncore;
	/*
	 * Memory: every node, also those without CPUs, ascending by id. Masks of
	 * memory nodes are over *this* array; node index i of `nodes` above is
	 * memory_index[i] here.
	 */
	uint32_t nr_memory_nodes;
	struct topology_node *memory_nodes;
	uint32_t *memory_index;
	uint32_t *distances; /* nr_memory_nodes squared, by memory index; NULL = not known */
};

/*
 * Build and validate. -EINVAL with a sentence in `error` (size >= 160) for no CPU
 * at all, a CPU or node given twice, an id out of range (CPUs and nodes below
 * CPUSET_MAX, others up to TOPOLOGY_MAX_ID), more than 64 nodes, a core split over
 * sockets, nodes or caches; -ENOMEM. The result owns copies of everything.
 */
int topology_new(const struct topology_facts *facts, char *error, size_t error_size,
		 struct topology **ret_topology);
void topology_free(struct topology *topology);
DEFINE_CLEANUP(struct topology, topology_freep, topology_free);
#define cleanup_topology cleanup(topology_freep)

/* CPUs of all nodes in `mask` (over topology->nodes). */
void topology_cpus_of_nodes(const struct topology *topology, node_mask_t mask,
			    struct cpuset *ret_cpus);
/* Mask over memory_nodes -> set of node ids, e.g. for cpuset.mems (cpuset_format prints it). */
void topology_mems_of_mask(const struct topology *topology, node_mask_t memory_mask,
			   struct cpuset *ret_ids);

#endif
