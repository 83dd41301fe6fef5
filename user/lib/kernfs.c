// SPDX-License-Identifier: Apache-2.0
#include "lib/kernfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"

/* include/linux/exportfs.h (5.5): the 64-bit kernfs node id, which is the cgroup id. */
#define FILEID_KERNFS 0xfe

int kernfs_open(int mount_fd, uint64_t id, int *ret_fd)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} node = {.handle = {.handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS}};
	int fd cleanup_close = -1;
	struct stat info;

	memcpy(node.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount_fd, &node.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE ? -ENOENT : -errno;
	if (fstat(fd, &info) < 0 || !info.st_nlink)
		return -ENOENT;
	*ret_fd = TAKE_FD(fd);
	return 0;
}
