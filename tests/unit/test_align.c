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

		draw_problem(&drawn, 17, 64);
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

/*
 * Lists that choose from the same few sets, narrow ones and wide ones: what they have in
 * common may be wider than the narrowest hint of a list, and some hints occur twice.
 */
static void large_machines_with_few_sets(void **state)
{
	unsigned int nr_wider = 0;

	(void)state;
	for (unsigned int n = 0; n < PROBLEMS / 10; n++) {
		node_mask_t sets[7] = {0};
		unsigned int narrowest = 0, nr_nodes;
		struct alignment got, want;
		struct drawn drawn;

		draw_problem(&drawn, 17, 64);
		nr_nodes = drawn.problem.nr_nodes;
		for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
			uint32_t first = draw(nr_nodes), nr = i < 3 ? 1 : 1 + draw(nr_nodes / 3);

			for (uint32_t j = first; j < first + nr && j < nr_nodes; j++)
				sets[i] |= 1ULL << j;
		}
		for (uint32_t i = 0; i < drawn.problem.nr_lists; i++) {
			unsigned int least = 64;

			for (uint32_t j = 0; j < drawn.lists[i].nr; j++) {
				struct hint *hint = &drawn.hints[i][j];

				hint->nodes = sets[draw(ARRAY_SIZE(sets))];
				hint->preferred = draw(8) == 0;
				if (!hint->any && (unsigned int)count(hint->nodes) < least)
					least = (unsigned int)count(hint->nodes);
			}
			narrowest = least > narrowest ? least : narrowest;
		}
		assert_int_equal(align_merge(&drawn.problem, &got), 0);
		want = by_definition(&drawn.problem);
		assert_same(&got, &want);
		assert_true(got.exact);
		nr_wider += !want.hint.any && !want.hint.preferred &&
			    (unsigned int)count(want.hint.nodes) > narrowest;
	}
	assert_true(nr_wider > 50);
}

static struct alignment merge_large_lists(unsigned int nr_nodes, const struct hint_list *lists,
					  uint32_t nr_lists)
{
	struct align_problem problem = {.policy = ALIGN_BEST_EFFORT,
					.nr_nodes = nr_nodes,
					.nr_lists = nr_lists,
					.lists = lists};
	struct alignment got;

	assert_int_equal(align_merge(&problem, &got), 0);
	return got;
}

/* Where not all sets can be followed, the best one is kept, even if it comes last. */
static void the_best_of_too_many_sets_is_kept(void **state)
{
	static struct hint hints[200];
	const node_mask_t narrow = (1ULL << 30) - 1, wide = (1ULL << 50) - 1;
	const node_mask_t middle = ((1ULL << 20) - 1) << 4;
	struct hint other = {.nodes = narrow};
	struct hint_list lists[2] = {{0, hints}, {1, &other}};
	struct alignment got;

	(void)state;
	/* 190 pairs of 20 nodes, and the only hint of one node. */
	for (unsigned int a = 0; a < 20; a++) {
		for (unsigned int b = 0; b < a; b++)
			hints[lists[0].nr++].nodes = 1ULL << a | 1ULL << b;
	}
	hints[lists[0].nr++].nodes = 1ULL << 19;
	got = merge_large_lists(20, lists, 1);
	assert_false(got.exact);
	assert_int_equal(got.hint.nodes, 1ULL << 19);
	/* 150 sets of 20 nodes, and one of 50 that has all 30 of the other list. */
	lists[0].nr = 0;
	for (unsigned int a = 0; a < 150; a++)
		hints[lists[0].nr++].nodes = ((1ULL << 18) - 1) | 1ULL << (20 + a % 10) |
					     1ULL << (40 + a / 10);
	hints[lists[0].nr++].nodes = wide;
	got = merge_large_lists(64, lists, 2);
	assert_true(got.hint.nodes == narrow);
	/* 150 sets of 10 nodes, and one of 20: of less than 30 nodes the most win. */
	lists[0].nr = 0;
	for (unsigned int a = 0; a < 150; a++)
		hints[lists[0].nr++].nodes = 0xff | 1ULL << (8 + a % 10) | 1ULL << (18 + a / 10);
	hints[lists[0].nr++].nodes = middle;
	other.nodes |= 0xfULL << 30;
	got = merge_large_lists(64, lists, 2);
	assert_true(got.hint.nodes == middle);
}

/* Two lists of few sets have many in common, of which not all are followed either. */
static void too_many_intersections_are_not_exact(void **state)
{
	static struct hint hints[2][100];
	struct hint_list lists[2] = {{100, hints[0]}, {100, hints[1]}};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int j = 0; j < 100; j++) {
			for (unsigned int k = 0; k < 64; k++)
				hints[i][j].nodes |= (uint64_t)draw(2) << k;
		}
	}
	assert_false(merge_large_lists(64, lists, 2).exact);
	assert_true(merge_large_lists(64, lists, 1).exact);
}

/* 60 sets, named 180 times in any order, are 60 sets: all of them can be followed. */
static void repeated_hints_are_one_set(void **state)
{
	static struct hint hints[180];
	const struct hint_list list = {ARRAY_SIZE(hints), hints};
	struct alignment got;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(hints); i++)
		hints[i].nodes = 1ULL << 19 | 1ULL << draw(6) | 1ULL << (6 + draw(10));
	hints[draw(ARRAY_SIZE(hints))].nodes = 1ULL << 19 | 1ULL << 6 | 1;
	got = merge_large_lists(20, &list, 1);
	assert_true(got.exact);
	assert_int_equal(got.hint.nodes, 1ULL << 19 | 1ULL << 6 | 1);
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

