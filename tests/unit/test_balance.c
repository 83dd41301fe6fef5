// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The search for NUMA nodes, also with limited shares (kubelet 1.37 with align-by-socket),
 * against a plain statement of its rules: every combination, every subset, in floating
 * point. Then the kubelet's defects, against its enumeration and its arithmetic.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/cpu/balance.h"

#define MAX_NR	7 /* of random problems */
#define MOST_NR 14
#define ROUNDS	20000

static uint32_t draw(uint32_t bound)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % bound;
}

static void draw_problem(struct balance_problem *ret_problem)
{
	struct balance_problem problem = {.nr = 1 + draw(MAX_NR), .group = 1 + draw(4)};
	unsigned int nr_sockets = 1 + draw(4);
	/* With many CPUs, different distributions are rounded to the same deviation. */
	static const uint32_t mosts[] = {12, 12, 12, 12, 200, 3000};
	uint32_t most = mosts[draw(6)], sum = 0;

	for (unsigned int i = 0; i < problem.nr; i++) {
		problem.free[i] = 1 + draw(most);
		problem.sockets[i] = 1ULL << draw(nr_sockets);
		sum += problem.free[i];
	}
	problem.nr_used = 1 + draw(problem.nr);
	problem.count = (problem.nr_used + draw(sum)) * problem.group;
	if (problem.count > sum + problem.group)
		problem.count = problem.nr_used * problem.group;
	problem.is_limited = true;
	*ret_problem = problem;
}

/* --- the rules once more ---------------------------------------------------------------------- */

struct expectation {
	bool found, one_socket;
	long score; /* thousandths */
	uint32_t even, rest_groups;
	unsigned int used, rest; /* masks of positions */
};

static long deviation(const uint32_t *after, unsigned int nr)
{
	double sum = 0, mean, squares = 0;

	for (unsigned int i = 0; i < nr; i++)
		sum += after[i];
	mean = round(sum / nr * 1000) / 1000;
	for (unsigned int i = 0; i < nr; i++)
		squares += (after[i] - mean) * (after[i] - mean);
	return lround(sqrt(squares / nr) * 1000);
}

/* Is a's list of positions before b's? Both have the same number of members. */
static bool is_before(unsigned int a, unsigned int b)
{
	unsigned int differing = a ^ b;

	return a & (differing & -differing);
}

/* Score of giving the groups in turn to the subset; -1 if it has too few. */
static long score_rest(const struct balance_problem *problem, const uint32_t *after,
		       unsigned int subset, uint32_t groups)
{
	uint32_t left[MOST_NR];
	uint32_t whole = 0;

	memcpy(left, after, problem->nr * sizeof(left[0]));
	for (unsigned int i = 0; i < problem->nr; i++)
		whole += subset & 1U << i ? left[i] / problem->group : 0;
	if (whole < groups)
		return -1;
	for (unsigned int i = 0; groups; i = (i + 1) % problem->nr) {
		if (!(subset & 1U << i) || left[i] < problem->group)
			continue;
		left[i] -= problem->group;
		groups--;
	}
	return deviation(left, problem->nr);
}

/* The larger subset first, then the earlier one; a later one only with a lower score. */
static void choose_rest(const struct balance_problem *problem, const uint32_t *after,
			struct expectation *candidate)
{
	candidate->score = -1;
	for (unsigned int subset = 1; subset < 1U << problem->nr; subset++) {
		int size = __builtin_popcount(subset), old = __builtin_popcount(candidate->rest);
		long score;

		if (subset & ~candidate->used)
			continue;
		score = score_rest(problem, after, subset, candidate->rest_groups);
		for (unsigned int i = 0; i < problem->nr; i++) {
			if (subset & 1U << i && after[i] < problem->group)
				score = -1;
		}
		if (score < 0 || (candidate->score >= 0 && score > candidate->score))
			continue;
		if (candidate->score >= 0 && score == candidate->score &&
		    (size < old || (size == old && !is_before(subset, candidate->rest))))
			continue;
		candidate->score = score;
		candidate->rest = subset;
	}
}

