// SPDX-License-Identifier: Apache-2.0
/*
 * The attempt is the most harmless of all that the guard denies: a process that
 * writes itself into an empty cgroup. If nobody stops it, it ends there at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/selftest.h"
#include "lib/file.h"

#define WRITE_ALLOWED 1
#define OPEN_ALLOWED  2

/* Depth of a cgroup is the number of names on its path from the mount. */
static uint32_t count_names(const char *path)
{
	uint32_t nr = 0;

	while (*path) {
		path += strspn(path, "/");
		nr += *path != '\0';
		path += strcspn(path, "/");
	}
	return nr;
}

/* In the child, after a fork of a process with threads: system calls only. */
static _Noreturn void try_as_stranger(int dir_fd, int procs_fd)
{
	int status = 0, fd;

	if (write(procs_fd, "0", 1) >= 0 || errno != EPERM)
		status |= WRITE_ALLOWED;
	fd = openat(dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 || errno != EPERM)
		status |= OPEN_ALLOWED;
	_exit(status);
}

static int ask_child(int dir_fd, int procs_fd, struct selftest_result *ret_result)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		try_as_stranger(dir_fd, procs_fd);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -ECHILD;
	ret_result->write_denied = !(WEXITSTATUS(status) & WRITE_ALLOWED);
	ret_result->open_denied = !(WEXITSTATUS(status) & OPEN_ALLOWED);
	return 0;
}

static int try_in(int dir_fd, const struct policy_maps *maps, uint32_t level,
		  struct guard_config *set, struct selftest_result *ret_result)
{
	int procs_fd cleanup_close = -1;
	struct stat stat;
	int r;

	if (fstat(dir_fd, &stat))
		return -errno;
	r = policy_self_test(maps, stat.st_ino, level, set);
	if (r)
		return r;
	procs_fd = openat(dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs_fd < 0)
		return -errno;
	return ask_child(dir_fd, procs_fd, ret_result);
}

int selftest_run(const struct policy_maps *maps, const char *cgroup_dir, const char *path,
		 struct guard_config *set, struct selftest_result *ret_result)
{
	int root_fd cleanup_close = open(cgroup_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int dir_fd cleanup_close = -1;
	struct selftest_result result;
	int r;

	path += strspn(path, "/");
	if (root_fd < 0 || (mkdirat(root_fd, path, 0755) && errno != EEXIST))
		return -errno;
	dir_fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	r = try_in(dir_fd, maps, count_names(path), set, &result);
	unlinkat(root_fd, path, AT_REMOVEDIR);
	if (!r)
		*ret_result = result;
	return r;
}
