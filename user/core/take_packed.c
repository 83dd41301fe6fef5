// SPDX-License-Identifier: Apache-2.0
/*
 * The packed take: whole NUMA nodes and sockets, then uncore caches when asked
 * for, whole cores, single CPUs; at each level what is scarcest first.
 *
 * Orders are computed from the free set as it is when a step starts (the
 * snapshot) and never again inside the step. In kubelet-1.36 compatibility a
 * thing that is listed twice is therefore claimed twice, as the kubelet does;
 * in repaired mode a claim must still be free.
 *
 * Bounds: every list has at most CPUSET_MAX entries, because each entry stands
 * for at least one free CPU; a step walks the machine at most once per entry of
 * the list of the level above it, which is at most once per CPU in total unless
 * a socket or node is listed several times.
 */
#include <string.h>

#include "core/take_private.h"

/* A level of the topology together with the way from a CPU to its member of that level. */
struct level {
	const struct topology_level *members;
	const uint32_t *index_of;
};

struct take {
	const struct topology *topology;
	bool repaired, improved;
	struct level outer, inner; /* the hierarchy: which of node and socket comes first */
	bool numa_first;
	struct cpuset free, result;
	/* Below zero when the kubelet claims twice. */
	int64_t need;
};

struct counts {
	uint16_t free[CPUSET_MAX]; /* by member index */
};

static struct level cores_of(const struct topology *topology)
{
	return (struct level){&topology->cores, topology->core_of};
}

static struct level uncores_of(const struct topology *topology)
{
	return (struct level){&topology->uncores, topology->uncore_of};
}

static void begin(struct take *take, const struct topology *topology, const struct cpuset *free,
		  int64_t need, enum compatibility compatibility)
{
	struct level nodes = {&topology->nodes, topology->node_of};
	struct level sockets = {&topology->sockets, topology->socket_of};

	take->topology = topology;
	take->repaired = compatibility != COMPATIBILITY_KUBELET_1_36;
	take->improved = compatibility == COMPATIBILITY_IMPROVED;
	take->numa_first = topology->num_sockets >= topology->num_nodes;
	take->outer = take->numa_first ? nodes : sockets;
	take->inner = take->numa_first ? sockets : nodes;
	take->free = *free;
	take->result = CPUSET_EMPTY;
	take->need = need;
}

static bool satisfied(const struct take *take)
{
	return take->need < 1;
}

/* The need falls by all of `cpus`, also by those that were not free: that is the kubelet's way. */
static void claim(struct take *take, const struct cpuset *cpus, unsigned int count)
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

/* Counting bits per member is the cheaper way as long as there are few members. */
static bool is_small(const struct level *level)
{
	return level->members->nr <= TOPOLOGY_MAX_NODES;
}

static void count_free(const struct level *level, const struct cpuset *free,
		       struct counts *ret_counts)
{
	const struct topology_level *members = level->members;

	if (is_small(level)) {
		for (uint32_t i = 0; i < members->nr; i++)
			ret_counts->free[i] =
				(uint16_t)cpuset_count_common(&members->cpus[i], free);
		return;
	}
	memset(ret_counts->free, 0, members->nr * sizeof(ret_counts->free[0]));
	for (uint32_t i = 0; i < free->nr_words; i++) {
		const uint32_t *index_of = level->index_of + i * CPUSET_WORD_BITS;

		for (uint64_t bits = free->words[i]; bits; bits &= bits - 1)
			ret_counts->free[index_of[__builtin_ctzll(bits)]]++;
	}
}

/* The members of `level` that have a CPU in free ∩ within, ascending. */
static uint32_t find_members(const struct level *level, const struct cpuset *free,
			     const struct cpuset *within, uint16_t *ret_found)
{
	uint32_t nr_words = free->nr_words < within->nr_words ? free->nr_words : within->nr_words;
	uint32_t nr_found = 0;
	uint64_t found[CPUSET_MAX / 64];

	memset(found, 0, (level->members->nr / 64 + 1) * sizeof(found[0]));
	for (uint32_t i = 0; i < nr_words; i++) {
		const uint32_t *index_of = level->index_of + i * CPUSET_WORD_BITS;

		for (uint64_t bits = free->words[i] & within->words[i]; bits; bits &= bits - 1) {
			uint32_t member = index_of[__builtin_ctzll(bits)];

			found[member / 64] |= 1ULL << (member % 64);
		}
	}
	for (uint32_t i = 0; i * 64 < level->members->nr; i++) {
		for (uint64_t bits = found[i]; bits; bits &= bits - 1)
			ret_found[nr_found++] = (uint16_t)(i * 64 + __builtin_ctzll(bits));
	}
	return nr_found;
}

