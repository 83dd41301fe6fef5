// SPDX-License-Identifier: Apache-2.0
/*
 * What a text that process 1 writes to a cgroup's file says (bpf/value_text.bpf.h), compiled for this
 * machine. Whatever is not of the form that systemd writes must not be understood: the guard would take
 * it for a text that changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pinfold/abi.h>

#include "lib/cleanup.h"

#undef __always_inline
#define __always_inline inline __attribute__((unused))
#define __noinline	static __attribute__((unused))

/* "The kernel's memory" is our own. */
static long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

#include "../../bpf/value_text.bpf.h"

static void set_text(struct text_parse *parse, const char *text, size_t len)
{
	assert_in_range(len, 0, TEXT_BYTES);
	/* what an earlier text left behind must not matter */
	memset(parse, 0xa5, sizeof(*parse));
	memset(&parse->text, 0, sizeof(parse->text));
	memcpy(&parse->text, text, len);
}

/* --- words ------------------------------------------------------------------------------------- */

static void check_words(const char *text, uint32_t nr, uint64_t first, uint64_t second)
{
	struct text_parse parse;

	set_text(&parse, text, strlen(text));
	assert_true(parse_words(&parse));
	assert_int_equal(parse.nr, nr);
	assert_int_equal(parse.values[0], first);
	assert_int_equal(parse.values[1], second);
}

static void numbers_and_max_are_read(void **state)
{
	check_words("0", 1, 0, 0);
	check_words("100", 1, 100, 0);
	check_words("max", 1, VALUE_MAX, 0);
	check_words("max 100000", 2, VALUE_MAX, 100000);
	check_words("50000 100000", 2, 50000, 100000);
	check_words("999999999999999999", 1, 999999999999999999, 0);
}

static void other_words_are_not_read(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"-1",
		"+0",
		" 0",
		"0 ",
		"0  1",
		"0\n",
		"0\n1",
		"0\t1",
		"0x1",
		"1 2 3",
		"1e3",
		"maximum",
		"ma",
		"m",
		"xam",
		"maxmax",
		"max0",
		"0max",
		"1K",
		"0100",
		"00",
		"50000 0100000",
		"idle",
		"100 max",
		"100 ma",
		"1 2 max 3",
		"max  100000",
		"\x01",
		"9999999999999999999",
		"18446744073709551616",
	};
	struct text_parse parse;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		set_text(&parse, texts[i], strlen(texts[i]));
		/* the kernel refuses a period of "max", so that one may be read */
		if (parse_words(&parse) != !strcmp(texts[i], "100 max"))
			fail_msg("'%s' is read", texts[i]);
	}
}

/* Without a NUL behind it there may be more. */
static void a_text_without_an_end_is_not_read(void **state)
{
	char text[TEXT_BYTES];
	struct text_parse parse;
	uint64_t bits = 1;

	memset(text, '0', sizeof(text));
	set_text(&parse, text, sizeof(text));
	assert_false(parse_words(&parse));
	assert_false(lists_bits(&parse, (uint64_t)&bits, 1));
	memset(text, ' ', sizeof(text));
	set_text(&parse, text, sizeof(text));
	assert_false(parse_words(&parse));
	assert_false(lists_bits(&parse, (uint64_t)&bits, 1));
}

/* --- lists ------------------------------------------------------------------------------------- */

enum { WORDS = 3 };

static bool lists(const char *text, const uint64_t bits[WORDS])
{
	struct text_parse parse;

	set_text(&parse, text, strlen(text));
	return lists_bits(&parse, (uint64_t)bits, WORDS);
}

static void a_list_is_compared_with_the_bits(void **state)
{
	static const uint64_t none[WORDS], some[WORDS] = {0xfffc}, across[WORDS] = {1ULL << 63, 1},
					   two[WORDS] = {0xc, 0, 1ULL << 63},
					   all[WORDS] = {~0ULL, ~0ULL, ~0ULL};

	assert_true(lists("", none));
	assert_false(lists("", some));
	assert_false(lists("0", none));
	assert_true(lists("2-15", some));
	assert_false(lists("2-14", some));
	assert_false(lists("2-16", some));
	assert_false(lists("1-15", some));
	assert_false(lists("3-15", some));
	assert_false(lists("2-3 5-15", some));
	assert_true(lists("63-64", across));
	assert_false(lists("63", across));
	assert_true(lists("2-3 191", two));
	assert_true(lists("2-3,191", two));
	assert_false(lists("2-3", two));
	assert_false(lists("191", two));
	assert_false(lists("2-191", two));
	assert_true(lists("0-191", all));
	assert_false(lists("0-192", all));
	assert_false(lists("0-190", all));
}

