// SPDX-License-Identifier: Apache-2.0
/*
 * ustar (POSIX.1-1988) in gzip, for regular files with short names: one block of header, the data,
 * zeros up to a multiple of 512 bytes, and two blocks of zeros at the end. zlib is linked already.
 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/cleanup.h"
#include "lib/file.h"

#define BLOCK	  512
#define MAX_BYTES 077777777777ULL /* eleven octal digits */

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], modified[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
	char pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

struct archive {
	gzFile file;
	time_t modified;
};

int archive_new(int fd, time_t modified, struct archive **ret_archive)
{
	struct archive *archive cleanup_free = calloc(1, sizeof(*archive));
	int copy cleanup_close = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (!archive)
		return -ENOMEM;
	if (copy < 0)
		return -errno;
	archive->modified = modified;
	archive->file = gzdopen(copy, "wb");
	if (!archive->file)
		return -ENOMEM;
	(void)TAKE_FD(copy);
	*ret_archive = TAKE_PTR(archive);
	return 0;
}

/* Z_ERRNO is what failed in a system call, such as a write to a full disk. */
static int negative_errno(int zlib_error)
{
	return zlib_error == Z_ERRNO && errno ? -errno : -EIO;
}

static int write_all(struct archive *archive, const void *data, size_t len)
{
	/* gzwrite takes an unsigned int, and 0 is its error */
	for (size_t done = 0; done < len;) {
		const size_t rest = len - done;
		const int n = gzwrite(archive->file, (const char *)data + done,
				      rest > 1 << 20 ? 1 << 20 : (unsigned int)rest);
		int error = Z_OK;

		if (n <= 0) {
			gzerror(archive->file, &error);
			return negative_errno(error);
		}
		done += (size_t)n;
	}
	return 0;
}

static void fill_header(struct header *header, const char *name, size_t len, time_t modified)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned int sum = 0;

	*header = (struct header){.type = '0',
				  .magic = "ustar",
				  .version = {'0', '0'},
				  .user = "root",
				  .group = "root"};
	memcpy(header->name, name, strlen(name));
	memcpy(header->mode, "0000600", 8);
	memcpy(header->uid, "0000000", 8);
	memcpy(header->gid, "0000000", 8);
	snprintf(header->size, sizeof(header->size), "%011llo", (unsigned long long)len);
	snprintf(header->modified, sizeof(header->modified), "%011llo",
		 (unsigned long long)modified & MAX_BYTES);
	/* the sum is taken with blanks in its own place */
	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
}

int archive_add(struct archive *archive, const char *name, const char *data, size_t len)
{
	static const char zeros[BLOCK];
	struct header header;
	int r;

	if (strlen(name) >= sizeof(header.name))
		return -ENAMETOOLONG;
	if (len > MAX_BYTES)
		return -EFBIG;
	fill_header(&header, name, len, archive->modified);
	r = write_all(archive, &header, sizeof(header));
	if (!r)
		r = write_all(archive, data, len);
	if (!r && len % BLOCK)
		r = write_all(archive, zeros, BLOCK - len % BLOCK);
	return r;
}

int archive_close(struct archive *archive)
{
	static const char end[2 * BLOCK];
	int r, error;

	if (!archive)
		return 0;
	r = write_all(archive, end, sizeof(end));
	error = gzclose(archive->file);
	if (!r && error != Z_OK)
		r = negative_errno(error);
	free(archive);
	return r;
}