static bool have_common(const struct cpuset *a, const struct cpuset *b, const struct cpuset *c)
{
	uint32_t nr_words = a->nr_words < b->nr_words ? a->nr_words : b->nr_words;

	for (uint32_t i = 0; i < nr_words; i++) {
		if (a->words[i] & b->words[i] & c->words[i])
			return true;
	}
	return false;
}

static uint32_t find_few_members(const struct level *level, const struct cpuset *free,
				 const struct cpuset *within, uint16_t *ret_found)
{
	uint32_t nr_found = 0;

	for (uint32_t i = 0; i < level->members->nr; i++) {
		if (have_common(&level->members->cpus[i], free, within))
			ret_found[nr_found++] = (uint16_t)i;
	}
	return nr_found;
}

/* Append to `list` the members that have a CPU in free ∩ within, by (free CPUs, id). */
static void append_members(const struct level *level, const struct cpuset *free,
			   const struct cpuset *within, const struct counts *counts,
			   struct take_order *list)
{
	uint16_t found[CPUSET_MAX], start[CPUSET_MAX + 2];
	uint32_t nr_found, highest = 0;

	nr_found = is_small(level) ? find_few_members(level, free, within, found)
				   : find_members(level, free, within, found);
	/* A stable counting sort: equal counts keep the order of ids. */
	for (uint32_t i = 0; i < nr_found; i++) {
		if (counts->free[found[i]] > highest)
			highest = counts->free[found[i]];
	}
	memset(start, 0, (highest + 2) * sizeof(start[0]));
	for (uint32_t i = 0; i < nr_found; i++)
		start[counts->free[found[i]] + 1]++;
	for (uint32_t i = 1; i <= highest; i++)
		start[i] = (uint16_t)(start[i] + start[i - 1]);
	for (uint32_t i = 0; i < nr_found; i++)
		list->index[list->nr + start[counts->free[found[i]]]++] = found[i];
	list->nr += nr_found;
}

static void order_outer(const struct take *take, struct take_order *ret_list)
{
	struct counts counts;

	count_free(&take->outer, &take->free, &counts);
	ret_list->nr = 0;
	append_members(&take->outer, &take->free, &take->free, &counts, ret_list);
}

/* Members of the inner level below each member of the outer; may name one several times. */
static void order_inner(const struct take *take, struct take_order *ret_list)
{
	struct take_order outer;
	struct counts counts;

	order_outer(take, &outer);
	count_free(&take->inner, &take->free, &counts);
	ret_list->nr = 0;
	for (uint32_t i = 0; i < outer.nr; i++)
		append_members(&take->inner, &take->free,
			       &take->outer.members->cpus[outer.index[i]], &counts, ret_list);
}

static void order_nodes(const struct take *take, struct take_order *ret_list)
{
	if (take->numa_first)
		order_outer(take, ret_list);
	else
		order_inner(take, ret_list);
}

static void order_sockets(const struct take *take, struct take_order *ret_list)
{
	if (take->numa_first)
		order_inner(take, ret_list);
	else
		order_outer(take, ret_list);
}

/*
 * How many free CPUs make member `index` whole. The kubelet compares cores and
 * sockets with the machine's average, so an uneven machine has "whole" cores
 * whose CPUs are not all free, and whole cores it does not see.
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

static void take_whole(struct take *take, const struct level *level, const struct take_order *list,
		       const struct counts *counts)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		uint32_t index = list->index[i], size = level->members->nr_cpus[index];

		if (take->need >= size && counts->free[index] == whole_size(take, level, index))
			claim(take, &level->members->cpus[index], size);
	}
}

static void take_whole_groups(struct take *take, const struct level *level)
{
	struct take_order list;
	struct counts counts;

	if (level->members == take->outer.members)
		order_outer(take, &list);
	else
		order_inner(take, &list);
	count_free(level, &take->free, &counts);
	take_whole(take, level, &list, &counts);
}

/*
 * Part of one uncore cache: the lowest cores that could hold the need, all or
 * nothing. With an odd need one sibling may be left out, never more than one.
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
	claim(take, &candidates, (unsigned int)take->need);
	return true;
}

static void claim_all(struct take *take, const struct cpuset *cpus)
{
	claim(take, cpus, cpuset_count(cpus));
}

static void take_uncores(struct take *take, uint32_t group)
{
	const struct topology *topology = take->topology;
	bool whole_may_fit = take->need >= topology->cpus_per_uncore;
	struct level uncores = uncores_of(topology);
	struct cpuset snapshot = take->free;
	struct take_order nodes, list;
	struct counts counts;

	order_nodes(take, &nodes);
	count_free(&uncores, &snapshot, &counts);
	/*
	 * The kubelet repeats the pass over whole caches before each attempt at a
	 * part. A failed attempt changes nothing, so only the first pass can take.
	 */
	for (uint32_t i = 0; i < nodes.nr && whole_may_fit; i++) {
		list.nr = 0;
		append_members(&uncores, &snapshot, &topology->nodes.cpus[nodes.index[i]], &counts,
			       &list);
		take_whole(take, &uncores, &list, &counts);
	}
	if (take->improved) {
		struct cpuset cpus;

		if (!satisfied(take) &&
		    take_in_caches(topology, &take->free, (uint32_t)take->need, group, &cpus))
			claim_all(take, &cpus);
		return;
	}
	for (uint32_t i = 0; i < nodes.nr && !satisfied(take); i++) {
		list.nr = 0;
		append_members(&uncores, &snapshot, &topology->nodes.cpus[nodes.index[i]], &counts,
			       &list);
		for (uint32_t j = 0; j < list.nr; j++) {
			if (take_part_of_uncore(take, list.index[j]))
				return;
		}
	}
}

