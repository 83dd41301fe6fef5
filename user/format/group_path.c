// SPDX-License-Identifier: Apache-2.0
#include "format/group_path.h"

#include <stdio.h>
#include <string.h>

bool group_path_is_in(const char *path, const char *above)
{
	const size_t len = strlen(above);

	return !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

uint32_t group_path_depth(const char *path)
{
	uint32_t depth = 1;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

void group_path_parent(const char *path, char ret_parent[GROUP_PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(ret_parent, GROUP_PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
}

void group_path_top(const char *path, char ret_top[GROUP_PATH_MAX])
{
	snprintf(ret_top, GROUP_PATH_MAX, "%.*s", (int)strcspn(path, "/"), path);
}
