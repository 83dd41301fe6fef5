/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this room: converts an hwloc topology to plain facts. */
#ifndef MACHINE_SURVEY_H
#define MACHINE_SURVEY_H

#include <hwloc.h>

#include "core/topology/topology.h"

struct survey {
	size_t nr_cpus;
	struct topology_cpu *cpus;
	size_t nr_nodes;
	struct topology_node *nodes; /* ascending by id */
	struct cpuset *node_cpus;
	uint32_t *distances; /* NULL = not known */
};

/* Free the result of survey_take(); an empty survey is allowed. */
void survey_fini(struct survey *survey);
#define cleanup_survey cleanup(survey_fini)

/*
 * `root_fd` >= 0 (live): also use sysfs below it; -1: use hwloc only. `use_libnuma`: use
 * this computer's memory sizes. Returns -E2BIG for more CPUs or nodes than supported, or
 * -ENOMEM.
 */
int survey_take(hwloc_topology_t hwloc, int root_fd, bool use_libnuma, struct survey *ret_survey);

#endif
