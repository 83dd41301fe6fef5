/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: turns what the sources report into changes of the ledger, and into refusals. */
#ifndef CTL_ADMISSION_H
#define CTL_ADMISSION_H

#include "ctl/allocations.h"
#include "ctl/refusals.h"

struct controller;

/* Where a container's CPUs come from, as in the kubelet's resource_manager_* metrics. */
enum assignment_type {
	ASSIGNMENT_NODE_EXCLUSIVE,
	ASSIGNMENT_POD_EXCLUSIVE, /* its own slice of the pod's bubble */
	ASSIGNMENT_POD_SHARED,
	ASSIGNMENT_NODE_SHARED,
	ASSIGNMENT_NR
};

/* `grant` is one of the pod's; a grant without exclusive CPUs shares the pod's or the node's. */
enum assignment_type admission_assignment_type(const struct ledger_pod *pod,
					       const struct grant *grant);
/* As the metrics have it: "node_exclusive". */
const char *admission_assignment_name(enum assignment_type type);

/* A pod whose grant is being written to the state file; the grant takes effect afterwards. */
struct deferred_pod {
	struct pod_spec *spec; /* owned; NULL = none */
	char file[ROW_PATH_MAX];
	unsigned int line;
	uint64_t since_ns;
};

#define ADMISSION_BUCKETS 15 /* bounds double from 50 us, as in the kubelet; the last is open */

struct admission {
	struct refusals refusals;
	struct deferred_pod deferred;
	bool wants_scan;	 /* some pods can be decided only with a new scan of the sources */
	bool is_source_complete; /* they were read completely at least once */
	uint64_t nr_admitted, nr_released;
	uint64_t nr_offers;		     /* how often room was made for whoever was refused */
	uint64_t nr_assigned[ASSIGNMENT_NR]; /* containers with such CPUs, since the start */
	struct allocations allocations;
	uint64_t duration_ns[ADMISSION_BUCKETS], duration_sum_ns;
};

/* 0 or -ENOMEM; after either admission_fini may be called. */
int admission_init(struct admission *admission);
void admission_fini(struct admission *admission);

/* Count the new grant of a container whose pod is not decided here. */
void admission_count_grant(struct admission *admission, const struct ledger *ledger,
			   const struct ledger_pod *pod, const char *container);
/* Count the resize of a container whose pod is not decided here, like that of a manifest's pod. */
void admission_count_resize(struct admission *admission, const struct ledger *ledger,
			    const struct ledger_pod *pod, const char *container);
/* Count a decision, and the time since it was asked for, with the write of the state file. */
void admission_count_duration(struct admission *admission, uint64_t duration_ns);

/* A scan that is `complete` names every pod that exists at its moment. */
void ctl_admit_scanned(struct controller *controller, const struct source_pod *pods,
		       uint32_t nr_pods, bool complete);
/* Release ending pods that have no processes; decide refused pods again after a release. */
void ctl_admission_sweep(struct controller *controller);
/* Room was made: decide the refused pods again, those that are not listed by another scan. */
void ctl_decide_refused(struct controller *controller);
/* The same, but while the sources have not been read completely, it is only noted. */
void ctl_offer_room(struct controller *controller);
/* The save of a deferred pod's grant has ended, with this result: decide the pod again. */
void ctl_admission_resume(struct controller *controller, int result);

/*
 * adopt.c: a pod that was taken over without its manifest (found running, or imported from a
 * kubelet) gets the spec that a source has for it. It keeps exactly what it has, provided that
 * the spec is entitled to just that. On success the transaction is left open. 0; -ENOTSUP if
 * the pod has to be decided again (no transaction is open then); -EBUSY if a transaction was
 * open before; -ENOMEM.
 */
bool adopt_is_wanted(const struct ledger_pod *pod);
int adopt_prepare(struct ledger *ledger, const struct ledger_pod *known,
		  const struct pod_spec *spec);

#endif
