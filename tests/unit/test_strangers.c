// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * Walks over a made-up /proc: who is moved where, what is restored, and what a crash leaves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stranger_scene.h"

static void strangers_leave_and_come_back(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice/ssh.service", "0-7");
	put_thread(20, 21, "sshd", 1, USER, 21, "4");
	put_process(30, "quiet", 1, USER, 30, "user.slice", "2");
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
	expect_cpus(21, "0-3,6-7");
	expect_cpus(30, "2");
	assert_int_equal(report.nr_moved, 3);
	assert_int_equal(report.nr_held, 3);
	assert_string_equal(row_of(20)->cgroup, "/system.slice/ssh.service");
	assert_string_equal(row_of(20)->original, "0-7");
	assert_string_equal(row_of(20)->exclusive, "");
	assert_null(row_of(30));
	repair("4-7");
	expect_cpus(20, "0-3");
	repair("");
	expect_cpus(20, "0-7");
	expect_cpus(21, "4");
	expect_cpus(1, "0-7");
	assert_int_equal(report.nr_restored, 3);
	assert_int_equal(report.nr_held, 0);
	assert_int_equal(tasks[index_of(30)].nr_writes, 0);
}

static void the_owner_is_never_touched(void **state)
{
	put_process(51, "sidecar", 50, USER, 51, ROOT "/pod1/other", "4-7");
	put_process(52, "similar", 1, USER, 52, ROOT ".d/pod1", "4-7");
	repair("4-5");
	assert_int_equal(tasks[index_of(50)].nr_writes, 0);
	assert_null(row_of(50));
	/* Another container's cpuset is wrong then, and that is repaired elsewhere. */
	assert_int_equal(tasks[index_of(51)].nr_writes, 0);
	expect_state(51, STRANGER_STATE_CPUSET);
	/* A name that only begins alike is not below the workload root. */
	expect_cpus(52, "6-7");
}

static void kernel_threads_move_if_they_may(void **state)
{
	put_process(2, "kthreadd", 0, KTHREAD, 0, "", "0-7");
	put_process(10, "migration/4", 2, BOUND, 0, "", "4");
	put_process(11, "deaf", 2, KTHREAD, 0, "", "0-7");
	tasks[index_of(11)].error = -EINVAL;
	repair("4-5");
	expect_cpus(2, "0-3,6-7");
	expect_state(10, STRANGER_STATE_BOUND);
	assert_string_equal(row_of(10)->exclusive, "4");
	assert_int_equal(row_of(10)->kind, STRANGER_BOUND);
	expect_state(11, STRANGER_STATE_BOUND);
	repair("4-5");
	expect_state(11, STRANGER_STATE_BOUND);
	assert_int_equal(report.nr_failed, 0);
	/* It is not asked again. */
	assert_int_equal(tasks[index_of(11)].nr_tries, 1);
}

static void join_a_pod(void)
{
	put("proc/20/cgroup", "0::/" ROOT "/pod2/web\n");
}

/* Nobody would ever restore it there. */
static void who_joins_a_pod_before_the_write_is_left_alone(void **state)
{
	put_process(20, "job", 1, USER, 20, "user.slice", "0-7");
	meanwhile(1, join_a_pod);
	repair("4-5");
	expect_cpus(20, "0-7");
	assert_int_equal(tasks[index_of(20)].nr_tries, 0);
	assert_null(row_of(20));
}

static void who_joins_a_pod_during_the_write_is_widened_again(void **state)
{
	put_process(20, "job", 1, USER, 20, "user.slice", "0-7");
	meanwhile(20, join_a_pod);
	repair("4-5");
	expect_cpus(20, "0-7");
	assert_int_equal(tasks[index_of(20)].nr_tries, 2);
	assert_true(cpuset_has(&tasks[index_of(20)].asked, CPUSET_MAX - 1));
	assert_null(row_of(20));
}

static void children_are_restored_with_their_parents(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	put_process(22, "chosen", 1, USER, 22, "system.slice", "0-3");
	repair("4-7");
	put_process(40, "child", 20, USER, ticks + 1, "system.slice", "0-3");
	put_thread(20, 41, "thread", 1, USER, ticks + 1, "0-3");
	repair("4-7");
	put_process(60, "grandchild", 40, USER, ticks + 1, "system.slice", "0-3");
	repair("4-7");
	repair("");
	expect_cpus(40, "0-7");
	expect_cpus(41, "0-7");
	expect_cpus(60, "0-7");
	/* It had these CPUs before its parent had. */
	expect_cpus(22, "0-3");
	assert_int_equal(tasks[index_of(22)].nr_writes, 0);
}

