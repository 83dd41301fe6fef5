// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * One walk in detail: whose a task is, whose original a child inherits, what the kernel refuses, when
 * the file of originals is written, and what the report says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "format/error.h"
#include "lib/clock.h"
#include "refused_calls.h"
#include "stranger_scene.h"

#define TEMPORARY "." PINFOLD_STRANGERS_FILE ".tmp"

/* Process 1 of the scene is nobody's stranger any more. */
static void leave_init_alone(void)
{
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-1");
}

static void remove_stat(pid_t process, pid_t thread)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", root, (int)process, (int)thread);
	assert_int_equal(unlink(path), 0);
}

/* --- whose a task is ----------------------------------------------------------------------------- */

/* The cgroups themselves, not only those below them. */
static void cgroups_include_themselves(void **state)
{
	put_process(20, "owner", 1, USER, 20, OWNER, "4-5");
	put_process(21, "pod", 1, USER, 21, ROOT, "4-5");
	repair("4-5");
	assert_null(row_of(20));
	expect_state(21, STRANGER_STATE_CPUSET);
	assert_int_equal(row_of(21)->kind, STRANGER_POD);
	assert_string_equal(row_of(21)->cgroup, "/" ROOT);
	assert_string_equal(row_of(21)->exclusive, "4-5");
}

static void only_cpus_of_others_are_reached(void **state)
{
	const struct stranger_owner owner = {.path = OWNER, .cpus = cpuset_of_text("4-5")};
	struct stranger_request request = {.mode = STRANGER_REPAIR,
					   .workload_root = ROOT,
					   .nr_owners = 1,
					   .owners = &owner,
					   .now_ns = S};
	const struct stranger_port port = strangers_port(strangers);

	put_process(20, "wide", 1, USER, 20, OWNER, "3-6");
	request.cpus.exclusive = cpuset_of_text("4-7");
	request.cpus.allowed = cpuset_of_text("0-3");
	request.cpus.online = known_online;
	assert_int_equal(port.walk(port.self, &request), 0);
	expect_state(20, STRANGER_STATE_CPUSET);
	assert_string_equal(row_of(20)->exclusive, "6");
}

/* It may belong to a container. */
static void who_has_no_known_cgroup_is_left_alone(void **state)
{
	put_thread(20, 20, "unknown", 1, USER, 20, "0-7");
	/* Its cgroup is not taken for that of the unknown one, which is read next on some systems. */
	put_process(30, "known", 1, USER, 30, "user.slice", "0-7");
	repair("4-5");
	expect_cpus(30, "0-3,6-7");
	expect_state(20, STRANGER_STATE_CPUSET);
	assert_null(row_of(20)->cgroup);
	assert_string_equal(row_of(20)->exclusive, "4-5");
	assert_int_equal(tasks[index_of(20)].nr_tries, 0);
}

/* Those of vhost may be kernel threads in the cgroup of their virtual machine. */
static void kernel_threads_may_belong_to_a_container(void **state)
{
	put_process(20, "vhost-50", 2, KTHREAD, 20, OWNER, "4-5");
	put_process(21, "vhost-60", 2, KTHREAD, 21, ROOT "/pod2/vm", "3-4");
	repair("4-5");
	assert_null(row_of(20));
	expect_state(21, STRANGER_STATE_CPUSET);
	assert_int_equal(tasks[index_of(20)].nr_tries, 0);
	assert_int_equal(tasks[index_of(21)].nr_tries, 0);
}

static void attach_to_a_pod(void)
{
	put("proc/20/cgroup", "0::/" OWNER "\n");
}

static void a_kernel_thread_that_joins_a_pod_before_the_write_is_left_alone(void **state)
{
	put_process(20, "vhost-50", 2, KTHREAD, 20, "", "0-7");
	meanwhile(1, attach_to_a_pod);
	repair("4-5");
	assert_int_equal(tasks[index_of(20)].nr_tries, 0);
}

/* The id of a thread that could not be moved may be given to one that can. */
static void who_has_the_id_of_a_deaf_thread_is_moved(void **state)
{
	put_process(11, "deaf", 2, KTHREAD, 11, "", "0-7");
	tasks[index_of(11)].error = -EINVAL;
	repair("4-5");
	expect_state(11, STRANGER_STATE_BOUND);
	end_process(11);
	put_process(11, "job", 1, USER, ticks + 1, "user.slice", "0-7");
	tasks[index_of(11)].error = 0;
	repair("4-5");
	expect_cpus(11, "0-3,6-7");
	assert_int_equal(row_of(11)->kind, STRANGER_TASK);
}

