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

#include "cgroup/systemd.h"
#include "fake_systemd.h"
#include "lib/log.h"

#define POD   "pinfold.slice/pinfold-poda.slice"
#define SCOPE POD "/pinfold-a-main.scope"

static struct groups *groups;
static struct groups_port port;

static int set_up_systemd(void **state)
{
	int r = set_up(state);

	/* Never the machine's own, should the private socket not be found. */
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	if (r)
		return r;
	fake_systemd_start("run/systemd/private");
	groups = open_as(GROUPS_LAYOUT_SYSTEMD, true);
	port = groups_port(groups);
	return 0;
}

static int tear_down_systemd(void **state)
{
	groups_close(groups);
	groups = NULL;
	fake_systemd_stop();
	return tear_down(state);
}

static int do_step(enum step_kind kind, enum group_role role, const char *path,
		   enum group_file file, const char *value, char *error)
{
	struct step step = {.kind = kind, .role = role, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	if (role != GROUP_ROOT)
		strcpy(step.uid, "a");
	if (role == GROUP_CONTAINER)
		strcpy(step.container, "main");
	error[0] = '\0';
	return port.apply(port.self, &step, error);
}

static void create(enum group_role role, const char *path)
{
	char error[GROUP_ERROR_MAX];

	if (do_step(STEP_CREATE, role, path, 0, NULL, error))
		fail_msg("%s", error);
}

static void write_file(enum group_role role, const char *path, enum group_file file,
		       const char *value)
{
	char error[GROUP_ERROR_MAX];

	if (do_step(STEP_WRITE, role, path, file, value, error))
		fail_msg("%s", error);
}

static void expect_failure(int wanted, int r, const char *error, const char *part)
{
	assert_int_equal(r, wanted);
	if (!strstr(error, part))
		fail_msg("'%s' does not say '%s'", error, part);
}

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
	/* What is there is not asked for again. */
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("");
}

/* A unit file of the administrator's, or a unit of an earlier life: it is started. */
static void a_known_slice_is_started(void **state)
{
	fake_systemd.nr_exists = 1;
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("StartTransientUnit pinfold.slice fail exists\n"
		     "StartUnit pinfold.slice fail\n");
}

static void names_must_fit_their_place(void **state)
{
	static const char *const paths[] = {"pinfold.slice/other.slice", "plain", "plain/x.scope"};
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		expect_failure(-EINVAL, do_step(STEP_CREATE, GROUP_POD, paths[i], 0, NULL, error),
			       error, "is no place for a unit of systemd");
		expect_failure(-EINVAL,
			       do_step(STEP_WRITE, GROUP_POD, paths[i], GROUP_CPUSET_CPUS, "1",
				       error),
			       error, "is no place for a unit of systemd");
		expect_failure(-EINVAL, do_step(STEP_REMOVE, GROUP_POD, paths[i], 0, NULL, error),
			       error, "is no place for a unit of systemd");
	}
	expect_calls("");
}

/* --- properties ---------------------------------------------------------------------------------------- */

/* The kernel's file has it already: systemd is told all the same, or it puts an older value back. */
static void each_value_is_a_property_too(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	write_file(GROUP_POD, POD, GROUP_CPUSET_CPUS, "2-5,9");
	expect_calls("SetUnitProperties pinfold-poda.slice runtime=1 AllowedCPUs=2-5,9\n");
	assert_string_equal(get("cg/" POD "/cpuset.cpus"), "2-5,9");
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

/* What the kernel refuses must not become a property, which is written at each reload. */
static void a_value_the_file_refuses_is_no_property(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	*fake_systemd.calls = '\0';
	/* An empty list is refused where processes are. */
	put("cg/pinfold.slice/cgroup.events", "populated 1\n");
	put("cg/pinfold.slice/cpuset.cpus", "2-15\n");
	expect_failure(-EINVAL,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPUSET_CPUS, "",
			       error),
		       error, "refusing to write an empty list");
	expect_calls("");
}

/* systemd enables a controller, and with it makes the file, once a property needs it. */
static void a_file_that_is_missing_comes_with_its_property(void **state)
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

static void values_that_are_no_words_for_systemd(void **state)
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
			       error, "in words for systemd");
	expect_calls("");
}

/* --- refusals and losses --------------------------------------------------------------------------------- */

static void a_refusal_is_told(void **state)
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

static void a_job_that_fails_is_told(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.job_result = "failed";
	expect_failure(-ECANCELED,
		       do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error), error,
		       "pinfold.slice: systemd's job ended with 'failed'");
}

static void an_answer_without_a_job_is_told(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.wrong_job = true;
	expect_failure(-ENXIO, do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error),
		       error, "systemd's answer names no job");
}

