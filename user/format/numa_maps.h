/* SPDX-License-Identifier: Apache-2.0 */
/* On which NUMA nodes the pages of one process are: /proc/PID/numa_maps, line by line. */
#ifndef FORMAT_NUMA_MAPS_H
#define FORMAT_NUMA_MAPS_H

#include <stdint.h>

/* The kernel's own limit (MAX_NUMNODES). */
#define NUMA_MAPS_NODES 1024

struct numa_maps_node {
	uint64_t bytes;		/* of base pages and transparent huge pages */
	uint64_t hugetlb_bytes; /* of huge pages of hugetlbfs */
};

/*
 * Add the pages of a mapping. -EBADMSG: the line has another form. -ERANGE: a node or a number beyond
 * all limits. Nothing is added then.
 */
int numa_maps_add(const char *line, struct numa_maps_node nodes[NUMA_MAPS_NODES]);

#endif
