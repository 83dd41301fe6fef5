/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes and threads of groups: lists them, moves a process into a group, kills them, and
 * counts the user tasks outside the workload root.
 */
#ifndef CGROUP_TASKS_H
#define CGROUP_TASKS_H

#include "cgroup/manager.h"
#include "lib/proc_stat.h"

/* A subtree with more processes than this is not listed. */
#define TASKS_MAX (1u << 20)

/* Implements groups_port.tasks; -E2BIG above TASKS_MAX. */
int tasks_list(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr);

/* The processes of this group alone, without its descendants; the caller owns *ret_pids. */
int tasks_of_group(const struct dir *dir, const char *path, pid_t **ret_pids, uint32_t *ret_nr);

/*
 * The threads of the group and its descendants; the caller owns *ret_threads. *ret_nr_hidden counts
 * those outside our pid namespace, which have no id here. -E2BIG above TASKS_MAX.
 */
int tasks_threads(struct groups *groups, const char *path, pid_t **ret_threads, uint32_t *ret_nr,
		  uint32_t *ret_nr_hidden);

/* /proc/PID/stat, with the errors of proc_stat_read. */
int tasks_read_stat(const struct dir *dir, pid_t pid, struct proc_stat *ret_stat);
/* A pidfd becomes readable when its process has exited, reaped or not. */
bool tasks_is_alive(int pidfd);
/* The process's own cgroup, from the "0::/path" line, without the leading slash. Takes cgroup_mutex. */
int tasks_cgroup_of(const struct dir *dir, pid_t pid, char *ret_path, size_t size);

/* Implements groups_port.join. */
int tasks_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	       char error[GROUP_ERROR_MAX]);

/* Implements groups_port.kill. */
int tasks_kill(struct groups *groups, const char *path);

/* Implements groups_port.outsiders. *ret_populated_scope is "" if there is none. */
int tasks_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		    size_t size);

/*
 * Does this path look like machine.slice or like the scope of a foreign container or
 * virtual machine?
 */
bool tasks_is_foreign_scope(const char *path);

#endif
