// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The machines and names that the cgroup room refuses, each with a named problem. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/dir.h"
#include "cgroup/port.h"
#include "cgroup_scene.h"
#include "lib/file.h"

static void expect_problem(enum dir_problem wanted, const char *word)
{
	struct dir dir = DIR_CLOSED;
	enum dir_problem problem = DIR_FINE;
	char error[GROUP_ERROR_MAX] = "";

	assert_true(dir_open(root, DIR_TO_MANAGE, &dir, &problem, error) < 0);
	assert_string_equal(dir_problem_name(problem), dir_problem_name(wanted));
	if (!strstr(error, word))
		fail_msg("'%s' does not say '%s'", error, word);
	assert_int_equal(dir.mount_fd, -1);
}

static void test_refusals(void **state)
{
	put("cg/cgroup.events", "populated 1\n");
	expect_problem(DIR_OWN_NAMESPACE, "namespace");
	assert_int_equal(tear_down(NULL), 0);
	assert_int_equal(set_up(NULL), 0);

	put("cg/cgroup.controllers", "cpu io memory pids\n");
	expect_problem(DIR_NO_CPUSET, "CONFIG_CPUSETS");
	put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t0\n");
	expect_problem(DIR_NO_CPUSET, "cgroup_disable=cpuset");
	put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t4\t1\t1\n");
	expect_problem(DIR_NO_CPUSET, "cgroup_no_v1=all");

	put("proc/self/mountinfo", "30 25 0:26 / /gone rw - cgroup2 cgroup2 rw\n");
	expect_problem(DIR_UNREADABLE, "/gone");
	put("proc/self/mountinfo", "34 25 0:30 / /v1 rw - cgroup cgroup rw,cpuset\n");
	expect_problem(DIR_V1, "version 1");
}

static void test_cpuset_not_enabled(void **state)
{
	struct groups_options options = {.root = root,
					 .workload_root = "pinfold.slice",
					 .layout = GROUPS_LAYOUT_CGROUPFS,
					 .may_write = true};
	struct groups *groups = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	put("cg/cgroup.subtree_control", "memory\n");
	if (geteuid() != 0) {
		assert_int_equal(groups_open(&options, &groups, &problem, error), -EPERM);
		assert_int_equal(problem, DIR_NOT_PERMITTED);
		return;
	}
	/* A directory in its place cannot be written even by root. */
	snprintf(path, sizeof(path), "%s/cg/cgroup.subtree_control", root);
	groups = open_fake(true);
	assert_string_equal(groups_originals(groups)->items[0].value, "memory");
	assert_non_null(strstr(get("cg/cgroup.subtree_control"), "+cpu"));
	groups_close(groups);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	groups = NULL;
	assert_true(groups_open(&options, &groups, &problem, error) < 0);
	assert_null(groups);
}

static void test_workload_root_name(void **state)
{
	static const char *const bad[] = {"", "a/b", "/"};
	char name[129];
	struct groups_options options = {.root = root, .layout = GROUPS_LAYOUT_CGROUPFS};
	struct groups *groups = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		options.workload_root = bad[i];
		problem = DIR_FINE;
		assert_int_equal(groups_open(&options, &groups, &problem, error), -EINVAL);
		assert_non_null(strstr(error, "expected the name of a top-level group"));
		assert_int_not_equal(problem, DIR_FINE);
		assert_null(groups);
	}
	/* As long as there is room for, and one more. */
	options.workload_root = name;
	memset(name, 'x', sizeof(name));
	for (size_t len = 127; len <= 128; len++) {
		struct plan_layout layout;

		name[len] = '\0';
		assert_int_equal(groups_open(&options, &groups, &problem, error),
				 len > 127 ? -EINVAL : 0);
		if (len > 127)
			continue;
		groups_port(groups).layout(groups, &layout);
		assert_string_equal(layout.root, name);
		groups_close(groups);
		name[len] = 'x';
	}
}

/* The mount's path must still refer to the hierarchy that was opened. */
static void test_check(void **state)
{
	struct groups *groups cleanup_groups = open_fake(false);
	const struct groups_port port = groups_port(groups);
	struct group_obstacle obstacle = {0};
	char place[96], aside[96];

	snprintf(place, sizeof(place), "%s/cg", root);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	assert_int_equal(port.check(port.self, &obstacle), 0);
	assert_int_equal(rename(place, aside), 0);
	assert_int_equal(port.check(port.self, &obstacle), -ENOENT);
	assert_non_null(strstr(obstacle.message, "/cg: cannot be looked up"));
	assert_int_equal(mkdir(place, 0755), 0);
	assert_int_equal(port.check(port.self, &obstacle), -EXDEV);
	assert_non_null(strstr(obstacle.message, "/cg: another file system is mounted over"));
	assert_non_null(strstr(obstacle.remedy, "unmount"));
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(rename(aside, place), 0);
	assert_int_equal(port.check(port.self, &obstacle), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpuset_not_enabled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_workload_root_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
