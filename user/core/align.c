// SPDX-License-Identifier: Apache-2.0
/*
 * Merging hints without their cross product.
 *
 * A choice of one hint per list is preferred when all chosen masks are equal (or
 * "any") and preferred. So the preferred results are an intersection of sets of
 * masks. Only when that is empty do the imperfect ones matter: every mask that
 * is the AND of one hint per list, which is a convolution and done by superset
 * sums over 2^n entries.
 *
 * Bounds: lists and hints once each; transforms n 2^n with n <= 16.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/align_private.h"

#define SET_WORDS(nr_nodes) ((nr_nodes) > 6 ? 1U << ((nr_nodes)-6) : 1U)
#define MAX_SET_WORDS	    SET_WORDS(ALIGN_EXACT_NODES)

/* A set of masks, bit m for mask m. */
struct mask_set {
	uint64_t words[MAX_SET_WORDS];
};

static unsigned int set_words(const struct merge *merge)
{
	return SET_WORDS(merge->problem->nr_nodes);
}

static void set_clear(const struct merge *merge, struct mask_set *set)
{
	memset(set->words, 0, set_words(merge) * sizeof(set->words[0]));
}

static void set_add(struct mask_set *set, node_mask_t mask)
{
	set->words[mask / 64] |= 1ULL << (mask % 64);
}

static bool set_is_empty(const struct merge *merge, const struct mask_set *set)
{
	for (unsigned int i = 0; i < set_words(merge); i++) {
		if (set->words[i])
			return false;
	}
	return true;
}

/* Sum over all ordered pairs; for equal counts it orders like the average distance. */
static uint64_t distance_sum(const struct merge *merge, node_mask_t mask)
{
	const struct align_problem *problem = merge->problem;
	uint64_t sum = 0;

	for (node_mask_t a = mask; a; a &= a - 1) {
		const uint32_t *row =
			problem->distances + (size_t)__builtin_ctzll(a) * problem->nr_nodes;

		for (node_mask_t b = mask; b; b &= b - 1)
			sum += row[__builtin_ctzll(b)];
	}
	return sum;
}

node_mask_t better_mask(const struct merge *merge, node_mask_t current, node_mask_t candidate)
{
	unsigned int a = count_nodes(current), b = count_nodes(candidate);

	if (!current || a != b)
		return !current || b < a ? candidate : current;
	if (merge->closest && current != candidate) {
		uint64_t x = distance_sum(merge, current), y = distance_sum(merge, candidate);

		if (x != y)
			return x < y ? current : candidate;
	}
	return current < candidate ? current : candidate;
}

node_mask_t better_imperfect(const struct merge *merge, node_mask_t current, node_mask_t candidate)
{
	unsigned int best = merge->best_count;
	unsigned int a = count_nodes(current), b = count_nodes(candidate);

	if (!current || a == b)
		return better_mask(merge, current, candidate);
	if (a == best || b == best)
		return a == best ? current : candidate;
	if (a < best || b < best)
		return a < best && (b > best || a > b) ? current : candidate;
	return a < b ? current : candidate;
}

/* Masks that this list prefers, cut to the machine; *ret_any when it prefers any. */
static void collect_preferred(const struct merge *merge, const struct hint_list *list,
			      struct mask_set *ret_set, bool *ret_any)
{
	set_clear(merge, ret_set);
	*ret_any = false;
	for (uint32_t i = 0; i < list->nr; i++) {
		const struct hint *hint = &list->hints[i];

		if (!hint->preferred)
			continue;
		if (hint->any)
			*ret_any = true;
		else if (is_considered(merge, hint))
			set_add(ret_set, hint->nodes & merge->all);
	}
}

/* 0 when the lists have no preferred mask in common. */
static node_mask_t merge_preferred(const struct merge *merge)
{
	const struct align_problem *problem = merge->problem;
	unsigned int nr_words = set_words(merge);
	struct mask_set common, anywhere, preferred;
	bool all_any = true, any;
	node_mask_t best = 0;

	memset(common.words, 0xff, nr_words * sizeof(common.words[0]));
	set_clear(merge, &anywhere);
	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		collect_preferred(merge, &problem->lists[i], &preferred, &any);
		all_any &= any;
		for (unsigned int w = 0; w < nr_words; w++) {
			anywhere.words[w] |= preferred.words[w];
			common.words[w] &= any ? ~0ULL : preferred.words[w];
		}
	}
	if (all_any)
		set_add(&anywhere, merge->all);
	/* Not the empty mask: it lies outside the machine. */
	common.words[0] &= ~1ULL;
	for (unsigned int w = 0; w < nr_words; w++) {
		for (uint64_t bits = common.words[w] & anywhere.words[w]; bits; bits &= bits - 1)
			best = better_mask(merge, best,
					   w * 64 + (unsigned int)__builtin_ctzll(bits));
	}
	return best;
}

/* sums[m] becomes the sum over all supersets of m; the second undoes it. */
static void add_supersets(uint32_t *sums, unsigned int nr_nodes)
{
	for (uint32_t bit = 1; bit < 1U << nr_nodes; bit *= 2) {
		for (uint32_t base = 0; base < 1U << nr_nodes; base += 2 * bit) {
			for (uint32_t i = base; i < base + bit; i++)
				sums[i] += sums[i + bit];
		}
	}
}

static void remove_supersets(uint32_t *sums, unsigned int nr_nodes)
{
	for (uint32_t bit = 1; bit < 1U << nr_nodes; bit *= 2) {
		for (uint32_t base = 0; base < 1U << nr_nodes; base += 2 * bit) {
			for (uint32_t i = base; i < base + bit; i++)
				sums[i] -= sums[i + bit];
		}
	}
}

