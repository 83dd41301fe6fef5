/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of cgroups, below the mount and without a slash at the beginning. */
#ifndef FORMAT_GROUP_PATH_H
#define FORMAT_GROUP_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan/plan.h"

/* Is it that cgroup, or below it? */
bool group_path_is_in(const char *path, const char *above);
/* 1 = directly below the mount. */
uint32_t group_path_depth(const char *path);
/* "a/b/c" -> "a/b"; "" if it is directly below the mount. */
void group_path_parent(const char *path, char ret_parent[GROUP_PATH_MAX]);
/* "a/b/c" -> "a". */
void group_path_top(const char *path, char ret_top[GROUP_PATH_MAX]);

#endif
