/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines what this kernel permits by trying it: each probe loads a program of two
 * instructions, attaches it and releases it. "unknown" means that the probe was impossible
 * (missing rights, lockdown), never that the kernel lacks the feature.
 */
#ifndef BPF_PROBE_H
#define BPF_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"

/* The guard's abilities come first, so that a start can probe the rest later. */
enum ability {
	ABILITY_BTF,	  /* the kernel's types can be read */
	ABILITY_BPF_LSM,  /* lsm programs attach and are really called */
	ABILITY_FMOD_RET, /* fmod_ret attaches to security_* */
	ABILITY_FENTRY,	  /* fentry and fexit attach */
	ABILITY_TP_BTF,	  /* typed tracepoints attach */
	ABILITY_RINGBUF,
	ABILITY_TASK_STORAGE,
	ABILITY_CGROUP_ITER,
	ABILITY_SCHED_EXT, /* present; pinfold does not use it yet */
	ABILITY_NR,
};

/* Name all rows, with state "unknown" because they have not been probed yet (EINPROGRESS). */
void probe_begin(struct feature_row rows[ABILITY_NR]);
/*
 * Probe rows [first, end), in the order of the enum; about 20 ms each, plus 20 ms to read the
 * kernel's types. Does not log.
 */
void probe_abilities(struct feature_row rows[ABILITY_NR], uint32_t first, uint32_t end);

/*
 * Lockdown mode confidentiality: programs may not read kernel memory, which pinfold's programs
 * need.
 */
bool probe_locked_down(void);

/*
 * Can a task be preempted inside the kernel, so that fmod_ret programs may be skipped?
 * FEATURE_UNKNOWN if neither debugfs nor the version shows it.
 */
enum feature_state probe_preemption(void);

#endif
