// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/*
 * The pool of threads: who waits for whom and who does not. Jobs are held and let
 * go through pipes, so no result depends on how fast this machine is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/worker.h"

#define LONG_NS 60000000000ULL
#define MAX_LOG 16

/* The jobs that have ended, in order: one letter each. */
static char log_text[MAX_LOG];
static atomic_uint log_len, nr_released;

struct held_job {
	struct worker_job job; /* first */
	int gate[2];	       /* a write ends the job; -1 = it ends at once */
	char letter;
	int answer;
	bool saw_no_signals;
};

static int run_held(struct worker_job *job)
{
	struct held_job *held = (struct held_job *)job;
	sigset_t blocked;
	char byte;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	held->saw_no_signals = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGHUP);
	if (held->gate[0] >= 0)
		assert_int_equal(read(held->gate[0], &byte, 1), 1);
	log_text[atomic_fetch_add(&log_len, 1)] = held->letter;
	return held->answer;
}

static char completed_text[MAX_LOG];
static int last_result;

static void on_completed(struct worker_job *job, int result)
{
	struct held_job *held = (struct held_job *)job;

	completed_text[strlen(completed_text)] = held->letter;
	last_result = result;
}

static void release_held(struct worker_job *job)
{
	struct held_job *held = (struct held_job *)job;

	if (held->gate[0] >= 0) {
		close(held->gate[0]);
		close(held->gate[1]);
	}
	free(held);
	atomic_fetch_add(&nr_released, 1);
}

static struct held_job *make_job(char letter, bool held, int answer)
{
	struct held_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->job = (struct worker_job){
		.run = run_held, .completed = on_completed, .release = release_held};
	job->letter = letter;
	job->answer = answer;
	job->gate[0] = job->gate[1] = -1;
	if (held)
		assert_int_equal(pipe2(job->gate, O_CLOEXEC), 0);
	return job;
}

static void let_go(const struct held_job *job)
{
	assert_int_equal(write(job->gate[1], "x", 1), 1);
}

/* Wait until `nr` jobs have been reported. */
static void dispatch(struct worker_pool *pool, size_t nr)
{
	struct pollfd poll_fd = {.fd = worker_pool_fd(pool), .events = POLLIN};

	while (strlen(completed_text) < nr) {
		assert_int_equal(poll(&poll_fd, 1, 60000), 1);
		worker_pool_dispatch(pool);
	}
}

static int set_up(void **state)
{
	memset(log_text, 0, sizeof(log_text));
	memset(completed_text, 0, sizeof(completed_text));
	log_len = nr_released = 0;
	return 0;
}

static struct worker_pool *make_pool(unsigned int nr_threads, uint64_t grace_ns)
{
	struct worker_pool *pool = NULL;

	assert_int_equal(worker_pool_new(nr_threads, &pool), 0);
	worker_pool_set_grace(pool, grace_ns);
	return pool;
}

static void a_fast_job_answers_its_caller(void **state)
{
	struct worker_pool *pool = make_pool(2, LONG_NS);
	struct held_job *job = make_job('a', false, -ENOSPC);
	struct pollfd poll_fd = {.fd = worker_pool_fd(pool), .events = POLLIN};

	assert_int_equal(worker_run(pool, "k", &job->job), -ENOSPC);
	assert_true(job->saw_no_signals);
	assert_false(worker_is_busy(pool, "k"));
	/* The caller got the result, so `completed` is not called. */
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	worker_pool_dispatch(pool);
	assert_string_equal(completed_text, "");
	release_held(&job->job);
	assert_int_equal(worker_pool_free(pool), 0);
}

/*
 * A function called by the job may return this value; the caller would wait for a job
 * that has ended.
 */
static void job_cannot_return_einprogress(void **state)
{
	struct worker_pool *pool = make_pool(2, LONG_NS);
	struct held_job *job = make_job('a', false, -EINPROGRESS);

	assert_int_equal(worker_run(pool, "k", &job->job), -EBUSY);
	release_held(&job->job);
	assert_int_equal(worker_pool_free(pool), 0);
}

static void without_a_pool_a_job_just_runs(void **state)
{
	struct held_job *job = make_job('a', false, -EPERM);

	assert_int_equal(worker_run(NULL, "k", &job->job), -EPERM);
	release_held(&job->job);
}

