/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's NUMA nodes as a NodeResourceTopology, the object that topology-aware schedulers of
 * Kubernetes read to find a node on which a pod can be aligned
 * (topology.node.k8s.io/v1alpha2, repository k8stopologyawareschedwg/noderesourcetopology-api).
 */
#ifndef FORMAT_NODE_TOPOLOGY_H
#define FORMAT_NODE_TOPOLOGY_H

#include "core/ledger/ledger.h"
#include "format/emit.h"

/*
 * Append the object that is named `node` to `out`, whose first error sticks there.
 *
 * Each NUMA node is a zone with its CPUs, memory and huge pages: capacity is what the machine
 * has, allocatable what pods may get, available what is not granted exclusively now. Costs are
 * the firmware's distances; they are left out if it states none. Memory is left out unless the
 * memory manager places it.
 */
void node_topology_write(const struct ledger *ledger, const char *node, enum emit_style style,
			 struct text *out);

#endif
