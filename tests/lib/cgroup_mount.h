/* SPDX-License-Identifier: Apache-2.0 */
/* Where cgroup v2 is mounted on the machine that runs a test. */
#ifndef CGROUP_MOUNT_H
#define CGROUP_MOUNT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/file.h"

/* The path of the first mount. -ENOENT: there is none; `path` is then unchanged. */
static inline int cgroup_mount_path(char *path, size_t size)
{
	FILE *mounts cleanup_file = fopen("/proc/self/mounts", "re");
	char line[1024], where[512], type[64];

	while (mounts && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%*s %511s %63s", where, type) == 2 && !strcmp(type, "cgroup2")) {
			snprintf(path, size, "%s", where);
			return 0;
		}
	}
	return -ENOENT;
}

#endif
