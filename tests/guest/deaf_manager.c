// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/*
 * deaf_manager SOCKET: a service manager (sd_notify(3)) that reads nothing, as process 1
 * does while it waits in the kernel. Prints "there" and stays until it is killed.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path)) {
		fprintf(stderr, "usage: deaf_manager SOCKET\n");
		return 2;
	}
	strcpy(address.sun_path, argv[1]);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address))) {
		perror(argv[1]);
		return 1;
	}
	puts("there");
	fflush(stdout);
	for (;;)
		pause();
}
