// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * Strangers that are corrected when they are seen: who is, who is left to the walk that follows, and
 * what a crash in between leaves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/crash.h"
#include "stranger_scene.h"

static struct noise_stranger seen(pid_t thread, uint64_t start, uint32_t source)
{
	return (struct noise_stranger){
		.time_ns = now_ns,
		.start_ns = start * (S / (uint64_t)sysconf(_SC_CLK_TCK)),
		.pid = (uint32_t)thread,
		.process = (uint32_t)thread,
		.source = source,
		.comm = "late",
	};
}

static void see(pid_t thread, uint64_t start, uint32_t source)
{
	const struct noise_stranger stranger = seen(thread, start, source);

	strangers_correct(strangers, &stranger);
}

static void whoever_is_seen_is_corrected_before_a_walk(void **state)
{
	put_process(20, "late", 1, USER, 20, "system.slice", "0-7");
	see(20, 20, NOISE_HOST_TASK);
	expect_cpus(20, "0-7"); /* no walk has said which CPUs are exclusive */
	end_process(20);
	repair("4-5");
	put_process(20, "late", 1, USER, 20, "system.slice", "0-7");
	see(20, 20, NOISE_HOST_TASK);
	expect_cpus(20, "0-3,6-7");
	repair("4-5");
	assert_int_equal(report.nr_moved, 1);
	assert_int_equal(report.first.thread, 20);
	assert_string_equal(report.first.comm, "late");
	assert_true(report.wrote_ns);
	expect_state(20, STRANGER_STATE_MOVED);
	assert_string_equal(row_of(20)->original, "0-7");
	assert_string_equal(row_of(20)->comm, "late");
	assert_string_equal(row_of(20)->cgroup, "/system.slice");
	write_from_outside(20, "0-7");
	see(20, 20, NOISE_HOST_TASK);
	expect_cpus(20, "0-3,6-7");
	repair("");
	assert_int_equal(report.nr_reverted, 1);
	expect_cpus(20, "0-7");
	see(20, 20, NOISE_HOST_TASK);
	expect_cpus(20, "0-7");
}

/* A child may have what was written to its maker: only a walk knows its original. */
static void what_needs_a_walk_is_left_to_it(void **state)
{
	put_process(20, "maker", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	put_process(21, "child", 20, USER, 5000, "system.slice", "0-3,6-7");
	put_process(22, "kthread", 2, KTHREAD, 22, "", "0-7");
	walk(STRANGER_REPAIR, "2-5");
	see(22, 22, NOISE_KTHREAD);
	assert_int_equal(tasks[index_of(22)].nr_writes, 1);
	write_from_outside(21, "0-3,6-7");
	see(21, 5000, NOISE_HOST_TASK);
	expect_cpus(21, "0-3,6-7");
	walk(STRANGER_OBSERVE, "2-5");
	put_process(23, "late", 1, USER, 23, "system.slice", "0-7");
	see(23, 23, NOISE_HOST_TASK);
	expect_cpus(23, "0-7");
}

static void corrections_use_a_part_of_the_time(void **state)
{
	unsigned int nr = 0;

	repair("4-5");
	put_process(20, "late", 1, USER, 20, "system.slice", "0-7");
	/* The clock stands still. Each one costs some time, so their share ends. */
	for (pid_t thread = 1000; nr < 1000000; nr++, thread++) {
		tasks[index_of(20)].thread = 20;
		write_from_outside(20, "0-7");
		see(20, 20 + nr, NOISE_HOST_TASK);
		if (cpuset_has(&tasks[index_of(20)].cpus, 4))
			break;
	}
	assert_true(nr > 1 && nr < 1000000);
}

/* The agent is killed at this point of a correction, and another one is started. */
static void crash_at(const char *point)
{
	int status = 0;
	const pid_t pid = fork();

	if (!pid) {
		setenv("PINFOLD_CRASH_AT", point, 1);
		crash_arm();
		see(20, 20, NOISE_HOST_TASK);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void a_crash_during_a_correction_loses_no_original(void **state)
{
	static const char *const points[] = {"stranger-noted", "stranger-corrected",
					     "file-replace-before-rename",
					     "file-replace-after-rename"};

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		repair("4-5");
		put_process(20, "late", 1, USER, 20, "system.slice", "0-7");
		crash_at(points[i]);
		/* The killed process had its own copy of the tasks. */
		if (i)
			write_from_outside(20, "0-3,6-7");
		restart();
		repair("4-5");
		expect_cpus(20, "0-3,6-7");
		restart();
		repair("");
		expect_cpus(20, "0-7");
		assert_int_equal(report.nr_held, 0);
		end_process(20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(whoever_is_seen_is_corrected_before_a_walk),
		ROW(what_needs_a_walk_is_left_to_it),
		ROW(corrections_use_a_part_of_the_time),
		ROW(a_crash_during_a_correction_loses_no_original),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
