/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that determine allocations, in parsed form. Field names follow
 * KubeletConfiguration. user/format/config fills the struct and policy_check validates it
 * against the machine.
 */
#ifndef CORE_POLICY_POLICY_H
#define CORE_POLICY_POLICY_H

#include "core/topology/topology.h"

/* How far decisions may differ from those of kubelet v1.36.3. */
enum compatibility {
	COMPATIBILITY_REPAIRED,	    /* only where the kubelet breaks its own guarantees */
	COMPATIBILITY_KUBELET_1_36, /* never, except that every call returns an answer */
	COMPATIBILITY_KUBELET_1_37, /* where kubelet v1.37 differs; it has the same defects */
	COMPATIBILITY_IMPROVED,	    /* also where its answer is valid but poor; see take.h */
	COMPATIBILITY_NR
};
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
	struct cpuset reserved_list; /* reservedSystemCPUs */
	int64_t reserved_mcpu;	     /* kubeReserved.cpu + systemReserved.cpu */
	bool pod_level_managers;     /* feature gate PodLevelResourceManagers; on by default */
	enum align_policy align;
	enum align_scope scope;
	bool prefer_closest_nodes;
	uint32_t max_nodes; /* max-allowable-numa-nodes; 0 = no additional limit */
	enum memory_policy memory;
	uint32_t nr_memory_reservations;
	struct memory_reservation memory_reservations[POLICY_MAX_RESERVATIONS];
	/* CPUs that no pool may use: isolcpus= and nohz_full=, unless the user lists them. */
	struct cpuset excluded;
	/*
	 * Let an exclusive grant take the last shared CPU although containers run there,
	 * as the kubelet does. Implied by compatibility_is_kubelet. The configuration
	 * has no such field: the tools that replay recorded kubelet answers set it
	 * together with the repaired rules, because those records contain containers on
	 * an empty pool. A live cgroup cannot have an empty pool.
	 */
	bool may_empty_shared_pool;
};

struct policy policy_default(void);

/*
 * Why a policy is rejected; the names follow the kubelet's error conditions. POLICY_FINE
 * is 0.
 */
enum policy_problem {
	POLICY_FINE,
	POLICY_OPTION_UNKNOWN,
	POLICY_OPTION_BAD_VALUE,
	POLICY_OPTION_ALPHA_DISABLED,
	POLICY_OPTION_BETA_DISABLED,
	POLICY_OPTION_CONFLICT,
	POLICY_OPTION_NEEDS_OTHER_ALIGN, /* align-by-socket with single-numa-node */
	POLICY_OPTION_TOPOLOGY,		 /* align-by-socket with sockets inside one node */
	POLICY_RESERVED_NONE,		 /* static policy without any reserved CPU */
	POLICY_RESERVED_UNKNOWN_CPU,
	POLICY_RESERVED_TOO_MANY,
	POLICY_PROBLEM_NR
};

/* The feature gates CPUManagerPolicyAlphaOptions and CPUManagerPolicyBetaOptions. */
struct policy_gates {
	bool alpha, beta;
};

/*
 * Apply one entry of cpuManagerPolicyOptions, given by its kubelet name
 * ("full-pcpus-only") and its value in a form that Go's ParseBool accepts. On a problem,
 * fill `error` (size >= 256) and leave `options` unchanged.
 */
enum policy_problem policy_set_cpu_option(struct cpu_options *options, const char *name,
					  const char *value, struct policy_gates gates, char *error,
					  size_t error_size);

/* The kubelet names of the enabled options as "a,b", in table order; "" if none is enabled. */
#define POLICY_OPTIONS_TEXT_MAX 192
void policy_options_text(const struct cpu_options *options, char buffer[POLICY_OPTIONS_TEXT_MAX]);

/*
 * Check for combinations of CPU options and alignment that are forbidden on this machine,
 * in the kubelet's order. Ignores all other fields of the policy.
 */
enum policy_problem policy_check_options(const struct policy *policy,
					 const struct topology *topology, char *error,
					 size_t error_size);

/*
 * The number of CPUs to reserve: the size of the reserved list if there is one, otherwise
 * kubeReserved plus systemReserved, rounded up.
 */
uint32_t policy_reserved_count(const struct policy *policy);

/*
 * Fill policy->excluded: the CPUs in `special` (isolcpus=, nohz_full=) that the user does
 * not list as reserved. No pool uses them.
 */
void policy_exclude(struct policy *policy, const struct cpuset *special);

/*
 * The CPUs that pools may use: all except the excluded CPUs that the user does not list
 * as reserved.
 */
void policy_usable_cpus(const struct policy *policy, const struct topology *topology,
			struct cpuset *ret_cpus);

/*
 * Validate the policy against the machine. Returns 0, or -EINVAL with a message in
 * `error` (size >= 256) that names the option, the value, the cause and the remedy.
 */
int policy_check(const struct policy *policy, const struct topology *topology, char *error,
		 size_t error_size);

/* Names used in the configuration, indexed by enum value. No entry is NULL. */
extern const char *const cpu_policy_names[CPU_POLICY_NR];
extern const char *const align_policy_names[ALIGN_NR];
extern const char *const align_scope_names[ALIGN_SCOPE_NR];
extern const char *const compatibility_names[COMPATIBILITY_NR];

/* Are the defects of some kubelet release reproduced? */
bool compatibility_is_kubelet(enum compatibility compatibility);

/* The entry of the table above; constants. */
const char *cpu_policy_name(enum cpu_policy policy);
const char *align_policy_name(enum align_policy policy);
const char *compatibility_name(enum compatibility compatibility);
const char *align_scope_name(enum align_scope scope);
const char *policy_problem_name(enum policy_problem problem); /* "option-conflict", … */

#endif
