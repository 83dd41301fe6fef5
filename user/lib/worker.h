/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pool of threads for calls that may wait in the kernel: a write to a
 * cgroup file, an fsync. One thread, the loop's, hands jobs over and hears of their
 * end; it waits for each a moment only.
 *
 * Jobs of one key run in the order in which they came, one at a time. Jobs of
 * different keys do not wait for each other, as long as a thread is free. A thread
 * that waits in the kernel cannot be called back, so nothing here cancels: a caller
 * that gives up waiting is told of the end later, however late that is.
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
/* While jobs are late, every further wait is this long at most: 100 pods must not add up. */
#define WORKER_SHORT_GRACE_NS 2000000ULL

struct worker_pool;

/* Embedded as the first member of what a job needs and finds out. */
struct worker_job {
	/* In a thread of the pool; touches only what the job owns or what is made to be shared. */
	int (*run)(struct worker_job *job);
	/* On the loop's thread, after its caller was answered -EINPROGRESS. */
	void (*completed)(struct worker_job *job, int result);
	/* The job's memory; called once the pool has no more use for a job it owns. */
	void (*release)(struct worker_job *job);

	/* the pool's */
	struct worker_job *next;
	char key[WORKER_KEY_MAX];
	int result;
	pid_t thread; /* 0 = it waits for its turn */
	bool is_running, is_done, is_left;
};

/*
 * All threads are made here, nr_threads or as many as there can be, at least one: handing
 * over a job makes none. They take no signals.
 */
int worker_pool_new(unsigned int nr_threads, struct worker_pool **ret_pool);
/*
 * Jobs that have not begun are dropped. Returns how many threads still wait in the kernel:
 * nobody waits for those, they only end with the process, so what their jobs use must stay.
 */
unsigned int worker_pool_free(struct worker_pool *pool);

/* How long worker_run waits for the end of a job. */
void worker_pool_set_grace(struct worker_pool *pool, uint64_t grace_ns);

/*
 * Run a job. Its own result when it ended within the grace: the job is the caller's
 * again. -EINPROGRESS: it goes on and is the pool's, which calls completed and then
 * release. Without a pool (NULL) it runs at once, to its end, on the caller's thread.
 */
int worker_run(struct worker_pool *pool, const char *key, struct worker_job *job);

/* Readable when worker_pool_dispatch has something to do. */
int worker_pool_fd(const struct worker_pool *pool);
/* Call completed of all jobs that have ended, on this thread. */
void worker_pool_dispatch(struct worker_pool *pool);

/* Is a job of this key waiting or running, whose caller has given up waiting for it? */
bool worker_is_busy(struct worker_pool *pool, const char *key);
/*
 * Where in the kernel the job of this key waits: the top of its stack, else its wait
 * channel, else "". Says so when it has not begun because all threads are taken.
 */
void worker_where(struct worker_pool *pool, const char *key, char *ret_text, size_t size);

#endif
