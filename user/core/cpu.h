/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU manager: the static policy of kubelet v1.36, as functions over the
 * shared pool and one pod. It has no state of its own; the ledger has it.
 *
 * With compatibility "improved" (policy.h) allocation differs from the kubelet's
 * as the takes do (take.h), and
 * - CPUs that init containers leave are taken before others that are as well
 *   aligned, and count as free for full-pcpus-only, so that none stays blocked
 *   that a later container of the pod could have had;
 * - a distributed take spreads over as many nodes as the alignment settled on;
 * - with align-by-socket the nodes of the alignment are enough when they hold the
 *   request; the kubelet always widens them to their sockets.
 *
 * A caller that needs all-or-nothing wraps the calls in a ledger transaction:
 * on failure the sets passed in may already be changed, as the kubelet's are.
 */
#ifndef CORE_CPU_H
#define CORE_CPU_H

#include "core/align.h"
#include "core/pod.h"
#include "core/policy.h"

struct ledger_pod;

/* Constant once the reserved CPUs are chosen. */
struct cpu_manager {
	const struct topology *topology;
	const struct policy *policy;
	struct cpuset usable;	      /* what pools are made of */
	struct cpuset reserved;	      /* kept for the system */
	struct cpuset reserved_cores; /* all threads of cores with a reserved CPU */
};

enum cpu_result {
	CPU_OK,
	CPU_NOT_ENOUGH,
	CPU_FAILED,		/* the take could not be completed */
	CPU_ACCOUNTING_TOO_FEW, /* only the kubelet's own defects lead here */
	CPU_ACCOUNTING_TOO_MANY,
	CPU_HANG,	      /* kubelet-1.36 mode: where the kubelet never returns */
	CPU_SMT_NOT_MULTIPLE, /* full-pcpus-only: not a whole number of cores */
	CPU_SMT_NO_FREE_CORES,
	CPU_EMPTY_POD_POOL, /* pod level: nothing left for the pod's shared containers */
	CPU_RESULT_NR
};
const char *cpu_result_name(enum cpu_result result); /* "not-enough-cpus", … */

/* The NUMA nodes settled on; `nodes` over topology->nodes, meaningful when `known`. */
struct cpu_affinity {
	bool known;
	node_mask_t nodes;
};

/*
 * CPUs that init containers of one pod leave to its later containers. One slot
 * is enough: touching a pod forgets the sets of all others.
 */
struct cpu_reuse {
	char uid[POD_UID_MAX];
	struct cpuset cpus;
};

/* What a failed call asked for and had. */
struct cpu_shortage {
	uint32_t wanted, available;
	uint32_t container; /* index in the spec; UINT32_MAX = the pod as a whole */
};

/*
 * Choose the reserved CPUs, by list or by the take rules. -EINVAL with a
 * sentence when there are not as many as asked. Borrows topology and policy.
 */
int cpu_manager_init(struct cpu_manager *manager, const struct topology *topology,
		     const struct policy *policy, char *error, size_t error_size);

/* The default set before any grant: usable CPUs, without the reserved ones when strict. */
void cpu_initial_pool(const struct cpu_manager *manager, struct cpuset *ret_cpus);

/* Exclusive CPUs container `index` is entitled to; 0 = it runs in a shared pool. */
uint32_t cpu_exclusive_count(const struct cpu_manager *manager, const struct pod_spec *spec,
			     enum qos_class qos, uint32_t index);

/* Is the pod placed as one bubble (pod-level resources, pod scope, managers on)? */
bool cpu_is_bubble_pod(const struct cpu_manager *manager, const struct pod_spec *spec,
		       enum qos_class qos);
/* CPUs of the bubble, 0 = none: the pod-level request when whole and Guaranteed. */
uint32_t cpu_bubble_count(const struct pod_spec *spec, enum qos_class qos);

/*
 * Both counts are cut beyond CPUSET_MAX: what the spec itself says where
 * `counted` is such a one, for sentences. UINT32_MAX = the pod as a whole.
 */
int64_t cpu_asked(const struct pod_spec *spec, uint32_t container, uint32_t counted);

/*
 * Do the pod's shared containers find at least one CPU of the bubble left by
 * the exclusive ones? Ordinary exclusive init containers are not looked at:
 * they run before the app containers and consume nothing for good.
 */
bool cpu_pod_pool_is_enough(const struct cpu_manager *manager, const struct pod_spec *spec,
			    enum qos_class qos);

