/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the guard really say no? A child process tries what must be denied, in a
 * cgroup that exists for this. Only its answer decides what we report.
 *
 * Whoever holds the kernel's locks of cgroups can keep all of it waiting, so it is made
 * by a thread of the pool, but for the maps, which are the loop's.
 */
#ifndef BPF_SELFTEST_H
#define BPF_SELFTEST_H

#include <stdbool.h>

#include "bpf/policy.h"

struct worker_pool;

struct selftest_result {
	bool write_denied; /* a write through a descriptor opened by us, before */
	bool open_denied;
};

/* What all attempts have in common; borrowed, and one attempt at a time. */
struct selftest {
	struct worker_pool *pool; /* NULL: an attempt ends before selftest_run returns */
	const char *cgroup_dir;
	const struct policy_maps *maps;
	struct guard_config *set; /* policy_publish's */
	/* Of an attempt that had answered -EINPROGRESS; `path` is the attempt's. */
	void (*ended)(void *self, const char *path, int result,
		      const struct selftest_result *found);
	void *self;
};

/*
 * Make the cgroup `path` unless it is there, and try. It is left there: making and
 * removing one needs the lock of all cgroups, and meanwhile holds its parent's directory.
 * The calling process must have been entered as the agent. 0 and what happened, or what
 * kept us from trying, or -EINPROGRESS.
 */
int selftest_run(const struct selftest *test, const char *path, struct selftest_result *ret_result);
/* Where in the kernel an attempt waits; "" = not known. */
void selftest_waits_in(const struct selftest *test, char *ret_text, size_t size);

#endif
