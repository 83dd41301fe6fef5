/* SPDX-License-Identifier: Apache-2.0 */
/* What sources say becomes changes of the ledger, and refusals. */
#ifndef CTL_ADMISSION_H
#define CTL_ADMISSION_H

#include "ctl/refusals.h"

struct controller;

/* Where a container's CPUs come from, in the words of the kubelet's resource_manager_* metrics. */
enum assignment {
	ASSIGNMENT_NODE_EXCLUSIVE,
	ASSIGNMENT_POD_EXCLUSIVE, /* its own slice of the pod's bubble */
	ASSIGNMENT_POD_SHARED,
	ASSIGNMENT_NODE_SHARED,
	ASSIGNMENT_NR
};

enum assignment admission_assignment(const struct ledger_pod *pod, const struct grant *grant);

/* Its grant is being written to the state file, and is in force once that is done. */
struct deferred_pod {
	struct pod_spec *spec; /* owned; NULL = none */
	char file[ROW_PATH_MAX];
	unsigned int line;
	uint64_t since_ns;
};

#define ADMISSION_BUCKETS 15 /* bounds of 50 us doubled, as the kubelet has them, and "more" */

struct admission {
	struct refusals refusals;
	struct deferred_pod deferred;
	bool wants_scan;	 /* only the sources, told again, bring some pods an answer */
	bool is_source_complete; /* they were read whole once */
	uint64_t nr_admitted, nr_released;
	uint64_t nr_assigned[ASSIGNMENT_NR]; /* containers given that kind, ever */
	uint64_t duration_ns[ADMISSION_BUCKETS], duration_sum_ns;
};

int admission_init(struct admission *admission);
void admission_fini(struct admission *admission);

/* A scan is the whole truth of its moment, unless it is not `complete`. */
void ctl_admit_scanned(struct controller *controller, const struct source_pod *pods,
		       uint32_t nr_pods, bool complete);
/* Ending pods without processes go; refused ones are tried again after a release. */
void ctl_admission_sweep(struct controller *controller);
/* A deferred pod's grant is durable, or cannot be saved: it is decided once more. */
void ctl_admission_resume(struct controller *controller, int result);

/*
 * adopt.c: a pod that was taken over without its manifest (found running, or imported
 * from a kubelet) gets the spec a source has for it and keeps exactly what it holds,
 * where the spec is entitled to just that. Leaves the transaction open; 0, or -ENOTSUP
 * when it has to be decided anew (nothing is open then), -ENOMEM.
 */
bool adopt_is_wanted(const struct ledger_pod *pod);
int adopt_prepare(struct ledger *ledger, const struct ledger_pod *known,
		  const struct pod_spec *spec);

#endif
