/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups of a policy have room in the map `managed`. What the guard holds goes before what is only
 * counted: a container of a runtime that finds no room is not measured, and everything else goes on.
 * Pure: it reads no map.
 */
#ifndef BPF_FITTING_H
#define BPF_FITTING_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ports.h"

/* An entry that is in the map already. */
struct fitting_entry {
	uint64_t id;
	bool is_counted; /* for the observer alone, so it may go at any moment */
};

/* All zero = everything fits as it is. */
struct fitting {
	struct managed_group *groups; /* owned; those that fit; NULL = all of the policy */
	uint32_t nr_groups;
	uint64_t *dropped; /* owned; entries that must go before the groups are entered */
	uint32_t nr_dropped;
	uint32_t nr_left_out;
};

void fitting_fini(struct fitting *fitting);
#define cleanup_fitting cleanup(fitting_fini)

/*
 * Of the groups that are only counted, those that are in the map already go before new ones. An entry that
 * the policy does not name keeps its place, unless it is only counted: the guard's go later, when the new
 * policy is in force. 0 or -ENOMEM.
 */
int fitting_choose(const struct kernel_policy *policy, const struct fitting_entry *entries,
		   uint32_t nr_entries, uint32_t room, struct fitting *ret_fitting);

/* How many of `nr_slots` slots groups that are only counted may have, of all that the policy names. */
uint32_t fitting_counted_slots(const struct kernel_policy *policy, uint32_t nr_slots);

#endif
