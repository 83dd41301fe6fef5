/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a pod, a container or a cgroup by what somebody calls it, and what people call
 * them. Reads the ledger and the tree of wanted cgroups; changes nothing.
 */
#ifndef CTL_LOOKUP_H
#define CTL_LOOKUP_H

#include "core/ledger/ledger.h"
#include "core/plan/plan.h"
#include "format/event.h"

/* Namespace of pods found running without a record of them. */
#define REBUILT_NAMESPACE "recovered"

/* A pod by "namespace/name", "name" (namespace default) or its uid; NULL = none. */
const struct ledger_pod *lookup_pod(const struct ledger *ledger, const char *text);
/* The cgroup of a container, or of a pod (`container` ""), in a tree; NULL = none. */
const struct group *lookup_group(const struct group_tree *tree, const char *uid,
				 const char *container);
/* The container at a cgroup's path or above it; NULL = none of this tree. */
const struct group *lookup_container_at(const struct group_tree *tree, const char *path);
/* Name the pod and the container of the cgroup at `path` in an event, if the ledger has them. */
void lookup_name_event(const struct ledger *ledger, const struct group_tree *tree, const char *path,
		       struct event_row *event);

/* "namespace/name" of a pod. */
void lookup_pod_label(const struct pod_spec *spec, char *text, size_t size);
/* Of the chain of this uid: "pod namespace/name", "the workload root". */
void lookup_chain_label(const struct ledger *ledger, const char *uid, char *text, size_t size);
/* The cgroup of the guard's self-test: below the workload root, no pod's, not in any plan. */
void lookup_self_test(const struct plan_layout *layout, char ret_path[GROUP_PATH_MAX]);

#endif
