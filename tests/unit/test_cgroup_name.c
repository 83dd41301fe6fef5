// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Groups whose names look like those of removed groups; plain directories stand in for cgroups. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/dir.h"

static char folder[] = "/tmp/pinfold-names.XXXXXX";
static struct dir dir;

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	dir.mount_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir.mount_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	unlinkat(dir.mount_fd, "a/x (deleted)", AT_REMOVEDIR);
	unlinkat(dir.mount_fd, "a", AT_REMOVEDIR);
	close(dir.mount_fd);
	return rmdir(folder);
}

static uint64_t make(const char *path)
{
	struct stat info;

	assert_int_equal(mkdirat(dir.mount_fd, path, 0755), 0);
	assert_int_equal(fstatat(dir.mount_fd, path, &info, 0), 0);
	return info.st_ino;
}

static void test_names(void **state)
{
	uint64_t a = make("a"), x;

	assert_int_equal(dir_check_name(&dir, "a", a), 0);
	assert_int_equal(dir_check_name(&dir, "", a), 0);
	/* There is no group with that name: it was removed. */
	assert_int_equal(dir_check_name(&dir, "a/x (deleted)", a), -ENOENT);
	/* There is one, but it is not the removed group "a/x". */
	x = make("a/x (deleted)");
	assert_int_equal(dir_check_name(&dir, "a/x (deleted)", a), -ENOENT);
	/* The group in question really has this name. */
	assert_int_equal(dir_check_name(&dir, "a/x (deleted)", x), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
