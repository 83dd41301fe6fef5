// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The state directory on a real file system: set aside, kept short, removed whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "ctl/store.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

static char parent[64], path[80];
static struct store store;

/* Mounting needs rights that a unit test has not, so what mounts change is added here. */
static dev_t other_device;
static unsigned long mount_flags;

int stat(const char *name, struct stat *ret_about)
{
	int r = ((typeof(&stat))dlsym(RTLD_NEXT, "stat"))(name, ret_about);

	ret_about->st_dev += other_device;
	return r;
}

int fstatvfs(int fd, struct statvfs *ret_about)
{
	int r = ((typeof(&fstatvfs))dlsym(RTLD_NEXT, "fstatvfs"))(fd, ret_about);

	ret_about->f_flag |= mount_flags;
	return r;
}

/* How a directory ends that cannot be read to its end; 0 = whole. */
static int end_error;

struct dirent *readdir(DIR *dir)
{
	struct dirent *entry = ((typeof(&readdir))dlsym(RTLD_NEXT, "readdir"))(dir);

	if (!entry && end_error)
		errno = end_error;
	return entry;
}

static int make_store(void **state)
{
	end_error = 0;
	other_device = 0;
	mount_flags = 0;
	log_open("test", LOG_LEVEL_ERR);
	strcpy(parent, "/tmp/pinfold-store-XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	snprintf(path, sizeof(path), "%s/a", parent);
	return store_open(&store, path);
}

static int remove_store(void **state)
{
	store_close(&store);
	rmdir(path);
	return rmdir(parent);
}

static void make_file(const char *name)
{
	int fd = openat(store.dir_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static bool has(const char *name)
{
	char file[256];

	snprintf(file, sizeof(file), "%s/%s", path, name);
	return !access(file, F_OK);
}

static unsigned int nr_files(void)
{
	DIR *dir cleanup_dir = opendir(path);
	unsigned int nr = 0;

	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		nr += entry->d_name[0] != '.';
	return nr;
}

static void a_record_is_loaded_as_saved(void **state)
{
	const struct store_port port = store_port(&store);
	char *data cleanup_free = NULL;
	size_t len;

	assert_int_equal(port.load(port.self, &data, &len), -ENOENT);
	assert_int_equal(port.save(port.self, "one", 3), 0);
	assert_int_equal(port.save(port.self, "other", 5), 0);
	assert_int_equal(port.load(port.self, &data, &len), 0);
	assert_string_equal(data, "other");
	store_remove(&store, path, 0);
}

static void a_closed_store_keeps_no_descriptor(void **state)
{
	const int fd = store.dir_fd;

	store_close(&store);
	assert_int_equal(store.dir_fd, -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	/* Closing it again closes nothing. */
	store_close(&store);
}

static void five_unusable_files_are_kept(void **state)
{
	const struct store_port port = store_port(&store);
	char name[128], first[128] = "";

	for (int i = 0; i < STORE_SET_ASIDE + 3; i++) {
		assert_int_equal(port.save(port.self, "bad", 3), 0);
		assert_int_equal(port.set_aside(port.self, name, sizeof(name)), 0);
		if (!*first)
			strcpy(first, name);
	}
	assert_int_equal(nr_files(), STORE_SET_ASIDE);
	assert_true(has(name));
	assert_false(has(first));
	store_remove(&store, path, 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* A name that was not read may be that of the oldest. */
static void nothing_is_dropped_if_not_all_names_are_known(void **state)
{
	const struct store_port port = store_port(&store);
	char name[128];

	end_error = EIO;
	for (int i = 0; i < STORE_SET_ASIDE + 1; i++) {
		assert_int_equal(port.save(port.self, "bad", 3), 0);
		assert_int_equal(port.set_aside(port.self, name, sizeof(name)), 0);
	}
	end_error = 0;
	assert_int_equal(nr_files(), STORE_SET_ASIDE + 1);
	store_remove(&store, path, 0);
}

/* store_remove() says this, or nothing if it is NULL. */
static void expect_removal_says(const char *at, unsigned int kept, const char *part)
{
	FILE *cleanup_file file = tmpfile();
	const int before = dup(STDERR_FILENO);
	char said[512];
	size_t len;

	assert_non_null(file);
	log_open("test", LOG_LEVEL_WARN);
	dup2(fileno(file), STDERR_FILENO);
	store_remove(&store, at, kept);
	dup2(before, STDERR_FILENO);
	close(before);
	log_open("test", LOG_LEVEL_ERR);
	rewind(file);
	len = fread(said, 1, sizeof(said) - 1, file);
	said[len] = '\0';
	if (!part)
		assert_string_equal(said, "");
	else if (!strstr(said, part) || !strstr(said, at))
		fail_msg("'%s' does not say '%s' of %s", said, part, at);
}

static void all_files_of_the_agent_are_removed(void **state)
{
	make_file(PINFOLD_STATE_FILE);
	make_file("." PINFOLD_STATE_FILE ".tmp");
	make_file(PINFOLD_ORIGINALS_FILE);
	make_file("." PINFOLD_ORIGINALS_FILE ".tmp");
	make_file(PINFOLD_IRQS_FILE);
	make_file("." PINFOLD_IRQS_FILE ".tmp");
	make_file(PINFOLD_STRANGERS_FILE);
	make_file("." PINFOLD_STRANGERS_FILE ".tmp");
	make_file(PINFOLD_STATE_FILE ".bad-20260101T000000.000000000");
	expect_removal_says(path, 0, NULL);
	assert_int_equal(store.dir_fd, -1);
	assert_int_equal(access(path, F_OK), -1);
}

static void original_values_may_be_kept(void **state)
{
	make_file(PINFOLD_STATE_FILE);
	make_file(PINFOLD_ORIGINALS_FILE);
	make_file(PINFOLD_IRQS_FILE);
	expect_removal_says(path, STORE_KEEP_ORIGINALS, "remains with the original values");
	assert_true(has(PINFOLD_ORIGINALS_FILE));
	assert_int_equal(nr_files(), 1);
	assert_int_equal(store_open(&store, path), 0);
	make_file(PINFOLD_IRQS_FILE);
	expect_removal_says(path, STORE_KEEP_IRQS, "remains with the original masks");
	assert_true(has(PINFOLD_IRQS_FILE));
	assert_int_equal(nr_files(), 1);
	assert_int_equal(store_open(&store, path), 0);
	make_file(PINFOLD_HOST_FILE);
	expect_removal_says(path, STORE_KEEP_HOST, "remains with the names of the host's groups");
	assert_true(has(PINFOLD_HOST_FILE));
	assert_int_equal(nr_files(), 1);
	assert_int_equal(store_open(&store, path), 0);
	store_remove(&store, path, 0);
}

static void foreign_files_are_kept(void **state)
{
	char file[256];

	make_file(PINFOLD_STATE_FILE);
	make_file("notes");
	expect_removal_says(path, 0, "it contains 'notes', which is not pinfold's");
	assert_true(has("notes"));
	assert_int_equal(nr_files(), 1);
	snprintf(file, sizeof(file), "%s/notes", path);
	assert_int_equal(unlink(file), 0);
}

/* Its files are found by its descriptor, the directory itself by its name. */
static void a_directory_that_cannot_be_removed_is_logged(void **state)
{
	char file[96];

	snprintf(file, sizeof(file), "%s/file", parent);
	assert_int_equal(mknod(file, S_IFREG | 0600, 0), 0);
	make_file(PINFOLD_STATE_FILE);
	expect_removal_says(file, 0, "remains, but contains no pinfold files: Not a directory");
	assert_int_equal(nr_files(), 0);
	assert_int_equal(unlink(file), 0);
}

static void expect_problem(const char *part)
{
	const struct store_port port = store_port(&store);
	const char *problem = port.problem(port.self);

	if (!part) {
		assert_null(problem);
		return;
	}
	assert_non_null(problem);
	assert_non_null(strstr(problem, path));
	/* Nothing is saved where nobody finds it. */
	assert_int_equal(port.save(port.self, "{}", 2), -EROFS);
	assert_non_null(strstr(problem, part));
}

static void a_lost_directory_is_reported(void **state)
{
	char aside[96];

	expect_problem(NULL);
	assert_int_equal(rmdir(path), 0);
	expect_problem("No such file");
	/* Ours is gone for good, although there is one of its name. */
	assert_int_equal(mkdir(path, 0700), 0);
	expect_problem("the path now names another directory");
	store_close(&store);
	assert_int_equal(store_open(&store, path), 0);
	expect_problem(NULL);
	/* One that comes back is the same. */
	snprintf(aside, sizeof(aside), "%s-aside", path);
	assert_int_equal(rename(path, aside), 0);
	expect_problem("No such file");
	assert_int_equal(rename(aside, path), 0);
	expect_problem(NULL);
}

/* A file system may be mounted over it whose directory has the same number. */
static void a_covered_directory_is_reported(void **state)
{
	other_device = 1;
	expect_problem("the path now names another directory");
	other_device = 0;
	expect_problem(NULL);
}

static void a_read_only_file_system_is_reported(void **state)
{
	mount_flags = ST_RDONLY;
	expect_problem("Read-only file system");
	mount_flags = ST_NOSUID;
	expect_problem(NULL);
}

static void a_record_that_cannot_be_replaced_is_not_kept(void **state)
{
	const struct store_port port = store_port(&store);

	assert_int_equal(mkdirat(store.dir_fd, PINFOLD_STATE_FILE, 0700), 0);
	assert_int_equal(port.save(port.self, "{}", 2), -EISDIR);
	assert_int_equal(unlinkat(store.dir_fd, PINFOLD_STATE_FILE, AT_REMOVEDIR), 0);
	store_remove(&store, path, 0);
}

/* What cannot hold a record is said in a sentence, and no record is taken for kept. */
static void a_directory_of_others_keeps_nothing(void **state)
{
	struct store_port port;
	struct store other;
	char open_to_all[96], nowhere[128], name[64], *data = NULL;
	size_t len = 0;

	snprintf(open_to_all, sizeof(open_to_all), "%s/b", path);
	assert_int_equal(mkdir(open_to_all, 0700), 0);
	assert_int_equal(chmod(open_to_all, 0777), 0);
	assert_true(store_open(&other, open_to_all) < 0);
	assert_int_equal(other.dir_fd, -1);
	port = store_port(&other);
	assert_non_null(strstr(port.problem(port.self), "stateDirectory "));
	assert_non_null(strstr(port.problem(port.self), open_to_all));
	assert_int_equal(port.load(port.self, &data, &len), -ENOENT);
	assert_int_equal(port.save(port.self, "x", 1), -EROFS);
	store_remove(&other, open_to_all, 0);
	assert_int_equal(access(open_to_all, F_OK), 0);
	/* Below a file no directory can be. */
	make_file(PINFOLD_STATE_FILE);
	snprintf(nowhere, sizeof(nowhere), "%s/" PINFOLD_STATE_FILE "/c/d", path);
	assert_int_equal(store_open(&other, nowhere), -ENOTDIR);
	port = store_port(&other);
	assert_non_null(strstr(port.problem(port.self),
			       "cannot create the parent directories of stateDirectory"));
	/* Ours has no problem, and nothing to set aside is told. */
	port = store_port(&store);
	assert_null(port.problem(port.self));
	assert_int_equal(unlinkat(store.dir_fd, PINFOLD_STATE_FILE, 0), 0);
	assert_int_equal(port.set_aside(port.self, name, sizeof(name)), -ENOENT);
	assert_int_equal(rmdir(open_to_all), 0);
	store_remove(&store, path, 0);
}

/* By the time in its name the oldest is known. */
static void a_file_set_aside_has_the_time_in_its_name(void **state)
{
	static const char format[] = PINFOLD_STATE_FILE ".bad-%Y%m%dT%H%M%S.";
	const struct store_port port = store_port(&store);
	char before[64], after[64], name[128];
	/* time(2) lags behind it by a tick, so for some ms of each second it says the one before */
	time_t now = (time_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000);
	struct tm utc;

	strftime(before, sizeof(before), format, gmtime_r(&now, &utc));
	assert_int_equal(port.save(port.self, "bad", 3), 0);
	assert_int_equal(port.set_aside(port.self, name, sizeof(name)), 0);
	now = (time_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000);
	strftime(after, sizeof(after), format, gmtime_r(&now, &utc));
	assert_int_equal(strlen(name), strlen(before) + 9);
	assert_true(strncmp(before, name, strlen(before)) <= 0);
	assert_true(strncmp(name, after, strlen(after)) <= 0);
	store_remove(&store, path, 0);
}

static mode_t mode_of(const char *directory)
{
	struct stat info;

	assert_int_equal(stat(directory, &info), 0);
	return info.st_mode & 07777;
}

static void missing_directories_are_created(void **state)
{
	char above[96], deep[128], too_long[PATH_MAX + 8];
	const mode_t before = umask(022);
	struct store_port port;
	struct store other;

	snprintf(above, sizeof(above), "%s/b", path);
	snprintf(deep, sizeof(deep), "%s/c", above);
	assert_int_equal(store_open(&other, deep), 0);
	umask(before);
	assert_int_equal(mode_of(deep), 0700);
	assert_int_equal(mode_of(above), 0755);
	store_remove(&other, deep, 0);
	assert_int_equal(access(deep, F_OK), -1);
	assert_int_equal(rmdir(above), 0);
	/* Of a path that is too long nothing is made. */
	snprintf(too_long, sizeof(too_long), "%s/", above);
	for (size_t i = strlen(too_long); i < PATH_MAX; i++)
		too_long[i] = i % 2 ? 'x' : '/';
	too_long[PATH_MAX] = '\0';
	assert_int_equal(store_open(&other, too_long), -ENAMETOOLONG);
	port = store_port(&other);
	assert_non_null(strstr(port.problem(port.self), "cannot create the parent directories"));
	assert_int_equal(access(above, F_OK), -1);
	store_remove(&store, path, 0);
}

/* --- a disk that takes its time --------------------------------------------------------------- */

static int gate[2];
static unsigned int nr_saved;
static int saved_result;

static int wait_at_gate(struct worker_job *job)
{
	char byte;

	return (int)read(gate[0], &byte, 1);
}

static void passed_gate(struct worker_job *job, int result)
{
}

static void keep_job(struct worker_job *job)
{
}

static void on_saved(void *self, int result)
{
	assert_ptr_equal(self, &nr_saved);
	saved_result = result;
	nr_saved++;
}

/* The only thread is taken, so the record waits for its turn. */
static void a_delayed_record_is_written_unchanged(void **state)
{
	static const struct store_sink sink = {.self = &nr_saved, .saved = on_saved};
	const struct store_port port = store_port(&store);
	struct worker_job blocking = {
		.run = wait_at_gate, .completed = passed_gate, .release = keep_job};
	char *data cleanup_free = NULL;
	char record[8] = "first", where[64] = "x";
	struct pollfd ended = {.events = POLLIN};
	size_t len;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(worker_pool_new(1, &store.pool), 0);
	worker_pool_set_grace(store.pool, 1);
	store.sink = &sink;
	assert_int_equal(worker_run(store.pool, "gate", &blocking), -EINPROGRESS);
	port.waits_in(port.self, where, sizeof(where));
	assert_string_equal(where, "");
	assert_int_equal(port.save(port.self, record, 5), -EINPROGRESS);
	/* The caller's bytes are its own again. */
	strcpy(record, "other");
	port.waits_in(port.self, where, sizeof(where));
	assert_string_equal(where, "the queue of a thread pool of size 1");
	assert_int_equal(nr_saved, 0);
	assert_int_equal(write(gate[1], "x", 1), 1);
	for (ended.fd = worker_pool_fd(store.pool); !nr_saved;) {
		assert_int_equal(poll(&ended, 1, 600000), 1);
		worker_pool_dispatch(store.pool);
	}
	assert_int_equal(saved_result, 0);
	assert_int_equal(port.load(port.self, &data, &len), 0);
	assert_int_equal(len, 5);
	assert_string_equal(data, "first");
	assert_int_equal(worker_pool_free(store.pool), 0);
	store.pool = NULL;
	store.sink = NULL;
	close(gate[0]);
	close(gate[1]);
	store_remove(&store, path, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_record_is_loaded_as_saved, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_closed_store_keeps_no_descriptor, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_removed_is_logged,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(five_unusable_files_are_kept, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(nothing_is_dropped_if_not_all_names_are_known,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(all_files_of_the_agent_are_removed, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(original_values_may_be_kept, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_lost_directory_is_reported, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_covered_directory_is_reported, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_read_only_file_system_is_reported, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_record_that_cannot_be_replaced_is_not_kept,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(foreign_files_are_kept, make_store, remove_store),
		cmocka_unit_test_setup_teardown(a_file_set_aside_has_the_time_in_its_name,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(missing_directories_are_created, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_delayed_record_is_written_unchanged, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_directory_of_others_keeps_nothing, make_store,
						remove_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
