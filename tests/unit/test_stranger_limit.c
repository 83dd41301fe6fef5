// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/* As many tasks as a walk can remember, and some more. Takes longer than the other tests of walks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stranger_scene.h"

#define FIRST_OF_MANY 1000

/* The CPUs of threads of process 20, below 64. */
static uint64_t cpus_of_many[STRANGER_MAX_HELD];

static bool is_one_of_many(pid_t thread)
{
	return thread >= FIRST_OF_MANY && thread < FIRST_OF_MANY + (pid_t)STRANGER_MAX_HELD;
}

static int get_of_many(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	if (!is_one_of_many(thread))
		return get_cpus(self, thread, ret_cpus);
	*ret_cpus = (struct cpuset){1, {cpus_of_many[thread - FIRST_OF_MANY]}};
	return 0;
}

static int set_of_many(void *self, pid_t thread, const struct cpuset *cpus)
{
	if (!is_one_of_many(thread))
		return set_cpus(self, thread, cpus);
	cpus_of_many[thread - FIRST_OF_MANY] = cpus->words[0] & 0xff;
	return 0;
}

/* As many as are ever moved. They are links to one thread, which is faster than files. */
static void open_room_with_many(void)
{
	static const struct affinity_calls many = {
		.get = get_of_many, .set = set_of_many, .now_ticks = get_ticks};
	const struct strangers_options options = {
		.root = root, .run_fd = run_fd, .boot_id = BOOT, .calls = &many};
	char path[128];

	put_process(20, "many", 1, USER, 20, "user.slice", "0-3");
	for (pid_t thread = FIRST_OF_MANY; is_one_of_many(thread); thread++) {
		snprintf(path, sizeof(path), "%s/proc/20/task/%d", root, (int)thread);
		assert_int_equal(symlink("20", path), 0);
		cpus_of_many[thread - FIRST_OF_MANY] = 0xff;
	}
	strangers_close(strangers);
	assert_int_equal(strangers_open(&options, &strangers), 0);
	strangers_listen(strangers, &sink);
}

static uint32_t nr_without_room(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < report.nr; i++)
		nr += report.rows[i].state == STRANGER_STATE_FAILED &&
		      report.rows[i].error == -ENOSPC;
	return nr;
}

static void no_more_are_moved_than_can_be_remembered(void **state)
{
	char path[128];

	/* Process 1 of the scene is nobody's stranger. */
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-1");
	open_room_with_many();
	repair("4-5");
	assert_int_equal(report.nr_moved, STRANGER_MAX_HELD);
	assert_int_equal(report.nr_held, STRANGER_MAX_HELD);
	put_process(10, "more", 1, USER, ticks + 1, "user.slice", "0-7");
	put_process(30, "more", 1, USER, ticks + 1, "user.slice", "0-7");
	repair("4-5");
	assert_int_equal(report.nr_held, STRANGER_MAX_HELD);
	assert_int_equal(nr_without_room(), 2);
	/* Who was moved follows the exclusive CPUs all the same. */
	repair("4-6");
	assert_int_equal(report.nr_moved, STRANGER_MAX_HELD);
	assert_int_equal(nr_without_room(), 2);
	assert_int_equal(tasks[index_of(10)].nr_tries + tasks[index_of(30)].nr_tries, 0);
	/* One ends, which the next walk finds; then there is room for another one. */
	snprintf(path, sizeof(path), "%s/proc/20/task/%d", root, FIRST_OF_MANY + 100);
	assert_int_equal(unlink(path), 0);
	repair("4-6");
	repair("4-6");
	assert_int_equal(report.nr_held, STRANGER_MAX_HELD);
	assert_int_equal(nr_without_room(), 1);
	assert_int_equal(tasks[index_of(10)].nr_writes + tasks[index_of(30)].nr_writes, 1);
}

static void expect_all_of_many(uint64_t cpus)
{
	for (size_t i = 0; i < STRANGER_MAX_HELD; i++)
		if (cpus_of_many[i] != cpus)
			fail_msg("thread %zu of many", i);
}

/* Whoever may start tasks could otherwise make the table and its file as large as it likes. */
static void children_have_no_more_room_than_others(void **state)
{
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-1");
	put_process(10, "shell", 1, USER, 10, "user.slice", "0-7");
	repair("4-5");
	open_room_with_many();
	put_thread(20, 20, "child", 10, USER, ticks + 1, "0-3");
	for (size_t i = 0; i < STRANGER_MAX_HELD; i++)
		cpus_of_many[i] = 0xcf;
	for (int i = 0; i < 2; i++) {
		repair("4-5");
		assert_int_equal(report.nr_held, STRANGER_MAX_HELD);
		assert_int_equal(nr_without_room(), 1);
	}
	/* When the others are restored there is room. */
	repair("");
	repair("");
	assert_int_equal(report.nr_held, 0);
	expect_cpus(10, "0-7");
	expect_all_of_many(0xff);
}

static void no_file_is_saved_that_could_not_be_read(void **state)
{
	const struct cpuset all = cpuset_of_text("0-7"), some = cpuset_of_text("0-3");
	struct stranger_table table cleanup_stranger_table = {0};

	for (uint32_t i = 0; i < 4 * STRANGER_MAX_HELD; i++) {
		struct stranger_task *task = stranger_table_add(&table);

		task->thread = (pid_t)(1000000 + i);
		task->start_ticks = task->since_ticks = 1000000000;
		task->original = stranger_table_keep(&table, &all);
		task->written = stranger_table_keep(&table, &some);
	}
	assert_int_equal(stranger_saved_save(run_fd, BOOT, &table), -EFBIG);
	assert_false(has_file());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(no_more_are_moved_than_can_be_remembered),
		ROW(children_have_no_more_room_than_others),
		ROW(no_file_is_saved_that_could_not_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
