// SPDX-License-Identifier: Apache-2.0
/*
 * uevent_forge ACTION CPU: tell everybody who listens for uevents that a CPU goes on or off,
 * in each way a process has: to the kernel's group, to each listener by its port, and through
 * the kernel's own socket, which passes a message on. Prints what became of each.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char text[256];
static size_t text_len;

static void send_to(int fd, const char *what, unsigned int port, unsigned int groups,
		    struct nlmsghdr *head)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = port, .nl_groups = groups};
	struct iovec parts[] = {{head, head ? sizeof(*head) : 0}, {text, text_len}};
	struct msghdr message = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = parts, .msg_iovlen = 2};

	if (sendmsg(fd, &message, 0) < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: sent\n", what);
}

/* Ports of all sockets on the uevent protocol, of whoever's they are. */
static void send_to_listeners(int fd)
{
	FILE *table = fopen("/proc/net/netlink", "re");
	unsigned int protocol, port;
	char line[256];

	while (table && fgets(line, sizeof(line), table))
		if (sscanf(line, "%*s %u %u", &protocol, &port) == 2 &&
		    protocol == NETLINK_KOBJECT_UEVENT && port)
			send_to(fd, "to a listener", port, 0, NULL);
	if (table)
		fclose(table);
}

int main(int argc, char **argv)
{
	struct nlmsghdr head = {.nlmsg_type = NLMSG_MIN_TYPE, .nlmsg_flags = NLM_F_REQUEST};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (argc != 3 || fd < 0)
		return 1;
	/* Words that end with a NUL each, as the kernel's have them. */
	text_len = (size_t)snprintf(text, sizeof(text),
				    "%s@/devices/system/cpu/cpu%s%cACTION=%s%c"
				    "DEVPATH=/devices/system/cpu/cpu%s%cSUBSYSTEM=cpu%c",
				    argv[1], argv[2], 0, argv[1], 0, argv[2], 0, 0);
	if (text_len >= sizeof(text))
		return 1;
	head.nlmsg_len = (unsigned int)(sizeof(head) + text_len);
	send_to(fd, "to the group", 0, 1, NULL);
	send_to_listeners(fd);
	send_to(fd, "through the kernel", 0, 0, &head);
	close(fd);
	return 0;
}
