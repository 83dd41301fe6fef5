// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* A table that is refreshed: the rates of its totals, its order, and the columns that fit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/object_table.h"
#include "format/object_top.h"

#define SECOND 1000000000LL

struct item {
	const char *group, *name, *note, *extra;
	int64_t count, busy_ns, longest_ns, hidden_ns;
};

static const struct field_desc item_lines[] = {
	TEXT(item, group, NULL, IDENTITY, "h"),
	TEXT(item, name, NULL, OR_NULL | SLASH | IDENTITY, "h"),
	TEXT(item, note, NULL, OR_NULL, "h"),
	COUNT(item, count, NULL, OR_NULL | TOTAL, "h"),
	SECONDS(item, busy_ns, "busy_seconds", "busy", OR_NULL | TOTAL | RANK, "h"),
	SECONDS(item, longest_ns, "longest_seconds", "longest", OR_NULL, "h"),
	SECONDS(item, hidden_ns, "hidden_seconds", "hidden", OR_NULL | TOTAL | HIDDEN, "h"),
	TEXT(item, extra, NULL, OR_NULL, "h"),
};
static const struct object_desc item_desc = {
	.name = "item", .is_list = true, .layout = OBJECT_TABLE, TABLE(item, item_lines)};

static struct object_top top;

/* Rows as an agent may send them: json-c also reads single quotes, and a missing key is null. */
static void take(const char *text, int64_t time_ns)
{
	struct json_object *rows = json_tokener_parse(text);

	assert_true(json_object_is_type(rows, json_type_array));
	assert_int_equal(object_top_take(&top, rows, time_ns), 0);
	json_object_put(rows);
}

static void expect(size_t columns, const char *wanted)
{
	struct text text cleanup_text = {0};

	object_top_render(&top, columns, &text);
	assert_int_equal(text.error, 0);
	assert_string_equal(text.data, wanted);
}

