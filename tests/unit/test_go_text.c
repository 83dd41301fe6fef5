// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* What Go's strconv.Atoi and the Parse of Kubernetes' cpuset package accept and refuse. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/go_text.h"

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t number;
	} cases[] = {
		{"0", 0},
		{"+1", 1},
		{"-1", -1},
		{"-0", 0},
		{"007", 7},
		{"00000000000000000000000000012", 12},
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t number = 77;

		assert_int_equal(go_parse_int(cases[i].text, strlen(cases[i].text), &number), 0);
		assert_true(number == cases[i].number);
	}
}

static void not_numbers(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{"", -EINVAL},
		{"+", -EINVAL},
		{"-", -EINVAL},
		{"+-1", -EINVAL},
		{"--1", -EINVAL},
		{" 1", -EINVAL},
		{"1 ", -EINVAL},
		{"1\n", -EINVAL},
		{"1_000", -EINVAL}, /* only with base 0 */
		{"0x10", -EINVAL},
		{"1e3", -EINVAL},
		{"9223372036854775808", -ERANGE},
		{"-9223372036854775809", -ERANGE},
		{"99999999999999999999999999", -ERANGE},
		{"99999999999999999999999999x", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t number = 77;

		assert_int_equal(go_parse_int(cases[i].text, strlen(cases[i].text), &number),
				 cases[i].error);
		assert_int_equal(number, 77);
	}
}

static void lists(void **state)
{
	static const struct {
		const char *text, *kernel;
	} cases[] = {
		{"", ""},
		{"3", "3"},
		{"+3", "3"},
		{"1-1", "1"},
		{"+1-+3", "1-3"},
		{"007-0008", "7-8"},
		{"0--0", "0"}, /* the second number is -0 */
		{"8,1-2,1", "1-2,8"},
		{"8191", "8191"},
	};
	char list[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set;

		assert_int_equal(go_parse_cpus(cases[i].text, strlen(cases[i].text), &set), 0);
		cpuset_format(&set, list, sizeof(list));
		assert_string_equal(list, cases[i].kernel);
	}
}

static void not_lists(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{",", -EINVAL},
		{"1,", -EINVAL},
		{",1", -EINVAL},
		{"1,,2", -EINVAL},
		{"-", -EINVAL},
		{"-1", -EINVAL},
		{"1-", -EINVAL},
		{"1--2", -EINVAL},
		{"1-2-3", -EINVAL},
		{"3-2", -EINVAL},
		{" 1", -EINVAL},
		{"1, 2", -EINVAL},
		{"1\n", -EINVAL},
		{"a", -EINVAL},
		{"8192", -ERANGE},
		{"0-8192", -ERANGE},
		{"0-9223372036854775807", -ERANGE},
		{"0-9223372036854775808", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cpuset set = CPUSET_EMPTY;

		cpuset_add(&set, 5);
		assert_int_equal(go_parse_cpus(cases[i].text, strlen(cases[i].text), &set),
				 cases[i].error);
		assert_int_equal(cpuset_count(&set), 1);
		assert_true(cpuset_has(&set, 5));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(not_numbers),
		cmocka_unit_test(lists),
		cmocka_unit_test(not_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
