/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of `pinfold run`: a process joins its container. A request that cannot be carried
 * out at once waits here, and is retried after each round.
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
	/* The field is longer than any name or uid: one that is cut here belongs to no pod. */
	char pod[POD_NAME_MAX * 2 + POD_UID_MAX];
	char container[POD_CONTAINER_NAME];
	char uid[POD_UID_MAX]; /* of the pod, once known */
	pid_t pid;
	int pidfd; /* owned */
	bool is_joining;
	uint32_t nr_ended; /* grants of the pod, of which the init containers have been ended */
};

/* The requests without an answer so far. */
struct runs {
	uint32_t nr;
	struct run_request rows[MAX_RUNS];
	const struct answer_sink *answers; /* borrowed; NULL = there is no receiver */
};

/* Closes the pidfds of all requests that wait, without an answer. */
void runs_fini(struct runs *runs);
/* Set the receiver of answers; borrowed. NULL = there is no receiver any more. */
void runs_listen(struct runs *runs, const struct answer_sink *sink);
/* *Takes* the request's pidfd; the list must have room. */
void runs_add(struct runs *runs, const struct run_request *run);
/* NULL = it has its answer, or never waited. */
struct run_request *runs_find(struct runs *runs, uint64_t id);
void runs_drop(struct runs *runs, struct run_request *run);

/*
 * Advance the request as far as possible; everything is checked again each time. -EINPROGRESS:
 * the pod's chain is blocked in the kernel, continues in the next round or waits for CPUs of another
 * pod, or no look has been made since it was admitted.
 */
int ctl_advance_run(struct controller *controller, struct run_request *run, struct answer *answer);
/* Retry the requests that wait for a chain or a look. */
void ctl_advance_runs(struct controller *controller);
/* The join of a request has ended: answer the request. */
void ctl_end_join(struct controller *controller, const struct operation *operation, int result,
		  const char *error);
/* Answer that there is no such pod, or why it was refused. */
int ctl_answer_no_pod(const struct controller *controller, const char *pod_name,
		      struct answer *answer);

#endif
