/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the cgroup2 hierarchy through a directory descriptor, and to its groups
 * through descriptors relative to it.
 *
 * All paths are below a configurable root directory, so tests can use a plain directory.
 * A group's path is relative to the mount and has no leading slash; "" is the root
 * cgroup. Symbolic links, ".." and other mounts are never followed.
 */
#ifndef CGROUP_DIR_H
#define CGROUP_DIR_H

#include <dirent.h>
#include <stdint.h>

#include "cgroup/failure.h"
#include "cgroup/mounts.h"

struct dir {
	int root_fd;			 /* the root directory; procfs and sysfs are below it */
	int mount_fd;			 /* the root cgroup */
	char mount_path[MOUNT_PATH_MAX]; /* below root_fd, with a leading slash */
	bool systemd;			 /* PID 1 is systemd and owns the upper levels */
	enum dir_purpose purpose;
};

#define DIR_CLOSED ((struct dir){.root_fd = -1, .mount_fd = -1})

/*
 * Find and open the hierarchy below `root` ("/" on a real machine). Changes nothing. For an
 * observer it may be read-only, and its mount may come from outside of our cgroup namespace.
 * Returns 0 or a negative errno, with the problem and a message in `error`. The message
 * says what to do, and who has to do it if the agent may not.
 */
int dir_open(const char *root, enum dir_purpose purpose, struct dir *ret_dir,
	     enum dir_problem *ret_problem, char error[GROUP_ERROR_MAX]);
void dir_close(struct dir *dir);

/*
 * Enable the controllers cpuset (required), cpu and memory (optional) for the children of
 * group_fd. `path` is used in messages only. Returns -EOPNOTSUPP if the group itself has
 * no cpuset controller.
 */
int dir_enable_controllers(int group_fd, const char *path, char error[GROUP_ERROR_MAX]);

/*
 * Open a group as an O_RDONLY directory descriptor that the caller owns. -ENOENT, -ELOOP,
 * -EINVAL.
 */
int dir_open_group(const struct dir *dir, const char *path, int *ret_fd);

/* Read the list of CPUs or memory nodes in a file. */
int dir_read_list(int fd, const char *name, struct cpuset *ret_set);
/* Read the set of online CPUs from sysfs. */
int dir_online(const struct dir *dir, struct cpuset *ret_online);
/*
 * The CPUs of `wanted` that are offline, so no group can use them now. Empty if sysfs
 * cannot be read.
 */
void dir_offline(const struct dir *dir, const struct cpuset *wanted, struct cpuset *ret_offline);

/*
 * Like strerror, for errors of dir_open_group; names the remedy if another file system is
 * mounted there.
 */
const char *dir_open_cause(int err);

/*
 * Check that the mount's path and the group `root` still refer to the opened hierarchy
 * and, except for an observer, that it is writable. Implements groups_port.check.
 */
int dir_check(const struct dir *dir, const char *root, struct group_obstacle *ret_obstacle);

/*
 * Open the directory `name` within the directory fd, like dir_open_group. -EXDEV: a file
 * system is mounted on it.
 */
int dir_open_below(int fd, const char *name, int *ret_fd);

/*
 * Like dir_open_group, but returns -EAGAIN unless the kernel has every name of the path
 * in its dentry cache (RESOLVE_CACHED, Linux 5.12). Such an open never waits for a
 * directory's lock.
 */
int dir_open_cached(const struct dir *dir, const char *path, int *ret_fd);

/*
 * Split a path into its parent ("" for a top-level group) and its last component. -EINVAL
 * for "".
 */
int dir_split(const char *path, char *ret_parent, size_t size, const char **ret_name);

/* A group's id as used by the kernel and BPF: the inode number of its directory. */
int dir_group_id(int group_fd, uint64_t *ret_id);

/*
 * The value of "populated" in cgroup.events: 1 or 0, or a negative errno. The root has no
 * such file.
 */
int dir_populated(int group_fd);

/*
 * The value of the line "key value" in the text of a flat-keyed file; -ENOENT if there is
 * no such line.
 */
int dir_flat_value(const char *text, const char *key, uint64_t *ret_value);

/* Is `word` in a list separated by blanks, such as cgroup.controllers? */
bool dir_words_have(const char *words, const char *word);

/*
 * Check that `path`, as /proc reports it for an open group, is the group's name and not
 * the name of a removed group. Returns 0, or -ENOENT if the group was removed.
 */
int dir_check_name(const struct dir *dir, const char *path, uint64_t cgroup_id);

/*
 * The path of the group with this id, relative to the mount. -ENOENT if the group no
 * longer exists.
 */
int dir_path_of(const struct dir *dir, uint64_t cgroup_id, char *ret_path, size_t size);

#define cleanup_dir_handle cleanup(dir_close)

#endif
