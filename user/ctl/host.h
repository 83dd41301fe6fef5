/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of the host with `hostTasks: shared`: when they are given CPU lists, which CPUs those
 * have, and what an operator is told.
 */
#ifndef CTL_HOST_H
#define CTL_HOST_H

#include "ctl/ports.h"

struct controller;

struct host_groups {
	struct host_report report; /* of the last pass */
	int result;		   /* of the last pass; a negative errno = nothing is known */
	uint64_t since_ns;	   /* of the pass that has not ended; 0 = there is none */
	uint64_t begun_ns;	   /* the last pass; 0 = none has */
	/* What that pass was for: */
	enum host_mode mode;
	struct cpuset taken, exclusive, rest;
};

/*
 * Begin a pass if the CPUs or the option have changed, or if it is time to look for new groups.
 * Called each second and after each reconcile; without a change it costs the comparison of sets.
 */
void ctl_confine_host(struct controller *controller);
/* Take over the result of a pass; see host_sink. */
void ctl_end_host_pass(struct controller *controller, int result, const struct host_report *report);

#endif
