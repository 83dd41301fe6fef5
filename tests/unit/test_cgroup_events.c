// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Changes of cgroups are reported once for each group, at a limited rate and without loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "cgroup/read_tree.h"
#include "cgroup/watch.h"
#include "cgroup_scene.h"
#include "lib/clock.h"

static char changed_path[64], changed_file[64];
static unsigned int nr_changed;
static int populated_told = -1;

static void on_changed(void *self, const char *path, const char *file)
{
	snprintf(changed_path, sizeof(changed_path), "%s", path);
	snprintf(changed_file, sizeof(changed_file), "%s", file);
	nr_changed++;
}

static void on_populated(void *self, const char *path, bool populated)
{
	populated_told = populated;
}

static void on_hotplug(void *self, const struct cpuset *online)
{
}

/* What has happened, and the pause after it; false = nothing had. */
static bool turn(sd_event *event)
{
	bool any = false;

	while (sd_event_run(event, 50000) > 0)
		any = true;
	return any;
}

static void test_watch(void **state)
{
	const struct groups_sink sink = {
		.changed = on_changed, .populated = on_populated, .hotplug = on_hotplug};
	struct group_tree tree cleanup_tree = {0};
	struct groups *groups = open_fake(false);
	struct groups_port port = groups_port(groups);
	sd_event *event = NULL;

	put_pod();
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(read_tree(groups, NULL, &tree), 0);
	assert_int_equal(port.rewatch(port.self, &tree), -ENOTCONN);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(sd_event_run(event, 0), 0);
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-15\n");
	assert_true(turn(event));
	assert_string_equal(changed_path, "pinfold.slice/poda/main");
	assert_string_equal(changed_file, "cpuset.cpus");
	put("cg/pinfold.slice/poda/main/cgroup.events", "populated 0\nfrozen 0\n");
	assert_true(turn(event));
	assert_int_equal(populated_told, 0);
	/* Events of a group that is no longer in the tree are ignored. */
	tree.nr_groups = 1;
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	turn(event);
	changed_path[0] = '\0';
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-14\n");
	assert_false(turn(event));
	put("cg/pinfold.slice/cpuset.cpus", "0-14\n");
	assert_true(turn(event));
	assert_string_equal(changed_path, "pinfold.slice");
	tree.nr_groups = 6;
	groups_close(groups);
	sd_event_unref(event);
}

static uint64_t now_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

/* A process that writes continuously causes at most one report every five milliseconds. */
static void test_watch_is_not_kept_busy(void **state)
{
	const struct groups_sink sink = {
		.changed = on_changed, .populated = on_populated, .hotplug = on_hotplug};
	struct group_tree tree cleanup_tree = {0};
	struct groups *groups = open_fake(false);
	struct groups_port port = groups_port(groups);
	unsigned int nr_written = 0;
	sd_event *event = NULL;
	char path[256];
	uint64_t began;
	int fd;

	put_pod();
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(read_tree(groups, NULL, &tree), 0);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	turn(event);
	nr_changed = 0;
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/main/cgroup.procs", root);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (began = now_ms(); nr_written < 1000 || now_ms() - began < 300; nr_written++) {
		assert_int_equal(pwrite(fd, "1\n", 2, 0), 2);
		assert_true(sd_event_run(event, 0) >= 0);
	}
	close(fd);
	/* At most one read per 5 ms, however long the writes took. */
	assert_in_range(nr_changed, 1, (now_ms() - began) / 5 + 2);
	/* The last write is not lost. */
	turn(event);
	nr_changed = 0;
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-13\n");
	assert_true(turn(event));
	assert_true(nr_changed > 0);
	groups_close(groups);
	sd_event_unref(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_watch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_watch_is_not_kept_busy, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
