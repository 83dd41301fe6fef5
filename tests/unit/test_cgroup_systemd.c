// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * The manager that asks systemd, against one that answers over the real protocol:
 * which units are asked for with which properties, and what becomes of answers that
 * refuse, fail or never come. Only real systemd knows what it does with them:
 * tests/guest/cgroup-systemd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "lib/log.h"
#include "systemd_scene.h"

static void expect_calls(const char *wanted)
{
	assert_string_equal(fake_systemd.calls, wanted);
	*fake_systemd.calls = '\0';
}

/* --- slices ------------------------------------------------------------------------------------------ */

static void slices_are_units(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("StartTransientUnit pinfold.slice fail Description=pinfold\n");
	assert_true(exists("cg/pinfold.slice"));
	create(GROUP_POD, POD);
	expect_calls("StartTransientUnit pinfold-poda.slice fail Description=pinfold\n");
	/* An existing unit is not started again. */
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("");
}

/* An administrator's unit file, or a unit of an earlier run, is started. */
static void a_known_slice_is_started(void **state)
{
	fake_systemd.nr_exists = 1;
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("StartTransientUnit pinfold.slice fail exists\n"
		     "StartUnit pinfold.slice fail\n");
}

static void names_must_match_their_path(void **state)
{
	static const char *const paths[] = {"pinfold.slice/other.slice", "plain", "plain/x.scope"};
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		expect_failure(-EINVAL, do_step(STEP_CREATE, GROUP_POD, paths[i], 0, NULL, error),
			       error, "is not a valid path for a systemd unit");
		expect_failure(-EINVAL,
			       do_step(STEP_WRITE, GROUP_POD, paths[i], GROUP_CPUSET_CPUS, "1",
				       error),
			       error, "is not a valid path for a systemd unit");
		expect_failure(-EINVAL, do_step(STEP_REMOVE, GROUP_POD, paths[i], 0, NULL, error),
			       error, "is not a valid path for a systemd unit");
	}
	expect_calls("");
}

/* --- properties ---------------------------------------------------------------------------------------- */

/*
 * Even if the kernel's file already has the value, the property is set, because systemd
 * would otherwise restore an older value.
 */
static void each_value_is_a_property_too(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	write_file(GROUP_POD, POD, GROUP_CPUSET_CPUS, "2-5,9");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 AllowedCPUs=2-5,9\n");
	assert_string_equal(get("cg/" POD "/cpuset.cpus"), "2-5,9");
	/* systemd realises its queue of cgroups before it handles the next call. */
	assert_true(fake_systemd.is_realised);
	write_file(GROUP_POD, POD, GROUP_CPUSET_MEMS, "0");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 AllowedMemoryNodes=0\n");
	write_file(GROUP_POD, POD, GROUP_CPU_WEIGHT, "321");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 CPUWeight=321\n");
	write_file(GROUP_POD, POD, GROUP_MEMORY_MAX, "1048576");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 MemoryMax=1048576\n");
	write_file(GROUP_POD, POD, GROUP_CPU_MAX, "50000 100000");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 CPUQuotaPerSecUSec=500000 "
		     "CPUQuotaPeriodUSec=100000\n");
	/* A partition has no property. */
	put("cg/" POD "/cpuset.cpus.partition", "");
	write_file(GROUP_POD, POD, GROUP_CPUSET_PARTITION, "root");
	expect_calls("");
	assert_string_equal(get("cg/" POD "/cpuset.cpus.partition"), "root");
}

/*
 * A value that the kernel rejects must not become a property, because systemd writes it
 * at each reload.
 */
static void rejected_value_is_not_a_property(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	/* An empty list is rejected for a group with processes. */
	put("cg/pinfold.slice/cgroup.events", "populated 1\n");
	put("cg/pinfold.slice/cpuset.cpus", "2-15\n");
	expect_failure(-EINVAL,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPUSET_CPUS, "",
			       error),
		       error, "refusing to write an empty list");
	expect_calls("");
}

/* systemd enables a controller, which creates the file, once a property needs it. */
static void missing_file_appears_with_its_property(void **state)
{
	char path[128];

	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/cpuset.cpus", root);
	assert_int_equal(unlink(path), 0);
	write_file(GROUP_ROOT, "pinfold.slice", GROUP_CPUSET_CPUS, "2-15");
	expect_calls("SetUnitProperties pinfold.slice runtime=1 AllowedCPUs=2-15\n");
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus"), "2-15");
}

