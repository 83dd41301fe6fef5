/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the packed take and private to them. From the bottom: orders
 * (take_order.c), steps (take_cores.c), the steps of "improved" (take_improved.c), the
 * take (take_packed.c).
 */
#ifndef CORE_CPU_TAKE_PRIVATE_H
#define CORE_CPU_TAKE_PRIVATE_H

#include "core/cpu/take.h"

/* A level of the topology, together with the map from a CPU to its member of that level. */
struct level {
	const struct topology_level *members;
	const uint32_t *index_of;
};

/* A packed take in progress. */
struct take {
	const struct topology *topology;
	bool repaired, improved;
	struct level outer, inner; /* the hierarchy: node and socket, or the reverse */
	bool numa_first;
	/*
	 * In-place resize: CPUs that the result will be used together with. They are not in
	 * `free` and not part of the need. NULL = none. `near` is these and what was claimed
	 * before the current step.
	 */
	const struct cpuset *held;
	struct cpuset near;
	struct cpuset free, result;
	/* CPUs still needed. Negative if the kubelet claims CPUs twice. */
	int64_t need;
};

static inline bool satisfied(const struct take *take)
{
	return take->need < 1;
}

/* --- take_order.c: orders --------------------------------------------------------------------- */

/* Members of a level in the order of their visit; a member may appear several times. */
struct take_order {
	uint32_t nr;
	uint16_t index[CPUSET_MAX];
};

/* Free CPUs per member of a level. */
struct counts {
	uint16_t free[CPUSET_MAX];
};

/* Start a take of `need` CPUs out of `free`. Borrows topology. */
void take_begin(struct take *take, const struct topology *topology, const struct cpuset *free,
		int64_t need, enum compatibility compatibility);
/* Count the CPUs of `free` in each member of the level. */
void take_count_free(const struct level *level, const struct cpuset *free,
		     struct counts *ret_counts);

/* Append the members that have a CPU in free ∩ within, ordered by (free CPUs, id). */
void take_append_members(const struct level *level, const struct cpuset *free,
			 const struct cpuset *within, const struct counts *counts,
			 struct take_order *list);
/* Begin a step of a resize: what was claimed so far is now near, too. */
void take_note_near(struct take *take);
/* Like take_append_members, but members that contain CPUs of `near` come before all others. */
void take_append_near(const struct take *take, const struct level *level, const struct cpuset *free,
		      const struct cpuset *within, const struct counts *counts,
		      struct take_order *list);

/* The inner order lists the members of each outer member in turn, so a member may appear twice. */
void take_order_outer(const struct take *take, struct take_order *ret_list);
void take_order_inner(const struct take *take, struct take_order *ret_list);
/* NUMA nodes and sockets in the order of the hierarchy, whichever of the two is the outer one. */
void take_order_nodes(const struct take *take, struct take_order *ret_list);
void take_order_sockets(const struct take *take, struct take_order *ret_list);

/* The nodes or sockets that have a CPU in `free`, in the kubelet's order. Returns their level. */
const struct topology_level *take_order_of(const struct topology *topology,
					   const struct cpuset *free, bool inner,
					   struct take_order *ret_order);

/* Like take_node_order, but the nodes that contain CPUs of `held` come first. */
unsigned int take_node_order_near(const struct topology *topology, const struct cpuset *held,
				  const struct cpuset *free,
				  uint16_t ret_nodes[TOPOLOGY_MAX_NODES]);

/* --- take_distributed.c ----------------------------------------------------------------------- */

/* The smallest number of nodes that could hold the request on an empty, symmetric machine. */
unsigned int take_fewest_nodes(const struct topology *topology, uint32_t count, uint32_t group);

/* --- take_cores.c: steps ---------------------------------------------------------------------- */

/*
 * Take `cpus`. As in the kubelet, the need decreases by all of them, even those that were
 * not free.
 */
void take_claim(struct take *take, const struct cpuset *cpus, unsigned int count);
/* Claim CPUs of `group` that are in the snapshot, in ascending order, until the need is met. */
void take_cpus_of(struct take *take, const struct cpuset *snapshot, const struct cpuset *group);
/*
 * Claim the members on the list that are entirely free and not larger than the need. Of a
 * member that is otherwise held, the free CPUs count.
 */
void take_whole(struct take *take, const struct level *level, const struct take_order *list,
		const struct counts *counts);
/* The same for the outer or the inner level, in its order. */
void take_whole_groups(struct take *take, const struct level *level);
/* Claim whole cores, then single CPUs of the cores with the fewest free CPUs. */
void take_by_cores(struct take *take);

/*
 * The last steps of a packed take, after all whole nodes and sockets that fit have been
 * taken; `free` must contain enough CPUs.
 */
void take_inside(const struct topology *topology, const struct cpuset *free, uint32_t count,
		 struct cpuset *ret_cpus);

/* --- take_improved.c -------------------------------------------------------------------------- */

/*
 * The two steps in which "improved" differs (see take.h). `need` is between 1 and the
 * number of CPUs in `free`. take_in_caches returns false if too few cores are entirely
 * free.
 */
bool take_in_caches(const struct topology *topology, const struct cpuset *free, uint32_t need,
		    uint32_t group, struct cpuset *ret_cpus);
void take_across_cores(const struct topology *topology, const struct cpuset *free, uint32_t need,
		       struct cpuset *ret_cpus);

#endif
