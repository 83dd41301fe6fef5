/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may wait in the kernel, run off the loop's thread: everything that takes
 * cgroup_mutex, or a directory's lock that somebody holds who waits for cgroup_mutex.
 *
 * A chain is a pod with all below it, or the workload root alone: its jobs run in
 * order. Without a pool (uninstall, dry run, tests of the room) everything runs at once.
 */
#ifndef CGROUP_JOBS_H
#define CGROUP_JOBS_H

#include "cgroup/manager.h"

/* As the members of groups_port of these names. */
int jobs_observe(struct groups *groups, struct group_tree *ret_tree);
int jobs_apply(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX]);
int jobs_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	      char error[GROUP_ERROR_MAX]);
int jobs_kill(struct groups *groups, const char *path);
int jobs_tasks(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr);
int jobs_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		   size_t size);
int jobs_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr);
void jobs_waits_in(struct groups *groups, const char *path, char *ret_text, size_t size);

/*
 * Open a group on the loop's thread. -EINPROGRESS: something goes on for its pod, and
 * this would wait for the same.
 */
int jobs_open(struct groups *groups, const char *path, int *ret_fd);

/* What a look that nobody has asked for left behind. */
void jobs_fini(struct groups *groups);

#endif
