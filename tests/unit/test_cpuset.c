// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* CPU sets: algebra at word borders, the text form and what it refuses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/cpuset.h"

static struct cpuset parsed(const char *text)
{
	struct cpuset set;

	assert_int_equal(cpuset_parse(text, strlen(text), &set), 0);
	return set;
}

static void assert_list(const struct cpuset *set, const char *text)
{
	static char buffer[CPUSET_TEXT_MAX];

	assert_int_equal(cpuset_format(set, buffer, sizeof(buffer)), strlen(text));
	assert_string_equal(buffer, text);
}

static void parse_normalises(void **state)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{"", ""},	    {"\n", ""},		{" \t", ""},
		{"0", "0"},	    {"0-3,8", "0-3,8"}, {"0-3,8\n", "0-3,8"},
		{"8,0-3", "0-3,8"}, {"1,1,0-1", "0-1"}, {" 1 , 3-5 ", "1,3-5"},
		{"63-64", "63-64"}, {"0007", "7"},	{"8191", "8191"},
		{"5-5", "5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set = parsed(cases[i].text);

		assert_list(&set, cases[i].list);
	}
}

static void parse_refuses(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{",", -EINVAL},		 {"0,", -EINVAL},	  {",0", -EINVAL},
		{"0,,1", -EINVAL},	 {"3-1", -EINVAL},	  {"-1", -EINVAL},
		{"+1", -EINVAL},	 {"1-", -EINVAL},	  {"1 2", -EINVAL},
		{"1 - 2", -EINVAL},	 {"a", -EINVAL},	  {"0x1", -EINVAL},
		{"1\n\n", -EINVAL},	 {"0-7:1/2", -EINVAL},	  {"8192", -ERANGE},
		{"0-8192", -ERANGE},	 {"9-8192", -ERANGE},	  {"99999999999999999999", -ERANGE},
		{"4294967296", -ERANGE}, {"4294967301", -ERANGE}, {"0-4294967297", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set = parsed("5");

		assert_int_equal(cpuset_parse(cases[i].text, strlen(cases[i].text), &set),
				 cases[i].error);
		assert_list(&set, "5");
	}
	/* The range's end is beyond the end of the text and therefore missing. */
	assert_int_equal(cpuset_parse("0-2,", 2, &(struct cpuset){0}), -EINVAL);
	/* A NUL inside the text is an invalid character, not its end. */
	assert_int_equal(cpuset_parse("1\0", 2, &(struct cpuset){0}), -EINVAL);
}

/* Files and messages have a length; the bytes behind it do not belong to the text. */
static void parse_ends_at_the_length(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *list;
	} cases[] = {
		{"12", 1, "1"},	 {"1-23", 3, "1-2"}, {"1-3", 1, "1"}, {" 5", 1, ""},
		{"5 6", 2, "5"}, {"5  ", 2, "5"},    {"   ,", 2, ""}, {"5,6,", 3, "5-6"},
		{"\n\n", 1, ""}, {"7\n8", 2, "7"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set = parsed("9");

		/* These bytes are not read either: the sanitizers check the end of the copy. */
		char *copy = malloc(1 + cases[i].len);

		assert_int_equal(cpuset_parse(cases[i].text, cases[i].len, &set), 0);
		assert_list(&set, cases[i].list);
		assert_non_null(copy);
		memcpy(copy + 1, cases[i].text, cases[i].len);
		assert_int_equal(cpuset_parse(copy + 1, cases[i].len, &set), 0);
		assert_list(&set, cases[i].list);
		free(copy);
	}
}

static void invalid_text_is_the_empty_set(void **state)
{
	struct cpuset set = cpuset_of_text("4,2-3\n");

	assert_list(&set, "2-4");
	set = cpuset_of_text(NULL);
	assert_true(cpuset_is_empty(&set));
	set = cpuset_of_text("0-3,x");
	assert_true(cpuset_is_empty(&set));
}

static void format_reports_whole_length(void **state)
{
	struct cpuset set = parsed("0-3,8,100-8191");
	char small[6];

	(void)state;
	assert_int_equal(cpuset_format(&set, small, sizeof(small)), strlen("0-3,8,100-8191"));
	assert_string_equal(small, "0-3,8");
	assert_int_equal(cpuset_format(&set, NULL, 0), strlen("0-3,8,100-8191"));
}

/* Like snprintf: what fits, with a NUL if there is room for one, and never more. */
static void format_stays_within_its_buffer(void **state)
{
	static const char whole[] = "0-3,8,100-8191";
	struct cpuset set = parsed(whole);

	(void)state;
	for (size_t size = 0; size <= sizeof(whole) + 1; size++) {
		char buffer[sizeof(whole) + 2], wanted[sizeof(whole)];

		memset(buffer, '#', sizeof(buffer));
		assert_int_equal(cpuset_format(&set, buffer, size), strlen(whole));
		assert_int_equal(buffer[size], '#');
		if (!size)
			continue;
		snprintf(wanted, size < sizeof(wanted) ? size : sizeof(wanted), "%s", whole);
		assert_string_equal(buffer, wanted);
	}
	memset(&set, 0, sizeof(set));
	assert_int_equal(cpuset_format(&set, NULL, 0), 0);
}

static void format_longest(void **state)
{
	struct cpuset set = CPUSET_EMPTY;
	static char buffer[CPUSET_TEXT_MAX];

	(void)state;
	for (unsigned int cpu = 0; cpu < CPUSET_MAX; cpu += 2)
		cpuset_add(&set, cpu);
	assert_true(cpuset_format(&set, buffer, sizeof(buffer)) < sizeof(buffer));
	assert_string_equal(buffer + strlen(buffer) - 5, ",8190");
}

