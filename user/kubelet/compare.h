/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a discovery says is wrong on a node: the kernel's cpusets against the kubelet's state
 * file, and what could not be read. Pure.
 *
 * A state file names containers, and a cgroup has only an id. A container whose name the runtime
 * tells is compared with its own entry, or with the default set if it has none. Without a name it is
 * compared with all entries of its pod: its CPUs must be those of one of them, or the default set.
 * One that has the default set instead of its own entry is then not noticed.
 */
#ifndef KUBELET_COMPARE_H
#define KUBELET_COMPARE_H

#include "kubelet/discovery.h"

enum discovery_finding {
	FOUND_CUT,		/* not all cgroups are shown */
	FOUND_UNKNOWN_NAME,	/* a name of no known form in a place of pods */
	FOUND_STATE_UNUSABLE,	/* the state file is damaged or unreadable */
	FOUND_MEMORY_UNUSABLE,	/* so is the memory manager's */
	FOUND_DEFAULT_EMPTY,	/* no CPU is left for containers without exclusive ones */
	FOUND_EXCLUSIVE_SHARED, /* a container may use CPUs that are another pod's alone */
	FOUND_CPUS_DIFFER,	/* a container's CPUs are none that the kubelet gave its pod */
	FOUND_NODES_DIFFER, /* a container's NUMA nodes are not those that the kubelet gave it */
	FOUND_HOST_TASKS,   /* tasks of the host may use exclusive CPUs */
	FOUND_NR
};

/*
 * By enum discovery_finding. Every row has its kind; message and remedy only those that are found.
 * A message names the first case and counts the others.
 */
struct discovery_verdict {
	bool is_found[FOUND_NR];
	struct finding_row rows[FOUND_NR];
};

/* -ENOMEM leaves the verdict untouched. */
int discovery_compare(const struct discovery *discovery, struct discovery_verdict *ret_verdict);

#endif
