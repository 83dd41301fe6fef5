/* SPDX-License-Identifier: Apache-2.0 */
/* One round: compare the ledger with the kernel, and apply the difference. */
#ifndef CTL_RECONCILE_H
#define CTL_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

struct controller;
struct text;

struct reconciler {
	uint64_t resynced_ns; /* when everything was last compared */
	bool is_watch_stale;  /* not every cgroup is watched */
	bool has_compared;    /* at least once since the start: the desired tree is known */
};

/* Compare everything, apply the differences, publish them and advance the requests. */
void ctl_reconcile(struct controller *controller);
/*
 * Repair only the dirty containers: drift is reverted with a few file reads, independent of
 * the number of pods. A full round must follow, which handles all other cases.
 */
void ctl_reconcile_dirty(struct controller *controller);

/* Print the plan of a dry run, one step per line. */
int ctl_print_plan(struct controller *controller, struct text *out);

#endif
