// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/* Tasks as procfs shows them: a made-up one for what a real one rarely has, and this process. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"
#include "stranger_scene.h"

#define OTHER_FIELDS " 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"

static struct thread_stat parse(const char *text)
{
	struct thread_stat stat = {0};

	assert_int_equal(thread_stat_parse(text, &stat), 0);
	return stat;
}

static void flags_say_what_a_thread_is(void **state)
{
	struct thread_stat stat;

	stat = parse("7 (a) S 3 1 1 0 -1 " USER OTHER_FIELDS);
	assert_false(stat.is_kernel || stat.is_bound);
	stat = parse("7 (a) S 3 1 1 0 -1 " KTHREAD OTHER_FIELDS);
	assert_true(stat.is_kernel && !stat.is_bound);
	/* PF_NO_SETAFFINITY alone */
	stat = parse("7 (a) S 3 1 1 0 -1 67108864" OTHER_FIELDS);
	assert_true(!stat.is_kernel && stat.is_bound);
}

/* A worker of a workqueue has the queue's name appended in this file, as nowhere else. */
static void a_long_name_is_cut(void **state)
{
	const struct thread_stat stat =
		parse("7 (kworker/u8:0-events_unbound) I 2 0 0 0 -1 69238880" OTHER_FIELDS);

	assert_string_equal(stat.comm, "kworker/u8:0-ev");
	assert_int_equal(stat.parent, 2);
	assert_int_equal(stat.start_ticks, 4711);
	assert_string_equal(parse("7 () S 1 1 1 0 -1 0" OTHER_FIELDS).comm, "");
}

static void other_text_is_not_a_stat(void **state)
{
	static const char *const texts[] = {
		"",
		"7",
		"7 (a",
		"7 a) S 3 1 1 0 -1 0" OTHER_FIELDS,
		"7 )a( S 3 1 1 0 -1 0" OTHER_FIELDS,
		"7 (a) S x 1 1 0 -1 0" OTHER_FIELDS,
		"7 (a) S 3 1 1 0 -1 x" OTHER_FIELDS,
		"7 (a) S 3 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct thread_stat stat = {.comm = "untouched"};

		assert_int_equal(thread_stat_parse(texts[i], &stat), -EINVAL);
		assert_string_equal(stat.comm, "untouched");
	}
}

static int proc_fd;

static int open_proc(void **state)
{
	char path[128];
	const int r = set_up(state);

	snprintf(path, sizeof(path), "%s/proc", root);
	proc_fd = open(path, O_DIRECTORY | O_CLOEXEC);
	assert_true(proc_fd >= 0);
	return r;
}

static int close_proc(void **state)
{
	close(proc_fd);
	return tear_down(state);
}

static void a_thread_is_read_from_its_process(void **state)
{
	struct thread_stat stat = {0};

	put_process(20, "leader", 1, USER, 20, "a", "0");
	put_thread(20, 21, "worker", 1, USER, 21, "0");
	assert_int_equal(thread_stat_read(proc_fd, 20, 21, &stat), 0);
	assert_string_equal(stat.comm, "worker");
	assert_int_equal(stat.start_ticks, 21);
	assert_int_equal(thread_stat_read(proc_fd, 20, 22, &stat), -ENOENT);
}

static void expect_cgroup(const char *text, const char *wanted)
{
	char *path = NULL;

	put("proc/20/cgroup", text);
	assert_int_equal(process_cgroup(proc_fd, 20, &path), 0);
	assert_string_equal(path, wanted);
	free(path);
}

static void the_cgroup_is_that_of_cgroup_v2(void **state)
{
	char *path = NULL;

	expect_cgroup("0::/\n", "/");
	expect_cgroup("0::/a.slice/b\n", "/a.slice/b");
	/* Hierarchies of cgroup v1 may be mounted as well, before or after it. */
	expect_cgroup("10:cpuset:/x\n1:name=systemd:/y\n0::/a/b\n", "/a/b");
	expect_cgroup("0::/a/b\n1:name=systemd:/y\n", "/a/b");
	expect_cgroup("10::/x\n0::/a\n", "/a");
	put("proc/20/cgroup", "1:name=systemd:/y\n");
	assert_int_equal(process_cgroup(proc_fd, 20, &path), -EPROTO);
	assert_int_equal(process_cgroup(proc_fd, 21, &path), -ENOENT);
	assert_null(path);
}

/* --- walks --------------------------------------------------------------------------------------- */

static struct {
	pid_t process, thread;
} seen[16];
static unsigned int nr_seen, limit;

/* Ends the walk at the limit. */
static int note(void *self, pid_t process, pid_t thread)
{
	assert_ptr_equal(self, seen);
	assert_true(nr_seen < ARRAY_SIZE(seen));
	seen[nr_seen].process = process;
	seen[nr_seen++].thread = thread;
	return nr_seen == limit ? 17 : 0;
}

static bool has_seen(pid_t process, pid_t thread)
{
	for (unsigned int i = 0; i < nr_seen; i++)
		if (seen[i].process == process && seen[i].thread == thread)
			return true;
	return false;
}

