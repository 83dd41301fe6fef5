// SPDX-License-Identifier: Apache-2.0
/*
 * The packed take: whole NUMA nodes and sockets, then uncore caches if requested, whole
 * cores, and single CPUs. At each level the members with the fewest free CPUs come first.
 * With distribute-cpus-across-cores, single CPUs follow directly after the sockets.
 */
#include "core/cpu/take_private.h"

struct take_options take_options_of(const struct policy *policy, const struct topology *topology)
{
	const struct cpu_options *cpus = &policy->cpu_options;

	return (struct take_options){
		.compatibility = policy->compatibility,
		.sorting = cpus->distribute_across_cores ? TAKE_SPREAD : TAKE_PACKED,
		.uncore = cpus->prefer_uncore && !cpus->distribute_across_numa,
		.group = cpus->full_pcpus_only ? topology->cpus_per_core : 1,
		.by_socket = cpus->align_by_socket,
	};
}

/*
 * Take part of one uncore cache: either all of the lowest cores that can hold the need,
 * or nothing. With an odd need at most one sibling is left out.
 */
static bool take_part_of_uncore(struct take *take, uint32_t uncore)
{
	const struct topology *topology = take->topology;
	uint32_t cpus_per_core = topology->cpus_per_core ? topology->cpus_per_core : 1;
	int64_t nr_cores = (take->need + cpus_per_core - 1) / cpus_per_core;
	struct cpuset cpus = topology->uncores.cpus[uncore];
	struct cpuset cores = CPUSET_EMPTY, candidates = CPUSET_EMPTY;

	cpuset_intersect(&cpus, &take->free);
	cpuset_for_each (cpu, &cpus)
		cpuset_add(&cores, topology->core_of[cpu]);
	cpuset_for_each (core, &cores) {
		if (nr_cores-- == 0)
			break;
		cpuset_union(&candidates, &topology->cores.cpus[core]);
	}
	cpuset_intersect(&candidates, &take->free);
	if (take->need % 2 && topology->cpus_per_core > 1 &&
	    cpuset_count(&candidates) > take->need) {
		unsigned int last = 0;

		cpuset_for_each (cpu, &candidates)
			last = cpu;
		cpuset_remove(&candidates, last);
	}
	if (cpuset_count(&candidates) != take->need)
		return false;
	take_claim(take, &candidates, (unsigned int)take->need);
	return true;
}

static void claim_all(struct take *take, const struct cpuset *cpus)
{
	take_claim(take, cpus, cpuset_count(cpus));
}

/*
 * In-place resize: claim what is free of the cores of this cache that are partly held, in
 * order, up to the first one that exceeds the need. The proposal judges by the machine's
 * average whether this makes the core whole, and so do its vectors.
 */
static void complete_held_cores(struct take *take, uint32_t uncore)
{
	const struct topology *topology = take->topology;
	const struct cpuset *cache = &topology->uncores.cpus[uncore];

	for (uint32_t i = 0; i < topology->cores.nr; i++) {
		uint32_t nr_near = cpuset_count_common(&topology->cores.cpus[i], &take->near);
		struct cpuset cpus = topology->cores.cpus[i];

		cpuset_intersect(&cpus, cache);
		cpuset_intersect(&cpus, &take->free);
		if (!nr_near || nr_near + cpuset_count(&cpus) != topology->cpus_per_core)
			continue;
		if (cpuset_count(&cpus) > take->need)
			return;
		claim_all(take, &cpus);
	}
}

static void take_uncores(struct take *take, uint32_t group)
{
	const struct topology *topology = take->topology;
	bool whole_may_fit = take->held || take->need >= topology->cpus_per_uncore;
	struct level uncores = {&topology->uncores, topology->uncore_of};
	struct cpuset snapshot = take->free;
	struct take_order nodes, list;
	struct counts counts;

	take_order_nodes(take, &nodes);
	take_count_free(&uncores, &snapshot, &counts);
	/*
	 * The kubelet repeats the pass over whole caches before each attempt to take a
	 * part. A failed attempt changes nothing, so only the first pass can take CPUs.
	 */
	for (uint32_t i = 0; i < nodes.nr && whole_may_fit; i++) {
		list.nr = 0;
		take_append_near(take, &uncores, &snapshot, &topology->nodes.cpus[nodes.index[i]],
				 &counts, &list);
		take_whole(take, &uncores, &list, &counts);
	}
	if (satisfied(take))
		return;
	if (take->improved) {
		struct cpuset cpus;

		if (take_in_caches(topology, &take->free, (uint32_t)take->need, group, &cpus))
			claim_all(take, &cpus);
		return;
	}
	for (uint32_t i = 0; i < nodes.nr; i++) {
		list.nr = 0;
		take_append_near(take, &uncores, &snapshot, &topology->nodes.cpus[nodes.index[i]],
				 &counts, &list);
		for (uint32_t j = 0; j < list.nr; j++) {
			if (take->held)
				complete_held_cores(take, list.index[j]);
			if (take_part_of_uncore(take, list.index[j]))
				return;
		}
	}
}

static void take_cpus_spread(struct take *take)
{
	struct cpuset snapshot = take->free, cpus;
	struct take_order groups;

	if (take->improved) {
		take_across_cores(take->topology, &snapshot, (uint32_t)take->need, &cpus);
		claim_all(take, &cpus);
		return;
	}
	take_order_sockets(take, &groups);
	for (uint32_t i = 0; i < groups.nr; i++)
		take_cpus_of(take, &snapshot, &take->topology->sockets.cpus[groups.index[i]]);
}

static void take_all(struct take *take, const struct take_options *options)
{
	take_note_near(take);
	if (!satisfied(take))
		take_whole_groups(take, &take->outer);
	take_note_near(take);
	if (!satisfied(take))
		take_whole_groups(take, &take->inner);
	take_note_near(take);
	if (options->uncore)
		take_uncores(take, options->group);
	take_note_near(take);
	if (options->sorting == TAKE_PACKED)
		take_by_cores(take);
	else if (!satisfied(take))
		take_cpus_spread(take);
}

enum take_status take_packed(const struct topology *topology, const struct cpuset *free,
			     unsigned int count, const struct take_options *options,
			     struct cpuset *ret_cpus)
{
	struct take take;

	if (count > cpuset_count(free))
		return TAKE_NOT_ENOUGH;
	take_begin(&take, topology, free, count, options->compatibility);
	take_all(&take, options);
	*ret_cpus = take.result;
	return TAKE_OK;
}

enum take_status take_packed_near(const struct topology *topology, const struct cpuset *held,
				  const struct cpuset *free, unsigned int count,
				  const struct take_options *options, struct cpuset *ret_cpus)
{
	uint32_t nr_held = cpuset_count(held);
	struct cpuset pool = *free;
	struct take take;

	cpuset_subtract(&pool, held);
	if (count < nr_held || count - nr_held > cpuset_count(&pool))
		return TAKE_NOT_ENOUGH;
	take_begin(&take, topology, &pool, count - nr_held, COMPATIBILITY_REPAIRED);
	take.held = held;
	take_all(&take, options);
	*ret_cpus = take.result;
	cpuset_union(ret_cpus, held);
	return TAKE_OK;
}
