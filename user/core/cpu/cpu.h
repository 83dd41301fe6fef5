/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU manager: the static policy of kubelet v1.36, as functions over the shared pool
 * and one pod. It is stateless; the ledger holds the state.
 *
 * With compatibility "improved" (policy.h), allocation differs from the kubelet's in how
 * CPUs are taken (take.h) and as follows:
 * - CPUs that init containers leave are taken before other CPUs that are equally well
 *   aligned, and count as free for full-pcpus-only. Otherwise such a CPU could stay
 *   blocked although a later container of the pod could use it.
 * - A distributed take spreads over as many nodes as the alignment chose.
 * - With align-by-socket, the aligned nodes suffice if they can hold the request; the
 *   kubelet always widens them to their sockets.
 *
 * On failure the sets passed in may already be modified, as in the kubelet. A caller that
 * needs all-or-nothing semantics wraps the calls in a ledger transaction.
 */
#ifndef CORE_CPU_CPU_H
#define CORE_CPU_CPU_H

#include "core/align/align.h"
#include "core/grant/grant.h"
#include "core/pod/pod.h"
#include "core/policy/policy.h"

/* Constant after cpu_manager_init has chosen the reserved CPUs, until cpu_set_offline(). */
struct cpu_manager {
	const struct topology *topology;
	const struct policy *policy;
	struct cpuset usable;	      /* CPUs that pools may use */
	struct cpuset reserved;	      /* kept for the system */
	struct cpuset reserved_cores; /* all threads of cores that have a reserved CPU */
	/*
	 * CPUs that went offline, as last set; initially none. Repaired mode only: a kubelet
	 * grants what it saw at its start. What is withheld is not granted: the CPUs that are
	 * offline, and with full-pcpus-only all threads of their cores, because a thread that
	 * comes back must not be granted to somebody else.
	 */
	struct cpuset offline, withheld;
};

enum cpu_result {
	CPU_OK,
	CPU_NOT_ENOUGH,
	CPU_FAILED,		/* the take could not be completed */
	CPU_ACCOUNTING_TOO_FEW, /* caused only by defects of the kubelet */
	CPU_ACCOUNTING_TOO_MANY,
	CPU_HANG,	      /* kubelet-1.36 only: the kubelet would never return */
	CPU_SMT_NOT_MULTIPLE, /* full-pcpus-only: not a whole number of cores */
	CPU_SMT_NO_FREE_CORES,
	CPU_EMPTY_POD_POOL, /* pod level: no CPU left for the pod's shared containers */
	CPU_BELOW_BASELINE, /* resize: fewer than those that are kept */
	CPU_RESULT_NR
};
const char *cpu_result_name(enum cpu_result result); /* "not-enough-cpus", … */

/*
 * CPUs that the init containers of one pod leave to its later containers. One slot is
 * enough, because processing a pod discards the sets of all others.
 */
struct cpu_reuse {
	char uid[POD_UID_MAX];
	struct cpuset cpus;
};

/* What a failed call requested, and what was available. */
struct cpu_shortage {
	uint32_t wanted, available;
	uint32_t container; /* index in the spec; UINT32_MAX = the pod as a whole */
};

/*
 * Choose the reserved CPUs, from the list or by a packed take. Returns -EINVAL with a
 * message in `error` if there are fewer CPUs than requested. Borrows topology and policy.
 */
int cpu_manager_init(struct cpu_manager *manager, const struct topology *topology,
		     const struct policy *policy, char *error, size_t error_size);

/*
 * The default set before any grant: the usable CPUs, without the reserved ones if the
 * reservation is strict.
 */
void cpu_initial_pool(const struct cpu_manager *manager, struct cpuset *ret_cpus);

/* These CPUs of the machine are offline now. Whoever holds one keeps it. */
void cpu_set_offline(struct cpu_manager *manager, const struct cpuset *offline);
/* The CPUs of the shared pool that can be granted exclusively: not reserved, not withheld. */
void cpu_grantable(const struct cpu_manager *manager, const struct cpuset *shared,
		   struct cpuset *ret_cpus);

/*
 * The number of exclusive CPUs that container `index` is entitled to; 0 = it runs in a
 * shared pool.
 */
uint32_t cpu_exclusive_count(const struct cpu_manager *manager, const struct pod_spec *spec,
			     enum qos_class qos, uint32_t index);

/* Does the pod get one bubble (pod-level resources, pod scope, managers enabled)? */
bool cpu_is_bubble_pod(const struct cpu_manager *manager, const struct pod_spec *spec,
		       enum qos_class qos);
/*
 * The number of CPUs of the bubble: the pod-level request if the pod is Guaranteed and
 * the request is a whole number, otherwise 0.
 */
