// SPDX-License-Identifier: Apache-2.0
#include "cgroup/kubelets.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/file.h"

/* With systemd the name has those of the groups above: kubelet-kubepods.slice of kubelet.slice. */
static bool is_kubepods(const char *name)
{
	const char *slice = strrchr(name, '-');

	return !strcmp(name, "kubepods") || !strcmp(name, "kubepods.slice") ||
	       (slice && !strcmp(slice, "-kubepods.slice"));
}

static int has_kubepods(int fd)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *found;
	int r = file_open_dir(fd, ".", &entries);

	if (r)
		return r;
	while ((r = file_next_entry(entries, &found)) > 0)
		if (found->d_type == DT_DIR && is_kubepods(found->d_name))
			return 1;
	return r;
}

int kubelets_has_pods(const char *group, int fd)
{
	return is_kubepods(group) ? 1 : has_kubepods(fd);
}
