/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses CPUs from a free set in the kubelet's packed and distributed orders.
 *
 * The functions are pure: the same topology, free set, count and options give the same
 * CPUs. They allocate no memory and use up to 256 KiB of stack.
 *
 * With compatibility "repaired", a successful take returns exactly `count` CPUs of
 * `free`. With "kubelet-1.36" it returns the answer of kubelet v1.36.3 including its
 * defects, which may contain CPUs outside `free` or too few CPUs. "kubelet-1.37" differs
 * from it only in distributed takes with `by_socket`: among the combinations of the fewest
 * nodes, one inside a single socket wins whatever its balance, and a node that cannot
 * supply the even share lowers the share of its combination instead of excluding it.
 *
 * "improved" is "repaired" with a better choice in three cases where the kubelet's choice
 * is valid but misses the purpose of its own option:
 * - prefer-align-cpus-by-uncorecache: the CPUs that remain after whole caches are taken
 *   from the smallest unit that can hold them: a NUMA node, otherwise a socket, otherwise
 *   the machine (a socket before a node if nodes contain several sockets). Among these
 *   units the one that needs the fewest caches wins; ties follow the kubelet's order. The
 *   caches with the most free CPUs are used completely. The last part is packed into the
 *   cache with the fewest free CPUs that can hold it; ties go to the lowest id. With
 *   `group` > 1 only CPUs of entirely free cores count. (The kubelet takes part of a
 *   cache only if its lowest cores match the number exactly.)
 * - distribute-cpus-across-cores: the remaining CPUs are again taken from the smallest
 *   unit that can hold them, and among these from the one whose busiest core ends up with
 *   the fewest busy threads. Each CPU is taken from the core with the fewest busy
 *   threads; ties go to the cache that has supplied the fewest CPUs so far, then to the
 *   lowest core. (The kubelet goes by CPU number and therefore packs siblings with
 *   adjacent numbers.)
 * - distribute-cpus-across-numa: see `min_nodes` and `by_socket` below.
 */
#ifndef CORE_CPU_TAKE_H
#define CORE_CPU_TAKE_H

#include "core/policy/policy.h"
#include "core/topology/topology.h"

enum take_sorting {
	TAKE_PACKED, /* fill cores one by one */
	TAKE_SPREAD, /* distribute-cpus-across-cores: by CPU number within a socket */
};

struct take_options {
	enum compatibility compatibility;
	enum take_sorting sorting;
	bool uncore;	    /* prefer-align-cpus-by-uncorecache; packed only */
	unsigned int group; /* distributed: CPUs are taken in groups of this size; 0 = 1 */
	/*
	 * Distributed takes only. min_nodes ("improved"): spread over at least this many
	 * nodes (those of the alignment) if possible, otherwise over as many as possible.
	 * by_socket (align-by-socket): with "improved", prefer the fewest sockets over the
	 * fewest nodes; with "kubelet-1.37" see above.
	 */
	unsigned int min_nodes;
	bool by_socket;
};

/* What the policy demands of each take on this machine; `min_nodes` is 0. */
struct take_options take_options_of(const struct policy *policy, const struct topology *topology);

enum take_status {
	TAKE_OK,
	TAKE_NOT_ENOUGH, /* fewer free CPUs than requested */
	/* In takes other than a resize, only with compatibility kubelet-1.36 and kubelet-1.37: */
	TAKE_TOO_FEW,  /* the kubelet's accounting error: CPUs remaining to allocate */
	TAKE_TOO_MANY, /* the kubelet's accounting error: more CPUs taken than requested */
	TAKE_HANG,     /* the kubelet would never return */
	TAKE_STATUS_NR
};

/* `free` must be a subset of topology->all and count may be 0. *ret_cpus is set on TAKE_OK only. */
enum take_status take_packed(const struct topology *topology, const struct cpuset *free,
			     unsigned int count, const struct take_options *options,
			     struct cpuset *ret_cpus);

/*
 * In-place resize (KEP-5554): the `count` CPUs of a container that keeps `held`, and takes the
 * others out of `free` as close to these as possible. At each level members that contain held
 * CPUs come first, and a member is whole if each of its CPUs is free or held. `free` and
 * `held` may overlap and are subsets of topology->all; *ret_cpus contains `held`.
 * TAKE_NOT_ENOUGH also if `count` is less than what is held. No released kubelet does this, so
 * the rule is that of "repaired" whatever options->compatibility says.
 */
enum take_status take_packed_near(const struct topology *topology, const struct cpuset *held,
				  const struct cpuset *free, unsigned int count,
				  const struct take_options *options, struct cpuset *ret_cpus);

/*
 * distribute-cpus-across-numa: take CPUs evenly from as few NUMA nodes as can hold the
 * request in groups, packed within each node. If that is not possible, take them packed
 * from all nodes. The result is exact on machines with up to TAKE_EXACT_NODES NUMA nodes.
 * With more nodes the search stops after TAKE_SEARCH_STEPS steps of a few ns each. The
 * numbers of nodes and CPUs are still exact, but the balance between the nodes may be
 * slightly worse than the optimum.
 */
enum take_status take_distributed(const struct topology *topology, const struct cpuset *free,
				  unsigned int count, const struct take_options *options,
				  struct cpuset *ret_cpus);

/*
 * In-place resize with distribute-cpus-across-numa (KEP-5554): take_packed_near's contract, but
 * the result is even over as few NUMA nodes as can hold it, counting what each node holds
 * already, and every node with held CPUs stays among them. by_socket prefers nodes of one
 * socket. min_nodes and uncore are ignored. A count that is not a multiple of the group, and
 * one that no combination of nodes can supply, is taken packed. The result is exact on machines
 * with up to 9 NUMA nodes; with more the search stops after TAKE_NEAR_STEPS steps with the best
 * combination so far. TAKE_TOO_FEW and TAKE_TOO_MANY in every mode: the proposal's accounting
 * errors, where the CPUs held are not whole groups.
 */
enum take_status take_distributed_near(const struct topology *topology, const struct cpuset *held,
				       const struct cpuset *free, unsigned int count,
				       const struct take_options *options, struct cpuset *ret_cpus);

#define TAKE_EXACT_NODES  16
#define TAKE_SEARCH_STEPS 2000000
#define TAKE_NEAR_STEPS	  250000

const char *take_status_name(enum take_status status); /* "not-enough-cpus", … */

/*
 * The NUMA nodes that have a CPU in `free`, each once, in the order in which a take
 * visits them. Fills at most TOPOLOGY_MAX_NODES indexes and returns their number.
 */
unsigned int take_node_order(const struct topology *topology, const struct cpuset *free,
			     uint16_t ret_nodes[TOPOLOGY_MAX_NODES]);

#endif
