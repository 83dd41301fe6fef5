/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records how NUMA nodes were chosen for a container or a pod: each provider's hints and
 * the merged result. A trace is made only on request; decisions do not need it.
 */
#ifndef CORE_ADMIT_TRACE_H
#define CORE_ADMIT_TRACE_H

#include "core/align/align.h"
#include "core/ledger/ledger.h"
#include "core/memory/memory.h"

enum trace_opinion {
	TRACE_NO_OPINION, /* requests nothing of this resource: any nodes will do */
	TRACE_IMPOSSIBLE, /* no set of nodes suffices */
	TRACE_KEEPS,	  /* already has its nodes */
	TRACE_HINTS,
	TRACE_OPINION_NR
};

#define TRACE_MAX_HINTS 8
/* CPUs, each memory type, and one page size that no node has. */
#define TRACE_MAX_PROVIDERS (2 + MEMORY_MAX_TYPES)

struct trace_provider {
	char resource[MEMORY_NAME_MAX]; /* "cpu", "memory", "hugepages-2Mi" */
	enum trace_opinion opinion;
	int64_t wanted; /* CPUs or bytes; -1 = no opinion */
	bool is_bytes;
	bool is_exact; /* all hints were counted; false for the brief list */
	uint32_t nr_hints, nr_preferred;
	/* Preferred hints first, then the others, each in the order of the enumeration. */
	uint32_t nr_listed;
	struct hint hints[TRACE_MAX_HINTS]; /* over topology->memory_nodes */
};

struct trace {
	bool is_aligned;    /* false: no alignment policy, or nothing was aligned */
	uint32_t container; /* index in the spec; UINT32_MAX = the pod as a whole */
	enum align_policy policy;
	uint32_t nr_providers;
	struct trace_provider providers[TRACE_MAX_PROVIDERS];
	struct alignment merged;
};

/*
 * Trace how a pod of the ledger would be aligned if it were admitted now, next to all
 * other pods: one trace per container. With pod scope, and if nothing is aligned, only
 * the first trace is meaningful. *ret_same tells whether it would get exactly what it
 * has. The ledger is unchanged afterwards. Returns -ENOENT, -ENOMEM, or -EBUSY if a
 * transaction is open.
 */
int trace_grant(struct ledger *ledger, const char *uid, struct trace *traces, bool *ret_same);

/*
 * Trace the last choice of nodes before the specified pod is admitted or refused. The
 * ledger is unchanged afterwards. Returns -ENOMEM, or -EBUSY if a transaction is open.
 */
int trace_request(struct ledger *ledger, const struct pod_spec *spec, struct trace *ret_trace);

const char *trace_opinion_name(enum trace_opinion opinion); /* "any nodes will do", … */

#endif