/*
 * Allocate for one container of `pod` (idempotent by presence). `reuse` is
 * updated; affinity may be NULL. As in the kubelet, full-pcpus-only is checked
 * before presence; a pod that is already admitted must not come here (admit.c).
 */
enum cpu_result cpu_allocate(const struct cpu_manager *manager, struct cpuset *shared,
			     struct ledger_pod *pod, uint32_t index,
			     const struct cpu_affinity *affinity, struct cpu_reuse *reuse,
			     struct cpu_shortage *ret_shortage);

/*
 * Allocate the bubble of a pod and divide it: exclusive slices, then the pod
 * shared pool. On failure `shared` and `pod` keep what was done so far.
 */
enum cpu_result cpu_allocate_pod(const struct cpu_manager *manager, struct cpuset *shared,
				 struct ledger_pod *pod, const struct cpu_affinity *affinity,
				 struct cpu_shortage *ret_shortage);

/* Give back what container `index` alone holds; a bubble goes with its last container. */
void cpu_remove(struct cpuset *shared, struct ledger_pod *pod, uint32_t index);

/* What the CPU manager can offer a container or pod, before any node is chosen. */
enum cpu_opinion { CPU_NO_OPINION, CPU_IMPOSSIBLE, CPU_OFFERS };

/*
 * The hints in closed form: a mask is a hint iff cpu_offer_has() says so. Needs
 * no enumeration, so it has no limit of NUMA nodes below 64.
 */
struct cpu_offer {
	enum cpu_opinion opinion;
	uint32_t request;
	uint32_t nr_reusable;
	node_mask_t required; /* nodes of the reusable CPUs: part of every hint */
	uint32_t available[TOPOLOGY_MAX_NODES];
	uint32_t min_nodes; /* fewest nodes whose CPUs, free or not, could hold the request */
	/* align-by-socket: the sockets each node lies in, as bits, and how few would do; else 0 */
	uint64_t sockets_of[TOPOLOGY_MAX_NODES];
	uint32_t min_sockets;
	const struct cpu_manager *manager;
};

void cpu_offer_container(const struct cpu_manager *manager, const struct cpuset *shared,
			 const struct ledger_pod *pod, uint32_t index,
			 const struct cpu_reuse *reuse, struct cpu_offer *ret_offer);
void cpu_offer_pod(const struct cpu_manager *manager, const struct cpuset *shared,
		   const struct ledger_pod *pod, const struct cpu_reuse *reuse,
		   struct cpu_offer *ret_offer);
bool cpu_offer_has(const struct cpu_offer *offer, node_mask_t nodes);
bool cpu_offer_prefers(const struct cpu_offer *offer, node_mask_t nodes);

/*
 * The hints of an offer; none for CPU_NO_OPINION and CPU_IMPOSSIBLE. Up to
 * CPU_LIST_NODES nodes all of them, in the kubelet's order: by size, then
 * lexicographic; beyond, the brief list. -ENOMEM. The array is the caller's.
 */
int cpu_offer_list(const struct cpu_offer *offer, struct hint **ret_hints, uint32_t *ret_nr);

#define CPU_LIST_NODES 16

/*
 * The hints out of which one can win when nobody else has an opinion: every
 * single node, the narrowest set of the lowest nodes, whole sockets, all nodes.
 * Gives the same alignment as all hints unless prefer-closest-numa-nodes or
 * align-by-socket is on (then any set may win), at a cost that does not grow
 * with 2^nodes. Returns how many; `hints` has room for CPU_BRIEF_MAX.
 */
uint32_t cpu_offer_brief(const struct cpu_offer *offer, struct hint *hints);

#define CPU_BRIEF_MAX (2 * TOPOLOGY_MAX_NODES + 3)

/* Why the kubelet would not start from a restored state; 0 = it would. */
enum cpu_state_problem {
	CPU_STATE_FINE,
	CPU_STATE_DEFAULT_EMPTY,
	CPU_STATE_RESERVED_IN_DEFAULT,
	CPU_STATE_RESERVED_MISSING,
	CPU_STATE_OVERLAP,
	CPU_STATE_CPUS_DIFFER,
	CPU_STATE_PROBLEM_NR
};
const char *cpu_state_problem_name(enum cpu_state_problem problem);

/*
 * The kubelet's start-up checks: `assigned` are all container sets, `bubbles`
 * all pod sets (NULL with the gate off). *shared is filled when it was empty
 * and nothing is assigned.
 */
enum cpu_state_problem cpu_validate_state(const struct cpu_manager *manager, struct cpuset *shared,
					  const struct cpuset *assigned, bool has_assignments,
					  const struct cpuset *bubbles);

#endif
