// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Partitions and groups that cannot be removed, and values that cannot be put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup_refused_scene.h"
#include "cgroup/originals.h"

static void partition_becomes_a_member_before_removal(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "isolated\n");
	refuse("unlinkat", "poda", EPERM);
	expect_failure(-EPERM, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Operation not permitted");
	assert_string_equal(get("cg/pinfold.slice/poda/cpuset.cpus.partition"), "membered\n");
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	refuse("write", "member", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Permission denied");
	assert_true(exists("cg/pinfold.slice/poda"));
	/* An invalid partition is not written to. */
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root invalid (x)\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_int_equal(nr_refused(), 1);
	assert_false(exists("cg/pinfold.slice/poda"));
}

static void put_partition(const char *cpus)
{
	put_group("pinfold.slice/poda", cpus, cpus, false);
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "isolated\n");
}

/* Without the parent it cannot be removed, so it keeps its CPUs. */
static void partition_stays_if_its_parent_cannot_be_opened(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	refuse("openat2", "pinfold.slice", EMFILE);
	expect_failure(-EMFILE, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Too many open files");
	assert_string_equal(get("cg/pinfold.slice/poda/cpuset.cpus.partition"), "root\n");
}

/* Its CPUs cannot be granted before the kernel has returned them. */
static void the_cpus_of_a_partition_are_awaited(void **state)
{
	char error[GROUP_ERROR_MAX], path[128];

	put_partition("4-7\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	put_partition("4-7\n");
	put("cg/pinfold.slice/cpuset.cpus.effective", "2-3,5-15\n");
	expect_failure(-ETIMEDOUT, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error),
		       error,
		       "pinfold.slice/poda: removed, but its CPUs are not back in the parent's "
		       "cpuset.cpus.effective after 100 ms");
	assert_false(exists("cg/pinfold.slice/poda"));
	/* An offline CPU is not returned. */
	put_partition("4-7\n");
	put("sys/devices/system/cpu/online", "0-3,5-15\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	/* A group that was not a partition held no CPUs. */
	put("sys/devices/system/cpu/online", "0-15\n");
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	put_partition("4-7\n");
	put("cg/pinfold.slice/cpuset.cpus.effective", "odd\n");
	assert_true(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error) < 0);
	assert_non_null(strstr(error, "removed, but its CPUs are not back"));
	/* The parent no longer exists either. */
	put_partition("4-7\n");
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/cpuset.cpus.effective", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
}

static void busy_or_unreadable_group_is_not_removed(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cgroup.events", "populated 1\n");
	expect_failure(-EBUSY, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: still has processes; it is removed when the last");
	put("cg/pinfold.slice/poda/cgroup.events", "populated 0\n");
	refuse("openat2", "pinfold.slice/poda", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot open the group: Permission denied");
	refuse("openat2", "pinfold.slice", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Permission denied");
	assert_true(exists("cg/pinfold.slice/poda"));
	/* If the events cannot be read, the removal is tried and the kernel decides. */
	refuse("openat", "cgroup.events", ENODEV);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_false(exists("cg/pinfold.slice/poda"));
}

/* --- the whole undone -------------------------------------------------------------------------- */

/* What fails first is told, and keeps nothing else from being tried. */
static void uninstall_reports_the_first_failure(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	refuse("openat2", "pinfold.slice", EACCES);
	expect_failure(-EACCES, groups_uninstall(groups, NULL, &nr_left, error), error,
		       "cannot read the groups below pinfold.slice: Permission denied");
	assert_int_equal(nr_left, 0);
	put("cg/pinfold.slice/cgroup.events", "populated 1\n");
	put_group("pinfold.slice/podb", "8-9\n", "8-9\n", true);
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	put("cg/pinfold.slice/podb/cpuset.cpus.partition", "isolated\n");
	put("sys/devices/system/cpu/possible", "0-15\n");
	put("sys/devices/system/node/has_memory", "0\n");
	refuse("write", "member", EBUSY);
	/* Leaves first, and of leaves the last. */
	expect_failure(
		-EBUSY, groups_uninstall(groups, NULL, &nr_left, error), error,
		"pinfold.slice/podb: cannot make the partition a member: Device or resource");
	/* Once for podb, and for poda again, which is not removed as one; the root is a member. */
	assert_int_equal(nr_refused(), 3);
	assert_int_equal(nr_left, 2);
	assert_true(exists("cg/pinfold.slice/poda"));
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus.partition"), "member\n");
	assert_string_equal(get("cg/pinfold.slice/podb/memory.max"), "max\n");
	/* A group without such a file is no partition. */
	refuse("openat", "cpuset.cpus.partition", ENOENT);
	*error = '\0';
	put("cg/pinfold.slice/cgroup.events", "populated 0\n");
	put("cg/pinfold.slice/podb/cgroup.events", "populated 0\n");
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), 0);
	assert_string_equal(error, "");
	assert_int_equal(nr_left, 0);
	assert_false(exists("cg/pinfold.slice"));
}

static void uninstall_reports_a_group_that_cannot_be_opened(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left;

	refuse("openat2", "pinfold.slice/poda", EMFILE);
	expect_failure(-EMFILE, groups_uninstall(groups, NULL, &nr_left, error), error,
		       "pinfold.slice/poda: cannot make the partition a member: Too many open");
}

/* --- read back and put back -------------------------------------------------------------------- */

static void unreadable_group_is_not_read_back(void **state)
{
	char error[GROUP_ERROR_MAX];

	refuse_some("openat2", "pinfold.slice/poda", EXDEV, 1, 0);
	expect_failure(-EXDEV,
		       do_step(STEP_WRITE, "pinfold.slice/poda", GROUP_CPUSET_PARTITION, "member",
			       error),
		       error, "pinfold.slice/poda/cpuset.cpus.partition: cannot read it back");
	/* If the siblings cannot be read, no obstacle is named. */
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root invalid (x)\n");
	put_group("pinfold.slice/podb", "4-7\n", "4-7\n", false);
	refuse("openat2", "pinfold.slice", EMFILE);
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/poda", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: x; the parent must be a partition root");
}

static int put_back(const char *path, const char *file, const char *value, char *error)
{
	struct original item = {.value = (char *)value};
	const struct originals originals = {1, &item};

	snprintf(item.path, sizeof(item.path), "%s", path);
	snprintf(item.file, sizeof(item.file), "%s", file);
	*error = '\0';
	return originals_restore(groups, &originals, error);
}

/* Only controllers that were disabled before and are enabled now are disabled. */
static void controllers_are_restored(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-memory", EIO);
	expect_failure(-EIO, put_back("", "cgroup.subtree_control", "pids", error), error,
		       "the root cgroup/cgroup.subtree_control: cannot put back 'pids': Input");
	/* A unit needs it now. */
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpuset", EBUSY);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), 0);
	assert_int_equal(nr_refused(), 1);
	/* A failure does not keep the other controllers enabled. */
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpuset", EIO);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), -EIO);
	assert_memory_equal(get("cg/cgroup.subtree_control"), "-memory", 7);
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpu", EIO);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), 0);
	assert_int_equal(nr_refused(), 0);
	refuse("openat", "cgroup.subtree_control", EACCES);
	expect_failure(-EACCES, put_back("", "cgroup.subtree_control", "pids", error), error,
		       "cannot put back 'pids': Permission denied");
}

static void unchanged_values_are_not_written(void **state)
{
	struct original items[] = {
		{.path = "pinfold.slice", .file = "cpu.weight", .value = (char *)"7"},
		{.path = "pinfold.slice", .file = "memory.max", .value = (char *)"8"},
	};
	const struct originals originals = {ARRAY_SIZE(items), items};
	char error[GROUP_ERROR_MAX];

	refuse("write", NULL, EIO);
	assert_int_equal(put_back("pinfold.slice", "cpu.weight", "100", error), 0);
	assert_int_equal(nr_refused(), 0);
	/* If two values cannot be restored, the first one is reported. */
	expect_failure(-EIO, originals_restore(groups, &originals, error), error,
		       "pinfold.slice/cpu.weight: cannot put back '7'");
	assert_int_equal(nr_refused(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		REFUSED_TEST(partition_becomes_a_member_before_removal),
		REFUSED_TEST(the_cpus_of_a_partition_are_awaited),
		REFUSED_TEST(busy_or_unreadable_group_is_not_removed),
		REFUSED_TEST(uninstall_reports_the_first_failure),
		REFUSED_TEST(uninstall_reports_a_group_that_cannot_be_opened),
		REFUSED_TEST(unreadable_group_is_not_read_back),
		REFUSED_TEST(controllers_are_restored),
		REFUSED_TEST(unchanged_values_are_not_written),
		REFUSED_TEST(partition_stays_if_its_parent_cannot_be_opened),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
