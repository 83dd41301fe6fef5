// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The bounded tree: shapes, places, limits, and what is refused on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/yaml.h"
#include "lib/text.h"

static struct format_error error;

static struct yaml_tree *parse(const char *text)
{
	struct yaml_tree *tree = NULL;
	char sentence[FORMAT_ERROR_TEXT_MAX];

	if (yaml_parse_one(text, strlen(text), &YAML_LIMITS, &error, &tree) < 0)
		fail_msg("%s", format_error_text(&error, NULL, sentence, sizeof(sentence)));
	return tree;
}

static void refuse(const char *text, unsigned int line, unsigned int column, const char *part)
{
	struct yaml_tree *tree = NULL;

	memset(&error, 0, sizeof(error));
	assert_int_equal(yaml_parse_one(text, strlen(text), &YAML_LIMITS, &error, &tree), -EINVAL);
	assert_null(tree);
	assert_int_equal(error.line, line);
	assert_int_equal(error.column, column);
	if (!strstr(error.message, part))
		fail_msg("'%s' is not in '%s'", part, error.message);
}

static void shapes_and_places(void **state)
{
	struct yaml_tree *tree cleanup_yaml = parse("a:\n  - x\n  - {b: \"1\"}\nc: null\n");
	const struct yaml_value *a = yaml_get(tree->root, "a"), *second;

	assert_int_equal(tree->root->nr_children, 2);
	assert_int_equal(a->kind, YAML_LIST);
	assert_int_equal(a->nr_children, 2);
	assert_int_equal(a->children->line, 2);
	assert_int_equal(a->children->column, 5);
	second = a->children->next;
	assert_string_equal(yaml_get(second, "b")->text, "1");
	assert_true(yaml_get(second, "b")->quoted);
	/* null is as good as absent */
	assert_null(yaml_get(tree->root, "c"));
	assert_null(yaml_get(tree->root, "d"));
	assert_null(yaml_get(a, "b"));
	assert_null(yaml_get(NULL, "b"));
}

static void json_is_yaml(void **state)
{
	struct yaml_tree *tree cleanup_yaml =
		parse("{\"a\":[1,2.5,true,null,\"\\u0041\\/\"],\n\t\"b\":{}}");
	const struct yaml_value *item = yaml_get(tree->root, "a")->children;
	bool yes = false;

	assert_string_equal(item->text, "1");
	item = item->next->next;
	assert_int_equal(yaml_read_bool(item, "f", &error, &yes), 0);
	assert_true(yes);
	assert_true(yaml_is_null(item->next));
	assert_string_equal(item->next->next->text, "A/");
	assert_int_equal(yaml_get(tree->root, "b")->kind, YAML_MAP);
}

static void refused_on_purpose(void **state)
{
	refuse("a: &x 1\nb: *x\n", 2, 4, "alias '*x'");
	refuse("a: 1\nb: 2\na: 3\n", 3, 1, "'a' appears twice, first in line 1");
	refuse("? [a, b]\n: 1\n", 1, 3, "a key must be text");
	refuse("a: !!binary aGk=\n", 1, 4, "tag");
	refuse("a: \"x\\0y\"\n", 1, 4, "NUL");
	refuse("a: [1\n", 2, 1, "not YAML");
	refuse("a: \xff\n", 1, 1, "not UTF-8");
	refuse("", 0, 0, "empty");
	refuse("# only a remark\n", 0, 0, "empty");
	refuse("{\"a\": 1} {\"b\": 2}", 0, 0, "more than one document");
	refuse("a: 1\n---\nb: 2\n", 0, 0, "more than one document");
	refuse("a:\n\tb: 1\n", 2, 1, "unexpected tab");
	refuse("a: 1\n...\nb: 2\n", 2, 1, "\"---\"");
}

static void limits_hold(void **state)
{
	struct yaml_limits limits = {100, 3, 5};
	struct yaml_tree *tree = NULL;
	struct text text cleanup_text = {0};

	assert_int_equal(yaml_parse_one("[[[1]]]", 7, &limits, &error, &tree), 0);
	yaml_tree_free(tree);
	tree = NULL;
	assert_int_equal(yaml_parse_one("[[[[1]]]]", 9, &limits, &error, &tree), -EINVAL);
	assert_non_null(strstr(error.message, "deeper than 3"));
	assert_int_equal(yaml_parse_one("[1,2,3,4]", 9, &limits, &error, &tree), 0);
	yaml_tree_free(tree);
	tree = NULL;
	assert_int_equal(yaml_parse_one("[1,2,3,4,5]", 11, &limits, &error, &tree), -EINVAL);
	assert_non_null(strstr(error.message, "more than 5 values"));
	for (int i = 0; i < 101; i++)
		text_append(&text, "a");
	assert_int_equal(yaml_parse_one(text.data, text.len, &limits, &error, &tree), -EINVAL);
	assert_non_null(strstr(error.message, "101 bytes"));
	/* Ten thousand opening brackets must neither recurse nor take time. */
	text_fini(&text);
	for (int i = 0; i < 10000; i++)
		text_append(&text, "[");
	assert_int_equal(yaml_parse_one(text.data, text.len, &YAML_LIMITS, &error, &tree), -EINVAL);
}

