/* SPDX-License-Identifier: Apache-2.0 */
/* Tier 1: is the workload root a root partition, and should it be? */
#ifndef CTL_TIER_H
#define CTL_TIER_H

#include <stdbool.h>

struct controller;

struct tier {
	bool is_held; /* the root partition, as the kernel reads it back */
};

/* Would tier 1 hurt? Decides controller->layout.root_partition. */
void ctl_choose_tier(struct controller *controller);
/* What the kernel says of the partition, not what we wrote. A finding while it is not held. */
void ctl_check_tier(struct controller *controller);

#endif
