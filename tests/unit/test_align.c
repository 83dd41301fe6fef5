// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The closed-form merge against the definition: fold every choice of one hint per
 * list with the pairwise comparison. Random problems, also with more nodes than
 * the bit vectors hold.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../lib/align_definition.h"
#include "core/align/align.h"

#define PROBLEMS  40000
#define MAX_LISTS 4
#define MAX_HINTS 9

static uint64_t seed = 0x2545f4914f6cdd1dULL;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

struct drawn {
	struct align_problem problem;
	struct hint_list lists[MAX_LISTS];
	struct hint hints[MAX_LISTS][MAX_HINTS];
	uint32_t distances[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
};

static void draw_problem(struct drawn *drawn, unsigned int least_nodes, unsigned int most_nodes)
{
	struct align_problem *problem = &drawn->problem;

	memset(drawn, 0, sizeof(*drawn));
	problem->policy = (enum align_policy)(1 + draw(ALIGN_NR - 1));
	problem->nr_nodes = least_nodes + draw(most_nodes - least_nodes + 1);
	problem->prefer_closest = draw(2);
	problem->distances = drawn->distances;
	problem->lists = drawn->lists;
	problem->nr_lists = draw(MAX_LISTS + 1);
	for (unsigned int i = 0; i < problem->nr_nodes * problem->nr_nodes; i++)
		drawn->distances[i] = 10 + draw(4) * 5;
	for (uint32_t i = 0; i < problem->nr_lists; i++) {
		drawn->lists[i] =
			(struct hint_list){draw(20) ? 1 + draw(MAX_HINTS) : 0, drawn->hints[i]};
		for (uint32_t j = 0; j < drawn->lists[i].nr; j++) {
			struct hint *hint = &drawn->hints[i][j];

			hint->any = draw(12) == 0;
			hint->preferred = draw(3) == 0;
			hint->nodes = 1ULL << draw(problem->nr_nodes);
			while (draw(2))
				hint->nodes |= 1ULL << draw(problem->nr_nodes);
		}
	}
}

static void assert_same(const struct alignment *got, const struct alignment *want)
{
	assert_int_equal(got->hint.any, want->hint.any);
	if (!want->hint.any)
		assert_true(got->hint.nodes == want->hint.nodes);
	assert_int_equal(got->hint.preferred, want->hint.preferred);
	assert_int_equal(got->admitted, want->admitted);
}

static void equals_definition(void **state)
{
	unsigned int nr_admitted = 0, nr_imperfect = 0;

	(void)state;
	for (unsigned int n = 0; n < PROBLEMS; n++) {
		struct drawn drawn;
		struct alignment got, want;

		draw_problem(&drawn, 1, n % 50 ? 6 : ALIGN_EXACT_NODES);
		assert_int_equal(align_merge(&drawn.problem, &got), 0);
		want = by_definition(&drawn.problem);
		assert_same(&got, &want);
		assert_true(got.exact);
		nr_admitted += got.admitted;
		nr_imperfect += !got.hint.preferred && !got.hint.any;
	}
	assert_true(nr_admitted > PROBLEMS / 5 && nr_admitted < PROBLEMS * 4 / 5);
	assert_true(nr_imperfect > PROBLEMS / 5);
}

#define MANY_HINTS 700

/*
 * Long lists, some of which are equal, as for several memory types. Wide hints whose ANDs
 * are narrow: the winner is seldom a hint itself.
 */
static void long_lists(void **state)
{
	static struct hint hints[3][MANY_HINTS];
	unsigned int nr_unnamed = 0;

	(void)state;
	for (unsigned int n = 0; n < 400; n++) {
		struct drawn drawn;
		struct align_problem *problem = &drawn.problem;
		struct alignment got, want;
		bool is_named = false;

		draw_problem(&drawn, 4, ALIGN_EXACT_NODES);
		problem->nr_lists = 2 + draw(2);
		for (uint32_t i = 0; i < problem->nr_lists; i++) {
			uint32_t nr = 1 + draw(problem->nr_lists == 2 ? MANY_HINTS : 40);
			uint32_t least = 1 + draw(problem->nr_nodes - 1);

			for (uint32_t j = 0; j < nr; j++) {
				hints[i][j] = (struct hint){.preferred = draw(200) == 0};
				while (count(hints[i][j].nodes) < (int)least || draw(3))
					hints[i][j].nodes |= 1ULL << draw(problem->nr_nodes);
			}
			drawn.lists[i] = (struct hint_list){nr, hints[i]};
		}
		if (draw(3) == 0)
			drawn.lists[1] = drawn.lists[0];
		assert_int_equal(align_merge(problem, &got), 0);
		want = by_definition(problem);
		assert_same(&got, &want);
		for (uint32_t i = 0; i < problem->nr_lists; i++) {
			for (uint32_t j = 0; j < drawn.lists[i].nr; j++)
				is_named |= drawn.lists[i].hints[j].nodes == want.hint.nodes;
		}
		nr_unnamed += !is_named;
	}
	assert_true(nr_unnamed > 50);
}

/*
 * Every set of more than eight of sixteen nodes is a hint, but one. That one is below
 * hints of both lists. It is the AND of two of them, unless every hint above it has
 * node 9; then the next number with nine bits wins.
 */
static void common_subset_need_not_be_an_intersection(void **state)
{
	static struct hint hints[1 << 16];
	const node_mask_t lowest = 0x1ff;

	(void)state;
	for (int meets = 0; meets < 2; meets++) {
		struct hint_list lists[2] = {{0, hints}};
		struct align_problem problem = {
			.policy = ALIGN_BEST_EFFORT, .nr_nodes = 16, .nr_lists = 2, .lists = lists};
		struct alignment got;

		for (node_mask_t mask = 1; mask < 1 << 16; mask++) {
			bool is_above = (mask & lowest) == lowest;

			if (count(mask) > 8 && mask != lowest &&
			    (meets || !is_above || (mask >> 9 & 1)))
				hints[lists[0].nr++].nodes = mask;
		}
		lists[1] = lists[0];
		assert_int_equal(align_merge(&problem, &got), 0);
		assert_true(got.exact && !got.hint.any && !got.hint.preferred);
		assert_true(got.hint.nodes == (meets ? lowest : 0x2ff));
	}
}

static void large_machines(void **state)
{
	unsigned int nr_exact = 0;

	(void)state;
	for (unsigned int n = 0; n < PROBLEMS / 20; n++) {
		struct drawn drawn;
		struct alignment got, want;

		draw_problem(&drawn, 17, 63);
		assert_int_equal(align_merge(&drawn.problem, &got), 0);
		want = by_definition(&drawn.problem);
		/* Admission is exact even if the merge is not. */
		assert_int_equal(got.admitted, want.admitted);
		if (!got.exact)
			continue;
		nr_exact++;
		assert_same(&got, &want);
	}
	assert_true(nr_exact > PROBLEMS / 40);
}

/* 64 nodes, three lists of thousands of masks without a common preferred mask. */
static void largest_machine_is_bounded(void **state)
{
	enum { HINTS = 4096 };
	static struct hint hints[3][HINTS];
	struct hint_list lists[3];
	struct align_problem problem = {
		.policy = ALIGN_BEST_EFFORT, .nr_nodes = 64, .nr_lists = 3, .lists = lists};
	struct alignment got;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int j = 0; j < HINTS; j++) {
			hints[i][j] = (struct hint){.preferred = false};
			for (unsigned int k = 0; k < 12 + i; k++)
				hints[i][j].nodes |= 1ULL << draw(64);
		}
		lists[i] = (struct hint_list){HINTS, hints[i]};
	}
	assert_int_equal(align_merge(&problem, &got), 0);
	assert_false(got.exact);
	assert_true(got.admitted && got.hint.nodes != 0 && !got.hint.preferred);
}

