/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers: tasks that may run on a CPU that a container holds exclusively, and do not belong to
 * it. Here is who is one, which CPUs it gets instead, and how often it is corrected if another
 * process undoes that. Who reads and writes affinities is user/stranger.
 */
#ifndef CORE_STRANGER_STRANGER_H
#define CORE_STRANGER_STRANGER_H

#include "core/cpuset.h"

/* The CPUs at one moment. */
struct stranger_cpus {
	struct cpuset exclusive; /* held exclusively by containers */
	struct cpuset allowed;	 /* reserved and shared CPUs that are online; disjoint from it */
	struct cpuset online;
};

enum stranger_kind {
	STRANGER_TASK,	  /* a user task outside the workload root */
	STRANGER_KTHREAD, /* a kernel thread whose affinity may be changed */
	STRANGER_BOUND,	  /* one whose affinity the kernel does not let anybody change */
	STRANGER_POD, /* a task below the workload root: its cpuset is what has to be repaired */
	STRANGER_KIND_NR
};

/* What is known of a task. All borrowed for the call. */
struct stranger_facts {
	enum stranger_kind kind;
	const struct cpuset *affinity; /* the online CPUs that it may use now */
	const struct cpuset *own;      /* what its container holds; NULL = nothing */
	/* Both NULL unless we changed its affinity: what it was, and what we wrote last. */
	const struct cpuset *original, *written;
	bool repairs;	  /* strangers are moved; otherwise only what we wrote is undone */
	bool may_contend; /* the pause since another process changed what we wrote is over */
};

enum stranger_action {
	STRANGER_ABSENT, /* it is not a stranger, and we never changed it */
	STRANGER_KEEP,	 /* it has what we wrote, and that is right */
	STRANGER_WRITE,	 /* write the target */
	STRANGER_REVERT, /* another process set its affinity back: write the target again */
	STRANGER_WAIT,	 /* the same, but the pause is not over */
	STRANGER_LEAVE,	 /* it is a stranger that is not to be moved */
	/*
	 * Another process chose CPUs for it since, and none of them is exclusive: it no longer
	 * has an original that could be restored.
	 */
	STRANGER_FORGET,
	/*
	 * The same, but they are some of those we wrote: a cpuset may have become smaller. What we
	 * wrote is undone if it shows again.
	 */
	STRANGER_NARROWED,
};

/*
 * The CPUs for a task with this original affinity: those that are not exclusive; if there are
 * none, all allowed CPUs. The original if no CPU is allowed either.
 */
void stranger_target(const struct stranger_cpus *cpus, const struct cpuset *original,
		     struct cpuset *ret_target);

/*
 * Does a task have this affinity because this set was written to it? `online` may lag behind the
 * kernel's.
 */
bool stranger_shows(const struct cpuset *affinity, const struct cpuset *written,
		    const struct cpuset *online);

/*
 * What to do about a task. *ret_original and *ret_target are set if the answer is to write: what
 * to restore later, and what to write. If they are equal, nothing is ours after the write.
 */
enum stranger_action stranger_decide(const struct stranger_cpus *cpus,
				     const struct stranger_facts *facts,
				     struct cpuset *ret_original, struct cpuset *ret_target);

/* --- back-off ------------------------------------------------------------------------------------ */

/* This many corrections follow at once; each later one waits twice as long as the one before. */
#define STRANGER_PATIENCE	  3
#define STRANGER_PAUSE_NS	  1000000000ULL
#define STRANGER_LONGEST_PAUSE_NS (64 * STRANGER_PAUSE_NS)

/* Zeroed for a task that nobody has set back. user/runtime has one for each cpuset that it writes. */
struct stranger_pause {
	uint32_t nr_reverts;
	uint64_t until_ns, reverted_ns;
};

/* May it be corrected again? */
bool stranger_may_contend(const struct stranger_pause *pause, uint64_t now_ns);
/* Is it set back so often that corrections wait? */
bool stranger_is_contended(const struct stranger_pause *pause);
/* It is being corrected because another process set it back. */
void stranger_note_revert(struct stranger_pause *pause, uint64_t now_ns);
/* It has what we wrote. Two minutes after its last pause, its corrections are forgotten. */
void stranger_note_calm(struct stranger_pause *pause, uint64_t now_ns);

#endif
