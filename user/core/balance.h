/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic inside a distributed take: given how many CPUs are free at
 * each position (NUMA nodes in take order), which positions to use and which of
 * them give the CPUs that do not divide evenly. Knows no topology.
 *
 * Rule of the kubelet (v1.36): among all combinations of k positions that can
 * give `even` CPUs each and the request in whole groups, the first one whose
 * standard deviation of what stays free everywhere is least, both the mean and
 * the deviation rounded to three decimals. The rest is dealt out group by group
 * over a subset of the combination; larger subsets are tried first.
 */
#ifndef CORE_BALANCE_H
#define CORE_BALANCE_H

#include "core/topology.h"

#define BALANCE_MAX TOPOLOGY_MAX_NODES

struct balance_problem {
	unsigned int nr;	    /* positions, at most BALANCE_MAX */
	uint32_t free[BALANCE_MAX]; /* CPUs free at each, > 0 */
	unsigned int nr_used;	    /* k: how many positions to use */
	uint32_t count;		    /* CPUs wanted: a multiple of group, >= nr_used groups */
	uint32_t group;
	/* Use no more sockets than this; 0 = as many as there are. */
	unsigned int max_sockets;
	uint64_t sockets[BALANCE_MAX]; /* those of each position, as bits; with max_sockets only */
	/* With max_sockets beyond TAKE_EXACT_NODES positions: steps left to all searches together. */
	uint64_t *steps;
};

struct balance {
	uint32_t even;	      /* CPUs every used position gives first */
	uint32_t rest_groups; /* groups dealt out over `rest` afterwards; < nr_used */
	unsigned int nr_used;
	uint8_t used[BALANCE_MAX]; /* positions, ascending */
	unsigned int nr_rest;
	uint8_t rest[BALANCE_MAX];
	bool perfect; /* deviation 0.000 */
};

/*
 * False when no combination of that many positions, and sockets, can hold the
 * request. Exact up to TAKE_EXACT_NODES positions; beyond, the search ends after
 * TAKE_SEARCH_STEPS steps with the best combination found so far, and only the
 * fullest subsets are tried for the rest.
 */
bool balance_find(const struct balance_problem *problem, struct balance *ret_balance);

/* Groups that a position can still give after its even share. */
static inline uint32_t balance_capacity(const struct balance_problem *problem,
					const struct balance *balance, unsigned int position)
{
	return (problem->free[position] - balance->even) / problem->group;
}

/*
 * Turn a right answer into the kubelet 1.36.3's: it remembers combinations as
 * slices of an array that the enumeration goes on writing to.
 */
void balance_spoil(const struct balance_problem *problem, struct balance *balance);

/*
 * Would the kubelet 1.36.3 loop for ever while scoring? It admits subsets whose
 * CPUs suffice but whose whole groups do not. Up to TAKE_EXACT_NODES positions;
 * false beyond.
 */
bool balance_hangs(const struct balance_problem *problem, const struct balance *balance);

#endif
