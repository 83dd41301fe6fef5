// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * Walks over a made-up /proc: who is moved where, what is restored, and what a crash leaves. The
 * kernel's part, the affinities, is a table here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "lib/file.h"
#include "stranger/procs.h"
#include "stranger/saved.h"
#include "stranger/strangers.h"

#define BOOT	  "11111111-2222-3333-4444-555555555555"
#define S	  1000000000ULL
#define KTHREAD	  "2129984"  /* PF_KTHREAD and others */
#define BOUND	  "69238848" /* and PF_NO_SETAFFINITY */
#define USER	  "4194560"
#define MAX_TASKS 16
#define ROOT	  "pinfold.slice"
#define OWNER	  ROOT "/pod1/db"

static char root[64];
static int state_fd;
static struct strangers *strangers;
static struct stranger_report report;
static int result;
static uint64_t now_ns, ticks;

/* --- the kernel ---------------------------------------------------------------------------------- */

static struct {
	pid_t thread;
	struct cpuset cpus;
	int error;
	unsigned int nr_writes, nr_tries;
} tasks[MAX_TASKS];
/* Those of the kernel, and of the request, which may be behind it. */
static struct cpuset online, known_online;

static unsigned int index_of(pid_t thread)
{
	for (unsigned int i = 0; i < MAX_TASKS; i++)
		if (tasks[i].thread == thread)
			return i;
	return MAX_TASKS;
}

/* What a crash at the first write of a walk would leave. */
static char *crashed_file;
static size_t crashed_len;

/* What happens between the look at a task and the write to it; once. */
static pid_t write_to;
static void (*before_write)(void);

static int get_cpus(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	const unsigned int i = index_of(thread);

	if (i == MAX_TASKS)
		return -ESRCH;
	*ret_cpus = tasks[i].cpus;
	cpuset_intersect(ret_cpus, &online);
	return 0;
}

static int set_cpus(void *self, pid_t thread, const struct cpuset *cpus)
{
	const unsigned int i = index_of(thread);
	const struct cpuset all = cpuset_of_text("0-7");

	if (i == MAX_TASKS)
		return -ESRCH;
	if (write_to == thread) {
		write_to = 0;
		before_write();
	}
	if (!crashed_file)
		file_read_all(state_fd, PINFOLD_STRANGERS_FILE, 65536, &crashed_file, &crashed_len);
	tasks[i].nr_tries++;
	if (tasks[i].error)
		return tasks[i].error;
	tasks[i].nr_writes++;
	tasks[i].cpus = *cpus;
	cpuset_intersect(&tasks[i].cpus, &all);
	return 0;
}

static uint64_t get_ticks(void *self)
{
	return ticks;
}

static const struct affinity_calls calls = {.get = get_cpus, .set = set_cpus, get_ticks};

static void put(const char *path, const char *text)
{
	char whole[512], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_thread(pid_t process, pid_t thread, const char *comm, pid_t parent,
		       const char *flags, uint64_t start, const char *cpus)
{
	const unsigned int i = index_of(thread) < MAX_TASKS ? index_of(thread) : index_of(0);
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)process, (int)thread);
	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 %s 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n",
		 (int)thread, comm, (int)parent, flags, (unsigned long long)start);
	put(path, text);
	assert_true(i < MAX_TASKS);
	tasks[i].thread = thread;
	tasks[i].nr_writes = tasks[i].nr_tries = 0;
	tasks[i].cpus = cpuset_of_text(cpus);
}

static void put_process(pid_t process, const char *comm, pid_t parent, const char *flags,
			uint64_t start, const char *cgroup, const char *cpus)
{
	char path[64], text[128];

	put_thread(process, process, comm, parent, flags, start, cpus);
	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)process);
	snprintf(text, sizeof(text), "0::/%s\n", cgroup);
	put(path, text);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	return remove(path);
}

static void end_process(pid_t process)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d", root, (int)process);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	tasks[index_of(process)].thread = 0;
}

