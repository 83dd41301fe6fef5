/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of root_scene.h with a cgroup2 mount, procfs and sysfs as far as the cgroup room
 * reads them. Include it after cmocka.
 */
#ifndef TESTS_CGROUP_SCENE_H
#define TESTS_CGROUP_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup/port.h"
#include "root_scene.h"

static inline int set_up(void **state)
{
	if (make_root("cgroup-test"))
		return -1;
	put("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	put("cg/cgroup.controllers", "cpuset cpu io memory pids\n");
	put("cg/cgroup.subtree_control", "cpuset cpu memory\n");
	put("cg/cgroup.procs", "");
	put("sys/devices/system/cpu/online", "0-15\n");
	return 0;
}

static inline int tear_down(void **state)
{
	/* A descriptor that was never opened must not be 0, so that it is not closed. */
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	return remove_root();
}

/* A group as the kernel would show it. */
static inline void put_group(const char *path, const char *cpus, const char *effective,
			     bool populated)
{
	static const char *const files[][2] = {
		{"cpuset.mems", "0\n"},
		{"cpuset.mems.effective", "0\n"},
		{"cpu.max", "max 100000\n"},
		{"cpu.weight", "100\n"},
		{"memory.max", "max\n"},
		{"cgroup.freeze", "0\n"},
		{"cpuset.cpus.partition", "member\n"},
		{"cgroup.procs", ""},
		{"cgroup.subtree_control", "\n"},
		{"cgroup.controllers", "cpuset cpu memory\n"},
	};
	char name[256];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(name, sizeof(name), "cg/%s/%s", path, files[i][0]);
		put(name, files[i][1]);
	}
	snprintf(name, sizeof(name), "cg/%s/cgroup.events", path);
	put(name, populated ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
	snprintf(name, sizeof(name), "cg/%s/cpuset.cpus", path);
	put(name, cpus);
	snprintf(name, sizeof(name), "cg/%s/cpuset.cpus.effective", path);
	put(name, effective);
}

static inline struct groups *open_as(enum groups_layout layout, bool may_write)
{
	struct groups_options options = {.root = root,
					 .workload_root = "pinfold.slice",
					 .layout = layout,
					 .may_write = may_write};
	struct groups *groups = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "";

	if (groups_open(&options, &groups, &problem, error))
		fail_msg("%s: %s", dir_problem_name(problem), error);
	return groups;
}

static inline struct groups *open_fake(bool may_write)
{
	return open_as(GROUPS_LAYOUT_CGROUPFS, may_write);
}

static inline bool exists(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	return !access(whole, F_OK);
}

/* Descriptors of the test. */
static inline unsigned int nr_open(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static inline void expect_failure(int wanted, int r, const char *error, const char *part)
{
	if (r != wanted)
		fail_msg("%d instead of %d: %s", r, wanted, error);
	if (!strstr(error, part))
		fail_msg("'%s' does not say '%s'", error, part);
}

/* The workload root with two pods, one of which has a container and a shared level. */
static inline void put_pod(void)
{
	put_group("pinfold.slice", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/podb", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/poda/main", "4-7\n", "4-7\n", true);
	put_group("pinfold.slice/poda/main/inner", "", "4-7\n", true);
	put_group("pinfold.slice/poda/shared", "8-9\n", "8-9\n", false);
	put_group("pinfold.slice/poda/shared/side", "8-9\n", "8-9\n", false);
}

static inline uint64_t inode_of(const char *path)
{
	char whole[512];
	struct stat info;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	assert_int_equal(stat(whole, &info), 0);
	return info.st_ino;
}

#endif
