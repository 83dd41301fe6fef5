// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

bool fdinfo_is(int fd, const char *field, const char *value)
{
	FILE *file cleanup_file = NULL;
	char *line cleanup_free = NULL;
	char path[64], wanted[128];
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(wanted, sizeof(wanted), "%s:\t%s\n", field, value);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		if (!strcmp(line, wanted))
			return true;
	return false;
}
