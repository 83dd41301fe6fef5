// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* CPU sets: algebra at word borders, the text form and what it refuses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
		{",", -EINVAL},	     {"0,", -EINVAL},	   {",0", -EINVAL},
		{"0,,1", -EINVAL},   {"3-1", -EINVAL},	   {"-1", -EINVAL},
		{"+1", -EINVAL},     {"1-", -EINVAL},	   {"1 2", -EINVAL},
		{"1 - 2", -EINVAL},  {"a", -EINVAL},	   {"0x1", -EINVAL},
		{"1\n\n", -EINVAL},  {"0-7:1/2", -EINVAL}, {"8192", -ERANGE},
		{"0-8192", -ERANGE}, {"9-8192", -ERANGE},  {"99999999999999999999", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set = parsed("5");

		assert_int_equal(cpuset_parse(cases[i].text, strlen(cases[i].text), &set),
				 cases[i].error);
		assert_list(&set, "5");
	}
	/* A NUL inside the text is a wrong character, not its end. */
	assert_int_equal(cpuset_parse("1\0", 2, &(struct cpuset){0}), -EINVAL);
}

static void text_that_is_no_list_is_empty(void **state)
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

static void questions(void **state)
{
	struct cpuset small = parsed("3,64"), large = parsed("0-64"), far = parsed("8191");
	struct cpuset emptied = far;

	(void)state;
	cpuset_remove(&emptied, 8191);
	assert_true(cpuset_is_empty(&emptied));
	/* Equal although one of them once held more. */
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
		cmocka_unit_test(text_that_is_no_list_is_empty),
		cmocka_unit_test(format_reports_whole_length),
		cmocka_unit_test(format_longest),
		cmocka_unit_test(algebra),
		cmocka_unit_test(questions),
		cmocka_unit_test(iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
