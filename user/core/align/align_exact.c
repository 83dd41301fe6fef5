// SPDX-License-Identifier: Apache-2.0
/*
 * Merges hints without forming their cross product, on machines with up to
 * ALIGN_EXACT_NODES nodes.
 *
 * A choice of one hint per list is preferred if all chosen masks are equal (or "any") and
 * preferred. The preferred results are therefore an intersection of sets of masks. Only
 * if that is empty do the imperfect results matter: all masks that are the AND of one
 * hint per list.
 *
 * Such a mask is a subset of a hint in every list. This necessary condition is cheap to
 * compute for all masks at once, 64 per word. It is also sufficient for a mask that is
 * itself a hint, and for a mask that has no proper superset with this property, so the
 * best mask that satisfies it is nearly always the answer. Otherwise the ANDs of all
 * choices are found by counting: the number of choices whose AND contains a mask is a
 * product of one number per list, and the number of choices that give exactly this mask
 * follows by inclusion-exclusion.
 *
 * Cost for n <= 16 nodes: each hint is read once, and a second time if no mask is
 * preferred by all lists; n 2^n / 64 word operations per list; if counting is needed,
 * about n 2^n / 2 additions for each list after the first.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/align/align_private.h"

#define SET_WORDS(nr_nodes) ((nr_nodes) > 6 ? 1U << ((nr_nodes)-6) : 1U)
#define MAX_SET_WORDS	    SET_WORDS(ALIGN_EXACT_NODES)
/* For intersect(): two arrays with four counts per entry and one with two counts per entry. */
#define COUNT_WORDS(set_words) (64 * (size_t)(set_words))

/* A set of masks; bit m stands for mask m. It never contains the empty mask. */
struct mask_set {
	uint64_t words[MAX_SET_WORDS];
};

static unsigned int set_words(const struct merge *merge)
{
	return SET_WORDS(merge->problem->nr_nodes);
}

static void set_clear(const struct merge *merge, uint64_t *set)
{
	memset(set, 0, set_words(merge) * sizeof(*set));
}

static void set_add(uint64_t *set, node_mask_t mask)
{
	set[mask / 64] |= 1ULL << (mask % 64);
}

static bool set_has(const uint64_t *set, node_mask_t mask)
{
	return set[mask / 64] >> (mask % 64) & 1;
}

/* --- the best mask of a set ------------------------------------------------------------------- */

/*
 * Sums of distances over all ordered pairs of nodes, including a node with itself. For
 * equal numbers of nodes they order like the average. The table is split into two halves
 * of eight nodes.
 */
struct distance_table {
	uint64_t within[2][256];
	uint64_t across[8][256]; /* from an upper node to a set of lower nodes and back */
};

static uint64_t both_ways(const struct align_problem *problem, unsigned int a, unsigned int b)
{
	return (uint64_t)problem->distances[(size_t)a * problem->nr_nodes + b] +
	       problem->distances[(size_t)b * problem->nr_nodes + a];
}

static void fill_distances(const struct align_problem *problem, struct distance_table *ret_table)
{
	for (unsigned int first = 0; first < problem->nr_nodes; first += 8) {
		unsigned int nr = problem->nr_nodes - first < 8 ? problem->nr_nodes - first : 8;
		uint64_t *within = ret_table->within[first / 8];

		within[0] = 0;
		for (unsigned int mask = 1; mask < 1U << nr; mask++) {
			unsigned int node = first + (unsigned int)__builtin_ctz(mask);

			within[mask] =
				within[mask & (mask - 1)] + both_ways(problem, node, node) / 2;
			for (unsigned int rest = mask & (mask - 1); rest; rest &= rest - 1)
				within[mask] += both_ways(
					problem, node, first + (unsigned int)__builtin_ctz(rest));
		}
	}
	for (unsigned int upper = 8; upper < problem->nr_nodes; upper++) {
		uint64_t *across = ret_table->across[upper - 8];

		across[0] = 0;
		for (unsigned int mask = 1; mask < 256; mask++)
			across[mask] = across[mask & (mask - 1)] +
				       both_ways(problem, upper, (unsigned int)__builtin_ctz(mask));
	}
}