static struct expectation judge(const struct balance_problem *problem, unsigned int used)
{
	uint32_t groups = problem->count / problem->group, share = groups / problem->nr_used;
	struct expectation candidate = {.used = used};
	uint32_t after[MOST_NR];
	uint64_t sockets = 0;
	uint32_t whole = 0;

	for (unsigned int i = 0; i < problem->nr; i++) {
		if (!(used & 1U << i))
			continue;
		if (problem->is_limited && problem->free[i] / problem->group < share)
			share = problem->free[i] / problem->group;
		whole += problem->free[i] / problem->group;
		sockets |= problem->sockets[i];
	}
	if (whole < groups || (problem->max_sockets &&
			       (unsigned int)__builtin_popcountll(sockets) > problem->max_sockets))
		return candidate;
	for (unsigned int i = 0; i < problem->nr; i++) {
		if (used & 1U << i && problem->free[i] < share * problem->group)
			return candidate;
	}
	candidate.found = true;
	candidate.one_socket = __builtin_popcountll(sockets) == 1;
	candidate.even = share * problem->group;
	candidate.rest_groups = groups - share * problem->nr_used;
	for (unsigned int i = 0; i < problem->nr; i++)
		after[i] = problem->free[i] - (used & 1U << i ? candidate.even : 0);
	if (candidate.rest_groups)
		choose_rest(problem, after, &candidate);
	else
		candidate.score = deviation(after, problem->nr);
	return candidate;
}

static bool beats(const struct balance_problem *problem, const struct expectation *a,
		  const struct expectation *b)
{
	if (!b->found)
		return true;
	if (problem->is_limited && a->one_socket != b->one_socket)
		return a->one_socket;
	return a->score != b->score ? a->score < b->score : is_before(a->used, b->used);
}

static struct expectation expect(const struct balance_problem *problem)
{
	struct expectation best = {.found = false};

	for (unsigned int used = 1; used < 1U << problem->nr; used++) {
		struct expectation candidate;

		if ((unsigned int)__builtin_popcount(used) != problem->nr_used)
			continue;
		candidate = judge(problem, used);
		if (candidate.found && beats(problem, &candidate, &best))
			best = candidate;
	}
	return best;
}

/* --- comparison ------------------------------------------------------------------------------- */

static unsigned int mask_of(const uint8_t *positions, unsigned int nr)
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < nr; i++)
		mask |= 1U << positions[i];
	return mask;
}

static void limited_shares_follow_the_rules(void **state)
{
	unsigned int nr_found = 0, nr_one_socket = 0, nr_large = 0;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct balance_problem problem;
		struct expectation expected;
		struct balance got = {0};
		uint64_t steps = 1000;
		bool found;

		draw_problem(&problem);
		problem.steps = &steps;
		expected = expect(&problem);
		problem.max_sockets = 1;
		found = balance_find(&problem, &got);
		assert_int_equal(found, expected.found && expected.one_socket);
		problem.max_sockets = 0;
		if (!found)
			found = balance_find(&problem, &got);
		assert_int_equal(found, expected.found);
		if (!found)
			continue;
		assert_int_equal(got.even, expected.even);
		assert_int_equal(got.rest_groups, expected.rest_groups);
		assert_int_equal(mask_of(got.used, got.nr_used), expected.used);
		assert_int_equal(mask_of(got.rest, got.nr_rest), expected.rest);
		assert_int_equal(got.is_last, expected.one_socket && expected.score == 0);
		nr_found++;
		nr_one_socket += expected.one_socket;
		nr_large += expected.rest_groups >= BALANCE_MAX;
	}
	print_message("%u answers, %u in one socket, %u with a large remainder\n", nr_found,
		      nr_one_socket, nr_large);
	assert_true(nr_found > ROUNDS / 4 && nr_one_socket > ROUNDS / 10 && nr_large > 50);
	assert_true(nr_one_socket < nr_found);
}

