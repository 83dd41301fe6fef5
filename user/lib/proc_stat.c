// SPDX-License-Identifier: Apache-2.0
#include "lib/proc_stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/file.h"

int proc_stat_parse(const char *text, struct proc_stat *ret_stat)
{
	/* The name may contain blanks and parentheses, so it ends at the last closing one. */
	const char *name = strchr(text, '('), *rest = name ? strrchr(name, ')') : NULL;
	struct proc_stat stat = {0};
	unsigned long long start;

	/* fields 3 to 22: state ppid pgrp session tty tpgid flags … starttime */
	if (!rest ||
	    sscanf(rest + 1,
		   " %*c %d %*d %d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &stat.parent, &stat.session, &stat.flags, &start) != 4)
		return -EINVAL;
	snprintf(stat.comm, sizeof(stat.comm), "%.*s", (int)(rest - name - 1), name + 1);
	stat.start_ticks = start;
	*ret_stat = stat;
	return 0;
}

int proc_stat_read(int dir_fd, const char *name, struct proc_stat *ret_stat)
{
	char *text cleanup_free = NULL;
	int r = file_read_line(dir_fd, name, &text);

	return r ? r : proc_stat_parse(text, ret_stat);
}
