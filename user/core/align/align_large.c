// SPDX-License-Identifier: Apache-2.0
/*
 * Merges hints on machines with more than 16 NUMA nodes, where 2^n entries are too many.
 * A mask that all lists prefer is found exactly, by sorting. Imperfect intersections are
 * followed only for the ALIGN_LARGE_MASKS best masks at each step. A better one may be
 * missed; the result is then marked as not exact.
 *
 * Cost: all hints are sorted once; per list, at most ALIGN_LARGE_MASKS^2 intersections
 * are sorted.
 */
#include <errno.h>

#include "core/align/align_private.h"

/*
 * The sum over all ordered pairs. For equal numbers of nodes it orders like the average
 * distance.
 */
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

/*
 * The better of two masks: fewer nodes, then smaller distances, then lower node
 * numbers. `current` is 0 if there is none yet.
 */
static node_mask_t better_mask(const struct merge *merge, node_mask_t current,
			       node_mask_t candidate)
{
	unsigned int a = count_nodes(current), b = count_nodes(candidate);

	if (a != b)
		return !current || b < a ? candidate : current;
	if (merge->closest) {
		uint64_t x = distance_sum(merge, current), y = distance_sum(merge, candidate);

		if (x != y)
			return x < y ? current : candidate;
	}
	return current < candidate ? current : candidate;
}

/* 0 for exactly best_count nodes, then ascending: the widest below it, the narrowest above. */
static unsigned int imperfection(const struct merge *merge, node_mask_t mask)
{
	unsigned int count = count_nodes(mask), best = merge->best_count;

	return count <= best ? best - count : TOPOLOGY_MAX_NODES + count - best;
}

/* Choose among the reachable intersections if none is preferred by all lists. */
static node_mask_t better_imperfect(const struct merge *merge, node_mask_t current,
				    node_mask_t candidate)
{
	unsigned int a = imperfection(merge, current), b = imperfection(merge, candidate);

	if (!current || a == b)
		return better_mask(merge, current, candidate);
	return a < b ? current : candidate;
}

struct claim {
	node_mask_t mask;
	uint32_t list;
	bool binding; /* from a list that does not also accept any node */
};

struct ranked_mask {
	node_mask_t mask;
	unsigned int rank; /* masks with a lower rank are kept longer */
};

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->mask != y->mask)
		return x->mask < y->mask ? -1 : 1;
	return (x->list > y->list) - (x->list < y->list);
}

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked_mask *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->mask > y->mask) - (x->mask < y->mask);
}

static bool prefers_any(const struct hint_list *list)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		if (list->hints[i].any && list->hints[i].preferred)
			return true;
	}
	return false;
}

static size_t total_hints(const struct align_problem *problem)
{
	size_t total = 0;

	for (uint32_t i = 0; i < problem->nr_lists; i++)
		total += problem->lists[i].nr;
	return total;
}

static size_t collect_claims(const struct merge *merge, struct claim *ret_claims,
			     uint32_t *ret_nr_binding)
{
	const struct align_problem *problem = merge->problem;
	uint32_t nr_binding = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		const struct hint_list *list = &problem->lists[i];
		bool binding = !prefers_any(list);

		nr_binding += binding;
		for (uint32_t j = 0; j < list->nr; j++) {
			const struct hint *hint = &list->hints[j];

			if (!hint->any && hint->preferred && is_considered(merge, hint))
				ret_claims[nr++] =
					(struct claim){hint->nodes & merge->all, i, binding};
		}
	}
	*ret_nr_binding = nr_binding;
	return nr;
}