/* The masks that the considered hints of a list leave, without the empty one. */
static void collect_allowed(const struct merge *merge, const struct hint_list *list,
			    struct mask_set *ret_set)
{
	set_clear(merge, ret_set);
	for (uint32_t i = 0; i < list->nr; i++) {
		if (is_considered(merge, &list->hints[i]))
			set_add(ret_set, allowed_nodes(merge, &list->hints[i]));
	}
	ret_set->words[0] &= ~1ULL;
}

static void unpack(const struct merge *merge, const struct mask_set *set, uint32_t *ret_sums)
{
	for (uint32_t mask = 0; mask < 1U << merge->problem->nr_nodes; mask++)
		ret_sums[mask] = set->words[mask / 64] >> (mask % 64) & 1;
}

/*
 * reachable := { a AND b : a in reachable, b in allowed } without the empty mask.
 * How many pairs give a mask is below 2^32, because both sets have less than 2^16
 * members: arithmetic modulo 2^32 is exact.
 */
static void intersect_all(const struct merge *merge, struct mask_set *reachable,
			  const struct mask_set *allowed, uint32_t *sums, uint32_t *other)
{
	unsigned int nr_nodes = merge->problem->nr_nodes;

	unpack(merge, reachable, sums);
	unpack(merge, allowed, other);
	add_supersets(sums, nr_nodes);
	add_supersets(other, nr_nodes);
	for (uint32_t mask = 0; mask < 1U << nr_nodes; mask++)
		sums[mask] *= other[mask];
	remove_supersets(sums, nr_nodes);
	set_clear(merge, reachable);
	for (uint32_t mask = 1; mask < 1U << nr_nodes; mask++)
		reachable->words[mask / 64] |= (uint64_t)(sums[mask] != 0) << (mask % 64);
}

unsigned int find_best_count(const struct merge *merge)
{
	const struct align_problem *problem = merge->problem;
	unsigned int best = 0;

	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		unsigned int narrowest = 0;

		for (uint32_t j = 0; j < problem->lists[i].nr; j++) {
			const struct hint *hint = &problem->lists[i].hints[j];
			unsigned int count = count_nodes(hint->nodes);

			if (!hint->any && is_considered(merge, hint) &&
			    (!narrowest || count < narrowest))
				narrowest = count;
		}
		if (narrowest > best)
			best = narrowest;
	}
	return best;
}

static node_mask_t merge_imperfect(struct merge *merge, uint32_t *sums, uint32_t *other)
{
	const struct align_problem *problem = merge->problem;
	struct mask_set reachable, allowed;
	node_mask_t best = 0;

	merge->best_count = find_best_count(merge);
	set_clear(merge, &reachable);
	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		collect_allowed(merge, &problem->lists[i], &allowed);
		if (set_is_empty(merge, &allowed))
			return 0;
		if (i == 0)
			reachable = allowed;
		else
			intersect_all(merge, &reachable, &allowed, sums, other);
	}
	for (unsigned int w = 0; w < set_words(merge); w++) {
		for (uint64_t bits = reachable.words[w]; bits; bits &= bits - 1)
			best = better_imperfect(merge, best,
						w * 64 + (unsigned int)__builtin_ctzll(bits));
	}
	return best;
}

static int merge_exact(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred)
{
	uint32_t small[2 << ALIGN_STACK_NODES];
	cleanup_free uint32_t *large = NULL;
	uint32_t *sums = small;
	size_t size = (size_t)1 << merge->problem->nr_nodes;
	node_mask_t mask = merge_preferred(merge);

	*ret_preferred = mask != 0;
	if (!mask) {
		if (merge->problem->nr_nodes > ALIGN_STACK_NODES) {
			large = malloc(2 * size * sizeof(*large));
			if (!large)
				return -ENOMEM;
			sums = large;
		}
		mask = merge_imperfect(merge, sums, sums + size);
	}
	*ret_mask = mask;
	return 0;
}

static struct hint hint_of(const struct merge *merge, node_mask_t mask, bool preferred)
{
	struct hint hint = {.nodes = mask, .preferred = preferred};

	if (!mask)
		hint = (struct hint){.nodes = merge->all};
	/* All nodes is no affinity under this policy, whatever it was merged from. */
	if (merge->single_only && hint.nodes == merge->all) {
		hint.any = true;
		hint.nodes = 0;
	}
	return hint;
}

int align_merge(const struct align_problem *problem, struct alignment *ret_alignment)
{
	struct merge merge = {
		.problem = problem,
		.all = problem->nr_nodes < 64 ? (1ULL << problem->nr_nodes) - 1 : ~0ULL,
		.single_only = problem->policy == ALIGN_SINGLE_NUMA_NODE,
		.closest = problem->prefer_closest && problem->policy != ALIGN_SINGLE_NUMA_NODE,
	};
	struct alignment alignment = {.exact = true};
	node_mask_t mask;
	bool preferred;
	int r;

	if (problem->policy == ALIGN_NONE) {
		alignment.hint.any = true;
		alignment.admitted = true;
		*ret_alignment = alignment;
		return 0;
	}
	if (problem->nr_nodes > TOPOLOGY_MAX_NODES || (merge.closest && !problem->distances))
		return -EINVAL;
	if (problem->nr_nodes <= ALIGN_EXACT_NODES)
		r = merge_exact(&merge, &mask, &preferred);
	else
		r = merge_large(&merge, &mask, &preferred, &alignment.exact);
	if (r < 0)
		return r;
	alignment.hint = hint_of(&merge, mask, preferred);
	alignment.admitted = preferred || problem->policy == ALIGN_BEST_EFFORT;
	*ret_alignment = alignment;
	return 0;
}
