/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology alignment: one set of NUMA nodes out of what several providers (CPUs,
 * memory, devices) each would like, and whether a policy admits it.
 *
 * Rule: kubelet v1.36.3's Topology Manager, which folds the cross product of all
 * hints with a comparison; here in closed form. Nodes are indexes (bit i of a
 * mask), ascending by id.
 */
#ifndef CORE_ALIGN_H
#define CORE_ALIGN_H

#include "core/policy.h"
#include "core/topology.h"

/* A hint that is not `any` names at least one node, and only nodes of the machine. */
struct hint {
	node_mask_t nodes; /* meaningless when `any` */
	bool any;	   /* no affinity: any node will do */
	bool preferred;
};

/*
 * What one provider says about one resource. No hints at all means the cross
 * product is empty; a provider without an opinion gives HINT_NO_OPINION, one that
 * cannot be satisfied gives HINT_IMPOSSIBLE.
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
	/* False when the machine was too large to look at every intersection. */
	bool exact;
};

/*
 * Exact up to ALIGN_EXACT_NODES nodes, where a set of masks is a vector of 2^n bits:
 * O(hints + n 2^n / 64) per list, and n 2^n where intersections must be counted (see
 * align.c). With 16 nodes that is 2^16 hints a list and 0.1 to 0.4 ms.
 *
 * Beyond, such vectors are too long (512 MiB with 32 nodes), and so would be the lists:
 * providers name few sets there. An alignment that every list prefers (the only kind
 * restricted and single-numa-node admit) is still found exactly, by sorting; only when
 * there is none, at most ALIGN_LARGE_MASKS intersections are followed, the widest given
 * up first, and the result says so. This is why more nodes cost less time.
 *
 * -ENOMEM (more than ALIGN_STACK_NODES nodes or ALIGN_STACK_LISTS lists need scratch
 * memory), -EINVAL for prefer_closest without distances or more than 64 nodes.
 */
int align_merge(const struct align_problem *problem, struct alignment *ret_alignment);

#ifndef ALIGN_EXACT_NODES
#define ALIGN_STACK_NODES 9
#define ALIGN_STACK_LISTS 8
#define ALIGN_EXACT_NODES 16
#endif
#define ALIGN_LARGE_MASKS 128

/*
 * topologyManagerPolicyOptions, one at a time. -EINVAL with the kubelet's own
 * sentence in `error` (size >= 160).
 */
int align_option_set(const char *name, const char *value, bool *prefer_closest, uint32_t *max_nodes,
		     char *error, size_t error_size);

#endif
