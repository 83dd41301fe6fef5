/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that fail because a test says so: what the kernel answers to a busy,
 * dying or forbidden cgroup cannot be had from a plain directory. The functions here
 * take the place of libc's, for the whole program. Include it after cmocka, once.
 */
#ifndef TESTS_REFUSED_CALLS_H
#define TESTS_REFUSED_CALLS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads of a pool make the calls while the test says which ones are refused. */
static pthread_mutex_t refused_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *call; /* NULL = none is refused */
	const char *what; /* the path, or the text that is written; NULL = any */
	int error;
	unsigned int after; /* calls that succeed first */
	unsigned int times; /* calls that are refused then; 0 = all that follow */
	unsigned int nr_refused;
} refused;

/* Let `after` calls succeed, then refuse `times` of them (0 = all), until others are refused. */
static inline void refuse_some(const char *call, const char *what, int error, unsigned int after,
			       unsigned int times)
{
	pthread_mutex_lock(&refused_lock);
	refused.call = call;
	refused.what = what;
	refused.error = error;
	refused.after = after;
	refused.times = times;
	refused.nr_refused = 0;
	pthread_mutex_unlock(&refused_lock);
}

static inline void refuse(const char *call, const char *what, int error)
{
	refuse_some(call, what, error, 0, 0);
}

static inline void refuse_nothing(void)
{
	refuse(NULL, NULL, 0);
}

/* Refuses nothing either: await_call() returns when somebody has made such a call since. */
static inline void expect_call(const char *call, const char *what)
{
	refuse_some(call, what, 0, UINT_MAX, 0);
}

static inline void await_call(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	bool is_made = false;

	while (!is_made) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&refused_lock);
		is_made = refused.after < UINT_MAX;
		pthread_mutex_unlock(&refused_lock);
	}
}

static inline unsigned int nr_refused(void)
{
	unsigned int nr;

	pthread_mutex_lock(&refused_lock);
	nr = refused.nr_refused;
	pthread_mutex_unlock(&refused_lock);
	return nr;
}

/* Call with the lock held. */
static inline bool refuses(const char *call, const char *what)
{
	if (!refused.call || strcmp(refused.call, call) ||
	    (refused.what && (!what || strcmp(refused.what, what))))
		return false;
	if (refused.after) {
		refused.after--;
		return false;
	}
	if (refused.times && refused.nr_refused == refused.times)
		return false;
	refused.nr_refused++;
	return true;
}

static inline bool is_refused(const char *call, const char *what)
{
	bool is;
	int error;

	pthread_mutex_lock(&refused_lock);
	is = refuses(call, what);
	error = refused.error;
	pthread_mutex_unlock(&refused_lock);
	if (is)
		errno = error;
	return is;
}

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

/* openat2(2) has no function in libc; its third argument is the path. */
long syscall(long number, ...)
{
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2 && is_refused("openat2", (const char *)a[1]))
		return -1;
	if (number == SYS_pidfd_open && is_refused("pidfd_open", NULL))
		return -1;
	if (number == SYS_sched_setaffinity && is_refused("sched_setaffinity", NULL))
		return -1;
	if (number == SYS_sched_getaffinity && is_refused("sched_getaffinity", NULL))
		return -1;
	return LIBC(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int openat(int fd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return is_refused("openat", path) ? -1 : LIBC(openat)(fd, path, flags, mode);
}

DIR *fdopendir(int fd)
{
	return is_refused("fdopendir", NULL) ? NULL : LIBC(fdopendir)(fd);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
	return is_refused("mkdirat", path) ? -1 : LIBC(mkdirat)(fd, path, mode);
}

/* Remove a directory as the kernel removes a cgroup: with its files, unless it has children. */
static bool files_go_with_their_group;

static inline void drop_files(int fd, const char *path)
{
	int inside = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = inside < 0 ? NULL : fdopendir(inside);
	bool has_groups = false;

	for (struct dirent *entry; entries && (entry = readdir(entries));)
		has_groups |= entry->d_type == DT_DIR && entry->d_name[0] != '.';
	if (entries)
		rewinddir(entries);
	for (struct dirent *entry; entries && !has_groups && (entry = readdir(entries));)
		if (entry->d_name[0] != '.')
			LIBC(unlinkat)(inside, entry->d_name, 0);
	if (entries)
		closedir(entries);
}

int unlinkat(int fd, const char *path, int flags)
{
	if (is_refused("unlinkat", path))
		return -1;
	if ((flags & AT_REMOVEDIR) && files_go_with_their_group)
		drop_files(fd, path);
	return LIBC(unlinkat)(fd, path, flags);
}

/* Additional flags of a mount, such as ST_RDONLY. */
static unsigned long mount_flags;

int fstatvfs(int fd, struct statvfs *about)
{
	int r = is_refused("fstatvfs", NULL) ? -1 : LIBC(fstatvfs)(fd, about);

	if (!r)
		about->f_flag |= mount_flags;
	return r;
}

/* A file system that was mounted over what is looked up by a path, its root a file of the same number. */
static bool is_mounted_over;

int fstatat(int fd, const char *path, struct stat *about, int flags)
{
	int r = LIBC(fstatat)(fd, path, about, flags);

	if (!r && is_mounted_over)
		about->st_dev++;
	return r;
}

int inotify_init1(int flags)
{
	return is_refused("inotify_init1", NULL) ? -1 : LIBC(inotify_init1)(flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	return is_refused("inotify_add_watch", NULL) ? -1 : LIBC(inotify_add_watch)(fd, path, mask);
}

ssize_t write(int fd, const void *data, size_t len)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)len, (const char *)data);
	return is_refused("write", text) ? -1 : LIBC(write)(fd, data, len);
}

#endif