/* The table of distances has an entry for each two nodes and no more; none is off by one. */
static void distances_are_compared_exactly(void **state)
{
	(void)state;
	for (unsigned int nr = 9; nr <= 16; nr++) {
		uint32_t *distances cleanup_free = malloc(sizeof(*distances) * nr * nr);
		const struct hint hints[] = {{.nodes = 1}, {.nodes = 1ULL << 8}};
		const struct hint_list list = {ARRAY_SIZE(hints), hints};
		struct align_problem problem = {
			.policy = ALIGN_BEST_EFFORT,
			.prefer_closest = true,
			.nr_nodes = nr,
			.distances = distances,
			.nr_lists = 1,
			.lists = &list,
		};
		struct alignment got;

		assert_non_null(distances);
		for (unsigned int i = 0; i < nr * nr; i++)
			distances[i] = 20;
		for (unsigned int i = 0; i < nr; i++)
			distances[i * nr + i] = i ? 10 : 11;
		assert_int_equal(align_merge(&problem, &got), 0);
		assert_int_equal(got.hint.nodes, 1ULL << 8);
	}
}

/* Two lists in one array are different lists if they differ in length. */
static void lists_may_share_their_hints(void **state)
{
	const struct hint hints[] = {{.nodes = 2, .preferred = true},
				     {.nodes = 1, .preferred = true}};
	const struct hint_list lists[] = {{2, hints}, {1, hints}};
	struct align_problem problem = {
		.policy = ALIGN_RESTRICTED, .nr_nodes = 2, .nr_lists = 2, .lists = lists};
	struct alignment got;

	(void)state;
	assert_int_equal(align_merge(&problem, &got), 0);
	assert_true(got.admitted);
	assert_int_equal(got.hint.nodes, 2);
}

/* Whatever the providers say, the policy none has no affinity and admits. */
static void no_policy_admits_anything(void **state)
{
	const struct hint impossible = HINT_IMPOSSIBLE;
	const struct hint_list list = {1, &impossible};
	struct align_problem problem = {
		.policy = ALIGN_NONE, .nr_nodes = 2, .nr_lists = 1, .lists = &list};
	struct alignment got = {.exact = false};

	(void)state;
	assert_int_equal(align_merge(&problem, &got), 0);
	assert_true(got.admitted && got.exact && got.hint.any && !got.hint.preferred);
}

/* The words of Go's strconv.ParseBool, and no others. */
static void options_take_the_words_of_go(void **state)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
	static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
	static const char *const neither[] = {"", "yes", "tRUE", "10", " 1"};
	const char *name = "prefer-closest-numa-nodes";
	uint32_t max_nodes = 0;
	char error[160];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		bool closest = false;

		assert_int_equal(align_option_set(name, yes[i], &closest, &max_nodes, error,
						  sizeof(error)),
				 0);
		assert_true(closest);
		assert_int_equal(align_option_set(name, no[i], &closest, &max_nodes, error,
						  sizeof(error)),
				 0);
		assert_false(closest);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++) {
		bool closest = true;

		assert_int_equal(align_option_set(name, neither[i], &closest, &max_nodes, error,
						  sizeof(error)),
				 -EINVAL);
		assert_non_null(strstr(error, "strconv.ParseBool"));
		assert_true(closest);
	}
	assert_int_equal(max_nodes, 0);
}

/* Signs are numbers for the kubelet; a number of too many digits must not wrap around to 8. */
static void options_take_numbers_of_nodes(void **state)
{
	static const struct {
		const char *value;
		uint32_t max_nodes; /* 0 = refused */
		const char *says;
	} cases[] = {
		{"8", 8, ""},
		{"0", 0, "less than 8"},
		{"-8", 0, "less than 8"},
		{"-64", 0, "less than 8"},
		{"999999999", 999999999, ""},
		/* more than any machine has is no limit */
		{"4294967304", INT32_MAX, ""},
		{"0000000000012", 12, ""},
		{"9223372036854775808", 0,
		 "strconv.Atoi: parsing \"9223372036854775808\": value out of range"},
		{"", 0, "strconv.Atoi"},
		{"+", 0, "strconv.Atoi"},
		{"--8", 0, "strconv.Atoi"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t max_nodes = 3;
		bool closest = false;
		char error[160] = "";
		int r = align_option_set("max-allowable-numa-nodes", cases[i].value, &closest,
					 &max_nodes, error, sizeof(error));

		assert_int_equal(r, cases[i].max_nodes ? 0 : -EINVAL);
		assert_int_equal(max_nodes, cases[i].max_nodes ? cases[i].max_nodes : 3);
		if (!strstr(error, cases[i].says))
			fail_msg("'%s' says '%s'", cases[i].value, error);
	}
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
		cmocka_unit_test(large_machines_with_few_sets),
		cmocka_unit_test(the_best_of_too_many_sets_is_kept),
		cmocka_unit_test(too_many_intersections_are_not_exact),
		cmocka_unit_test(repeated_hints_are_one_set),
		cmocka_unit_test(largest_machine_is_bounded),
		cmocka_unit_test(distances_are_compared_exactly),
		cmocka_unit_test(lists_may_share_their_hints),
		cmocka_unit_test(no_policy_admits_anything),
		cmocka_unit_test(options_take_the_words_of_go),
		cmocka_unit_test(options_take_numbers_of_nodes),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