static void expect_cpus(pid_t thread, const char *wanted)
{
	char text[128];

	cpuset_format(&tasks[index_of(thread)].cpus, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void write_from_outside(pid_t thread, const char *cpus)
{
	tasks[index_of(thread)].cpus = cpuset_of_text(cpus);
}

/* --- walks --------------------------------------------------------------------------------------- */

static void on_walked(void *self, int error, struct stranger_report *walked)
{
	stranger_report_fini(&report);
	result = error;
	report = *walked;
	*walked = (struct stranger_report){0};
}

static const struct stranger_sink sink = {.walked = on_walked};

static void open_room(void)
{
	const struct strangers_options options = {
		.root = root, .state_fd = state_fd, .boot_id = BOOT, .calls = &calls};

	assert_int_equal(strangers_open(&options, &strangers), 0);
	strangers_listen(strangers, &sink);
}

static void restart(void)
{
	strangers_close(strangers);
	open_room();
}

/* A walk a second later. The owner has the exclusive CPUs; of CPUs 0-7 the others are allowed. */
static void walk(enum stranger_mode mode, const char *exclusive)
{
	struct stranger_owner owner = {.path = OWNER, .cpus = cpuset_of_text(exclusive)};
	struct stranger_request request = {.mode = mode,
					   .workload_root = ROOT,
					   .nr_owners = 1,
					   .owners = &owner,
					   .now_ns = now_ns += S};
	const struct stranger_port port = strangers_port(strangers);

	ticks += 100;
	request.cpus.exclusive = owner.cpus;
	request.cpus.online = request.cpus.allowed = known_online;
	cpuset_subtract(&request.cpus.allowed, &owner.cpus);
	assert_int_equal(port.walk(port.self, &request), 0);
	assert_int_equal(result, 0);
}

static void repair(const char *exclusive)
{
	walk(STRANGER_REPAIR, exclusive);
}

static const struct stranger_row *row_of(pid_t thread)
{
	for (uint32_t i = 0; i < report.nr; i++)
		if (report.rows[i].thread == thread)
			return &report.rows[i];
	return NULL;
}

static void expect_state(pid_t thread, enum stranger_state state)
{
	assert_non_null(row_of(thread));
	assert_int_equal(row_of(thread)->state, state);
}

static bool has_file(void)
{
	return !faccessat(state_fd, PINFOLD_STRANGERS_FILE, F_OK, 0);
}

static int set_up(void **state)
{
	memset(tasks, 0, sizeof(tasks));
	online = known_online = cpuset_of_text("0-7");
	now_ns = S;
	ticks = 1000;
	snprintf(root, sizeof(root), "/tmp/strangers.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("proc/uptime", "1 1\n");
	put("state/x", "");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/state", root);
		state_fd = open(path, O_DIRECTORY | O_CLOEXEC);
	}
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-7");
	put_process(50, "postgres", 1, USER, 50, OWNER "/inner", "4-5");
	open_room();
	return 0;
}

static int tear_down(void **state)
{
	strangers_close(strangers);
	stranger_report_fini(&report);
	free(crashed_file);
	crashed_file = NULL;
	close(state_fd);
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

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

static void meanwhile(pid_t thread, void (*act)(void))
{
	write_to = thread;
	before_write = act;
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
	assert_int_equal(unlinkat(state_fd, PINFOLD_STRANGERS_FILE, 0), 0);
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
	assert_int_equal(file_replace(state_fd, PINFOLD_STRANGERS_FILE, file, strlen(file)), 0);
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
	assert_int_equal(file_replace(state_fd, PINFOLD_STRANGERS_FILE, crashed_file, crashed_len),
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
	const int whole_fd = state_fd;

	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	state_fd = -1;
	restart();
	repair("4-5");
	expect_cpus(20, "0-7");
	expect_state(20, STRANGER_STATE_REACHES);
	assert_int_equal(report.error, -EROFS);
	state_fd = whole_fd;
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
	assert_int_equal(file_replace(state_fd, PINFOLD_STRANGERS_FILE, "{", 1), 0);
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

static int uninstall(void)
{
	const struct strangers_options options = {
		.root = root, .state_fd = state_fd, .boot_id = BOOT, .calls = &calls};
	struct topology topology = {.all = cpuset_of_text("0-7")};

	return strangers_restore(&options, &topology, ROOT);
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
	assert_int_equal(file_replace(state_fd, PINFOLD_STRANGERS_FILE, "{", 1), 0);
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

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(strangers_leave_and_come_back),
		ROW(the_owner_is_never_touched),
		ROW(kernel_threads_move_if_they_may),
		ROW(who_joins_a_pod_before_the_write_is_left_alone),
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
