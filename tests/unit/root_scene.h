/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain directory in the place of the machine's root, whose files a test writes. Include it
 * after cmocka.
 */
#ifndef TESTS_ROOT_SCENE_H
#define TESTS_ROOT_SCENE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

/* Makes the directory, whose name begins with `prefix`. 0 or -1. */
static inline int make_root(const char *prefix)
{
	snprintf(root, sizeof(root), "/tmp/%s-XXXXXX", prefix);
	return mkdtemp(root) ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	return remove(path);
}

/* With all that is in it. 0 or -1. */
static inline int remove_root(void)
{
	return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file and makes its directories. It is then as long as `text`, as in procfs. */
static inline void put(const char *path, const char *text)
{
	char whole[768], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The text of a file, up to 8191 bytes; valid until the next call. */
static inline char *get(const char *path)
{
	static char text[8192];
	char whole[768];
	FILE *file;
	size_t len;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	file = fopen(whole, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	return text;
}

#endif
