// SPDX-License-Identifier: Apache-2.0
/*
 * One lock, one list of jobs in order of submission, two condition variables. The lock
 * protects the list and is never held while a job runs.
 */
#include "lib/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/file.h"

/* Enough for jobs that format CPU lists and talk to sd-bus. */
#define STACK_BYTES ((size_t)512 * 1024)
/* How long the end of a pool waits for jobs that run. */
#define ENDING_NS 1000000000ULL
/* The number of stack frames shown for a blocked thread. */
#define FRAMES_SHOWN 4

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for threads: a job may have become ready */
	pthread_cond_t ended; /* for the loop: a job has ended */
	struct worker_job *first, **last;
	unsigned int nr_threads;
	unsigned int nr_late;  /* jobs whose caller stopped waiting and was not notified yet */
	unsigned int nr_users; /* threads and the owner; the last one frees the pool */
	uint64_t grace_ns;
	int event_fd;
	int stop_fd; /* borrowed; -1 = none */
	bool is_closed;
};

static void free_pool(struct worker_pool *pool)
{
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->ended);
	pthread_mutex_destroy(&pool->lock);
	close(pool->event_fd);
	free(pool);
}

static void release(struct worker_job *job)
{
	if (job->release)
		job->release(job);
	else
		free(job);
}

/* --- the list ------------------------------------------------------------------------------------ */

static void append(struct worker_pool *pool, struct worker_job *job)
{
	job->next = NULL;
	*pool->last = job;
	pool->last = &job->next;
}

static void take_out(struct worker_pool *pool, struct worker_job *job)
{
	struct worker_job **at = &pool->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!*at)
		pool->last = at;
}

/* The first job that has not started and has no earlier job with its key. */
static struct worker_job *find_ready(const struct worker_pool *pool)
{
	for (struct worker_job *job = pool->first; job; job = job->next) {
		const struct worker_job *before = pool->first;

		if (job->is_running || job->is_done)
			continue;
		while (before != job && (before->is_done || strcmp(before->key, job->key)))
			before = before->next;
		if (before == job)
			return job;
	}
	return NULL;
}

/* --- threads ------------------------------------------------------------------------------------- */

static void *work(void *data)
{
	struct worker_pool *pool = data;
	struct worker_job *job;
	bool is_last;

	pthread_mutex_lock(&pool->lock);
	while (!pool->is_closed) {
		job = find_ready(pool);
		if (!job) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		job->is_running = true;
		job->thread = gettid();
		pthread_mutex_unlock(&pool->lock);
		job->result = job->run(job);
		/* The caller would take this result to mean that the job continues. */
		if (job->result == -EINPROGRESS)
			job->result = -EBUSY;
		pthread_mutex_lock(&pool->lock);
		job->is_done = true;
		if (pool->is_closed) {
			/* The owner is gone, so nobody can be notified. */
			take_out(pool, job);
			release(job);
			pthread_cond_signal(&pool->ended);
		} else if (job->is_left) {
			(void)eventfd_write(pool->event_fd, 1);
		} else {
			pthread_cond_signal(&pool->ended);
		}
	}
	is_last = --pool->nr_users == 0;
	pthread_mutex_unlock(&pool->lock);
	if (is_last)
		free_pool(pool);
	return NULL;
}

/*
 * The loop's thread may have real-time priority; these threads do not. All are created
 * before the first job, because clone waits for the thread-group lock. A write to
 * cgroup.procs holds that lock while it is blocked in the kernel, so creating threads on
 * demand could block the loop.
 */
static int start_thread(struct worker_pool *pool)
{
	const struct sched_param ordinary = {0};
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &ordinary);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_mutex_lock(&pool->lock);
	r = -pthread_create(&thread, &attributes, work, pool);
	pool->nr_threads += !r;
	pool->nr_users += !r;
	pthread_mutex_unlock(&pool->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r;
}

/* --- the loop's side ------------------------------------------------------------------------------ */

