// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The search for NUMA nodes on machines that are too large for an exact search: which nodes
 * supply the remainder, against a plain statement of the rule in floating point, and what the
 * search does with a limited number of steps.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/cpu/balance.h"
#include "core/cpu/take.h"

static uint32_t draw(uint32_t bound)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % bound;
}

/* --- the rule for the remainder --------------------------------------------------------------- */

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

/* The `size` nodes with the most left that have a group; of two alike the earlier one. */
static uint64_t fullest_of(const uint32_t *left, unsigned int nr, uint32_t group, unsigned int size)
{
	uint64_t mask = 0;

	for (; size; size--) {
		unsigned int most = nr;

		for (unsigned int i = nr; i-- > 0;) {
			if (!(mask & 1ULL << i) && left[i] >= group &&
			    (most == nr || left[i] >= left[most]))
				most = i;
		}
		if (most == nr)
			return 0;
		mask |= 1ULL << most;
	}
	return mask;
}

/* The deviation after handing the groups out in turn; -1 if the subset has too few. */
static long score_rest(const uint32_t *after, unsigned int nr, uint32_t group, uint64_t subset,
		       uint32_t groups)
{
	uint32_t left[BALANCE_MAX], whole = 0;

	memcpy(left, after, nr * sizeof(left[0]));
	for (unsigned int i = 0; i < nr; i++)
		whole += subset & 1ULL << i ? left[i] / group : 0;
	if (whole < groups)
		return -1;
	for (unsigned int i = 0; groups; i = (i + 1) % nr) {
		if (!(subset & 1ULL << i) || left[i] < group)
			continue;
		left[i] -= group;
		groups--;
	}
	return deviation(left, nr);
}

/* Of the fullest nodes as few as are needed for the best score, but rather more than fewer. */
static uint64_t expect_rest(const struct balance_problem *problem, uint32_t even,
			    uint32_t rest_groups, long *ret_score)
{
	uint32_t after[BALANCE_MAX];
	uint64_t best = 0;

	for (unsigned int i = 0; i < problem->nr; i++)
		after[i] = problem->free[i] - even;
	*ret_score = rest_groups ? -1 : deviation(after, problem->nr);
	for (unsigned int size = problem->nr; size && rest_groups; size--) {
		uint64_t subset = fullest_of(after, problem->nr, problem->group, size);
		long score = -1;

		if (subset)
			score = score_rest(after, problem->nr, problem->group, subset, rest_groups);
		if (score < 0 || (best && score >= *ret_score))
			continue;
		best = subset;
		*ret_score = score;
	}
	return best;
}

static uint64_t mask_of(const uint8_t *positions, unsigned int nr)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < nr; i++)
		mask |= 1ULL << positions[i];
	return mask;
}

/* More than TAKE_EXACT_NODES nodes that are all used; few or many CPUs, alike or not. */
static void draw_problem(struct balance_problem *ret_problem)
{
	struct balance_problem problem = {.nr = TAKE_EXACT_NODES + 1, .group = 1 + draw(4)};
	uint32_t most = draw(2) ? 6 : 40, groups = 0, alike = draw(3);

	problem.nr += draw(2) ? draw(BALANCE_MAX - TAKE_EXACT_NODES) : draw(4);
	if (!draw(8))
		problem.nr = BALANCE_MAX;
	problem.nr_used = problem.nr;
	problem.is_limited = draw(2);
	for (unsigned int i = 0; i < problem.nr; i++) {
		problem.free[i] = (alike ? 3 : 1) * problem.group + draw(alike == 2 ? 3 : most);
		groups += problem.free[i] / problem.group;
	}
	if (!draw(4))
		problem.free[draw(problem.nr)] += 2 * most * problem.group;
	problem.count = (problem.nr + draw(groups - problem.nr + 1)) * problem.group;
	*ret_problem = problem;
}

