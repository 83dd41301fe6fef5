// SPDX-License-Identifier: Apache-2.0
#include "format/resident_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t length_of(const char *const *paths, uint32_t nr)
{
	size_t len = 0;

	for (uint32_t i = 0; i < nr; i++)
		len += strlen(paths[i]) + 1;
	return len;
}

int resident_report_new(const char *const *paths, uint32_t nr, const struct topology *topology,
			struct resident_report *ret_report)
{
	const size_t nr_nodes = topology->nr_memory_nodes;
	struct resident_report report = {
		.nr = nr,
		.rows = calloc(nr + 1, sizeof(*report.rows)),
		.nodes = calloc(nr * nr_nodes + 1, sizeof(*report.nodes)),
		.paths = malloc(length_of(paths, nr) + 1),
	};
	char *at = report.paths;

	if (!report.rows || !report.nodes || !report.paths) {
		resident_report_fini(&report);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++) {
		report.rows[i].path = at;
		report.rows[i].nodes = &report.nodes[i * nr_nodes];
		at = stpcpy(at, paths[i]) + 1;
	}
	*ret_report = report;
	return 0;
}

void resident_report_fini(struct resident_report *report)
{
	free(report->rows);
	free(report->nodes);
	free(report->paths);
	*report = (struct resident_report){0};
}

/* The lines that do not overlap: most others say how the pages of these are used. */
static const struct {
	const char *key;
	enum memory_use use;
	bool is_required; /* every kernel since 5.10 has it */
} lines[] = {
	{"anon", MEMORY_ANON, true},
	{"file", MEMORY_FILE, true},
	{"kernel_stack", MEMORY_KERNEL, true},
	{"slab_reclaimable", MEMORY_KERNEL, true},
	{"slab_unreclaimable", MEMORY_KERNEL, true},
	{"pagetables", MEMORY_KERNEL, false},	  /* 5.13 */
	{"sec_pagetables", MEMORY_KERNEL, false}, /* 6.1 */
};

/* What stands behind this key; NULL = there is no such line. */
static const char *find_line(const char *text, const char *key)
{
	const size_t len = strlen(key);

	while (*text) {
		const char *end = strchr(text, '\n');

		if (!strncmp(text, key, len) && text[len] == ' ')
			return text + len;
		if (!end)
			break;
		text = end + 1;
	}
	return NULL;
}

static int find_node(const struct topology *topology, uint32_t id, uint32_t *ret_index)
{
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		if (topology->memory_nodes[i].id == id) {
			*ret_index = i;
			return 0;
		}
	return -ERANGE;
}

/* " N0=4096 N1=0" to the end of the line, added to `sums` by node. A node without any of it need not be known. */
static int add_line(const char *at, const struct topology *topology, uint64_t *sums)
{
	uint32_t id, index;
	uint64_t bytes;
	int len;

	while (*at && *at != '\n') {
		len = 0;
		if (sscanf(at, " N%" SCNu32 "=%" SCNu64 "%n", &id, &bytes, &len) != 2 ||
		    !strchr(" \n", at[len]))
			return -EBADMSG;
		at += len;
		if (!bytes)
			continue;
		if (find_node(topology, id, &index))
			return -ERANGE;
		sums[index] += bytes;
	}
	return 0;
}

int resident_parse(const char *text, const struct topology *topology,
		   struct resident_node *ret_nodes)
{
	uint64_t sums[MEMORY_USE_NR][TOPOLOGY_MAX_NODES] = {0};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *at = find_line(text, lines[i].key);
		int r;

		if (!at && lines[i].is_required)
			return -EBADMSG;
		r = at ? add_line(at, topology, sums[lines[i].use]) : 0;
		if (r)
			return r;
	}
	for (uint32_t node = 0; node < topology->nr_memory_nodes; node++) {
		ret_nodes[node] = (struct resident_node){0};
		for (int use = 0; use < MEMORY_USE_NR; use++)
			ret_nodes[node].bytes[use] = sums[use][node];
	}
	return 0;
}

/* One line: "total=4194304 N0=4194304 N1=0". */
int resident_add_hugetlb(const char *text, const struct topology *topology,
			 struct resident_node *nodes)
{
	uint64_t sums[TOPOLOGY_MAX_NODES] = {0}, total;
	int len = 0, r;

	if (sscanf(text, "total=%" SCNu64 "%n", &total, &len) != 1)
		return -EBADMSG;
	r = add_line(text + len, topology, sums);
	if (r)
		return r;
	for (uint32_t node = 0; node < topology->nr_memory_nodes; node++)
		nodes[node].hugetlb_bytes += sums[node];
	return 0;
}

void resident_hugetlb_file(uint64_t page_bytes, char ret_name[HUGETLB_FILE_MAX])
{
	static const char *const units[] = {"KB", "MB", "GB"};
	uint64_t number = page_bytes >> 10;
	size_t unit = 0;

	for (; number >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		number >>= 10;
	snprintf(ret_name, HUGETLB_FILE_MAX, "hugetlb.%" PRIu64 "%s.numa_stat", number,
		 units[unit]);
}