uint32_t cpu_bubble_count(const struct pod_spec *spec, enum qos_class qos);

/*
 * The two counts above are capped beyond CPUSET_MAX. For messages, this returns the
 * spec's own value if `counted` was capped, and `counted` otherwise. container UINT32_MAX
 * = the pod as a whole.
 */
int64_t cpu_asked(const struct pod_spec *spec, uint32_t container, uint32_t counted);

/*
 * Do the exclusive containers leave at least one CPU of the bubble to the pod's shared
 * containers? Ordinary exclusive init containers are ignored, because they end before the
 * app containers start and release their CPUs.
 */
bool cpu_pod_pool_is_enough(const struct cpu_manager *manager, const struct pod_spec *spec,
			    enum qos_class qos);
/*
 * The same for a pod that has a bubble. Containers that are not in it, because they were refused and
 * share with the node, need none of it.
 */
bool cpu_bubble_is_enough(const struct cpu_manager *manager, const struct ledger_pod *pod);

/*
 * Allocate CPUs for one container of `pod`; a container that has CPUs keeps them. Updates
 * `reuse`; affinity may be NULL. As in the kubelet, full-pcpus-only is checked before
 * that, so callers must not pass a pod that is already admitted (admit.c).
 */
enum cpu_result cpu_allocate(const struct cpu_manager *manager, struct cpuset *shared,
			     struct ledger_pod *pod, uint32_t index,
			     const struct cpu_affinity *affinity, struct cpu_reuse *reuse,
			     struct cpu_shortage *ret_shortage);

/*
 * Allocate a pod's bubble and divide it into exclusive slices and the pod's shared pool. What the
 * containers of a pod without a bubble had of their own goes back to `shared`.
 * On failure `shared` and `pod` keep the changes made so far.
 */
enum cpu_result cpu_allocate_pod(const struct cpu_manager *manager, struct cpuset *shared,
				 struct ledger_pod *pod, const struct cpu_affinity *affinity,
				 struct cpu_shortage *ret_shortage);
/*
 * The same for container `index` alone. The others of the pod stay on the host's shared pool, because they
 * were refused before, until each is decided again (cpu_join_bubble).
 */
enum cpu_result cpu_begin_bubble(const struct cpu_manager *manager, struct cpuset *shared,
				 struct ledger_pod *pod, uint32_t index,
				 const struct cpu_affinity *affinity,
				 struct cpu_shortage *ret_shortage);

/*
 * Container `index`, which holds nothing yet, becomes known after its pod got a bubble: it gets an
 * exclusive slice of what is left there, or the pod's shared CPUs. Each container that shares has one
 * that is online afterwards. `slice` NULL = it is chosen here, among what is not withheld. On failure
 * nothing is changed.
 */
enum cpu_result cpu_join_bubble(const struct cpu_manager *manager, struct ledger_pod *pod,
				uint32_t index, const struct cpuset *slice,
				struct cpu_shortage *ret_shortage);

/* Release the CPUs that only container `index` holds; the last container releases the bubble. */
void cpu_remove(struct cpuset *shared, struct ledger_pod *pod, uint32_t index);

/*
 * cpu_resize.c: another number of CPUs for a pod that runs (KEP-5554). What grows keeps all of
 * its CPUs, what shrinks stays within them and keeps its baseline. Call these after `pod->spec`
 * has the new values, for a container or bubble that had CPUs and is still entitled to some.
 * Each sets *ret_shortage as cpu_allocate does; on failure nothing is changed.
 *
 * cpu_resize is for a container that holds its CPUs itself, cpu_resize_slice for one that has a
 * slice of a bubble. Slices have to shrink before their bubble does, and to grow after it.
 */
enum cpu_result cpu_resize(const struct cpu_manager *manager, struct cpuset *shared,
			   struct ledger_pod *pod, uint32_t index,
			   const struct cpu_affinity *affinity, struct cpu_shortage *ret_shortage);
enum cpu_result cpu_resize_bubble(const struct cpu_manager *manager, struct cpuset *shared,
				  struct ledger_pod *pod, const struct cpu_affinity *affinity,
				  struct cpu_shortage *ret_shortage);
enum cpu_result cpu_resize_slice(const struct cpu_manager *manager, struct ledger_pod *pod,
				 uint32_t index, struct cpu_shortage *ret_shortage);
/*
 * The CPUs out of which container `index`, or with UINT32_MAX the pod as a whole, may grow. With
 * full-pcpus-only the other threads of reserved cores are not among them, because nobody can get the
 * whole core. A container also gets what ordinary init containers before it left to the pod.
 */
