/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources that one pod holds: a grant per container, and the CPUs and memory of the
 * pod as a whole. The managers fill it in and the ledger stores it.
 */
#ifndef CORE_GRANT_GRANT_H
#define CORE_GRANT_GRANT_H

#include "core/pod/pod.h"
#include "core/topology/topology.h"

struct memory_blocks;

/*
 * Where a container's CPUs come from: the node's shared pool, the pod's shared pool, or
 * an exclusive set.
 */
enum isolation { ISOLATION_HOST, ISOLATION_POD, ISOLATION_CONTAINER, ISOLATION_NR };

enum pod_state {
	POD_RUNNING,
	POD_ENDING, /* removed from its source, but processes still run: it keeps its CPUs */
	POD_STATE_NR
};

/*
 * The NUMA nodes that alignment chose. `nodes` is a mask over topology->nodes and valid
 * only if `known`.
 */
struct cpu_affinity {
	bool known;
	node_mask_t nodes;
};

struct grant {
	char container[POD_CONTAINER_NAME];
	enum container_kind kind;
	enum isolation isolation;
	/*
	 * ISOLATION_CONTAINER: its exclusive CPUs. ISOLATION_POD: the pod's shared pool.
	 * ISOLATION_HOST: empty, because the container follows ledger_shared_pool().
	 */
	struct cpuset cpus;
	/*
	 * ISOLATION_CONTAINER: those of its CPUs that it was admitted with. A resize in place
	 * never takes them away. Otherwise empty.
	 */
	struct cpuset baseline;
	node_mask_t mems; /* over topology->memory_nodes; 0 = unrestricted */
	/* The alignment at the time of the decision; not known after a restart. */
	struct cpu_affinity affinity;
};

struct ledger_pod {
	struct pod_spec *spec; /* owned */
	enum qos_class qos;
	enum pod_state state;
	bool has_bubble;
	struct cpuset bubble;	       /* pod scope: all CPUs of the pod */
	struct cpuset bubble_baseline; /* those that it was admitted with; see struct grant */
	uint32_t nr_grants;	       /* = spec->nr_containers, same order */
	struct grant *grants;
	struct memory_blocks *memory; /* owned; NULL if its memory is not pinned */
	/*
	 * All CPUs withheld from the shared pool: exclusive sets and init containers'
	 * CPUs kept for reuse.
	 */
	struct cpuset held;
	char detail[160]; /* why it is ending, or why a changed spec was rejected */
	/* The latter: it is not saved, because whoever asks for the change asks again. */
	bool is_change_refused;
};

/* The grant of the pod's container with this name, or NULL. */
const struct grant *ledger_find_grant(const struct ledger_pod *pod, const char *container);

const char *isolation_name(enum isolation isolation); /* "host", "pod", "container" */
const char *pod_state_name(enum pod_state state);

#endif