int worker_pool_new(unsigned int nr_threads, struct worker_pool **ret_pool)
{
	struct worker_pool *pool cleanup_free = calloc(1, sizeof(*pool));
	pthread_condattr_t attributes;
	int r = 0;

	if (!pool)
		return -ENOMEM;
	pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->event_fd < 0)
		return -errno;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &attributes);
	pthread_cond_init(&pool->ended, &attributes);
	pthread_condattr_destroy(&attributes);
	pool->stop_fd = -1;
	pool->last = &pool->first;
	pool->nr_users = 1;
	while (!r && pool->nr_threads < nr_threads)
		r = start_thread(pool);
	/*
	 * With fewer threads than requested more jobs wait for each other; worker_where
	 * reports that.
	 */
	if (!pool->nr_threads) {
		worker_pool_free(TAKE_PTR(pool));
		return r;
	}
	*ret_pool = TAKE_PTR(pool);
	return 0;
}

static struct timespec after(uint64_t delay_ns)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	delay_ns += (uint64_t)time.tv_nsec;
	time.tv_sec += (time_t)(delay_ns / 1000000000);
	time.tv_nsec = (long)(delay_ns % 1000000000);
	return time;
}

static unsigned int nr_running(const struct worker_pool *pool)
{
	unsigned int nr = 0;

	for (const struct worker_job *job = pool->first; job; job = job->next)
		nr += job->is_running && !job->is_done;
	return nr;
}

/* Most jobs end within milliseconds; only those that are blocked in the kernel are left alone. */
static unsigned int await_running(struct worker_pool *pool)
{
	const struct timespec deadline = after(ENDING_NS);
	int r = 0;

	while (nr_running(pool) && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&pool->ended, &pool->lock, &deadline);
	return nr_running(pool);
}

unsigned int worker_pool_free(struct worker_pool *pool)
{
	struct worker_job *dropped = NULL;
	unsigned int nr_stuck;
	bool is_last;

	if (!pool)
		return 0;
	pthread_mutex_lock(&pool->lock);
	pool->is_closed = true;
	for (struct worker_job *job = pool->first, *next; job; job = next) {
		next = job->next;
		if (job->is_running && !job->is_done)
			continue;
		take_out(pool, job);
		job->next = dropped;
		dropped = job;
	}
	nr_stuck = await_running(pool);
	is_last = --pool->nr_users == 0;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	while (dropped) {
		struct worker_job *job = dropped;

		dropped = job->next;
		release(job);
	}
	if (is_last)
		free_pool(pool);
	return nr_stuck;
}

void worker_pool_set_grace(struct worker_pool *pool, uint64_t grace_ns)
{
	pool->grace_ns = grace_ns;
}

void worker_pool_set_stop(struct worker_pool *pool, int stop_fd)
{
	pool->stop_fd = stop_fd;
}

int worker_pool_fd(const struct worker_pool *pool)
{
	return pool->event_fd;
}

int worker_run(struct worker_pool *pool, const char *key, struct worker_job *job)
{
	struct timespec deadline;
	int r = 0;

	if (!pool)
		return job->run(job);
	snprintf(job->key, sizeof(job->key), "%s", key);
	job->is_running = job->is_done = job->is_left = false;
	job->thread = 0;
	pthread_mutex_lock(&pool->lock);
	append(pool, job);
	pthread_cond_signal(&pool->work);
	deadline = after(pool->nr_late && pool->grace_ns > WORKER_SHORT_GRACE_NS
				 ? WORKER_SHORT_GRACE_NS
				 : pool->grace_ns);
	while (!job->is_done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&pool->ended, &pool->lock, &deadline);
	if (job->is_done) {
		take_out(pool, job);
		r = job->result;
	} else {
		job->is_left = true;
		pool->nr_late++;
		r = -EINPROGRESS;
	}
	pthread_mutex_unlock(&pool->lock);
	return r;
}

/* Remove and return a late job that has ended; NULL = there is none. */
static struct worker_job *take_ended(struct worker_pool *pool)
{
	struct worker_job *job;

	pthread_mutex_lock(&pool->lock);
	for (job = pool->first; job && !(job->is_done && job->is_left);)
		job = job->next;
	if (job) {
		take_out(pool, job);
		pool->nr_late--;
	}
	pthread_mutex_unlock(&pool->lock);
	return job;
}

void worker_pool_dispatch(struct worker_pool *pool)
{
	struct worker_job *job;
	eventfd_t ended;

	/* There may be nothing to read if an earlier call already did. */
	(void)eventfd_read(pool->event_fd, &ended);
	while ((job = take_ended(pool))) {
		job->completed(job, job->result);
		release(job);
	}
}

