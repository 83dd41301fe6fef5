/* SPDX-License-Identifier: Apache-2.0 */
/* Where cgroup2 is mounted. */
#ifndef CGROUP2_MOUNT_H
#define CGROUP2_MOUNT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/file.h"

static char mount_path[512];

/* Sets mount_path, or returns -ENOENT. */
static inline int find_mount(void)
{
	FILE *mounts cleanup_file = fopen("/proc/self/mounts", "re");
	char line[1024], type[64];

	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %511s %63s", mount_path, type) == 2 &&
		    !strcmp(type, "cgroup2"))
			return 0;
	return -ENOENT;
}

#endif
