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
	uint64_t hugetlb_bytes; /* huge pages of hugetlbfs of all sizes, which are not in bytes */
};

struct resident_row {
	const char *path; /* of the cgroup, relative to the mount */
	/*
	 * 0, or why nothing is known: -ENOENT = the cgroup is gone, -EOPNOTSUPP = it has no memory
	 * controller, -ERANGE = it has memory on a NUMA node that the topology does not have.
	 */
	int error;
	bool has_hugetlb;	     /* the cgroup has the hugetlb controller */
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

/*
 * Add the text of a hugetlb.SIZE.numa_stat of cgroup version 2, which counts bytes. Errors as above;
 * nothing is added then.
 */
int resident_add_hugetlb(const char *text, const struct topology *topology,
			 struct resident_node *nodes);
/* The name of that file for pages of this size: hugetlb.2MB.numa_stat. */
#define HUGETLB_FILE_MAX 48
void resident_hugetlb_file(uint64_t page_bytes, char ret_name[HUGETLB_FILE_MAX]);

#endif