static void pieces_are_cut_at_separators(void **state)
{
	static const char text[] = "a: 1\n--- \nb: |\n  ---\n  x\n---\n---\nc: 2";
	static const unsigned int lines[] = {1, 2, 6, 7};
	size_t offset = 0, len;
	unsigned int line = 1, at, nr = 0;
	const char *piece;

	while (yaml_next_piece(text, sizeof(text) - 1, &offset, &line, &piece, &len, &at)) {
		assert_true(nr < 4);
		assert_int_equal(at, lines[nr]);
		nr++;
	}
	assert_int_equal(nr, 4);
	assert_string_equal(piece, "---\nc: 2");
}

static void documents_one_after_another(void **state)
{
	/* Characters of more than one byte: places are counted in characters, cuts in bytes. */
	static const char text[] = "{\"a\": \"\xc3\xa4\xe2\x82\xac\"}\n{\"b\": 2}\n";
	struct yaml_tree *first cleanup_yaml = NULL, *second cleanup_yaml = NULL;
	size_t used;

	assert_int_equal(yaml_parse(text, sizeof(text) - 1, 1, &YAML_LIMITS, &error, &first, &used),
			 0);
	assert_string_equal(text + used, "{\"b\": 2}\n");
	assert_int_equal(yaml_parse(text + used, sizeof(text) - 1 - used, 2, &YAML_LIMITS, &error,
				    &second, &used),
			 0);
	assert_int_equal(second->root->line, 2);
	assert_int_equal(used, 9);
}

static void byte_order_mark_is_skipped(void **state)
{
	struct yaml_tree *tree cleanup_yaml = parse("\xef\xbb\xbf{\"a\": 1}\n");

	assert_string_equal(yaml_get(tree->root, "a")->text, "1");
}

static int read_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	struct yaml_tree *tree cleanup_yaml = parse(text);

	return yaml_read_uint(tree->root, "f", &error, 0, max, ret_number);
}

static void typed_readers(void **state)
{
	static const char *const words[] = {"one", NULL, "two"};
	struct yaml_tree *tree cleanup_yaml = parse("two");
	char text[4] = "?";
	uint64_t number = 7;
	unsigned int word = 9;
	bool flag = false;

	assert_int_equal(read_number("0", 10, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(read_number("10", 10, &number), 0);
	assert_int_equal(number, 10);
	assert_int_equal(read_number("11", 10, &number), -EINVAL);
	assert_int_equal(read_number("18446744073709551615", UINT64_MAX, &number), 0);
	assert_true(number == UINT64_MAX);
	assert_int_equal(read_number("18446744073709551616", UINT64_MAX, &number), -EINVAL);
	assert_int_equal(read_number("9", 5, &number), -EINVAL);
	assert_int_equal(read_number("-1", 10, &number), -EINVAL);
	assert_int_equal(read_number("1x", 10, &number), -EINVAL);
	assert_int_equal(read_number("[1]", 10, &number), -EINVAL);
	assert_true(number == UINT64_MAX);
	{
		struct yaml_tree *three cleanup_yaml = parse("3");

		assert_int_equal(yaml_read_uint(three->root, "f", &error, 4, 9, &number), -EINVAL);
		assert_string_equal(error.message, "'3' is not a whole number from 4 to 9");
	}

	assert_int_equal(yaml_read_word(tree->root, "f", &error, words, 3, &word), 0);
	assert_int_equal(word, 2);
	assert_int_equal(yaml_read_word(tree->root, "f", &error, words, 1, &word), -EINVAL);
	assert_string_equal(error.message, "invalid value 'two': expected one of one");
	assert_int_equal(yaml_read_text(tree->root, "f", &error, text, sizeof(text)), 0);
	assert_string_equal(text, "two");
	assert_int_equal(yaml_read_text(tree->root, "f", &error, text, 3), -EINVAL);
	assert_int_equal(yaml_read_bool(tree->root, "f", &error, &flag), -EINVAL);
	assert_int_equal(yaml_read_map(tree->root, "f", &error), -EINVAL);
	assert_string_equal(error.message, "expected a mapping, not text");
}

static void errors_are_fit_to_print(void **state)
{
	char shown[8], sentence[FORMAT_ERROR_TEXT_MAX], field[FORMAT_FIELD_MAX];
	struct text text cleanup_text = {0};

	assert_string_equal(format_show("a\x1b[1m", 5, shown, sizeof(shown)), "a?[1m");
	assert_string_equal(format_show("abcdefghij", 10, shown, sizeof(shown)), "abcd...");
	for (int i = 0; i < 1000; i++)
		text_append(&text, "x");
	format_member(field, text.data, "y");
	assert_int_equal(strlen(field), FORMAT_FIELD_MAX - 1);
	assert_string_equal(field + FORMAT_FIELD_MAX - 4, "...");
	format_error_set(&error, 3, 4, "a.b", "%s", text.data);
	format_error_text(&error, "f.yaml", sentence, sizeof(sentence));
	assert_int_equal(strncmp(sentence, "f.yaml:3:4: a.b: xxx", 20), 0);
	format_error_set(&error, 0, 0, NULL, "whole");
	assert_string_equal(format_error_text(&error, "f", sentence, sizeof(sentence)), "f: whole");
	assert_string_equal(format_error_text(&error, NULL, sentence, sizeof(sentence)), "whole");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_and_places),
		cmocka_unit_test(json_is_yaml),
		cmocka_unit_test(refused_on_purpose),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(pieces_are_cut_at_separators),
		cmocka_unit_test(documents_one_after_another),
		cmocka_unit_test(byte_order_mark_is_skipped),
		cmocka_unit_test(typed_readers),
		cmocka_unit_test(errors_are_fit_to_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