/* The answer of balance_find, or .even 0 if it refuses. */
static struct balance find_by_the_rules(const struct balance_problem *problem)
{
	struct balance got = {.even = 0};
	uint32_t share = problem->count / problem->group / problem->nr;
	uint64_t expected;
	long score;

	for (unsigned int i = 0; i < problem->nr && problem->is_limited; i++) {
		uint32_t whole = problem->free[i] / problem->group;

		share = whole < share ? whole : share;
	}
	for (unsigned int i = 0; i < problem->nr; i++) {
		if (problem->free[i] / problem->group < share)
			share = 0; /* a node lacks its share: no answer */
	}
	assert_int_equal(balance_find(problem, &got), share != 0);
	if (!share)
		return got;
	assert_int_equal(got.even, share * problem->group);
	assert_int_equal(got.rest_groups, problem->count / problem->group - share * problem->nr);
	assert_int_equal(got.nr_used, problem->nr);
	expected = expect_rest(problem, got.even, got.rest_groups, &score);
	assert_int_equal(mask_of(got.rest, got.nr_rest), expected);
	assert_int_equal(got.is_last, score == 0 && !problem->is_limited);
	return got;
}

static void remainder_goes_to_the_fullest_nodes(void **state)
{
	unsigned int nr_subsets = 0, nr_large = 0, nr_equal = 0;

	(void)state;
	for (unsigned int round = 0; round < 3000; round++) {
		struct balance_problem problem;
		struct balance got;

		draw_problem(&problem);
		got = find_by_the_rules(&problem);
		nr_subsets += got.nr_rest && got.nr_rest < problem.nr;
		nr_large += got.rest_groups >= BALANCE_MAX;
		nr_equal += got.even && !got.rest_groups;
	}
	print_message("%u subsets, %u large remainders, %u without one\n", nr_subsets, nr_large,
		      nr_equal);
	assert_true(nr_subsets > 300 && nr_large > 200 && nr_equal > 30);
}

/*
 * As many groups remain as there are nodes, but two nodes supply them, and not in rounds: 50 and
 * 20 CPUs are left on them, and 64 are missing.
 */
static void remainder_of_one_group_per_node(void **state)
{
	struct balance_problem problem = {
		.nr = 64, .nr_used = 64, .group = 1, .count = 128, .is_limited = true};

	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		problem.free[i] = 2;
	problem.free[0] = 21;
	problem.free[1] = 51;
	problem.free[63] = 1;
	assert_int_equal(find_by_the_rules(&problem).rest_groups, 64);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* `nr` nodes of `free` CPUs each, on one socket. */
static struct balance_problem alike(unsigned int nr, uint32_t free, uint64_t *steps)
{
	struct balance_problem problem = {
		.nr = nr, .nr_used = nr, .group = 1, .max_sockets = 1, .steps = steps};

	for (unsigned int i = 0; i < nr; i++) {
		problem.free[i] = free;
		problem.sockets[i] = 1;
	}
	return problem;
}

/* Each node costs a step, and so does each group of the remainder for each node. */
static void search_pays_for_nodes_and_groups(void **state)
{
	enum { NR = 20, STEPS = 10000 };
	uint64_t steps = STEPS;
	struct balance_problem problem = alike(NR, 10, &steps);
	struct balance got = {.nr_rest = 1}; /* of an earlier answer */

	(void)state;
	problem.count = 2 * NR;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.nr_rest, 0);
	assert_int_equal(steps, STEPS - NR);

	steps = STEPS;
	problem.count = 2 * NR + 3;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(steps, STEPS - NR - 3 * NR);

	/* The nodes can be paid for, and the groups only in part: an answer, and the end. */
	steps = NR + 2 * NR;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.rest_groups, 3);
	assert_int_equal(steps, 0);
}

/*
 * If all but one node have the same, they supply any remainder in equal parts, and no subset has to
 * be tried. A remainder larger than the machine is paid for in whole rounds, not in groups.
 */
