/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing CPUs out of a free set: the kubelet's packed and distributed orders.
 *
 * Pure functions of (topology, free set, count, options): the same input gives
 * the same CPUs. Nothing is allocated; up to 256 KiB of stack are used.
 *
 * With compatibility "repaired" a successful answer is always exactly `count`
 * CPUs out of `free`. With "kubelet-1.36" the answer is that of kubelet v1.36.3
 * including its defects: it may hold CPUs outside `free`, or too few.
 *
 * "improved" is "repaired" with a better choice in three places, where the
 * kubelet's is lawful but misses what its own option asks for:
 * - prefer-align-cpus-by-uncorecache: what is left after whole caches is taken
 *   in the smallest unit that can hold it: a NUMA node, else a socket, else the
 *   machine (node and socket change places where nodes hold several sockets). Of
 *   these in the one that needs the fewest caches, the first in the kubelet's
 *   order among equals. The fullest caches give all they have; the last part
 *   comes, packed, from the cache with fewest free CPUs that holds it; the lowest
 *   id among equals. With `group` > 1 only CPUs of wholly free cores count. (The
 *   kubelet takes a part only when its lowest cores hit the number exactly.)
 * - distribute-cpus-across-cores: again in the smallest unit that can hold the
 *   rest; of these in the one whose busiest core ends up least busy. CPU by CPU
 *   goes to the core with fewest busy threads, of these to the cache that gave
 *   fewest so far, then to the lowest core. (The kubelet goes by CPU number, and
 *   so packs siblings that are numbered side by side.)
 * - distribute-cpus-across-numa: `min_nodes` and `by_socket` below.
 */
#ifndef CORE_TAKE_H
#define CORE_TAKE_H

#include "core/policy.h"
#include "core/topology.h"

enum take_sorting {
	TAKE_PACKED, /* fill cores one by one */
	TAKE_SPREAD, /* distribute-cpus-across-cores: by CPU number inside a socket */
};

struct take_options {
	enum compatibility compatibility;
	enum take_sorting sorting;
	bool uncore;	    /* prefer-align-cpus-by-uncorecache; packed only */
	unsigned int group; /* distributed: CPUs are handed out in groups of this many; 0 = 1 */
	/*
	 * Distributed, improved only. min_nodes: spread over at least so many nodes, those of
	 * the alignment, where that is possible at all, else over as many as possible.
	 * by_socket (align-by-socket): of the ways to do it those over the fewest sockets,
	 * before those over the fewest nodes.
	 */
	unsigned int min_nodes;
	bool by_socket;
};

enum take_status {
	TAKE_OK,
	TAKE_NOT_ENOUGH, /* fewer free CPUs than wanted */
	/* The rest only with compatibility kubelet-1.36. */
	TAKE_TOO_FEW,  /* kubelet: accounting error, CPUs remaining to allocate */
	TAKE_TOO_MANY, /* kubelet: accounting error, more CPUs taken than wanted */
	TAKE_HANG,     /* the kubelet would never return here; we do */
	TAKE_STATUS_NR
};

/* `free` must be a subset of topology->all. *ret_cpus is set on TAKE_OK only. count 0 is OK. */
enum take_status take_packed(const struct topology *topology, const struct cpuset *free,
			     unsigned int count, const struct take_options *options,
			     struct cpuset *ret_cpus);

/*
 * distribute-cpus-across-numa: evenly over as few NUMA nodes as can hold the
 * request in groups, packed inside each node; packed over all when that is not
 * possible. Exact on machines of up to 16 NUMA nodes (TAKE_EXACT_NODES). With
 * more nodes the search is cut off after TAKE_SEARCH_STEPS steps (of a few ns): the number of
 * nodes and CPUs is still what it would be, the balance between the nodes may be
 * a little worse than the best one.
 */
enum take_status take_distributed(const struct topology *topology, const struct cpuset *free,
				  unsigned int count, const struct take_options *options,
				  struct cpuset *ret_cpus);

#define TAKE_EXACT_NODES  16
#define TAKE_SEARCH_STEPS 2000000

const char *take_status_name(enum take_status status); /* "not-enough-cpus", … */

/*
 * NUMA nodes that have a CPU in `free`, in the order in which a take visits
 * them, each once; fills at most TOPOLOGY_MAX_NODES indexes, returns how many.
 */
unsigned int take_node_order(const struct topology *topology, const struct cpuset *free,
			     uint16_t ret_nodes[TOPOLOGY_MAX_NODES]);

#endif
