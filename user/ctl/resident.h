/* SPDX-License-Identifier: Apache-2.0 */
/* On which NUMA nodes the containers' memory is, read from the kernel every ten seconds. */
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

/* A container of the ledger, with what is known of its memory. */
struct container_memory {
	const struct ledger_pod *pod;
	const char *container;
	/*
	 * The nodes on which its memory is local: those it was granted, or for unrestricted memory
	 * those of its CPUs. Indexes of topology->memory_nodes.
	 */
	node_mask_t local;
	const struct resident_row *row; /* NULL = unknown: not read, or too long ago */
};

/* A pod's memory on local and on other nodes. */
struct pod_memory {
	const struct ledger_pod *pod;
	uint64_t local_bytes, remote_bytes;
};

void resident_fini(struct resident *resident);

/* Read it if it is time to; called each second. */
void ctl_sample_resident(struct controller *controller);
/* Take over the result of a pass; see resident_sink. */
void ctl_end_resident(struct controller *controller, int result, struct resident_report *report);
/*
 * The containers of the desired tree, pod by pod. ret_rows has room for as many rows as the
 * desired tree has groups. Borrowed until the next pass. Returns the number.
 */
uint32_t ctl_container_memories(const struct controller *controller,
				struct container_memory *ret_rows);
/*
 * The pods of whose containers all is known: the sum of the others would be too small. The caller
 * owns *ret_rows. -ENOMEM.
 */
int ctl_pod_memories(const struct controller *controller, struct pod_memory **ret_rows,
		     uint32_t *ret_nr);
/* Rows for the inspector; NULL = no memory. */
struct json_object *ctl_report_memory(struct controller *controller);

#endif
