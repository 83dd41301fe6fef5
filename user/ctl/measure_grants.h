/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the page of metrics that is about what was granted, in sums. */
#ifndef CTL_MEASURE_GRANTS_H
#define CTL_MEASURE_GRANTS_H

#include "format/exposition.h"

struct controller;
struct cpu_states;

/* The pools, and how many containers are on each NUMA node. */
void measure_grants_pools(const struct controller *controller, const struct cpu_states *states,
			  struct exposition *page);
/* What was allocated since the start, what could not be, and what became of resizes. */
void measure_grants_allocations(const struct controller *controller, struct exposition *page);

#endif
