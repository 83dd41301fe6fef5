/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pod through all managers, in one transaction: grants or a refusal.
 * A refusal is data, never an error code.
 */
#ifndef CORE_ADMIT_H
#define CORE_ADMIT_H

#include "core/account.h"
#include "core/ledger.h"

enum refusal {
	REFUSAL_NONE,
	REFUSAL_CPUS,	  /* not enough free CPUs */
	REFUSAL_SMT,	  /* full-pcpus-only: not a multiple, or no free whole cores */
	REFUSAL_TOPOLOGY, /* alignment not possible under the policy */
	REFUSAL_MEMORY,
	REFUSAL_HUGEPAGES,
	REFUSAL_EMPTY_SHARED_POOL, /* pod level: nothing left for its shared containers */
	REFUSAL_POD_BUDGET,	   /* containers ask for more than the pod's own resources */
	REFUSAL_LAST_SHARED_CPU,   /* would leave running shared containers without a CPU */
	REFUSAL_STATE,		   /* the state file cannot be written: no new grants */
	REFUSAL_SPEC,		   /* the document itself is wrong (never from the core) */
	REFUSAL_NR
};

/*
 * A change of the request, of the policy or of the node that was tried on the
 * ledger and found to admit the pod.
 */
enum change_kind {
	CHANGE_NONE,
	CHANGE_CONTAINER_CPUS,	 /* `container` asks for `cpus` exclusive CPUs instead */
	CHANGE_POD_CPUS,	 /* the pod's own resources say `cpus` CPUs instead */
	CHANGE_CONTAINER_MEMORY, /* `container` asks for `bytes` of `page_bytes` instead */
	CHANGE_POD_MEMORY,	 /* the pod's own resources say so */
	CHANGE_PAGE_SIZE,	 /* pages of `to_page_bytes` instead of `page_bytes`, everywhere */
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
	enum refusal refusal;
	/* the kubelet's pod status reason: "TopologyAffinityError", "SMTAlignmentError", … */
	char reason[40];
	/* One sentence with the numbers: what was asked, what there is. */
	char message[DECISION_TEXT_MAX];
	/* The nearest change that would fit, proved by trying it; "" when there is none. */
	char suggestion[DECISION_TEXT_MAX];
	struct change change; /* the same as data */
	/* Changes of other kinds, proved as well. */
	uint32_t nr_others;
	struct change others[DECISION_MAX_OTHERS];
	char container[POD_CONTAINER_NAME]; /* the one that failed, or "" */
	int64_t wanted, available;	    /* in the refused resource's unit; -1 = not a number */
	bool is_memory;			    /* that unit is bytes of memory, not CPUs */
	uint64_t page_bytes;		    /* which memory; 0 = ordinary */
	bool is_both; /* CPUs and memory each fit somewhere, but nowhere together */
	/* What the manager said that refused; _OK = alignment did, or the other manager. */
	enum cpu_result cpu_result;
	enum memory_result memory_result;
	struct account account; /* of a refusal: the last time nodes were chosen */
};

/*
 * Decide and, when admitted, commit into the ledger. Calling it again for a
 * pod that is in the ledger with an equal spec is idempotent: admitted, nothing
 * changes. With a different spec: the new grant is tried with the old one given
 * back first; a refusal leaves the old grant in force.
 * -EINVAL: spec breaks the header's bounds; -ENOMEM. The ledger is unchanged on
 * error and on refusal. No transaction may be open.
 */
int admit_pod(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision);

/*
 * As admit_pod, but an admission leaves the transaction open for the caller to
 * commit or abort: what must be durable first (the state file) comes in between.
 * On refusal and on error no transaction is open.
 */
int admit_prepare(struct ledger *ledger, const struct pod_spec *spec,
		  struct decision *ret_decision);

/* Carry a change out, each on what it is about: the other kinds leave it alone. */
void change_apply(const struct change *change, struct pod_spec *spec);
void change_policy(const struct change *change, struct policy *policy);
const char *change_kind_name(enum change_kind kind); /* "container_cpus", … */

/*
 * What an operator can do whatever the numbers are, by the reason alone; for a
 * state that cannot be written or a wrong document no change of the pod helps.
 */
const char *refusal_remedy(enum refusal refusal);

/*
 * How a pod of the ledger would come by its CPUs if it came now, to a node with
 * all the others: one account per container. Under pod scope, and where nothing
 * is aligned, only the first is meaningful. *ret_same: it would get exactly what
 * it has. The ledger is as before afterwards. -ENOENT, -ENOMEM, -EBUSY when a
 * transaction is open.
 */
int explain_grant(struct ledger *ledger, const char *uid, struct account *accounts, bool *ret_same);

const char *refusal_name(enum refusal refusal); /* label of metrics and JSON: "cpus", "smt", … */

#endif