/* systemd drops its connections when it re-executes itself; the next call makes a new one. */
static void a_lost_connection_is_made_again(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.hang_up = true;
	assert_true(do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error) < 0);
	assert_string_not_equal(error, "");
	create(GROUP_ROOT, "pinfold.slice");
	assert_true(exists("cg/pinfold.slice"));
	/* A removal makes it again as well. */
	create(GROUP_POD, POD);
	fake_systemd.hang_up = true;
	assert_true(do_step(STEP_CREATE, GROUP_POD, "pinfold.slice/pinfold-podb.slice", 0, NULL,
			    error) < 0);
	*fake_systemd.calls = '\0';
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("StopUnit pinfold-poda.slice fail\n");
}

/* Only a scope may be without its group; a slice that is gone is a failure. */
static void a_slice_that_is_gone_is_not_written(void **state)
{
	char error[GROUP_ERROR_MAX];

	expect_failure(-ENOENT,
		       do_step(STEP_WRITE, GROUP_ROOT, "pinfold.slice", GROUP_CPU_WEIGHT, "7",
			       error),
		       error, "pinfold.slice");
}

static void without_systemd_nothing_opens(void **state)
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
	/* Who may not write needs nobody to write. */
	again.may_write = false;
	assert_int_equal(groups_open(&again, &none, &problem, error), 0);
	groups_close(none);
}

/* Where the private socket is closed to us the system bus serves, once it is subscribed to. */
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
	assert_int_equal(port.observe(port.self, tree), 0);
	return group_tree_find(tree, path);
}

/* A scope cannot be without a process; until then it is shown as it will be. */
static void an_empty_container_is_noted(void **state)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
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
	struct group_tree tree cleanup(group_tree_fini) = {0};
	char error[GROUP_ERROR_MAX];

	note_scope();
	if (join_self(SCOPE, error))
		fail_msg("%s", error);
	expect_calls(SCOPE_CALL("4-5"));
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4-5");
	assert_string_equal(get("cg/" SCOPE "/cpu.weight"), "79\n");
	/* Once it is there it stands in the kernel, not in the notes; another one is attached. */
	assert_true(observed(&tree, SCOPE)->populated);
	assert_int_equal(join_self(SCOPE, error), 0);
	expect_calls("AttachProcessesToUnit pinfold-a-main.scope '' self\n");
}

/* What is written while the scope is there is noted too: its next life begins with it. */
static void a_scope_comes_back_with_its_last_values(void **state)
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

/* The name of a scope that has just ended is free when systemd has collected it. */
static void a_name_that_is_taken_becomes_free(void **state)
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

/* systemd took the property and the kernel did not: the file is written, and read back. */
static void a_property_without_effect_is_written(void **state)
{
	char error[GROUP_ERROR_MAX];

	note_scope();
	fake_systemd.properties_are_odd = true;
	assert_int_equal(join_self(SCOPE, error), 0);
	assert_string_equal(get("cg/" SCOPE "/cpuset.cpus"), "4-5");
}

static void strangers_are_not_joined(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	expect_failure(-ENOENT, join_self(SCOPE, error), error,
		       "not a container that pinfold holds; is its pod admitted?");
	expect_failure(-EINVAL, join_self("plain/x", error), error, "is no place for a unit");
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
	/* Gone already: nothing to do. */
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("");
}

/* A group that systemd does not know is a directory, and removed as one. */
static void a_group_systemd_does_not_know_is_removed(void **state)
{
	char error[GROUP_ERROR_MAX], path[256];

	create(GROUP_ROOT, "pinfold.slice");
	snprintf(path, sizeof(path), "%s/cg/" POD, root);
	assert_int_equal(mkdir(path, 0755), 0);
	fake_systemd.error_name = "org.freedesktop.systemd1.NoSuchUnit";
	/* Not even its population can be told, so nothing is stopped. */
	expect_failure(-EBUSY, do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), error,
		       "still has processes");
	put("cg/" POD "/cgroup.events", "populated 0\n");
	assert_true(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error) < 0);
	/* The directory is not empty here as a cgroup would be; it was tried. */
	assert_non_null(strstr(error, "cannot remove the group"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_systemd, tear_down_systemd)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(slices_are_units),
		TEST(a_known_slice_is_started),
		TEST(names_must_fit_their_place),
		TEST(each_value_is_a_property_too),
		TEST(a_value_the_file_refuses_is_no_property),
		TEST(a_file_that_is_missing_comes_with_its_property),
		TEST(values_that_are_no_words_for_systemd),
		TEST(a_refusal_is_told),
		TEST(a_job_that_fails_is_told),
		TEST(an_answer_without_a_job_is_told),
		TEST(a_lost_connection_is_made_again),
		TEST(a_slice_that_is_gone_is_not_written),
		TEST(without_systemd_nothing_opens),
		TEST(the_system_bus_is_the_second_choice),
		TEST(an_empty_container_is_noted),
		TEST(the_first_process_makes_the_scope),
		TEST(a_scope_comes_back_with_its_last_values),
		TEST(a_name_that_is_taken_becomes_free),
		TEST(a_property_without_effect_is_written),
		TEST(strangers_are_not_joined),
		TEST(an_empty_slice_is_stopped),
		TEST(a_group_systemd_does_not_know_is_removed),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
