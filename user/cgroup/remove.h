/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a group together with all groups that a workload created inside it. The kernel
 * removes only groups without children, so removal starts at the leaves. It works with
 * descriptors, because a path may be longer than PATH_MAX, and with few of them, because
 * the tree may be deeper than the limit of open files.
 */
#ifndef CGROUP_REMOVE_H
#define CGROUP_REMOVE_H

#include <stdint.h>

#include "cgroup/failure.h"

/*
 * Remove the group `name` of parent_fd, opened as `fd`, and everything inside. `path` is
 * used in messages only. The number of steps of one pass is limited by the number of
 * groups at its start and by a constant. Returns -EAGAIN if groups are left, possibly
 * because new ones are being created; another pass may continue. Returns -EBUSY if a
 * group has processes or a mount. Groups removed before a failure stay removed.
 */
int remove_tree(int parent_fd, const char *name, int fd, const char *path,
		char error[GROUP_ERROR_MAX]);

/*
 * The first part of remove_tree: remove everything inside, in at most *steps_left steps.
 * Each group takes one step, and another one if it has children.
 */
int remove_inside(int fd, const char *path, uint64_t *steps_left, char error[GROUP_ERROR_MAX]);

#endif
