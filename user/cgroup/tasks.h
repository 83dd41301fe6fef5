/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of groups: list them, move one in, end them, and find the user
 * tasks outside the workload root.
 */
#ifndef CGROUP_TASKS_H
#define CGROUP_TASKS_H

#include "cgroup/manager.h"

/* A subtree with more processes than this is not listed whole. */
#define TASKS_MAX (1u << 20)

/* As groups_port.tasks; -E2BIG above TASKS_MAX. */
int tasks_list(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr);

/* As groups_port.join. */
int tasks_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	       char error[GROUP_ERROR_MAX]);

/* As groups_port.kill. */
int tasks_kill(struct groups *groups, const char *path);

/* As groups_port.outsiders. *ret_populated_scope is "" when there is none. */
int tasks_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		    size_t size);

/* Fields of /proc/PID/stat: kernel flags and start time in ticks since boot. -EINVAL. */
int tasks_parse_stat(const char *text, unsigned int *ret_flags, uint64_t *ret_start_ticks);

/* Is this path machine.slice, or does it look like a container's or virtual machine's scope? */
bool tasks_is_foreign_scope(const char *path);

#endif
