// SPDX-License-Identifier: Apache-2.0
#include "irq/irqbalance_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "irq/mask.h"
#include "lib/file.h"

/* irqbalance reads this much of a request, and nothing after it (1.3 to 1.9). */
#define REQUEST_MAX  500
#define ANSWER_MAX   (64U << 10)
#define WAIT_SECONDS 2

/* --- the connection ------------------------------------------------------------------------------ */

/* The abstract socket, which irqbalance takes where it cannot make a file, has a name of zeros. */
static int connect_to(int root_fd, pid_t pid, bool is_abstract, int *ret_fd)
{
	const struct timeval wait = {.tv_sec = WAIT_SECONDS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!is_abstract)
		snprintf(address.sun_path, sizeof(address.sun_path),
			 "/proc/self/fd/%d/run/irqbalance/irqbalance%d.sock", root_fd, (int)pid);
	/* The time for sending bounds connect(2), too. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Anybody may have the abstract name, and a file may be left by another process. */
static int check_peer(int fd, pid_t pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -errno;
	return peer.pid == pid ? 0 : -EPERM;
}

static int open_connection(int root_fd, pid_t pid, int *ret_fd)
{
	int fd cleanup_close = -1;
	int r = connect_to(root_fd, pid, false, &fd);

	/* If it is not there either, the file's error says more. */
	if ((r == -ENOENT || r == -ECONNREFUSED) && !connect_to(root_fd, pid, true, &fd))
		r = 0;
	if (!r)
		r = check_peer(fd, pid);
	if (r)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* irqbalance drops a message without credentials, and one that is not root's. */
static int send_request(int fd, const char *request)
{
	const struct ucred self = {getpid(), geteuid(), getegid()};
	struct iovec text = {(char *)(uintptr_t)request, strlen(request)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(header), &self, sizeof(self));
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Up to the end of the connection. */
static int read_answer(int fd, char *answer, size_t size)
{
	size_t len = 0;
	ssize_t got = 0;

	while (len + 1 < size && (got = read(fd, answer + len, size - 1 - len)) > 0)
		len += (size_t)got;
	if (got < 0)
		return -errno;
	answer[len] = '\0';
	return 0;
}

/* --- requests ------------------------------------------------------------------------------------ */

/* "SLEEP 10 IRQ … BANNED 00000000,0000003c" */
static int parse_setup(const char *answer, struct irqbalance_setup *ret_setup)
{
	const char *banned = strstr(answer, "BANNED ");
	struct irqbalance_setup setup;
	char mask[CPUSET_MAX / 4 + CPUSET_MAX / 32 + 2];

	if (!banned || sscanf(answer, "SLEEP %u", &setup.sleep_seconds) != 1)
		return -EPROTO;
	banned += strlen("BANNED ");
	if ((size_t)snprintf(mask, sizeof(mask), "%.*s", (int)strcspn(banned, " \n"), banned) >=
		    sizeof(mask) ||
	    mask_parse(MASK_HEX, mask, &setup.banned))
		return -EPROTO;
	*ret_setup = setup;
	return 0;
}

int irqbalance_ask(int root_fd, pid_t pid, struct irqbalance_setup *ret_setup)
{
	char *answer cleanup_free = malloc(ANSWER_MAX);
	int fd cleanup_close = -1;
	int r = answer ? open_connection(root_fd, pid, &fd) : -ENOMEM;

	if (!r)
		r = send_request(fd, "setup");
	if (!r)
		r = read_answer(fd, answer, ANSWER_MAX);
	return r ? r : parse_setup(answer, ret_setup);
}

int irqbalance_tell(int root_fd, pid_t pid, const struct cpuset *banned)
{
	char request[REQUEST_MAX + 1] = "settings cpus NULL";
	const size_t start = strlen("settings cpus ");
	int fd cleanup_close = -1;
	int r;

	if (banned &&
	    cpuset_format(banned, request + start, REQUEST_MAX - start) >= REQUEST_MAX - start)
		return -E2BIG;
	r = open_connection(root_fd, pid, &fd);
	return r ? r : send_request(fd, request);
}