/* systemd hears from the kernel that a unit is no longer frozen. */
static void a_freeze_is_ended_in_the_file(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	put("cg/pinfold.slice/cgroup.freeze", "1\n");
	write_file(GROUP_ROOT, "pinfold.slice", GROUP_FREEZE, "0");
	expect_calls("");
	assert_string_equal(get("cg/pinfold.slice/cgroup.freeze"), "0\n");
}

static void values_without_a_property_form(void **state)
{
	static const struct {
		enum group_file file;
		const char *value;
	} rows[] = {
		{GROUP_CPU_WEIGHT, "much"},
		{GROUP_MEMORY_MAX, "all"},
		{GROUP_CPU_MAX, "much 100000"},
		{GROUP_CPUSET_CPUS, "0-"},
	};
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_failure(-EINVAL,
			       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", rows[i].file,
				       rows[i].value, error),
			       error, "as a systemd property");
	expect_calls("");
}

/* --- refusals and losses --------------------------------------------------------------------------------- */

static void refusal_is_reported(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	expect_failure(-EACCES, do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error),
		       error, "pinfold.slice: systemd refuses StartTransientUnit: not today");
	create(GROUP_ROOT, "pinfold.slice");
	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	expect_failure(-EACCES,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPU_WEIGHT, "7",
			       error),
		       error, "systemd refuses SetUnitProperties: not today");
}

static void failed_job_is_reported(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.job_result = "failed";
	expect_failure(-ECANCELED,
		       do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error), error,
		       "pinfold.slice: systemd's job ended with 'failed'");
}

static void reply_without_a_job_is_reported(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.wrong_job = true;
	expect_failure(-ENXIO, do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error),
		       error, "systemd's reply contains no job");
}

/* systemd closes its connections when it re-executes itself; the next call opens a new one. */
static void lost_connection_is_reopened(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.hang_up = true;
	assert_true(do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error) < 0);
	assert_string_not_equal(error, "");
	create(GROUP_ROOT, "pinfold.slice");
	assert_true(exists("cg/pinfold.slice"));
	/* A removal reconnects as well. */
	create(GROUP_POD, POD);
	fake_systemd.hang_up = true;
	assert_true(do_step(STEP_CREATE, GROUP_POD, "pinfold.slice/pinfold-podb.slice", 0, NULL,
			    error) < 0);
	*fake_systemd.calls = '\0';
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("StopUnit pinfold-poda.slice fail\n");
}

/* Only a scope may have no group; a missing slice is a failure. */
static void missing_slice_is_not_written(void **state)
{
	char error[GROUP_ERROR_MAX];

	expect_failure(-ENOENT,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPU_WEIGHT, "7",
			       error),
		       error, "pinfold.slice");
}

static void open_fails_without_systemd(void **state)
{
	struct groups_options again = {.root = root,
				       .workload_root = "pinfold.slice",
				       .layout = GROUPS_LAYOUT_SYSTEMD,
				       .may_write = true};
	struct groups *none = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	snprintf(path, sizeof(path), "%s/run/systemd/private", root);
	assert_int_equal(unlink(path), 0);
	assert_true(groups_open(&again, &none, &problem, error) < 0);
	assert_null(none);
	assert_non_null(strstr(error, "cannot reach systemd (/run/systemd/private, then the system "
				      "bus)"));
	/* In read-only mode no connection is needed. */
	again.may_write = false;
	assert_int_equal(groups_open(&again, &none, &problem, error), 0);
	groups_close(none);
}

/* If the private socket refuses us, the system bus is used, after subscribing to its signals. */
static void the_system_bus_is_the_second_choice(void **state)
{
	char path[128], address[160];

	groups_close(groups);
	snprintf(path, sizeof(path), "%s/run/systemd/private", root);
	snprintf(address, sizeof(address), "%s/run/bus", root);
	assert_int_equal(rename(path, address), 0);
	snprintf(address, sizeof(address), "unix:path=%s/run/bus", root);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
	groups = open_as(GROUPS_LAYOUT_SYSTEMD, true);
	port = groups_port(groups);
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("Subscribe\n"
		     "StartTransientUnit pinfold.slice fail Description=pinfold\n");
}

/* --- scopes ------------------------------------------------------------------------------------------------- */

static void note_scope(void)
{
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	create(GROUP_CONTAINER, SCOPE);
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPUSET_MEMS, "0");
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPUSET_CPUS, "2-15");
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPUSET_CPUS, "4-5");
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPU_WEIGHT, "79");
}

