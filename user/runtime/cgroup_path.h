/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a container's cgroup is, from the path that a container runtime passes on: with the
 * cgroupfs driver it is the cgroup's path, and with the systemd driver it is slice:prefix:id.
 * Pure text; whether the cgroup exists is not known here.
 */
#ifndef RUNTIME_CGROUP_PATH_H
#define RUNTIME_CGROUP_PATH_H

#include <stddef.h>

/*
 * Write the path below the cgroup mount, without a leading slash. -EINVAL: it has no such form, or
 * a part of it is empty, "." or ".."; -ENAMETOOLONG. ret_path is untouched then.
 */
int cgroup_path_of_runtime(const char *cgroups_path, char *ret_path, size_t size);

#endif