static uint64_t distance_of(const struct distance_table *table, node_mask_t mask)
{
	unsigned int lower = mask & 0xff, upper = (unsigned int)(mask >> 8);
	uint64_t sum = table->within[0][lower] + (upper ? table->within[1][upper] : 0);

	for (; upper; upper &= upper - 1)
		sum += table->across[__builtin_ctz(upper)][lower];
	return sum;
}

/* The members of word `w` of a set that have `count` nodes. */
static uint64_t of_count(const uint64_t *set, unsigned int w, unsigned int count)
{
	/* Entry k has bit m set if m has k bits. */
	static const uint64_t counted[] = {
		0x0000000000000001, 0x0000000100010116, 0x0001011601161668, 0x0116166816686880,
		0x1668688068808000, 0x6880800080000000, 0x8000000000000000,
	};
	/* Wraps around to a large number if `w` alone has more nodes. */
	unsigned int lower = count - count_nodes(w);

	return lower < ARRAY_SIZE(counted) ? set[w] & counted[lower] : 0;
}

/* The smallest number of nodes of any member; 0 = the set is empty. */
static unsigned int first_count(const struct merge *merge, const uint64_t *set)
{
	for (unsigned int count = 1; count <= merge->problem->nr_nodes; count++) {
		for (unsigned int w = 0; w < set_words(merge); w++) {
			if (of_count(set, w, count))
				return count;
		}
	}
	return 0;
}

/* Of the masks with `count` nodes, the one with the smallest distances or the lowest; 0 = none. */
static node_mask_t best_of_count(const struct merge *merge, const uint64_t *set, unsigned int count)
{
	node_mask_t best = 0;
	uint64_t nearest = 0;

	for (unsigned int w = 0; w < set_words(merge); w++) {
		for (uint64_t bits = of_count(set, w, count); bits; bits &= bits - 1) {
			node_mask_t mask = w * 64 + (unsigned int)__builtin_ctzll(bits);
			uint64_t distance;

			if (!merge->closest)
				return mask;
			distance = distance_of(merge->distances, mask);
			if (!best || distance < nearest) {
				best = mask;
				nearest = distance;
			}
		}
	}
	return best;
}

/*
 * The best mask of the first count between `from` and `to` (ascending or descending) that
 * any mask has.
 */
static node_mask_t best_of_counts(const struct merge *merge, const uint64_t *set, unsigned int from,
				  unsigned int to)
{
	int step = from <= to ? 1 : -1;

	for (unsigned int count = from;; count += (unsigned int)step) {
		node_mask_t mask = best_of_count(merge, set, count);

		if (mask || count == to)
			return mask;
	}
}

/*
 * Choose among the imperfect masks: one of exactly best_count nodes, otherwise the widest
 * below, otherwise the narrowest above. best_count is 0 if no list names nodes.
 */
static node_mask_t best_imperfect(const struct merge *merge, const uint64_t *set)
{
	unsigned int nr_nodes = merge->problem->nr_nodes;
	node_mask_t mask = best_of_counts(merge, set, merge->best_count, 0);

	return mask ? mask : best_of_counts(merge, set, merge->best_count, nr_nodes);
}

/* Several memory types may share one array of hints. */
static bool is_same_list(const struct hint_list *a, const struct hint_list *b)
{
	return a->hints == b->hints && a->nr == b->nr;
}

/* --- reading the lists ------------------------------------------------------------------------ */

/* Collect the masks that this list prefers. Sets *ret_any if the list prefers any node. */
static void collect_preferred(const struct merge *merge, const struct hint_list *list,
			      struct mask_set *ret_set, bool *ret_any)
{
	set_clear(merge, ret_set->words);
	*ret_any = false;
	for (uint32_t i = 0; i < list->nr; i++) {
		const struct hint *hint = &list->hints[i];

		if (!hint->preferred)
			continue;
		if (hint->any)
			*ret_any = true;
		else if (is_considered(merge, hint))
			set_add(ret_set->words, hint->nodes & merge->all);
	}
	ret_set->words[0] &= ~1ULL;
}

