// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The growing string, and the YAML and JSON writer based on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "format/emit.h"
#include "format/yaml.h"
#include "lib/text.h"

static void grows(void **state)
{
	struct text text cleanup_text = {0};
	char *string cleanup_free = NULL;

	for (int i = 0; i < 1000; i++)
		text_printf(&text, "%d,", i % 10);
	assert_int_equal(text.len, 2000);
	assert_int_equal(strlen(text.data), 2000);
	text_append(&text, "");
	text_append_len(&text, "xyz", 2);
	assert_string_equal(text.data + 1998, "9,xy");
	assert_int_equal(text_take(&text, &string), 0);
	assert_int_equal(strlen(string), 2002);
	assert_null(text.data);
	assert_int_equal(text.len, 0);
}

/* A kernel name that fills its field has no NUL; the bytes behind it are not read. */
static void copies_what_fits(void **state)
{
	const char full[4] = {'a', 'b', 'c', 'd'};
	char buffer[] = "xxxxxxxx";

	text_copy(buffer, sizeof(full) + 1, full);
	assert_string_equal(buffer, "abcd");
	text_copy(buffer, 3, full);
	assert_string_equal(buffer, "ab");
	text_copy(buffer, sizeof(buffer), "xyz");
	assert_string_equal(buffer, "xyz");
	text_copy(buffer, 1, "xyz");
	assert_string_equal(buffer, "");
}

static void hides_what_is_not_printable(void **state)
{
	char text[] = "a\x1b[2J \xc3\xa4\n~\x7f";

	text_make_printable(text);
	assert_string_equal(text, "a?[2J ???~?");
}

