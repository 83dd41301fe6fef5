/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was allocated since the start, as the kubelet counts it: by resource and source, and by how
 * well the CPUs are aligned; and what became of resizes.
 */
#ifndef CTL_ALLOCATIONS_H
#define CTL_ALLOCATIONS_H

#include "core/admit/admit.h"
#include "core/ledger/ledger.h"

/* From where a container gets its share: the node, or its pod, which has resources of its own. */
enum allocation_source { ALLOCATION_NODE, ALLOCATION_POD, ALLOCATION_SOURCE_NR };
enum allocation_resource { ALLOCATION_CPU, ALLOCATION_MEMORY, ALLOCATION_RESOURCE_NR };

/* What exclusive CPUs may lie in one of; a core is a boundary that they must not cut through. */
enum allocation_boundary {
	BOUNDARY_CORE,
	BOUNDARY_UNCORE_CACHE,
	BOUNDARY_NUMA_NODE,
	BOUNDARY_SOCKET,
	BOUNDARY_NR
};

struct allocations {
	uint64_t nr[ALLOCATION_RESOURCE_NR][ALLOCATION_SOURCE_NR];
	uint64_t nr_errors[ALLOCATION_RESOURCE_NR][ALLOCATION_SOURCE_NR];
	/* The last index: 1 = it is aligned. */
	uint64_t nr_aligned[ALIGN_SCOPE_NR][BOUNDARY_NR][2];
	uint64_t nr_resizes[2]; /* 1 = admitted */
};

/* All containers of the pod were decided together. */
void allocations_count_pod(struct allocations *allocations, const struct ledger *ledger,
			   const struct ledger_pod *pod);
/* This container of the pod was decided alone. `grant` is one of the pod's. */
void allocations_count_container(struct allocations *allocations, const struct ledger *ledger,
				 const struct ledger_pod *pod, const struct grant *grant);
/*
 * A pod was refused. What neither CPUs nor memory caused is not a failed allocation, and neither is
 * want of an alignment, because nothing was to be allocated yet. `spec` may be NULL.
 */
void allocations_count_refusal(struct allocations *allocations, const struct ledger *ledger,
			       const struct pod_spec *spec, const struct decision *decision);
void allocations_count_resize(struct allocations *allocations, bool is_admitted);

#endif
