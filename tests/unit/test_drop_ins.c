// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Which files of systemd an uninstall removes, and when systemd reads its units again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/host.h"
#include "cgroup/host_saved.h"
#include "lib/log.h"
#include "refused_calls.h"
#include "systemd_scene.h"

#define CONTROL	  "run/systemd/system.control/"
#define TRANSIENT "run/systemd/transient/"
#define DROP_IN	  ".d/50-AllowedCPUs.conf"

#define HEAD                                                                                \
	"# This is a drop-in unit file extension, created via \"systemctl set-property\"\n" \
	"# or an equivalent operation. Do not edit.\n"

static int state_fd;

static int set_up_state(void **state)
{
	struct host_table table = {0};
	char path[160];
	int r = set_up_systemd(state);

	snprintf(path, sizeof(path), "%s/state", root);
	if (r || mkdir(path, 0700))
		return -1;
	state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return host_saved_save(state_fd, "boot", &table);
}

static int tear_down_state(void **state)
{
	refuse_nothing();
	close(state_fd);
	return tear_down_systemd(state);
}

static void uninstall(const char *boot_id)
{
	const struct host_options options = {
		.groups = groups, .state_fd = state_fd, .boot_id = boot_id};

	*fake_systemd.calls = '\0';
	assert_int_equal(host_restore(&options), 0);
}

static void emptied_files_go_and_units_are_read_once(void **state)
{
	put(CONTROL "system.slice" DROP_IN, HEAD "[Slice]\nAllowedCPUs=\n");
	put(CONTROL "a.slice" DROP_IN, HEAD "[Slice]\nAllowedCPUs=\n");
	put(CONTROL "a.slice.d/50-CPUWeight.conf", HEAD "[Slice]\nCPUWeight=7\n");
	put(TRANSIENT "init.scope" DROP_IN, HEAD "\n[Scope]\nAllowedCPUs=\n");
	uninstall("boot");
	assert_false(exists(CONTROL "system.slice.d"));
	assert_false(exists(CONTROL "a.slice" DROP_IN));
	assert_true(exists(CONTROL "a.slice.d/50-CPUWeight.conf"));
	assert_false(exists(TRANSIENT "init.scope.d"));
	assert_string_equal(fake_systemd.calls, "Reload\n");
	uninstall("boot");
	assert_string_equal(fake_systemd.calls, "");
}

static void files_of_others_stay(void **state)
{
	static const char *const texts[] = {
		HEAD "[Slice]\nAllowedCPUs=0-7\n",
		HEAD "[Slice]\nAllowedCPUs=\nAllowedCPUs=0-7\n",
		HEAD "[Slice]\nAllowedCPUs=\nCPUWeight=7\n",
		HEAD "[Slice]\n",
		"[Slice]\nAllowedCPUs=\n",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(CONTROL "user.slice" DROP_IN, texts[i]);
		uninstall("boot");
		assert_string_equal(get(CONTROL "user.slice" DROP_IN), texts[i]);
		assert_string_equal(fake_systemd.calls, "");
	}
}

/* The agent has set no list since the boot. */
static void nothing_is_removed_that_cannot_be_ours(void **state)
{
	put(CONTROL "system.slice" DROP_IN, HEAD "[Slice]\nAllowedCPUs=\n");
	uninstall("another boot");
	assert_true(exists(CONTROL "system.slice" DROP_IN));
	assert_string_equal(fake_systemd.calls, "");
}

static void a_file_that_stays_does_not_fail_the_uninstall(void **state)
{
	put(CONTROL "system.slice" DROP_IN, HEAD "[Slice]\nAllowedCPUs=\n");
	refuse("unlinkat", "system.slice" DROP_IN, EROFS);
	uninstall("boot");
	assert_string_equal(fake_systemd.calls, "");
	refuse_nothing();
	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	uninstall("boot");
	assert_false(exists(CONTROL "system.slice.d"));
	assert_string_equal(fake_systemd.calls, "Reload refused\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_state, tear_down_state)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(emptied_files_go_and_units_are_read_once),
		TEST(files_of_others_stay),
		TEST(nothing_is_removed_that_cannot_be_ours),
		TEST(a_file_that_stays_does_not_fail_the_uninstall),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
