// SPDX-License-Identifier: Apache-2.0
/*
 * Branch and bound over combinations of NUMA nodes, in integers.
 *
 * The total of the CPUs left free is the same for every candidate, so minimising the
 * deviation means minimising the sum of squares. A candidate's *gain* is the amount by
 * which it lowers that sum. Different gains can be rounded to the same score, and then
 * the first candidate in lexicographic order wins. The search therefore visits candidates
 * in that order and prunes a branch only if its upper bound cannot beat the best rounded
 * score so far.
 *
 * With a limit on sockets, combinations that touch more sockets are skipped, and the
 * search starts without an achievable score.
 *
 * With limited shares (kubelet 1.37), each combination has its own even share. The bounds
 * then treat the whole request as remainder, so only whole combinations are skipped.
 *
 * Cost on 16 nodes: at most C(16, 8) = 12870 leaves, each O(nr_used * rest), or O(nr_used
 * * rest^2) if the simple bound is not reached, or 2^nr_used subsets if a limited share leaves
 * a large remainder; then once, for the winner, at most 2^16 subsets until the first one
 * with the winning score. With more than 16 nodes, every node
 * visited counts as a step, and so does every group of the remainder times the nodes that
 * it may go to. After the last step the search ends with the best candidate so far.
 */
#include <string.h>

#include "core/cpu/balance.h"
#include "core/cpu/take.h"

struct balance_search {
	const struct balance_problem *problem;
	bool exact;
	/* What every combination supplies evenly at least, and the groups that then remain. */
	uint32_t even, rest;
	uint32_t nr_groups; /* total number of groups requested */
	int64_t square_sum; /* over the free CPUs, before anything is taken */
	int64_t after_sum;  /* CPUs free afterwards, for every choice */
	int64_t mean_milli; /* their mean, rounded to thousandths */
	int64_t rest_bound; /* upper bound of the gain of any distribution of the remainder */
	/* [i][r]: sum of the r largest values at positions >= i. */
	uint32_t top_free[BALANCE_MAX + 1][BALANCE_MAX + 1];
	uint32_t top_groups[BALANCE_MAX + 1][BALANCE_MAX + 1];
	uint8_t chosen[BALANCE_MAX];
	uint64_t steps_left;
	/* The smallest gain that beats the best candidate so far. */
	int64_t needed;
	bool found;
	uint8_t best[BALANCE_MAX];
	int64_t best_score;
};

/* The CPUs that the chosen positions have left after the even share, in order. */
struct leaf {
	unsigned int nr;
	uint32_t even, rest;
	uint32_t left[BALANCE_MAX];
	uint8_t position[BALANCE_MAX];
};

/*
 * Returns false if the search must end. Machines with up to TAKE_EXACT_NODES nodes never
 * run out of steps.
 */
static bool spend(struct balance_search *search, uint64_t steps)
{
	if (search->exact)
		return true;
	if (search->steps_left < steps) {
		search->steps_left = 0;
		return false;
	}
	search->steps_left -= steps;
	return true;
}

static int64_t spread_of(const struct balance_search *search, int64_t gain)
{
	int64_t square_sum = search->square_sum - gain;

	/* nr * variance, in millionths; below 2^53 for 64 nodes of 8192 CPUs. */
	return 1000000 * square_sum - 2000 * search->mean_milli * search->after_sum +
	       search->problem->nr * search->mean_milli * search->mean_milli;
}

