// SPDX-License-Identifier: Apache-2.0
/* The runtime directory and its lock. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <pinfold/names.h>

#include "ctl/instance.h"
#include "lib/file.h"
#include "lib/log.h"

static int open_directory(const char *path, int *ret_fd)
{
	char problem[FILE_PROBLEM_MAX];
	int r = file_open_private_dir(path, ret_fd, problem);

	if (r)
		return log_err(0, "runtimeDirectory %s %s", path, problem), r;
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

/* --- stopping and removing ------------------------------------------------------------------------ */

#define PATIENCE_MS 10000

/*
 * The process that holds a flock(2) on the file, as the kernel lists it; 0 = there is none, or
 * it is in another pid namespace.
 */
static pid_t holder_of(const struct stat *file)
{
	FILE *locks cleanup_file = fopen("/proc/locks", "re");
	char line[256];

	while (locks && fgets(line, sizeof(line), locks)) {
		unsigned int major, minor;
		unsigned long inode;
		int pid;

		/* "1: FLOCK  ADVISORY  WRITE 705 00:19:38 0 EOF" */
		/* text: the kernel has the owner of a lock in this file only */
		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &pid, &major, &minor,
			   &inode) == 4 &&
		    inode == file->st_ino && makedev(major, minor) == file->st_dev)
			return pid;
	}
	return 0;
}

static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd ending = {.fd = pidfd, .events = POLLIN};

	return poll(&ending, 1, wait_ms) == 1;
}

static int end_holder(const struct stat *lock, pid_t pid)
{
	int pidfd cleanup_close = (int)syscall(SYS_pidfd_open, pid, 0);

	/*
	 * pidfd_open(2) rejects 0, which stands for no known holder. The pid may have been
	 * recycled before the descriptor was opened, so the lock is read again.
	 */
	if (pidfd < 0 || holder_of(lock) != pid)
		return 0;
	log_info("instance: stopping the running agent, process %d", pid);
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) && errno != ESRCH)
		return log_err(-errno, "instance: cannot stop process %d", pid);
	if (has_ended(pidfd, PATIENCE_MS))
		return 0;
	log_warn(0,
		 "instance: process %d did not exit after SIGTERM and is killed; a service manager "
		 "may restart it, so disable the service",
		 pid);
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return has_ended(pidfd, PATIENCE_MS)
		       ? 0
		       : log_err(-EBUSY, "instance: process %d holds the lock and cannot be killed",
				 pid);
}

int instance_stop(const char *path)
{
	int dir_fd cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat lock;

	if (dir_fd < 0 || fstatat(dir_fd, PINFOLD_LOCK_FILE, &lock, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : log_err(-errno, "cannot open %s", path);
	return end_holder(&lock, holder_of(&lock));
}

static bool is_ours(const char *name)
{
	static const char *const files[] = {
		PINFOLD_LOCK_FILE,
		PINFOLD_SOCKET_FILE,
		PINFOLD_ABILITIES_FILE,
		PINFOLD_STRANGERS_FILE,
		PINFOLD_STRANGERS_NOTE,
		/* left by a start that a crash interrupted */
		"." PINFOLD_SOCKET_FILE ".new",
		"." PINFOLD_ABILITIES_FILE ".tmp",
		"." PINFOLD_STRANGERS_FILE ".tmp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(name, files[i]))
			return true;
	return false;
}

void instance_remove(struct instance *instance, const char *path)
{
	char other[256];
	int r = file_remove_directory(instance->dir_fd, path, is_ours, other, sizeof(other));

	if (r == -ENOTEMPTY)
		log_warn(0, "runtimeDirectory %s remains: it contains '%s', which is not pinfold's",
			 path, other);
	else if (r)
		log_warn(r, "runtimeDirectory %s remains, but contains no pinfold files", path);
	instance_release(instance);
}
