/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that decide allocations, parsed and ready; field names follow
 * KubeletConfiguration. user/format/config fills it; policy_check validates it
 * against the machine.
 */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H

#include "core/topology.h"

enum compatibility { COMPATIBILITY_REPAIRED, COMPATIBILITY_KUBELET_1_36, COMPATIBILITY_NR };
enum cpu_policy { CPU_POLICY_NONE, CPU_POLICY_STATIC, CPU_POLICY_NR };
enum memory_policy { MEMORY_POLICY_NONE, MEMORY_POLICY_STATIC, MEMORY_POLICY_NR };
enum align_policy {
	ALIGN_NONE,
	ALIGN_BEST_EFFORT,
	ALIGN_RESTRICTED,
	ALIGN_SINGLE_NUMA_NODE,
	ALIGN_NR
};
enum align_scope { ALIGN_SCOPE_CONTAINER, ALIGN_SCOPE_POD, ALIGN_SCOPE_NR };

struct cpu_options {
	bool full_pcpus_only;
	bool distribute_across_numa;
	bool align_by_socket;
	bool distribute_across_cores;
	bool strict_reservation;
	bool prefer_uncore;
};

struct memory_reservation {
	uint32_t node_id;
	uint64_t size_bytes; /* page size; 0 = ordinary memory */
	uint64_t bytes;
};

#define POLICY_MAX_RESERVATIONS (TOPOLOGY_MAX_NODES * (TOPOLOGY_MAX_HUGEPAGES + 1))

struct policy {
	enum compatibility compatibility;
	enum cpu_policy cpu;
	struct cpu_options cpu_options;
	bool has_reserved_list;
	struct cpuset reserved_list;	/* reservedSystemCPUs */
	int64_t reserved_mcpu;		/* kubeReserved.cpu + systemReserved.cpu */
	bool pod_level_managers;	/* PodLevelResourceManagers; on unless told otherwise */
	enum align_policy align;
	enum align_scope scope;
	bool prefer_closest_nodes;
	uint32_t max_nodes;		/* max-allowable-numa-nodes; 0 = no limit of ours */
	enum memory_policy memory;
	uint32_t nr_memory_reservations;
	struct memory_reservation memory_reservations[POLICY_MAX_RESERVATIONS];
	/* CPUs never used for pools: isolcpus=, nohz_full=, unless listed by the user */
	struct cpuset excluded;
};

struct policy policy_default(void);

/*
 * Is this combination possible on this machine? 0, or -EINVAL with a sentence
 * that names the option, the value, the cause and the remedy (size >= 256).
 */
int policy_check(const struct policy *policy, const struct topology *topology, char *error,
		 size_t error_size);

const char *cpu_policy_name(enum cpu_policy policy);
const char *align_policy_name(enum align_policy policy);
const char *compatibility_name(enum compatibility compatibility);

#endif
