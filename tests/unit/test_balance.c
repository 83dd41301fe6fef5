// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The search over NUMA nodes against the definition, spelled out: enumerate every
 * combination and every subset, score with doubles, keep the first best. Random
 * problems of up to seven nodes, where the definition is still quick.
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
#include "core/cpu/take.h"

#define PROBLEMS 40000

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

struct winner {
	bool found;
	double score;
	unsigned int nr_used, nr_rest;
	uint8_t used[BALANCE_MAX], rest[BALANCE_MAX];
};

static double round3(double value)
{
	return round(value * 1000) / 1000;
}

static double deviation(const uint32_t *values, unsigned int nr)
{
	double sum = 0, mean, squares = 0;

	for (unsigned int i = 0; i < nr; i++)
		sum += values[i];
	mean = round3(sum / nr);
	for (unsigned int i = 0; i < nr; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return round3(sqrt(squares / nr));
}

/* Subsets of {0..nr-1} of `size` in lexicographic order; starts at {0..size-1}. */
static bool next_choice(uint8_t *choice, unsigned int size, unsigned int nr)
{
	for (unsigned int i = size; i-- > 0;) {
		if (choice[i] < nr - size + i) {
			choice[i]++;
			for (unsigned int j = i + 1; j < size; j++)
				choice[j] = (uint8_t)(choice[j - 1] + 1);
			return true;
		}
	}
	return false;
}

static void first_choice(uint8_t *choice, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		choice[i] = (uint8_t)i;
}

static bool deal(uint32_t *after, const uint8_t *members, unsigned int nr, uint32_t groups,
		 uint32_t group)
{
	uint32_t capacity = 0;

	for (unsigned int i = 0; i < nr; i++)
		capacity += after[members[i]] / group;
	if (capacity < groups)
		return false;
	while (groups) {
		for (unsigned int i = 0; i < nr && groups; i++) {
			if (after[members[i]] < group)
				continue;
			after[members[i]] -= group;
			groups--;
		}
	}
	return true;
}

static void score_combination(const struct balance_problem *problem, const uint8_t *used,
			      uint32_t even, uint32_t groups, struct winner *winner)
{
	uint32_t after[BALANCE_MAX];
	uint8_t givers[BALANCE_MAX], choice[BALANCE_MAX], members[BALANCE_MAX];
	unsigned int nr_givers = 0;
	struct winner local = {.score = INFINITY};

	memcpy(after, problem->free, sizeof(after));
	for (unsigned int i = 0; i < problem->nr_used; i++) {
		after[used[i]] -= even;
		if (after[used[i]] >= problem->group)
			givers[nr_givers++] = used[i];
	}
	if (groups == 0)
		local.score = deviation(after, problem->nr);
	for (unsigned int size = nr_givers; groups && size >= 1; size--) {
		first_choice(choice, size);
		do {
			uint32_t left[BALANCE_MAX];
			double score;

			memcpy(left, after, sizeof(left));
			for (unsigned int i = 0; i < size; i++)
				members[i] = givers[choice[i]];
			if (!deal(left, members, size, groups, problem->group))
				continue;
			score = deviation(left, problem->nr);
			if (score < local.score) {
				local.score = score;
				local.nr_rest = size;
				memcpy(local.rest, members, size);
			}
		} while (next_choice(choice, size, nr_givers));
	}
	if (local.score < winner->score) {
		*winner = local;
		winner->found = true;
		winner->nr_used = problem->nr_used;
		memcpy(winner->used, used, problem->nr_used);
	}
}

static struct winner by_definition(const struct balance_problem *problem)
{
	struct winner winner = {.score = INFINITY};
	uint32_t even = problem->count / problem->nr_used / problem->group * problem->group;
	uint32_t groups = (problem->count - even * problem->nr_used) / problem->group;
	uint8_t used[BALANCE_MAX];

	first_choice(used, problem->nr_used);
	do {
		uint32_t capacity = 0;
		uint64_t sockets = 0;
		bool fits = true;

		for (unsigned int i = 0; i < problem->nr_used; i++) {
			sockets |= problem->sockets[used[i]];
			capacity += problem->free[used[i]] / problem->group;
			fits &= problem->free[used[i]] >= even;
		}
		if (problem->max_sockets &&
		    (unsigned int)__builtin_popcountll(sockets) > problem->max_sockets)
			fits = false;
		if (fits && capacity * problem->group >= problem->count)
			score_combination(problem, used, even, groups, &winner);
	} while (next_choice(used, problem->nr_used, problem->nr));
	return winner;
}

/* Some nodes lie in two sockets. */
static void draw_sockets(struct balance_problem *problem, uint64_t *steps)
{
	unsigned int nr = 1 + draw(problem->nr);

	problem->steps = steps;
	problem->max_sockets = draw(nr + 1);
	for (unsigned int i = 0; i < problem->nr; i++)
		problem->sockets[i] = (uint64_t)1 << draw(nr) |
				      (draw(5) ? 0 : (uint64_t)1 << draw(nr));
}

static void draw_problem(struct balance_problem *problem)
{
	uint32_t base = draw(3) ? draw(40) : 0, range = 1 + draw(draw(2) ? 60 : 6), sum = 0;
	bool far = draw(6) == 0;

	memset(problem, 0, sizeof(*problem));
	problem->nr = 1 + draw(7);
	problem->group = 1 + draw(3);
	for (unsigned int i = 0; i < problem->nr; i++) {
		problem->free[i] = 1 + base + draw(range) + (draw(8) ? 0 : draw(150));
		/*
		 * The deviation is so large that different combinations are rounded to
		 * the same score.
		 */
		if (far && i == 0)
			problem->free[i] += 4000;
		sum += problem->free[i];
	}
	problem->count = (1 + draw(far ? sum - 4000 : sum)) / problem->group * problem->group;
	if (problem->count == 0)
		problem->count = problem->group;
	problem->nr_used = 1 + draw(problem->nr);
	if (problem->nr_used > problem->count / problem->group)
		problem->nr_used = problem->count / problem->group;
}

static void equals_definition(void **state)
{
	unsigned int nr_found = 0, nr_rest = 0;

	(void)state;
	for (unsigned int n = 0; n < PROBLEMS; n++) {
		struct balance_problem problem;
		struct balance balance;
		struct winner winner;
		uint64_t steps = 0;

		draw_problem(&problem);
		if (draw(2))
			draw_sockets(&problem, &steps);
		winner = by_definition(&problem);
		assert_int_equal(balance_find(&problem, &balance), winner.found);
		if (!winner.found)
			continue;
		nr_found++;
		nr_rest += winner.nr_rest > 0;
		assert_int_equal(balance.nr_used, winner.nr_used);
		assert_memory_equal(balance.used, winner.used, winner.nr_used);
		assert_int_equal(balance.nr_rest, winner.nr_rest);
		assert_memory_equal(balance.rest, winner.rest, winner.nr_rest);
		assert_int_equal(balance.perfect, winner.score == 0);
	}
	/* The random problems must not have become trivial. */
	assert_true(nr_found > PROBLEMS / 10);
	assert_true(nr_rest > PROBLEMS / 20);
}

/* 64 nodes: a valid answer in bounded time; the alarm terminates an unbounded search. */
static void large_machine_is_bounded(void **state)
{
	struct balance_problem problem = {.nr = 64, .group = 1};
	struct balance balance;
	uint32_t sum = 0;

	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		problem.free[i] = 20 + draw(40);
	problem.nr_used = 32;
	problem.count = 32 * 30 + 31;
	assert_true(balance_find(&problem, &balance));
	assert_int_equal(balance.nr_used, 32);
	for (unsigned int i = 0; i < balance.nr_used; i++) {
		assert_true(problem.free[balance.used[i]] >= balance.even);
		assert_true(i == 0 || balance.used[i] > balance.used[i - 1]);
		sum += balance.even;
	}
	assert_int_equal(sum + balance.rest_groups, problem.count);
	assert_true(balance.nr_rest > 0);
}

/* Many sockets: all limited searches together stop after the steps that they share. */
static void sockets_are_bounded(void **state)
{
	uint64_t steps = TAKE_SEARCH_STEPS;
	struct balance_problem problem = {
		.nr = 64, .group = 1, .nr_used = 32, .count = 32 * 30 + 31, .steps = &steps};
	struct balance balance;

	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		problem.free[i] = 20 + draw(40);
		problem.sockets[i] = (uint64_t)1 << (i / 2);
	}
	for (problem.max_sockets = 1; problem.max_sockets < 32; problem.max_sockets++) {
		uint64_t sockets = 0;

		if (!balance_find(&problem, &balance))
			continue;
		for (unsigned int i = 0; i < balance.nr_used; i++)
			sockets |= problem.sockets[balance.used[i]];
		assert_true((unsigned int)__builtin_popcountll(sockets) <= problem.max_sockets);
		assert_true(problem.max_sockets >= 16);
	}
	assert_true(steps < TAKE_SEARCH_STEPS);
}

