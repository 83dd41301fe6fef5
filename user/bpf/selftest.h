/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the guard really deny? A child process attempts operations that must be denied, in a
 * cgroup created for this purpose. Only the result determines what is reported.
 *
 * Any process that holds the kernel's cgroup locks can block it, so a thread of the pool runs
 * everything except the map updates, which belong to the loop.
 */
#ifndef BPF_SELFTEST_H
#define BPF_SELFTEST_H

#include <stdbool.h>

#include "bpf/policy.h"

struct worker_pool;

struct selftest_result {
	bool write_denied; /* a write through a descriptor that the agent opened before */
	bool open_denied;
};

/* Common to all attempts; borrowed, and one attempt at a time. */
struct selftest {
	struct worker_pool *pool; /* NULL: an attempt ends before selftest_run returns */
	const char *cgroup_dir;
	const struct policy_maps *maps;
	struct guard_config *set; /* as for policy_publish */
	/* Called for an attempt that returned -EINPROGRESS; `path` is that of the attempt. */
	void (*ended)(void *self, const char *path, int result,
		      const struct selftest_result *found);
	void *self;
};

/*
 * Create the cgroup `path` unless it exists, and run the test. The cgroup is kept: creating or
 * removing one needs the lock of all cgroups, and holds the lock of the parent directory
 * meanwhile. The calling process must have been registered as the agent. 0 with the result, or
 * the errno that prevented the test, or -EINPROGRESS.
 */
int selftest_run(const struct selftest *test, const char *path, struct selftest_result *ret_result);
/* The kernel function in which an attempt is blocked; "" = unknown. */
void selftest_waits_in(const struct selftest *test, char *ret_text, size_t size);

#endif
