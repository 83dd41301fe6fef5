/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the guard really say no? A child process tries what must be denied, in a
 * cgroup that exists for this. Only its answer decides what we report.
 */
#ifndef BPF_SELFTEST_H
#define BPF_SELFTEST_H

#include <stdbool.h>

#include "bpf/policy.h"

struct selftest_result {
	bool write_denied; /* a write through a descriptor opened by us, before */
	bool open_denied;
};

/*
 * Make the cgroup `path` below `cgroup_dir`, try, remove it. The calling process
 * must have been entered as the agent; `set` is policy_publish's. 0 and what happened, or what kept us from
 * trying.
 */
int selftest_run(const struct policy_maps *maps, const char *cgroup_dir, const char *path,
		 struct guard_config *set, struct selftest_result *ret_result);

#endif
