/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cgroup hierarchies are mounted, from the text of mountinfo. Pure: reads
 * nothing itself, so that every odd machine can be a test.
 */
#ifndef CGROUP_MOUNTS_H
#define CGROUP_MOUNTS_H

#include <stdbool.h>

#define MOUNT_PATH_MAX 256

/* What keeps us from using a machine's cgroups. DIR_FINE is none of them. */
enum dir_problem {
	DIR_FINE,
	DIR_NOT_MOUNTED,   /* no cgroup file system at all */
	DIR_V1,		   /* only version 1 hierarchies */
	DIR_HYBRID,	   /* a version 2 mount, but v1 holds the cpuset controller */
	DIR_PARTIAL_MOUNT, /* the mount shows a subtree, not the root */
	DIR_OWN_NAMESPACE, /* the top of the mount is a cgroup namespace's root */
	DIR_READ_ONLY,
	DIR_NO_CPUSET,		/* the kernel offers no cpuset controller on version 2 */
	DIR_CPUSET_NOT_ENABLED, /* not in the root's cgroup.subtree_control, and we may not */
	DIR_NOT_PERMITTED,	/* not root, or not root of the initial user namespace */
	DIR_UNREADABLE,		/* procfs or the mount could not be read: nothing is known */
	DIR_PROBLEM_NR
};
/* "cgroup-v1", …; stable, for logs and JSON. */
const char *dir_problem_name(enum dir_problem problem);

struct mounts {
	bool v2;
	char v2_path[MOUNT_PATH_MAX]; /* /sys/fs/cgroup if it is one, else the first found */
	char v2_root[MOUNT_PATH_MAX]; /* which part of the hierarchy it shows; "/" = all */
	bool v2_read_only;
	bool v1;
	char v1_path[MOUNT_PATH_MAX];	     /* the first v1 hierarchy with a controller */
	char cpuset_v1_path[MOUNT_PATH_MAX]; /* the v1 hierarchy that holds cpuset, or "" */
};

/* Fill from the whole text of /proc/self/mountinfo; lines that make no sense are skipped. */
void mounts_parse(const char *mountinfo, struct mounts *ret_mounts);

/*
 * Judge what is mounted: DIR_FINE, or the problem with a sentence that names
 * cause and remedy in `error` (GROUP_ERROR_MAX bytes).
 */
enum dir_problem mounts_judge(const struct mounts *mounts, char *error);

#endif