/* Right or wrong, no form but systemd's is understood. */
static void other_lists_are_not_understood(void **state)
{
	static const uint64_t some[WORDS] = {0xfffc}, two[WORDS] = {0xc, 0, 1ULL << 63};

	assert_false(lists("2-8 9-15", some));
	assert_false(lists("2-15 2-15", some));
	assert_false(lists("2-15 3", some));
	assert_false(lists(" 2-15", some));
	assert_false(lists("2-15 ", some));
	assert_false(lists("2-15\n", some));
	assert_false(lists("2 - 15", some));
	assert_false(lists("2-15:1/2", some));
	assert_false(lists("15-2", some));
	assert_false(lists("2--15", some));
	assert_false(lists("2-3-15", some));
	assert_false(lists("-15", some));
	assert_false(lists("2-", some));
	assert_false(lists("all", some));
	assert_false(lists("2-N", some));
	assert_false(lists("18446744073709551618-15", some));
	assert_false(lists("191 2-3", two));
	assert_false(lists("2-3  191", two));
}

/* Any two sets: the text of the one lists the bits of the other if they are equal. */
static size_t print_list(char *text, size_t size, uint64_t bits)
{
	size_t len = 0;

	for (int first = 0, last; first < 64; first = last + 1) {
		last = first;
		if (!(bits >> first & 1))
			continue;
		while (last < 63 && bits >> (last + 1) & 1)
			last++;
		len += (size_t)snprintf(text + len, size - len, first == last ? "%s%d" : "%s%d-%d",
					len ? " " : "", first, last);
	}
	return len;
}

static void only_the_same_set_is_found(void **state)
{
	char text[TEXT_BYTES + 1] = "";

	srandom(7);
	for (int i = 0; i < 20000; i++) {
		/* few runs, so that they differ in little and the text is short enough */
		const uint64_t a = (uint64_t)random() & 0x3f3, other = (uint64_t)random() & 0x3f3;
		const uint64_t bits[WORDS] = {i % 3 ? other : a};

		text[0] = '\0';
		print_list(text, sizeof(text), a);
		assert_int_equal(lists(text, bits), a == bits[0]);
	}
}

/* --- controllers ------------------------------------------------------------------------------- */

static uint32_t disabled_by(const char *text, size_t len)
{
	struct text_parse parse;

	set_text(&parse, text, len);
	return disabled_controller(&parse.text);
}

static void one_controller_is_disabled(void **state)
{
	assert_int_equal(disabled_by("-cpuset", 7), CONTROLLER_CPUSET);
	assert_int_equal(disabled_by("-cpu", 4), CONTROLLER_CPU);
	assert_int_equal(disabled_by("-io", 3), CONTROLLER_IO);
	assert_int_equal(disabled_by("-memory", 7), CONTROLLER_MEMORY);
	assert_int_equal(disabled_by("-pids", 5), CONTROLLER_PIDS);
}

/* Each does more than to disable one controller, or may do so. */
static void more_than_one_controller_is_not(void **state)
{
	static const char *const texts[] = {
		"",
		"-",
		"+cpu",
		"cpu",
		"-cpus",
		"-cpuse",
		"-io -cpu",
		"+io -cpu",
		"+cpu -cpu",
		"-cpu -io",
		"+cpuset -cpuset",
		"-cpuset ",
		" -cpuset",
		"-cpuset\n",
		"-cpuset\t",
		"-io  ",
		"-hugetlb",
		"-misc -cpu",
		"-pids -cpuset -cpu",
		"--cpu",
		"-CPU",
		"-memory-cpu",
		"-memory -cpu",
		"-pids\n-cpu",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (disabled_by(texts[i], strlen(texts[i])) != CONTROLLER_NR)
			fail_msg("'%s' is taken for one controller", texts[i]);
	/* the kernel stops at the NUL, and we do not rely on it */
	assert_int_equal(disabled_by("-io\0 -cpu", 9), CONTROLLER_NR);
	assert_int_equal(disabled_by("-io\0\0\0\0\0-cpu", 12), CONTROLLER_NR);
}

static void a_minus_is_found_anywhere(void **state)
{
	char text[TEXT_BYTES];
	struct text_parse parse;

	memset(text, '+', sizeof(text));
	set_text(&parse, text, sizeof(text));
	assert_false(has_minus(&parse.text));
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = '-';
		set_text(&parse, text, sizeof(text));
		assert_true(has_minus(&parse.text));
		text[i] = '+';
	}
}

static void an_empty_text_and_one_character(void **state)
{
	struct text_parse parse;

	set_text(&parse, "", 0);
	assert_true(is_empty(&parse.text));
	assert_false(is_character(&parse.text, '0'));
	set_text(&parse, "0", 1);
	assert_false(is_empty(&parse.text));
	assert_true(is_character(&parse.text, '0'));
	/* octal, for the kernel: it would freeze */
	set_text(&parse, "01", 2);
	assert_false(is_character(&parse.text, '0'));
	set_text(&parse, "\0\0\0\0\0\0\0\0\0x", 10);
	assert_false(is_empty(&parse.text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_max_are_read),
		cmocka_unit_test(other_words_are_not_read),
		cmocka_unit_test(a_text_without_an_end_is_not_read),
		cmocka_unit_test(a_list_is_compared_with_the_bits),
		cmocka_unit_test(other_lists_are_not_understood),
		cmocka_unit_test(only_the_same_set_is_found),
		cmocka_unit_test(one_controller_is_disabled),
		cmocka_unit_test(more_than_one_controller_is_not),
		cmocka_unit_test(a_minus_is_found_anywhere),
		cmocka_unit_test(an_empty_text_and_one_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
