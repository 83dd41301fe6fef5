// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * The CPU lists of the host's groups where systemd keeps them as properties: which groups are units,
 * and what systemd is told when a list is undone. tests/guest/host-shared-systemd asks the real one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"

#include "systemd_scene.h"

#include "host_scene.h"

static int set_up_host(void **state)
{
	int r = set_up_systemd(state);

	if (r)
		return r;
	put("sys/devices/system/cpu/possible", "0-15\n");
	return open_host_scene();
}

static int tear_down_host(void **state)
{
	refuse_nothing();
	close_host_scene();
	return tear_down_systemd(state);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_host, tear_down_host)

static bool was_called(const char *call)
{
	return strstr(fake_systemd.calls, call);
}

static void confine(void)
{
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.nr_failed, 0);
	*fake_systemd.calls = '\0';
}

static void restore(void)
{
	assert_int_equal(pass_of(host, HOST_RESTORE, "", ""), 0);
}

/* systemd would write its own list over one that it does not know. */
static void a_list_is_a_property(void **state)
{
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 2);
	assert_true(was_called("SetUnitProperties system.slice runtime=1 AllowedCPUs=0-1,6-15\n"));
	assert_true(was_called("SetUnitProperties user.slice runtime=1 AllowedCPUs=0-1,6-15\n"));
	expect_list("system.slice", "0-1,6-15");
}

static void a_group_that_is_no_unit_is_left_alone(void **state)
{
	put_group("handmade", "\n", "0-15\n", true);
	put_group("init.scope", "\n", "0-15\n", true);
	confine();
	expect_list("init.scope", "0-1,6-15");
	assert_int_equal(get("cg/handmade/cpuset.cpus")[0], '\n');
	assert_int_equal(report.nr_held, 3);
	assert_int_equal(report.nr_foreign, 1);
	assert_string_equal(report.foreign, "handmade");
	assert_string_equal(report.why_foreign, "it is neither a slice nor a scope of systemd");
}

static void systemd_forgets_what_is_restored(void **state)
{
	confine();
	restore();
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 0);
	assert_true(was_called("SetUnitProperties system.slice runtime=1 AllowedCPUs=\n"));
	assert_true(was_called("SetUnitProperties user.slice runtime=1 AllowedCPUs=\n"));
	assert_int_equal(get("cg/system.slice/cpuset.cpus")[0], '\n');
}

/* Otherwise it would write the list again, for example when units are reloaded. */
static void a_list_stays_until_systemd_has_forgotten_it(void **state)
{
	confine();
	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	restore();
	assert_int_equal(report.nr_failed, 1);
	assert_non_null(strstr(report.failure, "not today"));
	assert_int_equal(report.nr_held, 1);
	assert_true(was_called("SetUnitProperties refused\n"));
	*fake_systemd.calls = '\0';
	restore();
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 0);
	assert_true(was_called(" AllowedCPUs=\n"));
	assert_int_equal(get("cg/system.slice/cpuset.cpus")[0], '\n');
	assert_int_equal(get("cg/user.slice/cpuset.cpus")[0], '\n');
}

/*
 * Up to Linux 6.12 the list of a group with processes cannot be emptied. It gets all CPUs and stays
 * ours, and systemd is told once only that it has none.
 */
static void a_list_that_cannot_be_emptied_is_told_once(void **state)
{
	confine();
	refuse("write", "\n", ENOSPC);
	restore();
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 2);
	expect_list("system.slice", "0-15");
	expect_list("user.slice", "0-15");
	assert_true(was_called("SetUnitProperties system.slice runtime=1 AllowedCPUs=\n"));
	*fake_systemd.calls = '\0';
	restore();
	assert_string_equal(fake_systemd.calls, "");
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 2);
	refuse_nothing();
	restore();
	assert_int_equal(report.nr_held, 0);
	assert_int_equal(get("cg/system.slice/cpuset.cpus")[0], '\n');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HOST_TEST(a_list_is_a_property),
		HOST_TEST(a_group_that_is_no_unit_is_left_alone),
		HOST_TEST(systemd_forgets_what_is_restored),
		HOST_TEST(a_list_stays_until_systemd_has_forgotten_it),
		HOST_TEST(a_list_that_cannot_be_emptied_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
