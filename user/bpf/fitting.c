// SPDX-License-Identifier: Apache-2.0
#include "bpf/fitting.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"

void fitting_fini(struct fitting *fitting)
{
	free(fitting->groups);
	free(fitting->dropped);
	*fitting = (struct fitting){0};
}

static bool is_counted(const struct managed_group *group)
{
	return group->scope == MANAGED_COUNTED;
}

static bool is_entered(const struct fitting_entry *entries, uint32_t nr, uint64_t id)
{
	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].id == id)
			return true;
	return false;
}

static bool is_named(const struct managed_group *groups, uint32_t nr, uint64_t id)
{
	for (uint32_t i = 0; i < nr; i++)
		if (groups[i].cgroup_id == id)
			return true;
	return false;
}

/* Entries that stay beside the policy's until it is in force. */
static uint32_t count_others(const struct kernel_policy *policy,
			     const struct fitting_entry *entries, uint32_t nr_entries)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_entries; i++)
		nr += !entries[i].is_counted &&
		      !is_named(policy->groups, policy->nr_groups, entries[i].id);
	return nr;
}

static uint32_t count_new(const struct kernel_policy *policy, const struct fitting_entry *entries,
			  uint32_t nr_entries)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < policy->nr_groups; i++)
		nr += !is_entered(entries, nr_entries, policy->groups[i].cgroup_id);
	return nr;
}

/* Which of the counted groups have room: those that are entered, and then the first of the others. */
static void choose_counted(const struct kernel_policy *policy, const struct fitting_entry *entries,
			   uint32_t nr_entries, uint32_t room, bool *ret_fits)
{
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; room && i < policy->nr_groups; i++) {
			const struct managed_group *group = &policy->groups[i];
			const bool is_new = !is_entered(entries, nr_entries, group->cgroup_id);

			if (!is_counted(group) || is_new != pass)
				continue;
			ret_fits[i] = true;
			room--;
		}
}

int fitting_choose(const struct kernel_policy *policy, const struct fitting_entry *entries,
		   uint32_t nr_entries, uint32_t room, struct fitting *ret_fitting)
{
	struct fitting fitting cleanup_fitting = {0};
	bool *fits cleanup_free = calloc(policy->nr_groups + 1, sizeof(*fits));
	uint32_t taken = count_others(policy, entries, nr_entries);

	if (!fits)
		return -ENOMEM;
	if (nr_entries + count_new(policy, entries, nr_entries) <= room) {
		*ret_fitting = (struct fitting){0};
		return 0;
	}
	fitting.groups = calloc(policy->nr_groups + 1, sizeof(*fitting.groups));
	fitting.dropped = calloc(nr_entries + 1, sizeof(*fitting.dropped));
	if (!fitting.groups || !fitting.dropped)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		fits[i] = !is_counted(&policy->groups[i]);
		taken += fits[i];
	}
	choose_counted(policy, entries, nr_entries, taken < room ? room - taken : 0, fits);
	for (uint32_t i = 0; i < policy->nr_groups; i++)
		if (fits[i])
			fitting.groups[fitting.nr_groups++] = policy->groups[i];
	fitting.nr_left_out = policy->nr_groups - fitting.nr_groups;
	for (uint32_t i = 0; i < nr_entries; i++)
		if (entries[i].is_counted &&
		    !is_named(fitting.groups, fitting.nr_groups, entries[i].id))
			fitting.dropped[fitting.nr_dropped++] = entries[i].id;
	*ret_fitting = fitting;
	fitting = (struct fitting){0};
	return 0;
}

uint32_t fitting_counted_slots(const struct kernel_policy *policy, uint32_t nr_slots)
{
	uint32_t nr_own = 0;

	for (uint32_t i = 0; i < policy->nr_groups; i++)
		nr_own += policy->groups[i].is_container && !is_counted(&policy->groups[i]);
	return nr_own < nr_slots ? nr_slots - nr_own : 0;
}
