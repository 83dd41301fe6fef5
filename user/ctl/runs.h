/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of `pinfold run`: a process joins its container. What can be done at once is; else
 * the request waits here, and is tried again after each round.
 */
#ifndef CTL_RUNS_H
#define CTL_RUNS_H

#include "ctl/answer.h"
#include "ctl/operations.h"
#include "ctl/ports.h"

struct controller;

#define MAX_RUNS 64

struct run_request {
	uint64_t id;
	char pod[POD_NAME_MAX * 2 + POD_UID_MAX], container[POD_CONTAINER_NAME];
	char uid[POD_UID_MAX]; /* of the pod, once it is known */
	pid_t pid;
	int pidfd; /* owned */
	bool is_joining, has_ended_init;
};

/* Those that have no answer yet. */
struct runs {
	uint32_t nr;
	struct run_request rows[MAX_RUNS];
	const struct answer_sink *answers; /* borrowed; NULL = nobody takes them */
};

void runs_fini(struct runs *runs);
/* Where answers go from now on; borrowed. NULL = nobody takes them any more. */
void runs_listen(struct runs *runs, const struct answer_sink *sink);
/* *Takes* the request's pidfd; there must be room. */
void runs_add(struct runs *runs, const struct run_request *run);
/* NULL = it has its answer, or never waited. */
struct run_request *runs_find(struct runs *runs, uint64_t id);
void runs_drop(struct runs *runs, struct run_request *run);

/*
 * As far as it goes now; everything is asked anew each time. -EINPROGRESS: the pod's
 * chain waits in the kernel, or the cgroups have not been looked at since it was admitted.
 */
int ctl_advance_run(struct controller *controller, struct run_request *run, struct answer *answer);
/* Those that wait for a chain or for a look are tried again. */
void ctl_advance_runs(struct controller *controller);
/* The join of a request has ended: the request is answered. */
void ctl_end_join(struct controller *controller, const struct operation *operation, int result,
		  const char *error);
/* There is no such pod, or it was refused: then why. */
int ctl_answer_no_pod(const struct controller *controller, const char *pod_name,
		      struct answer *answer);

#endif