static const struct group *observed(struct group_tree *tree, const char *path)
{
	group_tree_fini(tree);
	assert_int_equal(port.read_tree(port.self, tree), 0);
	return group_tree_find(tree, path);
}

/* A scope cannot exist without a process; until then it is shown with its future values. */
static void an_empty_container_is_noted(void **state)
{
	struct group_tree tree cleanup_tree = {0};
	const struct group *group;
	char error[GROUP_ERROR_MAX];

	note_scope();
	expect_calls("");
	assert_false(exists("cg/" SCOPE));
	group = observed(&tree, SCOPE);
	assert_non_null(group);
	assert_int_equal(group->role, GROUP_CONTAINER);
	assert_string_equal(group->uid, "a");
	assert_string_equal(group->container, "main");
	assert_string_equal(group->files[GROUP_CPUSET_CPUS], "4-5");
	assert_string_equal(group->files[GROUP_CPUSET_MEMS], "0");
	assert_null(group->files[GROUP_CPU_MAX]);
	assert_false(group->populated);
	/* Noted again, it keeps its values. */
	create(GROUP_CONTAINER, SCOPE);
	assert_string_equal(observed(&tree, SCOPE)->files[GROUP_CPUSET_CPUS], "4-5");
	assert_int_equal(do_step(STEP_REMOVE, GROUP_CONTAINER, SCOPE, 0, NULL, error), 0);
	assert_null(observed(&tree, SCOPE));
	expect_calls("");
}

static int join_self(const char *path, char *error)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	char name[64], text[256];
	int r;

	assert_true(pidfd >= 0);
	snprintf(name, sizeof(name), "proc/%d/stat", getpid());
	put(name, "1 (test) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	snprintf(name, sizeof(name), "proc/%d/cgroup", getpid());
	snprintf(text, sizeof(text), "0::/%s\n", path);
	put(name, text);
	error[0] = '\0';
	r = port.join(port.self, path, getpid(), pidfd, error);
	close(pidfd);
	return r;
}

#define SCOPE_CALL(cpus)                                                                \
	"StartTransientUnit pinfold-a-main.scope fail Description=pinfold container "   \
	"Slice=pinfold-poda.slice Delegate=1 CollectMode=inactive-or-failed PIDs=self " \
	"AllowedMemoryNodes=0 AllowedCPUs=" cpus " CPUWeight=79\n"

static void the_first_process_makes_the_scope(void **state)
{
	struct group_tree tree cleanup_tree = {0};
	char error[GROUP_ERROR_MAX];

	note_scope();
	if (join_self(SCOPE, error))
		fail_msg("%s", error);
	expect_calls(SCOPE_CALL("4-5"));
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4-5");
	assert_string_equal(get("cg/" SCOPE "/cpu.weight"), "79\n");
	/*
	 * Once the scope exists it is read from the kernel, not from the notes; another
	 * process is attached.
	 */
	assert_true(observed(&tree, SCOPE)->populated);
	assert_int_equal(join_self(SCOPE, error), 0);
	expect_calls("AttachProcessesToUnit pinfold-a-main.scope '' self\n");
}

/* Values written while the scope exists are noted too, and the next scope starts with them. */
static void recreated_scope_has_its_last_values(void **state)
{
	char error[GROUP_ERROR_MAX], whole[256];

	note_scope();
	assert_int_equal(join_self(SCOPE, error), 0);
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPUSET_CPUS, "6-7");
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "6-7");
	*fake_systemd.calls = '\0';
	/* Its last process has ended, and systemd has removed it. */
	snprintf(whole, sizeof(whole), "%s/cg/" SCOPE, root);
	assert_int_equal(nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(join_self(SCOPE, error), 0);
	expect_calls(SCOPE_CALL("6-7"));
}

/* The name of a scope that has just ended is free once systemd has garbage-collected it. */
static void taken_name_becomes_free(void **state)
{
	char error[GROUP_ERROR_MAX];

	note_scope();
	fake_systemd.nr_exists = 2;
	if (join_self(SCOPE, error))
		fail_msg("%s", error);
	expect_calls("StartTransientUnit pinfold-a-main.scope fail exists\n"
		     "StartTransientUnit pinfold-a-main.scope fail exists\n" SCOPE_CALL("4-5"));
	/* Not for ever. */
	note_scope();
	fake_systemd.nr_exists = 1000;
	create(GROUP_CONTAINER, POD "/pinfold-a-other.scope");
	expect_failure(-EEXIST, join_self(POD "/pinfold-a-other.scope", error), error,
		       "already exists");
}

