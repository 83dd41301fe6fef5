/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a pod, a container or a cgroup by its name, and formats names for operators. Reads the
 * ledger and the tree of desired cgroups; changes nothing.
 */
#ifndef CTL_LOOKUP_H
#define CTL_LOOKUP_H

#include "core/ledger/ledger.h"
#include "core/plan/plan.h"
#include "format/event.h"

/* Namespace of pods that were found running without a record in the state file. */
#define REBUILT_NAMESPACE "recovered"

/*
 * The parts of "namespace/name", or of a "name" in the namespace default. False = one of them is
 * empty, or too long to be a pod's.
 */
bool lookup_split_name(const char *text, char ret_namespace[POD_NAME_MAX],
		       char ret_name[POD_NAME_MAX]);
/* Find a pod by "namespace/name", "name" (in namespace default) or uid; NULL = none. */
const struct ledger_pod *lookup_pod(const struct ledger *ledger, const char *text);
/* The cgroup of a container, or of a pod (`container` ""), in a desired tree; NULL = none. */
const struct group *lookup_group(const struct group_tree *desired, const char *uid,
				 const char *container);
/* The container whose cgroup is at the path or above it; NULL = none in this tree. */
const struct group *lookup_container_at(const struct group_tree *tree, const char *path);
/* Set the pod and container of an event from the cgroup at `path`, if the ledger has them. */
void lookup_name_event(const struct ledger *ledger, const struct group_tree *tree, const char *path,
		       struct event_row *event);

/* Format "namespace/name" of a pod. */
void lookup_pod_label(const struct pod_spec *spec, char *text, size_t size);
/* Format the chain of this uid: "pod namespace/name" or "the workload root". */
void lookup_chain_label(const struct ledger *ledger, const char *uid, char *text, size_t size);
/* The cgroup of the guard's self-test, below the workload root. It belongs to no pod or plan. */
void lookup_self_test(const struct plan_layout *layout, char ret_path[GROUP_PATH_MAX]);

#endif
