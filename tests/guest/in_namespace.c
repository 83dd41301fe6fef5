// SPDX-License-Identifier: Apache-2.0
/*
 * in_namespace GROUP COMMAND...: run a command in a cgroup namespace whose root is
 * GROUP (below the mount, made when missing), as a container has it. The mounts
 * stay the machine's. The guest's busybox cannot do this.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter(const char *group)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%.200s", group);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	strncat(path, "/cgroup.procs", sizeof(path) - strlen(path) - 1);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || unshare(CLONE_NEWCGROUP))
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 3) {
		fprintf(stderr, "usage: in_namespace GROUP COMMAND...\n");
		return 2;
	}
	r = enter(argv[1]);
	if (r) {
		fprintf(stderr, "in_namespace: %s: %s\n", argv[1], strerror(-r));
		return 126;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