/* Larger problems, of which few random ones ask for a subset that is not among the first. */
static void late_subsets_follow_the_rules(void **state)
{
	const struct balance_problem problems[] = {
		{.nr = 10,
		 .nr_used = 8,
		 .count = 60,
		 .group = 4,
		 .free = {2, 11, 5, 10, 10, 12, 6, 3, 15, 12}},
		{.nr = 10,
		 .nr_used = 7,
		 .count = 13,
		 .group = 1,
		 .free = {3, 4, 3, 2, 5, 3, 2, 2, 2, 2}},
		{.nr = 14,
		 .nr_used = 6,
		 .count = 28,
		 .group = 1,
		 .free = {6, 3, 7, 6, 1, 8, 7, 10, 8, 4, 1, 2, 7, 7}},
		{.nr = 12,
		 .nr_used = 5,
		 .count = 24,
		 .group = 1,
		 .free = {12, 2, 2, 3, 5, 16, 18, 16, 3, 15, 13, 10}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(problems); i++) {
		struct expectation expected = expect(&problems[i]);
		struct balance got = {0};

		assert_true(balance_find(&problems[i], &got) && expected.found);
		assert_int_equal(mask_of(got.used, got.nr_used), expected.used);
		assert_int_equal(mask_of(got.rest, got.nr_rest), expected.rest);
	}
}

/* Without limited shares: a node that lacks its share excludes its combination. */
static void even_shares_follow_the_rules(void **state)
{
	unsigned int nr_found = 0, nr_refused = 0, nr_narrowed = 0;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct balance_problem problem;
		struct expectation expected, unlimited;
		struct balance got = {0};
		uint64_t steps = 1000;

		draw_problem(&problem);
		problem.is_limited = false;
		problem.steps = &steps;
		unlimited = expect(&problem);
		problem.max_sockets = draw(4);
		expected = expect(&problem);
		assert_int_equal(balance_find(&problem, &got), expected.found);
		nr_refused += !expected.found;
		if (!expected.found)
			continue;
		assert_int_equal(got.even, expected.even);
		assert_int_equal(got.rest_groups, expected.rest_groups);
		assert_int_equal(got.nr_used, problem.nr_used);
		assert_int_equal(mask_of(got.used, got.nr_used), expected.used);
		assert_int_equal(mask_of(got.rest, got.nr_rest), expected.rest);
		assert_int_equal(got.is_last, expected.score == 0);
		nr_found++;
		nr_narrowed += expected.used != unlimited.used;
	}
	print_message("%u answers, %u refusals, %u with other nodes due to sockets\n", nr_found,
		      nr_refused, nr_narrowed);
	assert_true(nr_found > ROUNDS / 4 && nr_refused > ROUNDS / 20 && nr_narrowed > 50);
}

/* --- what the kubelet makes of it ------------------------------------------------------------- */

/* A slice in Go: append() writes in place while there is room, otherwise into a larger copy. */
struct slice {
	uint8_t *array;
	unsigned int len, capacity;
};

/* The kubelet's enumeration of combinations, and one of them that it remembers by its slice. */
struct enumeration {
	uint8_t *arrays; /* room for all that are made; freed at the end */
	size_t nr_bytes;
	unsigned int total;
	const uint8_t *wanted; /* the combination to remember */
	unsigned int nr_wanted;
	bool stops, has_stopped;   /* at the first combination after it */
	const uint8_t *remembered; /* its array */
};

static struct slice append_to(struct enumeration *all, struct slice slice, uint8_t value)
{
	if (slice.len == slice.capacity) {
		uint8_t *array = all->arrays + all->nr_bytes;

		slice.capacity = slice.capacity ? 2 * slice.capacity : 1;
		all->nr_bytes += slice.capacity;
		if (slice.len)
			memcpy(array, slice.array, slice.len);
		slice.array = array;
	}
	slice.array[slice.len++] = value;
	return slice;
}

static void enumerate(struct enumeration *all, unsigned int missing, unsigned int start,
		      struct slice slice)
{
	if (missing == 0) {
		all->has_stopped = all->remembered && all->stops;
		if (!all->remembered && !memcmp(slice.array, all->wanted, slice.len))
			all->remembered = slice.array;
		return;
	}
	for (unsigned int i = start; i + missing <= all->total && !all->has_stopped; i++)
		enumerate(all, missing - 1, i + 1, append_to(all, slice, (uint8_t)i));
}

