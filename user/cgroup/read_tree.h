/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the cgroups below the workload root into a tree that plan_make can compare.
 * Cgroups that a workload creates inside its container are not read.
 */
#ifndef CGROUP_READ_TREE_H
#define CGROUP_READ_TREE_H

#include "cgroup/manager.h"

/*
 * Implements groups_port.read_tree. The groups of one parent are ordered by name. Pods for
 * which is_busy (may be NULL) returns true are marked as unseen.
 */
int read_tree(struct groups *groups, bool (*is_busy)(struct groups *groups, const char *path),
	      struct group_tree *ret_tree);

/* Implements groups_port.read_group: fills files and populated. */
int read_group(struct groups *groups, struct group *group);

/*
 * Implements groups_port.surroundings: the root cgroup, then its children except the
 * workload root and the cgroups of a kubelet's pods.
 */
int read_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr);

/*
 * Derive a group's uid and container from its name, which plan_desired chose. In
 * systemd's names the uid has '_' in place of '-', and this cannot be undone. `parent`
 * may be NULL.
 */
void read_owner(struct group *group, const struct group *parent);

/* The role of a group, given its parent's role and its name (not its path). */
enum group_role read_role(enum group_role parent, const char *name);

#endif