static bool has_core_of_at_most(const struct topology *topology, int64_t size)
{
	for (uint32_t i = 0; i < topology->cores.nr; i++) {
		if (topology->cores.nr_cpus[i] <= size)
			return true;
	}
	return false;
}

static void take_whole_cores(struct take *take)
{
	struct level cores = cores_of(take->topology);
	struct cpuset snapshot = take->free;
	struct take_order groups, list;
	struct counts counts;

	if (!has_core_of_at_most(take->topology, take->need))
		return;
	order_inner(take, &groups);
	count_free(&cores, &snapshot, &counts);
	for (uint32_t i = 0; i < groups.nr && !satisfied(take); i++) {
		list.nr = 0;
		append_members(&cores, &snapshot, &take->inner.members->cpus[groups.index[i]],
			       &counts, &list);
		take_whole(take, &cores, &list, &counts);
	}
}

static void take_cpus_of(struct take *take, const struct cpuset *snapshot,
			 const struct cpuset *group)
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
	struct level cores = cores_of(take->topology);
	struct cpuset snapshot = take->free;
	struct take_order groups, list;
	struct counts counts;

	order_inner(take, &groups);
	count_free(&cores, &snapshot, &counts);
	for (uint32_t i = 0; i < groups.nr && !satisfied(take); i++) {
		list.nr = 0;
		append_members(&cores, &snapshot, &take->inner.members->cpus[groups.index[i]],
			       &counts, &list);
		for (uint32_t j = 0; j < list.nr && !satisfied(take); j++)
			take_cpus_of(take, &snapshot, &cores.members->cpus[list.index[j]]);
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
	order_sockets(take, &groups);
	for (uint32_t i = 0; i < groups.nr && !satisfied(take); i++)
		take_cpus_of(take, &snapshot, &take->topology->sockets.cpus[groups.index[i]]);
}

enum take_status take_packed(const struct topology *topology, const struct cpuset *free,
			     unsigned int count, const struct take_options *options,
			     struct cpuset *ret_cpus)
{
	struct take take;

	if (count > cpuset_count(free))
		return TAKE_NOT_ENOUGH;
	begin(&take, topology, free, count, options->compatibility);
	if (!satisfied(&take))
		take_whole_groups(&take, &take.outer);
	if (!satisfied(&take))
		take_whole_groups(&take, &take.inner);
	if (!satisfied(&take) && options->uncore)
		take_uncores(&take, options->group);
	if (!satisfied(&take) && options->sorting == TAKE_PACKED)
		take_whole_cores(&take);
	if (!satisfied(&take) && options->sorting == TAKE_PACKED)
		take_cpus_packed(&take);
	if (!satisfied(&take) && options->sorting == TAKE_SPREAD)
		take_cpus_spread(&take);
	*ret_cpus = take.result;
	return TAKE_OK;
}

unsigned int take_node_order(const struct topology *topology, const struct cpuset *free,
			     uint16_t ret_nodes[TOPOLOGY_MAX_NODES])
{
	struct take take;
	struct take_order list;
	node_mask_t seen = 0;
	unsigned int nr = 0;

	begin(&take, topology, free, 0, COMPATIBILITY_REPAIRED);
	order_nodes(&take, &list);
	for (uint32_t i = 0; i < list.nr; i++) {
		if (seen & (1ULL << list.index[i]))
			continue;
		seen |= 1ULL << list.index[i];
		ret_nodes[nr++] = list.index[i];
	}
	return nr;
}

const struct topology_level *take_order_of(const struct topology *topology,
					   const struct cpuset *free, bool inner,
					   struct take_order *ret_order)
{
	struct take take;

	begin(&take, topology, free, 0, COMPATIBILITY_REPAIRED);
	if (inner)
		order_inner(&take, ret_order);
	else
		order_outer(&take, ret_order);
	return inner ? take.inner.members : take.outer.members;
}
