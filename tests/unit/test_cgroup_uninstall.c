// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Everything is undone: limits are lifted, groups removed, and original values restored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/manager.h"
#include "cgroup_port_scene.h"

/* A plain directory with empty files, so that written values have no old tail. */
static void put_populated(const char *path)
{
	static const char *const files[] = {"cpuset.cpus", "cpuset.mems", "cpu.max",
					    "cpu.weight",  "memory.max",  "cpuset.cpus.partition"};
	char name[128];

	put_group(path, "4-7\n", "4-7\n", true);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(name, sizeof(name), "cg/%.80s/%s", path, files[i]);
		put(name, "");
	}
}

static void uninstall_lifts_limits_of_populated_groups(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	put_populated("pinfold.slice");
	put_populated("pinfold.slice/poda");
	put_populated("pinfold.slice/poda/main");
	put("cg/pinfold.slice/poda/gone/x", "");
	empty_directory("pinfold.slice/poda/gone");
	put("cg/pinfold.slice/poda/gone/cgroup.events", "populated 0\n");
	/*
	 * The empty group cannot be removed here because it contains a file; the others
	 * are still reported.
	 */
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), -EAGAIN);
	assert_non_null(strstr(error, "pinfold.slice/poda/gone: cannot remove the group"));
	assert_int_equal(nr_left, 3);
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.cpus"), "0-15");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.mems"), "0-1");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpu.max"), "max 100000");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpu.weight"), "100");
	assert_string_equal(get("cg/pinfold.slice/poda/main/memory.max"), "max");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.cpus.partition"), "member");
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus"), "0-15");
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus.partition"), "member");
}

static void uninstall_without_groups_succeeds(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	empty_directory("pinfold.slice");
	put("cg/pinfold.slice/cgroup.events", "populated 0\n");
	assert_true(groups_uninstall(groups, NULL, &nr_left, error) < 0);
	assert_int_equal(nr_left, 0);
	empty_directory("pinfold.slice");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/cg/pinfold.slice", root);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), 0);
	assert_int_equal(nr_left, 0);
}

static void uninstall_needs_the_possible_cpus(void **state)
{
	char error[GROUP_ERROR_MAX] = "", path[128];
	uint32_t nr_left;

	put_populated("pinfold.slice");
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/possible", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), -ENOENT);
	assert_non_null(
		strstr(error, "pinfold.slice: cannot widen it, /sys/devices/system/cpu/possible"));
	/* The other limits are still lifted. */
	assert_string_equal(get("cg/pinfold.slice/memory.max"), "max");
}

/* --- what was there before -------------------------------------------------------------------------------- */

static void original_values_are_restored(void **state)
{
	struct original items[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"memory pids"},
		{.path = "gone", .file = "cpuset.cpus", .value = (char *)"1"},
		{.path = "pinfold.slice", .file = "cpuset.cpus", .value = (char *)"0-3"},
		{.path = "pinfold.slice", .file = "cpu.weight", .value = (char *)"100"},
		{.path = "pinfold.slice", .file = "directory", .value = (char *)"1"},
		{.path = "pinfold.slice", .file = "memory.max", .value = (char *)"55"},
	};
	const struct originals originals = {ARRAY_SIZE(items), items};
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left;

	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	put_populated("pinfold.slice");
	put("cg/pinfold.slice/directory/x", "");
	assert_int_equal(groups_uninstall(groups, &originals, &nr_left, error), -EISDIR);
	assert_non_null(strstr(error, "pinfold.slice/directory: cannot put back '1'"));
	/* Only controllers that were off before are disabled; the file contains the last write. */
	assert_memory_equal(get("cg/cgroup.subtree_control"), "-cpuset", 7);
	assert_memory_equal(get("cg/pinfold.slice/cpuset.cpus"), "0-3", 3);
	assert_string_equal(get("cg/pinfold.slice/cpu.weight"), "100");
	/* A failure does not prevent the others from being restored. */
	assert_memory_equal(get("cg/pinfold.slice/memory.max"), "55", 2);
}

static void existing_values_are_captured(void **state)
{
	struct originals originals cleanup_originals = {0};
	char path[128];

	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put("cg/pinfold.slice/cpuset.mems", "0-1\n");
	/* A missing file has no value to restore. */
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/cpu.weight", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(originals_capture(&groups->dir, groups->workload_root, &originals), 0);
	/* That of the root, and all files but two: a freeze is not put back. */
	assert_int_equal(originals.nr, GROUP_FILE_NR - 1);
	assert_string_equal(originals.items[0].path, "");
	assert_string_equal(originals.items[0].file, "cgroup.subtree_control");
	assert_string_equal(originals.items[0].value, "cpuset cpu memory");
	for (uint32_t i = 1; i < originals.nr; i++) {
		assert_string_equal(originals.items[i].path, "pinfold.slice");
		assert_string_not_equal(originals.items[i].file, "cpu.weight");
		assert_string_not_equal(originals.items[i].file, "cgroup.freeze");
		if (!strcmp(originals.items[i].file, "cpuset.mems"))
			assert_string_equal(originals.items[i].value, "0-1");
		if (!strcmp(originals.items[i].file, "cpuset.cpus"))
			assert_string_equal(originals.items[i].value, "2-15");
	}
	/* A partial file would restore only some values. */
	put("cg/pinfold.slice/cpu.weight/x", "");
	assert_int_equal(originals_capture(&groups->dir, groups->workload_root, &originals),
			 -EISDIR);
	assert_int_equal(originals.nr, GROUP_FILE_NR - 1);
}

/* A later start would capture our own values. */
static void original_values_are_saved_once(void **state)
{
	struct original items[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"memory"}};
	struct original later[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"cpu memory"}};
	const struct originals none = {0, NULL}, first = {1, items}, second = {1, later};
	struct originals loaded cleanup_originals = {0};
	struct format_error problem = {0};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	/* A start that changes nothing has none, and must not keep the next one from saving them. */
	assert_int_equal(originals_keep(fd, &none), 0);
	assert_int_equal(originals_load(fd, &problem, &loaded), -ENOENT);
	assert_false(originals_are_kept(fd));
	assert_int_equal(originals_keep(fd, &first), 0);
	assert_true(originals_are_kept(fd));
	assert_int_equal(originals_keep(fd, &second), 0);
	assert_int_equal(originals_load(fd, &problem, &loaded), 0);
	assert_int_equal(loaded.nr, 1);
	assert_string_equal(loaded.items[0].value, "memory");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(existing_values_are_captured),
		PORT_TEST(uninstall_lifts_limits_of_populated_groups),
		PORT_TEST(uninstall_without_groups_succeeds),
		PORT_TEST(uninstall_needs_the_possible_cpus),
		PORT_TEST(original_values_are_restored),
		PORT_TEST(original_values_are_saved_once),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