static void shows_what_a_terminal_would_act_on(void **state)
{
	static const struct {
		const char *text, *shown, *hidden;
	} cases[] = {
		{"plain \xc3\xa4 \xf0\x9f\x98\x80\xc2\xa0",
		 "plain \xc3\xa4 \xf0\x9f\x98\x80\xc2\xa0",
		 "plain \xc3\xa4 \xf0\x9f\x98\x80\xc2\xa0"},
		{"\x1b[2J\n\x7f", "\\x1b[2J\\x0a\\x7f", "?[2J??"},
		/* CSI and the end of C1, as UTF-8 and as bytes of a terminal without it */
		{"a\xc2\x9b"
		 "2J\xc2\x9f",
		 "a\\x9b2J\\x9f", "a??2J??"},
		{"a\x9b"
		 "2J\x80",
		 "a\\x9b2J\\x80", "a?2J?"},
		/* the same byte in and behind a character */
		{"\xe2\x9b\x84\x9b", "\xe2\x9b\x84\\x9b", "\xe2\x9b\x84?"},
		{"\xe2\x9b", "\\xe2\\x9b", "??"},
		/* the direction of text; the characters beside each range stay */
		{"a\xe2\x80\xae"
		 "b\xe2\x81\xa6",
		 "a\\x202eb\\x2066", "a???b???"},
		{"\xd8\x9c\xe2\x80\x8e\xe2\x80\xa8", "\\x61c\\x200e\\x2028", "????????"},
		{"\xe2\x80\x8d\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\x8d\xe2\x80\xaf\xe2\x81\xaa",
		 "\xe2\x80\x8d\xe2\x80\xaf\xe2\x81\xaa"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text text cleanup_text = {0};
		char copy[40];

		text_append_shown(&text, cases[i].text);
		assert_string_equal(text.data, cases[i].shown);
		text_copy(copy, sizeof(copy), cases[i].text);
		text_hide_controls(copy);
		assert_string_equal(copy, cases[i].hidden);
	}
}

static void detects_repeated_sentences(void **state)
{
	assert_true(text_is_news("", "a"));
	assert_true(text_is_news("a", "b"));
	assert_false(text_is_news("a", "a"));
}

/* A piece larger than twice the capacity, in one call. */
static void large_piece(void **state)
{
	struct text text cleanup_text = {0};
	char piece[5000];

	memset(piece, 'a', sizeof(piece) - 1);
	piece[sizeof(piece) - 1] = '\0';
	text_printf(&text, "<%s>", piece);
	assert_int_equal(text.len, sizeof(piece) + 1);
	assert_int_equal(text.data[0], '<');
	assert_int_equal(text.data[text.len - 1], '>');
}

static void empty_text_is_an_empty_string(void **state)
{
	struct text text = {0};
	char *string cleanup_free = NULL;

	assert_int_equal(text_take(&text, &string), 0);
	assert_string_equal(string, "");
}

static void errors_persist(void **state)
{
	struct text text cleanup_text = {0};
	char *string = NULL;

	text_append(&text, "a");
	text.error = -ENOMEM;
	text_append(&text, "b");
	text_printf(&text, "%d", 3);
	assert_string_equal(text.data, "a");
	assert_int_equal(text_take(&text, &string), -ENOMEM);
	assert_null(string);
}

static void emit_all(struct text *text, enum emit_style style)
{
	struct emitter emitter;

	emit_begin(&emitter, text, style);
	emit_text(&emitter, "a", "x\"\\\n");
	emit_map(&emitter, "m");
	emit_number(&emitter, "n", -5);
	emit_map(&emitter, "empty");
	emit_close(&emitter);
	emit_close(&emitter);
	emit_list(&emitter, "l");
	emit_map(&emitter, NULL);
	emit_bool(&emitter, "t", true);
	emit_list(&emitter, "none");
	emit_close(&emitter);
	emit_close(&emitter);
	emit_map(&emitter, NULL);
	emit_close(&emitter);
	emit_row(&emitter, NULL, (uint64_t[]){1, 2}, 2);
	emit_close(&emitter);
	emit_end(&emitter);
}

static void styles(void **state)
{
	struct text yaml cleanup_text = {0}, json cleanup_text = {0}, pretty cleanup_text = {0};
	struct text empty cleanup_text = {0};
	struct emitter emitter;

	emit_all(&yaml, EMIT_YAML);
	assert_string_equal(yaml.data, "a: \"x\\\"\\\\\\u000a\"\n"
				       "m:\n"
				       "  n: -5\n"
				       "  empty: {}\n"
				       "l:\n"
				       "  - t: true\n"
				       "    none: []\n"
				       "  - {}\n"
				       "  - [1,2]\n");
	emit_all(&json, EMIT_JSON);
	assert_string_equal(json.data, "{\"a\":\"x\\\"\\\\\\u000a\",\"m\":{\"n\":-5,\"empty\":{}},"
				       "\"l\":[{\"t\":true,\"none\":[]},{},[1,2]]}");
	emit_all(&pretty, EMIT_JSON_PRETTY);
	assert_non_null(
		strstr(pretty.data, "\n  \"m\": {\n    \"n\": -5,\n    \"empty\": {}\n  },"));
	emit_begin(&emitter, &empty, EMIT_YAML);
	emit_end(&emitter);
	assert_string_equal(empty.data, "{}\n");
}

/* Arbitrary bytes survive the writer and the reader. */
static void quoting_survives_any_bytes(void **state)
{
	static const struct {
		const char *bytes, *back;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\x01\x1b[2J\x7f\t\r\n", "\x01\x1b[2J\x7f\t\r\n"},
		{"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
		{"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc2\x80\xef\xbb\xbf\xef\xbf\xbe", "\xc2\x80\xef\xbb\xbf\xef\xbf\xbe"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml_tree *tree cleanup_yaml = NULL;
		struct text text cleanup_text = {0};
		struct format_error error;
		struct emitter emitter;

		emit_begin(&emitter, &text, EMIT_JSON);
		emit_text(&emitter, "a", cases[i].bytes);
		emit_end(&emitter);
		if (yaml_parse_one(text.data, text.len, &YAML_LIMITS, &error, &tree) < 0)
			fail_msg("%s: %s", text.data, error.message);
		assert_string_equal(yaml_get(tree->root, "a")->text, cases[i].back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(copies_what_fits),
		cmocka_unit_test(hides_what_is_not_printable),
		cmocka_unit_test(shows_what_a_terminal_would_act_on),
		cmocka_unit_test(detects_repeated_sentences),
		cmocka_unit_test(large_piece),
		cmocka_unit_test(empty_text_is_an_empty_string),
		cmocka_unit_test(errors_persist),
		cmocka_unit_test(styles),
		cmocka_unit_test(quoting_survives_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
