// SPDX-License-Identifier: Apache-2.0
/* The runtime directory and its lock. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <pinfold/names.h>

#include "ctl/instance.h"
#include "lib/file.h"
#include "lib/log.h"

/* Judged through the descriptor we keep, so that nobody can swap the directory afterwards. */
static int open_directory(const char *path, int *ret_fd)
{
	struct stat status;
	int fd cleanup_close = -1;

	if (mkdir(path, 0700) && errno != EEXIST)
		return log_err(-errno, "cannot make runtimeDirectory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status))
		return log_err(-errno, "cannot open runtimeDirectory %s", path);
	if (status.st_uid != geteuid() || (status.st_mode & 022))
		return log_err(-EPERM,
			       "runtimeDirectory %s belongs to uid %u with mode %04o; it must be "
			       "ours and writable by nobody else: name a directory of its own",
			       path, status.st_uid, status.st_mode & 07777);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int take_lock(int dir_fd, const char *path, int *ret_fd)
{
	int fd cleanup_close =
		openat(dir_fd, PINFOLD_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return log_err(-errno, "cannot open %s/%s", path, PINFOLD_LOCK_FILE);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK
			       ? log_err(-EBUSY, "another pinfoldd holds %s/%s", path,
					 PINFOLD_LOCK_FILE)
			       : log_err(-errno, "cannot lock %s/%s", path, PINFOLD_LOCK_FILE);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int instance_take(const char *path, struct instance *ret_instance)
{
	int dir_fd cleanup_close = -1;
	int lock_fd = -1;
	int r;

	r = open_directory(path, &dir_fd);
	if (!r)
		r = take_lock(dir_fd, path, &lock_fd);
	if (!r)
		*ret_instance = (struct instance){.dir_fd = TAKE_FD(dir_fd), .lock_fd = lock_fd};
	return r;
}

void instance_release(struct instance *instance)
{
	if (instance->lock_fd >= 0)
		close(instance->lock_fd);
	if (instance->dir_fd >= 0)
		close(instance->dir_fd);
	*instance = INSTANCE_CLOSED;
}