static void a_begun_job_is_handed_over_at_once_if_it_is_fast(void **state)
{
	struct worker_pool *pool = make_pool(2, LONG_NS);

	assert_int_equal(worker_begin(pool, "k", &make_job('a', false, -ENOSPC)->job), 0);
	assert_string_equal(completed_text, "a");
	assert_int_equal(last_result, -ENOSPC);
	assert_int_equal(nr_released, 1);
	assert_int_equal(worker_begin(NULL, "k", &make_job('b', false, 0)->job), 0);
	assert_string_equal(completed_text, "ab");
	assert_int_equal(last_result, 0);
	assert_int_equal(nr_released, 2);
	assert_int_equal(worker_pool_free(pool), 0);
}

/* The sanitizers see that nothing leaks. */
static void a_job_that_owns_nothing_needs_no_release(void **state)
{
	struct worker_pool *pool = make_pool(2, LONG_NS);
	struct held_job *job = make_job('a', false, 0);

	job->job.release = NULL;
	assert_int_equal(worker_begin(pool, "k", &job->job), 0);
	assert_string_equal(completed_text, "a");
	assert_int_equal(nr_released, 0);
	assert_int_equal(worker_pool_free(pool), 0);
}

static void a_begun_job_that_is_late_refuses_the_next_one(void **state)
{
	struct worker_pool *pool = make_pool(2, 1);
	struct held_job *job = make_job('a', true, -EIO);

	assert_int_equal(worker_begin(pool, "k", &job->job), 0);
	assert_int_equal(worker_begin(pool, "k", &make_job('b', false, 0)->job), -EBUSY);
	assert_string_equal(completed_text, "");
	assert_int_equal(nr_released, 1);
	let_go(job);
	dispatch(pool, 1);
	assert_string_equal(completed_text, "a");
	assert_string_equal(log_text, "a");
	assert_int_equal(last_result, -EIO);
	assert_int_equal(nr_released, 2);
	/* Its end makes room for another one. */
	assert_int_equal(worker_begin(pool, "k", &make_job('c', false, 0)->job), 0);
	dispatch(pool, 2);
	assert_string_equal(completed_text, "ac");
	assert_int_equal(worker_pool_free(pool), 0);
}

static void late_job_is_reported_later(void **state)
{
	struct worker_pool *pool = make_pool(2, 1);
	struct held_job *job = make_job('a', true, -EIO);

	assert_int_equal(worker_run(pool, "k", &job->job), -EINPROGRESS);
	assert_true(worker_is_busy(pool, "k"));
	assert_false(worker_is_busy(pool, "other"));
	worker_pool_dispatch(pool);
	assert_string_equal(completed_text, "");
	let_go(job);
	dispatch(pool, 1);
	assert_string_equal(completed_text, "a");
	assert_int_equal(last_result, -EIO);
	assert_int_equal(nr_released, 1);
	assert_false(worker_is_busy(pool, "k"));
	assert_int_equal(worker_pool_free(pool), 0);
}

static void late_job_can_be_awaited(void **state)
{
	struct worker_pool *pool = make_pool(2, 1);
	struct held_job *job = make_job('a', true, -EIO), *other = make_job('b', true, 0);

	assert_int_equal(worker_await(pool, "k", LONG_NS), 0);
	assert_int_equal(worker_run(pool, "k", &job->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "other", &other->job), -EINPROGRESS);
	assert_int_equal(worker_await(pool, "k", 1000000), -ETIMEDOUT);
	assert_string_equal(completed_text, "");
	let_go(job);
	assert_int_equal(worker_await(pool, "k", LONG_NS), 0);
	assert_string_equal(completed_text, "a");
	assert_int_equal(last_result, -EIO);
	assert_false(worker_is_busy(pool, "k"));
	assert_true(worker_is_busy(pool, "other"));
	let_go(other);
	assert_int_equal(worker_await(pool, "other", LONG_NS), 0);
	assert_int_equal(worker_pool_free(pool), 0);
	assert_int_equal(worker_await(NULL, "k", LONG_NS), 0);
}