/* Only the process is known of a parent, not which thread it was. */
static void children_of_any_thread_are_restored(void **state)
{
	put_process(20, "leader", 1, USER, 20, "system.slice", "0");
	put_thread(20, 21, "worker", 1, USER, 21, "0-7");
	repair("4-5");
	put_process(40, "child", 20, USER, ticks + 1, "system.slice", "0-3,6-7");
	repair("4-5");
	expect_state(40, STRANGER_STATE_MOVED);
	assert_string_equal(row_of(40)->original, "0-7");
	repair("");
	expect_cpus(40, "0-7");
	expect_cpus(20, "0");
}

/* Its parent made it and ended, so that one without our mask is its parent now. */
static void daemons_are_restored(void **state)
{
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-1");
	put_process(20, "shell", 1, USER, 20, "user.slice", "0-7");
	repair("4-5");
	put_process(40, "daemon", 1, USER, ticks + 1, "user.slice", "0-3,6-7");
	repair("4-5");
	repair("");
	expect_cpus(40, "0-7");
}

/* It does not lose its original because what it inherited is to be changed itself. */
static void children_that_reach_exclusive_cpus_are_restored(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	put_process(40, "child", 20, USER, ticks + 1, "system.slice", "0-3,6-7");
	repair("2-3");
	expect_cpus(40, "0-1,4-7");
	assert_string_equal(row_of(40)->original, "0-7");
	repair("");
	expect_cpus(40, "0-7");
}

static void fork_from_sshd(void)
{
	put_process(40, "child", 20, USER, ticks + 1, "system.slice", "0-3,6-7");
}

/* It has what its parent had until that moment. */
static void a_child_made_before_its_parent_is_restored_is_restored(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	meanwhile(20, fork_from_sshd);
	repair("");
	expect_cpus(40, "0-3,6-7");
	repair("");
	expect_cpus(40, "0-7");
	assert_int_equal(report.nr_restored, 1);
	repair("");
	assert_int_equal(tasks[index_of(40)].nr_writes, 1);
}

static void a_child_made_before_its_parent_changes_follows_it(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	meanwhile(20, fork_from_sshd);
	repair("4");
	repair("4");
	expect_cpus(40, "0-3,5-7");
	assert_string_equal(row_of(40)->original, "0-7");
	repair("");
	expect_cpus(40, "0-7");
}

/* The kernel shows what we wrote without the CPUs that a partition took away. */
static void what_a_partition_hid_is_restored_when_it_ends(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	write_from_outside(20, "0-1");
	repair("4-5");
	assert_int_equal(report.nr_narrowed, 1);
	repair("");
	walk(STRANGER_OBSERVE, "");
	restart();
	repair("");
	assert_int_equal(report.nr_held, 1);
	expect_cpus(20, "0-1");
	write_from_outside(20, "0-3,6-7");
	repair("");
	expect_cpus(20, "0-7");
	assert_int_equal(report.nr_held, 0);
	assert_int_equal(report.nr_narrowed, 0);
}

static void a_cpu_that_comes_back_is_no_foreign_change(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	online = known_online = cpuset_of_text("0-6");
	repair("4-5");
	assert_int_equal(report.nr_held, 2);
	/* The walk may see it before the agent is told. */
	online = cpuset_of_text("0-7");
	repair("4-5");
	assert_int_equal(report.nr_held, 2);
	/* Somebody else's choice is not taken for ours because of it. */
	write_from_outside(1, "0-2,7");
	repair("4-5");
	known_online = online;
	repair("");
	expect_cpus(20, "0-7");
	expect_cpus(1, "0-2,7");
}

static void a_choice_of_allowed_cpus_is_respected(void **state)
{
	put_process(20, "a", 1, USER, 20, "system.slice", "0-7");
	put_process(21, "b", 1, USER, 21, "system.slice", "0-7");
	repair("4-5");
	write_from_outside(20, "1");
	write_from_outside(21, "0-3");
	repair("4-5");
	repair("4-7");
	expect_cpus(20, "1");
	expect_cpus(21, "0-3");
	repair("");
	expect_cpus(20, "1");
}

