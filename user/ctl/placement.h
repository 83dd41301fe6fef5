/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each container had run on each CPU a few seconds ago, so that a report can say where
 * it runs now. The counters themselves only grow.
 */
#ifndef CTL_PLACEMENT_H
#define CTL_PLACEMENT_H

#include "ctl/ports.h"

struct controller;

/* The counters of one container at one instant. */
struct placement_sample {
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	uint64_t run_ns;   /* on all CPUs */
	uint64_t outside_ns, remote_ns;
	uint64_t nr_cpus;
	uint32_t run_us[]; /* by CPU id, modulo 2^32: 71 minutes */
};

/* The last two samples; owned. A window begins with the older one, so it is never very short. */
struct placement_track {
	uint64_t cgroup_id;
	struct placement_sample *newer, *older; /* older: NULL = there is only one yet */
};

struct placements {
	uint32_t nr;
	struct placement_track *tracks; /* owned; by ascending id */
	uint64_t sampled_ns;		/* 0 = nothing was sampled yet */
};

void placement_fini(struct placements *placements);

/* Take samples if it is time to, every ten seconds; called each second. */
void ctl_sample_placement(struct controller *controller);

/*
 * The sample with which the window of this cgroup begins: 10 to 20 seconds ago, or less if the
 * container has not been counted for so long. NULL = there is none. Borrowed until the next one
 * is taken.
 */
const struct placement_sample *placement_window(const struct placements *placements,
						uint64_t cgroup_id);

/*
 * What `usage` has run on this CPU since the sample, in whole microseconds. 0 if the counters began
 * anew: a slot that was given up and taken again begins with 0 once more.
 */
uint64_t placement_run_since(const struct placement_sample *sample, const struct usage *usage,
			     uint32_t cpu);

#endif
