/* SPDX-License-Identifier: Apache-2.0 */
/* What changed since the kernel side, the watch and the cgroups were last brought up to date. */
#ifndef CTL_DIRTY_H
#define CTL_DIRTY_H

#include "ctl/ports.h"

#define MAX_DIRTY 16 /* of more than that the whole resync takes care */

struct dirty {
	bool ledger; /* it changed */
	bool groups; /* a cgroup was made or removed: ids are new */
	/* Containers that were written to: they are compared first. */
	uint32_t nr_paths;
	char paths[MAX_DIRTY][GROUP_PATH_MAX];
};

void dirty_mark_ledger(struct dirty *dirty);
void dirty_mark_groups(struct dirty *dirty);
/* Somebody wrote a file of the group at this path. */
void dirty_mark_path(struct dirty *dirty, const char *path);

/* Ledger and groups are brought up to date. */
void dirty_clear(struct dirty *dirty);
/* The paths are looked at now: how many there are. They stay until the next mark. */
uint32_t dirty_take_paths(struct dirty *dirty);

#endif
