/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct changes of a manager: write a control file, remove a group, and explain an
 * error of the kernel.
 */
#ifndef CGROUP_CHANGE_H
#define CGROUP_CHANGE_H

#include "cgroup/dir.h"
#include "core/plan/plan.h"

/*
 * Write one file of a group, without reading it back. Refuses to empty the cpuset of a
 * group that has processes.
 */
int change_write(const struct dir *dir, const char *path, enum group_file file, const char *value,
		 char error[GROUP_ERROR_MAX]);

/* Fill `error` with the message for a write(2) that failed with `err`. Returns err. */
int change_explain(const char *path, const char *name, const char *value, int err,
		   char error[GROUP_ERROR_MAX]);

/*
 * Remove a group and its subtree, which must not contain processes. A partition is first
 * made a member, so its CPUs have been returned to the parent when this function returns.
 * Returns 0, also if the group does not exist; -EBUSY if there are processes; -EAGAIN if
 * one pass was not enough (see remove.h).
 */
int change_remove(const struct dir *dir, const char *path, char error[GROUP_ERROR_MAX]);

#endif
