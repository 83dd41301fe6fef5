// SPDX-License-Identifier: Apache-2.0
/* irqbalance_ask PID [REQUEST]: prints what irqbalance answers over its socket, to "setup" if nothing is named. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct ucred self = {getpid(), getuid(), getgid()};
	struct iovec text = {"setup", 5};
	char control[CMSG_SPACE(sizeof(self))] __attribute__((aligned(8))) = {0}, answer[4096];
	struct msghdr message = {.msg_iov = &text,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ssize_t len;

	if (argc != 2 && argc != 3)
		return 2;
	if (argc == 3)
		text = (struct iovec){argv[2], strlen(argv[2])};
	snprintf(address.sun_path, sizeof(address.sun_path), "/run/irqbalance/irqbalance%.20s.sock",
		 argv[1]);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(header), &self, sizeof(self));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    sendmsg(fd, &message, 0) < 0) {
		perror(address.sun_path);
		return 1;
	}
	while ((len = read(fd, answer, sizeof(answer))) > 0)
		fwrite(answer, 1, (size_t)len, stdout);
	putchar('\n');
	return 0;
}
