/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers on exclusive CPUs: when the tasks of the machine are walked over, and what an operator
 * is told.
 */
#ifndef CTL_STRANGER_H
#define CTL_STRANGER_H

#include "ctl/ports.h"
#include "ctl/token_bucket.h"

struct controller;

struct strangers_known {
	struct stranger_report report; /* of the last walk; without rows if nothing is known */
	uint64_t since_ns;	       /* of the walk that has not ended; 0 = there is none */
	uint64_t begun_ns;	       /* the last walk; 0 = none has */
	/* What that walk was for: */
	enum enforcement enforcement;
	struct cpuset exclusive, allowed;
	struct token_bucket budget; /* of the walks' CPU time */
	/* Since the start: */
	uint64_t nr_walks, cost_ns;
	uint64_t nr_moved, nr_restored, nr_failed, nr_reverted;
};

void stranger_init(struct strangers_known *known);
void stranger_fini(struct strangers_known *known);

/*
 * Begin a walk if the CPUs or the option have changed, or if it is time for another one. Called each
 * second and after each reconcile; without exclusive CPUs it costs the comparison of two sets.
 */
void ctl_find_strangers(struct controller *controller);
/* Take over the result of a walk; see stranger_sink. */
void ctl_end_stranger_walk(struct controller *controller, int result,
			   struct stranger_report *report);
/* The tasks that the last walk found or holds, as rows for the inspector; NULL = no memory. */
struct json_object *ctl_report_strangers(struct controller *controller);

#endif