/* A readable descriptor ends the wait and nothing else; nobody reads from it. */
static void a_wait_ends_if_the_caller_is_to_stop(void **state)
{
	struct worker_pool *pool = make_pool(1, 1);
	struct held_job *job = make_job('a', true, -EIO);
	int stop_fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(worker_run(pool, "k", &job->job), -EINPROGRESS);
	worker_pool_set_stop(pool, stop_fd);
	assert_int_equal(worker_await(pool, "k", 1000000), -ETIMEDOUT);
	assert_int_equal(eventfd_write(stop_fd, 1), 0);
	assert_int_equal(worker_await(pool, "k", LONG_NS), -EINTR);
	assert_int_equal(worker_await(pool, "k", LONG_NS), -EINTR);
	assert_true(worker_is_busy(pool, "k"));
	assert_string_equal(completed_text, "");
	worker_pool_set_stop(pool, -1);
	let_go(job);
	assert_int_equal(worker_await(pool, "k", LONG_NS), 0);
	worker_pool_set_stop(pool, stop_fd);
	assert_int_equal(worker_await(pool, "k", LONG_NS), 0);
	assert_int_equal(worker_pool_free(pool), 0);
	close(stop_fd);
}

static void jobs_of_a_key_run_in_order(void **state)
{
	struct worker_pool *pool = make_pool(4, 1);
	struct held_job *first = make_job('a', true, 0), *second = make_job('b', false, 0),
			*third = make_job('c', false, 0);

	assert_int_equal(worker_run(pool, "k", &first->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "k", &second->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "k", &third->job), -EINPROGRESS);
	assert_int_equal(log_len, 0);
	let_go(first);
	dispatch(pool, 3);
	assert_string_equal(log_text, "abc");
	assert_int_equal(worker_pool_free(pool), 0);
}

static void another_key_does_not_wait(void **state)
{
	struct worker_pool *pool = make_pool(2, 1);
	struct held_job *stuck = make_job('a', true, 0), *other = make_job('b', false, 0);
	int r;

	assert_int_equal(worker_run(pool, "k", &stuck->job), -EINPROGRESS);
	/*
	 * The wait is short while another job is late, so either result is valid; the job
	 * must end.
	 */
	r = worker_run(pool, "other", &other->job);
	if (r == -EINPROGRESS)
		dispatch(pool, 1);
	else
		release_held(&other->job);
	assert_string_equal(log_text, "b");
	let_go(stuck);
	dispatch(pool, r == -EINPROGRESS ? 2 : 1);
	assert_string_equal(log_text, "ba");
	assert_int_equal(worker_pool_free(pool), 0);
}

static unsigned int nr_own_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned int nr = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		nr += entry->d_name[0] != '.';
	closedir(dir);
	return nr;
}

/*
 * A new thread waits for the same lock as the write of a membership file that keeps
 * others waiting: whoever hands over a job must never have to make one.
 */
static void submitting_a_job_creates_no_thread(void **state)
{
	struct worker_pool *pool = make_pool(3, 1);
	unsigned int nr_with_pool = nr_own_threads();
	struct held_job *jobs[] = {make_job('a', true, 0), make_job('b', true, 0)};

	assert_true(nr_with_pool > 3);
	assert_int_equal(worker_run(pool, "a", &jobs[0]->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "b", &jobs[1]->job), -EINPROGRESS);
	assert_true(nr_own_threads() <= nr_with_pool);
	let_go(jobs[0]);
	let_go(jobs[1]);
	dispatch(pool, 2);
	assert_int_equal(worker_pool_free(pool), 0);
}

static void busy_pool_is_reported(void **state)
{
	struct worker_pool *pool = make_pool(2, 1);
	struct held_job *jobs[] = {make_job('a', true, 0), make_job('b', true, 0),
				   make_job('c', false, 0)};
	char where[160];

	assert_int_equal(worker_run(pool, "a", &jobs[0]->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "b", &jobs[1]->job), -EINPROGRESS);
	assert_int_equal(worker_run(pool, "c", &jobs[2]->job), -EINPROGRESS);
	worker_where(pool, "c", where, sizeof(where));
	assert_string_equal(where, "the queue of a thread pool of size 2");
	worker_where(pool, "nobody", where, sizeof(where));
	assert_string_equal(where, "");
	assert_int_equal(log_len, 0);
	let_go(jobs[1]);
	dispatch(pool, 2);
	assert_string_equal(log_text, "bc");
	let_go(jobs[0]);
	dispatch(pool, 3);
	assert_int_equal(worker_pool_free(pool), 0);
}

static atomic_bool is_spinning, is_released;

static int run_spinning(struct worker_job *job)
{
	atomic_store(&is_spinning, true);
	while (!atomic_load(&is_released))
		;
	return run_held(job);
}

