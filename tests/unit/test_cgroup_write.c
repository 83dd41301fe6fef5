// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* What is written to the files of a group is read back, and a difference is explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/apply.h"
#include "cgroup_scene.h"

static int apply(struct groups *groups, const char *path, enum group_file file, const char *value,
		 char *error)
{
	struct step step = {.kind = STEP_WRITE, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	error[0] = '\0';
	return apply_step(groups, &step, error);
}

static void test_apply_reads_back(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "", "4-7\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	/* As the kernel does if the parent has none of the wanted CPUs. */
	put_group("g", "", "2-15\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "0-1", error), -EREMOTEIO);
	assert_non_null(strstr(error, "2-15"));
	assert_non_null(strstr(error, "0-1"));
	put_group("g", "", "4-5\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), -EREMOTEIO);
	/* CPUs that are offline or taken by a child partition are not missing. */
	put("sys/devices/system/cpu/online", "0-5\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	put("sys/devices/system/cpu/online", "0-15\n");
	put_group("g/child", "6-7\n", "6-7\n", true);
	put("cg/g/child/cpuset.cpus.partition", "isolated\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	groups_close(groups);
}

static void test_apply_refuses(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "4-7\n", "4-7\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "", error), -EINVAL);
	assert_string_equal(get("cg/g/cpuset.cpus"), "4-7\n");
	assert_int_equal(apply(groups, "none", GROUP_CPUSET_CPUS, "4", error), -ENOENT);
	assert_non_null(strstr(error, "none"));
	groups_close(groups);
	groups = open_fake(false);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), -EROFS);
	groups_close(groups);
}

static void test_partition_is_not_left_invalid(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "4-7\n", "4-7\n", true);
	put_group("stranger", "6-9\n", "6-9\n", true);
	/* The plain file keeps the tail: the "kernel" answers "root invalid (why)". */
	put("cg/g/cpuset.cpus.partition", "xxxx invalid (why)\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_PARTITION, "root", error), -EREMOTEIO);
	assert_non_null(strstr(error, "why"));
	assert_non_null(strstr(error, "stranger"));
	assert_non_null(strstr(error, "6-9"));
	assert_memory_equal(get("cg/g/cpuset.cpus.partition"), "member", 6);
	groups_close(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_apply_reads_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_apply_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_partition_is_not_left_invalid, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