/* The disk is not waited for where it has nothing new to keep. */
static void what_is_durable_is_not_saved_again(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_FILE, 0), 0);
	write_from_outside(20, "0-7");
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
	assert_int_equal(report.nr_reverted, 1);
	assert_false(has_file());
	write_from_outside(20, "2-5");
	repair("4-5");
	expect_cpus(20, "2-3");
	assert_true(has_file());
}

static void opponents_are_met_ever_more_rarely(void **state)
{
	put_process(20, "fighter", 1, USER, 20, "user.slice", "0-7");
	for (unsigned int i = 0; i < 64; i++) {
		write_from_outside(20, "0-7");
		repair("4-5");
	}
	/* The first move, three corrections at once, then with pauses of 1, 2, 4, 8, 16 and 32 s. */
	assert_int_equal(tasks[index_of(20)].nr_writes, 9);
	expect_state(20, STRANGER_STATE_CONTENDED);
	assert_string_equal(row_of(20)->exclusive, "4-5");
	assert_int_equal(row_of(20)->nr_reverts, 8);
	/* Once it is beaten, the next walk still names it, until it has been quiet for a while. */
	for (unsigned int i = 0; i < 300; i++)
		repair("4-5");
	expect_cpus(20, "0-3,6-7");
	expect_state(20, STRANGER_STATE_MOVED);
	assert_int_equal(row_of(20)->nr_reverts, 0);
}

static void observing_changes_nothing_but_what_was_changed(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	walk(STRANGER_OBSERVE, "4-5");
	expect_cpus(20, "0-7");
	expect_state(20, STRANGER_STATE_REACHES);
	assert_string_equal(row_of(20)->exclusive, "4-5");
	assert_false(has_file());
	repair("4-5");
	walk(STRANGER_OBSERVE, "4-5");
	expect_cpus(20, "0-7");
	walk(STRANGER_OBSERVE, "4-5");
	expect_state(20, STRANGER_STATE_REACHES);
}

static void originals_survive_a_restart(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	restart();
	repair("4-5");
	assert_int_equal(report.nr_moved, 0);
	assert_int_equal(report.nr_held, 2);
	assert_string_equal(row_of(20)->comm, "sshd");
	restart();
	repair("");
	expect_cpus(20, "0-7");
}

/* The file names what a task had and what it is to have; a crash may leave either. */
static void a_crash_leaves_either_affinity(void **state)
{
	static const char file[] = "{\"version\": 1, \"boot_id\": \"" BOOT "\", \"affinities\": ["
				   "{\"original\": \"0-7\", \"written\": \"0-3,6-7\","
				   " \"tasks\": [[20, 20, 1], [21, 21, 1]]},"
				   "{\"original\": \"0-7\", \"written\": \"0-3\","
				   " \"tasks\": [[20, 20, 1], [21, 21, 1]]}]}";

	put_process(20, "a", 1, USER, 20, "system.slice", "0-7");
	put_process(21, "b", 1, USER, 21, "system.slice", "0-7");
	repair("4-5");
	/* As the file is after the first save of a change from 4-5 to 4-7. */
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, file, strlen(file)), 0);
	write_from_outside(21, "0-3");
	restart();
	repair("4-7");
	expect_cpus(20, "0-3");
	expect_cpus(21, "0-3");
	assert_int_equal(report.nr_reverted, 0);
	repair("");
	expect_cpus(20, "0-7");
	expect_cpus(21, "0-7");
}

/* Else whoever was restored would be held for ever. */
static void a_crash_while_restoring_leaves_nobody_held(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	free(crashed_file);
	crashed_file = NULL;
	repair("");
	expect_cpus(20, "0-7");
	assert_non_null(crashed_file);
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, crashed_file, crashed_len),
			 0);
	restart();
	repair("");
	assert_int_equal(report.nr_held, 0);
	assert_int_equal(report.nr_restored, 0);
}

