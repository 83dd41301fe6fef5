/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups that are measured: those that the agent makes, and those of a container runtime's
 * pods that are in the ledger. The latter are only read; nothing here or below writes them.
 */
#ifndef CTL_MEASURED_H
#define CTL_MEASURED_H

#include "core/plan/plan.h"

struct controller;

struct measured_groups {
	/*
	 * The desired tree's groups in its order, with their CPU and node lists as their only files;
	 * then for each pod of a runtime its root, if it is another than that of the pod before, the
	 * pod, and its containers. These have GROUP_CPUSET_CPUS as granted, and no other file.
	 */
	struct group_tree tree;
	uint32_t nr_own; /* that are the desired tree's */
};

void measured_fini(struct measured_groups *measured);
#define cleanup_measured cleanup(measured_fini)
/* Is the group at this index a runtime's, which is measured and not guarded? */
bool measured_is_foreign(const struct measured_groups *measured, uint32_t index);

/*
 * Make controller->measured anew from the desired tree, the ledger and the runtime's containers.
 * A container has one group, that of the instance that was created last. One whose cgroup is not
 * known, is too deep for the BPF programs, or has no cgroup of its pod alone above it, has none.
 * No path is there twice.
 * -ENOMEM: logged, and nothing changed.
 */
int ctl_follow_measured(struct controller *controller);

#endif
