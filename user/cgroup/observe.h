/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel has below the workload root, as a tree that plan_make can
 * compare. Cgroups that a workload makes inside its container are its own and
 * not looked at.
 */
#ifndef CGROUP_OBSERVE_H
#define CGROUP_OBSERVE_H

#include "cgroup/manager.h"

/*
 * As groups_port.observe. Groups of one parent come in order of name. Pods whose path
 * is_busy (may be NULL) names are unseen.
 */
int observe_tree(struct groups *groups, bool (*is_busy)(struct groups *groups, const char *path),
		 struct group_tree *ret_tree);

/* As groups_port.observe_group: fills files and populated. */
int observe_group(struct groups *groups, struct group *group);

/* As groups_port.status. */
int groups_status(struct groups *groups, const char *path, struct group_status *ret_status);

/* As groups_port.surroundings: the root cgroup, then its children but the workload root. */
int observe_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
			 uint32_t *ret_nr);

/*
 * Whose group it is, from its name (plan_desired's naming), as far as the name
 * tells: with systemd's names the uid has '_' where it had '-'. Fills uid and
 * container. `parent` may be NULL.
 */
void observe_owner(struct group *group, const struct group *parent);

/* The role of a group by its parent's role and its name (no path). */
enum group_role observe_role(enum group_role parent, const char *name);

#endif
