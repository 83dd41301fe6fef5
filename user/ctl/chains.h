/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of steps that stopped, a pod's or the workload root's: why, when each is tried
 * again, and which CPUs are kept from others until then.
 */
#ifndef CTL_CHAINS_H
#define CTL_CHAINS_H

#include "ctl/operations.h"
#include "ctl/ports.h"

/* Of a chain in the present round. */
enum chain_progress {
	CHAIN_PUT_OFF, /* not due yet */
	CHAIN_TRIED,   /* due, and no step has failed so far */
	CHAIN_FAILED,
	CHAIN_HELD, /* for CPUs that another pod has not left yet; due in the next round */
};

/* Why a pod's chain of steps stopped, and when to try again. */
struct retry {
	char uid[POD_UID_MAX]; /* "" = the root */
	uint64_t delay_ns, due_ns;
	enum chain_progress progress;
	char error[GROUP_ERROR_MAX];
};

/*
 * CPUs that a stopped chain still has, or gets any moment, and that the ledger gives
 * to others. Who is to get them waits too, else an exclusive container met a stranger.
 */
struct held_cpus {
	char uid[POD_UID_MAX];
	struct cpuset cpus;
};

struct chains {
	uint32_t nr_retries;
	struct retry *retries; /* owned; grows to the pods + 1 */
	uint32_t nr_held;
	struct held_cpus *held; /* owned; found anew in each round */
};

void chains_fini(struct chains *chains);

/* Why the chain of this uid ("" = the root's) stopped; NULL = it did not. */
struct retry *chains_find(const struct chains *chains, const char *uid);
/*
 * A step of its chain failed: the chain is put off, longer each time. Logged when it is
 * news. NULL = out of memory; else borrowed until the next call.
 */
struct retry *chains_fail(struct chains *chains, const struct step *step, int error_code,
			  const char *error, uint64_t now_ns);
/* Its chain waits for CPUs until the next round. NULL as in chains_fail. */
struct retry *chains_wait(struct chains *chains, const struct step *step, const char *error);
/* Begin a round: which chains are due? */
void chains_begin_round(struct chains *chains, uint64_t now_ns);
/* End it: what was tried and neither failed again nor goes on is done. */
void chains_end_round(struct chains *chains, const struct operations *operations);
/* A chain with no step left to do has succeeded, or its pod is gone. */
void chains_forget_done(struct chains *chains, const struct plan *plan);

/* Does the step write a container's CPUs? */
bool chains_is_cpu_step(const struct step *step);
/* Keep these CPUs from all chains but that of `uid` until chains_release. */
void chains_hold(struct chains *chains, const char *uid, const struct cpuset *cpus);
void chains_release(struct chains *chains);
/* Would this step put its container on CPUs that another one has not left yet? NULL = no. */
const struct held_cpus *chains_find_holder(const struct chains *chains, const struct step *step,
					   struct cpuset *ret_cpus);

#endif
