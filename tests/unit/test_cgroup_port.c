// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* What the port of the cgroup room reads and reports, and a machine that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/watch.h"
#include "cgroup_port_scene.h"

static void unreadable_controllers_are_reported(void **state)
{
	struct groups_options again = {.root = root,
				       .workload_root = "pinfold.slice",
				       .layout = GROUPS_LAYOUT_CGROUPFS,
				       .may_write = true};
	struct groups *none = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	snprintf(path, sizeof(path), "%s/cg/cgroup.subtree_control", root);
	assert_int_equal(unlink(path), 0);
	assert_true(groups_open(&again, &none, &problem, error) < 0);
	assert_int_equal(problem, DIR_CPUSET_NOT_ENABLED);
	assert_non_null(strstr(error, "the root cgroup: cannot read its controllers"));
	assert_null(none);
}

static void unreadable_machine_is_refused(void **state)
{
	static const char *const files[][2] = {
		{"cg/cgroup.controllers", "cannot read /cg/cgroup.controllers"},
		{"proc/self/mountinfo", "cannot read /proc/self/mountinfo"},
	};
	struct dir dir = DIR_CLOSED;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX], path[128];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		*error = '\0';
		snprintf(path, sizeof(path), "%s/%s", root, files[i][0]);
		assert_int_equal(unlink(path), 0);
		expect_failure(-EIO, dir_open(root, DIR_TO_MANAGE, &dir, &problem, error), error,
			       files[i][1]);
		assert_int_equal(problem, DIR_UNREADABLE);
		assert_int_equal(dir.mount_fd, -1);
	}
}

static void malformed_process_lists_are_read_partially(void **state)
{
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_group("pinfold.slice/g", "", "4-7\n", true);
	put("cg/pinfold.slice/g/cgroup.procs", "12\nodd\n13\n");
	assert_int_equal(port.tasks(port.self, "pinfold.slice/g", &pids, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(pids[0], 12);
	free(pids);
}

static char told[512];

static void on_changed(void *self, const char *path, const char *file)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s/%s ", path, file);
}

static void on_populated(void *self, const char *path, bool populated)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s=%d ", path, populated);
}

static void on_hotplug(void *self, const struct cpuset *online)
{
}

/* Wait until something is reported, or longer than even a loaded machine needs. */
static const char *listen_for(sd_event *event, const char *wanted)
{
	*told = '\0';
	for (int i = 0; i < 200 && !strstr(told, wanted); i++)
		sd_event_run(event, 50000);
	return told;
}

static void population_changes_are_reported(void **state)
{
	const struct groups_sink sink = {
		.changed = on_changed, .populated = on_populated, .hotplug = on_hotplug};
	struct group_tree tree cleanup_tree = {0};
	sd_event *event = NULL;
	char path[128];

	put_group("pinfold.slice/poda/main", "4-7\n", "4-7\n", false);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	/* A group of the tree that does not exist (yet) is skipped. */
	assert_non_null(group_tree_add(&tree, GROUP_POD, "pinfold.slice/podnone"));
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	/* Listed twice, watched once. */
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/podb", root);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_string_equal(listen_for(event, "pinfold.slice/ "), "pinfold.slice/ ");
	put("cg/pinfold.slice/poda/main/cgroup.events", "populated 1\n");
	assert_string_equal(listen_for(event, "="), "pinfold.slice/poda/main=1 ");
	put("cg/pinfold.slice/poda/main/memory.max", "1\n");
	assert_non_null(
		strstr(listen_for(event, "memory.max"), "pinfold.slice/poda/main/memory.max "));
	put("cg/pinfold.slice/poda/cgroup.freeze", "1\n");
	assert_non_null(
		strstr(listen_for(event, "cgroup.freeze"), "pinfold.slice/poda/cgroup.freeze "));
	/* Groups that a workload creates inside its container are not read. */
	put("cg/pinfold.slice/poda/main/inner/x", "");
	put("cg/pinfold.slice/poda/cpu.max", "1\n");
	assert_null(strstr(listen_for(event, "cpu.max"), "main/ "));
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/main", root);
	assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_non_null(strstr(listen_for(event, "poda/main/ "), "pinfold.slice/poda/main/ "));
	groups_close(groups);
	groups = open_fake(true);
	sd_event_unref(event);
}

static void a_plain_directory_has_no_cgroup_ids(void **state)
{
	char path[64] = "untouched";

	assert_true(port.path_of(port.self, 1, path, sizeof(path)) < 0);
	assert_string_equal(path, "untouched");
}

static void layout_is_reported(void **state)
{
	struct plan_layout layout;

	port.layout(port.self, &layout);
	assert_string_equal(layout.root, "pinfold.slice");
	assert_false(layout.systemd);
	assert_false(layout.root_partition);
}

static void the_manager_follows_process_one(void **state)
{
	struct groups *other;
	struct groups_port other_port;
	struct plan_layout layout;

	other = open_as(GROUPS_LAYOUT_AUTO, false);
	other_port = groups_port(other);
	other_port.layout(other_port.self, &layout);
	assert_false(layout.systemd);
	groups_close(other);
	put("run/systemd/system/x", "");
	other = open_as(GROUPS_LAYOUT_AUTO, false);
	other_port = groups_port(other);
	other_port.layout(other_port.self, &layout);
	assert_true(layout.systemd);
	groups_close(other);
}

static void the_port_reads_through(void **state)
{
	char managed[] = "pinfold.slice", unknown[] = "none";
	struct group group = {.path = managed}, none = {.path = unknown};
	struct managed_group around[4];
	struct group_status status;
	char scope[64];
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_group("system.slice", "", "0-1\n", true);
	put("cg/pinfold.slice/cgroup.procs", "12\n");
	assert_int_equal(port.read_group(port.self, &group), 0);
	assert_string_equal(group.files[GROUP_CPUSET_CPUS], "2-15");
	for (int file = 0; file < GROUP_FILE_NR; file++)
		free(group.files[file]);
	assert_int_equal(port.read_group(port.self, &none), -ENOENT);
	assert_int_equal(port.status(port.self, "pinfold.slice", &status), 0);
	assert_int_equal(cpuset_count(&status.effective_cpus), 14);
	assert_int_equal(cpuset_count(&status.effective_mems), 1);
	assert_int_equal(port.tasks(port.self, "pinfold.slice", &pids, &nr), 0);
	assert_int_equal(nr, 1);
	free(pids);
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), 0);
	assert_int_equal(nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(unreadable_controllers_are_reported),
		PORT_TEST(unreadable_machine_is_refused),
		PORT_TEST(malformed_process_lists_are_read_partially),
		PORT_TEST(population_changes_are_reported),
		PORT_TEST(a_plain_directory_has_no_cgroup_ids),
		PORT_TEST(layout_is_reported),
		PORT_TEST(the_manager_follows_process_one),
		PORT_TEST(the_port_reads_through),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
