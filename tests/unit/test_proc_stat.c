// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/* The fields of /proc/PID/stat behind any name that a process may give itself. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/proc_stat.h"

#define FIELDS " R 1 2 3 4 5 77 6 7 8 9 10 11 12 13 14 15 16 17 4711 1 2"

static void fields_are_found_behind_any_name(void **state)
{
	static const struct {
		const char *text, *comm;
	} cases[] = {
		{"5 (cat)" FIELDS, "cat"},
		{"5 (x) y)" FIELDS, "x) y"},
		{"5 ()" FIELDS, ""},
		{"5 ( R 1 2 3)" FIELDS, " R 1 2 3"},
		{"5 (((()" FIELDS, "((("},
		{"5 (kworker/u32:3-events_unbound)" FIELDS, "kworker/u32:3-e"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct proc_stat stat;

		assert_int_equal(proc_stat_parse(cases[i].text, &stat), 0);
		assert_string_equal(stat.comm, cases[i].comm);
		assert_int_equal(stat.parent, 1);
		assert_int_equal(stat.flags, 77);
		assert_int_equal(stat.start_ticks, 4711);
	}
}

static void other_text_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"", "5", "5 x R 1 2", "5 (x) R 1 2", "17 (a) S 1 17", "7 (a", "5 )x(" FIELDS};
	struct proc_stat stat = {.flags = 3, .start_ticks = 4};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(proc_stat_parse(texts[i], &stat), -EINVAL);
		assert_int_equal(stat.flags, 3);
		assert_int_equal(stat.start_ticks, 4);
	}
}

static void this_process_has_a_parent_and_a_start(void **state)
{
	struct proc_stat stat;

	(void)state;
	assert_int_equal(proc_stat_read(AT_FDCWD, "/proc/self/stat", &stat), 0);
	assert_int_equal(stat.parent, getppid());
	assert_true(stat.start_ticks > 0);
	assert_int_equal(strncmp(stat.comm, "test_proc_stat", 14), 0);
	assert_int_equal(proc_stat_read(AT_FDCWD, "/proc/self/none", &stat), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_behind_any_name),
		cmocka_unit_test(other_text_changes_nothing),
		cmocka_unit_test(this_process_has_a_parent_and_a_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
