/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pods in the directory of cgroup_scene.h, and a port of the cgroup room whose calls are
 * made by threads. A pipe in the place of a file makes whoever opens it wait for the other end.
 * Include after cmocka, once.
 */
#ifndef TESTS_CGROUP_JOBS_SCENE_H
#define TESTS_CGROUP_JOBS_SCENE_H

#include "refused_calls.h"

#include <poll.h>

#include "cgroup/jobs.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

#define AT_ONCE 1ULL
/* A grace period that is long enough for every job that must not be late in a test. */
#define TO_THE_END (600ULL * 1000000000)

static struct groups *groups;
static struct groups_port port;

static char completed_path[GROUP_PATH_MAX], completed_error[GROUP_ERROR_MAX];
static int completed_result;
static unsigned int nr_completed, nr_looked;

static inline void on_completed(void *self, const char *path, int result, const char *error)
{
	assert_ptr_equal(self, &nr_completed);
	snprintf(completed_path, sizeof(completed_path), "%s", path);
	snprintf(completed_error, sizeof(completed_error), "%s", error);
	completed_result = result;
	nr_completed++;
}

static inline void on_looked(void *self)
{
	nr_looked++;
}

static const struct groups_sink sink = {
	.self = &nr_completed, .completed = on_completed, .looked = on_looked};

static inline int open_with_threads(unsigned int nr_threads)
{
	put_group("pinfold.slice", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/poda", "\n", "2-15\n", true);
	put_group("pinfold.slice/poda/c", "2-5\n", "2-5\n", true);
	put_group("pinfold.slice/podb", "\n", "2-15\n", true);
	put_group("pinfold.slice/podb/c", "6-7\n", "6-7\n", true);
	groups = open_fake(true);
	port = groups_port(groups);
	groups->sink = &sink;
	nr_completed = nr_looked = 0;
	*completed_path = '\0';
	if (worker_pool_new(nr_threads, &groups->pool))
		return -1;
	worker_pool_set_grace(groups->pool, AT_ONCE);
	return 0;
}

static inline int open_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	return r || geteuid() ? r : open_with_threads(4);
}

static inline int open_narrow_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	return r || geteuid() ? r : open_with_threads(1);
}

/* They end on their own, and the last one closes what the pool had open. */
static inline void wait_for_threads(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct stat info = {0};

	/* Its directory has two links and one for each thread, of which one is the test. */
	while (!stat("/proc/self/task", &info) && info.st_nlink > 3)
		nanosleep(&pause, NULL);
	assert_int_equal(info.st_nlink, 3);
}

static inline int close_scene(void **state)
{
	refuse_nothing();
	assert_int_equal(worker_pool_free(TAKE_PTR(groups->pool)), 0);
	wait_for_threads();
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

/* Replace the file below the mount with a pipe. */
static inline void put_pipe(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	unlink(whole);
	assert_int_equal(mkfifo(whole, 0600), 0);
}

/* Replace a pipe with a file. */
static inline void put_file(const char *path, const char *text)
{
	char whole[512], name[512];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	unlink(whole);
	snprintf(name, sizeof(name), "cg/%s", path);
	put(name, text);
}

/* Open the other end; returns when both ends are open. */
static inline int open_end(const char *path, int flags)
{
	char whole[512];
	int fd;

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	fd = open(whole, flags | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline void take_what_is_written(const char *path, const char *wanted)
{
	int fd cleanup_close = open_end(path, O_RDONLY);
	char text[64] = "";

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, wanted);
}

static inline void give_to_read(const char *path, const char *text)
{
	int fd cleanup_close = open_end(path, O_WRONLY);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline void dispatch(void)
{
	struct pollfd poll_fd = {.fd = worker_pool_fd(groups->pool), .events = POLLIN};

	assert_int_equal(poll(&poll_fd, 1, 600000), 1);
	worker_pool_dispatch(groups->pool);
}

static inline void wait_for_jobs(const char *key)
{
	while (worker_is_busy(groups->pool, key))
		dispatch();
}

/* The result of an operation that may have ended in time. */
static inline int end_of(int r, char *error)
{
	unsigned int nr_before = nr_completed;

	if (r != -EINPROGRESS)
		return r;
	while (nr_completed == nr_before)
		dispatch();
	memcpy(error, completed_error, GROUP_ERROR_MAX);
	return completed_result;
}

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
#define ONE_THREAD(name) cmocka_unit_test_setup_teardown(name, open_narrow_scene, close_scene)

/* The room refuses to write for anybody except root, whatever the directory. */
#define RUN_AS_ROOT(tests) \
	_cmocka_run_group_tests("tests", tests, geteuid() ? 0 : ARRAY_SIZE(tests), NULL, NULL)

#endif
