/* SPDX-License-Identifier: Apache-2.0 */
/* The affinities of the tasks of one container: which CPUs they have, and how many have the same. */
#ifndef FORMAT_AFFINITY_H
#define FORMAT_AFFINITY_H

#include <sys/types.h>

#include "core/cpuset.h"

/* Tasks with equal affinities. A program that pins each thread has as many groups as threads. */
#define AFFINITY_GROUPS_MAX 32
/* Of a container with more tasks, the others are not asked. */
#define AFFINITY_TASKS_MAX 4096

struct affinity_group {
	struct cpuset cpus;
	uint32_t nr_tasks;
	pid_t task; /* the id of one of them */
};

/* All zero = no task. */
struct affinities {
	uint32_t nr_tasks;    /* in the groups */
	uint32_t nr_left_out; /* not asked, or of an affinity that found no room among the groups */
	uint32_t nr;
	struct affinity_group groups[AFFINITY_GROUPS_MAX]; /* in the order in which they came */
};

/* Count a task with this affinity. */
void affinity_add(struct affinities *affinities, pid_t task, const struct cpuset *cpus);

/*
 * May a task with the affinity `cpus` run on fewer CPUs than the cpuset has? The kernel shows no
 * offline CPU in an affinity, and `cpuset` is the effective one, which has none either.
 */
bool affinity_is_narrower(const struct cpuset *cpus, const struct cpuset *cpuset);

#endif
