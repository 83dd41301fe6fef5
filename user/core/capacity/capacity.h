/* SPDX-License-Identifier: Apache-2.0 */
/* The remaining capacity per NUMA node, and its fragmentation. */
#ifndef CORE_CAPACITY_CAPACITY_H
#define CORE_CAPACITY_CAPACITY_H

#include "core/ledger/ledger.h"

struct capacity_node {
	uint32_t id;
	uint32_t nr_cpus, nr_reserved;
	uint32_t nr_exclusive;	/* granted, bubbles included */
	uint32_t nr_shared;	/* in the shared pool */
	uint32_t nr_grantable;	/* shared CPUs that are not reserved */
	uint32_t nr_free_cores; /* cores whose CPUs are all grantable */
	/*
	 * The largest exclusive request that one container can still get from this node
	 * alone: whole cores under full-pcpus-only, and never the last shared CPU while
	 * containers run on it (the kubelet would grant it). 0 with CPU policy none.
	 * Memory is ignored.
	 */
	uint32_t largest_request;
};

struct capacity {
	uint32_t nr_nodes; /* ascending by id, including nodes without CPUs */
	struct capacity_node nodes[TOPOLOGY_MAX_NODES];
	uint32_t largest_request; /* the maximum over all nodes */
	/* The same if all grantable CPUs were on as few nodes as can hold them. */
	uint32_t conceivable_request;
	/*
	 * The share of the conceivable request that no single node can serve, in percent,
	 * rounded down. 0 if nothing is lost to fragmentation, and also if nothing is
	 * free.
	 */
	uint32_t fragmentation_percent;
};

/* Sets all of *ret_capacity, from the ledger as it is now; needs no memory. */
void capacity_measure(const struct ledger *ledger, struct capacity *ret_capacity);

#endif
