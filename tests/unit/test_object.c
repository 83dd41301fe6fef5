// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* One description, three uses: schema, check, plain text. On objects of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/object.h"

static const struct field_desc leaf_fields[] = {
	{"id", NULL, FIELD_COUNT, 0, NULL, NULL, "A number."},
	{"list", NULL, FIELD_CPULIST, FIELD_NULL, NULL, NULL, "CPUs."},
};
static const struct object_desc leaf_desc = {
	.name = "leaf",
	.help = "A leaf.",
	.version = 1,
	.layout = OBJECT_TABLE,
	.nr_fields = ARRAY_SIZE(leaf_fields),
	.fields = leaf_fields,
};

static const char *const colours[] = {"red", "green", NULL};
static const struct field_desc tree_fields[] = {
	{"space", "tree", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Where."},
	{"name", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL, "Which."},
	{"colour", NULL, FIELD_ENUM, FIELD_HEAD, colours, NULL, "How."},
	{"size", NULL, FIELD_BYTES, FIELD_NULL, NULL, NULL, "How much."},
	{"age", NULL, FIELD_SECONDS, FIELD_NULL, NULL, NULL, "How long."},
	{"born", NULL, FIELD_TIME, FIELD_LINE | FIELD_NULL, NULL, NULL, "When."},
	{"alive", NULL, FIELD_BOOL, 0, NULL, NULL, "Whether."},
	{"delta", NULL, FIELD_INTEGER, FIELD_HIDDEN, NULL, NULL, "Signed."},
	{"words", NULL, FIELD_TEXTS, 0, NULL, NULL, "Some."},
	{"leaves", NULL, FIELD_LIST, FIELD_BARE, NULL, &leaf_desc, "Parts."},
};
static const struct object_desc tree_desc = {
	.name = "tree",
	.help = "A tree.",
	.version = 1,
	.is_list = true,
	.nr_fields = ARRAY_SIZE(tree_fields),
	.fields = tree_fields,
};

#define TREE                                                                                  \
	"[{\"space\":\"a\",\"name\":\"oak\",\"colour\":\"red\",\"size\":2097152,\"age\":1.5," \
	"\"born\":1700000000123456789,\"alive\":true,\"delta\":-3,\"words\":[\"x\",\"y\"],"   \
	"\"leaves\":[{\"id\":7,\"list\":\"0-3\"},{\"id\":12,\"list\":null}]}]"

static struct json_object *parse(const char *text)
{
	struct json_object *json = json_tokener_parse(text);

	assert_non_null(json);
	return json;
}

static void expect_fault(const char *from, const char *to, const char *wanted)
{
	const char *at = strstr(TREE, from);
	char text[1024], error[200] = "";
	struct json_object *json;

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - TREE), TREE, to, at + strlen(from));
	json = parse(text);
	assert_int_equal(object_check(&tree_desc, json, error, sizeof(error)), -EINVAL);
	if (!strstr(error, wanted))
		fail_msg("'%s' does not contain '%s'", error, wanted);
	json_object_put(json);
}

static void check_accepts_what_is_described(void **state)
{
	struct json_object *json = parse(TREE);
	char error[200] = "";

	assert_int_equal(object_check(&tree_desc, json, error, sizeof(error)), 0);
	assert_string_equal(error, "");
	json_object_put(json);
}

static void check_names_each_fault(void **state)
{
	expect_fault("\"delta\":-3,", "", "tree[0].delta: missing");
	expect_fault("\"delta\":-3", "\"delta\":-3,\"extra\":1", "tree[0].extra: not described");
	expect_fault("\"red\"", "\"blue\"", "tree[0].colour: 'blue'");
	expect_fault("\"a\"", "null", "tree[0].space: null");
	expect_fault("2097152", "-1", "tree[0].size");
	expect_fault("true", "\"yes\"", "tree[0].alive");
	expect_fault("\"0-3\"", "\"3-0\"", "tree[0].leaves[0].list: '3-0' is no CPU list");
	expect_fault("[\"x\"", "[1", "tree[0].words[0]: not a string");
	expect_fault("{\"id\":7,\"list\":\"0-3\"}", "4", "tree[0].leaves[0]: not an object");
}

