/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pod through all managers, in one transaction: grants or a refusal.
 * A refusal is data, never an error code.
 */
#ifndef CORE_ADMIT_H
#define CORE_ADMIT_H

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
 * A change of the request or of the node that was tried on the ledger and
 * found to admit the pod.
 */
enum change_kind {
	CHANGE_NONE,
	CHANGE_CONTAINER_CPUS, /* `container` asks for `cpus` exclusive CPUs instead */
	CHANGE_POD_CPUS,       /* the pod's own resources say `cpus` CPUs instead */
	CHANGE_POD_LEAVES,     /* pod `uid` is removed first */
	CHANGE_ALIGN_POLICY,   /* topologyManagerPolicy is `align` */
	CHANGE_KIND_NR
};

struct change {
	enum change_kind kind;
	uint32_t cpus;
	enum align_policy align;
	char container[POD_CONTAINER_NAME];
	char uid[POD_UID_MAX];
};

#define DECISION_TEXT_MAX 512

struct decision {
	bool admitted;
	enum refusal refusal;
	/* the kubelet's pod status reason: "TopologyAffinityError", "SMTAlignmentError", … */
	char reason[40];
	/* One sentence with the numbers: what was asked, what there is. */
	char message[DECISION_TEXT_MAX];
	/* The nearest change that would fit, proved by trying it; "" when there is none. */
	char suggestion[DECISION_TEXT_MAX];
	struct change change;		    /* the same as data */
	char container[POD_CONTAINER_NAME]; /* the one that failed, or "" */
	int64_t wanted, available;	    /* in the refused resource's unit; -1 = not a number */
	bool is_memory;			    /* that unit is bytes of memory, not CPUs */
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

/* Apply a change of kind container or pod CPUs to a spec; other kinds leave it alone. */
void change_apply(const struct change *change, struct pod_spec *spec);

const char *refusal_name(enum refusal refusal); /* label of metrics and JSON: "cpus", "smt", … */

#endif
