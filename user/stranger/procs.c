// SPDX-License-Identifier: Apache-2.0
#include "stranger/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "lib/file.h"
#include "lib/proc_stat.h"
#include "lib/text.h"

/* include/linux/sched.h: flags of field 9 of /proc/PID/stat. */
#define PF_KTHREAD	  0x00200000
#define PF_NO_SETAFFINITY 0x04000000

/* --- system calls -------------------------------------------------------------------------------- */

/* The words of a set are those of the kernel's mask on 64-bit little-endian machines. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(long) == 8, "words of a mask");

static int get_affinity(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	struct cpuset cpus = CPUSET_EMPTY;
	/* Not glibc's function, which clears what the kernel does not fill in. */
	const long len = syscall(SYS_sched_getaffinity, thread, sizeof(cpus.words), cpus.words);

	if (len < 0)
		return -errno;
	cpus.nr_words = (uint32_t)((size_t)len / sizeof(cpus.words[0]));
	*ret_cpus = cpus;
	return 0;
}

static int set_affinity(void *self, pid_t thread, const struct cpuset *cpus)
{
	return syscall(SYS_sched_setaffinity, thread, sizeof(cpus->words), cpus->words) < 0 ? -errno
											    : 0;
}

static uint64_t now_ticks(void *self)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * per_second +
	       (uint64_t)now.tv_nsec * per_second / 1000000000ULL;
}

const struct affinity_calls affinity_system_calls = {
	.get = get_affinity,
	.set = set_affinity,
	.now_ticks = now_ticks,
};

/* --- procfs -------------------------------------------------------------------------------------- */

int thread_stat_parse(const char *text, struct thread_stat *ret_stat)
{
	struct proc_stat stat;
	int r = proc_stat_parse(text, &stat);

	if (r)
		return r;
	*ret_stat = (struct thread_stat){
		.parent = stat.parent,
		.start_ticks = stat.start_ticks,
		.is_kernel = stat.flags & PF_KTHREAD,
		.is_bound = stat.flags & PF_NO_SETAFFINITY,
	};
	text_copy(ret_stat->comm, sizeof(ret_stat->comm), stat.comm);
	return 0;
}

int thread_stat_read(int proc_fd, pid_t process, pid_t thread, struct thread_stat *ret_stat)
{
	char *text cleanup_free = NULL;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "%d/task/%d/stat", (int)process, (int)thread);
	r = file_read_line(proc_fd, name, &text);
	return r ? r : thread_stat_parse(text, ret_stat);
}

int process_cgroup(int proc_fd, pid_t process, char **ret_path)
{
	char *text cleanup_free = NULL;
	const char *line;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%d/cgroup", (int)process);
	r = file_read_line(proc_fd, name, &text);
	if (r)
		return r;
	line = !strncmp(text, "0::/", 4) ? text : strstr(text, "\n0::/");
	if (!line)
		return -EPROTO;
	line = strchr(line, '/');
	*ret_path = strndup(line, strcspn(line, "\n"));
	return *ret_path ? 0 : -ENOMEM;
}

/* Does this errno say that the task has ended? */
static bool has_ended(int error)
{
	return error == -ENOENT || error == -ESRCH;
}

static pid_t number_of(const struct dirent *entry)
{
	char *end;
	const long number = strtol(entry->d_name, &end, 10);

	return *end || number <= 0 || number > INT32_MAX ? 0 : (pid_t)number;
}

static int walk_threads(int proc_fd, pid_t process, visit_thread visit, void *self)
{
	DIR *threads cleanup_dir = NULL;
	const struct dirent *entry;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%d/task", (int)process);
	r = file_open_dir(proc_fd, name, &threads);
	if (r)
		return has_ended(r) ? 0 : r;
	while ((r = file_next_entry(threads, &entry)) > 0) {
		const pid_t thread = number_of(entry);

		r = thread ? visit(self, process, thread) : 0;
		if (r)
			break;
	}
	return r;
}

int procs_walk(int proc_fd, visit_thread visit, void *self)
{
	DIR *processes cleanup_dir = NULL;
	const struct dirent *entry;
	int r = file_open_dir(proc_fd, ".", &processes);

	if (r)
		return r;
	while ((r = file_next_entry(processes, &entry)) > 0) {
		const pid_t process = number_of(entry);

		r = process ? walk_threads(proc_fd, process, visit, self) : 0;
		if (r)
			break;
	}
	return r;
}
