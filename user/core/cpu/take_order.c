// SPDX-License-Identifier: Apache-2.0
/*
 * The orders in which a packed take visits the NUMA nodes, sockets, caches and cores of a
 * free set: ascending by free CPUs, ties by id.
 *
 * Cost: every list has at most CPUSET_MAX entries, because each entry stands for at least
 * one free CPU. The machine is traversed at most once per entry of the list of the level
 * above, which is at most once per CPU in total unless a socket or node is listed several
 * times.
 */
#include <string.h>

#include "core/cpu/take_private.h"

void take_begin(struct take *take, const struct topology *topology, const struct cpuset *free,
		int64_t need, enum compatibility compatibility)
{
	struct level nodes = {&topology->nodes, topology->node_of};
	struct level sockets = {&topology->sockets, topology->socket_of};

	take->topology = topology;
	take->repaired = !compatibility_is_kubelet(compatibility);
	take->improved = compatibility == COMPATIBILITY_IMPROVED;
	take->numa_first = topology->num_sockets >= topology->num_nodes;
	take->outer = take->numa_first ? nodes : sockets;
	take->inner = take->numa_first ? sockets : nodes;
	take->held = NULL;
	take->free = *free;
	take->result = CPUSET_EMPTY;
	take->need = need;
}

/* With few members it is cheaper to count the bits per member. */
static bool is_small(const struct level *level)
{
	return level->members->nr <= TOPOLOGY_MAX_NODES;
}

void take_count_free(const struct level *level, const struct cpuset *free,
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

void take_append_members(const struct level *level, const struct cpuset *free,
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

void take_note_near(struct take *take)
{
	if (!take->held)
		return;
	take->near = *take->held;
	cpuset_union(&take->near, &take->result);
}

/* All CPUs of the members that contain one of these CPUs. */
static void widen_to_members(const struct level *level, const struct cpuset *cpus,
			     struct cpuset *ret_wide)
{
	*ret_wide = CPUSET_EMPTY;
	cpuset_for_each (cpu, cpus)
		cpuset_union(ret_wide, &level->members->cpus[level->index_of[cpu]]);
}

void take_append_near(const struct take *take, const struct level *level, const struct cpuset *free,
		      const struct cpuset *within, const struct counts *counts,
		      struct take_order *list)
{
	struct cpuset near, part = *within;

	if (!take->held) {
		take_append_members(level, free, within, counts, list);
		return;
	}
	widen_to_members(level, &take->near, &near);
	cpuset_intersect(&part, &near);
	take_append_members(level, free, &part, counts, list);
	part = *within;
	cpuset_subtract(&part, &near);
	take_append_members(level, free, &part, counts, list);
}

void take_order_outer(const struct take *take, struct take_order *ret_list)
{
	struct counts counts;

	take_count_free(&take->outer, &take->free, &counts);
	ret_list->nr = 0;
	take_append_near(take, &take->outer, &take->free, &take->free, &counts, ret_list);
}

void take_order_inner(const struct take *take, struct take_order *ret_list)
{
	struct take_order outer;
	struct counts counts;

	take_order_outer(take, &outer);
	take_count_free(&take->inner, &take->free, &counts);
	ret_list->nr = 0;
	for (uint32_t i = 0; i < outer.nr; i++)
		take_append_near(take, &take->inner, &take->free,
				 &take->outer.members->cpus[outer.index[i]], &counts, ret_list);
}

void take_order_nodes(const struct take *take, struct take_order *ret_list)
{
	if (take->numa_first)
		take_order_outer(take, ret_list);
	else
		take_order_inner(take, ret_list);
}

void take_order_sockets(const struct take *take, struct take_order *ret_list)
{
	if (take->numa_first)
		take_order_inner(take, ret_list);
	else
		take_order_outer(take, ret_list);
}

unsigned int take_node_order_near(const struct topology *topology, const struct cpuset *held,
				  const struct cpuset *free, uint16_t ret_nodes[TOPOLOGY_MAX_NODES])
{
	struct take take;
	struct take_order list;
	node_mask_t seen = 0;
	unsigned int nr = 0;

	take_begin(&take, topology, free, 0, COMPATIBILITY_REPAIRED);
	take.held = held;
	take_note_near(&take);
	take_order_nodes(&take, &list);
	for (uint32_t i = 0; i < list.nr; i++) {
		if (seen & (1ULL << list.index[i]))
			continue;
		seen |= 1ULL << list.index[i];
		ret_nodes[nr++] = list.index[i];
	}
	return nr;
}

unsigned int take_node_order(const struct topology *topology, const struct cpuset *free,
			     uint16_t ret_nodes[TOPOLOGY_MAX_NODES])
{
	return take_node_order_near(topology, NULL, free, ret_nodes);
}

const struct topology_level *take_order_of(const struct topology *topology,
					   const struct cpuset *free, bool inner,
					   struct take_order *ret_order)
{
	struct take take;

	take_begin(&take, topology, free, 0, COMPATIBILITY_REPAIRED);
	if (inner)
		take_order_inner(&take, ret_order);
	else
		take_order_outer(&take, ret_order);
	return inner ? take.inner.members : take.outer.members;
}
