// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What systemd's manager does with failures, with names at the border of what fits, and with
 * scopes whose values were noted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "lib/log.h"
#include "refused_calls.h"
#include "systemd_scene.h"

static char error[GROUP_ERROR_MAX];

static int tear_down_scope(void **state)
{
	refuse_nothing();
	return tear_down_systemd(state);
}

static void note(enum group_file file, const char *value)
{
	write_file(GROUP_CONTAINER, SCOPE, file, value);
}

static void note_scope(void)
{
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	create(GROUP_CONTAINER, SCOPE);
	*fake_systemd.calls = '\0';
}

static int join_self(void)
{
	/* refused_calls.h reads all six arguments that a system call may have. */
	int pidfd = (int)syscall(SYS_pidfd_open, (long)getpid(), 0L, 0L, 0L, 0L, 0L);
	char name[64];
	int r;

	assert_true(pidfd >= 0);
	snprintf(name, sizeof(name), "proc/%d/stat", getpid());
	put(name, "1 (test) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	snprintf(name, sizeof(name), "proc/%d/cgroup", getpid());
	put(name, "0::/" SCOPE "\n");
	error[0] = '\0';
	r = port.join(port.self, SCOPE, getpid(), pidfd, error);
	close(pidfd);
	return r;
}

static void join(void)
{
	if (join_self())
		fail_msg("%s", error);
}

/* --- names and masks --------------------------------------------------------------------------- */

static void a_name_must_fit(void **state)
{
	char unit[9], slice[9], whole[GROUP_PATH_MAX + 16];

	assert_int_equal(systemd_unit_of("abcd.slice", unit, slice, sizeof(unit)), -ENAMETOOLONG);
	assert_int_equal(systemd_unit_of("abc.slice", unit, slice, sizeof(unit)), -ENAMETOOLONG);
	assert_int_equal(systemd_unit_of("ab.slice", unit, slice, sizeof(unit)), 0);
	assert_string_equal(unit, "ab.slice");
	/* no cgroup is that far below the mount */
	memset(whole, 'x', sizeof(whole));
	strcpy(whole + sizeof(whole) - 9, "/a.slice");
	assert_int_equal(systemd_unit_of(whole, unit, slice, sizeof(unit)), -EINVAL);
}

static void a_mask_ends_with_its_array(void **state)
{
	struct cpuset set = CPUSET_EMPTY;
	uint8_t mask[2] = {0, 0xee};

	cpuset_add(&set, 3);
	cpuset_add(&set, 8);
	assert_int_equal(systemd_mask(&set, mask, 1), 1);
	assert_int_equal(mask[0], 8);
	assert_int_equal(mask[1], 0xee);
}

/* --- failures ------------------------------------------------------------------------------------ */

static void nothing_is_done_without_systemd(void **state)
{
	char name[128];

	create(GROUP_ROOT, "pinfold.slice");
	fake_systemd.hang_up = true;
	snprintf(name, sizeof(name), "%s/run/systemd/private", root);
	assert_int_equal(unlink(name), 0);
	assert_true(do_step(STEP_CREATE, GROUP_POD, POD, 0, NULL, error) < 0);
	assert_true(do_step(STEP_CREATE, GROUP_POD, POD, 0, NULL, error) < 0);
	assert_non_null(strstr(error, "cannot reach systemd"));
	assert_true(do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPU_WEIGHT, "50",
			    error) < 0);
	assert_non_null(strstr(error, "cannot reach systemd"));
	assert_false(exists("cg/" POD));
}

/* The note must not hide it. */
static void a_refused_value_of_a_running_scope_is_reported(void **state)
{
	note_scope();
	note(GROUP_CPUSET_CPUS, "4-5");
	join();
	fake_systemd.error_name = "org.freedesktop.DBus.Error.Failed";
	assert_true(do_step(STEP_WRITE, GROUP_CONTAINER, SCOPE, GROUP_CPUSET_CPUS, "6-7", error) <
		    0);
	assert_non_null(strstr(error, "not today"));
}

static void a_value_that_is_not_in_force_is_reported(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	fake_systemd.properties_are_odd = true;
	put("cg/pinfold.slice/cpuset.cpus.effective", "2\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPUSET_CPUS, "2-5",
			       error),
		       error, "is only 2 of the 2-5 that was written");
}

/* An observer has no connection to systemd, and therefore no notes. */
static void an_observer_reads_the_tree(void **state)
{
	struct group_tree tree cleanup_tree = {0};

	create(GROUP_ROOT, "pinfold.slice");
	open_groups(false);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_non_null(group_tree_find(&tree, "pinfold.slice"));
}

/* --- scopes -------------------------------------------------------------------------------------- */

