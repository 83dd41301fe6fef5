/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the cgroups, which may take long: the result of the last look, the operations that
 * ended since, and the look in progress. An operation that ends during a look is recorded and
 * then played on the result of that look, which may have passed the group already.
 */
#ifndef CTL_LOOK_H
#define CTL_LOOK_H

#include "ctl/operations.h"

struct controller;

/* An operation of the agent that ended during a look. */
#define MAX_DONE 4096
struct done {
	enum operation_kind kind;
	struct step step; /* as in struct operation */
	int result;
};

struct look {
	/*
	 * The result of the last look plus the operations that ended since. For a pod that
	 * cannot be read because of a running operation, this is all that is known.
	 */
	struct group_tree observed;
	bool has_ended;	      /* at least one since the start */
	uint64_t since_ns;    /* start of the look in progress; 0 = none */
	uint64_t began_ns;    /* start of the last look, which may be in progress */
	bool is_wanted_again; /* requested during a look, which may have passed the place already */
	/* The operations that ended during that look, in order. */
	uint32_t nr_done, max_done;
	struct done *done; /* owned */
	bool forgot_done;  /* entries were dropped: the look cannot be corrected */
	bool is_blocked;   /* the cgroups cannot be reached; `obstacle` says why */
	bool is_in_doubt; /* the last look failed, or its result is uncertain; `problem` says why */
	char obstacle[ROW_DETAIL_MAX], problem[ROW_DETAIL_MAX];
};

void look_fini(struct look *look);
/*
 * Play an operation of the agent on the known state. During a look it is recorded too, until
 * the next look begins.
 */
void look_note(struct look *look, enum operation_kind kind, const struct step *step, int result);
/* The state of the cgroups is uncertain: no pod counts as enforced until the next look. */
void look_doubt(struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The look has provided all that was needed: clear the doubt. */
void look_succeed(struct look *look);
/*
 * Replace the known state by the result of a look; *takes* `observed`. The caller frees the
 * previous state.
 */
void look_replace(struct look *look, const struct group_tree *observed,
		  struct group_tree *ret_known);
/* As look_doubt, after a failed operation; a new error is logged. Returns the error. */
int look_fail(struct look *look, int error_code, const char *what);

/*
 * Read the cgroups and add the known state of pods that cannot be read. -EINPROGRESS: the look
 * is still running, and groups_sink.looked reports its end. Other errors are logged and noted.
 */
int ctl_look(struct controller *controller, struct group_tree *ret_observed);
/*
 * Check that the cgroup file system is mounted in its place and writable; raise a finding if
 * not.
 */
void ctl_check_reach(struct controller *controller);

#endif
