/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the cgroups, which may take long: what was seen last, what was done since, and
 * the look that goes on. What ends while a look goes on is noted and played on what that
 * look saw, which may have passed it already.
 */
#ifndef CTL_LOOK_H
#define CTL_LOOK_H

#include "ctl/operations.h"

struct controller;

/* Something of ours that ended while a look went on. */
#define MAX_DONE 4096
struct done {
	enum operation_kind kind;
	struct step step; /* as an operation's */
	int result;
};

struct look {
	/*
	 * What the last look saw and what we did since: of a pod that cannot be looked at
	 * because something goes on there, this is what is known.
	 */
	struct group_tree observed;
	bool has_ended;	      /* one, since the start */
	uint64_t since_ns;    /* of the one that goes on; 0 = none */
	bool is_wanted_again; /* asked for during a look, which may have passed it already */
	/* What we did to groups during that look, in order. */
	uint32_t nr_done, max_done;
	struct done *done; /* owned */
	bool forgot_done;  /* there was more: the look cannot be corrected */
	/* Why the cgroups cannot be reached, and why the last look at them failed; "" = neither. */
	char obstacle[ROW_DETAIL_MAX], problem[ROW_DETAIL_MAX];
};

void look_fini(struct look *look);
/*
 * What we did, played on what is known of the groups. It is noted too if a look goes on,
 * until the next one begins.
 */
void look_note(struct look *look, enum operation_kind kind, const struct step *step, int result);
/* What cannot be known or read may be anything: no pod counts as held until the next look. */
void look_doubt(struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* All that was needed of a look is known: no doubt is left. */
void look_succeed(struct look *look);
/*
 * What was seen becomes what is known; *takes* `observed`. What was known before is the
 * caller's to free.
 */
void look_replace(struct look *look, const struct group_tree *observed,
		  struct group_tree *ret_known);
/* As look_doubt, after an error of what was tried; logged when it is news. Returns the error. */
int look_fail(struct look *look, int error_code, const char *what);

/*
 * The cgroups as they are now, with what is known of pods that cannot be looked at.
 * -EINPROGRESS: the look goes on, and groups_sink.looked tells its end. Other errors are
 * logged and noted.
 */
int ctl_look(struct controller *controller, struct group_tree *ret_observed);
/* Is the cgroup file system in its place and writable? A finding while it is not. */
void ctl_check_reach(struct controller *controller);

#endif
