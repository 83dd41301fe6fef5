// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The list of drift: what is open, what is closed, and what goes when it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ctl/drift_list.h"

#define S 1000000000ULL

static uint64_t wall_ns;
/* The row behind the list looks closed: nobody may find it there. */
static struct {
	struct drift_list list;
	struct drift_row behind;
} memory = {.behind = {.repaired_ns = 1}};
static struct drift_list *const list = &memory.list;

static uint64_t wall(void *self)
{
	return wall_ns;
}

static const struct clock_port test_clock = {.now_ns = wall, .wall_ns = wall};

static int set_up(void **state)
{
	wall_ns = 7 * S;
	drift_list_init(list, &test_clock);
	return 0;
}

static void drift_is_open_until_it_is_closed(void **state)
{
	struct drift_row *row = drift_list_open(list, "a/b", GROUP_CPUSET_CPUS);

	assert_string_equal(row->path, "a/b");
	assert_int_equal(row->attribute, GROUP_CPUSET_CPUS);
	assert_int_equal(row->cause, CAUSE_UNKNOWN);
	assert_int_equal(row->action, ACTION_NONE);
	assert_int_equal(row->since_ns, 7 * S);
	assert_int_equal(row->repaired_ns, 0);
	/* The same is one row; another file, another group are others. */
	assert_ptr_equal(drift_list_open(list, "a/b", GROUP_CPUSET_CPUS), row);
	assert_ptr_equal(drift_list_find_open(list, "a/b", GROUP_CPUSET_CPUS), row);
	assert_null(drift_list_find_open(list, "a/b", GROUP_CPUSET_MEMS));
	assert_null(drift_list_find_open(list, "a", GROUP_CPUSET_CPUS));
	assert_ptr_not_equal(drift_list_open(list, "a/b", GROUP_CPUSET_MEMS), row);
	assert_ptr_not_equal(drift_list_open(list, "a", GROUP_CPUSET_CPUS), row);
	assert_int_equal(drift_list_nr_open(list, GROUP_CPUSET_CPUS), 2);
	assert_int_equal(drift_list_nr_open(list, GROUP_CPUSET_MEMS), 1);
	assert_int_equal(drift_list_nr_open(list, GROUP_CPU_MAX), 0);
	wall_ns += S;
	drift_list_close(list, row, ACTION_REPAIR);
	assert_int_equal(row->repaired_ns, 8 * S);
	assert_int_equal(row->action, ACTION_REPAIR);
	assert_null(drift_list_find_open(list, "a/b", GROUP_CPUSET_CPUS));
	assert_int_equal(drift_list_nr_open(list, GROUP_CPUSET_CPUS), 1);
	/* It happens again: another row. */
	assert_ptr_not_equal(drift_list_open(list, "a/b", GROUP_CPUSET_CPUS), row);
	assert_int_equal(list->nr_rows, 4);
}

/* Fill the list; the row of this index, if any, is closed. */
static void fill(int closed)
{
	for (int i = 0; i < DRIFT_LIST_ROWS; i++) {
		struct drift_row *row;
		char path[16];

		snprintf(path, sizeof(path), "%d", i);
		row = drift_list_open(list, path, GROUP_CPUSET_CPUS);
		if (i == closed)
			drift_list_close(list, row, ACTION_REPAIR);
	}
	assert_int_equal(list->nr_rows, DRIFT_LIST_ROWS);
}

static void closed_rows_are_dropped_first(void **state)
{
	fill(5);
	assert_string_equal(drift_list_open(list, "new", GROUP_CPUSET_CPUS)->path, "new");
	assert_int_equal(list->nr_rows, DRIFT_LIST_ROWS);
	assert_string_equal(list->rows[0].path, "0");
	assert_string_equal(list->rows[4].path, "4");
	assert_string_equal(list->rows[5].path, "6");
	assert_string_equal(list->rows[DRIFT_LIST_ROWS - 2].path, "127");
	assert_string_equal(list->rows[DRIFT_LIST_ROWS - 1].path, "new");
	/* With none closed the oldest has to go. */
	drift_list_open(list, "newer", GROUP_CPUSET_CPUS);
	assert_int_equal(list->nr_rows, DRIFT_LIST_ROWS);
	assert_string_equal(list->rows[0].path, "1");
	assert_string_equal(list->rows[DRIFT_LIST_ROWS - 1].path, "newer");
}

/* Of several closed ones the first, which is the oldest. */
static void a_full_list_drops_the_oldest_closed_row(void **state)
{
	fill(9);
	drift_list_close(list, &list->rows[20], ACTION_REPAIR);
	drift_list_open(list, "new", GROUP_CPUSET_CPUS);
	assert_string_equal(list->rows[9].path, "10");
	assert_string_equal(list->rows[19].path, "20");
	assert_true(list->rows[19].repaired_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(drift_is_open_until_it_is_closed, set_up),
		cmocka_unit_test_setup(closed_rows_are_dropped_first, set_up),
		cmocka_unit_test_setup(a_full_list_drops_the_oldest_closed_row, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
