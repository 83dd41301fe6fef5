/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/stat and /proc/PID/task/TID/stat tell about a process or thread. */
#ifndef LIB_PROC_STAT_H
#define LIB_PROC_STAT_H

#include <stdint.h>
#include <sys/types.h>

#define PROC_STAT_COMM_LEN 16

struct proc_stat {
	char comm[PROC_STAT_COMM_LEN]; /* cut; the kernel shows more of a kworker's name */
	pid_t parent;		       /* of the process */
	pid_t session;
	unsigned int flags;   /* the kernel's PF_… of the task */
	uint64_t start_ticks; /* since the boot, in ticks of sysconf(_SC_CLK_TCK) */
};

/* The file's text. -EINVAL: it is not that of such a file; *ret_stat is unchanged then. */
int proc_stat_parse(const char *text, struct proc_stat *ret_stat);
/* The same for the file `name` below dir_fd (may be AT_FDCWD); also the errors of file_read_line. */
int proc_stat_read(int dir_fd, const char *name, struct proc_stat *ret_stat);

#endif
