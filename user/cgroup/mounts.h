/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the mounted cgroup hierarchies in the text of mountinfo. The code is pure and
 * reads no files, so unusual machines can be tested.
 */
#ifndef CGROUP_MOUNTS_H
#define CGROUP_MOUNTS_H

#include <stdbool.h>

#define MOUNT_PATH_MAX 256

/* Why the machine's cgroups cannot be used; DIR_FINE if they can. */
enum dir_problem {
	DIR_FINE,
	DIR_NOT_MOUNTED,   /* no cgroup file system is mounted */
	DIR_V1,		   /* only version 1 hierarchies */
	DIR_HYBRID,	   /* version 2 is mounted, but version 1 has the cpuset controller */
	DIR_PARTIAL_MOUNT, /* the mount shows a subtree, not the root */
	DIR_OWN_NAMESPACE, /* the mount's root is the root of a cgroup namespace */
	DIR_READ_ONLY,
	DIR_NO_CPUSET,		/* version 2 has no cpuset controller */
	DIR_CPUSET_NOT_ENABLED, /* not in the root's cgroup.subtree_control; not permitted */
	DIR_NOT_PERMITTED,	/* not root in the initial user namespace */
	DIR_UNREADABLE,		/* procfs or the mount could not be read */
	DIR_PROBLEM_NR
};
/* "cgroup-v1", …; stable, for logs and JSON. */
const char *dir_problem_name(enum dir_problem problem);

/* Who only observes needs neither a writable mount nor the machine's cgroup namespace. */
enum dir_purpose { DIR_TO_MANAGE, DIR_TO_OBSERVE };

struct mounts {
	bool v2;
	char v2_path
		[MOUNT_PATH_MAX]; /* /sys/fs/cgroup if mounted there, otherwise the first mount */
	char v2_root
		[MOUNT_PATH_MAX]; /* the part of the hierarchy that is mounted; "/" = all of it */
	bool v2_read_only;
	bool v1;
	char v1_path[MOUNT_PATH_MAX]; /* the first version 1 hierarchy that has a controller */
	char cpuset_v1_path[MOUNT_PATH_MAX]; /* the version 1 hierarchy with cpuset, or "" */
};

/* Parse the complete text of /proc/self/mountinfo; malformed lines are skipped. */
void mounts_parse(const char *mountinfo, struct mounts *ret_mounts);

/*
 * Decide whether the mounts are usable for that purpose: DIR_FINE, or the problem with a message
 * in `error` (GROUP_ERROR_MAX bytes) that names the cause and the remedy. A mount that shows a
 * group above the root of our cgroup namespace is fine for an observer; whether that group is the
 * root of the machine is for the caller to find out.
 */
enum dir_problem mounts_judge(const struct mounts *mounts, enum dir_purpose purpose, char *error);

#endif
