/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers 1 and 1i: is the workload root a root partition, are the exclusive containers isolated
 * partitions below it, and should they be?
 */
#ifndef CTL_TIER_H
#define CTL_TIER_H

#include <stdbool.h>

struct controller;

struct tier {
	bool is_held;	   /* the kernel reports a valid root partition */
	bool is_isolated;  /* and every container that is to be isolated is a valid one, too */
	bool is_undecided; /* it was not known who would be affected, so the choice was put off */
};

/*
 * Decide whether to use the tiers: sets controller->layout.root_partition and .isolated, and
 * leaves them if it is not known at present who would be affected.
 */
void ctl_choose_tier(struct controller *controller);
/* Make a choice that was put off; each second. Is it another one than that in force? */
bool ctl_decide_tier(struct controller *controller);
/*
 * Check the partitions as the kernel reports them. Raises findings while they are not valid, with
 * the kernel's reason. Call it after a round.
 */
void ctl_check_tier(struct controller *controller);

#endif
