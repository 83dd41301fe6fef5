/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup2 hierarchy as a directory descriptor, and its groups as
 * descriptors relative to it.
 *
 * Everything lies below a movable root, so that tests use a plain directory.
 * A group's path is relative to the mount, without a leading slash; "" is the
 * root cgroup. Symbolic links, ".." and other mounts are never followed.
 */
#ifndef CGROUP_DIR_H
#define CGROUP_DIR_H

#include <dirent.h>
#include <stdint.h>

#include "cgroup/failure.h"
#include "cgroup/mounts.h"

struct dir {
	int root_fd;			 /* the movable root; procfs and sysfs are below it */
	int mount_fd;			 /* the root cgroup */
	char mount_path[MOUNT_PATH_MAX]; /* below the movable root, with a leading slash */
	bool systemd;			 /* PID 1 is systemd and owns the upper levels */
};

#define DIR_CLOSED ((struct dir){.root_fd = -1, .mount_fd = -1})

/*
 * Find and open the hierarchy below `root` ("/" on a real machine). Changes
 * nothing. Negative errno, with the named problem and a sentence in `error`.
 * The sentence says what to do, and who must where we may not.
 */
int dir_open(const char *root, struct dir *ret_dir, enum dir_problem *ret_problem,
	     char error[GROUP_ERROR_MAX]);
void dir_close(struct dir *dir);

/*
 * Make cpuset (required), cpu and memory (wanted) available to the children of
 * group_fd. `path` is for the sentence only. -EOPNOTSUPP when the group itself
 * has no cpuset controller.
 */
int dir_enable_controllers(int group_fd, const char *path, char error[GROUP_ERROR_MAX]);

/* Open a group; O_RDONLY directory descriptor, owned by the caller. -ENOENT, -ELOOP, -EINVAL. */
int dir_open_group(const struct dir *dir, const char *path, int *ret_fd);

/* The CPUs that are online now, from sysfs. */
int dir_online(const struct dir *dir, struct cpuset *ret_online);

/* strerror for dir_open_group, with what to do where the cause is a foreign mount. */
const char *dir_open_cause(int err);

/*
 * Do the mount's path and the group `root` still lead to the hierarchy that was opened, and
 * may it be written? As groups_port.check.
 */
int dir_check(const struct dir *dir, const char *root, struct group_obstacle *ret_obstacle);

/* Open the directory `name` of another one; as dir_open_group. -EXDEV: a mount covers it. */
int dir_open_below(int fd, const char *name, int *ret_fd);

/*
 * The same only if the kernel has every name of the path in its cache, -EAGAIN if not
 * (RESOLVE_CACHED, Linux 5.12): such an open never waits for a directory's lock.
 */
int dir_open_cached(const struct dir *dir, const char *path, int *ret_fd);

/*
 * A stream over what is in the open group, owned by the caller; `fd` stays the caller's and
 * where it was. dirfd() of the stream opens what it names.
 */
int dir_entries(int fd, DIR **ret_entries);

/* The path's parent ("" for a top-level group) and its last component. -EINVAL for "". */
int dir_split(const char *path, char *ret_parent, size_t size, const char **ret_name);

/* A group's id: the inode number of its directory, as BPF and the kernel know it. */
int dir_group_id(int group_fd, uint64_t *ret_id);

/* The "populated" line of cgroup.events: 1 or 0, or negative errno. The root has no such file. */
int dir_populated(int group_fd);

/* Value of the line "key value" in a flat-keyed file's text; -ENOENT when there is no such line. */
int dir_flat_value(const char *text, const char *key, uint64_t *ret_value);

/* Is the word in a list separated by blanks, such as cgroup.controllers? */
bool dir_words_have(const char *words, const char *word);

/*
 * Is the name that /proc gives for an open group its own, or does it say that the group was
 * removed? 0, or -ENOENT when it was.
 */
int dir_check_name(const struct dir *dir, const char *path, uint64_t cgroup_id);

/* Path of the group with this id, relative to the mount. -ENOENT when it is gone. */
int dir_path_of(const struct dir *dir, uint64_t cgroup_id, char *ret_path, size_t size);

#define cleanup_dir_handle cleanup(dir_close)

#endif