/* Returns 0 if the lists have no preferred mask in common. */
static node_mask_t merge_preferred(const struct merge *merge)
{
	const struct align_problem *problem = merge->problem;
	unsigned int nr_words = set_words(merge);
	struct mask_set common, anywhere, preferred;
	bool any;

	memset(common.words, 0xff, nr_words * sizeof(common.words[0]));
	set_clear(merge, anywhere.words);
	/* What lists that all prefer any node have in common. */
	set_add(anywhere.words, merge->all);
	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		if (i && is_same_list(&problem->lists[i], &problem->lists[i - 1]))
			continue;
		collect_preferred(merge, &problem->lists[i], &preferred, &any);
		for (unsigned int w = 0; w < nr_words; w++) {
			anywhere.words[w] |= preferred.words[w];
			common.words[w] &= any ? ~0ULL : preferred.words[w];
		}
	}
	for (unsigned int w = 0; w < nr_words; w++)
		common.words[w] &= anywhere.words[w];
	return best_of_counts(merge, common.words, 1, problem->nr_nodes);
}

/*
 * Collect the masks that the hints of this list name. Sets *ret_any if one of them allows
 * any node.
 */
static void collect_named(const struct merge *merge, const struct hint_list *list,
			  uint64_t *ret_set, bool *ret_any)
{
	const struct merge rules =
		*merge; /* a copy, so that the compiler knows that it does not alias the set */
	const struct hint *hints = list->hints;
	uint64_t gathered = 0;
	size_t at = 0;
	bool any = false;

	set_clear(merge, ret_set);
	for (uint32_t i = 0, nr = list->nr; i < nr; i++) {
		node_mask_t mask = hints[i].nodes & rules.all;

		if (!is_considered(&rules, &hints[i]))
			continue;
		if (hints[i].any) {
			any = true;
			continue;
		}
		/*
		 * Collect bits of the same word first, because successive writes to one
		 * word stall.
		 */
		if (mask / 64 != at) {
			ret_set[at] |= gathered;
			gathered = 0;
			at = mask / 64;
		}
		gathered |= 1ULL << (mask % 64);
	}
	ret_set[at] |= gathered;
	ret_set[0] &= ~1ULL;
	*ret_any = any;
}

/* Compute what each list allows, and best_count. */
static void collect_allowed(struct merge *merge, uint64_t *ret_allowed)
{
	const struct align_problem *problem = merge->problem;
	unsigned int nr_words = set_words(merge);

	for (uint32_t i = 0; i < problem->nr_lists; i++, ret_allowed += nr_words) {
		unsigned int narrowest;
		bool any;

		if (i && is_same_list(&problem->lists[i], &problem->lists[i - 1])) {
			memcpy(ret_allowed, ret_allowed - nr_words,
			       nr_words * sizeof(*ret_allowed));
			continue;
		}
		collect_named(merge, &problem->lists[i], ret_allowed, &any);
		narrowest = first_count(merge, ret_allowed);
		if (narrowest > merge->best_count)
			merge->best_count = narrowest;
		if (any)
			set_add(ret_allowed, merge->all);
	}
}

/* --- intersections by counting ---------------------------------------------------------------- */

/*
 * Replace entry m with the sum over all supersets of m; the second function reverses
 * this. An entry may pack several numbers: no sum overflows its bits and no difference is
 * negative, so there is no carry. `nr` is a power of two, at least eight.
 */
static void add_entries(uint64_t *restrict to, const uint64_t *restrict from, size_t nr)
{
	for (size_t i = 0; i < nr; i += 8) {
		for (size_t j = 0; j < 8; j++)
			to[i + j] += from[i + j];
	}
}

static void add_supersets(uint64_t *entries, size_t nr)
{
	for (size_t half = nr / 2; half >= 8; half /= 2) {
		for (size_t base = 0; base < nr; base += 2 * half)
			add_entries(entries + base, entries + base + half, half);
	}
	for (uint64_t *at = entries; at < entries + nr; at += 8) {
		for (size_t i = 0; i < 4; i++)
			at[i] += at[i + 4];
		for (size_t i = 0; i < 8; i += 4) {
			at[i] += at[i + 2];
			at[i + 1] += at[i + 3];
			at[i] += at[i + 1];
			at[i + 2] += at[i + 3];
		}
	}
}

