// SPDX-License-Identifier: Apache-2.0
#include "cgroup/kubelets.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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

/* A directory of cgroups has two links, and one for each child, which fstat() tells without a lock of its. */
#define LINKS_WITHOUT_CHILDREN 2

int kubelets_has_pods_now(struct kubelets_known *known, const char *group, int fd)
{
	struct stat status;
	uint32_t at = 0;
	int r;

	if (fstat(fd, &status))
		return -errno;
	if (is_kubepods(group) || status.st_nlink == LINKS_WITHOUT_CHILDREN)
		return is_kubepods(group);
	while (at < known->nr && known->rows[at].cgroup_id != status.st_ino)
		at++;
	if (at < known->nr && known->rows[at].nr_links == status.st_nlink)
		return known->rows[at].has_pods;
	r = has_kubepods(fd);
	if (r < 0)
		return r;
	if (at == known->nr && known->nr < KUBELETS_KNOWN_MAX)
		known->nr++;
	else if (at == known->nr)
		at = known->next++ % KUBELETS_KNOWN_MAX;
	known->rows[at].cgroup_id = status.st_ino;
	known->rows[at].nr_links = status.st_nlink;
	known->rows[at].has_pods = r;
	return r;
}
