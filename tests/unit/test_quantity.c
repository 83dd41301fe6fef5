// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Kubernetes quantities: every form, rounding away from zero, limits, refusals. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/quantity.h"

static void values(void **state)
{
	static const struct {
		const char *text;
		int64_t value, milli;
	} cases[] = {
		{"0", 0, 0},
		{"-0", 0, 0},
		{"2", 2, 2000},
		{"+3", 3, 3000},
		{"500m", 1, 500},
		{"1500m", 2, 1500},
		{"0.5", 1, 500},
		{".5", 1, 500},
		{"1.", 1, 1000},
		{"0.1", 1, 100},
		{"1e3", 1000, 1000000},
		{"1E3", 1000, 1000000},
		{"1e-3", 1, 1},
		{"1.5e+1", 15, 15000},
		{"1n", 1, 1},
		{"100u", 1, 1},
		{"1000001u", 2, 1001},
		{"3k", 3000, 3000000},
		{"1.5G", 1500000000, 1500000000000},
		{"1T", 1000000000000, 1000000000000000},
		{"2P", 2000000000000000, 2000000000000000000},
		{"1Ki", 1024, 1024000},
		{"16Gi", 17179869184, 17179869184000},
		{"1.5Mi", 1572864, 1572864000},
		{"0.1Ki", 103, 102400},
		{"1.25Ti", 1374389534720, 1374389534720000},
		{"0.0000000000000000000000000000000000000000001", 1, 1},
		{"100000000000000000000000000000000000000000000e-42", 100, 100000},
		{"0.0000001Ki", 1, 1},
		{"0e999999", 0, 0},
		{"0e-999999", 0, 0},
		{"-0.000e-200", 0, 0},
		{"1e-999999", 1, 1},
		/* Leading zeros do not count as digits, however many there are. */
		{"00000000000000000000000000000000000000000000000012", 12, 12000},
		{"0.00000000000000000000000000000000000000000012e44", 12, 12000},
		{"1.00000000000000000000000000000000000000000001", 2, 1001},
		{"0.000000099999999999999999999999999999999999999Ei", 115292150461,
		 115292150460685},
		/* 39 digits would not fit in 128 bits. */
		{"999999999999999999999999999999999999999e-38", 10, 10000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = -1, milli = -1;
		size_t len = strlen(cases[i].text);

		assert_int_equal(quantity_parse(cases[i].text, len, &value), 0);
		assert_int_equal(quantity_parse_milli(cases[i].text, len, &milli), 0);
		assert_true(value == cases[i].value);
		assert_true(milli == cases[i].milli);
	}
}

static void limits(void **state)
{
	int64_t value;

	(void)state;
	assert_int_equal(quantity_parse("9223372036854775807", 19, &value), 0);
	assert_true(value == INT64_MAX);
	assert_int_equal(quantity_parse("9223372036854775808", 19, &value), -ERANGE);
	assert_int_equal(quantity_parse("9223372036854775807.1", 21, &value), -ERANGE);
	assert_int_equal(quantity_parse("9223372036854775806.1", 21, &value), 0);
	assert_true(value == INT64_MAX);
	/* 2^63 is too large by one; an eighth of an exbi less is not. */
	assert_int_equal(quantity_parse("8Ei", 3, &value), -ERANGE);
	assert_int_equal(quantity_parse("7.875Ei", 7, &value), 0);
	assert_true(value == 9079256848778919936);
	assert_int_equal(quantity_parse("9.3E", 4, &value), -ERANGE);
	/* The same with a fraction, and with intermediate values beyond 2^128. */
	assert_int_equal(quantity_parse("9223372036854775807.0", 21, &value), 0);
	assert_true(value == INT64_MAX);
	assert_int_equal(quantity_parse("9223372036854775808.0", 21, &value), -ERANGE);
	assert_int_equal(quantity_parse("18446744073709551617.0", 22, &value), -ERANGE);
	assert_int_equal(quantity_parse("9007199254740991.9990234375Ki", 29, &value), 0);
	assert_true(value == INT64_MAX);
	assert_int_equal(quantity_parse("9007199254740991.9990234376Ki", 29, &value), -ERANGE);
	assert_int_equal(quantity_parse("9007199254740992.0Ki", 20, &value), -ERANGE);
	assert_int_equal(quantity_parse("332306998946228968225951765070086144.0Ki", 40, &value),
			 -ERANGE);
	assert_int_equal(quantity_parse("332306998946228968225951765070086144Ki", 38, &value),
			 -ERANGE);
	assert_int_equal(quantity_parse("99999999999999999999999999999999999999", 38, &value),
			 -ERANGE);
	assert_int_equal(quantity_parse("999999999999999999999999999999999999999", 39, &value),
			 -ERANGE);
	assert_int_equal(quantity_parse("1e99999999999999999999", 22, &value), -ERANGE);
	assert_int_equal(quantity_parse_milli("9223372036854775", 16, &value), 0);
	assert_int_equal(quantity_parse_milli("9223372036854776", 16, &value), -ERANGE);
	/* More integer digits than are kept. */
	assert_int_equal(quantity_parse("1000000000000000000000000000000000000000000001e-44", 50,
					&value),
			 0);
	assert_true(value == 11);
}

static void refusals(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{"", -EINVAL},	    {".", -EINVAL},	{"+", -EINVAL},	   {"m", -EINVAL},
		{"1.2.3", -EINVAL}, {"1 ", -EINVAL},	{" 1", -EINVAL},   {"1e", -EINVAL},
		{"1e+", -EINVAL},   {"1e1.5", -EINVAL}, {"1Kib", -EINVAL}, {"1K", -EINVAL},
		{"1ki", -EINVAL},   {"1mi", -EINVAL},	{"1g", -EINVAL},   {"0x10", -EINVAL},
		{"Inf", -EINVAL},   {"--1", -EINVAL},	{"1,5", -EINVAL},  {"1Gi5", -EINVAL},
		{"-1", -EDOM},	    {"-0.001m", -EDOM}, {"-5Gi", -EDOM},   {"-1x", -EINVAL},
		{"1KB", -EINVAL},   {"1Mii", -EINVAL},	{"1ni", -EINVAL},  {"1ui", -EINVAL},
		{"e", -EINVAL},	    {"1ei", -EINVAL},	{"1EI", -EINVAL},  {"1e--3", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 42;

		assert_int_equal(quantity_parse(cases[i].text, strlen(cases[i].text), &value),
				 cases[i].error);
		assert_true(value == 42);
	}
	assert_int_equal(quantity_parse("1\0", 2, &(int64_t){0}), -EINVAL);
}

/* A quantity ends at its length; the bytes behind it do not belong to it. */
static void ends_at_the_length(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int64_t value; /* -1 = none */
	} cases[] = {
		{"12", 1, 1},  {"1.5", 2, 1},	  {"1Ki", 1, 1},   {"1Gi", 2, 1000000000},
		{"1e3", 1, 1}, {"1e35", 3, 1000}, {"1e+5", 2, -1}, {"1e+5", 3, -1},
		{"+5", 1, -1}, {"-5", 0, -1},	  {".5", 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* These bytes are not read either: the sanitizers check the end of the copy. */
		char *copy = malloc(1 + cases[i].len);
		int64_t value = -1, again = -1;
		int r = quantity_parse(cases[i].text, cases[i].len, &value);

		assert_int_equal(r, cases[i].value < 0 ? -EINVAL : 0);
		assert_true(value == cases[i].value);
		assert_non_null(copy);
		memcpy(copy + 1, cases[i].text, cases[i].len);
		assert_int_equal(quantity_parse(copy + 1, cases[i].len, &again), r);
		assert_true(again == value);
		free(copy);
	}
}

static void binary_form(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1000, "1000"},
		{1024, "1Ki"},
		{2097152, "2Mi"},
		{1073741824, "1Gi"},
		{1536, "1536"},
		{1ULL << 63, "8Ei"},
		{UINT64_MAX, "18446744073709551615"},
	};
	char buffer[24];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		quantity_format_binary(cases[i].bytes, buffer, sizeof(buffer));
		assert_string_equal(buffer, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),      cmocka_unit_test(limits),
		cmocka_unit_test(refusals),    cmocka_unit_test(ends_at_the_length),
		cmocka_unit_test(binary_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