static void what_is_known_of_a_task_is_shown_again(void **state)
{
	put_process(2, "kthreadd", 0, KTHREAD, 2, "", "0-7");
	for (unsigned int i = 0; i < 3; i++) {
		repair("4-5");
		assert_int_equal(report.nr, 2);
		assert_int_equal(row_of(2)->kind, STRANGER_KTHREAD);
		assert_int_equal(row_of(2)->process, 2);
		assert_string_equal(row_of(2)->comm, "kthreadd");
		assert_string_equal(row_of(2)->cgroup, "/");
		assert_string_equal(row_of(1)->comm, "systemd");
		assert_string_equal(row_of(1)->cgroup, "/init.scope");
	}
}

/* --- tasks that end ------------------------------------------------------------------------------ */

static void who_ends_before_it_is_looked_at_is_no_stranger(void **state)
{
	leave_init_alone();
	put_process(20, "brief", 1, USER, 20, "user.slice", "0-7");
	remove_stat(20, 20);
	put_process(21, "gone", 1, USER, 21, "user.slice", "0-7");
	tasks[index_of(21)].thread = 0;
	repair("4-5");
	assert_int_equal(report.nr, 0);
	/* Nothing was to be written, so the disk was not waited for. */
	assert_false(has_file());
}

static void end_of_20(void)
{
	end_process(20);
}

/* Both were moved before, and set back since. */
static void who_ends_or_joins_a_pod_before_the_write_is_forgotten(void **state)
{
	static void (*const acts[])(void) = {end_of_20, attach_to_a_pod, NULL};

	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		put_process(20, "job", 1, USER, 20, "user.slice", "0-7");
		repair("4-5");
		assert_int_equal(report.nr_held, 2);
		write_from_outside(1, "0-7");
		write_from_outside(20, "0-7");
		if (acts[i])
			meanwhile(1, acts[i]);
		else
			tasks[index_of(20)].error = -ESRCH;
		repair("4-5");
		expect_cpus(1, "0-3,6-7");
		assert_null(row_of(20));
		assert_int_equal(report.nr_held, 1);
		assert_int_equal(report.nr_failed, 0);
	}
}

/* --- whose original a child inherits ------------------------------------------------------------- */

/* Three tasks with the same CPUs now, who had different ones before. */
static void a_child_inherits_from_its_parent_first(void **state)
{
	put_process(10, "before", 1, USER, 10, "user.slice", "0-4");
	put_process(20, "parent", 1, USER, 20, "user.slice", "0-5");
	put_process(30, "after", 1, USER, 30, "user.slice", "0-6");
	repair("4-7");
	put_process(40, "child", 20, USER, ticks + 1, "user.slice", "0-3");
	put_thread(20, 41, "thread", 1, USER, ticks + 1, "0-3");
	repair("4-7");
	assert_string_equal(row_of(40)->original, "0-5");
	assert_string_equal(row_of(41)->original, "0-5");
}

/* It began after the look at its parent, or before: nobody knows. It is not left narrow for ever. */
static void a_child_of_the_tick_in_which_its_parent_was_moved_is_restored(void **state)
{
	put_process(20, "parent", 1, USER, 20, "user.slice", "0-5");
	repair("4-7");
	put_process(40, "child", 20, USER, ticks, "user.slice", "0-3");
	put_process(41, "older", 20, USER, ticks - 1, "user.slice", "0-3");
	repair("4-7");
	assert_string_equal(row_of(40)->original, "0-5");
	assert_null(row_of(41));
}

static void without_its_parent_any_task_that_fits_will_do(void **state)
{
	leave_init_alone();
	put_process(10, "other", 1, USER, 10, "user.slice", "0-3");
	put_process(20, "shell", 1, USER, 20, "user.slice", "0-5");
	put_process(30, "another", 1, USER, 30, "user.slice", "3-7");
	repair("3-4");
	put_process(40, "daemon", 1, USER, ticks + 1, "user.slice", "0-2,5");
	repair("3-4");
	expect_state(40, STRANGER_STATE_MOVED);
	assert_string_equal(row_of(40)->original, "0-5");
	repair("");
	expect_cpus(40, "0-5");
}

/* --- what is written ----------------------------------------------------------------------------- */

