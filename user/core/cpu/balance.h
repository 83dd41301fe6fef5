/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of a distributed take. Given how many CPUs are free at each position
 * (NUMA nodes in take order), it chooses the positions to use and those that supply the
 * remainder which does not divide evenly. It does not know the topology.
 *
 * The kubelet (v1.36) considers all combinations of k positions that can supply `even`
 * CPUs each and the request in whole groups. It takes the first combination that
 * minimises the standard deviation of the CPUs left free at all positions, with mean and
 * deviation rounded to three decimals. The remainder is distributed group by group over a
 * subset of the combination; larger subsets are tried first.
 *
 * Since v1.37, with align-by-socket, a position that cannot supply `even` CPUs lowers the
 * share of its whole combination instead of excluding it, and what is then missing is part
 * of the remainder (`is_limited` below). Such a remainder may be larger than the combination.
 */
#ifndef CORE_CPU_BALANCE_H
#define CORE_CPU_BALANCE_H

#include "core/topology/topology.h"

#define BALANCE_MAX TOPOLOGY_MAX_NODES

struct balance_problem {
	unsigned int nr;	    /* positions, at most BALANCE_MAX */
	uint32_t free[BALANCE_MAX]; /* free CPUs at each position, > 0 */
	unsigned int nr_used;	    /* k: how many positions to use */
	uint32_t count; /* requested CPUs: a multiple of group, at least nr_used groups */
	uint32_t group;
	/* The whole groups of the poorest position limit the even share of a combination. */
	bool is_limited;
	/* Use at most this many sockets; 0 = no limit. */
	unsigned int max_sockets;
	uint64_t sockets
		[BALANCE_MAX]; /* bit mask of each position's sockets; only used with max_sockets */
	/*
	 * With max_sockets and more than TAKE_EXACT_NODES positions: the steps that all
	 * searches together may still use.
	 */
	uint64_t *steps;
};

struct balance {
	uint32_t even;	      /* CPUs that every used position supplies first */
	uint32_t rest_groups; /* groups distributed over `rest` afterwards */
	unsigned int nr_used;
	uint8_t used[BALANCE_MAX]; /* positions, ascending */
	unsigned int nr_rest;
	uint8_t rest[BALANCE_MAX];
	bool is_last; /* the kubelet looks no further: deviation 0.000 */
};

/*
 * Returns false if no combination of that many positions and sockets can satisfy the
 * request. With `is_limited` the kubelet prefers a combination inside one socket, whatever
 * its balance, so the caller asks with max_sockets 1 first. The result is exact up to
 * TAKE_EXACT_NODES positions. With more positions the search stops after TAKE_SEARCH_STEPS
 * steps with the best combination found so far, and only the fullest subsets are tried for
 * the remainder.
 */
bool balance_find(const struct balance_problem *problem, struct balance *ret_balance);

/*
 * The standard deviation in thousandths, rounded half up, of `nr` numbers of free CPUs around
 * their mean. `spread` is the sum of the squared distances to the mean, in millionths: at most
 * 2^53 for 64 nodes of 8,192 CPUs.
 */
int64_t balance_score(unsigned int nr, int64_t spread);

/* The CPUs that each of these positions supplies first, and the groups missing after that. */
uint32_t balance_share(const struct balance_problem *problem, const uint8_t *used,
		       uint32_t *ret_rest_groups);

/* The number of groups that a position can still supply after its even share. */
static inline uint32_t balance_capacity(const struct balance_problem *problem,
					const struct balance *balance, unsigned int position)
{
	return (problem->free[position] - balance->even) / problem->group;
}

/* Move to the next combination of `nr` out of `total` in lexicographic order; false after the last. */
bool balance_next_combination(uint8_t *members, unsigned int nr, unsigned int total);

/*
 * Turn a correct answer into that of kubelet 1.36.3, which stores combinations as slices
 * of an array that the enumeration keeps overwriting.
 */
void balance_spoil(const struct balance_problem *problem, struct balance *balance);

/*
 * Would kubelet 1.36.3 loop forever while scoring? It accepts subsets that have enough
 * CPUs but not enough whole groups. Always false for more than TAKE_EXACT_NODES
 * positions.
 */
bool balance_hangs(const struct balance_problem *problem, const struct balance *balance);

#endif
