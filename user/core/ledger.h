/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds what. The only mutable state of the decisions; it changes only
 * inside a transaction, and a transaction is one pod: all or nothing.
 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "core/cpu.h"
#include "core/memory.h"
#include "core/pod.h"
#include "core/policy.h"

/* Where a container's CPUs come from: the node shared pool, the pod's, or its own. */
enum isolation { ISOLATION_HOST, ISOLATION_POD, ISOLATION_CONTAINER, ISOLATION_NR };

enum pod_state {
	POD_RUNNING,
	POD_ENDING, /* its source dropped it, processes still live: CPUs stay held */
	POD_STATE_NR
};

struct grant {
	char container[POD_CONTAINER_NAME];
	enum container_kind kind;
	enum isolation isolation;
	/*
	 * isolation container: its exclusive CPUs. pod: the pod shared pool.
	 * host: empty, the container follows ledger_shared_pool().
	 */
	struct cpuset cpus;
	node_mask_t mems; /* over topology->memory_nodes; 0 = unrestricted */
	/* What alignment settled on when this was decided; not known after a restart. */
	struct cpu_affinity affinity;
};

struct ledger_pod {
	struct pod_spec *spec; /* owned */
	enum qos_class qos;
	enum pod_state state;
	bool has_bubble;
	struct cpuset bubble; /* pod scope: all CPUs of the pod */
	uint32_t nr_grants;   /* = spec->nr_containers, same order */
	struct grant *grants;
	struct memory_blocks *memory; /* owned; NULL = its memory is not pinned */
	/* Held although not in the shared pool: exclusive sets and init CPUs kept for reuse. */
	struct cpuset held;
	char detail[160]; /* why it is `ending`, or why a changed spec was not taken */
};

struct ledger;

/* Borrows topology and policy for its life. Reserved CPUs are chosen here (policy_check first). */
int ledger_new(const struct topology *topology, const struct policy *policy, char *error,
	       size_t error_size, struct ledger **ret_ledger);
void ledger_free(struct ledger *ledger);
DEFINE_CLEANUP(struct ledger, ledger_freep, ledger_free);
#define cleanup_ledger cleanup(ledger_freep)

const struct topology *ledger_topology(const struct ledger *ledger);
const struct policy *ledger_policy(const struct ledger *ledger);
const struct cpuset *ledger_reserved(const struct ledger *ledger);
/* The kubelet's default set: not exclusively granted; holds the reserved CPUs unless strict. */
const struct cpuset *ledger_shared_pool(const struct ledger *ledger);
/* All CPUs exclusively granted (containers and bubbles). */
void ledger_exclusive(const struct ledger *ledger, struct cpuset *ret_cpus);

/*
 * What the CPUs are used for now, for gauges: disjoint, together all that pools
 * are made of. Read off the ledger each time, so nothing can drift: a CPU counts
 * once however many containers of its pod hold it, and a node that has none left
 * counts 0.
 */
struct cpu_states {
	struct cpuset reserved;
	struct cpuset shared;	  /* the shared pool without reserved CPUs */
	struct cpuset exclusive;  /* held by pods; also what init containers left */
	struct cpuset pod_shared; /* of bubbles: what the pod's shared containers run on */
};
void ledger_cpu_states(const struct ledger *ledger, struct cpu_states *ret_states);

uint32_t ledger_nr_pods(const struct ledger *ledger);
/* Ascending by uid; borrowed until the next commit. */
const struct ledger_pod *ledger_pod_at(const struct ledger *ledger, uint32_t index);
const struct ledger_pod *ledger_find(const struct ledger *ledger, const char *uid);
/* Of two with one name (made again while the old one ends) the running one. */
const struct ledger_pod *ledger_find_name(const struct ledger *ledger, const char *namespace,
					  const char *name);
/* The grant of the pod's container of that name, NULL = it has none. */
const struct grant *ledger_find_grant(const struct ledger_pod *pod, const char *container);
/* What a container runs on: its own CPUs, or the shared pool for isolation host. */
const struct cpuset *ledger_effective(const struct ledger *ledger, const struct grant *grant);

/*
 * Transactions. begin, change through the functions below, then commit or
 * abort; abort restores every bit and cannot fail. Not nested: -EBUSY. Their
 * cost grows with the pods touched, not with the ledger. A changing function
 * called outside a transaction is one of its own.
 */
int ledger_begin(struct ledger *ledger);
void ledger_commit(struct ledger *ledger);
void ledger_abort(struct ledger *ledger);

/* Put a pod exactly as it was decided before (state file, live cgroups). -EEXIST, -EINVAL if
 * it breaks an invariant (sentence in `error`). Takes nothing; copies. Memory is
 * worked out from the request and each grant's mems; `memory` is not looked at. */
int ledger_restore(struct ledger *ledger, const struct ledger_pod *pod, char *error,
		   size_t error_size);
/* Remove the pod and give back what it held. -ENOENT. */
int ledger_remove(struct ledger *ledger, const char *uid);
int ledger_set_state(struct ledger *ledger, const char *uid, enum pod_state state,
		     const char *detail);

/*
 * For the managers, inside a transaction only. A new pod has every container on
 * the host pool and holds nothing; NULL = no memory. An edited pod is a copy of
 * what it was, replaced on abort; NULL = no memory or no such pod.
 */
struct ledger_pod *ledger_new_pod(struct ledger *ledger, const struct pod_spec *spec);
struct ledger_pod *ledger_edit_pod(struct ledger *ledger, const char *uid);
struct cpuset *ledger_edit_shared_pool(struct ledger *ledger);
const struct cpu_manager *ledger_cpu_manager(const struct ledger *ledger);
const struct memory_manager *ledger_memory_manager(const struct ledger *ledger);
const struct memory_state *ledger_memory_state(const struct ledger *ledger);
struct memory_state *ledger_edit_memory_state(struct ledger *ledger);
/* A pod as the memory manager takes it; borrows. */
struct memory_pod ledger_memory_pod(const struct ledger_pod *pod);

/*
 * What the kernel has free of huge pages just now (free_pages of these nodes): to
 * be told before admissions, else only what was granted counts.
 */
void ledger_set_kernel_free(struct ledger *ledger, const struct topology_node *nodes,
			    uint32_t nr_nodes);

/*
 * Decide under another policy from now on; borrowed like the first. It may
 * differ in alignment only: the reserved CPUs were chosen by the first.
 */
void ledger_use_policy(struct ledger *ledger, const struct policy *policy);

/* Containers on the node shared pool, in all pods. */
uint32_t ledger_nr_host_containers(const struct ledger *ledger);

/*
 * Every invariant, in one place: shared, reserved (when strict) and exclusive
 * sets are disjoint and cover the machine; no CPU has two owners; a bubble
 * holds its slices; counts are exact. 0, or -EUCLEAN with the first violation.
 * With compatibility kubelet-1.36 owners and counts are not looked at: the
 * kubelet's defects, kept there on purpose, break them.
 */
int ledger_check(const struct ledger *ledger, char *error, size_t error_size);
/* The part of it that concerns one pod alone, in the ledger or not yet. */
int ledger_check_pod(const struct cpu_manager *manager, const struct ledger_pod *pod, char *error,
		     size_t error_size);

const char *isolation_name(enum isolation isolation); /* "host", "pod", "container" */
const char *pod_state_name(enum pod_state state);

#endif
