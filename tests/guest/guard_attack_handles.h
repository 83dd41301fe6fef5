/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks of guard_attack.c by file handle, on files of which the kernel has nothing cached. */
#ifndef GUARD_ATTACK_HANDLES_H
#define GUARD_ATTACK_HANDLES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard_attack.h"

#define CGROUPS "/sys/fs/cgroup"

/* The agent and the kernel look at these files too, so one may be cached again at once. */
#define COLD_TRIES 200

/* Does the dentry behind an open file have neither name nor parent? */
static inline bool is_disconnected(int fd)
{
	char link[64], target[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, target, sizeof(target) - 1) > 0 && !strcmp(target, "/");
}

/*
 * Open `path` by its handle when nothing of it is cached: the kernel then makes a dentry
 * without name and parent. drop_caches alone leaves a dentry now and then; a remount drops
 * each that is not in use. The guard denies that as well, so who wants this allows it first
 * (guardFiles). drop_caches must be written at offset 0: the kernel ignores what is further on.
 */
static inline int open_cold(const char *path, int flags)
{
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	struct file_handle *handle = (struct file_handle *)space;
	int mount_fd = open(CGROUPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC), mount_id;
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	bool is_cold = false;
	int fd = -1;

	handle->handle_bytes = MAX_HANDLE_SZ;
	if (mount_fd < 0 || name_to_handle_at(AT_FDCWD, path, handle, &mount_id, 0))
		exit(cannot(path));
	for (int i = 0; i < COLD_TRIES && !is_cold; i++) {
		if (fd >= 0) {
			close(fd);
			usleep(10000);
		}
		if (mount(NULL, CGROUPS, NULL, MS_REMOUNT, NULL) || caches < 0 ||
		    pwrite(caches, "2", 1, 0) != 1)
			exit(cannot("drop what is cached"));
		fd = open_by_handle_at(mount_fd, handle, O_PATH | O_CLOEXEC);
		if (fd < 0)
			exit(cannot("open_by_handle_at"));
		/* a directory is connected to its parents again, whoever opens it */
		is_cold = flags & O_DIRECTORY || is_disconnected(fd);
	}
	if (!is_cold) {
		fprintf(stderr, "guard_attack: %s stays cached after %d tries\n", path, COLD_TRIES);
		exit(2);
	}
	/* `fd` stays open: it keeps the dentry that this second open is to find. */
	return open_by_handle_at(mount_fd, handle, flags | O_CLOEXEC);
}

static inline int attack_handle(char **args)
{
	int fd = open_cold(args[0], O_WRONLY);

	return answer(fd < 0 || write_text(fd, args[1]));
}

/* Open the directory args[0] by handle, and the file args[1] from there. */
static inline int attack_handle_in(char **args)
{
	int dir = open_cold(args[0], O_RDONLY | O_DIRECTORY), fd;

	if (dir < 0)
		return cannot(args[0]);
	fd = openat(dir, args[1], O_WRONLY | O_CLOEXEC);
	return answer(fd < 0 || write_text(fd, args[2]));
}

static inline int attack_handle_mkdir(char **args)
{
	int dir = open_cold(args[0], O_RDONLY | O_DIRECTORY);

	return dir < 0 ? cannot(args[0]) : answer(mkdirat(dir, args[1], 0755));
}

#endif
