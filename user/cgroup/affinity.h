/* SPDX-License-Identifier: Apache-2.0 */
/* The affinities of the tasks of a group and of the groups below it. Changes nothing. */
#ifndef CGROUP_AFFINITY_H
#define CGROUP_AFFINITY_H

#include "cgroup/manager.h"
#include "format/affinity.h"

/* Implements groups_port.affinities. */
int affinity_read(struct groups *groups, const char *path, struct affinities *ret_affinities);

#endif
