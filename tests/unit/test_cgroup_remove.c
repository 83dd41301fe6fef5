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
#include "refused_calls.h"

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
	refuse_nothing();
	files_go_with_their_group = false;
	/* A descriptor that was never opened must not be 0, so that it is not closed. */
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	close(place_fd);
	return rmdir(place);
}

static int open_top(void)
{
	int fd = openat(place_fd, "top", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Create a chain of `depth` levels below `fd`, each with a long name. */
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

static void empty_group_is_removed(void **state)
{
	int top cleanup_close = open_top();

	expect_removed(top);
}

static void deep_tree_is_removed(void **state)
{
	const struct rlimit few = {32, 32};
	struct rlimit before;
	int top cleanup_close = open_top();

	make_deep(top, 500);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){few.rlim_cur, before.rlim_max}),
			 0);
	expect_removed(top);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void wide_tree_is_removed(void **state)
{
	int top cleanup_close = open_top();

	make_wide(top, "child", 1000);
	expect_removed(top);
}

static void bushy_tree_is_removed(void **state)
{
	int top cleanup_close = open_top();
	char name[32];

	make_wide(top, "branch", 30);
	for (unsigned int i = 0; i < 30; i++) {
		int branch cleanup_close = -1;

		snprintf(name, sizeof(name), "branch%u", i);
		branch = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		make_wide(branch, "twig", i);
		make_deep(branch, i);
	}
	expect_removed(top);
}

/* More groups than one pass removes: every pass makes progress, and the last one completes. */
static void huge_tree_is_removed_in_passes(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int top cleanup_close = open_top();

	make_wide(top, "child", 10000);
	assert_int_equal(remove_tree(place_fd, "top", top, "top", error), -EAGAIN);
	assert_non_null(strstr(error, "the next pass removes the rest"));
	assert_int_equal(remove_tree(place_fd, "top", top, "top", error), -EAGAIN);
	expect_removed(top);
}

/* 10 levels, 9 of which have a child: 19 steps. */
static void steps_are_limited(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int top cleanup_close = open_top();
	uint64_t steps = 18;

	make_deep(top, 10);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), -EAGAIN);
	assert_int_equal(steps, 0);
	assert_non_null(strstr(error, "some/group: cannot remove the group 'xxx"));
	assert_non_null(strstr(error, "somebody keeps creating groups"));
	expect_removed(top);
}

/* Nor is the way down to the first leaf without end. */
static void steps_may_run_out_on_the_way_down(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int top cleanup_close = open_top();
	uint64_t steps = 5;

	make_deep(top, 10);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), -EAGAIN);
	assert_int_equal(steps, 0);
	assert_non_null(
		strstr(error, "6 levels below it (0 removed so far): it contains more groups"));
	expect_removed(top);
}

static void nineteen_steps_suffice(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int top cleanup_close = open_top();
	uint64_t steps = 19;

	make_deep(top, 10);
	assert_int_equal(remove_inside(top, "some/group", &steps, error), 0);
	assert_int_equal(steps, 0);
	expect_removed(top);
}

