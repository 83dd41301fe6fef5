// SPDX-License-Identifier: Apache-2.0
/* Grouping tasks by their affinity. */
#include "format/affinity.h"

static struct affinity_group *find_group(struct affinities *affinities, const struct cpuset *cpus)
{
	for (uint32_t i = 0; i < affinities->nr; i++)
		if (cpuset_equal(&affinities->groups[i].cpus, cpus))
			return &affinities->groups[i];
	return NULL;
}

void affinity_add(struct affinities *affinities, pid_t task, const struct cpuset *cpus)
{
	struct affinity_group *group = find_group(affinities, cpus);

	if (!group && affinities->nr == AFFINITY_GROUPS_MAX) {
		affinities->nr_left_out++;
		return;
	}
	if (!group) {
		group = &affinities->groups[affinities->nr++];
		*group = (struct affinity_group){.cpus = *cpus, .task = task};
	}
	group->nr_tasks++;
	affinities->nr_tasks++;
}

bool affinity_is_narrower(const struct cpuset *cpus, const struct cpuset *cpuset)
{
	return !cpuset_is_subset(cpuset, cpus);
}
