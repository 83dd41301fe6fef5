// SPDX-License-Identifier: Apache-2.0
/*
 * The attempted operation is the most harmless one that the guard denies: a process writes
 * itself into an empty cgroup. If it is not denied, the process exits there at once.
 *
 * It has three stages: a job creates the cgroup, the loop puts it under the guard, and a job
 * runs the child. The struct of the attempt passes the state from one stage to the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/selftest.h"
#include "lib/file.h"
#include "lib/worker.h"

/* Paths of groups do not begin with a slash. */
#define SELFTEST_KEY "/selftest"

#define WRITE_ALLOWED 1
#define OPEN_ALLOWED  2

struct attempt {
	struct worker_job job; /* first */
	struct selftest test;
	char path[GROUP_PATH_MAX];
	int dir_fd; /* the cgroup's; owned, or -1 */
	struct stat stat;
	struct selftest_result result;
};

static void attempt_free(struct attempt *attempt)
{
	cleanup_close_fd(&attempt->dir_fd);
	free(attempt);
}
DEFINE_CLEANUP(struct attempt, attempt_freep, attempt_free);
#define cleanup_attempt cleanup(attempt_freep)

static void release(struct worker_job *job)
{
	attempt_free((struct attempt *)job);
}

static struct attempt *attempt_new(const struct selftest *test, const char *path,
				   int (*run)(struct worker_job *job),
				   void (*completed)(struct worker_job *job, int result))
{
	struct attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt)
		return NULL;
	attempt->job = (struct worker_job){.run = run, .completed = completed, .release = release};
	attempt->test = *test;
	attempt->dir_fd = -1;
	snprintf(attempt->path, sizeof(attempt->path), "%s", path);
	return attempt;
}

/* The depth of a cgroup is the number of names in its path from the mount. */
static uint32_t count_names(const char *path)
{
	uint32_t nr = 0;

	while (*path) {
		path += strspn(path, "/");
		nr += *path != '\0';
		path += strcspn(path, "/");
	}
	return nr;
}

/* --- the child ------------------------------------------------------------------------------------ */

static void close_all_but(unsigned int low, unsigned int high)
{
	if (low > high)
		return close_all_but(high, low);
	if (low)
		close_range(0, low - 1, 0);
	if (low + 1 < high)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

/*
 * After a fork of a process with threads: only system calls are allowed. The child may be
 * blocked in the kernel for longer than the agent lives, so it keeps nothing open that the
 * next agent needs, such as a lock or an address.
 */
static _Noreturn void try_as_stranger(int dir_fd, int procs_fd)
{
	int status = 0, fd;

	close_all_but((unsigned int)dir_fd, (unsigned int)procs_fd);
	if (write(procs_fd, "0", 1) >= 0 || errno != EPERM)
		status |= WRITE_ALLOWED;
	fd = openat(dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 || errno != EPERM)
		status |= OPEN_ALLOWED;
	_exit(status);
}

/*
 * _Fork, because fork() holds the locks of malloc and stdio while the kernel creates the
 * child. That waits for any holder of the thread-group lock, so the loop would wait too.
 */
static int ask_child(int dir_fd, int procs_fd, struct selftest_result *ret_result)
{
	int status;
	pid_t child = _Fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		try_as_stranger(dir_fd, procs_fd);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -ECHILD;
	ret_result->write_denied = !(WEXITSTATUS(status) & WRITE_ALLOWED);
	ret_result->open_denied = !(WEXITSTATUS(status) & OPEN_ALLOWED);
	return 0;
}

static int run_child(struct worker_job *base)
{
	struct attempt *attempt = (struct attempt *)base;
	int procs_fd cleanup_close = openat(attempt->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return procs_fd < 0 ? -errno : ask_child(attempt->dir_fd, procs_fd, &attempt->result);
}

static void child_ended(struct worker_job *base, int result)
{
	const struct attempt *attempt = (struct attempt *)base;

	attempt->test.ended(attempt->test.self, attempt->path, result, &attempt->result);
}

/* --- the cgroup ----------------------------------------------------------------------------------- */

static int run_make(struct worker_job *base)
{
	struct attempt *attempt = (struct attempt *)base;
	const char *path = attempt->path + strspn(attempt->path, "/");
	int root_fd cleanup_close =
		open(attempt->test.cgroup_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root_fd < 0)
		return -errno;
	/* Open it first: mkdir takes the lock of the parent directory even if it returns EEXIST. */
	attempt->dir_fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (attempt->dir_fd < 0 && errno == ENOENT) {
		if (mkdirat(root_fd, path, 0755) && errno != EEXIST)
			return -errno;
		attempt->dir_fd =
			openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (attempt->dir_fd < 0 || fstat(attempt->dir_fd, &attempt->stat))
		return -errno;
	return 0;
}

/* Continue with the cgroup that was created. */
static int go_on(struct attempt *made, struct selftest_result *ret_result)
{
	struct attempt *attempt cleanup_attempt = NULL;
	int r = policy_self_test(made->test.maps, made->stat.st_ino, count_names(made->path),
				 made->test.set);

	if (r)
		return r;
	attempt = attempt_new(&made->test, made->path, run_child, child_ended);
	if (!attempt)
		return -ENOMEM;
	attempt->dir_fd = TAKE_FD(made->dir_fd);
	r = worker_run(attempt->test.pool, SELFTEST_KEY, &attempt->job);
	if (r == -EINPROGRESS)
		(void)TAKE_PTR(attempt);
	else if (!r)
		*ret_result = attempt->result;
	return r;
}

static void make_ended(struct worker_job *base, int result)
{
	struct attempt *attempt = (struct attempt *)base;
	struct selftest_result found = {0};

	if (!result)
		result = go_on(attempt, &found);
	if (result != -EINPROGRESS)
		attempt->test.ended(attempt->test.self, attempt->path, result, &found);
}

int selftest_run(const struct selftest *test, const char *path, struct selftest_result *ret_result)
{
	struct attempt *attempt cleanup_attempt = attempt_new(test, path, run_make, make_ended);
	int r;

	if (!attempt)
		return -ENOMEM;
	r = worker_run(test->pool, SELFTEST_KEY, &attempt->job);
	if (r == -EINPROGRESS)
		(void)TAKE_PTR(attempt);
	return r ? r : go_on(attempt, ret_result);
}

void selftest_waits_in(const struct selftest *test, char *ret_text, size_t size)
{
	worker_where(test->pool, SELFTEST_KEY, ret_text, size);
}
