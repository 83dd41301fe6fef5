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

/*
 * A cpuset takes 1 KB, whatever it holds, so a grant and a pod point to theirs. All of them are in
 * one block, which the pod owns. While a record is being changed, each has a place of its own. In a
 * committed record, equal sets are stored once and empty sets are not stored. ledger_pod_edit()
 * below is the only way to write one.
 */
struct grant {
	char container[POD_CONTAINER_NAME];
	enum container_kind kind;
	enum isolation isolation;
	/*
	 * ISOLATION_CONTAINER: its exclusive CPUs. ISOLATION_POD: the pod's shared pool.
	 * ISOLATION_HOST: empty, because the container follows ledger_shared_pool().
	 */
	const struct cpuset *cpus;
	/*
	 * ISOLATION_CONTAINER: those of its CPUs that it was admitted with. A resize in place
	 * never takes them away. Otherwise empty.
	 */
	const struct cpuset *baseline;
	node_mask_t mems; /* over topology->memory_nodes; 0 = unrestricted */
	/* The alignment at the time of the decision; not known after a restart. */
	struct cpu_affinity affinity;
};

struct ledger_pod {
	struct pod_spec *spec; /* owned */
	enum qos_class qos;
	enum pod_state state;
	bool has_bubble;
	const struct cpuset *bubble; /* pod scope: all CPUs of the pod */
	/* Those that it was admitted with; see struct grant. */
	const struct cpuset *bubble_baseline;
	uint32_t nr_grants; /* = spec->nr_containers, same order */
	struct grant *grants;
	struct memory_blocks *memory; /* owned; NULL if its memory is not pinned */
	/*
	 * All CPUs withheld from the shared pool: exclusive sets and init containers'
	 * CPUs kept for reuse.
	 */
	const struct cpuset *held;
	struct cpuset *sets; /* owned: where its sets and those of its grants are */
	char detail[160];    /* why it is ending, or why a changed spec was rejected */
	/* The latter: it is not saved, because whoever asks for the change asks again. */
	bool is_change_refused;
};

/* The grant of the pod's container with this name, or NULL. */
const struct grant *ledger_find_grant(const struct ledger_pod *pod, const char *container);

/*
 * Give an empty record a spec and grants with room for `nr` containers, all zero. -ENOMEM: what was
 * allocated is the record's, and freed with it.
 */
must_check int ledger_pod_allocate(struct ledger_pod *pod, uint32_t nr);

/*
 * Give each set of the record and of its grants a place of its own, where ledger_pod_edit() can write
 * it. Keeps their values; a NULL becomes an empty set. What `sets` had before is freed. Call it once
 * more after grants were added. -ENOMEM: nothing changed.
 */
must_check int ledger_pod_own_sets(struct ledger_pod *pod);
/*
 * Nobody writes the record any more: keep equal sets once, and none that is empty. Pointers to the
 * sets become invalid.
 */
void ledger_pod_share_sets(struct ledger_pod *pod);
/*
 * The same set, to be written. It is one of the record's, which has a place of its own for each: after
 * ledger_pod_own_sets(), or from ledger_new_pod() or ledger_edit_pod().
 */
struct cpuset *ledger_pod_edit(struct ledger_pod *pod, const struct cpuset *set);

const char *isolation_name(enum isolation isolation); /* "host", "pod", "container" */
const char *pod_state_name(enum pod_state state);

#endif
