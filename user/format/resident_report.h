/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory containers have on each NUMA node, as the kernel counts it. */
#ifndef FORMAT_RESIDENT_REPORT_H
#define FORMAT_RESIDENT_REPORT_H

#include "core/topology/topology.h"

enum memory_use {
	MEMORY_ANON,
	MEMORY_FILE,   /* page cache, with tmpfs and shared memory */
	MEMORY_KERNEL, /* page tables, kernel stacks and slab */
	MEMORY_USE_NR
};

struct resident_node {
	uint64_t bytes[MEMORY_USE_NR];
};

struct resident_row {
	const char *path; /* of the cgroup, relative to the mount */
	/*
	 * 0, or why nothing is known: -ENOENT = the cgroup is gone, -EOPNOTSUPP = it has no memory
	 * controller, -ERANGE = it has memory on a NUMA node that the topology does not have.
	 */
	int error;
	struct resident_node *nodes; /* by index of topology->memory_nodes; owned by the report */
};

struct resident_report {
	uint32_t nr;
	struct resident_row *rows; /* owned, as the following */
	struct resident_node *nodes;
	char *paths;
};

/* A report with a row for each of `nr` paths, which are copied; all figures are 0. -ENOMEM. */
int resident_report_new(const char *const *paths, uint32_t nr, const struct topology *topology,
			struct resident_report *ret_report);
void resident_report_fini(struct resident_report *report);

/*
 * Read the text of a memory.numa_stat of cgroup version 2, which counts bytes. Huge pages of
 * hugetlbfs are not in it. ret_nodes has nr_memory_nodes of the topology. -EBADMSG: this is not
 * such a file. -ERANGE: see above.
 */
int resident_parse(const char *text, const struct topology *topology,
		   struct resident_node *ret_nodes);

#endif
