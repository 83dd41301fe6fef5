// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Which of the maps in force is taken over, and how lost pins are told; no kernel needed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/inherit.h"

/* --- what is in force ----------------------------------------------------------------------------- */

static struct inherited inherited;

static int begin(void **state)
{
	inherited = (struct inherited){0};
	return 0;
}

static void add_map(const char *name, uint32_t id, uint32_t nr_users, bool pinned)
{
	struct inherited_map *map = &inherited.maps[inherited.nr_maps++];

	*map = (struct inherited_map){.id = id, .nr_users = nr_users, .pinned = pinned, .fd = -1};
	snprintf(map->name, sizeof(map->name), "%s", name);
}

static uint32_t chosen(const char *name)
{
	const struct inherited_map *map = inherited_map(&inherited, name);

	return map ? map->id : 0;
}

static void test_the_map_in_force_needs_no_pin(void **state)
{
	add_map("managed", 3, 6, false);
	add_map("guard_config", 4, 6, true);
	assert_int_equal(chosen("managed"), 3);
	assert_int_equal(chosen("guard_config"), 4);
	assert_int_equal(chosen("events"), 0);
	assert_int_equal(chosen("manage"), 0);
	assert_int_equal(chosen("managed_more"), 0);
}

static void test_names_are_as_long_as_the_kernel_s(void **state)
{
	add_map("observe_counter", 3, 1, false);
	assert_int_equal(chosen("observe_counters"), 3);
	add_map("", 9, 9, true);
	assert_int_equal(chosen(""), 0);
}

static void test_of_several_the_pinned_one_then_the_most_used(void **state)
{
	add_map("managed", 3, 2, false);
	add_map("managed", 5, 4, false);
	assert_int_equal(chosen("managed"), 5);
	add_map("managed", 7, 1, true);
	assert_int_equal(chosen("managed"), 7);
}

/* Programs of two sets, as an exchange that was cut off leaves them, are not one set. */
static void test_a_mixture_does_not_fit(void **state)
{
	struct inherited_link old = {.nr_maps = 2, .map_ids = {3, 4}};
	struct inherited_link new = {.nr_maps = 2, .map_ids = {5, 4}};

	add_map("managed", 3, 1, false);
	add_map("guard_config", 4, 2, true);
	assert_true(inherited_link_fits(&inherited, &old));
	add_map("managed", 5, 1, true);
	assert_false(inherited_link_fits(&inherited, &old));
	assert_true(inherited_link_fits(&inherited, &new));
}

/* --- what is told ---------------------------------------------------------------------------------- */

static void test_pins_are_named_as_far_as_there_is_room(void **state)
{
	struct pins_report report = {0}, other = {0};

	pins_report_wrong(&report, "maps/managed", "lost");
	pins_report_wrong(&report, "meta", "replaced");
	assert_string_equal(report.wrong, "maps/managed lost, meta replaced");
	for (int i = 0; i < 60; i++)
		pins_report_wrong(&report, "links/guard_lsm_file_perm", "lost");
	assert_int_equal(report.nr_wrong, 62);
	assert_true(strlen(report.wrong) < sizeof(report.wrong) - 1);
	assert_non_null(strstr(report.wrong, ", links/guard_lsm_file_perm lost, and 5"));
	pins_report_wrong(&other, "maps/events", "lost");
	pins_report_add(&report, &other);
	assert_int_equal(report.nr_wrong, 63);
	report = (struct pins_report){0};
	pins_report_add(&report, &other);
	assert_string_equal(report.wrong, "maps/events lost");
}

/* No bpffs: nothing there is a pin of ours, and a folder is made where something else was. */
static void test_what_is_not_a_pin(void **state)
{
	char folder[] = "/tmp/pinfold-pins.XXXXXX", path[64];
	struct stat info;
	int fd = -1;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(pin_open(folder, "maps/managed", OBJECT_MAP, &fd), -ENOENT);
	snprintf(path, sizeof(path), "%s/maps", folder);
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(pin_open(folder, "maps", OBJECT_MAP, &fd), -EEXIST);
	assert_int_equal(pins_make_folders(folder), 0);
	assert_int_equal(lstat(path, &info), 0);
	assert_true(S_ISDIR(info.st_mode));
	assert_int_equal(pin_open(folder, "maps", OBJECT_MAP, &fd), -EEXIST);
	assert_int_equal(fd, -1);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/links", folder);
	rmdir(path);
	assert_int_equal(rmdir(folder), 0);
}

/* The path is valid until the next call. */
static const char *below(const char *folder, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* Root may put a link where a directory of pins was; what it leads to is not pinfold's. */
static void test_removal_follows_no_symbolic_link(void **state)
{
	char other[] = "/tmp/pinfold-other.XXXXXX", folder[] = "/tmp/pinfold-pins.XXXXXX";

	assert_non_null(mkdtemp(other));
	assert_non_null(mkdtemp(folder));
	make_file(below(other, "file"));
	assert_int_equal(symlink(other, below(folder, "links")), 0);
	assert_int_equal(mkdir(below(folder, "maps"), 0700), 0);
	make_file(below(folder, "maps/managed"));
	assert_int_equal(symlink(other, below(folder, "maps/guard_config")), 0);
	assert_int_equal(pins_remove(folder), 0);
	assert_int_not_equal(access(folder, F_OK), 0);

	assert_int_equal(mkdir(below(other, "links"), 0700), 0);
	make_file(below(other, "links/file"));
	assert_int_equal(symlink(other, folder), 0);
	assert_int_equal(pins_remove(folder), 0);
	assert_int_not_equal(access(folder, F_OK), 0);

	assert_int_equal(unlink(below(other, "links/file")), 0);
	assert_int_equal(rmdir(below(other, "links")), 0);
	assert_int_equal(unlink(below(other, "file")), 0);
	assert_int_equal(rmdir(other), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_map_in_force_needs_no_pin),
		TEST(test_names_are_as_long_as_the_kernel_s),
		TEST(test_of_several_the_pinned_one_then_the_most_used),
		TEST(test_a_mixture_does_not_fit),
		TEST(test_pins_are_named_as_far_as_there_is_room),
		TEST(test_what_is_not_a_pin),
		TEST(test_removal_follows_no_symbolic_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
