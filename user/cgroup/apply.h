/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plan step: do it through the manager, then ask the kernel whether it is so.
 */
#ifndef CGROUP_APPLY_H
#define CGROUP_APPLY_H

#include "cgroup/manager.h"

/* As groups_port.apply. */
int apply_step(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX]);

/*
 * Write one file of a group by hand and say in a sentence why it failed; no
 * read-back. Refuses to empty the cpuset of a group with processes.
 */
int apply_write(const struct dir *dir, const char *path, enum group_file file, const char *value,
		char error[GROUP_ERROR_MAX]);

/* The sentence for a write(2) that failed with `err`; returns err. */
int apply_explain(const char *path, const char *name, const char *value, int err,
		  char error[GROUP_ERROR_MAX]);

/*
 * Remove a group and what is below it, all without processes. A partition
 * becomes a member first, so that its CPUs are back when this returns.
 * -EBUSY = there are processes, -EAGAIN = one pass was not enough (remove.h). 0 when it
 * is not there.
 */
int apply_remove(const struct dir *dir, const char *path, char error[GROUP_ERROR_MAX]);

#endif