/* Find the best mask that every binding list prefers; 0 = none. */
static int merge_preferred(const struct merge *merge, node_mask_t *ret_mask)
{
	size_t total = total_hints(merge->problem);
	struct claim *claims cleanup_free = malloc((total + 1) * sizeof(*claims));
	node_mask_t best = 0;
	uint32_t nr_binding, agreed = 0;
	size_t nr;

	if (!claims)
		return -ENOMEM;
	nr = collect_claims(merge, claims, &nr_binding);
	if (nr_binding == 0)
		best = merge->all;
	qsort(claims, nr, sizeof(*claims), compare_claims);
	for (size_t i = 0; i < nr; i++) {
		bool is_new = i == 0 || claims[i].mask != claims[i - 1].mask;

		if (is_new)
			agreed = 0;
		/* A list that prefers a mask twice agrees once. */
		if (is_new || claims[i].list != claims[i - 1].list)
			agreed += claims[i].binding;
		if (claims[i].mask && agreed == nr_binding)
			best = better_mask(merge, best, claims[i].mask);
	}
	*ret_mask = best;
	return 0;
}

/* Masks that can still shrink to best_count come first, the closest to it in front. */
static unsigned int rank_of(const struct merge *merge, node_mask_t mask)
{
	unsigned int count = count_nodes(mask), best = merge->best_count;

	return count >= best ? count - best : TOPOLOGY_MAX_NODES + best - count;
}

/* Sort, remove duplicates and keep the best. Returns true if masks had to be dropped. */
static bool trim(struct ranked_mask *masks, size_t *nr)
{
	size_t kept = 0;

	qsort(masks, *nr, sizeof(*masks), compare_ranked);
	for (size_t i = 0; i < *nr; i++) {
		if (kept && masks[kept - 1].mask == masks[i].mask)
			continue;
		if (kept == ALIGN_LARGE_MASKS) {
			*nr = kept;
			return true;
		}
		masks[kept++] = masks[i];
	}
	*nr = kept;
	return false;
}

static size_t collect_allowed(const struct merge *merge, const struct hint_list *list,
			      struct ranked_mask *ret_masks)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < list->nr; i++) {
		node_mask_t mask = allowed_nodes(merge, &list->hints[i]);

		if (mask && is_considered(merge, &list->hints[i]))
			ret_masks[nr++] = (struct ranked_mask){mask, rank_of(merge, mask)};
	}
	return nr;
}

static int merge_imperfect(const struct merge *merge, node_mask_t *ret_mask, bool *ret_exact)
{
	const struct align_problem *problem = merge->problem;
	size_t most = total_hints(problem);
	size_t nr = 1, nr_allowed, nr_pairs;
	struct ranked_mask reachable[ALIGN_LARGE_MASKS] = {{merge->all, 0}};
	struct ranked_mask *allowed cleanup_free = malloc((most + 1) * sizeof(*allowed));
	struct ranked_mask *pairs cleanup_free =
		malloc((size_t)ALIGN_LARGE_MASKS * ALIGN_LARGE_MASKS * sizeof(*pairs));
	node_mask_t best = 0;

	if (!allowed || !pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		nr_allowed = collect_allowed(merge, &problem->lists[i], allowed);
		if (trim(allowed, &nr_allowed))
			*ret_exact = false;
		nr_pairs = 0;
		for (size_t a = 0; a < nr; a++) {
			for (size_t b = 0; b < nr_allowed; b++) {
				node_mask_t mask = reachable[a].mask & allowed[b].mask;

				if (mask)
					pairs[nr_pairs++] =
						(struct ranked_mask){mask, rank_of(merge, mask)};
			}
		}
		if (trim(pairs, &nr_pairs))
			*ret_exact = false;
		for (nr = 0; nr < nr_pairs; nr++)
			reachable[nr] = pairs[nr];
	}
	for (size_t i = 0; i < nr; i++)
		best = better_imperfect(merge, best, reachable[i].mask);
	*ret_mask = best;
	return 0;
}

static unsigned int find_best_count(const struct merge *merge)
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

int merge_large(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred, bool *ret_exact)
{
	int r;

	r = merge_preferred(merge, ret_mask);
	if (r < 0)
		return r;
	*ret_preferred = *ret_mask != 0;
	if (*ret_mask)
		return 0;
	merge->best_count = find_best_count(merge);
	return merge_imperfect(merge, ret_mask, ret_exact);
}
