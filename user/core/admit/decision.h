/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision on one pod: admitted, or refused with a reason, the numbers and the
 * changes that would help. A refusal is data and never an error code.
 */
#ifndef CORE_ADMIT_DECISION_H
#define CORE_ADMIT_DECISION_H

#include "core/admit/trace.h"
#include "core/ledger/ledger.h"

enum refusal {
	REFUSAL_NONE,
	REFUSAL_CPUS,	  /* not enough free CPUs */
	REFUSAL_SMT,	  /* full-pcpus-only: not a multiple, or not enough whole cores free */
	REFUSAL_TOPOLOGY, /* the policy admits no alignment */
	REFUSAL_MEMORY,
	REFUSAL_HUGEPAGES,
	REFUSAL_EMPTY_SHARED_POOL, /* pod level: no CPU left for its shared containers */
	REFUSAL_POD_BUDGET,	   /* the containers request more than the pod-level resources */
	REFUSAL_LAST_SHARED_CPU,   /* running shared containers would have no CPU left */
	REFUSAL_STATE,		   /* the state file cannot be written */
	REFUSAL_SPEC,		   /* the document is invalid (never set by the core) */
	REFUSAL_NR
};

/*
 * A change of the request, of the policy or of the node that admits the pod. Each has
 * been tried on the ledger.
 */
enum change_kind {
	CHANGE_NONE,
	CHANGE_CONTAINER_CPUS,	 /* `container` requests `cpus` exclusive CPUs */
	CHANGE_POD_CPUS,	 /* the pod-level request is `cpus` CPUs */
	CHANGE_CONTAINER_MEMORY, /* `container` requests `bytes` of `page_bytes` */
	CHANGE_POD_MEMORY,	 /* the pod-level request is `bytes` of `page_bytes` */
	CHANGE_PAGE_SIZE,	 /* all `page_bytes` pages become `to_page_bytes` */
	CHANGE_POD_LEAVES,	 /* pod `uid` is removed first */
	CHANGE_ALIGN_POLICY,	 /* topologyManagerPolicy is `align` */
	CHANGE_ALIGN_SCOPE,	 /* topologyManagerScope is `scope` */
	CHANGE_ANY_CORES,	 /* without full-pcpus-only */
	CHANGE_REPAIRED,	 /* compatibility is repaired */
	CHANGE_KIND_NR
};

#define CHANGE_TEXT_MAX 416

struct change {
	enum change_kind kind;
	uint32_t cpus;
	uint64_t bytes;
	uint64_t page_bytes, to_page_bytes; /* 0 = ordinary memory */
	enum align_policy align;
	enum align_scope scope;
	char container[POD_CONTAINER_NAME];
	char uid[POD_UID_MAX];
	char text[CHANGE_TEXT_MAX]; /* "fits with 14 CPUs for container db" */
};

#define DECISION_TEXT_MAX   512
#define DECISION_MAX_OTHERS 4

struct decision {
	bool admitted;
	bool is_resize; /* of a whole pod: it was resized in place, or could not be */
	enum refusal refusal;
	/* the kubelet's pod status reason: "TopologyAffinityError", "SMTAlignmentError", … */
	char reason[40];
	/* One sentence with the numbers: what was requested and what is available. */
	char message[DECISION_TEXT_MAX];
	/* The nearest change that admits the pod, verified by trying it; "" if there is none. */
	char suggestion[DECISION_TEXT_MAX];
	struct change change; /* the same as data */
	/* Changes of other kinds, also verified. */
	uint32_t nr_others;
	struct change others[DECISION_MAX_OTHERS];
	char container[POD_CONTAINER_NAME]; /* the one that failed, or "" */
	int64_t wanted, available;	    /* in the resource's unit; -1 = not a number */
	bool is_memory;			    /* that unit is bytes of memory, not CPUs */
	uint64_t page_bytes;		    /* which memory; 0 = ordinary */
	bool is_both; /* CPUs and memory each fit, but not on the same nodes */
	/* The result of the manager that refused; _OK = alignment or the other manager refused. */
	enum cpu_result cpu_result;
	enum memory_result memory_result;
	/* Of a refusal: the last choice of nodes. Empty for a resize, which keeps its nodes. */
	struct trace trace;
};

/* Names used in JSON and metric labels: "cpus", "smt", …; "container_cpus", … */
const char *refusal_name(enum refusal refusal);
const char *change_kind_name(enum change_kind kind);

/*
 * Are both the same answer? Their numbers and reasons are compared. An invalid document and a state
 * file that cannot be written have none, so there the message is.
 */
bool decision_equal(const struct decision *a, const struct decision *b);

/*
 * The general remedy for a reason, independent of the numbers. For REFUSAL_STATE and
 * REFUSAL_SPEC no change of the pod's requests helps.
 */
const char *refusal_remedy(enum refusal refusal);

#endif
