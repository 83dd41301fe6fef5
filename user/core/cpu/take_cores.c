// SPDX-License-Identifier: Apache-2.0
/*
 * The steps that all packed takes share: whole NUMA nodes and sockets, whole cores,
 * single CPUs; and the function that claims CPUs.
 *
 * Orders are computed once per step, from a snapshot of the free set at its start. With
 * compatibility kubelet-1.36 a member that is listed twice is therefore claimed twice, as
 * in the kubelet. In repaired mode only CPUs that are still free are claimed.
 */
#include "core/cpu/take_private.h"

void take_claim(struct take *take, const struct cpuset *cpus, unsigned int count)
{
	if (take->repaired && !cpuset_is_subset(cpus, &take->free))
		return;
	cpuset_union(&take->result, cpus);
	cpuset_subtract(&take->free, cpus);
	take->need -= count;
}

static void claim_cpu(struct take *take, unsigned int cpu)
{
	if (take->repaired && !cpuset_has(&take->free, cpu))
		return;
	cpuset_add(&take->result, cpu);
	cpuset_remove(&take->free, cpu);
	take->need--;
}

/*
 * The number of free CPUs that make member `index` whole. The kubelet uses the machine's
 * average for cores and sockets. On an asymmetric machine it therefore takes some cores
 * for whole although not all their CPUs are free, and misses others that are.
 */
static uint32_t whole_size(const struct take *take, const struct level *level, uint32_t index)
{
	const struct topology *topology = take->topology;

	if (!take->repaired && level->members == &topology->cores)
		return topology->cpus_per_core;
	if (!take->repaired && level->members == &topology->sockets)
		return topology->cpus_per_socket;
	return level->members->nr_cpus[index];
}

/* Claim the free CPUs of a member if each of its CPUs is free or near. */
static void take_rest(struct take *take, const struct level *level, uint32_t index,
		      const struct counts *counts)
{
	uint32_t nr_near = cpuset_count_common(&level->members->cpus[index], &take->near);
	uint32_t nr_free = counts->free[index];
	struct cpuset cpus = level->members->cpus[index];

	if (take->need < nr_free || nr_free + nr_near != level->members->nr_cpus[index])
		return;
	cpuset_subtract(&cpus, &take->near);
	take_claim(take, &cpus, nr_free);
}

void take_whole(struct take *take, const struct level *level, const struct take_order *list,
		const struct counts *counts)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		uint32_t index = list->index[i], size = level->members->nr_cpus[index];

		if (take->held)
			take_rest(take, level, index, counts);
		else if (take->need >= size &&
			 counts->free[index] == whole_size(take, level, index))
			take_claim(take, &level->members->cpus[index], size);
	}
}

/* No whole member can be taken if even the smallest one is larger than the need. */
static bool has_member_of_at_most(const struct level *level, int64_t size)
{
	for (uint32_t i = 0; i < level->members->nr; i++) {
		if (level->members->nr_cpus[i] <= size)
			return true;
	}
	return false;
}

void take_whole_groups(struct take *take, const struct level *level)
{
	struct take_order list;
	struct counts counts;

	if (!take->held && !has_member_of_at_most(level, take->need))
		return;
	if (level->members == take->outer.members)
		take_order_outer(take, &list);
	else
		take_order_inner(take, &list);
	take_count_free(level, &take->free, &counts);
	take_whole(take, level, &list, &counts);
}

static void take_whole_cores(struct take *take)
{
	struct level cores = {&take->topology->cores, take->topology->core_of};
	struct cpuset snapshot = take->free;
	struct take_order groups, list;
	struct counts counts;

	if (!take->held && !has_member_of_at_most(&cores, take->need))
		return;
	take_order_inner(take, &groups);
	take_count_free(&cores, &snapshot, &counts);
	for (uint32_t i = 0; i < groups.nr && !satisfied(take); i++) {
		list.nr = 0;
		take_append_near(take, &cores, &snapshot,
				 &take->inner.members->cpus[groups.index[i]], &counts, &list);
		take_whole(take, &cores, &list, &counts);
	}
}

void take_cpus_of(struct take *take, const struct cpuset *snapshot, const struct cpuset *group)
{
	struct cpuset cpus = *group;

	cpuset_intersect(&cpus, snapshot);
	cpuset_for_each (cpu, &cpus) {
		if (satisfied(take))
			return;
		claim_cpu(take, cpu);
	}
}

static void take_cpus_packed(struct take *take)
{
	struct level cores = {&take->topology->cores, take->topology->core_of};
	struct cpuset snapshot = take->free;
	struct take_order groups, list;
	struct counts counts;

	take_order_inner(take, &groups);
	take_count_free(&cores, &snapshot, &counts);
	for (uint32_t i = 0; i < groups.nr && !satisfied(take); i++) {
		list.nr = 0;
		take_append_near(take, &cores, &snapshot,
				 &take->inner.members->cpus[groups.index[i]], &counts, &list);
		for (uint32_t j = 0; j < list.nr && !satisfied(take); j++)
			take_cpus_of(take, &snapshot, &cores.members->cpus[list.index[j]]);
	}
}

void take_by_cores(struct take *take)
{
	if (!satisfied(take))
		take_whole_cores(take);
	take_note_near(take);
	if (!satisfied(take))
		take_cpus_packed(take);
}

void take_inside(const struct topology *topology, const struct cpuset *free, uint32_t count,
		 struct cpuset *ret_cpus)
{
	struct take take;

	take_begin(&take, topology, free, count, COMPATIBILITY_IMPROVED);
	take_by_cores(&take);
	*ret_cpus = take.result;
}
