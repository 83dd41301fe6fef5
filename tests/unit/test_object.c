// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* One table, three uses: JSON, schema, plain text. On objects of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/object_check.h"
#include "format/object_table.h"

enum colour { RED, GREEN };

struct leaf_row {
	uint32_t id;
	const struct cpuset *list;
};

static const struct field_desc leaf_fields[] = {
	COUNT(leaf_row, id, NULL, 0, "A number."),
	CPUS(leaf_row, list, NULL, FIELD_NULL, "CPUs."),
};
static const struct object_desc leaf_row_desc = {
	.name = "leaf",
	.help = "A leaf.",
	.layout = OBJECT_TABLE,
	TABLE(leaf_row, leaf_fields),
};

struct where_row {
	const char *space;
	char name[32];
};

static const struct field_desc where_fields[] = {
	TEXT(where_row, space, "tree", FIELD_HEAD, "Where."),
	TEXT(where_row, name, NULL, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, "Which."),
};
static const struct object_desc where_row_desc = {TABLE(where_row, where_fields)};

struct tree_row {
	struct where_row where;
	enum colour colour;
	uint64_t size;
	int64_t age_ns;
	int64_t born;
	bool alive;
	int flowers;
	const char *const *words;
	size_t nr_words;
	const struct leaf_row *leaves;
	size_t nr_leaves;
	const struct leaf_row *top;
};

static const struct field_desc tree_fields[] = {
	PART(tree_row, where, where_row),
	WORD(tree_row, colour, NULL, FIELD_HEAD, "How.", [RED] = "red", [GREEN] = "green"),
	BYTES(tree_row, size, NULL, FIELD_NULL, "How much."),
	SECONDS(tree_row, age_ns, "age", NULL, FIELD_NULL, "How long."),
	TIME(tree_row, born, NULL, FIELD_LINE | FIELD_NULL, "When."),
	ANSWER(tree_row, alive, NULL, 0, "Whether."),
	COUNT(tree_row, flowers, NULL, FIELD_HIDDEN | FIELD_NULL, "Some or none."),
	TEXTS(tree_row, words, NULL, 0, "Some."),
	LIST(tree_row, leaves, leaf_row, NULL, FIELD_BARE, "Parts."),
	OBJECT(tree_row, top, leaf_row, NULL, FIELD_NULL, "The first of them."),
};
static const struct object_desc tree_desc = {
	.name = "tree",
	.help = "A tree.",
	.is_list = true,
	TABLE(tree_row, tree_fields),
};

#define TREE                                                                                  \
	"[{\"space\":\"a\",\"name\":\"oak\",\"colour\":\"red\",\"size\":2097152,\"age\":1.5," \
	"\"born\":1700000000123456789,\"alive\":true,\"flowers\":3,\"words\":[\"x\",\"y\"],"  \
	"\"leaves\":[{\"id\":7,\"list\":\"0-3\"},{\"id\":12,\"list\":null}],\"top\":null}]"

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

/* The same object from a struct: the form of each member, and what stands for null. */
static void a_row_becomes_its_object(void **state)
{
	const char *const words[] = {"x", "y"};
	struct cpuset cpus = CPUSET_EMPTY;
	const struct leaf_row leaves[] = {{.id = 7, .list = &cpus}, {.id = 12}};
	const struct tree_row rows[] = {
		{
			.where = {.space = "a", .name = "oak"},
			.colour = GREEN,
			.size = 2097152,
			.age_ns = 1500000000,
			.born = 1700000000123456789,
			.alive = true,
			.flowers = 3,
			.words = words,
			.nr_words = 2,
			.leaves = leaves,
			.nr_leaves = 2,
			.top = leaves,
		},
		{.where.space = "\xff", .age_ns = -1, .born = -1, .flowers = -1},
	};
	struct json_object *json;
	char error[200] = "";

	cpuset_add(&cpus, 3);
	json = object_json(&tree_desc, rows, ARRAY_SIZE(rows));
	if (object_check(&tree_desc, json, error, sizeof(error)))
		fail_msg("%s", error);
	assert_string_equal(
		json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
		"[{\"space\":\"a\",\"name\":\"oak\",\"colour\":\"green\",\"size\":2097152,"
		"\"age\":1.500000000,\"born\":1700000000123456789,\"alive\":true,\"flowers\":3,"
		"\"words\":[\"x\",\"y\"],\"leaves\":[{\"id\":7,\"list\":\"3\"},"
		"{\"id\":12,\"list\":null}],\"top\":{\"id\":7,\"list\":\"3\"}},"
		"{\"space\":\"\xef\xbf\xbd\",\"name\":\"\",\"colour\":\"red\",\"size\":null,"
		"\"age\":null,\"born\":null,\"alive\":false,\"flowers\":null,\"words\":[],"
		"\"leaves\":[],\"top\":null}]");
	json_object_put(json);
	assert_null(object_json(&tree_desc, leaves, ARRAY_SIZE(leaves)));
}

static void a_row_is_read_back(void **state)
{
	struct json_object *json = parse(TREE),
			   *other = parse("{\"colour\":\"blue\",\"leaves\":3}"), *leaves;
	struct leaf_row leaf;
	struct tree_row row;

	object_read(&tree_desc, json_object_array_get_idx(json, 0), &row);
	assert_string_equal(row.where.space, "a");
	assert_int_equal(row.colour, RED);
	assert_int_equal(row.size, 2097152);
	assert_int_equal(row.age_ns, 1500000000);
	assert_int_equal(row.born, 1700000000123456789);
	assert_true(row.alive);
	assert_int_equal(row.flowers, 3);
	assert_int_equal(row.nr_leaves, 2);
	assert_null(row.leaves);
	leaves = object_list(&tree_desc, json_object_array_get_idx(json, 0), &leaf_row_desc);
	assert_int_equal(json_object_array_length(leaves), 2);
	object_read(&leaf_row_desc, json_object_array_get_idx(leaves, 1), &leaf);
	assert_int_equal(leaf.id, 12);
	/* what is missing or unknown is null */
	object_read(&tree_desc, other, &row);
	assert_null(row.where.space);
	assert_int_equal(row.colour, 2);
	assert_int_equal(row.size, 0);
	assert_int_equal(row.age_ns, -1);
	assert_int_equal(row.born, -1);
	assert_false(row.alive);
	assert_int_equal(row.flowers, -1);
	assert_int_equal(row.nr_leaves, 0);
	assert_null(object_list(&tree_desc, other, &leaf_row_desc));
	assert_null(object_list(&leaf_row_desc, json, &tree_desc));
	/* a struct of another object stays empty, and so does what is no object */
	object_read(&tree_desc, other, &leaf);
	assert_int_equal(leaf.id, 0);
	object_read(&leaf_row_desc, json, &leaf);
	assert_int_equal(leaf.id, 0);
	json_object_put(other);
	json_object_put(json);
}

static void check_names_each_fault(void **state)
{
	expect_fault("\"flowers\":3,", "", "tree[0].flowers: missing");
	expect_fault("\"flowers\":3", "\"flowers\":3,\"extra\":1", "tree[0].extra: not described");
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

	object_render(&leaf_row_desc, json, &text);
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
			 ARRAY_SIZE(tree_fields) - 1 + ARRAY_SIZE(where_fields));
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
		cmocka_unit_test(a_row_becomes_its_object),
		cmocka_unit_test(a_row_is_read_back),
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