static void algebra(void **state)
{
	struct cpuset a = parsed("0-70,200"), b = parsed("60-100"), set;

	(void)state;
	set = a;
	cpuset_union(&set, &b);
	assert_list(&set, "0-100,200");
	set = a;
	cpuset_intersect(&set, &b);
	assert_list(&set, "60-70");
	set = a;
	cpuset_subtract(&set, &b);
	assert_list(&set, "0-59,200");
	set = b;
	cpuset_union(&set, &a);
	assert_list(&set, "0-100,200");
	assert_int_equal(cpuset_count_common(&a, &b), 11);
	assert_int_equal(cpuset_count(&a), 72);
}

static void assert_zero_behind(const struct cpuset *set)
{
	for (uint32_t i = set->nr_words; i < CPUSET_MAX / CPUSET_WORD_BITS; i++)
		assert_true(set->words[i] == 0);
}

/* Against sets of flags: sets that end at each border of a word, the last word with them. */
static void algebra_agrees_with_flags(void **state)
{
	static const char *const lists[] = {
		"",	  "0",	     "63",	  "64",	       "0-63",	    "0-64",
		"62-65",  "127-128", "8127-8128", "8191",      "8128-8191", "0,8191",
		"0-8191", "1-8190",  "64-127",	  "3,67,4000", "4000-8190",
	};
	static const size_t nr = sizeof(lists) / sizeof(lists[0]);

	(void)state;
	for (size_t pair = 0; pair < nr * nr; pair++) {
		struct cpuset a = parsed(lists[pair / nr]), b = parsed(lists[pair % nr]);
		struct cpuset either = a, both = a, only = a;
		unsigned int nr_a = 0, nr_both = 0, nr_only = 0, nr_b_only = 0;
		unsigned int nr_members;

		cpuset_union(&either, &b);
		cpuset_intersect(&both, &b);
		cpuset_subtract(&only, &b);
		assert_zero_behind(&either);
		assert_zero_behind(&both);
		assert_zero_behind(&only);
		nr_members = 0;
		cpuset_for_each (cpu, &only)
			nr_members++;
		for (unsigned int cpu = 0; cpu < CPUSET_MAX; cpu++) {
			bool in_a = cpuset_has(&a, cpu), in_b = cpuset_has(&b, cpu);

			if (cpuset_has(&either, cpu) != (in_a || in_b) ||
			    cpuset_has(&both, cpu) != (in_a && in_b) ||
			    cpuset_has(&only, cpu) != (in_a && !in_b))
				fail_msg("'%s' and '%s' differ at %u", lists[pair / nr],
					 lists[pair % nr], cpu);
			nr_a += in_a;
			nr_both += in_a && in_b;
			nr_only += in_a && !in_b;
			nr_b_only += in_b && !in_a;
		}
		assert_int_equal(cpuset_count(&a), nr_a);
		assert_int_equal(nr_members, nr_only);
		assert_int_equal(cpuset_count_common(&a, &b), nr_both);
		assert_int_equal(cpuset_is_empty(&a), nr_a == 0);
		assert_int_equal(cpuset_intersects(&a, &b), nr_both > 0);
		assert_int_equal(cpuset_is_subset(&a, &b), nr_only == 0);
		assert_int_equal(cpuset_equal(&a, &b), nr_only == 0 && nr_b_only == 0);
	}
}

static void predicates(void **state)
{
	struct cpuset small = parsed("3,64"), large = parsed("0-64"), far = parsed("8191");
	struct cpuset emptied = far;

	(void)state;
	cpuset_remove(&emptied, 8191);
	assert_true(cpuset_is_empty(&emptied));
	/* Equal although one of them had more members before. */
	assert_true(cpuset_equal(&emptied, &CPUSET_EMPTY));
	assert_true(cpuset_equal(&CPUSET_EMPTY, &emptied));
	assert_false(cpuset_equal(&small, &large));
	assert_true(cpuset_is_subset(&small, &large));
	assert_false(cpuset_is_subset(&large, &small));
	assert_false(cpuset_is_subset(&far, &small));
	assert_true(cpuset_is_subset(&emptied, &small));
	assert_true(cpuset_intersects(&small, &large));
	assert_false(cpuset_intersects(&far, &large));
	assert_true(cpuset_has(&far, 8191));
	assert_false(cpuset_has(&far, CPUSET_MAX));
}

static void iteration(void **state)
{
	struct cpuset set = parsed("0,63-64,127,8191");
	static const unsigned int members[] = {0, 63, 64, 127, 8191};
	unsigned int nr = 0;

	(void)state;
	cpuset_for_each (cpu, &set)
		assert_int_equal(cpu, members[nr++]);
	assert_int_equal(nr, 5);
	assert_int_equal(cpuset_next(&set, 128), 8191);
	assert_int_equal(cpuset_next(&CPUSET_EMPTY, 0), CPUSET_MAX);
	assert_int_equal(cpuset_next(&set, CPUSET_MAX), CPUSET_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_normalises),
		cmocka_unit_test(parse_refuses),
		cmocka_unit_test(invalid_text_is_the_empty_set),
		cmocka_unit_test(parse_ends_at_the_length),
		cmocka_unit_test(format_reports_whole_length),
		cmocka_unit_test(format_stays_within_its_buffer),
		cmocka_unit_test(format_longest),
		cmocka_unit_test(algebra),
		cmocka_unit_test(algebra_agrees_with_flags),
		cmocka_unit_test(predicates),
		cmocka_unit_test(iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