/* So that it follows its cpuset again, and may use CPUs that come later. */
static void who_had_all_cpus_gets_all_that_there_can_be(void **state)
{
	put_process(20, "narrow", 1, USER, 20, "user.slice", "2-7");
	repair("4-5");
	assert_int_equal(cpuset_count(&tasks[index_of(1)].asked), 6);
	assert_int_equal(cpuset_count(&tasks[index_of(20)].asked), 4);
	repair("");
	assert_int_equal(cpuset_count(&tasks[index_of(1)].asked), CPUSET_MAX);
	assert_int_equal(cpuset_count(&tasks[index_of(20)].asked), 6);
}

/* A file that cannot be read for a moment: here a directory is in its place. */
static void make_unreadable(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%s", root, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_readable(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%s", root, name);
	assert_int_equal(rmdir(path), 0);
	put(path + strlen(root) + 1, text);
}

/* It keeps what was written to it, and its original, until it can be looked at again. */
static void expect_kept(const char *cpus, int error)
{
	expect_cpus(20, cpus);
	expect_state(20, STRANGER_STATE_FAILED);
	assert_int_equal(row_of(20)->error, error);
	assert_string_equal(row_of(20)->original, "0-7");
	assert_int_equal(report.nr_held, 1);
}

static void expect_restored(void)
{
	repair("4-5");
	expect_state(20, STRANGER_STATE_MOVED);
	assert_int_equal(row_of(20)->error, 0);
	repair("");
	expect_cpus(20, "0-7");
	assert_int_equal(report.nr_held, 0);
}

static void who_cannot_be_looked_at_keeps_its_original(void **state)
{
	leave_init_alone();
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	get_error = -EPERM;
	repair("4-5");
	expect_kept("0-3,6-7", -EPERM);
	/* What was read from the file has no affinity yet. */
	restart();
	repair("4-5");
	expect_kept("0-3,6-7", -EPERM);
	assert_string_equal(row_of(20)->affinity, "0-3,6-7");
	get_error = 0;
	expect_restored();
	get_error = -ESRCH;
	repair("4-5");
	assert_null(row_of(20));
}

static void whose_files_cannot_be_read_keeps_its_original(void **state)
{
	leave_init_alone();
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	restart();
	make_unreadable("20/task/20/stat");
	repair("4-5");
	expect_kept("0-3,6-7", -EISDIR);
	make_readable("20/task/20/stat",
		      "20 (sshd) S 1 1 1 0 -1 " USER " 0 0 0 0 0 0 0 0 20 0 1 0 20 0 0\n");
	make_unreadable("20/cgroup");
	repair("4-5");
	expect_kept("0-3,6-7", -EISDIR);
	assert_string_equal(row_of(20)->comm, "sshd");
	repair("");
	expect_kept("0-3,6-7", -EISDIR);
	make_readable("20/cgroup", "0::/system.slice\n");
	expect_restored();
}

/* The same between the look and the write. */
static void who_becomes_unreadable_before_the_write_keeps_its_original(void **state)
{
	leave_init_alone();
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	make_unreadable("20/cgroup");
	repair("");
	expect_kept("0-3,6-7", -EISDIR);
	make_readable("20/cgroup", "0::/system.slice\n");
	expect_restored();
}

/* The last CPU that was left to it goes offline, and the kernel lets it run on all others. */
static void the_original_outlives_the_kernels_own_choice(void **state)
{
	put_process(20, "daemon", 1, USER, 20, "system.slice", "6-7");
	repair("7");
	expect_cpus(20, "6");
	online = known_online = cpuset_of_text("0-5,7");
	write_from_outside(20, "0-7");
	repair("7");
	expect_cpus(20, "0-5");
	assert_int_equal(report.nr_reverted, 0);
	assert_string_equal(row_of(20)->original, "6-7");
	online = known_online = cpuset_of_text("0-7");
	repair("7");
	expect_cpus(20, "6");
	repair("");
	expect_cpus(20, "6-7");
}

/* The kernel refuses a mask without an online CPU, which says nothing about the thread. */
static void a_kernel_thread_that_was_moved_is_not_taken_for_bound(void **state)
{
	leave_init_alone();
	put_process(20, "kswapd1", 2, KTHREAD, 20, "", "4-5");
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
	online = known_online = cpuset_of_text("0-3,6-7");
	tasks[index_of(20)].error = -EINVAL;
	walk(STRANGER_OBSERVE, "");
	expect_state(20, STRANGER_STATE_FAILED);
	assert_int_equal(row_of(20)->kind, STRANGER_KTHREAD);
	assert_int_equal(uninstall(), -EINVAL);
	tasks[index_of(20)].error = 0;
	online = known_online = cpuset_of_text("0-7");
	now_ns += 10 * S;
	walk(STRANGER_OBSERVE, "");
	expect_cpus(20, "4-5");
}