/* On a busy machine a job may be late although nothing in the kernel blocks it. */
static void a_job_that_is_not_blocked_waits_for_a_cpu(void **state)
{
	struct worker_pool *pool = make_pool(1, 1);
	struct held_job *job = make_job('a', false, 0);
	char where[160];

	job->job.run = run_spinning;
	assert_int_equal(worker_run(pool, "a", &job->job), -EINPROGRESS);
	while (!atomic_load(&is_spinning))
		usleep(1000);
	worker_where(pool, "a", where, sizeof(where));
	assert_string_equal(where, "no blocking function: its thread runs or waits for a CPU");
	atomic_store(&is_released, true);
	dispatch(pool, 1);
	assert_int_equal(worker_pool_free(pool), 0);
}

/* Its thread may wait for other work by now, which is no wait in the kernel. */
static void a_job_that_has_ended_waits_nowhere(void **state)
{
	struct worker_pool *pool = make_pool(1, 1);
	struct held_job *job = make_job('a', true, 0);
	struct pollfd poll_fd = {.fd = worker_pool_fd(pool), .events = POLLIN};
	char where[160];

	assert_int_equal(worker_run(pool, "a", &job->job), -EINPROGRESS);
	worker_where(pool, "a", where, sizeof(where));
	assert_string_not_equal(where, "");
	let_go(job);
	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	worker_where(pool, "a", where, sizeof(where));
	assert_string_equal(where, "");
	dispatch(pool, 1);
	assert_int_equal(worker_pool_free(pool), 0);
}

static int run_a_moment(struct worker_job *job)
{
	usleep(50000);
	return 0;
}

/* A pass that happens to run when the agent stops is not reported as blocked in the kernel. */
static void a_job_that_ends_soon_is_not_stuck(void **state)
{
	struct worker_pool *pool = make_pool(1, 1);
	struct held_job *job = make_job('a', false, 0);

	job->job.run = run_a_moment;
	assert_int_equal(worker_run(pool, "a", &job->job), -EINPROGRESS);
	while (!__atomic_load_n(&job->job.thread, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(worker_pool_free(pool), 0);
}

/* Blocked threads are not joined, and jobs that have not started never start. */
static void stuck_job_does_not_block_the_pool(void **state)
{
	struct worker_pool *pool = make_pool(1, 1);
	struct held_job *stuck = make_job('a', true, 0), *queued = make_job('b', false, 0);

	assert_int_equal(worker_run(pool, "a", &stuck->job), -EINPROGRESS);
	/* the only thread has started it */
	while (!__atomic_load_n(&stuck->job.is_running, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(worker_run(pool, "b", &queued->job), -EINPROGRESS);
	assert_int_equal(worker_pool_free(pool), 1);
	assert_int_equal(nr_released, 1);
	assert_string_equal(completed_text, "");
	/* When its job ends, the thread notices the end of the pool and frees the rest. */
	let_go(stuck);
	while (nr_released < 2)
		sched_yield();
	assert_string_equal(log_text, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_fast_job_answers_its_caller, set_up),
		cmocka_unit_test_setup(job_cannot_return_einprogress, set_up),
		cmocka_unit_test_setup(without_a_pool_a_job_just_runs, set_up),
		cmocka_unit_test_setup(a_begun_job_is_handed_over_at_once_if_it_is_fast, set_up),
		cmocka_unit_test_setup(a_job_that_owns_nothing_needs_no_release, set_up),
		cmocka_unit_test_setup(a_begun_job_that_is_late_refuses_the_next_one, set_up),
		cmocka_unit_test_setup(late_job_is_reported_later, set_up),
		cmocka_unit_test_setup(late_job_can_be_awaited, set_up),
		cmocka_unit_test_setup(a_wait_ends_if_the_caller_is_to_stop, set_up),
		cmocka_unit_test_setup(jobs_of_a_key_run_in_order, set_up),
		cmocka_unit_test_setup(another_key_does_not_wait, set_up),
		cmocka_unit_test_setup(submitting_a_job_creates_no_thread, set_up),
		cmocka_unit_test_setup(busy_pool_is_reported, set_up),
		cmocka_unit_test_setup(a_job_that_is_not_blocked_waits_for_a_cpu, set_up),
		cmocka_unit_test_setup(a_job_that_has_ended_waits_nowhere, set_up),
		cmocka_unit_test_setup(a_job_that_ends_soon_is_not_stuck, set_up),
		cmocka_unit_test_setup(stuck_job_does_not_block_the_pool, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