/* The largest s with nr (2s - 1)^2 <= 4 spread. */
int64_t balance_score(unsigned int nr, int64_t spread)
{
	int64_t low = 0, high = 1000LL * CPUSET_MAX + 1;

	while (low + 1 < high) {
		int64_t middle = (low + high) / 2, odd = 2 * middle - 1;

		if (nr * odd * odd <= 4 * spread)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int64_t score_of(const struct balance_search *search, int64_t gain)
{
	return balance_score(search->problem->nr, spread_of(search, gain));
}

/* The smallest gain whose score is below `score`; INT64_MAX if there is none. */
static int64_t gain_for_below(const struct balance_search *search, int64_t score)
{
	int64_t low = -1, high = search->square_sum;

	/* If no CPU were left anywhere, the score would be 0, so the search below finds a gain. */
	if (!score)
		return INT64_MAX;
	while (low + 1 < high) {
		int64_t middle = low + (high - low) / 2;

		if (score_of(search, middle) < score)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* The gain of taking `count` CPUs from a position that has `free` CPUs. */
static int64_t gain_of(uint32_t free, uint32_t count)
{
	return (int64_t)count * (2 * (int64_t)free - count);
}

static int64_t even_gain(uint32_t even, int64_t free_sum, unsigned int nr)
{
	return even * (2 * free_sum - (int64_t)nr * even);
}

static void fill_tops(struct balance_search *search)
{
	const struct balance_problem *problem = search->problem;
	uint32_t sorted[BALANCE_MAX]; /* descending */
	unsigned int nr = 0;

	for (unsigned int i = problem->nr; i-- > 0;) {
		unsigned int at = nr++;

		while (at > 0 && sorted[at - 1] < problem->free[i]) {
			sorted[at] = sorted[at - 1];
			at--;
		}
		sorted[at] = problem->free[i];
		search->top_free[i][0] = 0;
		search->top_groups[i][0] = 0;
		for (unsigned int r = 0; r < nr; r++) {
			search->top_free[i][r + 1] = search->top_free[i][r] + sorted[r];
			search->top_groups[i][r + 1] =
				search->top_groups[i][r] + sorted[r] / problem->group;
		}
	}
}

/* How many groups can be taken from positions that have at least `level` CPUs left? */
static uint64_t groups_above(const uint32_t *left, unsigned int nr, uint32_t group, uint32_t level)
{
	uint64_t groups = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (left[i] >= level)
			groups += (left[i] - level) / group + 1;
	}
	return groups;
}

/*
 * The first part of a greedy distribution of a large remainder, which would take a step for
 * each group: everything above the level at which it ends. Returns the gain.
 */
static int64_t take_above(uint32_t *left, unsigned int nr, uint32_t group, uint32_t *rest,
			  uint64_t *givers)
{
	uint32_t low = group, high = CPUSET_MAX + 1;
	int64_t gain = 0;

	while (low < high) {
		uint32_t level = low + (high - low) / 2;

		if (groups_above(left, nr, group, level) <= *rest)
			high = level;
		else
			low = level + 1;
	}
	for (unsigned int i = 0; i < nr; i++) {
		uint32_t groups = left[i] >= low ? (left[i] - low) / group + 1 : 0;

		if (!groups)
			continue;
		gain += gain_of(left[i], groups * group);
		left[i] -= groups * group;
		*rest -= groups;
		*givers |= 1ULL << i;
	}
	return gain;
}

/*
 * An upper bound for any distribution: take each group from the position that has the
 * most left. *ret_givers is the mask of the positions of `leaf` that supplied groups.
 */
static int64_t greedy_gain(const struct balance_search *search, const struct leaf *leaf,
			   uint64_t *ret_givers)
{
	uint32_t group = search->problem->group;
	uint32_t left[BALANCE_MAX];
	uint32_t rest = leaf->rest;
	uint64_t givers = 0;
	int64_t gain = 0;

	memcpy(left, leaf->left, leaf->nr * sizeof(left[0]));
	if (rest >= BALANCE_MAX)
		gain = take_above(left, leaf->nr, group, &rest, &givers);
	for (; rest; rest--) {
		unsigned int most = 0;

		for (unsigned int i = 1; i < leaf->nr; i++) {
			if (left[i] > left[most])
				most = i;
		}
		if (left[most] < group)
			break;
		gain += gain_of(left[most], group);
		left[most] -= group;
		givers |= 1ULL << most;
	}
	*ret_givers = givers;
	return gain;
}

/*
 * Remove the members of `subset` that have no group left. Returns the number of rounds in
 * which all the others supply a group; 1 if the remainder ends within a round.
 */
static uint32_t rounds_of(const uint32_t *left, uint32_t group, uint32_t rest, uint64_t *subset)
{
	uint32_t fewest = rest, nr = 0;

	for (uint64_t bits = *subset; bits; bits &= bits - 1) {
		uint32_t groups = left[__builtin_ctzll(bits)] / group;

		if (!groups) {
			*subset &= ~(bits & -bits);
			continue;
		}
		fewest = groups < fewest ? groups : fewest;
		nr++;
	}
	if (!nr || rest <= nr)
		return 1;
	return fewest < rest / nr ? fewest : rest / nr;
}

/*
 * Distribute the remainder over the members of `subset` in rounds of one group each, as
 * long as they have a group left. Returns -1 if they do not have enough.
 */
static int64_t deal_gain(const struct balance_search *search, const struct leaf *leaf,
			 uint64_t subset)
{
	uint32_t group = search->problem->group, rest = leaf->rest;
	uint32_t left[BALANCE_MAX];
	int64_t gain = 0;

	memcpy(left, leaf->left, leaf->nr * sizeof(left[0]));
	/* Each pass ends the remainder or exhausts a member, so there are at most nr + 1. */
	while (rest) {
		uint32_t rounds = rounds_of(left, group, rest, &subset);

		if (!subset)
			return -1;
		for (uint64_t bits = subset; bits && rest; bits &= bits - 1) {
			unsigned int i = (unsigned int)__builtin_ctzll(bits);

			gain += gain_of(left[i], rounds * group);
			left[i] -= rounds * group;
			rest -= rounds;
		}
	}
	return gain;
}

static uint64_t can_give(const struct balance_search *search, const struct leaf *leaf)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < leaf->nr; i++) {
		if (leaf->left[i] >= search->problem->group)
			mask |= 1ULL << i;
	}
	return mask;
}

/* The `nr` members of `givers` with the most left; ties go to the earlier ones. */
static uint64_t fullest(const struct leaf *leaf, uint64_t givers, unsigned int nr)
{
	uint64_t mask = 0;

	while (nr-- && givers & ~mask) {
		unsigned int most = BALANCE_MAX;

		for (uint64_t bits = givers & ~mask; bits; bits &= bits - 1) {
			unsigned int i = (unsigned int)__builtin_ctzll(bits);

			if (most == BALANCE_MAX || leaf->left[i] > leaf->left[most])
				most = i;
		}
		mask |= 1ULL << most;
	}
	return mask;
}

/*
 * A subset with at least `rest` members supplies from only `rest` of them, so the fullest
 * are best. If there are fewer, it is the subset of all of them.
 */
static int64_t best_single_round(const struct balance_search *search, const struct leaf *leaf,
				 uint64_t givers)
{
	return deal_gain(search, leaf, fullest(leaf, givers, leaf->rest));
}

/*
 * The best distribution over smaller subsets. After `level` complete rounds the first
 * members in order supply one more group. A distribution is therefore a sequence with two
 * phases: members that supply level + 1 groups, then members that supply level groups,
 * each limited by what it has. Dynamic programming over (groups distributed, phase),
 * O(rest^2 * givers).
 */
static int64_t best_rounds(const struct balance_search *search, const struct leaf *leaf,
			   uint64_t givers)
{
	uint32_t group = search->problem->group, rest = leaf->rest;
	int64_t best = -1;

	for (uint32_t level = 1; level < rest; level++) {
		int64_t more[BALANCE_MAX], less[BALANCE_MAX]; /* -1 = unreachable */

		memset(more, -1, sizeof(more));
		memset(less, -1, sizeof(less));
		more[0] = 0;
		for (uint64_t bits = givers; bits; bits &= bits - 1) {
			uint32_t left = leaf->left[__builtin_ctzll(bits)];
			uint32_t low = left / group < level ? left / group : level;
			uint32_t high = left / group > level ? level + 1 : low;
			int64_t low_gain = gain_of(left, low * group);
			int64_t high_gain = gain_of(left, high * group);

			for (uint32_t sum = rest; sum >= low; sum--) {
				int64_t before = more[sum - low] > less[sum - low]
							 ? more[sum - low]
							 : less[sum - low];

				if (before >= 0 && before + low_gain > less[sum])
					less[sum] = before + low_gain;
				if (sum >= high && more[sum - high] >= 0 &&
				    more[sum - high] + high_gain > more[sum])
					more[sum] = more[sum - high] + high_gain;
			}
		}
		best = more[rest] > best ? more[rest] : best;
		best = less[rest] > best ? less[rest] : best;
	}
	return best;
}

/* For machines that are too large for an exact search: try only the fullest subset of each size. */
static int64_t best_of_fullest(const struct balance_search *search, const struct leaf *leaf,
			       uint64_t givers)
{
	uint64_t subset = 0;
	int64_t best = -1;

	for (uint32_t size = 1; size <= leaf->rest && subset != givers; size++) {
		int64_t gain;

		subset |= fullest(leaf, givers & ~subset, 1);
		gain = deal_gain(search, leaf, subset);
		best = gain > best ? gain : best;
	}
	return best;
}

/* For a remainder larger than the combination, when counting rounds takes longer. */
static int64_t best_of_all(const struct balance_search *search, const struct leaf *leaf,
			   uint64_t givers)
{
	int64_t best = -1;

	for (uint64_t subset = givers; subset; subset = (subset - 1) & givers) {
		int64_t gain = deal_gain(search, leaf, subset);

		best = gain > best ? gain : best;
	}
	return best;
}

/* A remainder larger than the combination is distributed by whole rounds. */
static uint64_t steps_of(const struct leaf *leaf)
{
	return leaf->rest < leaf->nr ? leaf->rest : leaf->nr;
}

static int64_t best_deal(struct balance_search *search, const struct leaf *leaf)
{
	uint64_t givers = can_give(search, leaf);
	int64_t single, rounds;

	if (!search->exact) {
		spend(search, steps_of(leaf) * (leaf->nr + steps_of(leaf)));
		return best_of_fullest(search, leaf, givers);
	}
	if (leaf->rest > leaf->nr)
		return best_of_all(search, leaf, givers);
	single = best_single_round(search, leaf, givers);
	rounds = best_rounds(search, leaf, givers);
	return single > rounds ? single : rounds;
}

static void fill_leaf(const struct balance_search *search, const uint8_t *chosen,
		      struct leaf *ret_leaf)
{
	ret_leaf->nr = search->problem->nr_used;
	ret_leaf->even = balance_share(search->problem, chosen, &ret_leaf->rest);
	for (unsigned int i = 0; i < ret_leaf->nr; i++) {
		ret_leaf->position[i] = chosen[i];
		ret_leaf->left[i] = search->problem->free[chosen[i]] - ret_leaf->even;
	}
}

/* The gain of the leaf if it is at least `needed`, otherwise some value below `needed`. */
static int64_t leaf_gain(struct balance_search *search, const struct leaf *leaf, int64_t base)
{
	uint64_t givers;
	int64_t bound;

	if (leaf->rest == 0)
		return base;
	spend(search, steps_of(leaf) * leaf->nr);
	bound = greedy_gain(search, leaf, &givers);
	if (base + bound < search->needed)
		return base + bound;
	if ((uint32_t)__builtin_popcountll(givers) == leaf->rest ||
	    deal_gain(search, leaf, givers) == bound)
		return base + bound;
	return base + best_deal(search, leaf);
}

static void accept(struct balance_search *search, const uint8_t *chosen, int64_t gain)
{
	memcpy(search->best, chosen, search->problem->nr_used);
	search->found = true;
	search->best_score = score_of(search, gain);
	search->needed = gain_for_below(search, search->best_score);
}

static void visit_leaf(struct balance_search *search, uint32_t free_sum)
{
	struct leaf leaf;
	int64_t gain;

	fill_leaf(search, search->chosen, &leaf);
	gain = leaf_gain(search, &leaf, even_gain(leaf.even, free_sum, leaf.nr));
	if (gain >= search->needed)
		accept(search, search->chosen, gain);
}

static bool allows(const struct balance_problem *problem, uint64_t sockets, unsigned int position)
{
	return !problem->max_sockets ||
	       (unsigned int)__builtin_popcountll(sockets | problem->sockets[position]) <=
		       problem->max_sockets;
}

/* The recursion depth is nr_used, at most 64. */
static void descend(struct balance_search *search, unsigned int depth, unsigned int start,
		    uint32_t free_sum, uint32_t groups, uint64_t sockets)
{
	const struct balance_problem *problem = search->problem;
	unsigned int missing = problem->nr_used - depth;

	if (missing == 0) {
		/*
		 * The bound below used an upper bound for the members that follow, so
		 * check the actual sum.
		 */
		if (groups < search->nr_groups)
			return;
		visit_leaf(search, free_sum);
		return;
	}
	for (unsigned int i = start; i + missing <= problem->nr; i++) {
		uint32_t sum = free_sum + search->top_free[i][missing];

		if (!spend(search, 1))
			return;
		/* The bounds decrease with i, so no later position can pass either. */
		if (groups + search->top_groups[i][missing] < search->nr_groups ||
		    even_gain(search->even, sum, problem->nr_used) + search->rest_bound <
			    search->needed)
			return;
		if (problem->free[i] < search->even || !allows(problem, sockets, i))
			continue;
		search->chosen[depth] = (uint8_t)i;
		descend(search, depth + 1, i + 1, free_sum + problem->free[i],
			groups + problem->free[i] / problem->group, sockets | problem->sockets[i]);
	}
}

/*
 * The nr_used positions with the most free CPUs, ties in order of position. Returns false
 * if they do not suffice.
 */
static bool choose_fullest(const struct balance_search *search, uint8_t *ret_chosen)
{
	const struct balance_problem *problem = search->problem;
	struct leaf all = {.nr = problem->nr};
	uint64_t mask;
	unsigned int nr = 0;

	memcpy(all.left, problem->free, sizeof(all.left));
	mask = fullest(&all, problem->nr < 64 ? (1ULL << problem->nr) - 1 : ~0ULL,
		       problem->nr_used);
	for (; mask; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(mask);

		if (problem->free[i] < search->even)
			return false;
		ret_chosen[nr++] = (uint8_t)i;
	}
	return search->top_groups[0][problem->nr_used] >= search->nr_groups;
}

uint32_t balance_share(const struct balance_problem *problem, const uint8_t *used,
		       uint32_t *ret_rest_groups)
{
	uint32_t nr_groups = problem->count / problem->group;
	uint32_t groups = nr_groups / problem->nr_used;

	for (unsigned int i = 0; i < problem->nr_used && problem->is_limited; i++) {
		uint32_t whole = problem->free[used[i]] / problem->group;

		groups = whole < groups ? whole : groups;
	}
	*ret_rest_groups = nr_groups - groups * problem->nr_used;
	return groups * problem->group;
}

static void begin(struct balance_search *search, const struct balance_problem *problem)
{
	uint32_t nr_groups = problem->count / problem->group;

	search->problem = problem;
	search->exact = problem->nr <= TAKE_EXACT_NODES;
	search->nr_groups = nr_groups;
	search->even = problem->is_limited ? 0 : nr_groups / problem->nr_used * problem->group;
	search->rest = problem->is_limited ? nr_groups : nr_groups % problem->nr_used;
	search->square_sum = 0;
	search->after_sum = -(int64_t)problem->count;
	for (unsigned int i = 0; i < problem->nr; i++) {
		search->square_sum += (int64_t)problem->free[i] * problem->free[i];
		search->after_sum += problem->free[i];
	}
	search->mean_milli = (2000 * search->after_sum + problem->nr) / (2 * problem->nr);
	search->steps_left = problem->max_sockets ? *problem->steps : TAKE_SEARCH_STEPS;
	search->needed = INT64_MIN;
	search->found = false;
	fill_tops(search);
}

/* A greedy distribution over all positions bounds the gain of every combination. */
static int64_t bound_rest(const struct balance_search *search)
{
	struct leaf all = {.nr = 0, .rest = search->rest};
	uint64_t givers;

	for (unsigned int i = 0; i < search->problem->nr; i++) {
		if (search->problem->free[i] >= search->even)
			all.left[all.nr++] = search->problem->free[i] - search->even;
	}
	return greedy_gain(search, &all, &givers);
}

/* For a balance without a remainder so far. */
static void set_rest(const struct leaf *leaf, uint64_t subset, struct balance *balance)
{
	for (; subset; subset &= subset - 1)
		balance->rest[balance->nr_rest++] = leaf->position[__builtin_ctzll(subset)];
}

/*
 * The next subset of {0 .. nr-1} with the same size, in lexicographic order of positions;
 * 0 after the last one. Only an exact search asks, so nr is at most TAKE_EXACT_NODES.
 */
static uint64_t next_subset(uint64_t subset, unsigned int nr)
{
	unsigned int trailing = 0, moved, size;

	/* Members that are already at the end cannot move. */
	while (trailing < nr && subset & (1ULL << (nr - 1 - trailing)))
		trailing++;
	subset &= (1ULL << (nr - trailing)) - 1;
	if (!subset)
		return 0;
	moved = 63 - (unsigned int)__builtin_clzll(subset);
	subset &= ~(1ULL << moved);
	for (size = 0; size <= trailing; size++)
		subset |= 1ULL << (moved + 1 + size);
	return subset;
}

/* Map bit i of `subset` to the i-th lowest bit of `mask`. */
static uint64_t spread_over(uint64_t subset, uint64_t mask)
{
	uint64_t result = 0;

	for (; mask; mask &= mask - 1, subset >>= 1) {
		if (subset & 1)
			result |= mask & -mask;
	}
	return result;
}

/* Find the first subset that reaches the winning score, in order of descending size. */
static void find_rest(const struct balance_search *search, const struct leaf *leaf, int64_t base,
		      struct balance *balance)
{
	uint64_t givers = can_give(search, leaf);
	unsigned int nr = (unsigned int)__builtin_popcountll(givers), size = nr;
	int64_t needed = gain_for_below(search, search->best_score + 1) - base;

	if (best_single_round(search, leaf, givers) < needed)
		size = leaf->rest - 1 < nr ? leaf->rest - 1 : nr;
	for (; size >= 1; size--) {
		uint64_t subset = search->exact ? (1ULL << size) - 1 : 0;

		do {
			uint64_t members = search->exact ? spread_over(subset, givers)
							 : fullest(leaf, givers, size);
			int64_t gain = deal_gain(search, leaf, members);

			if (gain >= 0 && gain >= needed) {
				set_rest(leaf, members, balance);
				return;
			}
			subset = search->exact ? next_subset(subset, nr) : 0;
		} while (subset);
	}
}

static void fill_answer(const struct balance_search *search, struct balance *ret_balance)
{
	const struct balance_problem *problem = search->problem;
	struct leaf leaf;
	uint32_t free_sum = 0;

	fill_leaf(search, search->best, &leaf);
	for (unsigned int i = 0; i < leaf.nr; i++)
		free_sum += problem->free[leaf.position[i]];
	ret_balance->even = leaf.even;
	ret_balance->rest_groups = leaf.rest;
	ret_balance->nr_used = problem->nr_used;
	memcpy(ret_balance->used, search->best, problem->nr_used);
	ret_balance->nr_rest = 0;
	ret_balance->is_last = search->best_score == 0 &&
			       (!problem->is_limited || problem->max_sockets == 1);
	if (leaf.rest)
		find_rest(search, &leaf, even_gain(leaf.even, free_sum, leaf.nr), ret_balance);
}

/*
 * Start with the score of the fullest positions. They are rarely the first in order, but
 * their score is achievable, so candidates with a worse score can be skipped.
 */
static void accept_fullest(struct balance_search *search)
{
	unsigned int nr = search->problem->nr_used;
	struct leaf leaf;
	int64_t base;

	fill_leaf(search, search->chosen, &leaf);
	base = even_gain(leaf.even, search->top_free[0][nr], nr);
	accept(search, search->chosen, leaf_gain(search, &leaf, base));
	search->needed = gain_for_below(search, search->best_score + 1);
}

bool balance_find(const struct balance_problem *problem, struct balance *ret_balance)
{
	struct balance_search search;

	begin(&search, problem);
	if (problem->nr_used > problem->nr || !choose_fullest(&search, search.chosen))
		return false;
	search.rest_bound = bound_rest(&search);
	if (!problem->max_sockets)
		accept_fullest(&search);
	descend(&search, 0, 0, 0, 0, 0);
	if (problem->max_sockets)
		*problem->steps = search.steps_left;
	if (search.found)
		fill_answer(&search, ret_balance);
	return search.found;
}