static int walk_threads(unsigned int most)
{
	nr_seen = 0;
	limit = most;
	return procs_walk(proc_fd, note, seen);
}

static void a_walk_visits_every_thread(void **state)
{
	put_thread(20, 20, "leader", 1, USER, 20, "0");
	put_thread(20, 21, "worker", 1, USER, 21, "0");
	put_thread(300, 300, "other", 1, USER, 30, "0");
	/* What else is in procfs is not a process, whatever it contains. */
	put("proc/self/task/20/stat", "");
	put("proc/20x/task/20/stat", "");
	put("proc/0/task/1/stat", "");
	put("proc/-20/task/20/stat", "");
	/* Cut to 32 bits, this would be process 20. */
	put("proc/4294967316/task/2/stat", "");
	put("proc/300/task/x/stat", "");
	/* It is ending: its threads are gone already. */
	put("proc/77/cgroup", "");
	assert_int_equal(walk_threads(0), 0);
	assert_int_equal(nr_seen, 5);
	assert_true(has_seen(1, 1) && has_seen(50, 50));
	assert_true(has_seen(20, 20) && has_seen(20, 21) && has_seen(300, 300));
	/* The kernel may say the same in another way. */
	refuse("openat", "77/task", ESRCH);
	assert_int_equal(walk_threads(0), 0);
	assert_int_equal(nr_refused(), 1);
	refuse_nothing();
	assert_int_equal(nr_seen, 5);
	/* The largest id that there can be */
	put_thread(INT32_MAX, INT32_MAX, "last", 1, USER, 30, "0");
	assert_int_equal(walk_threads(0), 0);
	assert_true(has_seen(INT32_MAX, INT32_MAX));
}

static void a_walk_ends_when_the_visitor_says(void **state)
{
	put_thread(20, 20, "leader", 1, USER, 20, "0");
	put_thread(20, 21, "worker", 1, USER, 21, "0");
	for (unsigned int i = 1; i <= 4; i++) {
		assert_int_equal(walk_threads(i), 17);
		assert_int_equal(nr_seen, i);
	}
}

static void a_walk_without_procfs_fails(void **state)
{
	assert_int_equal(procs_walk(-1, note, seen), -EBADF);
	/* First the directory of all processes, then that of a process's threads. */
	for (unsigned int i = 0; i < 2; i++) {
		refuse_some("fdopendir", NULL, ENOMEM, i, 1);
		assert_int_equal(walk_threads(0), -ENOMEM);
		assert_int_equal(nr_refused(), 1);
	}
	refuse_nothing();
	/* What cannot be read for another reason than its end is an error. */
	put("proc/77", "not a directory");
	assert_int_equal(walk_threads(0), -ENOTDIR);
}

/* --- the kernel ---------------------------------------------------------------------------------- */

static void affinities_are_those_of_the_kernel(void **state)
{
	const struct affinity_calls *kernel = &affinity_system_calls;
	struct cpuset before, after, one = CPUSET_EMPTY;
	cpu_set_t mask;

	assert_int_equal(kernel->get(kernel->self, 0, &before), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		assert_int_equal(cpuset_has(&before, cpu), CPU_ISSET(cpu, &mask) != 0);
	cpuset_add(&one, cpuset_next(&before, 0));
	assert_int_equal(kernel->set(kernel->self, 0, &one), 0);
	assert_int_equal(kernel->get(kernel->self, 0, &after), 0);
	assert_true(cpuset_equal(&after, &one));
	assert_int_equal(kernel->set(kernel->self, 0, &before), 0);
	assert_int_equal(kernel->get(kernel->self, 0, &after), 0);
	assert_true(cpuset_equal(&after, &before));
	/* No process can have this id. */
	assert_int_equal(kernel->get(kernel->self, INT32_MAX, &after), -ESRCH);
	assert_true(cpuset_equal(&after, &before));
	assert_int_equal(kernel->set(kernel->self, INT32_MAX, &before), -ESRCH);
}

/* In hundredths of a second, as procfs shows them. */
static uint64_t uptime(void)
{
	unsigned long long seconds, hundredths;
	FILE *file = fopen("/proc/uptime", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu.%llu", &seconds, &hundredths), 2);
	fclose(file);
	return seconds * 100 + hundredths;
}

static void ticks_are_counted_from_the_boot(void **state)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK), before = uptime();
	const uint64_t now = affinity_system_calls.now_ticks(NULL);
	const uint64_t after = uptime();

	assert_in_range(now, before * per_second / 100, (after + 1) * per_second / 100);
}

#define IN_PROC(name) cmocka_unit_test_setup_teardown(name, open_proc, close_proc)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_say_what_a_thread_is),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(other_text_is_not_a_stat),
		IN_PROC(a_thread_is_read_from_its_process),
		IN_PROC(the_cgroup_is_that_of_cgroup_v2),
		IN_PROC(a_walk_visits_every_thread),
		IN_PROC(a_walk_ends_when_the_visitor_says),
		IN_PROC(a_walk_without_procfs_fails),
		cmocka_unit_test(affinities_are_those_of_the_kernel),
		cmocka_unit_test(ticks_are_counted_from_the_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
