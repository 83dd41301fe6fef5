/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs calls that may block in the kernel on threads other than the event loop's:
 * everything that takes cgroup_mutex, or a directory lock whose holder may be waiting for
 * cgroup_mutex.
 *
 * A chain is a pod's group with its subtree, or the workload root alone. The jobs of a
 * chain run in order. Without a thread pool (uninstall, dry run, unit tests) every call
 * runs synchronously.
 */
#ifndef CGROUP_JOBS_H
#define CGROUP_JOBS_H

#include "cgroup/manager.h"

/* These implement the members of groups_port with the same names. */
int jobs_read_tree(struct groups *groups, struct group_tree *ret_tree);
int jobs_await_tree(struct groups *groups, uint64_t limit_ns);
int jobs_apply(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX]);
int jobs_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	      char error[GROUP_ERROR_MAX]);
int jobs_kill(struct groups *groups, const char *path);
int jobs_tasks(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr);
int jobs_affinities(struct groups *groups, const char *path, struct affinities *ret_affinities);
int jobs_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		   size_t size);
int jobs_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr);
int jobs_path_of(struct groups *groups, uint64_t cgroup_id, char *ret_path, size_t size);
/* The key of jobs on the group: "root/pod/container" -> "root/pod". */
void jobs_chain_of(const char *path, char ret_key[GROUP_PATH_MAX]);
void jobs_waits_in(struct groups *groups, const char *path, char *ret_text, size_t size);

/*
 * Open a group. -EINPROGRESS: it waits for the lock of its directory, or for a CPU. What it finds then
 * is kept for the next who asks for this group.
 */
int jobs_open(struct groups *groups, const char *path, int *ret_fd);

/* Free the results of scans, lookups and opens that nobody has fetched. */
void jobs_fini(struct groups *groups);

#endif
