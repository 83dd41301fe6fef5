/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of enforcement.debuggers, which are actors of the guard once the cgroup they are in exists. */
#ifndef CTL_DEBUGGERS_H
#define CTL_DEBUGGERS_H

#include "ctl/ports.h"
#include "format/config.h"

struct controller;

struct debuggers {
	struct cgroup_list list; /* that was looked for last */
	/* The cgroup that each is in. 0 = it is not known yet, or there is none. */
	uint64_t parent_ids[CONFIG_DEBUGGERS_MAX];
};

/*
 * Look where they are; call before each publication, and each second. True if that has changed since the
 * last call, so that the policy has to be published. One open and fstat each.
 */
bool ctl_find_debuggers(struct controller *controller);
/* The actors among them; `ret_units` has room for CONFIG_DEBUGGERS_MAX. Returns how many there are. */
uint32_t ctl_list_debuggers(const struct controller *controller, struct actor_unit *ret_units);

#endif
