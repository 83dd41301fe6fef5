/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that loads what a start did not wait for. Loading takes seconds under emulation,
 * and the agent must enforce and answer meanwhile.
 *
 * Only the thread accesses its loader and its set of objects until it has ended; afterwards
 * only the caller does. Nothing is shared, so nothing needs a lock.
 */
#ifndef BPF_LOAD_THREAD_H
#define BPF_LOAD_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "bpf/bpf_loader.h"

struct load_thread {
	struct bpf_loader loader;
	struct bpf_objects objects; /* begun as a copy; objects that existed before are borrowed */
	int result;		    /* of bpf_loader_start_rest */
	int done_fd;		    /* eventfd, readable when the thread is about to end */
	bool running;
	pthread_t thread;
};

/*
 * Load with `loader` what `objects` does not have. If no thread can be created, loads into
 * `objects` before it returns; `running` tells. -ESTALE, or the errno of the eventfd.
 */
int load_thread_begin(struct load_thread *load, const struct bpf_loader *loader,
		      struct bpf_objects *objects);
/*
 * If the thread has signalled its end, take over into `objects` what it loaded and return
 * true. It is not joined, because its exit may wait for another process that moves tasks.
 */
bool load_thread_end(struct load_thread *load, struct bpf_objects *objects);
/* Wait for a thread that is still running, and take over what it loaded. */
void load_thread_join(struct load_thread *load, struct bpf_objects *objects);

#endif