static void refusals_are_told_apart(void **state)
{
	put_process(20, "user", 1, USER, 20, "user.slice", "0-7");
	put_process(21, "kernel", 2, KTHREAD, 21, "", "0-7");
	tasks[index_of(20)].error = -EINVAL;
	tasks[index_of(21)].error = -EPERM;
	repair("4-5");
	expect_state(20, STRANGER_STATE_FAILED);
	assert_int_equal(row_of(20)->error, -EINVAL);
	expect_state(21, STRANGER_STATE_FAILED);
	assert_int_equal(row_of(21)->error, -EPERM);
	assert_int_equal(row_of(21)->kind, STRANGER_KTHREAD);
	assert_int_equal(report.nr_failed, 2);
	assert_int_equal(report.nr_held, 1);
	tasks[index_of(20)].error = 0;
	now_ns += 10 * S;
	repair("4-5");
	expect_state(20, STRANGER_STATE_MOVED);
	assert_int_equal(row_of(20)->error, 0);
	assert_int_equal(report.nr_held, 2);
}

static void the_first_task_that_moved_is_named(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "user.slice", "0-7");
	put_process(21, "other", 1, USER, 21, "user.slice", "0-7");
	repair("4-5");
	assert_int_equal(report.first.thread, 1);
	assert_string_equal(report.first.comm, "systemd");
	write_from_outside(20, "0-7");
	write_from_outside(21, "0-7");
	repair("4-5");
	assert_int_equal(report.first.thread, 20);
	assert_string_equal(report.first.comm, "sshd");
	repair("4-5");
	assert_int_equal(report.first.thread, 0);
	assert_string_equal(report.first.comm, "");
}

/* The third correction is the last one that does not wait. */
static void an_opponent_is_shown_when_corrections_begin_to_wait(void **state)
{
	put_process(20, "fighter", 1, USER, 20, "user.slice", "0-7");
	repair("4-5");
	for (unsigned int i = 1; i <= STRANGER_PATIENCE; i++) {
		write_from_outside(20, "0-7");
		repair("4-5");
		expect_cpus(20, "0-3,6-7");
		expect_state(20, i < STRANGER_PATIENCE ? STRANGER_STATE_MOVED
						       : STRANGER_STATE_CONTENDED);
	}
}

static void the_report_has_times(void **state)
{
	const uint64_t begun = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t used = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	repair("4-5");
	used = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - used;
	assert_in_range(report.cost_ns, 1, used);
	assert_in_range(report.wrote_ns, begun, clock_read_ns(CLOCK_MONOTONIC));
	repair("4-5");
	assert_int_equal(report.wrote_ns, 0);
}

/* --- the file of originals ----------------------------------------------------------------------- */

static uint32_t nr_saved(void)
{
	struct stranger_table table = {0};
	struct format_error error = {0};
	uint32_t nr;

	assert_int_equal(stranger_saved_load(run_fd, BOOT, &error, &table), 0);
	nr = table.nr;
	stranger_table_fini(&table);
	return nr;
}

/* After a walk it has no more than what is in force. */
static void the_file_has_what_was_written(void **state)
{
	put_process(20, "pinned", 1, USER, 20, "user.slice", "4");
	tasks[index_of(20)].error = -EPERM;
	repair("4-5");
	assert_int_equal(report.nr_held, 1);
	assert_int_equal(nr_saved(), 1);
	repair("4-7");
	assert_int_equal(nr_saved(), 1);
	repair("");
	assert_int_equal(nr_saved(), 0);
}

static void remove_file(void)
{
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_FILE, 0), 0);
}

/* Process 1 is the only one in the table. */
static void every_change_is_saved(void **state)
{
	repair("4-5");
	assert_true(has_file());
	remove_file();
	repair("4-5");
	assert_false(has_file());
	/* another target, the same original */
	repair("4-7");
	assert_true(has_file());
	remove_file();
	/* the same target, another original */
	write_from_outside(1, "0-4");
	repair("4-7");
	expect_cpus(1, "0-3");
	assert_true(has_file());
}

