// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * The note of a task that is about to be corrected: what an agent finds of it that was started after a
 * crash, an upgrade or a downgrade, and what is left to walks because it cannot be noted.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "format/error.h"
#include "stranger_scene.h"

/* What agents wrote before the note had a page. */
#define OLD_NOTE(boot)                                                              \
	"{\n  \"version\": 1,\n  \"boot_id\": \"" boot "\",\n  \"affinities\": [\n" \
	"    {\n      \"original\": \"0-7\",\n      \"written\": \"0-3,6-7\",\n"    \
	"      \"tasks\": [\n        [20,20,1000]\n      ]\n    }\n  ]\n}\n"

static struct stranger_note *note;

static void open_note(void)
{
	assert_int_equal(stranger_note_open(run_fd, BOOT, &note), 0);
}

/* A task that has `original` and is to get `target`. */
static int write_note(pid_t thread, const char *original, const char *target)
{
	const struct cpuset had = cpuset_of_text(original), gets = cpuset_of_text(target);
	const struct stranger_task task = {.thread = thread,
					   .start_ticks = 20,
					   .since_ticks = 1000,
					   .new_original = &had,
					   .target = &gets};

	return stranger_note_write(note, &task);
}

static void replace_note(const char *data, size_t len)
{
	const int fd = openat(run_fd, PINFOLD_STRANGERS_NOTE, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static char *read_note(size_t *ret_len)
{
	char *data = NULL;

	assert_int_equal(file_read_all(run_fd, PINFOLD_STRANGERS_NOTE, 65536, &data, ret_len), 0);
	return data;
}

/* 0 = the next agent finds no note. */
static pid_t noted_thread(void)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct format_error error = {0};

	if (stranger_saved_load(run_fd, BOOT, &error, &table) == -ENOENT)
		return 0;
	assert_int_equal(table.nr, 1);
	assert_int_equal(table.tasks[0].start_ticks, 20);
	assert_int_equal(table.tasks[0].since_ticks, 1000);
	return table.tasks[0].thread;
}

static void a_note_counts_until_it_is_dropped(void **state)
{
	open_note();
	assert_int_equal(noted_thread(), 0);
	assert_int_equal(write_note(20, "0-7,9,11,13,15", "0-3,6-7,9,11,13,15"), 0);
	assert_int_equal(noted_thread(), 20);
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), -EBUSY);
	assert_int_equal(noted_thread(), 20);
	stranger_note_drop(note);
	assert_int_equal(noted_thread(), 0);
	/* A shorter one leaves nothing of the longer. */
	assert_int_equal(write_note(2, "0-7", "0"), 0);
	assert_int_equal(noted_thread(), 2);
	stranger_note_close(note);
	open_note();
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), -EBUSY);
	stranger_note_close(note);
}

/* Nothing was corrected yet when the agent died, so there is nothing to be restored. */
static void half_a_note_is_none(void **state)
{
	size_t len, page;
	char *data;

	open_note();
	assert_int_equal(write_note(20, "0-7", "0-3,6-7"), 0);
	data = read_note(&page);
	len = page;
	while (data[len - 1] == '\n')
		len--;
	assert_int_equal(data[len - 1], '}');
	for (size_t half = 0; half < len; half++) {
		char *cut = read_note(&page);

		memset(cut + half, '\n', page - half);
		if (!half)
			cut[0] = '}';
		replace_note(cut, page);
		assert_int_equal(noted_thread(), 0);
		replace_note(data, page);
		free(cut);
	}
	assert_int_equal(noted_thread(), 20);
	free(data);
	stranger_note_close(note);
}

static void an_older_agents_note_is_read(void **state)
{
	struct stat status;

	replace_note(OLD_NOTE(BOOT), strlen(OLD_NOTE(BOOT)));
	open_note();
	assert_int_equal(noted_thread(), 20);
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), -EBUSY);
	assert_int_equal(noted_thread(), 20);
	stranger_note_drop(note);
	assert_int_equal(noted_thread(), 0);
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), 0);
	assert_int_equal(noted_thread(), 21);
	assert_int_equal(fstatat(run_fd, PINFOLD_STRANGERS_NOTE, &status, 0), 0);
	assert_int_equal(status.st_size, 4096);
	stranger_note_close(note);
	/* It emptied the file to drop a note. */
	replace_note("", 0);
	open_note();
	assert_int_equal(noted_thread(), 0);
	assert_int_equal(write_note(22, "0-7", "0-3,6-7"), 0);
	assert_int_equal(noted_thread(), 22);
	stranger_note_close(note);
}

