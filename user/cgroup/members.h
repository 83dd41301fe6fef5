/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port that moves processes back over the border of a managed cgroup. Each move is a job of its own,
 * in the order of the pod's other jobs. Moves whole processes only, and changes nothing of a process that
 * is not where the move put it.
 */
#ifndef CGROUP_MEMBERS_H
#define CGROUP_MEMBERS_H

#include "cgroup/dir.h"

struct groups;
struct member_mover;

/* Borrowed for the object's life. */
struct member_options {
	struct groups *groups;
	/* The path of the cgroup with this id; NULL = dir_path_of, which needs the kernel's cgroups. */
	int (*path_of)(const struct dir *dir, uint64_t cgroup_id, char *ret_path, size_t size);
};

/* -ENOMEM; reported. */
int member_mover_open(const struct member_options *options, struct member_mover **ret_mover);
void member_mover_close(struct member_mover *mover);
/* To whom the ends are reported; borrowed. What ends before this is nobody's. */
void member_mover_listen(struct member_mover *mover, const struct member_sink *sink);
struct member_port member_mover_port(struct member_mover *mover);

#endif
