/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which NUMA nodes the containers' memory is, read from the kernel every ten seconds: of the
 * ledger's containers, also those of a runtime, and of those that others made, if their names are
 * known.
 */
#ifndef CTL_RESIDENT_H
#define CTL_RESIDENT_H

#include "core/ledger/ledger.h"
#include "ctl/ports.h"

struct controller;

struct resident {
	struct resident_report report; /* of the last pass; without rows if nothing is known */
	uint64_t sampled_ns;	       /* when the last pass began; 0 = none has */
	uint64_t since_ns;	       /* of the pass that has not ended; 0 = there is none */
	uint64_t read_ns;	       /* when the last pass ended that succeeded; 0 = none has */
	int error;		       /* of the last pass */
};

/* A pod's memory on local and on other nodes. The texts are borrowed until something changes. */
struct pod_memory {
	const char *uid, *namespace, *name;
	/* The cgroup of a container of a pod that others made; 0 = the pod is in the ledger. */
	uint64_t discovered_id;
	uint64_t local_bytes, remote_bytes;
};

void resident_fini(struct resident *resident);

/* Read it if it is time to; called each second. */
void ctl_sample_resident(struct controller *controller);
/* Take over the result of a pass; see resident_sink. */
void ctl_end_resident(struct controller *controller, int result, struct resident_report *report);
/*
 * The pods of whose containers all is known: the sum of the others would be too small. First those
 * of the ledger, then those that others made and whose names are known, in the order of their
 * names; each of these names is neither in the ledger nor listed twice. The caller owns *ret_rows.
 * -ENOMEM.
 */
int ctl_pod_memories(const struct controller *controller, struct pod_memory **ret_rows,
		     uint32_t *ret_nr);
/* Rows for the inspector; NULL = no memory. */
struct json_object *ctl_report_memory(struct controller *controller);

#endif
