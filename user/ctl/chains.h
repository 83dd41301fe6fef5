/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of steps (a pod's or the workload root's) that stopped: why, when each is retried,
 * and which CPUs are withheld from other chains until then.
 */
#ifndef CTL_CHAINS_H
#define CTL_CHAINS_H

#include "ctl/operations.h"
#include "ctl/ports.h"

/* The state of a chain in the current round. */
enum chain_progress {
	CHAIN_PUT_OFF, /* not due yet */
	CHAIN_TRIED,   /* due, and no step has failed so far */
	CHAIN_FAILED,
	CHAIN_HELD, /* for CPUs that another pod has not released yet; due in the next round */
};

/* Why a pod's chain of steps stopped, and when it is retried. */
struct retry {
	char uid[POD_UID_MAX]; /* "" = the workload root */
	uint64_t delay_ns, due_ns;
	enum chain_progress progress;
	char error[GROUP_ERROR_MAX];
};

/*
 * CPUs that a stopped chain still has or may get at any moment, although the ledger grants
 * them to others. Their new owner waits too; otherwise an exclusive container would share its
 * CPUs with other tasks.
 */
struct held_cpus {
	char uid[POD_UID_MAX];
	struct cpuset cpus;
};

struct chains {
	uint32_t nr_retries;
	struct retry *retries; /* owned; grows up to the number of pods + 1 */
	uint32_t nr_held;
	struct held_cpus *held; /* owned; computed again in each round */
};

void chains_fini(struct chains *chains);

/* Why the chain of this uid ("" = the root's) stopped; NULL = it has not stopped. */
struct retry *chains_find(const struct chains *chains, const char *uid);
/*
 * A step of its chain failed: the chain is retried later, with a growing delay. A new error is
 * logged. NULL = out of memory; otherwise borrowed until the next call.
 */
struct retry *chains_fail(struct chains *chains, const struct step *step, int error_code,
			  const char *error, uint64_t now_ns);
/* Its chain waits for CPUs until the next round. NULL as in chains_fail. */
struct retry *chains_wait(struct chains *chains, const struct step *step, const char *error);
/* Begin a round: determine which chains are due. */
void chains_begin_round(struct chains *chains, uint64_t now_ns);
/* End a round: drop the chains that were retried and have neither failed nor are still running. */
void chains_end_round(struct chains *chains, const struct operations *operations);
/* A chain without remaining steps has succeeded, or its pod is gone: drop it. */
void chains_forget_done(struct chains *chains, const struct plan *plan);

/* Does the step write a container's CPUs? */
bool chains_is_cpu_step(const struct step *step);
/* Withhold these CPUs from all chains but that of `uid` until chains_release. */
void chains_hold(struct chains *chains, const char *uid, const struct cpuset *cpus);
void chains_release(struct chains *chains);
/* The holder of CPUs that this step would give its container too early; NULL = none. */
const struct held_cpus *chains_find_holder(const struct chains *chains, const struct step *step,
					   struct cpuset *ret_cpus);

#endif
