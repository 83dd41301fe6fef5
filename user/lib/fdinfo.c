// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

/* The value of the field without its line feed, owned by the caller; NULL = it is not there. */
static char *find_field(int fd, const char *field)
{
	FILE *file cleanup_file = NULL;
	char *line cleanup_free = NULL;
	char path[64], start[64];
	size_t size = 0, len;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	len = (size_t)snprintf(start, sizeof(start), "%s:\t", field);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0) {
		if (strncmp(line, start, len))
			continue;
		line[strcspn(line, "\n")] = '\0';
		return strdup(line + len);
	}
	return NULL;
}

bool fdinfo_is(int fd, const char *field, const char *value)
{
	char *found cleanup_free = find_field(fd, field);

	return found && !strcmp(found, value);
}

int fdinfo_number(int fd, const char *field, uint64_t *ret_number)
{
	char *found cleanup_free = find_field(fd, field);
	uint64_t number;
	char rest;

	if (!found || sscanf(found, "%" SCNu64 "%c", &number, &rest) != 1)
		return -ENOENT;
	*ret_number = number;
	return 0;
}
