// SPDX-License-Identifier: Apache-2.0
/*
 * Bounded reads and atomic replacement, always relative to a directory descriptor.
 * Failures are reported only as errno, because the caller knows the object.
 */
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/crash.h"

#define KERNEL_FILE_MAX (1U << 20)
#define READ_STEP	4096

/* Read until end of file; -EFBIG if there are more than max_bytes. */
static int read_to_end(int fd, size_t expected, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	size_t capacity = expected + READ_STEP, len = 0;
	char *data cleanup_free = malloc(capacity + 1);

	if (!data)
		return -ENOMEM;
	for (;;) {
		ssize_t got;

		if (len == capacity) {
			char *bigger = realloc(data, capacity * 2 + 1);

			if (!bigger)
				return -ENOMEM;
			data = bigger;
			capacity *= 2;
		}
		got = read(fd, data + len, capacity - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		len += got;
		if (len > max_bytes)
			return -EFBIG;
	}
	data[len] = '\0';
	*ret_data = TAKE_PTR(data);
	*ret_len = len;
	return 0;
}

int file_read_fd(int fd, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL;
	if (info.st_size < 0 || (size_t)info.st_size > max_bytes)
		return -EFBIG;
	return read_to_end(fd, info.st_size, max_bytes, ret_data, ret_len);
}

int file_open_private_dir(const char *path, int *ret_fd, char problem[FILE_PROBLEM_MAX])
{
	struct stat status;
	int fd cleanup_close = -1;
	int r;

	if (mkdir(path, 0700) && errno != EEXIST) {
		r = -errno;
		snprintf(problem, FILE_PROBLEM_MAX, "cannot be created: %s", strerror(-r));
		return r;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status)) {
		r = -errno;
		snprintf(problem, FILE_PROBLEM_MAX, "cannot be opened: %s", strerror(-r));
		return r;
	}
	if (status.st_uid != geteuid() || (status.st_mode & 022)) {
		snprintf(
			problem, FILE_PROBLEM_MAX,
			"belongs to uid %u with mode %04o; it must belong to the agent's user and be "
			"writable only by it (chown root, chmod 0700, or name another)",
			status.st_uid, status.st_mode & 07777);
		return -EPERM;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int file_read_path(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max_bytes, ret_data, ret_len);
}

int file_read_all(int dir_fd, const char *name, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	/* O_NONBLOCK: opening a FIFO must not block. */
	int fd cleanup_close =
		openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max_bytes, ret_data, ret_len);
}

int file_read_kernel(int dir_fd, const char *name, size_t max_bytes, char **ret_text)
{
	int fd cleanup_close = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	char *data = NULL;
	size_t len;
	int err;

	if (fd < 0)
		return -errno;
	err = read_to_end(fd, 0, max_bytes, &data, &len);
	if (err)
		return err;
	if (len && data[len - 1] == '\n')
		data[len - 1] = '\0';
	*ret_text = data;
	return 0;
}

int file_read_line(int dir_fd, const char *name, char **ret_text)
{
	return file_read_kernel(dir_fd, name, KERNEL_FILE_MAX, ret_text);
}

int file_write_text(int dir_fd, const char *name, const char *text)
{
	const char *bytes = *text ? text : "\n";
	size_t len = strlen(bytes);
	int fd cleanup_close = openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	ssize_t done;

	if (fd < 0)
		return -errno;
	do
		done = write(fd, bytes, len);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EIO;
}

static int write_whole(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t done = write(fd, data, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		len -= done;
	}
	return 0;
}

static int write_temporary(int dir_fd, const char *name, const void *data, size_t len)
{
	int fd cleanup_close = -1;
	int err;

	/*
	 * Remove a file left by a crash. O_EXCL below then fails if somebody plants a
	 * file or a link.
	 */
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, data, len);
	if (err)
		return err;
	return fsync(fd) < 0 ? -errno : 0;
}

/* dir_fd may be AT_FDCWD or O_PATH, neither of which fsync takes. */
static int sync_directory(int dir_fd)
{
	int fd cleanup_close = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

int file_replace(int dir_fd, const char *name, const void *data, size_t len)
{
	char temporary[256];
	int err;

	if (!*name || strchr(name, '/'))
		return -EINVAL;
	if ((size_t)snprintf(temporary, sizeof(temporary), ".%s.tmp", name) >= sizeof(temporary))
		return -ENAMETOOLONG;
	err = write_temporary(dir_fd, temporary, data, len);
	if (err)
		goto drop;
	crash_point("file-replace-before-rename");
	if (renameat(dir_fd, temporary, dir_fd, name) < 0) {
		err = -errno;
		goto drop;
	}
	crash_point("file-replace-after-rename");
	return sync_directory(dir_fd);
drop:
	unlinkat(dir_fd, temporary, 0);
	return err;
}

int file_rename_new(const char *from, const char *to)
{
	int fd cleanup_close = -1, r;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (!rename(from, to))
		return 0;
	r = -errno;
	unlink(to);
	return r;
}

int file_open_dir(int dir_fd, const char *name, DIR **ret_dir)
{
	int fd cleanup_close = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return -errno;
	/* closedir(3) closes it. */
	(void)TAKE_FD(fd);
	*ret_dir = dir;
	return 0;
}

int file_next_entry(DIR *dir, const struct dirent **ret_entry)
{
	errno = 0;
	*ret_entry = readdir(dir);
	return *ret_entry ? 1 : -errno;
}

int file_remove_directory(int dir_fd, const char *path, bool (*is_ours)(const char *name),
			  char *ret_other, size_t size)
{
	DIR *dir cleanup_dir = NULL;
	const struct dirent *entry;
	int r = file_open_dir(dir_fd, ".", &dir);

	*ret_other = '\0';
	if (r)
		return r;
	while ((r = file_next_entry(dir, &entry)) > 0) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (is_ours(entry->d_name) && !unlinkat(dir_fd, entry->d_name, 0))
			continue;
		snprintf(ret_other, size, "%s", entry->d_name);
	}
	if (*ret_other)
		return -ENOTEMPTY;
	if (r < 0)
		return r;
	return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}
