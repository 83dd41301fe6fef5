/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds static and admit have in common: policies and pods of a case. */
#ifndef REPLAY_PODS_H
#define REPLAY_PODS_H

#include "core/ledger/ledger.h"
#include "replay.h"

/*
 * Policy of a case. The kubelet's name of the start failure ("option-unknown")
 * when its options or reservation are impossible, else NULL.
 */
const char *read_policy(const struct replay *replay, struct json_object *line,
			const struct topology *topology, struct policy *ret_policy);

/* `extra`: room for so many more containers. NULL = no memory, or a name that does not fit. */
struct pod_spec *read_pod(struct json_object *pod, const char *uid, uint32_t extra);

/* A list of NUMA ids to a mask of node indexes. */
struct cpu_affinity read_affinity(const struct topology *topology, struct json_object *hint);
/* Node indexes to the kubelet's mask of NUMA ids. */
uint64_t ids_of_nodes(const struct topology *topology, node_mask_t nodes);

#endif
