/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and descriptors: bounded reads, one-line kernel files, atomic replacement.
 *
 * Paths are relative to a directory descriptor. Unless stated otherwise, a symbolic link
 * in the last component is not followed. All descriptors are close-on-exec. Nothing here
 * logs.
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
 * Read the complete regular file `name` below `dir_fd` (may be AT_FDCWD). The caller owns
 * *ret_data, which has a NUL after its *ret_len bytes. Returns -EFBIG if the file is
 * larger than max_bytes, -ELOOP for a symbolic link, -EISDIR for a directory and -EINVAL
 * for anything else that is not a regular file.
 */
int file_read_all(int dir_fd, const char *name, size_t max_bytes, char **ret_data, size_t *ret_len);

/*
 * The same for a descriptor that the caller has opened and checked; reads from its
 * current offset.
 */
int file_read_fd(int fd, size_t max_bytes, char **ret_data, size_t *ret_len);

/* The same for a path given by an operator: symbolic links are followed. */
int file_read_path(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len);

/*
 * Size of `problem` below, which completes a message that begins with the directory's
 * role and path.
 */
#define FILE_PROBLEM_MAX 160

/*
 * Open a directory that only the current user may write to, creating it with mode 0700 if
 * it is missing. The check uses the returned descriptor, so the directory cannot be
 * swapped afterwards. An existing directory with another owner or mode is refused with
 * -EPERM and not changed. On failure `problem` says what is wrong. The caller owns
 * *ret_fd.
 */
int file_open_private_dir(const char *path, int *ret_fd, char problem[FILE_PROBLEM_MAX]);

/*
 * Read a kernel file (procfs, sysfs, cgroupfs) and drop the final newline.
 * Unlike file_read_all it accepts the size 0 that such files report.
 * At most 1 MiB: a CPU list of 8192 CPUs needs 24 KiB.
 */
int file_read_line(int dir_fd, const char *name, char **ret_text);
/* The same for a file of many lines that can be larger; -EFBIG beyond max_bytes. */
int file_read_kernel(int dir_fd, const char *name, size_t max_bytes, char **ret_text);

/*
 * Write `text` in one write(2) to an existing kernel file. An empty text is
 * written as a single newline: a write of zero bytes is a no-op on cgroup
 * files (seen on 6.1, 6.12 and 7.2).
 */
int file_write_text(int dir_fd, const char *name, const char *text);

/*
 * Replace `name` below `dir_fd` atomically: after a crash the file has either the old or
 * the new content. Writes a temporary file, calls fsync, renames it and calls fsync on
 * the directory. The mode is 0600. The rename is the point of no return.
 */
int file_replace(int dir_fd, const char *name, const void *data, size_t len);

/*
 * Open the directory `name` below `dir_fd` (may be AT_FDCWD) for file_next_entry; "." is the
 * directory itself, whose descriptor keeps its offset. Symbolic links are followed. The caller owns
 * *ret_dir and can open entries relative to its dirfd(3). 0 or a negative errno.
 */
int file_open_dir(int dir_fd, const char *name, DIR **ret_dir);

/*
 * Read the next entry of a directory, "." and ".." included. Returns 1 with *ret_entry, which is
 * valid until the next call, 0 after the last one, or a negative errno if the rest cannot be
 * listed; *ret_entry is then NULL. Use it instead of readdir(3), which returns NULL in both cases.
 */
int file_next_entry(DIR *dir, const struct dirent **ret_entry);

/*
 * Remove the files below `dir_fd` whose names `is_ours` accepts, then the directory,
 * which was opened as `path`. -ENOTEMPTY: other files keep the directory; ret_other names
 * one of them and is otherwise "". -EBUSY or another errno: the directory cannot be
 * removed, for example because it is a mount point or belongs to a running unit; our
 * files have been removed nevertheless.
 */
int file_remove_directory(int dir_fd, const char *path, bool (*is_ours)(const char *name),
			  char *ret_other, size_t size);

/*
 * Rename a file to a name that must not exist yet: -EEXIST. Some file systems cannot do that in one
 * step (NFS, 9p, FAT); there the name is first taken by an empty file, which a crash leaves behind.
 */
int file_rename_new(const char *from, const char *to);

#endif