static void without_a_durable_original_the_others_are_shown_as_they_are(void **state)
{
	const int whole_fd = run_fd;

	put_process(10, "migration/4", 2, BOUND, 10, "", "4");
	put_process(11, "pod", 1, USER, 11, ROOT "/pod2", "4-7");
	run_fd = -1;
	restart();
	repair("4-5");
	expect_state(1, STRANGER_STATE_REACHES);
	expect_state(10, STRANGER_STATE_BOUND);
	expect_state(11, STRANGER_STATE_CPUSET);
	assert_int_equal(report.wrote_ns, 0);
	run_fd = whole_fd;
}

/* It still has what was written before, which the file has. */
static void who_was_moved_stays_moved_when_the_disk_fails(void **state)
{
	repair("4-5");
	refuse("openat", TEMPORARY, ENOSPC);
	repair("4-7");
	assert_int_equal(report.error, -ENOSPC);
	expect_cpus(1, "0-3,6-7");
	expect_state(1, STRANGER_STATE_MOVED);
	assert_string_equal(row_of(1)->exclusive, "6-7");
	/* Where nothing is moved any more, what was written is undone all the same. */
	walk(STRANGER_OBSERVE, "4-7");
	refuse_nothing();
	assert_int_equal(report.error, -ENOSPC);
	expect_cpus(1, "0-7");
}

/* Whether the second attempt succeeds says nothing about what a crash between them would leave. */
static void a_failed_save_is_reported_even_if_the_next_succeeds(void **state)
{
	repair("4-5");
	refuse_some("openat", TEMPORARY, ENOSPC, 0, 1);
	walk(STRANGER_OBSERVE, "4-5");
	assert_int_equal(nr_refused(), 1);
	refuse_nothing();
	assert_int_equal(report.error, -ENOSPC);
	expect_cpus(1, "0-7");
}

/* --- many ---------------------------------------------------------------------------------------- */

/* As many as the table of the walk has room for at first, so that there is nothing behind the last. */
static void a_full_table_is_walked_to_its_end(void **state)
{
	const int whole_fd = run_fd;

	put_process(20, "many", 1, USER, 20, "user.slice", "0-7");
	for (pid_t thread = 101; thread <= 162; thread++)
		put_thread(20, thread, "many", 1, USER, 20, "0-7");
	run_fd = -1;
	restart();
	repair("4-5");
	assert_int_equal(report.nr, 64);
	run_fd = whole_fd;
	restart();
	repair("4-5");
	assert_int_equal(report.nr_moved, 64);
	repair("4-5");
	assert_int_equal(report.nr_held, 64);
	assert_int_equal(report.nr_moved, 0);
	expect_cpus(162, "0-3,6-7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(cgroups_include_themselves),
		ROW(only_cpus_of_others_are_reached),
		ROW(who_has_no_known_cgroup_is_left_alone),
		ROW(kernel_threads_may_belong_to_a_container),
		ROW(a_kernel_thread_that_joins_a_pod_before_the_write_is_left_alone),
		ROW(who_has_the_id_of_a_deaf_thread_is_moved),
		ROW(what_is_known_of_a_task_is_shown_again),
		ROW(who_ends_before_it_is_looked_at_is_no_stranger),
		ROW(who_ends_or_joins_a_pod_before_the_write_is_forgotten),
		ROW(a_child_inherits_from_its_parent_first),
		ROW(a_child_of_the_tick_in_which_its_parent_was_moved_is_restored),
		ROW(without_its_parent_any_task_that_fits_will_do),
		ROW(who_had_all_cpus_gets_all_that_there_can_be),
		ROW(who_cannot_be_looked_at_keeps_its_original),
		ROW(whose_files_cannot_be_read_keeps_its_original),
		ROW(who_becomes_unreadable_before_the_write_keeps_its_original),
		ROW(the_original_outlives_the_kernels_own_choice),
		ROW(a_kernel_thread_that_was_moved_is_not_taken_for_bound),
		ROW(refusals_are_told_apart),
		ROW(the_first_task_that_moved_is_named),
		ROW(an_opponent_is_shown_when_corrections_begin_to_wait),
		ROW(the_report_has_times),
		ROW(the_file_has_what_was_written),
		ROW(every_change_is_saved),
		ROW(without_a_durable_original_the_others_are_shown_as_they_are),
		ROW(who_was_moved_stays_moved_when_the_disk_fails),
		ROW(a_failed_save_is_reported_even_if_the_next_succeeds),
		ROW(a_full_table_is_walked_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
