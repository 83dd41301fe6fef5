// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the current state of one group on the loop's thread. Reading these files never
 * blocks; only opening the group may, so that goes through jobs.c.
 */
#include "cgroup/status.h"

#include <string.h>

#include "cgroup/jobs.h"
#include "lib/file.h"

static uint32_t level_of(const char *path)
{
	uint32_t level = *path != '\0';

	for (; *path; path++)
		level += *path == '/';
	return level;
}

/* Leaves *ret_set unchanged if the file cannot be read. */
static void read_set(int fd, const char *name, struct cpuset *ret_set)
{
	char *text cleanup_free = NULL;

	if (!file_read_line(fd, name, &text))
		(void)cpuset_parse(text, strlen(text), ret_set);
}

static void read_usage(int fd, struct group_status *status)
{
	char *text cleanup_free = NULL;

	if (file_read_line(fd, "cpu.stat", &text))
		return;
	(void)dir_flat_value(text, "usage_usec", &status->usage_usec);
	(void)dir_flat_value(text, "throttled_usec", &status->throttled_usec);
	(void)dir_flat_value(text, "nr_throttled", &status->nr_throttled);
}

int groups_status(struct groups *groups, const char *path, struct group_status *ret_status)
{
	struct group_status status = {.level = level_of(path)};
	char *partition cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = jobs_open(groups, path, &fd);

	if (!err)
		err = dir_group_id(fd, &status.cgroup_id);
	if (err)
		return err;
	status.populated = dir_populated(fd) != 0;
	read_set(fd, "cpuset.cpus", &status.cpus);
	read_set(fd, "cpuset.mems", &status.mems);
	read_set(fd, "cpuset.cpus.effective", &status.effective_cpus);
	read_set(fd, "cpuset.mems.effective", &status.effective_mems);
	if (!file_read_line(fd, "cpuset.cpus.partition", &partition)) {
		/* For an invalid partition the kernel reports "root invalid (…)". */
		status.is_root_partition = !strcmp(partition, "root");
		status.is_member = !strcmp(partition, "member");
		snprintf(status.partition, sizeof(status.partition), "%s", partition);
	}
	read_usage(fd, &status);
	*ret_status = status;
	return 0;
}

int groups_id_of(struct groups *groups, const char *path, uint64_t *ret_cgroup_id)
{
	int fd cleanup_close = -1;
	int err;

	if (!*path)
		return dir_group_id(groups->dir.mount_fd, ret_cgroup_id);
	err = jobs_open(groups, path, &fd);
	return err ? err : dir_group_id(fd, ret_cgroup_id);
}