/*
 * Eight nodes of two CPUs, four nodes requested: the kubelet overwrites the stored
 * combination 0-3.
 */
static void kubelet_overwrites_combination(void **state)
{
	struct balance_problem problem = {
		.nr = 8, .free = {2, 2, 2, 2, 2, 2, 2, 2}, .nr_used = 4, .count = 8, .group = 1};
	struct balance balance;
	static const uint8_t right[] = {0, 1, 2, 3}, spoilt[] = {0, 1, 2, 7};

	(void)state;
	assert_true(balance_find(&problem, &balance));
	assert_memory_equal(balance.used, right, sizeof(right));
	balance_spoil(&problem, &balance);
	assert_memory_equal(balance.used, spoilt, sizeof(spoilt));
}

/* 3 + 3 free CPUs in groups of 2 make 6 CPUs but only two groups. */
static void kubelet_hang_is_detected(void **state)
{
	struct balance_problem problem = {
		.nr = 4, .free = {5, 7, 7, 7}, .nr_used = 4, .count = 22, .group = 2};
	struct balance_problem even = {
		.nr = 4, .free = {6, 8, 8, 8}, .nr_used = 4, .count = 22, .group = 2};
	struct balance balance;

	(void)state;
	assert_true(balance_find(&problem, &balance));
	assert_true(balance_hangs(&problem, &balance));
	assert_true(balance_find(&even, &balance));
	assert_false(balance_hangs(&even, &balance));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_definition),
		cmocka_unit_test(large_machine_is_bounded),
		cmocka_unit_test(sockets_are_bounded),
		cmocka_unit_test(kubelet_overwrites_combination),
		cmocka_unit_test(kubelet_hang_is_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