/*
 * systemd accepted the property but the kernel does not show it: the file is written and
 * read back.
 */
static void property_without_effect_is_written_to_the_file(void **state)
{
	char error[GROUP_ERROR_MAX];

	note_scope();
	fake_systemd.properties_are_odd = true;
	assert_int_equal(join_self(SCOPE, error), 0);
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4-5");
}

/* Only now is it asked for as a property, so only now is it found to be none. */
static void noted_value_without_a_property_form(void **state)
{
	char error[GROUP_ERROR_MAX];

	note_scope();
	write_file(GROUP_CONTAINER, SCOPE, GROUP_CPU_WEIGHT, "much");
	expect_failure(-EINVAL, join_self(SCOPE, error), error,
		       "pinfold-a-main.scope: cannot ask systemd: ");
	expect_calls("");
}

static void unknown_groups_are_not_joined(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	expect_failure(-ENOENT, join_self(SCOPE, error), error,
		       "not a container that pinfold holds; is its pod admitted?");
	expect_failure(-EINVAL, join_self("plain/x", error), error, "is not a valid path");
	expect_calls("");
	note_scope();
	*fake_systemd.calls = '\0';
	fake_systemd.error_name = "org.freedesktop.DBus.Error.Failed";
	assert_true(join_self(SCOPE, error) < 0);
	assert_non_null(strstr(error, "not today"));
}

/* --- removal ------------------------------------------------------------------------------------------------- */

static void an_empty_slice_is_stopped(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	put("cg/" POD "/cgroup.events", "populated 1\n");
	expect_failure(-EBUSY, do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), error,
		       "still has processes");
	expect_calls("");
	put("cg/" POD "/cgroup.events", "populated 0\n");
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("StopUnit pinfold-poda.slice fail\n");
	assert_false(exists("cg/" POD));
	/* It does not exist any more, so there is nothing to do. */
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("");
}

/* A group without a unit name was not created by systemd, so systemd is not asked. */
static void group_without_a_unit_name_is_removed(void **state)
{
	char error[GROUP_ERROR_MAX], path[256];

	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/pinfold-selftest", root);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, "pinfold.slice/pinfold-selftest", 0, NULL,
				 error),
			 0);
	expect_calls("");
	assert_false(exists("cg/pinfold.slice/pinfold-selftest"));
}

/* A group that systemd does not know is removed as a directory. */
static void group_unknown_to_systemd_is_removed(void **state)
{
	char error[GROUP_ERROR_MAX], path[256];

	create(GROUP_ROOT, "pinfold.slice");
	snprintf(path, sizeof(path), "%s/cg/" POD, root);
	assert_int_equal(mkdir(path, 0755), 0);
	fake_systemd.error_name = "org.freedesktop.systemd1.NoSuchUnit";
	/* Its population cannot be read, so nothing is stopped. */
	expect_failure(-EBUSY, do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), error,
		       "still has processes");
	put("cg/" POD "/cgroup.events", "populated 0\n");
	assert_true(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error) < 0);
	/* Unlike a cgroup's, this directory is not empty; the removal was attempted. */
	assert_non_null(strstr(error, "cannot remove the group"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_systemd, tear_down_systemd)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(slices_are_units),
		TEST(a_known_slice_is_started),
		TEST(names_must_match_their_path),
		TEST(each_value_is_a_property_too),
		TEST(rejected_value_is_not_a_property),
		TEST(missing_file_appears_with_its_property),
		TEST(a_freeze_is_ended_in_the_file),
		TEST(values_without_a_property_form),
		TEST(refusal_is_reported),
		TEST(failed_job_is_reported),
		TEST(reply_without_a_job_is_reported),
		TEST(lost_connection_is_reopened),
		TEST(missing_slice_is_not_written),
		TEST(open_fails_without_systemd),
		TEST(the_system_bus_is_the_second_choice),
		TEST(an_empty_container_is_noted),
		TEST(the_first_process_makes_the_scope),
		TEST(recreated_scope_has_its_last_values),
		TEST(taken_name_becomes_free),
		TEST(property_without_effect_is_written_to_the_file),
		TEST(noted_value_without_a_property_form),
		TEST(unknown_groups_are_not_joined),
		TEST(an_empty_slice_is_stopped),
		TEST(group_without_a_unit_name_is_removed),
		TEST(group_unknown_to_systemd_is_removed),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
