// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * Removal of trees of any shape, on plain directories: deep beyond PATH_MAX and beyond the
 * descriptors we may have, wide, and growing while they are removed. What the kernel refuses
 * is tests/guest/nested's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup/remove.h"
#include "lib/file.h"

static char place[64];
static int place_fd = -1;

static int set_up(void **state)
{
	snprintf(place, sizeof(place), "/tmp/cgroup-remove-XXXXXX");
	if (!mkdtemp(place))
		return -1;
	place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place_fd < 0 || mkdirat(place_fd, "top", 0755) ? -1 : 0;
}

static int tear_down(void **state)
{
	close(place_fd);
	return rmdir(place);
}

static int open_top(void)
{
	int fd = openat(place_fd, "top", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A chain of so many levels below `fd`, each with a long name. */
static void make_deep(int fd, unsigned int levels)
{
	int at = dup(fd), next;
	char name[201];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (unsigned int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
}

static void make_wide(int fd, const char *prefix, unsigned int nr)
{
	char name[64];

	for (unsigned int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		assert_int_equal(mkdirat(fd, name, 0755), 0);
	}
}

static void expect_removed(int top)
{
	char error[GROUP_ERROR_MAX] = "";

	if (remove_tree(place_fd, "top", top, "top", error))
		fail_msg("%s", error);
	assert_int_equal(faccessat(place_fd, "top", F_OK, 0), -1);
	assert_int_equal(errno, ENOENT);
}

static void an_empty_one_goes(void **state)
{
	cleanup_close int top = open_top();

	expect_removed(top);
}

static void a_deep_one_goes(void **state)
{
	const struct rlimit few = {32, 32};
	struct rlimit before;
	cleanup_close int top = open_top();

	make_deep(top, 500);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){few.rlim_cur, before.rlim_max}),
			 0);
	expect_removed(top);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void a_wide_one_goes(void **state)
{
	cleanup_close int top = open_top();

	make_wide(top, "child", 1000);
	expect_removed(top);
}

static void a_bushy_one_goes(void **state)
{
	cleanup_close int top = open_top();
	char name[32];

	make_wide(top, "branch", 30);
	for (unsigned int i = 0; i < 30; i++) {
		cleanup_close int branch = -1;

		snprintf(name, sizeof(name), "branch%u", i);
		branch = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		make_wide(branch, "twig", i);
		make_deep(branch, i);
	}
	expect_removed(top);
}

/* More than one pass takes: each one gets further, and one of them is the last. */
static void a_huge_one_goes_in_passes(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	cleanup_close int top = open_top();

	make_wide(top, "child", 10000);
	assert_int_equal(remove_tree(place_fd, "top", top, "top", error), -EAGAIN);
	assert_non_null(strstr(error, "the next pass continues"));
	assert_int_equal(remove_tree(place_fd, "top", top, "top", error), -EAGAIN);
	expect_removed(top);
}

/* 10 levels of which 9 have one inside: 19 steps. */
static void it_takes_as_many_steps_as_it_needs(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	cleanup_close int top = open_top();
	uint64_t steps = 18;

	make_deep(top, 10);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), -EAGAIN);
	assert_int_equal(steps, 0);
	assert_non_null(strstr(error, "some/group: cannot remove the group 'xxx"));
	assert_non_null(strstr(error, "new ones are being made"));
	expect_removed(top);
}

static void nineteen_are_enough(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	cleanup_close int top = open_top();
	uint64_t steps = 19;

	make_deep(top, 10);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), 0);
	assert_int_equal(steps, 0);
	expect_removed(top);
}

/* cgroup.events of a group says who lives in it, and that is what is told. */
static void processes_are_named_as_the_reason(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	cleanup_close int top = open_top(), child = -1;
	uint64_t steps = 100;
	int file;

	make_wide(top, "busy", 1);
	child = openat(top, "busy0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file = openat(child, "cgroup.events", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(file, "populated 1\n", 12), 12);
	close(file);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), -EBUSY);
	assert_non_null(strstr(error, "'busy0'"));
	assert_non_null(strstr(error, "it has processes"));
	assert_int_equal(unlinkat(child, "cgroup.events", 0), 0);
	expect_removed(top);
}

#define PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE(an_empty_one_goes),	  PLACE(a_deep_one_goes),
		PLACE(a_wide_one_goes),		  PLACE(a_bushy_one_goes),
		PLACE(a_huge_one_goes_in_passes), PLACE(it_takes_as_many_steps_as_it_needs),
		PLACE(nineteen_are_enough),	  PLACE(processes_are_named_as_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
