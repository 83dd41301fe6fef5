/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removal of a group with whatever a workload made inside it. The kernel removes a group only
 * when none is inside, so this goes leaves first, by descriptors: a path may be longer than
 * PATH_MAX, and a tree deeper than we may have files open.
 */
#ifndef CGROUP_REMOVE_H
#define CGROUP_REMOVE_H

#include <stdint.h>

#include "cgroup/failure.h"

/*
 * Remove the group `name` of parent_fd, opened as `fd`, and everything inside. `path` is for
 * the sentence only. One pass, which ends after as many steps as the groups there at the start
 * can take, and a limit: -EAGAIN = there are more, or somebody makes more meanwhile, so another
 * pass may go on; -EBUSY = one has processes or something is mounted on it. What was removed
 * by then stays so.
 */
int remove_tree(int parent_fd, const char *name, int fd, const char *path,
		char error[GROUP_ERROR_MAX]);

/*
 * Its first part: remove what is inside, in at most *steps_left steps, of which each group
 * takes one, and one more when there are groups inside it.
 */
int remove_inside(int fd, const char *path, uint64_t *steps_left, char error[GROUP_ERROR_MAX]);

#endif
