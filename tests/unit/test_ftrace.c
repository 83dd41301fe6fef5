// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* The kernel's switch for function trampolines, as a file of our own; no kernel needed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/ftrace.h"
#include "lib/file.h"

static char file[] = "/tmp/pinfold-ftrace-XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(file);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	return unlink(file);
}

static void holds(const char *expected)
{
	char *text cleanup_free = NULL;

	assert_int_equal(file_read_line(AT_FDCWD, file, &text), 0);
	assert_string_equal(text, expected);
}

static void test_on_is_not_changed(void **state)
{
	assert_int_equal(file_write_text(AT_FDCWD, file, "1"), 0);
	assert_false(ftrace_is_off(file));
	assert_int_equal(ftrace_mend(file), 0);
	holds("1");
}

static void test_off_is_switched_on(void **state)
{
	assert_int_equal(file_write_text(AT_FDCWD, file, "0"), 0);
	assert_true(ftrace_is_off(file));
	assert_int_equal(ftrace_mend(file), 1);
	holds("1");
	assert_int_equal(ftrace_mend(file), 0);
}

static void test_a_kernel_without_it_is_not_changed(void **state)
{
	assert_false(ftrace_is_off("/proc/none/ftrace_enabled"));
	assert_int_equal(ftrace_mend("/proc/none/ftrace_enabled"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_is_not_changed),
		cmocka_unit_test(test_off_is_switched_on),
		cmocka_unit_test(test_a_kernel_without_it_is_not_changed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