void cpu_growable(const struct cpu_manager *manager, const struct cpuset *shared,
		  const struct ledger_pod *pod, uint32_t index, struct cpuset *ret_cpus);
/* Bubble and slices have their sizes: give the rest to the pod's shared containers. */
void cpu_resize_finish(struct ledger_pod *pod);

/* What the CPU manager can offer to a container or pod before a node is chosen. */
enum cpu_opinion { CPU_NO_OPINION, CPU_IMPOSSIBLE, CPU_OFFERS };

/*
 * The hints in closed form: a mask is a hint if and only if cpu_offer_has() returns true.
 * This needs no enumeration and therefore supports up to 64 NUMA nodes.
 */
struct cpu_offer {
	enum cpu_opinion opinion;
	uint32_t request;
	uint32_t nr_reusable;
	node_mask_t required; /* nodes of the reusable CPUs; part of every hint */
	uint32_t available[TOPOLOGY_MAX_NODES];
	uint32_t min_nodes; /* smallest number of nodes that have enough CPUs, free or not */
	/*
	 * align-by-socket: bit mask of each node's sockets, and the smallest sufficient
	 * number of sockets; otherwise 0.
	 */
	uint64_t sockets_of[TOPOLOGY_MAX_NODES];
	uint32_t min_sockets;
	const struct cpu_manager *manager;
};

/*
 * The offer for one container, from the shared pool and from CPUs that earlier init containers
 * of its pod left to it (`reuse`). Borrows `manager`.
 */
void cpu_offer_container(const struct cpu_manager *manager, const struct cpuset *shared,
			 const struct ledger_pod *pod, uint32_t index,
			 const struct cpu_reuse *reuse, struct cpu_offer *ret_offer);
/* The same for a bubble, or for all exclusive containers of a pod together. */
void cpu_offer_pod(const struct cpu_manager *manager, const struct cpuset *shared,
		   const struct ledger_pod *pod, const struct cpu_reuse *reuse,
		   struct cpu_offer *ret_offer);
/* The offer for `request` CPUs that include all of `held`; the others are in `available`. */
void cpu_offer_resize(const struct cpu_manager *manager, const struct cpuset *available,
		      const struct cpuset *held, uint32_t request, struct cpu_offer *ret_offer);
/* Is this set of nodes a hint? None is unless the opinion is CPU_OFFERS. */
bool cpu_offer_has(const struct cpu_offer *offer, node_mask_t nodes);
/* Is this hint preferred, because it has offer->min_nodes nodes or is aligned by socket? */
bool cpu_offer_prefers(const struct cpu_offer *offer, node_mask_t nodes);

/*
 * List the hints of an offer; none for CPU_NO_OPINION and CPU_IMPOSSIBLE. Up to
 * CPU_LIST_NODES nodes the list contains all hints in the kubelet's order, by size and
 * then lexicographically. With more nodes it is the brief list. The caller owns the
 * array. Returns 0 or -ENOMEM.
 */
int cpu_offer_list(const struct cpu_offer *offer, struct hint **ret_hints, uint32_t *ret_nr);

#define CPU_LIST_NODES 16

/*
 * The hints that can win if no other provider has an opinion: every single node, the
 * narrowest set of the lowest nodes, whole sockets, all nodes. The result is the same
 * alignment as with all hints unless prefer-closest-numa-nodes or align-by-socket is
 * enabled (then any set may win), and the cost does not grow with 2^nodes. Returns the
 * number of hints; `hints` has room for CPU_BRIEF_MAX.
 */
uint32_t cpu_offer_brief(const struct cpu_offer *offer, struct hint *hints);

#define CPU_BRIEF_MAX (2 * TOPOLOGY_MAX_NODES + 3)

/* Why the kubelet would refuse to start from a restored state; CPU_STATE_FINE = it would start. */
enum cpu_state_problem {
	CPU_STATE_FINE,
	CPU_STATE_DEFAULT_EMPTY,
	CPU_STATE_RESERVED_IN_DEFAULT,
	CPU_STATE_RESERVED_MISSING,
	CPU_STATE_OVERLAP,
	CPU_STATE_CPUS_DIFFER,
	CPU_STATE_PROBLEM_NR
};
/* The word for vectors: "state-overlap", … */
const char *cpu_state_problem_name(enum cpu_state_problem problem);

/*
 * The kubelet's start-up checks. `assigned` is the union of all container sets, `bubbles`
 * the union of all pod sets (NULL if the feature gate is off). Fills *shared if it is
 * empty and nothing is assigned.
 */
enum cpu_state_problem cpu_validate_state(const struct cpu_manager *manager, struct cpuset *shared,
					  const struct cpuset *assigned, bool has_assignments,
					  const struct cpuset *bubbles);

#endif
