// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/* The table of tasks that a walk remembers, and the file that keeps their original affinities. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "format/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "stranger/saved.h"
#include "stranger/table.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

static const struct cpuset *keep(struct stranger_table *table, const char *list)
{
	const struct cpuset set = cpuset_of_text(list);

	return stranger_table_keep(table, &set);
}

static const struct cpuset *keep_written(struct stranger_table *table, const char *list)
{
	const struct cpuset set = cpuset_of_text(list);

	return stranger_table_keep_written(table, &set);
}

/* A task that began with `original` and was given `written`. */
static struct stranger_task *add(struct stranger_table *table, pid_t thread, const char *original,
				 const char *written)
{
	struct stranger_task *task = stranger_table_add(table);

	assert_non_null(task);
	task->thread = thread;
	task->start_ticks = (uint64_t)thread * 10;
	task->since_ticks = (uint64_t)thread * 10 + 5;
	if (written) {
		task->original = keep(table, original);
		task->written = keep_written(table, written);
	}
	return task;
}

/* --- the table ----------------------------------------------------------------------------------- */

static const struct stranger_task *find(const struct stranger_table *table, pid_t thread,
					const char *affinity)
{
	const struct cpuset set = cpuset_of_text(affinity), online = cpuset_of_text("0-7");

	return stranger_table_find(table, thread, &set, &online);
}

static bool wrote(const struct stranger_table *table, const char *affinity)
{
	const struct cpuset set = cpuset_of_text(affinity), online = cpuset_of_text("0-7");

	return stranger_table_wrote(table, &set, &online);
}

static void tasks_are_found_by_thread(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};

	stranger_table_sort(&table);
	assert_null(find(&table, 1, "0"));
	for (pid_t thread = 1000; thread > 0; thread -= 2)
		add(&table, thread, "0-7", thread % 4 ? "0-3" : NULL);
	stranger_table_sort(&table);
	assert_int_equal(table.nr, 500);
	assert_int_equal(stranger_table_nr_held(&table), 250);
	for (pid_t thread = 1; thread <= 1001; thread++) {
		const struct stranger_task *found = find(&table, thread, "0-7");

		if (thread % 2 || thread > 1000) {
			assert_null(found);
			continue;
		}
		assert_non_null(found);
		assert_int_equal(found->thread, thread);
		assert_int_equal(found->start_ticks, thread * 10);
		assert_int_equal(found->written != NULL, thread % 4 != 0);
	}
}

static void a_set_is_kept_once(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};
	const struct cpuset *first = keep(&table, "0-3"), *second = keep(&table, "0-4");

	assert_ptr_not_equal(first, second);
	assert_ptr_equal(keep(&table, "0-3"), first);
	assert_ptr_equal(keep(&table, "0-4"), second);
	assert_null(stranger_table_keep(&table, NULL));
}

static void the_last_task_can_be_dropped(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};

	add(&table, 1, "0-7", "0-3");
	add(&table, 2, "0-7", "0-3")->cgroup = strdup("/system.slice");
	stranger_table_drop(&table);
	assert_int_equal(table.nr, 1);
	assert_int_equal(table.tasks[0].thread, 1);
	assert_null(add(&table, 3, NULL, NULL)->cgroup);
}

/* A crash may leave a task with what was written before or after it. */
static void of_two_entries_the_one_that_fits_is_found(void **state)
{
	static const char *const written[] = {"0-1", "0-2", "0-3"};
	struct stranger_table table cleanup_stranger_table = {0};
	char text[16];

	add(&table, 3, "0-7", "0-3");
	for (size_t i = 0; i < ARRAY_SIZE(written); i++)
		add(&table, 5, "0-7", written[i]);
	add(&table, 7, "0-7", "0-5");
	stranger_table_sort(&table);
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		const struct stranger_task *found = find(&table, 5, written[i]);

		assert_non_null(found);
		assert_int_equal(found->thread, 5);
		cpuset_format(found->written, text, sizeof(text));
		assert_string_equal(text, written[i]);
	}
	/* What fits none of them, or only another task, is still that thread. */
	assert_int_equal(find(&table, 5, "0-7")->thread, 5);
	assert_int_equal(find(&table, 5, "0-5")->thread, 5);
	assert_int_equal(find(&table, 7, "0-3")->thread, 7);
}

