/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of tests/data and docs/examples for the unit tests, which run in the
 * root of the source tree. A file below tests/data/bad begins with a line
 * "# expect: " and the whole error it must cause, without the file's name.
 */
#ifndef TESTS_DATA_H
#define TESTS_DATA_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "lib/file.h"

/* The file's content, for the caller to free; fails the test when it cannot be read. */
static inline char *data_read(const char *path, size_t *ret_len)
{
	char *data = NULL;

	if (file_read_path(path, 4U << 20, &data, ret_len) < 0)
		fail_msg("cannot read %s; run this in the root of the source tree", path);
	return data;
}

typedef void (*data_check)(const char *path, const char *data, size_t len, const char *expected);

/* Call `check` for each file below `directory`; at least `least` of them must be there. */
static inline void data_for_each_bad(const char *directory, unsigned int least, data_check check)
{
	static const char mark[] = "# expect: ";
	DIR *files = opendir(directory);
	struct dirent *entry;
	unsigned int nr = 0;

	if (!files)
		fail_msg("cannot read %s; run this in the root of the source tree", directory);
	while ((entry = readdir(files))) {
		char path[512], expected[1024];
		size_t len, line;
		char *data;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		data = data_read(path, &len);
		if (strncmp(data, mark, sizeof(mark) - 1) != 0)
			fail_msg("%s does not begin with '%s'", path, mark);
		line = strcspn(data, "\n");
		snprintf(expected, sizeof(expected), "%.*s", (int)(line - sizeof(mark) + 1),
			 data + sizeof(mark) - 1);
		check(path, data, len, expected);
		free(data);
		nr++;
	}
	closedir(files);
	assert_true(nr >= least);
}

#endif
