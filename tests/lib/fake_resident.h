/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of cgroups as a test says it is: cgroup after cgroup of a pass has one page more of
 * each use on node 0, and twice as much on node 1. A pass ends at once, or when the test says.
 */
#ifndef TESTS_FAKE_RESIDENT_H
#define TESTS_FAKE_RESIDENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ports.h"

#define FAKE_RESIDENT_PAGE 4096

static struct {
	const struct resident_sink *sink;
	const struct topology *topology;
	const char *unread; /* of cgroups with this in their path nothing can be read */
	int unread_error;
	const char *empty;	/* cgroups with this in their path have no memory */
	uint64_t hugetlb_bytes; /* that each has on the last node */
	bool has_hugetlb;	/* cgroups have the controller */
	int error;		/* of the call */
	int result;		/* of the pass */
	bool is_slow;
	struct resident_report report; /* of the pass that has not ended */
	unsigned int nr_passes;
} fake_resident;

static inline void fake_resident_end(void)
{
	fake_resident.sink->sampled(fake_resident.sink->self, fake_resident.result,
				    &fake_resident.report);
	resident_report_fini(&fake_resident.report);
}

static inline void fake_resident_fill(struct resident_row *row, uint64_t pages)
{
	if (fake_resident.empty && strstr(row->path, fake_resident.empty))
		pages = 0;
	for (int use = 0; use < MEMORY_USE_NR; use++)
		for (uint64_t node = 0; node < fake_resident.topology->nr_memory_nodes; node++)
			row->nodes[node].bytes[use] = (node + 1) * pages * FAKE_RESIDENT_PAGE;
	row->has_hugetlb = fake_resident.has_hugetlb;
	row->nodes[fake_resident.topology->nr_memory_nodes - 1].hugetlb_bytes =
		fake_resident.hugetlb_bytes;
	if (fake_resident.unread && strstr(row->path, fake_resident.unread))
		row->error = fake_resident.unread_error;
}

static inline int fake_resident_sample(void *self, const char *const *paths, uint32_t nr)
{
	fake_resident.nr_passes++;
	if (fake_resident.error)
		return fake_resident.error;
	if (resident_report_new(paths, nr, fake_resident.topology, &fake_resident.report))
		abort();
	for (uint32_t i = 0; i < nr; i++)
		fake_resident_fill(&fake_resident.report.rows[i], i + 1);
	if (!fake_resident.is_slow)
		fake_resident_end();
	return 0;
}

static inline void fake_resident_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "mem_cgroup_flush_stats");
}

static const struct resident_port fake_resident_port = {
	.sample = fake_resident_sample,
	.waits_in = fake_resident_waits_in,
};

#endif
