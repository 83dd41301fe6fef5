/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger records which pod holds which resources. It is the only mutable state that
 * decisions depend on. It changes only inside a transaction, which covers one pod and is
 * applied completely or not at all.
 */
#ifndef CORE_LEDGER_LEDGER_H
#define CORE_LEDGER_LEDGER_H

#include "core/cpu/cpu.h"
#include "core/grant/grant.h"
#include "core/memory/memory.h"
#include "core/pod/pod.h"
#include "core/policy/policy.h"

struct ledger;

/*
 * Borrows topology and policy for its lifetime. Chooses the reserved CPUs; call
 * policy_check first. Returns 0, -ENOMEM, or -EINVAL with a message in `error` (size >= 256).
 */
must_check int ledger_new(const struct topology *topology, const struct policy *policy, char *error,
			  size_t error_size, struct ledger **ret_ledger);
/* Also during a transaction, and for NULL. */
void ledger_free(struct ledger *ledger);
DEFINE_CLEANUP(struct ledger, ledger_freep, ledger_free);
#define cleanup_ledger cleanup(ledger_freep)

/* The machine, as passed to ledger_new. */
const struct topology *ledger_topology(const struct ledger *ledger);
/* The policy of the next decision: see ledger_use_policy. */
const struct policy *ledger_policy(const struct ledger *ledger);
/* The reserved CPUs, which never change during the ledger's life. Borrowed. */
const struct cpuset *ledger_reserved(const struct ledger *ledger);
/*
 * The kubelet's default set: CPUs that are not granted exclusively. Contains the reserved
 * CPUs unless the reservation is strict.
 */
const struct cpuset *ledger_shared_pool(const struct ledger *ledger);
/* All CPUs that are granted exclusively, to containers and to bubbles. */
void ledger_exclusive(const struct ledger *ledger, struct cpuset *ret_cpus);

/*
 * The current use of the CPUs, for gauges. The sets are disjoint and together contain all
 * CPUs that pools may use. They are computed from the ledger at each call and therefore
 * cannot drift from it. A CPU counts once, however many containers of its pod hold it.
 */
struct cpu_states {
	struct cpuset reserved;
	struct cpuset shared;	  /* the shared pool without reserved CPUs */
	struct cpuset exclusive;  /* held by pods, including CPUs that init containers left */
	struct cpuset pod_shared; /* in bubbles: CPUs of the pod's shared containers */
};
/* Costs a pass over all grants. */
void ledger_cpu_states(const struct ledger *ledger, struct cpu_states *ret_states);

/* All pods, including those that are ending. */
uint32_t ledger_nr_pods(const struct ledger *ledger);
/* Ascending by uid; borrowed until the next commit. */
const struct ledger_pod *ledger_pod_at(const struct ledger *ledger, uint32_t index);
/* NULL = no pod has this uid. Borrowed until the next commit. */
const struct ledger_pod *ledger_find(const struct ledger *ledger, const char *uid);
/*
 * Find a pod by name. If a pod was recreated while its predecessor is ending, this
 * returns the running one.
 */
const struct ledger_pod *ledger_find_name(const struct ledger *ledger, const char *namespace,
					  const char *name);
/* The CPUs that a container runs on: its own, or the shared pool for ISOLATION_HOST. */
const struct cpuset *ledger_effective(const struct ledger *ledger, const struct grant *grant);

/*
 * Transactions: begin, change the ledger through the functions below, then commit or
 * abort. Abort restores the previous state exactly and cannot fail. Transactions do not
 * nest (-EBUSY). Their cost grows with the number of pods touched, not with the size of
 * the ledger. A modifying function that is called outside a transaction runs in its own.
 */
must_check int ledger_begin(struct ledger *ledger);
/*
 * Make the changes since ledger_begin permanent. Cannot fail. Records that were changed have other sets
 * with the same values afterwards.
 */
