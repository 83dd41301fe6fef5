/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and descriptors: bounded reads, one-line kernel files, atomic replace.
 *
 * Everything is relative to a directory descriptor, never follows a symbolic
 * link in the last component, and is opened close-on-exec. Nothing here logs.
 */
#ifndef LIB_FILE_H
#define LIB_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/cleanup.h"

static inline void cleanup_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define cleanup_close cleanup(cleanup_close_fd)
#define cleanup_file  cleanup(cleanup_close_file)
#define cleanup_dir   cleanup(cleanup_close_dir)

/*
 * Read the regular file `name` below `dir_fd` (AT_FDCWD allowed) whole.
 * *ret_data is NUL-terminated beyond *ret_len and owned by the caller.
 * -EFBIG if it is larger than max_bytes, -ELOOP for a symbolic link, -EISDIR
 * for a directory, -EINVAL for anything else that is no regular file.
 */
int file_read_all(int dir_fd, const char *name, size_t max_bytes, char **ret_data, size_t *ret_len);

/* The same for a descriptor the caller has opened and judged; reads from where it stands. */
int file_read_fd(int fd, size_t max_bytes, char **ret_data, size_t *ret_len);

/* The same for a path that an operator typed: symbolic links are followed. */
int file_read_path(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len);

/* Ends a sentence that begins with the directory's role and path. */
#define FILE_PROBLEM_MAX 160

/*
 * Open a directory that only we may write to, made with mode 0700 when missing.
 * Judged through the descriptor that is kept, so that nobody can swap it
 * afterwards; what somebody else chose is refused and never changed. -EPERM for
 * that, else negative errno; `problem` then says what is wrong. *ret_fd is the
 * caller's.
 */
int file_open_private_dir(const char *path, int *ret_fd, char problem[FILE_PROBLEM_MAX]);

/*
 * Read a kernel file (procfs, sysfs, cgroupfs) and drop the final newline.
 * Unlike file_read_all it accepts the size 0 that such files report.
 * At most 1 MiB: a CPU list of 8192 CPUs needs 24 KiB.
 */
int file_read_line(int dir_fd, const char *name, char **ret_text);

/*
 * Write `text` in one write(2) to an existing kernel file. An empty text is
 * written as a single newline: a write of zero bytes is a no-op on cgroup
 * files (seen on 6.1, 6.12 and 7.2).
 */
int file_write_text(int dir_fd, const char *name, const char *text);

/*
 * Replace `name` below `dir_fd` so that after a crash the old or the new
 * content is there, whole: temporary file, fsync, rename, fsync of the
 * directory. Mode 0600. The point of no return is the rename.
 */
int file_replace(int dir_fd, const char *name, const void *data, size_t len);

/*
 * Remove the files below `dir_fd` that `is_ours` knows by name, then the directory
 * `path` it was opened by. -ENOTEMPTY with one of the others in ret_other: the directory
 * stays for them. -EBUSY or another errno: it cannot be removed (a mount, a home of a
 * unit); our files are gone all the same. ret_other is "" but with -ENOTEMPTY.
 */
int file_remove_directory(int dir_fd, const char *path, bool (*is_ours)(const char *name),
			  char *ret_other, size_t size);

#endif