static void large_remainder_of_equal_nodes_is_cheap(void **state)
{
	enum { STEPS = 1000000 };

	(void)state;
	for (unsigned int nr = TAKE_EXACT_NODES + 1; nr <= BALANCE_MAX; nr++) {
		for (uint32_t rest = BALANCE_MAX; rest < 4 * BALANCE_MAX; rest++) {
			uint64_t steps = STEPS;
			struct balance_problem problem = alike(nr, 31, &steps);
			struct balance got;

			problem.group = 2;
			problem.is_limited = true;
			problem.free[rest % nr] = 2;
			problem.count = 2 * (nr + rest);
			if (rest > 14 * (nr - 1))
				break;
			assert_true(balance_find(&problem, &got));
			assert_int_equal(got.rest_groups, rest);
			assert_int_equal(STEPS - steps, nr + nr * nr);
		}
	}
}

/*
 * Ten nodes have a CPU more than the others. They supply two of the 64 CPUs each and 44 others
 * one, which is also what dealing to these 54 nodes gives, so no subset has to be tried.
 */
static void level_of_a_large_remainder_is_exact(void **state)
{
	enum { STEPS = 1000000 };
	uint64_t steps = STEPS;
	struct balance_problem problem = alike(BALANCE_MAX, 20, &steps);
	struct balance got;

	(void)state;
	problem.is_limited = true;
	problem.count = 2 * BALANCE_MAX;
	for (unsigned int i = 0; i < 10; i++)
		problem.free[i] = 21;
	problem.free[BALANCE_MAX - 1] = 1;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.rest_groups, BALANCE_MAX);
	assert_int_equal(STEPS - steps, BALANCE_MAX + BALANCE_MAX * BALANCE_MAX);
}

/* Only machines with more nodes have a limit. */
static void small_machines_never_run_out_of_steps(void **state)
{
	struct balance got;

	(void)state;
	for (unsigned int nr = TAKE_EXACT_NODES - 1; nr <= TAKE_EXACT_NODES + 1; nr++) {
		uint64_t steps = 0;
		struct balance_problem problem = alike(nr, 10, &steps);

		problem.nr_used = nr - 1;
		problem.count = 2 * nr;
		assert_int_equal(balance_find(&problem, &got), nr <= TAKE_EXACT_NODES);
	}
}

/*
 * What the two fullest nodes would supply is not a deal in turn, so subsets are tried, and each
 * costs at least what the first attempt did.
 */
static void subsets_are_paid_for(void **state)
{
	enum { NR = 20, REST = 6, STEPS = 10000 };
	uint64_t steps = STEPS;
	struct balance_problem problem = alike(NR, 2, &steps);
	struct balance got;

	(void)state;
	problem.count = NR + REST;
	problem.free[3] = 9;
	problem.free[5] = 5;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.rest_groups, REST);
	assert_true(STEPS - steps >= NR + 2 * REST * NR);
}

/* The fullest nodes are the last ones in order, but they are looked at first. */
static void steps_are_enough_for_the_fullest_nodes(void **state)
{
	enum { NR = 60, NR_USED = 38 };
	struct balance_problem problem = alike(NR, 4, NULL);
	struct balance got;

	(void)state;
	problem.max_sockets = 0;
	problem.nr_used = NR_USED;
	problem.count = 50;
	for (unsigned int i = 0; i < NR; i++)
		problem.free[i] += i;
	assert_true(balance_find(&problem, &got));
	for (unsigned int i = 0; i < NR_USED; i++)
		assert_int_equal(got.used[i], NR - NR_USED + i);
}

/* Of 40 nodes that are alike, the first 20 are as good as any, of more than 10^11 combinations. */
static void combinations_that_cannot_be_better_are_not_visited(void **state)
{
	enum { NR = 40, NR_USED = 20, STEPS = 10000 };
	uint64_t steps = STEPS;
	struct balance_problem problem = alike(NR, 10, &steps);
	struct balance got;

	(void)state;
	problem.nr_used = NR_USED;
	problem.count = 3 * NR_USED + 7;
	assert_true(balance_find(&problem, &got));
	for (unsigned int i = 0; i < NR_USED; i++)
		assert_int_equal(got.used[i], i);
	assert_true(steps > 0);
}