/* Behind the last one there is no more memory. */
static void the_last_entries_of_a_full_table_are_found(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};

	for (pid_t thread = 1; thread < 64; thread++)
		add(&table, thread, "0-7", "0-3");
	add(&table, 63, "0-7", "0-2");
	stranger_table_sort(&table);
	assert_int_equal(table.nr, table.capacity);
	assert_int_equal(find(&table, 63, "0-5")->thread, 63);
	assert_int_equal(find(&table, 62, "0-5")->thread, 62);
}

static void what_was_written_to_anybody_is_known(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct stranger_task *task;

	assert_false(wrote(&table, "0-3"));
	add(&table, 1, NULL, NULL);
	assert_false(wrote(&table, "0-3"));
	add(&table, 2, "0-7", "0-3");
	task = add(&table, 3, "0-7", "0-3");
	task->past_original = keep(&table, "0-7");
	task->past_written = keep_written(&table, "0-1");
	add(&table, 4, "0-7", "0-5");
	assert_true(wrote(&table, "0-3"));
	assert_true(wrote(&table, "0-5"));
	/* What it had until the last walk changed it. */
	assert_true(wrote(&table, "0-1"));
	assert_false(wrote(&table, "0-7"));
	assert_false(wrote(&table, "0-2"));
}

static void what_a_task_had_before_is_told_from_what_it_has(void **state)
{
	const struct cpuset three = cpuset_of_text("0-3"), one = cpuset_of_text("0-1");
	const struct cpuset online = cpuset_of_text("0-7");
	const struct stranger_task unknown = {.thread = 1};
	const struct stranger_task task = {.thread = 1, .written = &three, .past_written = &one};

	assert_true(stranger_is_as_written(&task, &three, &online));
	assert_false(stranger_is_as_written(&task, &one, &online));
	assert_true(stranger_is_as_past(&task, &one, &online));
	assert_false(stranger_is_as_past(&task, &three, &online));
	assert_false(stranger_is_as_written(&unknown, &three, &online));
	assert_false(stranger_is_as_past(&unknown, &three, &online));
}

/* --- the file ------------------------------------------------------------------------------------ */

static int decode(const char *text, const char *boot_id, struct format_error *error,
		  struct stranger_table *table)
{
	return stranger_saved_decode(text, strlen(text), boot_id, error, table);
}

static void expect_saved(const struct stranger_task *task, pid_t thread, const char *original,
			 const char *written)
{
	char text[16];

	assert_int_equal(task->thread, thread);
	assert_int_equal(task->start_ticks, thread * 10);
	assert_int_equal(task->since_ticks, thread * 10 + 5);
	cpuset_format(task->original, text, sizeof(text));
	assert_string_equal(text, original);
	cpuset_format(task->written, text, sizeof(text));
	assert_string_equal(text, written);
	assert_string_equal(task->comm, "");
	assert_null(task->cgroup);
}

static uint32_t count(const char *text, const char *part)
{
	uint32_t nr = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		nr++;
	return nr;
}

static void originals_are_read_as_they_were_written(void **state)
{
	struct stranger_table before cleanup_stranger_table = {0};
	struct stranger_table after cleanup_stranger_table = {0};
	struct text text cleanup_text = {0};
	struct format_error error = {0};
	struct stranger_task *task;

	add(&before, 9, "0-7", "0-3");
	add(&before, 4, "4-5", "0-3");
	add(&before, 2, "0-7", "0-3");
	/* Its affinity was never changed. */
	add(&before, 3, NULL, NULL);
	/* About to be changed for the first time. */
	task = add(&before, 5, NULL, NULL);
	task->new_original = keep(&before, "0-7");
	task->target = keep(&before, "0-1");
	/* About to get other CPUs: a crash may leave either. */
	task = add(&before, 7, "0-7", "0-3");
	task->new_original = task->original;
	task->target = keep(&before, "0-1");
	/* About to be restored: afterwards nothing of it is ours. */
	task = add(&before, 8, "0-7", "0-3");
	task->target = task->new_original = task->original;
	stranger_saved_encode(&before, BOOT, &text);
	assert_int_equal(text.error, 0);
	/* Many tasks have few different affinities, so each pair is in the file once. */
	assert_int_equal(count(text.data, "\"original\""), 3);
	assert_int_equal(count(text.data, "\"written\""), 3);
	assert_int_equal(decode(text.data, BOOT, &error, &after), 0);
	assert_int_equal(after.nr, 7);
	expect_saved(&after.tasks[0], 2, "0-7", "0-3");
	expect_saved(&after.tasks[1], 4, "4-5", "0-3");
	expect_saved(&after.tasks[2], 5, "0-7", "0-1");
	assert_int_equal(after.tasks[3].thread, 7);
	assert_int_equal(after.tasks[4].thread, 7);
	expect_saved(find(&after, 7, "0-3"), 7, "0-7", "0-3");
	expect_saved(find(&after, 7, "0-1"), 7, "0-7", "0-1");
	expect_saved(&after.tasks[5], 8, "0-7", "0-3");
	expect_saved(&after.tasks[6], 9, "0-7", "0-3");
}

