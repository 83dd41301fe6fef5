// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The CPU lists of the host's groups on a made-up tree: who gets one, who does not, what is undone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "refused_calls.h"

#include "cgroup/host_saved.h"
#include "cgroup_port_scene.h"
#include "format/error.h"
#include "host_scene.h"
#include "lib/text.h"

#include <pinfold/names.h>

static int set_up_host(void **state)
{
	int r = open_port(state);

	return r || geteuid() ? r : open_host_scene();
}

static int tear_down_host(void **state)
{
	close_host_scene();
	return close_port(state);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_host, tear_down_host)

/* The kernel would show the new list as the effective one, too. */
static void confine(const char *allowed, const char *exclusive)
{
	char list[64];

	snprintf(list, sizeof(list), "%s\n", allowed);
	put("cg/system.slice/cpuset.cpus.effective", list);
	put("cg/user.slice/cpuset.cpus.effective", list);
	assert_int_equal(pass_of(host, HOST_CONFINE, allowed, exclusive), 0);
}

static void groups_follow_the_pool(void **state)
{
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.nr_held, 2);
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.error, 0);
	expect_list("system.slice", "0-1,6-15");
	expect_list("user.slice", "0-1,6-15");
	expect_list("pinfold.slice", "2-15");
	put("cg/system.slice/cpuset.cpus", "");
	put("cg/user.slice/cpuset.cpus", "");
	confine("0-1,8-15", "2-7");
	expect_list("system.slice", "0-1,8-15");
}

/* They may come after the agent's start, or be in no pool. */
static void cpus_that_no_pod_holds_stay(void **state)
{
	put("sys/devices/system/cpu/possible", "0-31\n");
	put("cg/system.slice/cpuset.cpus.effective", "0-1,6-31\n");
	put("cg/user.slice/cpuset.cpus.effective", "0-1,6-31\n");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	expect_list("system.slice", "0-1,6-31");
}

static void restored_lists_are_empty(void **state)
{
	confine("0-1,6-15", "2-5");
	assert_true(exists("state/host.json"));
	put("cg/system.slice/cpuset.cpus", "0-1,6-15\n");
	assert_int_equal(pass_of(host, HOST_RESTORE, "", ""), 0);
	assert_int_equal(report.nr_held, 0);
	/* A plain file keeps the tail of what a shorter write leaves. */
	assert_int_equal(get("cg/system.slice/cpuset.cpus")[0], '\n');
}

static void nothing_is_undone_that_was_not_done(void **state)
{
	put("cg/system.slice/cpuset.cpus", "0-3\n");
	assert_int_equal(pass_of(host, HOST_RESTORE, "", ""), 0);
	expect_list("system.slice", "0-3");
	assert_false(exists("state/host.json"));
}

static void other_owners_are_left_alone(void **state)
{
	put("cg/user.slice/cpuset.cpus", "0-7\n");
	put_group("machine.slice", "\n", "0-15\n", true);
	put_group("docker", "\n", "0-1\n", true);
	put_group("lxc", "\n", "0-15\n", false);
	confine("0-1,6-15", "2-5");
	put("cg/user.slice/cpuset.cpus.effective", "0-7\n");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	expect_list("user.slice", "0-7");
	expect_list("machine.slice", "");
	/* docker keeps off the exclusive CPUs, and lxc has no processes */
	assert_int_equal(report.nr_foreign, 2);
	assert_true(!strcmp(report.foreign, "user.slice") ||
		    !strcmp(report.foreign, "machine.slice"));
	assert_non_null(report.why_foreign);
	assert_int_equal(report.nr_held, 1);
}

static void pods_of_a_runtime_are_not_the_hosts(void **state)
{
	struct host_request request = {
		.mode = HOST_CONFINE,
		.taken = cpuset_of_text("2-5"),
		.exclusive = cpuset_of_text("2-5"),
		.has_runtime = true,
	};
	const struct host_port host_calls = host_port(host);

	put_group("kubepods.slice", "\n", "0-15\n", true);
	/* with the kubelet's --cgroup-root */
	put_group("kubelet.slice", "\n", "0-15\n", true);
	put_group("kubelet.slice/kubelet-kubepods.slice", "\n", "0-15\n", true);
	/* no pods */
	put_group("system.slice/kubepods-cleanup.service", "\n", "0-15\n", true);
	assert_int_equal(host_calls.pass(host_calls.self, &request), 0);
	expect_list("kubepods.slice", "");
	expect_list("kubelet.slice", "");
	expect_list("system.slice", "0-1,6-15");
	assert_int_equal(report.nr_foreign, 0);
}