static void subtract_entries(uint64_t *restrict from, const uint64_t *restrict what, size_t nr)
{
	for (size_t i = 0; i < nr; i += 8) {
		for (size_t j = 0; j < 8; j++)
			from[i + j] -= what[i + j];
	}
}

static void remove_supersets(uint64_t *entries, size_t nr)
{
	for (size_t half = nr / 2; half >= 8; half /= 2) {
		for (size_t base = 0; base < nr; base += 2 * half)
			subtract_entries(entries + base, entries + base + half, half);
	}
	for (uint64_t *at = entries; at < entries + nr; at += 8) {
		for (size_t i = 0; i < 4; i++)
			at[i] -= at[i + 4];
		for (size_t i = 0; i < 8; i += 4) {
			at[i] -= at[i + 2];
			at[i + 1] -= at[i + 3];
			at[i] -= at[i + 1];
			at[i + 2] -= at[i + 3];
		}
	}
}

/*
 * Count the members that contain each mask, fewer than 2^16. Masks that differ only in
 * the fifth and sixth node are packed into one entry: mask i + 16 k of a word is number k
 * of entry i.
 */
static void count_above(const uint64_t *set, unsigned int nr_words, uint64_t *ret_counts)
{
	for (unsigned int w = 0; w < nr_words; w++) {
		for (unsigned int i = 0; i < 16; i++) {
			uint64_t four = set[w] >> i & 0x0001000100010001;

			four += four >> 16 & 0x0000ffff0000ffff;
			ret_counts[w * 16 + i] = four + (four >> 32);
		}
	}
	add_supersets(ret_counts, 16 * (size_t)nr_words);
}

/*
 * Count the pairs of members that contain each mask, fewer than 2^32: mask i + 32 k of a
 * word is number k of entry i.
 */
static void count_pairs(const uint64_t *a, const uint64_t *b, unsigned int nr_words,
			uint64_t *ret_pairs)
{
	for (unsigned int w = 0; w < nr_words; w++, ret_pairs += 16) {
		for (unsigned int i = 0; i < 16; i++, a++, b++, ret_pairs++) {
			ret_pairs[0] = (*a & 0xffff) * (*b & 0xffff) |
				       (*a >> 32 & 0xffff) * (*b >> 32 & 0xffff) << 32;
			ret_pairs[16] = (*a >> 16 & 0xffff) * (*b >> 16 & 0xffff) |
					(*a >> 48) * (*b >> 48) << 32;
		}
	}
}

/* Compute set := { a AND b : a in set, b in other } without the empty mask. */
static void intersect(unsigned int nr_words, uint64_t *set, const uint64_t *other,
		      uint64_t *scratch)
{
	const uint64_t tops = 0x8000000080000000;
	uint64_t *a = scratch, *b = a + 16 * (size_t)nr_words, *pairs = b + 16 * (size_t)nr_words;

	count_above(set, nr_words, a);
	count_above(other, nr_words, b);
	count_pairs(a, b, nr_words, pairs);
	remove_supersets(pairs, 32 * (size_t)nr_words);
	for (unsigned int w = 0; w < nr_words; w++) {
		uint64_t word = 0;

		for (unsigned int i = 0; i < 32; i++, pairs++) {
			uint64_t two = *pairs - (*pairs >> 32);

			/* Set the top bit of each number that is not 0. */
			two |= (two & ~tops) + ~tops;
			word |= (two & tops) >> (31 - i);
		}
		set[w] = word;
	}
	set[0] &= ~1ULL;
}

/* Compute the ANDs of all choices of one mask per list. */
static int intersect_all(const struct merge *merge, const uint64_t *allowed,
			 struct mask_set *ret_set)
{
	unsigned int nr_words = set_words(merge);
	uint64_t small[COUNT_WORDS(SET_WORDS(ALIGN_STACK_NODES))], *scratch = small;
	uint64_t *large cleanup_free = NULL;

