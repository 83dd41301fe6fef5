// SPDX-License-Identifier: Apache-2.0
/*
 * One system call for each task. What the kernel answers is the affinity in force: what the task
 * asked for, reduced to its cpuset and to the CPUs that are online.
 */
#include "cgroup/affinity.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/tasks.h"
#include "lib/cleanup.h"

/* The words of a set are those of the kernel's mask on 64-bit little-endian machines. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(long) == 8, "words of a mask");

/* -ESRCH: the task has ended. */
static int read_affinity(pid_t task, struct cpuset *ret_cpus)
{
	struct cpuset cpus = CPUSET_EMPTY;
	/* Not glibc's function, which does not say how much the kernel filled in. */
	const long len = syscall(SYS_sched_getaffinity, task, sizeof(cpus.words), cpus.words);

	if (len < 0)
		return -errno;
	cpus.nr_words = (uint32_t)((size_t)len / sizeof(*cpus.words));
	*ret_cpus = cpus;
	return 0;
}

int affinity_read(struct groups *groups, const char *path, struct affinities *ret_affinities)
{
	struct affinities found = {0};
	pid_t *tasks cleanup_free = NULL;
	uint32_t nr, nr_asked;
	int r = tasks_threads(groups, path, &tasks, &nr, &found.nr_left_out);

	if (r)
		return r;
	nr_asked = nr < AFFINITY_TASKS_MAX ? nr : AFFINITY_TASKS_MAX;
	found.nr_left_out += nr - nr_asked;
	for (uint32_t i = 0; i < nr_asked; i++) {
		struct cpuset cpus;

		r = read_affinity(tasks[i], &cpus);
		if (!r)
			affinity_add(&found, tasks[i], &cpus);
		else if (r != -ESRCH)
			found.nr_left_out++;
	}
	*ret_affinities = found;
	return 0;
}