static void a_group_in_which_a_kubelet_starts_is_released(void **state)
{
	put_group("kubelet.slice", "\n", "0-1,6-15\n", true);
	confine("0-1,6-15", "2-5");
	expect_list("kubelet.slice", "0-1,6-15");
	put_group("kubelet.slice/kubelet-kubepods.slice", "\n", "0-15\n", true);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	expect_list("kubelet.slice", "");
	expect_list("system.slice", "0-1,6-15");
	assert_int_equal(report.nr_failed, 0);
	assert_int_equal(report.nr_held, 2);
}

static void a_list_that_somebody_wrote_since_is_theirs(void **state)
{
	confine("0-1,6-15", "2-5");
	put("cg/system.slice/cpuset.cpus", "0-14\n");
	put("cg/system.slice/cpuset.cpus.effective", "0-14\n");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	expect_list("system.slice", "0-14");
	assert_int_equal(report.nr_held, 1);
	assert_string_equal(report.foreign, "system.slice");
	assert_int_equal(pass_of(host, HOST_RESTORE, "", ""), 0);
	expect_list("system.slice", "0-14");
}

static void a_list_stays_ours_while_saving_fails(void **state)
{
	char path[160];

	confine("0-1,6-15", "2-5");
	/* Nothing can replace the file. */
	snprintf(path, sizeof(path), "%s/state/host.json", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,8-15", "2-7"), 0);
	assert_true(report.error < 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,10-15", "2-9"), 0);
	assert_true(report.error < 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,10-15", "2-9"), 0);
	expect_list("system.slice", "0-1,6-15");
	assert_int_equal(report.nr_held, 2);
	assert_int_equal(report.nr_foreign, 0);
	assert_int_equal(rmdir(path), 0);
	put("cg/system.slice/cpuset.cpus", "0-1,6-15\n");
	put("cg/system.slice/cpuset.cpus.effective", "0-1,10-15\n");
	pass_of(host, HOST_CONFINE, "0-1,10-15", "2-9");
	assert_int_equal(report.error, 0);
	assert_int_equal(report.nr_held, 2);
}

/* An agent that was uninstalled could not empty the list, and its file is gone. */
static void a_list_of_all_cpus_is_none(void **state)
{
	put("cg/system.slice/cpuset.cpus", "0-15\n");
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.nr_held, 2);
	expect_list("system.slice", "0-1,6-15");
}

static void a_group_that_cannot_be_opened_is_not_forgotten(void **state)
{
	char path[160], aside[160];

	confine("0-1,6-15", "2-5");
	snprintf(path, sizeof(path), "%s/cg/user.slice", root);
	snprintf(aside, sizeof(aside), "%s/cg/.aside", root);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, NULL), 0);
	pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5");
	assert_int_equal(umount(path), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(pass_result, 0);
	assert_int_equal(report.nr_held, 2);
	assert_non_null(strstr(get("state/host.json"), "user.slice"));
}

static void the_next_agent_knows_the_lists(void **state)
{
	confine("0-1,6-15", "2-5");
	host_close(host);
	host = open_host(BOOT);
	put("cg/user.slice/cpuset.cpus", "");
	put("cg/user.slice/cpuset.cpus.effective", "0-1,8-15\n");
	put("cg/system.slice/cpuset.cpus.effective", "0-1,8-15\n");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,8-15", "2-7"), 0);
	assert_int_equal(report.nr_held, 2);
	assert_int_equal(report.nr_foreign, 0);
	expect_list("user.slice", "0-1,8-15");
}

static void the_file_of_another_boot_means_nothing(void **state)
{
	confine("0-1,6-15", "2-5");
	host_close(host);
	host = open_host("boot-2");
	assert_int_equal(pass_of(host, HOST_RESTORE, "", ""), 0);
	expect_list("system.slice", "0-1,6-15");
}

static void a_damaged_file_stops_everything(void **state)
{
	put("state/host.json", "{\"version\": 1, \"boot_id\": \"boot-1\", \"groups\": [{}]}");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.error, -EBADMSG);
	assert_non_null(strstr(report.problem, "host.json"));
	expect_list("system.slice", "");
}

