// SPDX-License-Identifier: Apache-2.0
/*
 * nest deep|wide|forever DIRECTORY [NUMBER [NAME_LENGTH]]: make directories (cgroups) inside
 * one: each in the last, beside each other, or trees of three without end, until the directory
 * is gone. Goes by descriptors, since paths have a limit that depth has not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LONGEST 200

static int go_deep(int fd, unsigned int levels, unsigned int name_length)
{
	char name[NAME_LONGEST + 1] = "";

	memset(name, 'd', name_length);
	for (unsigned int i = 0; i < levels; i++) {
		if (mkdirat(fd, name, 0755) && errno != EEXIST)
			return -errno;
		fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	}
	return 0;
}

static int go_wide(int fd, unsigned int nr)
{
	char name[32];

	for (unsigned int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "wide%u", i);
		if (mkdirat(fd, name, 0755))
			return -errno;
	}
	return 0;
}

static int go_forever(int fd)
{
	char name[32];

	for (unsigned long i = 0;; i++) {
		snprintf(name, sizeof(name), "r%lu", i);
		if (mkdirat(fd, name, 0755))
			return errno == ENOENT || errno == ENODEV ? 0 : -errno;
		/* Always more, yet not so many that their removal takes minutes of emulation. */
		usleep(2000);
		strcat(name, "/a");
		if (!mkdirat(fd, name, 0755)) {
			strcat(name, "/b");
			(void)mkdirat(fd, name, 0755);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int number = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 1;
	unsigned int length = argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 1;
	int fd = argc > 2 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = -EINVAL;

	if (fd >= 0 && length <= NAME_LONGEST) {
		if (!strcmp(argv[1], "deep"))
			err = go_deep(fd, number, length);
		else if (!strcmp(argv[1], "wide"))
			err = go_wide(fd, number);
		else if (!strcmp(argv[1], "forever"))
			err = go_forever(fd);
	}
	if (err)
		fprintf(stderr, "nest: %s\n", strerror(-err));
	return err != 0;
}