/* It reads the whole file as it reads the file of originals. */
static void an_older_agent_reads_a_note(void **state)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct format_error error = {0};
	size_t len;
	char *data;

	open_note();
	assert_int_equal(write_note(20, "0-7", "0-3,6-7"), 0);
	data = read_note(&len);
	assert_int_equal(len, 4096);
	assert_int_equal(stranger_saved_decode(data, len, BOOT, &error, &table), 0);
	assert_int_equal(table.nr, 1);
	assert_int_equal(table.tasks[0].thread, 20);
	free(data);
	stranger_note_drop(note);
	stranger_table_fini(&table);
	data = read_note(&len);
	assert_int_equal(stranger_saved_decode(data, len, BOOT, &error, &table), -EBADMSG);
	assert_int_equal(table.nr, 0);
	free(data);
	stranger_note_close(note);
}

static void a_note_of_another_boot_is_none(void **state)
{
	replace_note(OLD_NOTE("22222222-2222-3333-4444-555555555555"),
		     strlen(OLD_NOTE("22222222-2222-3333-4444-555555555555")));
	assert_int_equal(noted_thread(), 0);
	put_process(20, "late", 1, USER, 20, "system.slice", "0-3,6-7");
	restart();
	repair("");
	expect_cpus(20, "0-3,6-7");
	open_note();
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), 0);
	stranger_note_close(note);
}

static void sets_that_are_too_long_are_not_noted(void **state)
{
	char list[8192] = "0";

	for (unsigned int cpu = 2; cpu < 1024; cpu += 2)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%u", cpu);
	open_note();
	assert_int_equal(write_note(20, list, list + 2), -EFBIG);
	assert_int_equal(noted_thread(), 0);
	assert_int_equal(write_note(20, "0-7", "0-3,6-7"), 0);
	assert_int_equal(noted_thread(), 20);
	stranger_note_close(note);
	assert_int_equal(stranger_note_open(-1, BOOT, &note), -EROFS);
	assert_int_equal(stranger_note_write(NULL, NULL), -EROFS);
	stranger_note_drop(NULL);
	stranger_note_close(NULL);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void see_late(uint64_t start)
{
	const struct noise_stranger stranger = {
		.time_ns = now_ns,
		.start_ns = start * (S / (uint64_t)sysconf(_SC_CLK_TCK)),
		.pid = 20,
		.process = 20,
		.source = NOISE_HOST_TASK,
	};

	strangers_correct(strangers, &stranger);
}

/* Without room for its page nothing is corrected before a walk; once there is room, notes are back. */
static void a_full_disk_leaves_corrections_to_walks(void **state)
{
	strangers_close(strangers);
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_NOTE, 0), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(100);
	open_room();
	repair("4-5");
	put_process(20, "late", 1, USER, 20, "system.slice", "0-7");
	see_late(20);
	limit_files(RLIM_INFINITY);
	expect_cpus(20, "0-7");
	repair("4-5");
	expect_cpus(20, "0-3,6-7");
	end_process(20);
	put_process(20, "late", 1, USER, 30, "system.slice", "0-7");
	see_late(30);
	expect_cpus(20, "0-3,6-7");
	/* With its page, a note needs no more room. */
	open_note();
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), 0);
	stranger_note_drop(note);
	/* A page that cannot be written to counts as taken until it can. */
	limit_files(1);
	assert_true(write_note(21, "0-7", "0-3,6-7") < 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), -EBUSY);
	stranger_note_drop(note);
	assert_int_equal(write_note(21, "0-7", "0-3,6-7"), 0);
	stranger_note_close(note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_note_counts_until_it_is_dropped),
		ROW(half_a_note_is_none),
		ROW(an_older_agents_note_is_read),
		ROW(an_older_agent_reads_a_note),
		ROW(a_note_of_another_boot_is_none),
		ROW(sets_that_are_too_long_are_not_noted),
		ROW(a_full_disk_leaves_corrections_to_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
