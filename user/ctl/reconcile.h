/* SPDX-License-Identifier: Apache-2.0 */
/* One round: compare what the ledger says with what the kernel has, and apply the difference. */
#ifndef CTL_RECONCILE_H
#define CTL_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

struct controller;
struct text;

struct reconciler {
	uint64_t resynced_ns; /* when everything was compared last */
	bool is_watch_stale;  /* not every cgroup is watched */
};

/* Compare everything, apply what differs, tell the kernel side, advance the requests. */
void ctl_reconcile(struct controller *controller);
/*
 * Mend the dirty containers alone: drift is undone in a few file reads, whatever
 * the number of pods. A whole round must follow; what is odd is left to it.
 */
void ctl_reconcile_dirty(struct controller *controller);

/* The plan of a dry run, one step a line. */
int ctl_print_plan(struct controller *controller, struct text *out);

#endif
