// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The search for NUMA nodes with limited shares (kubelet 1.37 with align-by-socket) against
 * a plain statement of its rules: every combination, every subset, in floating point.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cpu/balance.h"

#define MAX_NR 7
#define ROUNDS 20000

static uint32_t draw(uint32_t bound)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % bound;
}

static void draw_problem(struct balance_problem *ret_problem)
{
	struct balance_problem problem = {.nr = 1 + draw(MAX_NR), .group = 1 + draw(3)};
	unsigned int nr_sockets = 1 + draw(4);
	uint32_t most = draw(4) ? 12 : 200, sum = 0;

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
	uint32_t left[MAX_NR];
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
	uint32_t after[MAX_NR];
	uint64_t sockets = 0;
	uint32_t whole = 0;

	for (unsigned int i = 0; i < problem->nr; i++) {
		if (!(used & 1U << i))
			continue;
		share = problem->free[i] / problem->group < share
				? problem->free[i] / problem->group
				: share;
		whole += problem->free[i] / problem->group;
		sockets |= problem->sockets[i];
	}
	if (whole < groups)
		return candidate;
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

static bool beats(const struct expectation *a, const struct expectation *b)
{
	if (!b->found)
		return true;
	if (a->one_socket != b->one_socket)
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
		if (candidate.found && beats(&candidate, &best))
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limited_shares_follow_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
