// SPDX-License-Identifier: Apache-2.0
/*
 * A line is "ADDRESS POLICY WORD...": of the words only "N0=12" (pages on a node), "huge" and
 * "kernelpagesize_kB=4", which is the last, matter. In file names the kernel escapes blanks and "=".
 */
#include "format/numa_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct mapping {
	bool is_hugetlb;
	uint64_t page_bytes;
};

/* The word at `at`, which a blank or the end follows? */
static bool is_word(const char *at, const char *word)
{
	const size_t len = strlen(word);

	return !strncmp(at, word, len) && (!at[len] || strchr(" \n", at[len]));
}

static const char *next_word(const char *at)
{
	at += strcspn(at, " \n");
	return at + strspn(at, " \n");
}

static struct mapping read_mapping(const char *line)
{
	struct mapping mapping = {0};
	uint64_t kib;

	for (const char *at = next_word(line); *at; at = next_word(at)) {
		if (is_word(at, "huge"))
			mapping.is_hugetlb = true;
		else if (sscanf(at, "kernelpagesize_kB=%" SCNu64, &kib) == 1 && kib < 1ULL << 32)
			mapping.page_bytes = kib * 1024;
	}
	return mapping;
}

static int add_pages(const char *word, const struct mapping *mapping,
		     struct numa_maps_node nodes[NUMA_MAPS_NODES])
{
	uint64_t pages, bytes, *sum;
	uint32_t node;

	if (*word != 'N' || sscanf(word, "N%" SCNu32 "=%" SCNu64, &node, &pages) != 2)
		return 0;
	if (!mapping->page_bytes)
		return -EBADMSG;
	if (node >= NUMA_MAPS_NODES || __builtin_mul_overflow(pages, mapping->page_bytes, &bytes))
		return -ERANGE;
	if (!nodes)
		return 0;
	sum = mapping->is_hugetlb ? &nodes[node].hugetlb_bytes : &nodes[node].bytes;
	/* no machine has as much memory, so this is only for a file that is none of the kernel's */
	if (__builtin_add_overflow(*sum, bytes, sum))
		*sum = UINT64_MAX;
	return 0;
}

/* With nodes = NULL the line is only checked. */
static int add_line(const char *line, const struct mapping *mapping,
		    struct numa_maps_node nodes[NUMA_MAPS_NODES])
{
	int r = 0;

	for (const char *at = next_word(line); *at && !r; at = next_word(at))
		r = add_pages(at, mapping, nodes);
	return r;
}

int numa_maps_add(const char *line, struct numa_maps_node nodes[NUMA_MAPS_NODES])
{
	struct mapping mapping;
	uint64_t address;
	int len = 0, r;

	if (sscanf(line, "%" SCNx64 "%n", &address, &len) != 1 || line[len] != ' ')
		return -EBADMSG;
	mapping = read_mapping(line);
	r = add_line(line, &mapping, NULL);
	return r ? r : add_line(line, &mapping, nodes);
}