/* The first column of the rows, one letter each. */
static void expect_order(const char *wanted)
{
	struct text text cleanup_text = {0};
	char order[16] = "";
	size_t nr = 0;

	object_top_render(&top, 0, &text);
	for (char *line = strchr(text.data, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
		order[nr++] = line[1];
	order[nr] = '\0';
	assert_string_equal(order, wanted);
}

static int set_up(void **state)
{
	object_top_init(&top, &item_desc);
	return 0;
}

static int tear_down(void **state)
{
	object_top_fini(&top);
	return 0;
}

/* --- rates ------------------------------------------------------------------------------------ */

#define HEADS "group/name  note  count/s  busy/s  longest  hidden/s  extra\n"

static void a_rate_is_the_growth_by_the_time(void **state)
{
	take("[{'group': 'a', 'count': 10, 'busy_seconds': 1.0, 'hidden_seconds': 0.5}]",
	     7 * SECOND);
	expect(0, HEADS "a           -           -       -        -         -  -\n");
	take("[{'group': 'a', 'count': 25, 'busy_seconds': 1.006, 'hidden_seconds': 2.5}]",
	     9 * SECOND);
	expect(0, HEADS "a           -         7.5     3ms        -     1.00s  -\n");
}

static void rows_are_the_same_by_their_identity(void **state)
{
	object_top_sort_by(&top, "note");
	take("[{'group': 'a', 'name': 'x', 'count': 1, 'note': 'n'}, {'group': 'a', 'count': 100},"
	     " {'group': 'b', 'count': 1000}]",
	     0);
	take("[{'group': 'b', 'count': 1001}, {'group': 'c', 'count': 5},"
	     " {'group': 'a', 'count': 102},"
	     " {'group': 'a', 'name': 'x', 'count': 24, 'note': 'm'}]",
	     SECOND);
	expect(0, HEADS "a/x         m          23       -        -         -  -\n"
			"b           -         1.0       -        -         -  -\n"
			"c           -           -       -        -         -  -\n"
			"a           -         2.0       -        -         -  -\n");
}

static void a_total_that_began_anew_has_no_rate(void **state)
{
	take("[{'group': 'a', 'count': 10}, {'group': 'b', 'busy_seconds': 5}]", 0);
	take("[{'group': 'a', 'count': 9}, {'group': 'b'}]", SECOND);
	expect(0, HEADS "a           -           -       -        -         -  -\n"
			"b           -           -       -        -         -  -\n");
	/* nor has one that was taken twice at the same time */
	take("[{'group': 'a', 'count': 20}]", SECOND);
	expect(0, HEADS "a           -           -       -        -         -  -\n");
}

/* --- order ------------------------------------------------------------------------------------ */

static void rows_are_ordered_by_the_rank(void **state)
{
	take("[{'group': 'a', 'busy_seconds': 0}, {'group': 'b', 'busy_seconds': 0},"
	     " {'group': 'c', 'busy_seconds': 900}]",
	     0);
	expect_order("abc");
	take("[{'group': 'a', 'busy_seconds': 10}, {'group': 'n', 'busy_seconds': 999},"
	     " {'group': 'b', 'busy_seconds': 30}, {'group': 'c', 'busy_seconds': 920}]",
	     SECOND);
	/* not by the totals; what is not known comes last */
	expect_order("bcan");
	object_top_reverse(&top);
	expect_order("acbn");
}

static void rows_are_ordered_by_a_key(void **state)
{
	take("[{'group': 'b', 'note': 'y', 'longest_seconds': 1},"
	     " {'group': 'c', 'longest_seconds': 30},"
	     " {'group': 'a', 'note': 'x', 'longest_seconds': 4},"
	     " {'group': 'd', 'note': 'y', 'longest_seconds': 1}]",
	     0);
	assert_int_equal(object_top_sort_by(&top, "longest_seconds"), 0);
	expect_order("cabd");
	assert_int_equal(object_top_sort_by(&top, "group"), 0);
	expect_order("abcd");
	assert_int_equal(object_top_sort_by(&top, "note"), 0);
	expect_order("abdc");
	object_top_reverse(&top);
	expect_order("bdac");
	assert_int_equal(object_top_sort_by(&top, "nowhere"), -ENOENT);
	expect_order("bdac");
}

static void expect_sort(const char *wanted)
{
	struct text text cleanup_text = {0};

	object_top_append_sort(&top, &text);
	assert_string_equal(text.data, wanted);
}

static void the_next_column_is_that_of_the_screen(void **state)
{
	static const char *const heads[] = {"busy/s", "longest", "hidden/s", "extra",
					    "group",  "note",	 "count/s",  "busy/s"};
	const size_t nr = sizeof(heads) / sizeof(*heads);

	for (size_t i = 0; i < nr; i++) {
		expect_sort(heads[i]);
		object_top_sort_by_next(&top, true);
	}
	for (size_t i = nr; i--;) {
		object_top_sort_by_next(&top, false);
		expect_sort(heads[i]);
	}
	/* a key within a column: the column before is that before its first field */
	assert_int_equal(object_top_sort_by(&top, "name"), 0);
	object_top_sort_by_next(&top, false);
	expect_sort("extra");
}

static void all_keys_can_be_named(void **state)
{
	struct text keys cleanup_text = {0};

	object_top_append_keys(&top, &keys);
	assert_string_equal(keys.data, "group, name, note, count, busy_seconds, longest_seconds, "
				       "hidden_seconds, extra");
}

/* --- columns ---------------------------------------------------------------------------------- */

static void columns_without_values_go_first(void **state)
{
	take("[{'group': 'a', 'longest_seconds': 1, 'extra': 'x'}]", 0);
	expect(80, "group/name  count/s  busy/s  longest  hidden/s  extra\n"
		   "a                 -       -    1.00s         -  x\n");
	/* unless rows are ordered by them */
	object_top_sort_by(&top, "note");
	expect(80, HEADS "a           -           -       -    1.00s         -  x\n");
}

static const char wide[] = "[{'group': 'shop', 'name': 'checkout-7f9c4d5b8d-with-an-end-x2x4z',"
			   "  'note': 'äöüäöüäöüäöü', 'longest_seconds': 1, 'extra': 'yes'}]";

static void all_is_shown_where_it_fits(void **state)
{
	take(wide, 0);
	expect(102,
	       "group/name                                  note          count/s  busy/s  longest  "
	       "hidden/s  extra\n"
	       "shop/checkout-7f9c4d5b8d-with-an-end-x2x4z  äöüäöüäöüäöü        -       -    1.00s  "
	       "       -  yes\n");
}

static void long_texts_are_cut_in_their_middle(void **state)
{
	take(wide, 0);
	expect(92, "group/name                        note          count/s  busy/s  longest  "
		   "hidden/s  extra\n"
		   "shop/checkout-7+ith-an-end-x2x4z  äöüäöüäöüäöü        -       -    1.00s  "
		   "       -  yes\n");
}

static void other_columns_go_from_the_right(void **state)
{
	take(wide, 0);
	expect(80, "group/name                        note          count/s  busy/s  hidden/s\n"
		   "shop/checkout-7+ith-an-end-x2x4z  äöüäöüäöüäöü        -       -         -\n");
	object_top_sort_by(&top, "longest_seconds");
	expect(80, "group/name                        count/s  busy/s  longest  hidden/s\n"
		   "shop/checkout-7+ith-an-end-x2x4z        -       -    1.00s         -\n");
}

static void texts_shrink_where_nothing_else_can_go(void **state)
{
	take(wide, 0);
	object_top_sort_by(&top, "note");
	expect(50, "group/name  note         count/s  busy/s  hidden/s\n"
		   "shop+x2x4z  äöüäö+öüäöü        -       -         -\n");
	expect(1, "gro+name  note      count/s  busy/s  hidden/s\n"
		  "sho+2x4z  äöü+üäöü        -       -         -\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_rate_is_the_growth_by_the_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rows_are_the_same_by_their_identity, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_total_that_began_anew_has_no_rate, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rows_are_ordered_by_the_rank, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_are_ordered_by_a_key, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_next_column_is_that_of_the_screen, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(all_keys_can_be_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(columns_without_values_go_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_texts_are_cut_in_their_middle, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(all_is_shown_where_it_fits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_columns_go_from_the_right, set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_shrink_where_nothing_else_can_go, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
