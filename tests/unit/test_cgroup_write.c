// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* What is written to the files of a group is read back. A refusal or a difference is explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/change.h"
#include "cgroup/manager.h"
#include "cgroup_port_scene.h"

static void each_refusal_has_a_remedy(void **state)
{
	static const struct {
		int err;
		const char *file, *part;
	} rows[] = {
		{-ENOENT, "cpuset.cpus",
		 "the group or its file does not exist; enable the controller in the parent's"},
		{-EPERM, "cpuset.cpus",
		 "denied although the file's mode permits it; pinfold's guard or another"},
		{-EACCES, "cpuset.cpus", "not permitted; run as root"},
		{-EINVAL, "cpuset.cpus", "name only CPUs or memory nodes"},
		{-EINVAL, "cpu.max", "rejects this value; it is out of range"},
		{-ERANGE, "cpu.weight", "check the pod's requests and limits"},
		{-ENOSPC, "cpuset.cpus", "move the processes out first"},
		{-EBUSY, "cpuset.cpus",
		 "the group or its tasks forbid it now; check for processes in inner groups and for "
		 "SCHED_DEADLINE"},
		{-EIO, "cpuset.cpus", "Input/output error; see the kernel log"},
	};
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_failure(rows[i].err,
			       change_explain("a/b", rows[i].file, "value", rows[i].err, error),
			       error, rows[i].part);
		assert_ptr_equal(strstr(error, "a/b/cp"), error);
		assert_non_null(strstr(error, ": cannot write 'value': "));
	}
}

static void values_are_read_back(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	put("cg/pinfold.slice/g/cpu.weight", "");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_WEIGHT, "77", error), 0);
	/* A plain file keeps the end of its old content, which looks like a foreign value. */
	put("cg/pinfold.slice/g/cpu.weight", "1000");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_WEIGHT, "77", error), error,
		       "pinfold.slice/g/cpu.weight: wrote '77', but the kernel has '7700'");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), 0);
	put("cg/pinfold.slice/g/cpuset.mems.effective", "1\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), error,
		       "cpuset.mems.effective is 1 although 0 was written");
}

/* An empty list would give its processes the parent's whole set. */
static void populated_group_keeps_its_lists(void **state)
{
	char error[GROUP_ERROR_MAX] = "";

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	expect_failure(-EINVAL,
		       change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error),
		       error, "pinfold.slice/g/cpuset.cpus: refusing to write an empty list");
	expect_failure(-EINVAL,
		       change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_MEMS, "", error),
		       error, "pinfold.slice/g/cpuset.mems: refusing to write an empty list");
	assert_string_equal(get("cg/pinfold.slice/g/cpuset.mems"), "0\n");
	/* For the other files the kernel defines what an empty value means. */
	assert_int_equal(change_write(&groups->dir, "pinfold.slice/g", GROUP_MEMORY_MAX, "", error),
			 0);
	assert_string_equal(get("cg/pinfold.slice/g/memory.max"), "\nax\n");
	put("cg/pinfold.slice/g/cgroup.events", "populated 0\n");
	assert_int_equal(
		change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error), 0);
	assert_string_equal(get("cg/pinfold.slice/g/cpuset.cpus"), "\n-7\n");
}

static void a_write_that_fails_is_explained(void **state)
{
	char error[GROUP_ERROR_MAX] = "", path[128];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/g/cpu.max", root);
	assert_int_equal(unlink(path), 0);
	expect_failure(-ENOENT, do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_MAX, "max", error),
		       error, "pinfold.slice/g/cpu.max: cannot write 'max': the group or its file");
}

/* An empty list means the parent's list. */
static void empty_list_means_the_parents_list(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "2-15\n", false);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error), 0);
}

/* CPUs of child partitions still belong to the group; other missing CPUs do not. */
static void cpus_of_child_partitions_are_not_missing(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "4-5\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
		       error, "cpuset.cpus.effective is only 4-5 of the 4-9 that was written");
	put_group("pinfold.slice/g/a", "6-7\n", "6-7\n", false);
	put_group("pinfold.slice/g/b", "8-9\n", "8-9\n", false);
	put("cg/pinfold.slice/g/a/cpuset.cpus.partition", "root\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
		       error, "is only 4-5 of the 4-9");
	put("cg/pinfold.slice/g/b/cpuset.cpus.partition", "isolated\n");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
			 0);
}

/* A message has room for this much of a list. */
static void long_list_is_truncated(void **state)
{
	char error[GROUP_ERROR_MAX], list[512] = "0";
	static const char cut[] = "is only none of the 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,"
				  "32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,6... that was";

	/* With 66 CPUs it is one character too long. */
	for (int cpu = 2; cpu <= 66; cpu += 2)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", cpu);
	put("sys/devices/system/cpu/online", "0-119\n");
	put_group("pinfold.slice/g", "", "\n", false);
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, list, error),
		       error, cut);
}

