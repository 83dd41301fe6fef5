/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What still fits, per NUMA node, and how scattered it is.
 */
#ifndef CORE_CAPACITY_H
#define CORE_CAPACITY_H

#include "core/ledger.h"

struct capacity_node {
	uint32_t id;
	uint32_t nr_cpus, nr_reserved;
	uint32_t nr_exclusive;	/* granted, bubbles included */
	uint32_t nr_shared;	/* in the shared pool */
	uint32_t nr_grantable;	/* of those: not reserved */
	uint32_t nr_free_cores; /* cores whose every CPU is grantable */
	/*
	 * The most exclusive CPUs one container can still get from this node alone: whole
	 * cores under full-pcpus-only, and never the last shared CPU while containers run
	 * there (the kubelet would give it). 0 with CPU policy none. Memory is not looked at.
	 */
	uint32_t largest_request;
};

struct capacity {
	uint32_t nr_nodes; /* ascending by id, those without CPUs too */
	struct capacity_node nodes[TOPOLOGY_MAX_NODES];
	uint32_t largest_request; /* of all nodes */
	/* The same, had the grantable CPUs been gathered on as few nodes as can hold them. */
	uint32_t conceivable_request;
	/*
	 * How much of the conceivable request no node can serve, in percent rounded down:
	 * 0 = nothing is lost to scatter, also when nothing is free.
	 */
	uint32_t fragmentation_percent;
};

void capacity_measure(const struct ledger *ledger, struct capacity *ret_capacity);

#endif
