// SPDX-License-Identifier: Apache-2.0
/* The process port: what the agent itself costs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/proc_stat.h"

/* The boot's wall clock time moves when the clock is set, so it is asked for once. */
int process_note_start(struct agent *agent)
{
	struct proc_stat stat;
	uint64_t since_boot;
	int r = proc_stat_read(AT_FDCWD, "/proc/self/stat", &stat);

	if (r)
		return r;
	since_boot = stat.start_ticks * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
	agent->started_ns =
		clock_read_ns(CLOCK_REALTIME) - clock_read_ns(CLOCK_BOOTTIME) + since_boot;
	return 0;
}

static int count_fds(uint64_t *ret_nr)
{
	DIR *directory cleanup_dir = opendir("/proc/self/fd");
	uint64_t nr = 0;
	const struct dirent *entry;
	int r;

	if (!directory)
		return -errno;
	while ((r = file_next_entry(directory, &entry)) > 0)
		nr += entry->d_name[0] != '.';
	if (r)
		return r;
	*ret_nr = nr - 1; /* without the directory's own */
	return 0;
}

int process_usage(void *self, struct process_usage *ret_usage)
{
	const struct agent *agent = self;
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct process_usage usage = {.started_ns = agent->started_ns};
	struct rlimit limit;
	char *statm cleanup_free = NULL;
	int r;

	r = file_read_line(AT_FDCWD, "/proc/self/statm", &statm);
	if (r)
		return r;
	if (sscanf(statm, "%" SCNu64 " %" SCNu64, &usage.virtual_bytes, &usage.resident_bytes) != 2)
		return -EBADMSG;
	usage.virtual_bytes *= page_bytes;
	usage.resident_bytes *= page_bytes;
	r = count_fds(&usage.nr_fds);
	if (r)
		return r;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	usage.max_fds = limit.rlim_cur;
	usage.cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	*ret_usage = usage;
	return 0;
}