static void a_bad_value_before_good_ones_fails_the_scope(void **state)
{
	note_scope();
	note(GROUP_CPU_WEIGHT, "much");
	note(GROUP_MEMORY_MAX, "4096");
	expect_failure(-EINVAL, join_self(), error, "cannot ask systemd");
	assert_string_equal(fake_systemd.calls, "");
}

static void a_scope_may_have_nothing_but_cpus(void **state)
{
	note_scope();
	note(GROUP_CPUSET_CPUS, "4-5");
	join();
	assert_non_null(strstr(fake_systemd.calls, " AllowedCPUs=4-5\n"));
	assert_null(strstr(fake_systemd.calls, "of another signature"));
}

/* systemd has taken the properties, and the kernel's files have other values. */
static void every_noted_value_is_put_into_force(void **state)
{
	note_scope();
	note(GROUP_CPUSET_MEMS, "1");
	note(GROUP_CPUSET_CPUS, "4-5");
	note(GROUP_CPU_WEIGHT, "79");
	fake_systemd.properties_are_odd = true;
	join();
	/* a plain file keeps the end of what was longer */
	assert_string_equal(get("cg/" SCOPE "/cpuset.mems"), "1\n");
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4-5");
}

static void a_noted_value_that_cannot_be_in_force_is_reported(void **state)
{
	note_scope();
	note(GROUP_CPUSET_CPUS, "4-5");
	note(GROUP_CPU_WEIGHT, "79");
	fake_systemd.properties_are_odd = true;
	refuse("write", "4-5", EBUSY);
	assert_int_equal(join_self(), -EBUSY);
}

static void a_removed_scope_is_forgotten(void **state)
{
	note_scope();
	note(GROUP_CPUSET_CPUS, "4-5");
	join();
	put("cg/" SCOPE "/cgroup.events", "populated 0\nfrozen 0\n");
	assert_int_equal(do_step(STEP_REMOVE, GROUP_CONTAINER, SCOPE, 0, NULL, error), 0);
	assert_false(exists("cg/" SCOPE));
	expect_failure(-ENOENT, join_self(), error, "not a container that pinfold holds");
}

/* A group that cannot be opened is not one that does not exist. */
static void what_cannot_be_opened_is_not_taken_for_gone(void **state)
{
	note_scope();
	note(GROUP_CPUSET_CPUS, "4-5");
	join();
	put("cg/" SCOPE "/cgroup.events", "populated 0\nfrozen 0\n");
	*fake_systemd.calls = '\0';
	refuse("openat2", SCOPE, EMFILE);
	expect_failure(-EMFILE, do_step(STEP_CREATE, GROUP_CONTAINER, SCOPE, 0, NULL, error), error,
		       SCOPE);
	expect_failure(-EMFILE,
		       do_step(STEP_WRITE, GROUP_CONTAINER, SCOPE, GROUP_CPUSET_CPUS, "4", error),
		       error, SCOPE);
	expect_failure(-EMFILE, join_self(), error, SCOPE);
	expect_failure(-EMFILE, do_step(STEP_REMOVE, GROUP_CONTAINER, SCOPE, 0, NULL, error), error,
		       SCOPE);
	assert_string_equal(fake_systemd.calls, "");
	refuse_nothing();
	/* It is still noted: the next one is tried as if nothing had happened. */
	note(GROUP_CPUSET_CPUS, "4");
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4");
	assert_int_equal(do_step(STEP_REMOVE, GROUP_CONTAINER, SCOPE, 0, NULL, error), 0);
	assert_false(exists("cg/" SCOPE));
}

static void a_partition_is_dissolved_before_its_unit_stops(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	put("cg/pinfold.slice/cpuset.cpus.partition", "root\n");
	*fake_systemd.calls = '\0';
	assert_int_equal(do_step(STEP_REMOVE, GROUP_ROOT, "pinfold.slice", 0, NULL, error), 0);
	assert_string_equal(fake_systemd.calls, "StopUnit pinfold.slice fail\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_systemd, tear_down_scope)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_must_fit),
		cmocka_unit_test(a_mask_ends_with_its_array),
		TEST(nothing_is_done_without_systemd),
		TEST(a_refused_value_of_a_running_scope_is_reported),
		TEST(a_value_that_is_not_in_force_is_reported),
		TEST(an_observer_reads_the_tree),
		TEST(a_bad_value_before_good_ones_fails_the_scope),
		TEST(a_scope_may_have_nothing_but_cpus),
		TEST(every_noted_value_is_put_into_force),
		TEST(a_noted_value_that_cannot_be_in_force_is_reported),
		TEST(a_removed_scope_is_forgotten),
		TEST(what_cannot_be_opened_is_not_taken_for_gone),
		TEST(a_partition_is_dissolved_before_its_unit_stops),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