static void refusals(void **state)
{
	struct align_problem problem = {
		.policy = ALIGN_RESTRICTED, .prefer_closest = true, .nr_nodes = 4};
	struct alignment got;
	bool closest = false;
	uint32_t max_nodes = 8;
	char error[160];

	(void)state;
	assert_int_equal(align_merge(&problem, &got), -EINVAL);
	problem = (struct align_problem){.policy = ALIGN_RESTRICTED, .nr_nodes = 65};
	assert_int_equal(align_merge(&problem, &got), -EINVAL);
	assert_int_equal(align_option_set("prefer-closest-numa-nodes", "T", &closest, &max_nodes,
					  error, sizeof(error)),
			 0);
	assert_true(closest);
	assert_int_equal(align_option_set("max-allowable-numa-nodes", "+64", &closest, &max_nodes,
					  error, sizeof(error)),
			 0);
	assert_int_equal(max_nodes, 64);
	assert_int_equal(align_option_set("max-allowable-numa-nodes", "7", &closest, &max_nodes,
					  error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "less than 8"));
	assert_int_equal(align_option_set("max-allowable-numa-nodes", "8x", &closest, &max_nodes,
					  error, sizeof(error)),
			 -EINVAL);
	assert_int_equal(max_nodes, 64);
	assert_int_equal(align_option_set("x", "1", &closest, &max_nodes, error, sizeof(error)),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_definition),
		cmocka_unit_test(long_lists),
		cmocka_unit_test(common_subset_need_not_be_an_intersection),
		cmocka_unit_test(large_machines),
		cmocka_unit_test(largest_machine_is_bounded),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