	if (merge->problem->nr_nodes > ALIGN_STACK_NODES) {
		large = malloc(COUNT_WORDS(nr_words) * sizeof(*large));
		if (!large)
			return -ENOMEM;
		scratch = large;
	}
	memcpy(ret_set->words, allowed, nr_words * sizeof(*allowed));
	for (uint32_t i = 1; i < merge->problem->nr_lists; i++)
		intersect(nr_words, ret_set->words, allowed + i * nr_words, scratch);
	return 0;
}

/* --- the merge -------------------------------------------------------------------------------- */

static void add_subsets(unsigned int nr_words, uint64_t *set)
{
	/* Masks without the first node, masks without the second, … */
	static const uint64_t without[] = {
		0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
		0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff,
	};

	for (unsigned int w = 0; w < nr_words; w++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(without); i++)
			set[w] |= set[w] >> (1 << i) & without[i];
	}
	for (unsigned int bit = 1; bit < nr_words; bit *= 2) {
		for (unsigned int w = 0; w < nr_words; w++)
			set[w] |= w & bit ? 0 : set[w | bit];
	}
}

/* The set contains all subsets of its members. Does it contain no proper superset of this mask? */
static bool is_maximal(const struct merge *merge, const uint64_t *set, node_mask_t mask)
{
	for (node_mask_t others = merge->all & ~mask; others; others &= others - 1) {
		if (set_has(set, mask | (others & -others)))
			return false;
	}
	return true;
}

/* Find the masks that are a subset of a hint in every list, and those that some list names. */
static void find_candidates(const struct merge *merge, const uint64_t *allowed,
			    struct mask_set *ret_below, struct mask_set *ret_named)
{
	unsigned int nr_words = set_words(merge);
	struct mask_set one;

	memset(ret_below->words, 0xff, nr_words * sizeof(ret_below->words[0]));
	set_clear(merge, ret_named->words);
	for (uint32_t i = 0; i < merge->problem->nr_lists; i++, allowed += nr_words) {
		memcpy(one.words, allowed, nr_words * sizeof(*allowed));
		add_subsets(nr_words, one.words);
		for (unsigned int w = 0; w < nr_words; w++) {
			ret_named->words[w] |= allowed[w];
			ret_below->words[w] &= one.words[w];
		}
	}
	ret_below->words[0] &= ~1ULL;
}

/* Set *ret_mask to 0 if no mask is left. */
static int merge_imperfect(struct merge *merge, node_mask_t *ret_mask)
{
	unsigned int nr_words = set_words(merge);
	size_t size = (size_t)nr_words * merge->problem->nr_lists;
	uint64_t small[ALIGN_STACK_LISTS * SET_WORDS(ALIGN_STACK_NODES)], *allowed = small;
	uint64_t *large cleanup_free = NULL;
	struct mask_set below, named;
	node_mask_t best;
	int r;

	if (size > ARRAY_SIZE(small)) {
		large = malloc(size * sizeof(*large));
		if (!large)
			return -ENOMEM;
		allowed = large;
	}
	collect_allowed(merge, allowed);
	find_candidates(merge, allowed, &below, &named);
	best = best_imperfect(merge, below.words);
	/*
	 * A mask that some list names is the AND of itself and of its supersets in the
	 * other lists. A maximal mask of the set is the AND of any hints that contain it,
	 * because that AND is in the set, too.
	 */
	if (best && !set_has(named.words, best) && !is_maximal(merge, below.words, best)) {
		r = intersect_all(merge, allowed, &named);
		if (r < 0)
			return r;
		best = best_imperfect(merge, named.words);
	}
	*ret_mask = best;
	return 0;
}

int merge_exact(struct merge *merge, node_mask_t *ret_mask, bool *ret_preferred)
{
	struct distance_table distances;
	node_mask_t mask;

	if (merge->closest)
		fill_distances(merge->problem, &distances);
	merge->distances = &distances;
	mask = merge_preferred(merge);
	*ret_preferred = mask != 0;
	if (!mask)
		return merge_imperfect(merge, ret_mask);
	*ret_mask = mask;
	return 0;
}
