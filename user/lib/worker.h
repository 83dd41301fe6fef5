/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small thread pool for calls that may block in the kernel, such as a write to a cgroup
 * file or fsync. One thread, the event loop's, submits jobs and is notified of their
 * completion; it waits only briefly for each of them.
 *
 * Jobs with the same key run one at a time, in order of submission. Jobs with different
 * keys do not wait for each other as long as a thread is free. A thread that is blocked
 * in the kernel cannot be interrupted, so jobs cannot be cancelled: a caller that gave up
 * waiting is notified whenever the job ends.
 */
#ifndef LIB_WORKER_H
#define LIB_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/cleanup.h"

#define WORKER_THREADS 16
#define WORKER_KEY_MAX 544
/*
 * While jobs are late, every further wait is limited to this, so the waits for 100 pods
 * do not add up.
 */
#define WORKER_SHORT_GRACE_NS 2000000ULL

struct worker_pool;

/* Embedded as the first member of the struct with a job's input and output. */
struct worker_job {
	/*
	 * Runs on a thread of the pool. May access only the job's own data and data
	 * designed for sharing.
	 */
	int (*run)(struct worker_job *job);
	/* Called on the loop's thread if worker_run returned -EINPROGRESS. */
	void (*completed)(struct worker_job *job, int result);
	/*
	 * Frees the job; called when the pool no longer needs a job that it owns. NULL = free(3), for
	 * a job that owns nothing else.
	 */
	void (*release)(struct worker_job *job);

	/* Private to the pool. */
	struct worker_job *next;
	char key[WORKER_KEY_MAX];
	int result;
	pid_t thread; /* 0 = it has not started */
	bool is_running, is_done, is_left;
};

/*
 * Creates nr_threads threads, or fewer if the system does not allow that many, but at
 * least one. No thread is created later. All signals are blocked in them.
 */
int worker_pool_new(unsigned int nr_threads, struct worker_pool **ret_pool);
/*
 * Drop all jobs that have not started, and wait up to a second for those that run. Returns
 * the number of threads that are still blocked in the kernel. They are not joined and may run until
 * the process ends, so data used by their jobs must not be freed.
 */
unsigned int worker_pool_free(struct worker_pool *pool);

/* Set how long worker_run waits for a job to end. */
void worker_pool_set_grace(struct worker_pool *pool, uint64_t grace_ns);

/*
 * Set a descriptor that is readable once the caller of worker_await is to stop; -1 = none, as
 * at first. It is borrowed and never read from.
 */
void worker_pool_set_stop(struct worker_pool *pool, int stop_fd);

/*
 * Run a job. If it ends within the grace period, this returns its result and the caller
 * owns the job again. -EINPROGRESS: the job continues and belongs to the pool, which
 * calls `completed` and then `release`. Without a pool (NULL) the job runs synchronously
 * on the caller's thread.
 */
int worker_run(struct worker_pool *pool, const char *key, struct worker_job *job);

/*
 * Run a job whose result is handed over in the same way however long it takes: `completed` and
 * then `release` are called on this thread, before this returns if the job ends within the grace
 * period. Takes the job. 0, or -EBUSY while an earlier job with this key is late: the job is then
 * released without having run. Jobs that are only begun with this function can therefore share data
 * with each other, one at a time.
 */
int worker_begin(struct worker_pool *pool, const char *key, struct worker_job *job);

/* A descriptor that is readable if worker_pool_dispatch has something to do. */
int worker_pool_fd(const struct worker_pool *pool);
/* Call `completed` for all late jobs that have ended, on the calling thread. */
void worker_pool_dispatch(struct worker_pool *pool);

/*
 * Is there a late job with this key, that is, an unfinished one whose caller has stopped
 * waiting?
 */
bool worker_is_busy(struct worker_pool *pool, const char *key);
/*
 * Block the loop's thread until no job with this key is late, at most `limit_ns`; late
 * jobs of any key that end meanwhile are completed as by worker_pool_dispatch. 0,
 * -ETIMEDOUT, or -EINTR if the descriptor of worker_pool_set_stop is readable. For a start,
 * which cannot go on without the result.
 */
int worker_await(struct worker_pool *pool, const char *key, uint64_t limit_ns);
/*
 * Where in the kernel the job with this key is blocked: the top of its stack, or its wait
 * channel, or "". If it has not started because all threads are busy, or its thread runs or waits for a
 * CPU, the text says that. A job that has ended, and of which the loop has not been told yet, is blocked
 * nowhere.
 */
void worker_where(struct worker_pool *pool, const char *key, char *ret_text, size_t size);

#endif
