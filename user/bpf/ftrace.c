// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "bpf/ftrace.h"
#include "lib/file.h"

bool ftrace_is_off(const char *file)
{
	char *text cleanup_free = NULL;

	return !file_read_line(AT_FDCWD, file, &text) && !strcmp(text, "0");
}

int ftrace_mend(const char *file)
{
	int r;

	if (!ftrace_is_off(file))
		return 0;
	r = file_write_text(AT_FDCWD, file, "1");
	if (r)
		return r;
	/* a write may succeed without effect */
	return ftrace_is_off(file) ? -EIO : 1;
}