static const struct worker_job *find_late(const struct worker_pool *pool, const char *key)
{
	for (const struct worker_job *job = pool->first; job; job = job->next)
		if (job->is_left && !strcmp(job->key, key))
			return job;
	return NULL;
}

bool worker_is_busy(struct worker_pool *pool, const char *key)
{
	bool busy;

	if (!pool)
		return false;
	pthread_mutex_lock(&pool->lock);
	busy = find_late(pool, key);
	pthread_mutex_unlock(&pool->lock);
	return busy;
}

int worker_begin(struct worker_pool *pool, const char *key, struct worker_job *job)
{
	int r;

	if (worker_is_busy(pool, key)) {
		release(job);
		return -EBUSY;
	}
	r = worker_run(pool, key, job);
	if (r == -EINPROGRESS)
		return 0;
	job->completed(job, r);
	release(job);
	return 0;
}

int worker_await(struct worker_pool *pool, const char *key, uint64_t limit_ns)
{
	const uint64_t begin = clock_monotonic_ns();

	while (worker_is_busy(pool, key)) {
		struct pollfd fds[] = {{.fd = pool->event_fd, .events = POLLIN},
				       {.fd = pool->stop_fd, .events = POLLIN}};
		const uint64_t passed = clock_monotonic_ns() - begin;
		struct timespec left;

		if (passed >= limit_ns)
			return -ETIMEDOUT;
		left.tv_sec = (time_t)((limit_ns - passed) / 1000000000);
		left.tv_nsec = (long)((limit_ns - passed) % 1000000000);
		/* Whatever ends it, the loop looks at the job and the time again. */
		(void)ppoll(fds, ARRAY_SIZE(fds), &left, NULL);
		worker_pool_dispatch(pool);
		if (fds[1].revents && worker_is_busy(pool, key))
			return -EINTR;
	}
	return 0;
}

/*
 * Convert lines like "[<0>] percpu_down_write+0x1a/0x30" to "percpu_down_write, …",
 * innermost frame first.
 */
static void shorten_stack(const char *stack, char *ret_text, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < FRAMES_SHOWN && *stack; i++) {
		const char *name = stack + strcspn(stack, "]\n");
		int len;

		if (*name != ']')
			break;
		name += strspn(name, "] ");
		len = (int)strcspn(name, "+\n");
		used += (size_t)snprintf(ret_text + used, size - used, "%s%.*s", i ? ", " : "", len,
					 name);
		if (used >= size)
			return;
		stack = name + strcspn(name, "\n");
		stack += *stack == '\n';
	}
}

/* The state of the thread as ps(1) shows it: 'R' on a CPU or in a run queue; '?' = unknown. */
static char thread_state(pid_t thread)
{
	char *line cleanup_free = NULL;
	const char *comm_end;
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", thread);
	if (file_read_line(AT_FDCWD, name, &line))
		return '?';
	comm_end = strrchr(line, ')');
	return comm_end && comm_end[1] == ' ' && comm_end[2] ? comm_end[2] : '?';
}

void worker_where(struct worker_pool *pool, const char *key, char *ret_text, size_t size)
{
	char *stack cleanup_free = NULL, *channel cleanup_free = NULL;
	const struct worker_job *job;
	char name[64];
	pid_t thread;

	*ret_text = '\0';
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	job = find_late(pool, key);
	thread = job && !job->is_done ? job->thread : -1;
	pthread_mutex_unlock(&pool->lock);
	if (!thread)
		snprintf(ret_text, size, "the queue of a thread pool of size %u", pool->nr_threads);
	if (thread <= 0)
		return;
	/* What its stack shows is not what it waits for. */
	if (thread_state(thread) == 'R') {
		snprintf(ret_text, size,
			 "no blocking function: its thread runs or waits for a CPU");
		return;
	}
	snprintf(name, sizeof(name), "/proc/self/task/%d/stack", thread);
	if (!file_read_line(AT_FDCWD, name, &stack))
		shorten_stack(stack, ret_text, size);
	snprintf(name, sizeof(name), "/proc/self/task/%d/wchan", thread);
	if (!*ret_text && !file_read_line(AT_FDCWD, name, &channel) && strcmp(channel, "0"))
		snprintf(ret_text, size, "%s", channel);
}
