/* SPDX-License-Identifier: Apache-2.0 */
/* Tier 1: is the workload root a root partition, and should it be? */
#ifndef CTL_TIER_H
#define CTL_TIER_H

#include <stdbool.h>

struct controller;

struct tier {
	bool is_held; /* the kernel reports a valid root partition */
};

/* Decide whether to use tier 1: sets controller->layout.root_partition. */
void ctl_choose_tier(struct controller *controller);
/* Check the partition as the kernel reports it. Raises a finding while it is not valid. */
void ctl_check_tier(struct controller *controller);

#endif
