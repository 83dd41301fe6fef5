// SPDX-License-Identifier: Apache-2.0
/* systemd nests a slice in those that its name begins with: a-b.slice is in a.slice. */
#include "runtime/cgroup_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

#define SLICE	  ".slice"
#define SLICE_LEN (sizeof(SLICE) - 1)

static bool is_sound(const char *path)
{
	for (const char *at = path;; at++) {
		const size_t len = strcspn(at, "/");

		/* Nothing, a dot and two dots are what ".." begins with. */
		if (!strncmp(at, "..", len))
			return false;
		at += len;
		if (!*at)
			return true;
	}
}

/* "a-b.slice" becomes "a.slice/a-b.slice/". */
static int append_slices(const char *slice, size_t len, struct text *path)
{
	if (len <= SLICE_LEN || strncmp(slice + len - SLICE_LEN, SLICE, SLICE_LEN) != 0)
		return -EINVAL;
	len -= SLICE_LEN;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && slice[i] != '-')
			continue;
		/* The root slice, "-.slice", and a dash at an end do not name slices with pods. */
		if (!i || slice[i - 1] == '-')
			return -EINVAL;
		text_append_len(path, slice, i);
		text_append(path, SLICE "/");
	}
	return 0;
}

static int append_scope(const char *prefix, struct text *path)
{
	const char *id = strchr(prefix, ':');

	if (!id || !id[1] || strchr(id + 1, ':') || strchr(prefix, '/'))
		return -EINVAL;
	if (id > prefix) {
		text_append_len(path, prefix, (size_t)(id - prefix));
		text_append(path, "-");
	}
	text_append(path, id + 1);
	text_append(path, ".scope");
	return 0;
}

int cgroup_path_of_runtime(const char *cgroups_path, char *ret_path, size_t size)
{
	const char *colon = strchr(cgroups_path, ':');
	struct text path cleanup_text = {0};

	if (!colon)
		text_append(&path, cgroups_path + (*cgroups_path == '/'));
	else if (append_slices(cgroups_path, (size_t)(colon - cgroups_path), &path) ||
		 append_scope(colon + 1, &path))
		return -EINVAL;
	if (path.error)
		return path.error;
	if (!is_sound(path.data))
		return -EINVAL;
	if (path.len >= size)
		return -ENAMETOOLONG;
	text_copy(ret_path, size, path.data);
	return 0;
}
