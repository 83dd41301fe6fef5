// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what hwloc does not provide: isolated and nohz_full CPUs, the CPUs that the
 * kernel assigns to a node, and total and free huge pages.
 */
#include "machine/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/file.h"

#define SYSTEM_DIR "sys/devices/system"

static int read_list(int dir_fd, const char *path, struct cpuset *ret_cpus)
{
	char *text cleanup_free = NULL;
	int err = file_read_line(dir_fd, path, &text);

	if (err)
		return err;
	/* Kernels print this, padded with blanks, for a mask that was never allocated. */
	if (strcmp(text + strspn(text, " "), "(null)") == 0) {
		*ret_cpus = CPUSET_EMPTY;
		return 0;
	}
	return cpuset_parse(text, strlen(text), ret_cpus);
}

int sysfs_read_cpus(int root_fd, const char *name, struct cpuset *ret_cpus)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), SYSTEM_DIR "/cpu/%s", name);
	err = read_list(root_fd, path, ret_cpus);
	if (err == -ENOENT) {
		*ret_cpus = CPUSET_EMPTY;
		err = 0;
	}
	return err;
}

bool sysfs_has_nodes(int root_fd)
{
	return faccessat(root_fd, SYSTEM_DIR "/node", F_OK, 0) == 0;
}

int sysfs_read_node_cpus(int root_fd, uint32_t node_id, struct cpuset *ret_cpus)
{
	char path[128];

	snprintf(path, sizeof(path), SYSTEM_DIR "/node/node%u/cpulist", node_id);
	return read_list(root_fd, path, ret_cpus);
}

static int read_number(int dir_fd, const char *directory, const char *file, uint64_t *ret_number)
{
	char *text cleanup_free = NULL;
	char path[300];
	int err;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	err = file_read_line(dir_fd, path, &text);
	if (err)
		return err;
	return sscanf(text, "%" SCNu64, ret_number) == 1 ? 0 : -EINVAL;
}

static void add_page_size(int dir_fd, const char *name, struct topology_node *node)
{
	struct hugepages *pages = &node->hugepages[node->nr_hugepages];
	uint64_t size_kib;

	if (sscanf(name, "hugepages-%" SCNu64 "kB", &size_kib) != 1 ||
	    node->nr_hugepages == TOPOLOGY_MAX_HUGEPAGES)
		return;
	*pages = (struct hugepages){.size_bytes = size_kib * 1024, .free_pages = UINT64_MAX};
	if (read_number(dir_fd, name, "nr_hugepages", &pages->total_pages) < 0)
		return;
	read_number(dir_fd, name, "free_hugepages", &pages->free_pages);
	node->nr_hugepages++;
}

static int compare_sizes(const void *left, const void *right)
{
	const struct hugepages *a = left, *b = right;

	return a->size_bytes < b->size_bytes ? -1 : a->size_bytes > b->size_bytes;
}

int sysfs_read_hugepages(int root_fd, struct topology_node *node)
{
	DIR *directory cleanup_dir = NULL;
	const struct dirent *entry;
	char path[128];
	int r;

	snprintf(path, sizeof(path), SYSTEM_DIR "/node/node%u/hugepages", node->id);
	r = file_open_dir(root_fd, path, &directory);
	if (r)
		return r;
	node->nr_hugepages = 0;
	while ((r = file_next_entry(directory, &entry)) > 0)
		add_page_size(dirfd(directory), entry->d_name, node);
	if (r < 0)
		return r;
	qsort(node->hugepages, node->nr_hugepages, sizeof(node->hugepages[0]), compare_sizes);
	return 0;
}
