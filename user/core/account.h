/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was weighed when NUMA nodes were chosen for a container or a pod: each
 * provider's hints and what came of them. Written down only for those who ask
 * (explain.h); deciding itself needs no account.
 */
#ifndef CORE_ACCOUNT_H
#define CORE_ACCOUNT_H

#include "core/align.h"
#include "core/memory.h"

enum account_opinion {
	ACCOUNT_NO_OPINION, /* asks for nothing of the kind: any nodes will do */
	ACCOUNT_IMPOSSIBLE, /* no set of nodes will do */
	ACCOUNT_KEEPS,	    /* has its nodes already */
	ACCOUNT_HINTS,
	ACCOUNT_OPINION_NR
};

#define ACCOUNT_MAX_HINTS 8
/* CPUs, every type of memory, and a page size that no node has. */
#define ACCOUNT_MAX_PROVIDERS (2 + MEMORY_MAX_TYPES)

struct account_provider {
	char resource[MEMORY_NAME_MAX]; /* "cpu", "memory", "hugepages-2Mi" */
	enum account_opinion opinion;
	int64_t wanted; /* CPUs or bytes; -1 = no opinion */
	bool is_bytes;
	bool is_exact; /* all hints were counted; beyond ALIGN_EXACT_NODES nodes the brief list */
	uint32_t nr_hints, nr_preferred;
	/* The preferred ones first, then the others, each in the order of the enumeration. */
	uint32_t nr_listed;
	struct hint hints[ACCOUNT_MAX_HINTS]; /* over topology->memory_nodes */
};

struct account {
	bool is_aligned;    /* false: no policy, or nothing was aligned */
	uint32_t container; /* index in the spec; UINT32_MAX = the pod as a whole */
	enum align_policy policy;
	uint32_t nr_providers;
	struct account_provider providers[ACCOUNT_MAX_PROVIDERS];
	struct alignment merged;
};

const char *account_opinion_name(enum account_opinion opinion); /* "no opinion", … */

#endif