/* They were added in an order in which they alternate. */
static void many_tasks_share_few_affinities(void **state)
{
	struct stranger_table before cleanup_stranger_table = {0};
	struct stranger_table after cleanup_stranger_table = {0};
	struct text text cleanup_text = {0};
	struct format_error error = {0};
	long last = 0;

	/* 17 is a generator of the residues modulo 211, so each thread comes once. */
	for (pid_t i = 0, thread = 1; i < 210; i++, thread = thread * 17 % 211)
		add(&before, thread, thread % 2 ? "0-7" : "4-7", "0-3");
	stranger_saved_encode(&before, BOOT, &text);
	assert_int_equal(count(text.data, "\"original\""), 2);
	/* Tasks of a pair are in ascending order, for whoever looks for one. */
	for (const char *at = strstr(text.data, "tasks"); *at != '}'; at++) {
		if (*at != '[' || at[1] < '0' || at[1] > '9')
			continue;
		assert_true(strtol(at + 1, NULL, 10) > last);
		last = strtol(at + 1, NULL, 10);
	}
	assert_in_range(last, 209, 210);
	assert_int_equal(decode(text.data, BOOT, &error, &after), 0);
	assert_int_equal(after.nr, 210);
	for (pid_t thread = 1; thread <= 210; thread++)
		expect_saved(&after.tasks[thread - 1], thread, thread % 2 ? "0-7" : "4-7", "0-3");
}

static void an_empty_table_can_be_saved(void **state)
{
	const struct stranger_table before = {0};
	struct stranger_table after cleanup_stranger_table = {0};
	struct text text cleanup_text = {0};
	struct format_error error = {0};

	stranger_saved_encode(&before, BOOT, &text);
	assert_int_equal(text.error, 0);
	assert_int_equal(decode(text.data, BOOT, &error, &after), 0);
	assert_int_equal(after.nr, 0);
}

#define HEAD	     "{\"version\": 1, \"boot_id\": \"" BOOT "\", \"affinities\": "
#define PAIR(tasks)  HEAD "[{\"original\": \"0-7\", \"written\": \"0-3\", \"tasks\": " tasks "}]}"
#define NOT_A_THREAD "it is not a thread, its start and a time"