/* The first combinations in order, until the steps end; that of the fullest nodes is later. */
static void search_ends_with_the_best_so_far(void **state)
{
	enum { NR = 20, NR_USED = 10 };
	struct balance got;

	(void)state;
	for (uint64_t budget = 0; budget < 400; budget++) {
		uint64_t steps = budget;
		struct balance_problem problem = alike(NR, 10, &steps);
		bool found;

		problem.nr_used = NR_USED;
		problem.count = NR_USED;
		for (unsigned int i = 0; i < NR; i++)
			problem.free[i] += 2 * i;
		found = balance_find(&problem, &got);
		assert_int_equal(found, budget >= NR_USED);
		assert_true(steps <= budget && (!found || steps <= budget - NR_USED));
		for (unsigned int i = 0; i < NR_USED && budget == NR_USED; i++)
			assert_int_equal(got.used[i], i);
	}
}

/* Only the last 20 of 40 nodes have enough, of more than 10^11 combinations. */
static void combinations_with_too_few_groups_are_not_visited(void **state)
{
	enum { NR = 40, RICH = 20, STEPS = 1000 };
	uint64_t steps = STEPS;
	struct balance_problem problem = alike(NR, 1, &steps);
	struct balance got;

	(void)state;
	problem.nr_used = RICH;
	problem.count = RICH * 8;
	problem.is_limited = true;
	for (unsigned int i = NR - RICH; i < NR; i++)
		problem.free[i] = 8;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.even, 8);
	for (unsigned int i = 0; i < RICH; i++)
		assert_int_equal(got.used[i], NR - RICH + i);
	assert_true(steps > 0 && steps < STEPS);
}

/*
 * The CPUs that the second node would leave deviate by 25.3905 exactly and those of the first by a
 * little more, so both are 25.391 when rounded, and the first node wins. A half is only met on as
 * many nodes as this.
 */
static void half_a_thousandth_is_rounded_up(void **state)
{
	uint64_t steps = TAKE_SEARCH_STEPS;
	struct balance_problem problem = {
		.nr = BALANCE_MAX,
		.free = {76, 77, 1,  1,	 1,  51, 1,  20, 49, 37, 1,  1,	 1,  24, 1,  5,
			 8,  1,	 1,  17, 71, 1,	 20, 1,	 1,  1,	 54, 1,	 23, 20, 1,  1,
			 1,  1,	 7,  71, 1,  1,	 1,  34, 24, 8,	 1,  1,	 13, 1,	 1,  1,
			 1,  44, 69, 26, 1,  52, 67, 12, 3,  46, 1,  68, 1,  1,	 70, 64},
		.nr_used = 1,
		.count = 1,
		.group = 1,
		.steps = &steps,
	};
	struct balance got;

	(void)state;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.used[0], 0);
	assert_true(steps > 0);
	/* One CPU more, and the first is no longer as good. */
	problem.free[1] = 78;
	assert_true(balance_find(&problem, &got));
	assert_int_equal(got.used[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remainder_goes_to_the_fullest_nodes),
		cmocka_unit_test(remainder_of_one_group_per_node),
		cmocka_unit_test(search_pays_for_nodes_and_groups),
		cmocka_unit_test(large_remainder_of_equal_nodes_is_cheap),
		cmocka_unit_test(level_of_a_large_remainder_is_exact),
		cmocka_unit_test(small_machines_never_run_out_of_steps),
		cmocka_unit_test(subsets_are_paid_for),
		cmocka_unit_test(steps_are_enough_for_the_fullest_nodes),
		cmocka_unit_test(combinations_that_cannot_be_better_are_not_visited),
		cmocka_unit_test(search_ends_with_the_best_so_far),
		cmocka_unit_test(combinations_with_too_few_groups_are_not_visited),
		cmocka_unit_test(half_a_thousandth_is_rounded_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
