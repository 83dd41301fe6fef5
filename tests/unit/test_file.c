// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/* Files: bounds, links, kernel-style reads, and a replacement that survives a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/crash.h"
#include "lib/file.h"
#include "lib/log.h"

/* In front of libc's: a file system that cannot rename without replacing. */
static bool has_noreplace = true;

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	if (flags && !has_noreplace) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static char directory[64];
static int dir_fd = -1;

static int make_directory(void **state)
{
	strcpy(directory, "/tmp/pinfold-file-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"a", "link", "fifo", "k", ".a.tmp", "log"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(dir_fd, names[i], 0);
	close(dir_fd);
	return rmdir(directory);
}

static void replace_and_read(void **state)
{
	char *data cleanup_free = NULL, *again cleanup_free = NULL, *via cleanup_free = NULL;
	char path[128];
	struct stat status;
	size_t len;

	assert_int_equal(file_replace(dir_fd, "a", "one", 3), 0);
	assert_int_equal(file_read_all(dir_fd, "a", 3, &data, &len), 0);
	assert_int_equal(len, 3);
	assert_string_equal(data, "one");
	assert_int_equal(fstatat(dir_fd, "a", &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(file_replace(dir_fd, "a", "second", 6), 0);
	assert_int_equal(file_read_all(dir_fd, "a", 100, &again, &len), 0);
	assert_string_equal(again, "second");
	assert_int_equal(faccessat(dir_fd, ".a.tmp", F_OK, 0), -1);
	assert_int_equal(file_replace(dir_fd, "b/c", "x", 1), -EINVAL);
	assert_int_equal(file_replace(dir_fd, "", "x", 1), -EINVAL);
	/* A path given by an operator may be a link; a file in one of our directories may not. */
	assert_int_equal(symlinkat("a", dir_fd, "link"), 0);
	assert_int_equal(file_read_all(dir_fd, "link", 100, &via, &len), -ELOOP);
	snprintf(path, sizeof(path), "%s/link", directory);
	assert_int_equal(file_read_path(path, 100, &via, &len), 0);
	assert_string_equal(via, "second");
}

static void refusals(void **state)
{
	char *data = NULL;
	size_t len = 42;

	assert_int_equal(file_replace(dir_fd, "a", "12345", 5), 0);
	assert_int_equal(file_read_all(dir_fd, "a", 4, &data, &len), -EFBIG);
	assert_int_equal(file_read_all(dir_fd, "none", 4, &data, &len), -ENOENT);
	assert_int_equal(file_read_all(dir_fd, ".", 4, &data, &len), -EISDIR);
	/* must not wait for a writer */
	assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
	assert_int_equal(file_read_all(dir_fd, "fifo", 4, &data, &len), -EINVAL);
	assert_null(data);
	assert_int_equal(len, 42);
}

static void kernel_files(void **state)
{
	char *text cleanup_free = NULL, *line cleanup_free = NULL;
	int proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	assert_true(proc >= 0);
	/* size 0 by stat, content by read */
	assert_int_equal(file_read_line(proc, "comm", &text), 0);
	assert_string_equal(text, "test_file");
	close(proc);
	assert_int_equal(file_write_text(dir_fd, "none", "x"), -ENOENT);
	assert_int_equal(file_replace(dir_fd, "k", "", 0), 0);
	/* An empty text is written as a newline, because a write of zero bytes changes nothing. */
	assert_int_equal(file_write_text(dir_fd, "k", ""), 0);
	assert_int_equal(fstatat(dir_fd, "k", &status, 0), 0);
	assert_int_equal(status.st_size, 1);
	assert_int_equal(file_read_line(dir_fd, "k", &line), 0);
	assert_string_equal(line, "");
	assert_int_equal(file_write_text(dir_fd, "k", "0-3"), 0);
	free(line);
	line = NULL;
	assert_int_equal(file_read_line(dir_fd, "k", &line), 0);
	assert_string_equal(line, "0-3");
}

/* Replace the file in a child that dies at `point`; tells whether it was killed. */
static bool die_at(const char *point, const char *content)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		setenv("PINFOLD_CRASH_AT", point, 1);
		crash_arm();
		_exit(file_replace(dir_fd, "a", content, strlen(content)) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void kill_leaves_the_old_or_the_new_file(void **state)
{
	char *data cleanup_free = NULL;
	size_t len;

	assert_int_equal(file_replace(dir_fd, "a", "old", 3), 0);
	assert_true(die_at("file-replace-before-rename", "new"));
	assert_int_equal(file_read_all(dir_fd, "a", 10, &data, &len), 0);
	assert_string_equal(data, "old");
	/* The file that the killed process left behind does not block the next one. */
	assert_true(die_at("file-replace-after-rename:1", "new"));
	free(data);
	data = NULL;
	assert_int_equal(file_read_all(dir_fd, "a", 10, &data, &len), 0);
	assert_string_equal(data, "new");
	assert_false(die_at("file-replace-after-rename:2", "last"));
	assert_false(die_at("elsewhere", "last"));
	assert_false(die_at("", "last"));
}

/* Lines of a child that logs to a file. */
static void log_lines(enum log_level level, char *ret_text, size_t size)
{
	char *data = NULL;
	size_t len;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		int fd = openat(dir_fd, "log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		unsetenv("JOURNAL_STREAM");
		dup2(fd, STDERR_FILENO);
		log_open("me", level);
		log_info("pod '%s'", "a\nme: err: forged\x1b[2J");
		log_debug("not wanted");
		_exit(log_err(-ENOENT, "open %s", "x") == -ENOENT ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(file_read_all(dir_fd, "log", size - 1, &data, &len), 0);
	memcpy(ret_text, data, len + 1);
	free(data);
}

static void log_to_stderr(void **state)
{
	enum log_level level = LOG_LEVEL_NR;
	char text[512];

	log_lines(LOG_LEVEL_INFO, text, sizeof(text));
	assert_string_equal(text, "me: info: pod 'a?me: err: forged?[2J'\n"
				  "me: err: open x: No such file or directory\n");
	log_lines(LOG_LEVEL_ERR, text, sizeof(text));
	assert_string_equal(text, "me: err: open x: No such file or directory\n");
	assert_int_equal(log_level_parse("warn", &level), 0);
	assert_int_equal(level, LOG_LEVEL_WARN);
	assert_int_equal(log_level_parse("loud", &level), -EINVAL);
	assert_int_equal(level, LOG_LEVEL_WARN);
}

static int write_whole(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	fputs(text, file);
	return fclose(file);
}

static void rename_to_a_new_name(void **state)
{
	for (int i = 0; i < 2; i++) {
		char from[80], to[80], *data cleanup_free = NULL;
		size_t len;

		has_noreplace = i == 0;
		snprintf(from, sizeof(from), "%s/a", directory);
		snprintf(to, sizeof(to), "%s/k", directory);
		assert_int_equal(write_whole(from, "first"), 0);
		assert_int_equal(file_rename_new(from, to), 0);
		assert_int_equal(access(from, F_OK), -1);
		/* neither of the two is touched if the name is taken */
		assert_int_equal(write_whole(from, "second"), 0);
		assert_int_equal(file_rename_new(from, to), -EEXIST);
		assert_int_equal(file_read_path(to, 100, &data, &len), 0);
		assert_string_equal(data, "first");
		assert_int_equal(unlink(from), 0);
		assert_int_equal(unlink(to), 0);
		/* nothing is left of an attempt that failed */
		assert_int_equal(file_rename_new(from, to), -ENOENT);
		assert_int_equal(access(to, F_OK), -1);
	}
	has_noreplace = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replace_and_read, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(refusals, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(kernel_files, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(kill_leaves_the_old_or_the_new_file, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(log_to_stderr, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(rename_to_a_new_name, make_directory,
						remove_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
