/* SPDX-License-Identifier: Apache-2.0 */
/* A .tar.gz that is written from its first member to its last: regular files of mode 0600 of root. */
#ifndef TOOLS_ARCHIVE_H
#define TOOLS_ARCHIVE_H

#include <stddef.h>
#include <time.h>

struct archive;

/* Begin an archive on `fd`, which is duplicated. 0, -ENOMEM or the errno of dup. */
int archive_new(int fd, time_t modified, struct archive **ret_archive);
/* Add a member; `name` has up to 99 bytes. -ENAMETOOLONG, -EFBIG (8 GiB), a write's errno. */
int archive_add(struct archive *archive, const char *name, const char *data, size_t len);
/* Write the end and free. 0 only if all of it was written, or a write's errno; NULL is fine. */
int archive_close(struct archive *archive);

#endif
