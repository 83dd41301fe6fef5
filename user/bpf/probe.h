/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this kernel lets us do, found by doing it: each probe loads a program of
 * two instructions, attaches it and lets go. "unknown" means that the question
 * could not be put (no right, lockdown), never that the answer was no.
 */
#ifndef BPF_PROBE_H
#define BPF_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"

/* What the guard needs to know comes first, for a start that asks the rest later. */
enum ability {
	ABILITY_BTF,	  /* the kernel's types are readable */
	ABILITY_BPF_LSM,  /* lsm programs attach and really run */
	ABILITY_FMOD_RET, /* fmod_ret on security_* attaches */
	ABILITY_FENTRY,	  /* fentry and fexit attach */
	ABILITY_TP_BTF,	  /* typed tracepoints attach */
	ABILITY_RINGBUF,
	ABILITY_TASK_STORAGE,
	ABILITY_CGROUP_ITER,
	ABILITY_SCHED_EXT, /* present; nothing of ours uses it yet */
	ABILITY_NR,
};

/* All rows named, and "unknown" because nobody has asked yet (EINPROGRESS). */
void probe_begin(struct feature_row rows[ABILITY_NR]);
/*
 * Ask about rows [first, end), in the order of the enum; some 20 ms each, beside
 * 20 ms to read the kernel's types. Does not log.
 */
void probe_abilities(struct feature_row rows[ABILITY_NR], uint32_t first, uint32_t end);

/* Lockdown mode confidentiality: programs may not read kernel memory, which ours must. */
bool probe_locked_down(void);

/*
 * Can a task be preempted inside the kernel, so that fmod_ret programs may be
 * skipped? FEATURE_UNKNOWN when neither debugfs nor the version tells.
 */
enum feature_state probe_preemption(void);

#endif