static void overlapping_sibling_is_named(void **state)
{
	char error[GROUP_ERROR_MAX];

	/* Neither the parent nor the group itself nor a group with other CPUs is the obstacle. */
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	put_group("pinfold.slice/other", "8-9\n", "8-9\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid (x)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: x; the parent must be a partition root");
	/* Only a CPU list can make the partition invalid. */
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), 0);
	put("cg/pinfold.slice/other/cpuset.cpus", "7-9\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error,
		       "not valid: x; pinfold.slice/other has cpuset.cpus 7-9, which overlaps");
	/* Since 6.7 CPUs may be claimed without being listed there. */
	put("cg/pinfold.slice/other/cpuset.cpus", "8-9\n");
	put("cg/pinfold.slice/other/cpuset.cpus.exclusive", "6\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error,
		       "not valid: x; pinfold.slice/other has cpuset.cpus.exclusive 6, which "
		       "overlaps");
	put("cg/pinfold.slice/other/cpuset.cpus.exclusive", "\n");
	put_group("system.slice", "0-3\n", "0-3\n", true);
	put("cg/pinfold.slice/cpuset.cpus.partition", "root invalid (y)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice", GROUP_CPUSET_CPUS, "2-15", error),
		       error, "not valid: y; system.slice has cpuset.cpus 0-3, which overlaps");
	/* A plain file keeps the end of its old content. */
	put("cg/pinfold.slice/other/cpuset.cpus", "8-9\n");
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "member\n");
	expect_failure(
		-EREMOTEIO,
		do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_PARTITION, "root", error),
		error, "cpuset.cpus.partition: not valid: it stayed 'rooter'; the parent must");
}

static void list_can_invalidate_a_partition(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "4-7\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid (Parent is not valid)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: Parent is not valid");
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "the kernel gives no reason");
}

static void effective_cpus_are_read_back(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "4-7\n", true);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
			 0);
	/* As the kernel does if the parent has none of the wanted CPUs. */
	put_group("pinfold.slice/g", "", "2-15\n", true);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "0-1", error),
			 -EREMOTEIO);
	assert_non_null(strstr(error, "2-15"));
	assert_non_null(strstr(error, "0-1"));
	put_group("pinfold.slice/g", "", "4-5\n", true);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
			 -EREMOTEIO);
	/* CPUs that are offline or taken by a child partition are not missing. */
	put("sys/devices/system/cpu/online", "0-5\n");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
			 0);
	put("sys/devices/system/cpu/online", "0-15\n");
	put_group("pinfold.slice/g/child", "6-7\n", "6-7\n", true);
	put("cg/pinfold.slice/g/child/cpuset.cpus.partition", "isolated\n");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
			 0);
}

static void a_write_may_be_refused(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error),
			 -EINVAL);
	assert_string_equal(get("cg/pinfold.slice/g/cpuset.cpus"), "4-7\n");
	assert_int_equal(do_step(STEP_WRITE, "none", GROUP_CPUSET_CPUS, "4", error), -ENOENT);
	assert_non_null(strstr(error, "none"));
	groups_close(groups);
	groups = open_fake(false);
	port = groups_port(groups);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
			 -EROFS);
}

static void a_partition_is_not_left_invalid(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	put_group("pinfold.slice/stranger", "6-9\n", "6-9\n", true);
	/* The plain file keeps the tail: the "kernel" answers "root invalid (why)". */
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "xxxx invalid (why)\n");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_PARTITION, "root",
				 error),
			 -EREMOTEIO);
	assert_non_null(strstr(error, "why"));
	assert_non_null(strstr(error, "pinfold.slice/stranger"));
	assert_non_null(strstr(error, "6-9"));
	assert_memory_equal(get("cg/pinfold.slice/g/cpuset.cpus.partition"), "member", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(effective_cpus_are_read_back),
		PORT_TEST(a_write_may_be_refused),
		PORT_TEST(a_partition_is_not_left_invalid),
		PORT_TEST(each_refusal_has_a_remedy),
		PORT_TEST(values_are_read_back),
		PORT_TEST(populated_group_keeps_its_lists),
		PORT_TEST(a_write_that_fails_is_explained),
		PORT_TEST(empty_list_means_the_parents_list),
		PORT_TEST(cpus_of_child_partitions_are_not_missing),
		PORT_TEST(long_list_is_truncated),
		PORT_TEST(overlapping_sibling_is_named),
		PORT_TEST(list_can_invalidate_a_partition),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
