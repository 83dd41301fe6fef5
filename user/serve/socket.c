// SPDX-License-Identifier: Apache-2.0
#include "serve/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/log.h"
#include "serve/server.h"

int server_parse_address(const char *text, char *ret_host, size_t size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':'), *start = text;
	char *end;
	unsigned long port;
	size_t len;

	if (!colon || colon == text || !colon[1])
		return -EINVAL;
	len = (size_t)(colon - text);
	if (*text == '[') {
		if (colon[-1] != ']' || len < 3)
			return -EINVAL;
		start++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		return -EINVAL;
	}
	if (len >= size || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (*end || errno || port == 0 || port > 65535)
		return -EINVAL;
	memcpy(ret_host, start, len);
	ret_host[len] = '\0';
	*ret_port = (uint16_t)port;
	return 0;
}

int socket_listen_tcp(const char *address)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	int fd cleanup_close = -1;
	const struct sockaddr *sockaddr;
	socklen_t len;
	char host[64];
	uint16_t port;
	int one = 1;

	if (server_parse_address(address, host, sizeof(host), &port))
		return log_err(-EINVAL,
			       "serve: invalid metrics.listen '%s': expected ADDRESS:PORT, for "
			       "example 127.0.0.1:9417",
			       address);
	if (inet_pton(AF_INET, host, &in4.sin_addr) == 1) {
		in4.sin_port = htons(port);
		sockaddr = (const struct sockaddr *)&in4;
		len = sizeof(in4);
	} else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		in6.sin6_port = htons(port);
		sockaddr = (const struct sockaddr *)&in6;
		len = sizeof(in6);
	} else {
		return log_err(-EINVAL,
			       "serve: invalid metrics.listen '%s': '%s' is not an IP "
			       "address",
			       address, host);
	}
	fd = socket(sockaddr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A kernel that was booted with ipv6.disable=1 has all addresses of IPv4 still. */
	if (fd < 0 && errno == EAFNOSUPPORT && IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr) &&
	    sockaddr->sa_family == AF_INET6) {
		in4.sin_port = in6.sin6_port;
		sockaddr = (const struct sockaddr *)&in4;
		len = sizeof(in4);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (fd < 0)
		return log_err(-errno, "serve: socket for metrics.listen '%s'", address);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, sockaddr, len) || listen(fd, SOMAXCONN))
		return log_err(-errno, "serve: cannot listen on metrics.listen '%s'", address);
	return TAKE_FD(fd);
}

int socket_listen_unix(int dir_fd, const char *dir, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd cleanup_close = -1;
	char temporary[80];
	int len;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, temporary);
	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return log_err(-ENAMETOOLONG,
			       "serve: runtimeDirectory '%s' is too long for a socket (%zu bytes); "
			       "choose a shorter one",
			       dir, sizeof(address.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return log_err(-errno, "serve: socket");
	unlinkat(dir_fd, temporary, 0);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return log_err(-errno, "serve: cannot bind %s", address.sun_path);
	if (fchmodat(dir_fd, temporary, 0600, 0) || listen(fd, SOMAXCONN) ||
	    renameat(dir_fd, temporary, dir_fd, name))
		return log_err(-errno, "serve: cannot publish %s/%s", dir, name);
	return TAKE_FD(fd);
}