void ledger_commit(struct ledger *ledger);
/* Take them back: afterwards the ledger is as it was at ledger_begin. */
void ledger_abort(struct ledger *ledger);

/*
 * Insert a pod exactly as it was granted before (from the state file or from live
 * cgroups). Copies `pod`; a set of CPUs that is NULL is empty. Memory is computed from the
 * request and the mems of each grant; the field `memory` is ignored. Returns -EEXIST, or -EINVAL with a message in `error` if
 * the pod violates an invariant.
 */
must_check int ledger_restore(struct ledger *ledger, const struct ledger_pod *pod, char *error,
			      size_t error_size);
/* Remove the pod and release everything it held. -ENOENT. */
must_check int ledger_remove(struct ledger *ledger, const char *uid);
/*
 * Change the state of a pod. `detail` says why, in words for operators; copied, cut if it is
 * too long for the record, NULL = no reason. -ENOENT, -ENOMEM.
 */
must_check int ledger_set_state(struct ledger *ledger, const char *uid, enum pod_state state,
				const char *detail);
/* The pod runs on as it was, because a changed spec was rejected. Otherwise as above. */
must_check int ledger_note_refused_change(struct ledger *ledger, const char *uid,
					  const char *detail);

/*
 * For the managers, and only inside a transaction. A new pod holds nothing and has every
 * container on the host's shared pool; NULL = no memory. ledger_edit_pod returns a copy
 * that becomes the pod's record on commit and is dropped on abort; NULL = no memory or no
 * such pod.
 */
struct ledger_pod *ledger_new_pod(struct ledger *ledger, const struct pod_spec *spec);
/* See above. Each call makes another copy; only the newest one of a pod counts. */
struct ledger_pod *ledger_edit_pod(struct ledger *ledger, const char *uid);
/* The shared pool, to be changed by the CPU manager; restored on abort. */
struct cpuset *ledger_edit_shared_pool(struct ledger *ledger);
/* The managers that belong to the policy in force; borrowed until it changes. */
const struct cpu_manager *ledger_cpu_manager(const struct ledger *ledger);
const struct memory_manager *ledger_memory_manager(const struct ledger *ledger);
const struct memory_state *ledger_memory_state(const struct ledger *ledger);
/* The memory assignments of the nodes, to be changed by the memory manager; restored on abort. */
struct memory_state *ledger_edit_memory_state(struct ledger *ledger);
/* The pod in the form that the memory manager takes. Borrows from `pod`. */
struct memory_pod ledger_memory_pod(const struct ledger_pod *pod);

/*
 * Record how many huge pages the kernel has free now (free_pages of these nodes). Call it
 * before an admission; otherwise only pages granted by the ledger count as used.
 */
void ledger_set_kernel_free(struct ledger *ledger, const struct topology_node *nodes,
			    uint32_t nr_nodes);

/*
 * Record which CPUs are offline now: they are granted to nobody, and the last online CPU of the
 * shared pool is not granted while a container runs there. Grants remain as they are. In the
 * kubelet's modes this does nothing.
 */
void ledger_set_offline(struct ledger *ledger, const struct cpuset *offline);

/*
 * Use another policy for further decisions. It is borrowed like the first one and may
 * differ only in its alignment settings, because the first policy determined the reserved
 * CPUs.
 */
void ledger_use_policy(struct ledger *ledger, const struct policy *policy);

/* The number of containers on the node's shared pool, in all pods. */
uint32_t ledger_nr_host_containers(const struct ledger *ledger);

/*
 * Check every invariant: the shared, reserved (if strict) and exclusive sets are disjoint
 * and cover the machine; no CPU has two owners; a bubble contains its slices; counts are
 * exact. Returns 0, or -EUCLEAN with the first violation in `error`. Compatibility
 * kubelet-1.36 skips the checks of owners and counts, because it reproduces kubelet
 * defects that violate them.
 */
must_check int ledger_check(const struct ledger *ledger, char *error, size_t error_size);

#endif