static void check_wants_the_array(void **state)
{
	struct json_object *json = parse("{}");
	char error[200] = "";

	assert_int_equal(object_check(&tree_desc, json, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "tree: not an array");
	json_object_put(json);
}

static void plain_text_of_blocks_and_tables(void **state)
{
	struct json_object *json = parse(TREE);
	struct text text = {0};

	object_render(&tree_desc, json, &text);
	assert_int_equal(text.error, 0);
	assert_string_equal(text.data, "tree a/oak  colour red\n"
				       "\tsize 2Mi  age 1.50s\n"
				       "\tborn 2023-11-14T22:13:20.123Z  alive yes  words x; y\n"
				       "\tid  list\n"
				       "\t 7  0-3\n"
				       "\t12  -\n");
	text_fini(&text);
	json_object_put(json);
}

/* A process called "\033]0;pwned\a" must not drive the operator's terminal. */
static void plain_text_escapes_control_bytes(void **state)
{
	struct json_object *json =
		parse("{\"space\":\"\\u001b]0;x\\u0007\\n\",\"name\":\"\\u009b1m\"}");
	struct text text = {0};

	object_render(&tree_desc, json, &text);
	assert_string_equal(text.data, "tree \\x1b]0;x\\x07\\x0a/\\x9b1m\n");
	text_fini(&text);
	json_object_put(json);
}

static void plain_text_survives_other_versions(void **state)
{
	struct json_object *json = parse("[{\"name\":\"n\",\"new\":1,\"leaves\":[],\"words\":3}]");
	struct text text = {0};

	object_render(&tree_desc, json, &text);
	assert_string_equal(text.data, "n\n\twords -\n");
	text_fini(&text);
	json_object_put(json);
}

static void bytes_stay_short(void **state)
{
	static const struct {
		const char *json, *wanted;
	} cases[] = {
		{"0", "0"},
		{"1000", "1000"},
		{"1024", "1Ki"},
		{"1000000", "976.6Ki"},
		{"64000000000", "59.6Gi"},
		{"68719476736", "64Gi"},
		{"9223372036854775807", "8.0Ei"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char wanted[64], json_text[64];
		struct text text = {0};
		struct json_object *json;

		snprintf(json_text, sizeof(json_text), "{\"size\":%s}", cases[i].json);
		snprintf(wanted, sizeof(wanted), "size %s\n", cases[i].wanted);
		json = parse(json_text);
		object_render(&tree_desc, json, &text);
		assert_string_equal(text.data, wanted);
		text_fini(&text);
		json_object_put(json);
	}
}

static void no_line_ends_in_blanks(void **state)
{
	struct json_object *json =
		parse("[{\"id\":1,\"list\":\"0\"},{\"id\":2,\"list\":\"0-1000\"}]");
	struct text text = {0};

	object_render(&leaf_desc, json, &text);
	assert_string_equal(text.data, "id  list\n 1  0\n 2  0-1000\n");
	text_fini(&text);
	json_object_put(json);
}

static struct json_object *dig(struct json_object *json, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(json, path, &found))
		fail_msg("no %s in %s", path, json_object_to_json_string(json));
	return found;
}

static void schema_says_the_same(void **state)
{
	struct json_object *schema = object_schema(&tree_desc);

	assert_non_null(schema);
	assert_string_equal(json_object_get_string(dig(schema, "/type")), "array");
	assert_int_equal(json_object_array_length(dig(schema, "/items/required")),
			 ARRAY_SIZE(tree_fields));
	assert_string_equal(json_object_get_string(dig(schema, "/items/properties/colour/enum/1")),
			    "green");
	assert_string_equal(json_object_get_string(dig(schema, "/items/properties/size/type/1")),
			    "null");
	assert_string_equal(json_object_get_string(dig(
				    schema, "/items/properties/leaves/items/properties/id/type")),
			    "integer");
	json_object_put(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_accepts_what_is_described),
		cmocka_unit_test(check_names_each_fault),
		cmocka_unit_test(check_wants_the_array),
		cmocka_unit_test(plain_text_of_blocks_and_tables),
		cmocka_unit_test(plain_text_escapes_control_bytes),
		cmocka_unit_test(plain_text_survives_other_versions),
		cmocka_unit_test(bytes_stay_short),
		cmocka_unit_test(no_line_ends_in_blanks),
		cmocka_unit_test(schema_says_the_same),
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
