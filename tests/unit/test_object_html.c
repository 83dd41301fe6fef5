// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The HTML of a table: every value that others choose is text there, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "format/object_html.h"
#include "format/object_table.h"

struct size_row {
	const char *unit;
	uint64_t bytes;
};

static const struct field_desc size_fields[] = {
	TEXT(size_row, unit, NULL, OR_NULL, "In what."),
	BYTES(size_row, bytes, NULL, OR_NULL, "How much."),
};
static const struct object_desc size_row_desc = {TABLE(size_row, size_fields)};

struct pet_row {
	const char *space, *name, *state, *uid;
	int share;
	struct size_row size;
	const struct size_row *meals;
	size_t nr_meals;
};

static const struct field_desc pet_fields[] = {
	TEXT(pet_row, space, "pet", HEAD, "Where it \"lives\"."),
	TEXT(pet_row, name, NULL, HEAD | BARE | SLASH | OR_NULL, "Which."),
	WORD(pet_row, state, NULL, LINE, "How it is.", "well", "ill"),
	TEXT(pet_row, uid, NULL, HIDDEN, "Nobody's business."),
	PERCENT(pet_row, share, "asleep", OR_NULL, "Of the last day."),
	PART(pet_row, size, size_row),
	LIST(pet_row, meals, size_row, NULL, BARE, "What it ate."),
};
static const struct object_desc pet_desc = {
	.name = "pet",
	.help = "A pet.",
	.is_list = true,
	TABLE(pet_row, pet_fields),
};

#define HEADS                                                                                 \
	"<div class=wide><table><thead><tr><th scope=col title=\"Where it &quot;lives&quot;." \
	"\">pet<th scope=col title=\"How it is.\">state"

static struct json_object *parse(const char *text)
{
	struct json_object *json = json_tokener_parse(text);

	assert_non_null(json);
	return json;
}

static void expect_table(const char *rows, const char *wanted)
{
	struct json_object *json = parse(rows);
	struct text text cleanup_text = {0};

	object_html_table(&pet_desc, json, &text);
	assert_int_equal(text.error, 0);
	assert_string_equal(text.data ? text.data : "", wanted);
	json_object_put(json);
}

static void expect_facts(const char *object, const char *wanted)
{
	struct json_object *json = parse(object);
	struct text text cleanup_text = {0};

	object_html_facts(&pet_desc, json, &text);
	assert_int_equal(text.error, 0);
	assert_string_equal(text.data, wanted);
	json_object_put(json);
}

static void a_table_has_the_columns_that_are_used(void **state)
{
	expect_table("[{\"space\":\"a\",\"name\":\"cat\",\"state\":\"ill\",\"uid\":\"u\","
		     "\"share\":20.5,\"unit\":null,\"bytes\":2097152,\"meals\":[{\"bytes\":1}]},"
		     "{\"space\":\"b\",\"name\":null,\"state\":\"well\",\"share\":0.99}]",
		     HEADS "<th scope=col class=n title=\"Of the last day.\">asleep"
			   "<th scope=col class=n title=\"How much.\">bytes</thead>\n<tbody>\n"
			   "<tr><th scope=row>a/cat<td class=\"is-ill\">ill"
			   "<td class=\"n heat3\">20.50%<td class=n>2Mi\n"
			   "<tr><th scope=row>b<td class=\"is-well\">well"
			   "<td class=\"n heat0\">0.99%<td class=n>-\n"
			   "</tbody></table></div>\n");
	expect_table("[]", "");
}

static void facts_leave_out_what_is_null(void **state)
{
	expect_facts("{\"space\":\"a\",\"name\":\"cat\",\"state\":null,\"bytes\":7}",
		     "<dl>\n<div><dt title=\"Where it &quot;lives&quot;.\">pet</dt>"
		     "<dd>a/cat</dd></div>\n"
		     "<div><dt title=\"How much.\">bytes</dt><dd class=n>7</dd></div>\n</dl>\n");
}

/* A pod may be called so in a manifest, and a process calls itself whatever it likes. */
static void hostile_text_stays_text(void **state)
{
	expect_table("[{\"space\":\"<script>alert('x')</script>\",\"name\":\"\\\" onload=\\\"y\","
		     "\"state\":\"\\\"><b>&\"}]",
		     HEADS "</thead>\n<tbody>\n"
			   "<tr><th scope=row>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;/"
			   "&quot; onload=&quot;y"
			   "<td class=\"is-&quot;&gt;&lt;b&gt;&amp;\">&quot;&gt;&lt;b&gt;&amp;\n"
			   "</tbody></table></div>\n");
	expect_facts("{\"space\":\"</dd><img src=x onerror='z'>\"}",
		     "<dl>\n<div><dt title=\"Where it &quot;lives&quot;.\">pet</dt>"
		     "<dd>&lt;/dd&gt;&lt;img src=x onerror=&#39;z&#39;&gt;</dd></div>\n</dl>\n");
}

/* Sentences, and whatever is very long, may be broken into lines; a path is read on one. */
static void only_long_texts_are_broken(void **state)
{
	static const char path[] = "/a-path-that-has-more-than-forty-bytes/but-no-blank";
	static const struct {
		const char *word;
		unsigned int times;
		bool is_long;
	} cases[] = {{"word ", 8, false}, {"word ", 9, true}, {path, 1, false}, {path, 4, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_object *rows = json_object_new_array(), *row = json_object_new_object();
		struct text name cleanup_text = {0}, text cleanup_text = {0};

		for (unsigned int n = 0; n < cases[i].times; n++)
			text_append(&name, cases[i].word);
		json_object_object_add(row, "space", json_object_new_string(name.data));
		json_object_array_add(rows, row);
		object_html_table(&pet_desc, rows, &text);
		assert_int_equal(strstr(text.data, "<th scope=row class=long>") != NULL,
				 cases[i].is_long);
		json_object_put(rows);
	}
}

static void each_byte_is_escaped_or_harmless(void **state)
{
	for (int byte = 1; byte < 256; byte++) {
		char string[] = {(char)byte, '\0'};
		struct text text cleanup_text = {0};

		html_append(&text, string);
		if (strchr("<>\"'", byte))
			assert_true(text.data[0] == '&' && text.data[text.len - 1] == ';');
		else if (byte == '&')
			assert_string_equal(text.data, "&amp;");
		else if ((byte < ' ' && byte != '\n') || byte == 0x7f)
			assert_string_equal(text.data, "\xef\xbf\xbd");
		else
			assert_string_equal(text.data, string);
	}
}

/* An agent never sends them; whoever calls this must not crash on them all the same. */
static void what_is_no_row_is_shown_empty(void **state)
{
	expect_table("[4]", "<div class=wide><table><thead><tr></thead>\n<tbody>\n<tr>\n"
			    "</tbody></table></div>\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_the_columns_that_are_used),
		cmocka_unit_test(facts_leave_out_what_is_null),
		cmocka_unit_test(hostile_text_stays_text),
		cmocka_unit_test(only_long_texts_are_broken),
		cmocka_unit_test(each_byte_is_escaped_or_harmless),
		cmocka_unit_test(what_is_no_row_is_shown_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
