// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Marks: each path once, no more than there is room for, and none twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ctl/dirty.h"

static struct dirty dirty;

static int set_up(void **state)
{
	/* Whatever was there before: only the first nr_paths are valid. */
	memset(&dirty, 0, sizeof(dirty));
	snprintf(dirty.paths[0], sizeof(dirty.paths[0]), "a");
	return 0;
}

static void a_path_is_marked_once(void **state)
{
	static const char *const paths[] = {"a", "b", "a", "c", "b", "c"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		dirty_mark_path(&dirty, paths[i]);
	assert_int_equal(dirty_take_paths(&dirty), 3);
	assert_string_equal(dirty.paths[0], "a");
	assert_string_equal(dirty.paths[1], "b");
	assert_string_equal(dirty.paths[2], "c");
}

static void paths_are_taken_once(void **state)
{
	dirty_mark_path(&dirty, "a");
	assert_int_equal(dirty_take_paths(&dirty), 1);
	assert_int_equal(dirty_take_paths(&dirty), 0);
	/* It may be written to again. */
	dirty_mark_path(&dirty, "a");
	assert_int_equal(dirty_take_paths(&dirty), 1);
}

static void the_number_of_paths_is_bounded(void **state)
{
	char path[16];

	for (unsigned int i = 0; i < MAX_DIRTY + 5; i++) {
		snprintf(path, sizeof(path), "pod%u", i);
		dirty_mark_path(&dirty, path);
	}
	assert_int_equal(dirty_take_paths(&dirty), MAX_DIRTY);
	assert_string_equal(dirty.paths[MAX_DIRTY - 1], "pod15");
}

static void marks_are_cleared_together(void **state)
{
	dirty_mark_ledger(&dirty);
	assert_true(dirty.ledger);
	assert_false(dirty.groups);
	dirty_mark_groups(&dirty);
	assert_true(dirty.groups);
	dirty_mark_path(&dirty, "a");
	dirty_clear(&dirty);
	assert_false(dirty.ledger);
	assert_false(dirty.groups);
	/* The paths have not been compared yet. */
	assert_int_equal(dirty_take_paths(&dirty), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_path_is_marked_once),
		TEST(paths_are_taken_once),
		TEST(the_number_of_paths_is_bounded),
		TEST(marks_are_cleared_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