/* What is left of a remembered combination after the enumeration. */
static void remember(unsigned int total, const uint8_t *wanted, unsigned int nr, bool stops,
		     uint8_t *ret_members)
{
	struct enumeration all = {
		.arrays = malloc(1 << 20),
		.total = total,
		.wanted = wanted,
		.nr_wanted = nr,
		.stops = stops,
	};

	assert_non_null(all.arrays);
	enumerate(&all, nr, 0, (struct slice){NULL, 0, 0});
	assert_true(all.nr_bytes <= 1 << 20);
	assert_non_null(all.remembered);
	memcpy(ret_members, all.remembered, nr);
	free(all.arrays);
}

static unsigned int positions_of(unsigned int mask, uint8_t *ret_positions)
{
	unsigned int nr = 0;

	for (; mask; mask &= mask - 1)
		ret_positions[nr++] = (uint8_t)__builtin_ctz(mask);
	return nr;
}

/* Every combination of up to ten positions, remembered until the end or until the next one. */
static void combinations_are_mixed_up_as_in_go(void **state)
{
	unsigned int nr_mixed_up = 0;

	(void)state;
	for (unsigned int total = 1; total <= 10; total++) {
		for (unsigned int mask = 1; mask < 1U << total; mask++) {
			struct balance_problem problem = {.nr = total, .group = 1};
			struct balance balance = {.is_last = false};
			uint8_t before[BALANCE_MAX], want[BALANCE_MAX];

			balance.nr_used = positions_of(mask, before);
			for (int is_last = 0; is_last < 2; is_last++) {
				memset(balance.used, 99, sizeof(balance.used));
				memcpy(balance.used, before, balance.nr_used);
				balance.is_last = is_last;
				remember(total, before, balance.nr_used, is_last, want);
				balance_spoil(&problem, &balance);
				assert_memory_equal(balance.used, want, balance.nr_used);
				assert_int_equal(balance.used[balance.nr_used], 99);
				nr_mixed_up += memcmp(want, before, balance.nr_used) != 0;
			}
		}
	}
	assert_true(nr_mixed_up > 100);
}

/* The same for the remainder, of the positions that have a group left after the even share. */
static void remainders_are_mixed_up_as_in_go(void **state)
{
	enum { NR = 10, EVEN = 4 };

	(void)state;
	for (unsigned int poor = 0; poor <= NR; poor++) {
		struct balance_problem problem = {.nr = NR, .nr_used = NR, .group = 2};
		unsigned int total = poor < NR ? NR - 1 : NR;

		for (unsigned int i = 0; i < NR; i++)
			problem.free[i] = i == poor ? EVEN + 1 : EVEN + 2;
		for (unsigned int mask = 1; mask < 1U << total; mask++) {
			struct balance balance = {.even = EVEN, .nr_used = NR, .is_last = true};
			uint8_t before[BALANCE_MAX], want[BALANCE_MAX];

			for (unsigned int i = 0; i < NR; i++)
				balance.used[i] = (uint8_t)i;
			memset(balance.rest, 99, sizeof(balance.rest));
			balance.nr_rest = positions_of(mask, before);
			remember(total, before, balance.nr_rest, false, want);
			for (unsigned int i = 0; i < balance.nr_rest; i++) {
				balance.rest[i] = (uint8_t)(before[i] + (before[i] >= poor));
				want[i] = (uint8_t)(want[i] + (want[i] >= poor));
			}
			balance_spoil(&problem, &balance);
			assert_memory_equal(balance.rest, want, balance.nr_rest);
			assert_int_equal(balance.rest[balance.nr_rest], 99);
		}
	}
}

