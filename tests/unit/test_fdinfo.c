// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/* What procfs tells about descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fdinfo.h"
#include "lib/file.h"

static void test_a_field_has_its_whole_value(void **state)
{
	int fd cleanup_close = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 12, SEEK_SET), 12);
	assert_true(fdinfo_is(fd, "pos", "12"));
	assert_false(fdinfo_is(fd, "pos", "1"));
	assert_false(fdinfo_is(fd, "pos", "123"));
	assert_false(fdinfo_is(fd, "po", "12"));
}

static void test_what_is_not_told_is_not_so(void **state)
{
	int fd cleanup_close = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_false(fdinfo_is(fd, "frozen", "1"));
	assert_false(fdinfo_is(-1, "pos", "0"));
}

static void test_a_number_is_read_whole(void **state)
{
	int fd cleanup_close = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t number = 7;

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 12, SEEK_SET), 12);
	assert_int_equal(fdinfo_number(fd, "pos", &number), 0);
	assert_int_equal(number, 12);
	assert_int_equal(fdinfo_number(fd, "memlock", &number), -ENOENT);
	assert_int_equal(fdinfo_number(-1, "pos", &number), -ENOENT);
	assert_int_equal(number, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_field_has_its_whole_value),
		cmocka_unit_test(test_what_is_not_told_is_not_so),
		cmocka_unit_test(test_a_number_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