/* Nobody is given CPUs that a damaged file names. */
static void a_damaged_file_is_refused_with_the_reason(void **state)
{
	static const char *const rows[][3] = {
		{"", "", ""},
		{"[]", "", "expected a mapping, not a list"},
		{"{\"boot_id\": \"" BOOT "\", \"affinities\": []}", "version", "it is missing"},
		{"{\"version\": 1, \"affinities\": []}", "boot_id", "it is missing"},
		{"{\"version\": 1, \"boot_id\": \"" BOOT "\"}", "affinities", "it is missing"},
		{"{\"version\": 2, \"boot_id\": \"" BOOT "\", \"affinities\": []}", "version",
		 "'2' is not a whole number from 1 to 1"},
		{"{\"version\": 0, \"boot_id\": \"" BOOT "\", \"affinities\": []}", "version",
		 "'0' is not a whole number from 1 to 1"},
		{"{\"version\": 1, \"boot_id\": [], \"affinities\": []}", "boot_id", "list"},
		{HEAD "{}}", "affinities", "expected a list, not a mapping"},
		{HEAD "[[]]}", "original", "it is missing"},
		{HEAD "[{\"written\": \"0\", \"tasks\": []}]}", "original", "it is missing"},
		{HEAD "[{\"original\": \"0\", \"tasks\": []}]}", "written", "it is missing"},
		{HEAD "[{\"original\": \"0\", \"written\": \"0\"}]}", "tasks", "it is missing"},
		{HEAD "[{\"original\": \"x\", \"written\": \"0\", \"tasks\": []}]}", "original",
		 "'x' is not a list of CPUs"},
		{HEAD "[{\"original\": \"0\", \"written\": \"\", \"tasks\": []}]}", "written",
		 "'' is not a list of CPUs"},
		{HEAD "[{\"original\": [], \"written\": \"0\", \"tasks\": []}]}", "original",
		 "list"},
		{PAIR("{}"), "tasks", "expected a list, not a mapping"},
		{PAIR("[5]"), "tasks", "expected a list"},
		{PAIR("[[]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[5, 50]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[5, 50, 55, 1]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[0, 50, 55]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[2147483648, 50, 55]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[-5, 50, 55]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[5, 9223372036854775808, 55]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[5, 50, x]]"), "tasks", NOT_A_THREAD},
		{PAIR("[[5, 50, 55], [6, x, 65]]"), "tasks", NOT_A_THREAD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stranger_table table = {.nr = 4711};
		struct format_error error = {0};

		assert_int_equal(decode(rows[i][0], BOOT, &error, &table), -EBADMSG);
		assert_int_equal(table.nr, 4711);
		if (strcmp(error.field, rows[i][1]) || !*error.message ||
		    !strstr(error.message, rows[i][2]))
			fail_msg("%s: %s: %s", rows[i][0], error.field, error.message);
	}
}

static void the_smallest_and_the_largest_numbers_are_read(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct format_error error = {0};

	assert_int_equal(decode(PAIR("[[2147483647, 9223372036854775807, 9223372036854775807],"
				     " [1, 0, 0]]"),
				BOOT, &error, &table),
			 0);
	assert_int_equal(table.nr, 2);
	assert_int_equal(table.tasks[0].thread, 1);
	assert_int_equal(table.tasks[0].start_ticks, 0);
	assert_int_equal(table.tasks[1].thread, INT32_MAX);
	assert_int_equal(table.tasks[1].start_ticks, INT64_MAX);
	assert_int_equal(table.tasks[1].since_ticks, INT64_MAX);
}

/* Its ids name other tasks now, or none. */
static void a_file_of_another_boot_is_stale(void **state)
{
	struct stranger_table table = {.nr = 4711};
	struct format_error error = {0};

	assert_int_equal(decode(PAIR("[[5, 50, 55]]"), "another", &error, &table), -ESTALE);
	assert_int_equal(table.nr, 4711);
}

static void the_file_is_replaced_and_read(void **state)
{
	char directory[] = "/tmp/stranger-table-XXXXXX";
	struct stranger_table before cleanup_stranger_table = {0};
	struct stranger_table after cleanup_stranger_table = {0};
	struct format_error error = {0};
	int fd;

	assert_non_null(mkdtemp(directory));
	fd = open(directory, O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(stranger_saved_load(fd, BOOT, &error, &after), -ENOENT);
	add(&before, 5, "0-7", "0-3");
	assert_int_equal(stranger_saved_save(fd, BOOT, &before), 0);
	assert_int_equal(stranger_saved_load(fd, "another", &error, &after), -ESTALE);
	assert_int_equal(stranger_saved_load(fd, BOOT, &error, &after), 0);
	assert_int_equal(after.nr, 1);
	expect_saved(&after.tasks[0], 5, "0-7", "0-3");
	assert_int_equal(unlinkat(fd, PINFOLD_STRANGERS_FILE, 0), 0);
	close(fd);
	assert_int_equal(rmdir(directory), 0);
	/* Without a state directory there is no file, and none can be made. */
	assert_int_equal(stranger_saved_save(-1, BOOT, &before), -EROFS);
	assert_int_equal(stranger_saved_load(-1, BOOT, &error, &after), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_are_found_by_thread),
		cmocka_unit_test(a_set_is_kept_once),
		cmocka_unit_test(the_last_task_can_be_dropped),
		cmocka_unit_test(of_two_entries_the_one_that_fits_is_found),
		cmocka_unit_test(the_last_entries_of_a_full_table_are_found),
		cmocka_unit_test(what_was_written_to_anybody_is_known),
		cmocka_unit_test(what_a_task_had_before_is_told_from_what_it_has),
		cmocka_unit_test(originals_are_read_as_they_were_written),
		cmocka_unit_test(many_tasks_share_few_affinities),
		cmocka_unit_test(an_empty_table_can_be_saved),
		cmocka_unit_test(a_damaged_file_is_refused_with_the_reason),
		cmocka_unit_test(the_smallest_and_the_largest_numbers_are_read),
		cmocka_unit_test(a_file_of_another_boot_is_stale),
		cmocka_unit_test(the_file_is_replaced_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