/* A subset that has the CPUs of the remainder, but not in whole groups, is dealt to forever. */
static bool hangs_with(const struct balance_problem *problem, unsigned int used)
{
	uint32_t groups = problem->count / problem->group, even = groups / problem->nr_used;
	uint32_t whole = 0, rest;

	for (unsigned int i = 0; i < problem->nr; i++) {
		if (!(used & 1U << i))
			continue;
		whole += problem->free[i] / problem->group;
		if (problem->is_limited && problem->free[i] / problem->group < even)
			even = problem->free[i] / problem->group;
	}
	if (whole < groups)
		return false;
	for (unsigned int i = 0; i < problem->nr; i++) {
		if (used & 1U << i && problem->free[i] < even * problem->group)
			return false;
	}
	rest = groups - even * problem->nr_used;
	for (unsigned int subset = used; subset; subset = (subset - 1) & used) {
		uint32_t cpus = 0, can_give = 0;

		for (unsigned int i = 0; i < problem->nr; i++) {
			uint32_t left = problem->free[i] - even * problem->group;

			if (subset & 1U << i && left >= problem->group) {
				cpus += left;
				can_give += left / problem->group;
			}
		}
		if (cpus >= rest * problem->group && can_give < rest)
			return true;
	}
	return false;
}

/* All combinations are scored, up to the one that ends the search. */
static bool hangs_by_definition(const struct balance_problem *problem,
				const struct balance *balance)
{
	unsigned int winner = mask_of(balance->used, balance->nr_used);

	for (unsigned int used = 1; used < 1U << problem->nr; used++) {
		if ((unsigned int)__builtin_popcount(used) != problem->nr_used ||
		    (balance->is_last && used != winner && !is_before(used, winner)))
			continue;
		if (hangs_with(problem, used))
			return true;
	}
	return false;
}

/* Whichever combination wins, and whether or not it ends the search. */
static void the_kubelet_hangs_where_groups_do_not_fit(void **state)
{
	unsigned int nr_hangs = 0, nr_spared = 0;

	(void)state;
	for (unsigned int round = 0; round < 3 * ROUNDS; round++) {
		struct balance_problem problem;
		struct balance balance = {0};
		unsigned int winner;
		bool hangs;

		draw_problem(&problem);
		problem.is_limited = draw(2);
		do
			winner = draw(1U << problem.nr);
		while ((unsigned int)__builtin_popcount(winner) != problem.nr_used);
		balance.nr_used = positions_of(winner, balance.used);
		balance.rest_groups = problem.count / problem.group % problem.nr_used;
		hangs = hangs_by_definition(&problem, &balance);
		assert_int_equal(balance_hangs(&problem, &balance), hangs);
		balance.is_last = true;
		if (balance_hangs(&problem, &balance) != hangs_by_definition(&problem, &balance))
			fail_msg("round %u: %u CPUs in groups of %u on %u of %u nodes", round,
				 problem.count, problem.group, problem.nr_used, problem.nr);
		nr_hangs += hangs;
		nr_spared += hangs && !balance_hangs(&problem, &balance);
	}
	print_message("%u hang, of which the end of the search spares %u\n", nr_hangs, nr_spared);
	assert_true(nr_hangs > ROUNDS / 100 && nr_spared > ROUNDS / 400);
}

/* 5, 7, 7 and 7 CPUs and 4 on all others, of which 22 and all 4 are requested in pairs. */
static void hangs_are_looked_for_on_up_to_sixteen_nodes(void **state)
{
	(void)state;
	for (unsigned int nr = 16; nr <= 17; nr++) {
		struct balance_problem problem = {
			.nr = nr, .nr_used = nr, .group = 2, .count = 22 + (nr - 4) * 4};
		struct balance balance = {.nr_used = nr, .rest_groups = 3};

		for (unsigned int i = 0; i < nr; i++) {
			problem.free[i] = i < 4 ? 7 : 4;
			balance.used[i] = (uint8_t)i;
		}
		problem.free[0] = 5;
		assert_int_equal(balance_hangs(&problem, &balance), nr == 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limited_shares_follow_the_rules),
		cmocka_unit_test(late_subsets_follow_the_rules),
		cmocka_unit_test(even_shares_follow_the_rules),
		cmocka_unit_test(combinations_are_mixed_up_as_in_go),
		cmocka_unit_test(remainders_are_mixed_up_as_in_go),
		cmocka_unit_test(the_kubelet_hangs_where_groups_do_not_fit),
		cmocka_unit_test(hangs_are_looked_for_on_up_to_sixteen_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