static void an_id_may_be_given_to_another_task(void **state)
{
	put_process(20, "first", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	end_process(20);
	put_process(20, "second", 1, USER, 900, "system.slice", "0-3,6-7");
	/* What was known was the affinity of the first. */
	repair("");
	expect_cpus(20, "0-3,6-7");
	assert_int_equal(tasks[index_of(20)].nr_writes, 0);
	put_process(20, "third", 1, USER, 1000, "system.slice", "0-7");
	repair("4-5");
	end_process(20);
	put_process(20, "fourth", 1, USER, 2000, "system.slice", "0-7");
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
	/* Nobody has set it back. */
	assert_int_equal(report.nr_reverted, 0);
}

static void nothing_moves_without_a_durable_original(void **state)
{
	const int whole_fd = run_fd;

	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	run_fd = -1;
	restart();
	repair("4-5");
	expect_cpus(20, "0-7");
	expect_state(20, STRANGER_STATE_REACHES);
	assert_int_equal(report.error, -EROFS);
	run_fd = whole_fd;
}

static void what_the_kernel_refuses_is_tried_later(void **state)
{
	put_process(20, "pinned", 1, USER, 20, "system.slice", "4");
	tasks[index_of(20)].error = -EPERM;
	repair("4-5");
	expect_state(20, STRANGER_STATE_FAILED);
	assert_int_equal(row_of(20)->error, -EPERM);
	assert_int_equal(report.nr_failed, 1);
	repair("4-5");
	assert_int_equal(report.nr_failed, 0);
	expect_state(20, STRANGER_STATE_FAILED);
	tasks[index_of(20)].error = 0;
	for (unsigned int i = 0; i < 10; i++)
		repair("4-5");
	expect_cpus(20, "0-3,6-7");
	expect_state(20, STRANGER_STATE_MOVED);
}

static void a_damaged_file_stops_nothing(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, "{", 1), 0);
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
}

static void a_name_may_contain_anything(void **state)
{
	struct thread_stat stat = {0};

	assert_int_equal(thread_stat_parse("7 (a) b (c) S 3 1 1 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 "
					   "1 0 4711 0",
					   &stat),
			 0);
	assert_string_equal(stat.comm, "a) b (c");
	assert_int_equal(stat.parent, 3);
	assert_int_equal(stat.start_ticks, 4711);
	assert_true(stat.is_kernel && stat.is_bound);
	assert_int_equal(thread_stat_parse("7 (a", &stat), -EINVAL);
	assert_int_equal(thread_stat_parse("", &stat), -EINVAL);
}

static void an_uninstall_restores_everybody(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	assert_int_equal(uninstall(), 0);
	expect_cpus(20, "0-7");
	expect_cpus(1, "0-7");
	expect_cpus(50, "4-5");
}

/* It would be as damaged at the next attempt. */
static void an_uninstall_gives_up_a_damaged_file(void **state)
{
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, "{", 1), 0);
	assert_int_equal(uninstall(), 0);
}

/* The second call is the one after the partition has been removed. */
static void an_uninstall_restores_what_a_partition_hid(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	write_from_outside(20, "0-1");
	assert_int_equal(uninstall(), 0);
	expect_cpus(20, "0-1");
	write_from_outside(20, "0-3,6-7");
	assert_int_equal(uninstall(), 0);
	expect_cpus(20, "0-7");
}

static void an_uninstall_restores_who_is_made_meanwhile(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	meanwhile(20, fork_from_sshd);
	assert_int_equal(uninstall(), 0);
	expect_cpus(40, "0-7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(strangers_leave_and_come_back),
		ROW(the_owner_is_never_touched),
		ROW(kernel_threads_move_if_they_may),
		ROW(who_joins_a_pod_before_the_write_is_left_alone),
		ROW(who_joins_a_pod_during_the_write_is_widened_again),
		ROW(children_are_restored_with_their_parents),
		ROW(children_of_any_thread_are_restored),
		ROW(daemons_are_restored),
		ROW(children_that_reach_exclusive_cpus_are_restored),
		ROW(a_child_made_before_its_parent_is_restored_is_restored),
		ROW(a_child_made_before_its_parent_changes_follows_it),
		ROW(what_a_partition_hid_is_restored_when_it_ends),
		ROW(a_cpu_that_comes_back_is_no_foreign_change),
		ROW(a_choice_of_allowed_cpus_is_respected),
		ROW(what_is_durable_is_not_saved_again),
		ROW(opponents_are_met_ever_more_rarely),
		ROW(observing_changes_nothing_but_what_was_changed),
		ROW(originals_survive_a_restart),
		ROW(a_crash_leaves_either_affinity),
		ROW(a_crash_while_restoring_leaves_nobody_held),
		ROW(an_id_may_be_given_to_another_task),
		ROW(nothing_moves_without_a_durable_original),
		ROW(what_the_kernel_refuses_is_tried_later),
		ROW(a_damaged_file_stops_nothing),
		ROW(a_name_may_contain_anything),
		ROW(an_uninstall_restores_everybody),
		ROW(an_uninstall_gives_up_a_damaged_file),
		ROW(an_uninstall_restores_what_a_partition_hid),
		ROW(an_uninstall_restores_who_is_made_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
