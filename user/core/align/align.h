/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology alignment: merges the hints of several providers (CPUs, memory, devices) into
 * one set of NUMA nodes and decides whether the policy admits that set.
 *
 * The result is that of the Topology Manager in kubelet v1.36.3. The kubelet compares
 * every element of the cross product of all hints; this code computes the same result in
 * closed form. Bit i of a mask stands for node index i; indexes ascend by node id.
 */
#ifndef CORE_ALIGN_ALIGN_H
#define CORE_ALIGN_ALIGN_H

#include "core/policy/policy.h"
#include "core/topology/topology.h"

/* A hint without `any` names at least one node, and only nodes that the machine has. */
struct hint {
	node_mask_t nodes; /* meaningless when `any` */
	bool any;	   /* no affinity: any node will do */
	bool preferred;
};

/*
 * The hints of one provider for one resource. An empty list makes the cross product
 * empty. A provider without an opinion passes HINT_NO_OPINION; a provider that cannot be
 * satisfied passes HINT_IMPOSSIBLE.
 */
struct hint_list {
	uint32_t nr;
	const struct hint *hints; /* borrowed */
};

#define HINT_NO_OPINION ((struct hint){.any = true, .preferred = true})
#define HINT_IMPOSSIBLE ((struct hint){.any = true, .preferred = false})

struct align_problem {
	enum align_policy policy;
	bool prefer_closest; /* needs distances; without effect under single-numa-node */
	unsigned int nr_nodes;
	/* nr_nodes squared by index, or NULL */
	const uint32_t *distances;
	uint32_t nr_lists;
	const struct hint_list *lists;
};

struct alignment {
	struct hint hint;
	bool admitted;
	/* False when the machine was too large to examine every intersection. */
	bool exact;
};

/*
 * The result is exact up to ALIGN_EXACT_NODES nodes, where a set of masks is a vector of
 * 2^n bits. The cost per list is O(hints + n 2^n / 64), or n 2^n where intersections must
 * be counted (see align_exact.c). With 16 nodes a list has up to 2^16 hints and a merge
 * takes 0.1 to 0.4 ms.
 *
 * With more nodes such vectors would be too long (512 MiB for 32 nodes), and providers
 * name only a few sets. An alignment that every list prefers (the only kind that
 * restricted and single-numa-node admit) is still found exactly, by sorting. If there is
 * none, the merge follows at most ALIGN_LARGE_MASKS intersections, drops the widest ones
 * first and clears `exact`. A merge on such a machine therefore takes less time than one
 * on 16 nodes.
 *
 * Returns -ENOMEM (more than ALIGN_STACK_NODES nodes or ALIGN_STACK_LISTS lists need
 * scratch memory), or -EINVAL for prefer_closest without distances or for more than 64
 * nodes.
 */
int align_merge(const struct align_problem *problem, struct alignment *ret_alignment);

#ifndef ALIGN_EXACT_NODES
#define ALIGN_STACK_NODES 9
#define ALIGN_STACK_LISTS 8
#define ALIGN_EXACT_NODES 16
#endif
#define ALIGN_LARGE_MASKS 128

/*
 * Apply one entry of topologyManagerPolicyOptions. Returns -EINVAL with the kubelet's
 * error message in `error` (size >= 160).
 */
int align_option_set(const char *name, const char *value, bool *prefer_closest, uint32_t *max_nodes,
		     char *error, size_t error_size);

#endif