static void nothing_is_written_before_its_name_is_saved(void **state)
{
	close(state_fd);
	host_close(host);
	state_fd = -1;
	host = open_host(BOOT);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.error, -EROFS);
	expect_list("system.slice", "");
}

static void a_write_that_fails_is_reported(void **state)
{
	/* The effective list is not what was written. */
	put("cg/user.slice/cpuset.cpus.effective", "0-1,6-15\n");
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.nr_failed, 1);
	assert_non_null(strstr(report.failure, "system.slice/cpuset.cpus.effective is 0-15"));
}

static void show_task(pid_t pid, unsigned int flags, const char *cpus)
{
	char name[64], text[64];

	show_process(pid, flags, "");
	snprintf(name, sizeof(name), "proc/%d/status", pid);
	snprintf(text, sizeof(text), "Name:\tx\nCpus_allowed_list:\t%s\n", cpus);
	put(name, text);
}

static void what_escapes_is_counted(void **state)
{
	put("cg/cgroup.procs", "2\n30\n31\n40\n41\n42\n");
	show_task(2, 0x00200000, "0-15");
	show_task(30, 0x04200000, "3");
	show_task(31, 0x00200000, "0-1");
	show_task(40, 0, "0-15");
	show_task(41, 0, "0-1,6-15");
	/* 42 has ended */
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.nr_kthreads, 1);
	assert_int_equal(report.nr_processes, 1);
}

static void root_tasks_that_cannot_be_read_are_not_counted(void **state)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/cg/cgroup.procs", root);
	unlink(path);
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.nr_held, 2);
	assert_int_equal(report.nr_processes, 0);
	assert_int_equal(report.count_error, -ENOENT);
}

/* The kernel threads of a large machine are there, and each has some bytes. */
static void many_root_tasks_are_counted(void **state)
{
	enum { NR_MANY = 200000 };
	char *list cleanup_free = malloc(NR_MANY * 7 + 4);

	assert_non_null(list);
	for (unsigned int i = 0; i < NR_MANY; i++)
		memcpy(list + i * 7, "999999\n", 7);
	memcpy(list + NR_MANY * 7, "40\n", 4);
	put("cg/cgroup.procs", list);
	show_task(40, 0, "0-15");
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.count_error, 0);
	assert_int_equal(report.nr_processes, 1);
}

/* Not "none", nor one less, because memory or descriptors ran out. */
static void an_incomplete_count_is_none(void **state)
{
	static const char *const files[] = {"cgroup.procs", "proc/40/stat", "proc/40/status"};

	put("cg/cgroup.procs", "40\n");
	show_task(40, 0, "0-15");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		refuse("openat", files[i], EMFILE);
		confine("0-1,6-15", "2-5");
		refuse_nothing();
		assert_int_equal(report.count_error, -EMFILE);
	}
	confine("0-1,6-15", "2-5");
	assert_int_equal(report.count_error, 0);
	assert_int_equal(report.nr_processes, 1);
}

/* It may be a kubelet's, so nothing is written before that is known. */
static void a_group_that_cannot_be_listed_is_not_judged(void **state)
{
	put_group("system.slice/kubepods", "\n", "0-15\n", true);
	refuse_some("openat", ".", EMFILE, 1, 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), -EMFILE);
	/* One that was removed meanwhile is no host's, nor anybody's. */
	refuse_some("openat", ".", ENOENT, 1, 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.nr_foreign, 0);
	assert_int_equal(report.nr_held, 0);
	refuse_nothing();
	expect_list("system.slice", "");
	expect_list("user.slice", "");
	confine("0-1,6-15", "2-5");
	expect_list("system.slice", "");
	expect_list("user.slice", "0-1,6-15");
}

static void a_group_that_goes_is_forgotten(void **state)
{
	char path[160];

	confine("0-1,6-15", "2-5");
	empty_directory("user.slice");
	snprintf(path, sizeof(path), "%s/cg/user.slice", root);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(pass_of(host, HOST_CONFINE, "0-1,6-15", "2-5"), 0);
	assert_int_equal(report.nr_held, 1);
	assert_null(strstr(get("state/host.json"), "user.slice"));
}