/* cgroup.events shows that a group has processes, and that is reported. */
static void processes_are_named_as_the_reason(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int top cleanup_close = open_top(), child cleanup_close = -1;
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

static void put_file(int fd, const char *group, const char *name, const char *text)
{
	int inside cleanup_close = openat(fd, group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int file cleanup_close =
		openat(inside, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(file, text, strlen(text)), strlen(text));
}

static void expect_failure(int top, int wanted, const char *part)
{
	char error[GROUP_ERROR_MAX] = "";
	int r = remove_tree(place_fd, "top", top, "some/group", error);

	if (r != wanted)
		fail_msg("%d instead of %d: %s", r, wanted, error);
	if (!strstr(error, part))
		fail_msg("'%s' does not say '%s'", error, part);
}

/* The message names the group, its depth and the number of groups removed before. */
static void failing_group_is_named(void **state)
{
	int top cleanup_close = open_top();
	int inner cleanup_close = -1;

	make_wide(top, "outer", 1);
	inner = openat(top, "outer0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_wide(inner, "inner", 3);
	refuse("unlinkat", "inner1", EACCES);
	expect_failure(top, -EACCES,
		       "some/group: cannot remove the group 'inner1' 2 levels below it (");
	make_wide(top, "wide", 3);
	refuse("unlinkat", "outer0", EBUSY);
	put_file(top, "outer0", "cgroup.events", "populated 1\n");
	expect_failure(top, -EBUSY, "'outer0' 1 level below it (");
	expect_failure(top, -EBUSY, "removed so far): it has processes");
	refuse_nothing();
	assert_int_equal(unlinkat(inner, "cgroup.events", 0), 0);
	expect_removed(top);
}

static void removed_groups_are_counted(void **state)
{
	int top cleanup_close = open_top();

	make_wide(top, "child", 5);
	refuse_some("unlinkat", NULL, EPERM, 3, 0);
	expect_failure(top, -EPERM, "1 level below it (3 removed so far): Operation not permitted");
	refuse_nothing();
	expect_removed(top);
}

/* Somebody else removes groups concurrently. */
static void missing_group_is_not_a_failure(void **state)
{
	static const int gone[] = {ENOENT, ENODEV};

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		int top cleanup_close = open_top();

		make_wide(top, "child", 2);
		refuse_some("unlinkat", "child0", gone[i], 0, 1);
		expect_removed(top);
		assert_int_equal(nr_refused(), 1);
		assert_int_equal(mkdirat(place_fd, "top", 0755), 0);
	}
	{
		/* Removed while we descend into it. */
		int top cleanup_close = open_top();

		make_deep(top, 2);
		refuse_some("openat2", NULL, ENOENT, 0, 1);
		expect_removed(top);
		assert_int_equal(nr_refused(), 1);
		assert_int_equal(mkdirat(place_fd, "top", 0755), 0);
	}
	{
		/*
		 * The current group is removed: it cannot be read any more, and the top
		 * is removed.
		 */
		int top cleanup_close = open_top();

		refuse_some("openat", ".", ENOENT, 1, 0);
		expect_removed(top);
		assert_int_equal(nr_refused(), 1);
		assert_int_equal(mkdirat(place_fd, "top", 0755), 0);
	}
	{
		int top cleanup_close = open_top();
		char error[GROUP_ERROR_MAX] = "";

		refuse("unlinkat", "top", ENOENT);
		assert_int_equal(remove_tree(place_fd, "top", top, "top", error), 0);
		refuse_nothing();
		expect_removed(top);
	}
}

static void open_failure_is_reported(void **state)
{
	int top cleanup_close = open_top();

	make_deep(top, 2);
	refuse("openat2", NULL, EXDEV);
	expect_failure(top, -EBUSY, "something is mounted over it; unmount it");
	refuse("openat2", NULL, EMFILE);
	expect_failure(top, -EMFILE, "(0 removed so far): Too many open files");
	refuse("openat", "..", EMFILE);
	expect_failure(top, -EMFILE, "(1 removed so far): Too many open files");
	refuse("openat", ".", EMFILE);
	expect_failure(top, -EMFILE, "some/group: cannot be opened: Too many open files");
	refuse_some("openat", ".", EMFILE, 1, 0);
	expect_failure(top, -EMFILE, "(0 removed so far): Too many open files");
	refuse_nothing();
	expect_removed(top);
}

static void failure_at_the_top_is_explained(void **state)
{
	int top cleanup_close = open_top();

	refuse("unlinkat", "top", EACCES);
	expect_failure(top, -EACCES, "some/group: cannot remove the group: Permission denied");
	put_file(place_fd, "top", "cgroup.events", "populated 1\n");
	expect_failure(top, -EACCES, "Permission denied");
	refuse("unlinkat", "top", EBUSY);
	expect_failure(top, -EBUSY, "some/group: cannot remove the group: a process has joined it");
	refuse("unlinkat", "top", ENOTEMPTY);
	expect_failure(top, -EBUSY, "a process has joined it");
	put_file(place_fd, "top", "cgroup.events", "populated 0\n");
	expect_failure(top, -EAGAIN,
		       "some/group: cannot remove the group: it contains more groups");
	/* A group was created inside between the scan and the removal: it is scanned again. */
	files_go_with_their_group = true;
	refuse_some("unlinkat", "top", EBUSY, 0, 1);
	expect_removed(top);
	assert_int_equal(nr_refused(), 1);
}

/* The traversal descends into a group that has children and no processes. */
static void unpopulated_group_with_children_is_removed(void **state)
{
	int top cleanup_close = open_top();
	int outer cleanup_close = -1;

	files_go_with_their_group = true;
	make_wide(top, "outer", 1);
	outer = openat(top, "outer0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_wide(outer, "inner", 2);
	put_file(top, "outer0", "cgroup.events", "populated 0\n");
	expect_removed(top);
}

/*
 * One pass may take two steps for each descendant that the kernel reports, and some for
 * new groups.
 */
static void pass_length_follows_the_number_of_groups(void **state)
{
	static const struct {
		const char *stat;
		unsigned int steps;
	} rows[] = {
		{"nr_descendants 5\nnr_dying_descendants 0\n", 74},
		{"nr_descendants 0\n", 64},
		{"nr_descendants 2050\n", 4096},
	};
	/* An implausible number never makes it shorter. */
	static const char *const odd[] = {"nr_descendants 9223372036854775808\n",
					  "nr_descendants many\n"};

	files_go_with_their_group = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int top cleanup_close = open_top();
		char removed[64];

		put_file(place_fd, "top", "cgroup.stat", rows[i].stat);
		make_wide(top, "child", rows[i].steps + 2);
		snprintf(removed, sizeof(removed), "(%u removed so far)", rows[i].steps + 1);
		expect_failure(top, -EAGAIN, removed);
		expect_removed(top);
		assert_int_equal(mkdirat(place_fd, "top", 0755), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		int top cleanup_close = open_top();

		put_file(place_fd, "top", "cgroup.stat", odd[i]);
		make_wide(top, "child", 66);
		expect_removed(top);
		assert_int_equal(mkdirat(place_fd, "top", 0755), 0);
	}
	{
		int top cleanup_close = open_top();

		expect_removed(top);
	}
}

#define PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE(empty_group_is_removed),
		PLACE(deep_tree_is_removed),
		PLACE(wide_tree_is_removed),
		PLACE(bushy_tree_is_removed),
		PLACE(huge_tree_is_removed_in_passes),
		PLACE(steps_are_limited),
		PLACE(steps_may_run_out_on_the_way_down),
		PLACE(nineteen_steps_suffice),
		PLACE(processes_are_named_as_the_reason),
		PLACE(failing_group_is_named),
		PLACE(removed_groups_are_counted),
		PLACE(missing_group_is_not_a_failure),
		PLACE(open_failure_is_reported),
		PLACE(failure_at_the_top_is_explained),
		PLACE(unpopulated_group_with_children_is_removed),
		PLACE(pass_length_follows_the_number_of_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
