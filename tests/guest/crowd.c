// SPDX-License-Identifier: Apache-2.0
/*
 * crowd fill DIR N: make N cgroups below DIR, and remove them all.
 *
 * crowd spread DIR N FILE: on a line of standard input, make N cgroups below DIR, and try from each of
 * them to write FILE. One line "denied NUMBER".
 *
 * Each is one process, because starting thousands takes long under emulation.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const char *dir, const char *name, const char *file, char path[512])
{
	snprintf(path, 512, "%s/%s%s%s", dir, name, *file ? "/" : "", file);
}

/* 0 or the errno. */
static int try_write(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

static void make(const char *dir, const char *name)
{
	char path[512];

	path_of(dir, name, "", path);
	if (mkdir(path, 0755)) {
		perror(path);
		exit(1);
	}
}

static void end(const char *dir, const char *name)
{
	char path[512];

	path_of(dir, name, "", path);
	if (rmdir(path)) {
		perror(path);
		exit(1);
	}
}

static int fill(const char *dir, int nr)
{
	char name[32];

	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		make(dir, name);
	}
	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		end(dir, name);
	}
	return 0;
}

static int spread(const char *dir, int nr, const char *file)
{
	int nr_denied = 0;

	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < nr; i++) {
		char name[32], path[512];
		int error;

		snprintf(name, sizeof(name), "sub%d", i);
		make(dir, name);
		path_of(dir, name, "cgroup.procs", path);
		error = try_write(path, "0");
		if (error) {
			fprintf(stderr, "%s: %s\n", path, strerror(error));
			return 1;
		}
		nr_denied += try_write(file, "2") == EPERM;
	}
	printf("denied %d\n", nr_denied);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "fill"))
		return fill(argv[2], atoi(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "spread"))
		return spread(argv[2], atoi(argv[3]), argv[4]);
	fprintf(stderr, "usage: crowd fill DIR N | spread DIR N FILE\n");
	return 2;
}
