/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks as procfs shows them, and their affinities, which only system calls change. */
#ifndef STRANGER_PROCS_H
#define STRANGER_PROCS_H

#include <sys/types.h>

#include "core/cpuset.h"
#include "format/stranger_report.h"

/*
 * The system calls for one thread. Negative errno; -ESRCH = it has ended. `get` yields only CPUs
 * that are online.
 */
struct affinity_calls {
	void *self;
	int (*get)(void *self, pid_t thread, struct cpuset *ret_cpus);
	int (*set)(void *self, pid_t thread, const struct cpuset *cpus);
	/* The time since boot in the ticks in which procfs has the start of a thread. */
	uint64_t (*now_ticks)(void *self);
};

/* Those of the kernel. */
extern const struct affinity_calls affinity_system_calls;

/* A thread's /proc/PID/task/TID/stat. */
struct thread_stat {
	char comm[STRANGER_COMM_LEN];
	pid_t parent; /* of its process */
	uint64_t start_ticks;
	bool is_kernel; /* a kernel thread */
	bool is_bound;	/* nobody may change its affinity */
};

/* Negative errno; -EINVAL for text that is not that of the file. */
int thread_stat_parse(const char *text, struct thread_stat *ret_stat);
int thread_stat_read(int proc_fd, pid_t process, pid_t thread, struct thread_stat *ret_stat);
/*
 * The cgroup of a process on cgroup v2, "/" = the root. Its threads may be in cgroups below this one.
 * The caller owns *ret_path. Negative errno.
 */
int process_cgroup(int proc_fd, pid_t process, char **ret_path);

/*
 * Call `visit` for each thread of the machine until it returns other than 0, which is then the
 * result. Threads that begin or end meanwhile may be missed. Negative errno.
 */
typedef int (*visit_thread)(void *self, pid_t process, pid_t thread);
int procs_walk(int proc_fd, visit_thread visit, void *self);

#endif
