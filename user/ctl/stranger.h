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

/* Up to 0.1 ms, and twice as long each; the last one is without a bound. */
#define STRANGER_BUCKETS	 15
#define STRANGER_FIRST_BUCKET_NS 100000ULL

struct strangers_known {
	struct stranger_report report; /* of the last walk; without rows if nothing is known */
	uint64_t since_ns;	       /* of the walk that has not ended; 0 = there is none */
	uint64_t begun_ns;	       /* the last walk; 0 = none has */
	int result;		       /* of the last one that ended: 0 or a negative errno */
	/* What that walk was for: */
	enum enforcement enforcement;
	struct cpuset exclusive, allowed;
	struct token_bucket budget; /* of the walks' CPU time */
	/* A stranger that got an exclusive CPU, and was not walked for yet; time 0 = there is none. */
	struct noise_stranger seen;
	/* Since the start: */
	uint64_t nr_seen;
	uint64_t nr_exposed[STRANGER_BUCKETS], exposed_ns; /* from then until they were moved */
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
/* Tier 3: strangers are moved, and the last walk found no obstacle. */
bool ctl_moves_strangers(const struct controller *controller);
/* A task has got an exclusive CPU: walk at once, unless that would take too much of a CPU. */
void ctl_see_stranger(struct controller *controller, const struct noise_stranger *stranger);
/* Take over the result of a walk; see stranger_sink. */
void ctl_end_stranger_walk(struct controller *controller, int result,
			   struct stranger_report *report);
/* The tasks that the last walk found or holds, as rows for the inspector; NULL = no memory. */
struct json_object *ctl_report_strangers(struct controller *controller);

#endif
