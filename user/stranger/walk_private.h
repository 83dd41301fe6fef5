/* SPDX-License-Identifier: Apache-2.0 */
/* One walk while it runs, and the steps that the correction of a single task (correct.c) shares. */
#ifndef STRANGER_WALK_PRIVATE_H
#define STRANGER_WALK_PRIVATE_H

#include "stranger/walk.h"

/* What is to be done with a task that was looked at. */
enum {
	DROPPED = 1, /* it has ended, or is of no interest */
	STAYS,	     /* it could not be read or held, so nothing is decided about it */
};

struct stranger_walk {
	const struct stranger_context *context;
	const struct stranger_request *request;
	const struct stranger_table *before;
	struct stranger_table *now;
	struct stranger_report *report;
	uint64_t begun_ticks;
	uint32_t nr_held; /* before the walk, and what is added to it */
	/* The cgroup of the process that was asked for last. */
	pid_t process;
	char *cgroup; /* owned; NULL = not known */
	int cgroup_error;
};

/*
 * What is remembered of a task goes on to the next table, except for its past. 0 or -ENOMEM, as are
 * those of the next function, which also answers DROPPED.
 */
int stranger_walk_inherit(struct stranger_walk *walk, const struct stranger_task *known,
			  struct stranger_task *task);
/* Decide what is to be written to a task, its target. */
int stranger_walk_decide(struct stranger_walk *walk, struct stranger_task *task);
/* Write the target, and note in the task and the report what came of it. */
void stranger_walk_put(struct stranger_walk *walk, struct stranger_task *task);
/* Replace the file of originals, which then has what was noted. 0 or a negative errno. */
int stranger_walk_save(const struct stranger_walk *walk);

#endif
