/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed since the BPF backend, the watch and the cgroups were last updated. */
#ifndef CTL_DIRTY_H
#define CTL_DIRTY_H

#include "ctl/ports.h"

#define MAX_DIRTY 16 /* if there are more, the next resync handles them */

struct dirty {
	bool ledger; /* it has changed */
	bool groups; /* a cgroup was created or removed, so ids have changed */
	bool chains; /* a step has ended, and the next of its chain is due in the next round */
	/* Containers that were written to: they are compared first. */
	uint32_t nr_paths;
	char paths[MAX_DIRTY][GROUP_PATH_MAX];
};

/* What was granted has changed: cgroups, backend and watch have to follow. */
void dirty_mark_ledger(struct dirty *dirty);
/* A cgroup was created or removed: the backend and the watch know the wrong ids. */
void dirty_mark_groups(struct dirty *dirty);
/* A step that took long has ended: its chain continues in the next round. */
void dirty_mark_chains(struct dirty *dirty);
/* A round has tried the steps of all chains that were due. */
void dirty_clear_chains(struct dirty *dirty);
/* Another process wrote a file of the group at this path. */
void dirty_mark_path(struct dirty *dirty, const char *path);

/* Ledger and groups have been brought up to date. */
void dirty_clear(struct dirty *dirty);
/* Begin to compare the paths; returns their number. They remain valid until the next mark. */
uint32_t dirty_take_paths(struct dirty *dirty);

#endif
