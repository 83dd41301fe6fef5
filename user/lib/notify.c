// SPDX-License-Identifier: Apache-2.0
#include "lib/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/file.h"

int notify_manager(const char *lines)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t len = offsetof(struct sockaddr_un, sun_path);
	int fd cleanup_close = -1;

	if (!path || !*path)
		return 0;
	/* Whatever else it may name (vsock:) is for virtual machines. */
	if (*path != '/' && *path != '@')
		return -EAFNOSUPPORT;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (*path == '@')
		address.sun_path[0] = '\0';
	/* An abstract name ends with its length, and may hold any byte. */
	len += (socklen_t)strlen(path) + (*path == '/');
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)&address, len) < 0)
		return -errno;
	return 0;
}