static void an_uninstall_restores(void **state)
{
	const struct host_options host_options = {
		.groups = groups, .state_fd = state_fd, .boot_id = BOOT};

	assert_int_equal(host_restore(&host_options), 0);
	confine("0-1,6-15", "2-5");
	assert_int_equal(host_restore(&host_options), 0);
	assert_int_equal(get("cg/system.slice/cpuset.cpus")[0], '\n');
	put("state/host.json", "{");
	assert_int_equal(host_restore(&host_options), -EBADMSG);
}

static void files_are_read_as_written(void **state)
{
	static const char *const bad[] = {
		"{\"group\": \"a/b\", \"written\": \"1\"}",
		"{\"group\": \"..\", \"written\": \"1\"}",
		"{\"group\": \"\", \"written\": \"1\"}",
		"{\"group\": \"a\"}",
		"{\"group\": \"a\", \"written\": \"\"}",
		"{\"group\": \"a\", \"written\": \"x\"}",
		"{\"group\": \"a\", \"written\": \"1\", \"before\": \"y\"}",
	};
	struct host_table table = {0}, read = {0};
	struct text text cleanup_text = {0};
	struct format_error error = {0};
	struct host_entry *entry = host_table_add(&table, "a.slice");
	char whole[256];

	entry->written = cpuset_of_text("0-3");
	entry = host_table_add(&table, "b.slice");
	entry->written = cpuset_of_text("0-3");
	entry->before = cpuset_of_text("4");
	host_saved_encode(&table, BOOT, &text);
	assert_int_equal(host_saved_decode(text.data, text.len, BOOT, &error, &read), 0);
	assert_int_equal(read.nr, 2);
	entry = host_table_find(&read, "b.slice");
	assert_true(cpuset_has(&entry->before, 4) && cpuset_has(&entry->written, 3));
	assert_true(cpuset_is_empty(&host_table_find(&read, "a.slice")->before));
	assert_null(host_table_find(&read, "c.slice"));
	assert_int_equal(host_saved_decode(text.data, text.len, "other", &error, &read), -ESTALE);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(whole, sizeof(whole),
			 "{\"version\": 1, \"boot_id\": \"" BOOT "\", \"groups\": [%s]}", bad[i]);
		assert_int_equal(host_saved_decode(whole, strlen(whole), BOOT, &error, &read),
				 -EBADMSG);
	}
	host_table_fini(&table);
	host_table_fini(&read);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HOST_TEST(groups_follow_the_pool),
		HOST_TEST(cpus_that_no_pod_holds_stay),
		HOST_TEST(restored_lists_are_empty),
		HOST_TEST(nothing_is_undone_that_was_not_done),
		HOST_TEST(other_owners_are_left_alone),
		HOST_TEST(pods_of_a_runtime_are_not_the_hosts),
		HOST_TEST(a_group_in_which_a_kubelet_starts_is_released),
		HOST_TEST(a_list_that_somebody_wrote_since_is_theirs),
		HOST_TEST(a_list_stays_ours_while_saving_fails),
		HOST_TEST(a_list_of_all_cpus_is_none),
		HOST_TEST(a_group_that_cannot_be_opened_is_not_forgotten),
		HOST_TEST(the_next_agent_knows_the_lists),
		HOST_TEST(the_file_of_another_boot_means_nothing),
		HOST_TEST(a_damaged_file_stops_everything),
		HOST_TEST(nothing_is_written_before_its_name_is_saved),
		HOST_TEST(a_write_that_fails_is_reported),
		HOST_TEST(what_escapes_is_counted),
		HOST_TEST(root_tasks_that_cannot_be_read_are_not_counted),
		HOST_TEST(many_root_tasks_are_counted),
		HOST_TEST(an_incomplete_count_is_none),
		HOST_TEST(a_group_that_cannot_be_listed_is_not_judged),
		HOST_TEST(a_group_that_goes_is_forgotten),
		HOST_TEST(an_uninstall_restores),
		HOST_TEST(files_are_read_as_written),
	};

	return RUN_AS_ROOT(tests);
}
