/* SPDX-License-Identifier: Apache-2.0 */
/* The current state of one group: its tasks, its CPUs and memory nodes, and its throttling. */
#ifndef CGROUP_STATUS_H
#define CGROUP_STATUS_H

#include "cgroup/manager.h"

/*
 * Implements groups_port.status. -EINPROGRESS: an operation on its pod is in progress
 * (see jobs_open).
 */
int groups_status(struct groups *groups, const char *path, struct group_status *ret_status);
/* Implements groups_port.id_of. */
int groups_id_of(struct groups *groups, const char *path, uint64_t *ret_cgroup_id);

#endif
