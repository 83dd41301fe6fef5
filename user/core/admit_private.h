/* SPDX-License-Identifier: Apache-2.0 */
/* What admit.c and explain.c have in common; nobody else includes it. */
#ifndef CORE_ADMIT_PRIVATE_H
#define CORE_ADMIT_PRIVATE_H

#include "core/admit.h"

/* One pod on its way through alignment and the managers. */
struct placing {
	struct ledger *ledger;
	struct ledger_pod *pod;
	struct cpu_reuse *reuse;
	struct memory_reuse *memory_reuse; /* kubelet-1.36 looks at it */
	struct decision *decision;
	struct hint hint; /* what alignment settled on last; memory is allocated under it */
	/*
	 * NULL = nobody asks how it was decided. Container i is written down at
	 * i * account_stride, the pod as a whole at 0: stride 0 keeps the last.
	 */
	struct account *accounts;
	uint32_t account_stride;
};

/*
 * Place a pod inside the open transaction, giving back what it held before.
 * 0 with decision->admitted or a refusal without suggestion; the caller
 * commits or aborts. -ENOMEM.
 */
int admit_place(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);
/* The same, and how nodes were chosen is written down (struct placing). */
int admit_place_accounted(struct ledger *ledger, const struct pod_spec *spec,
			  struct decision *decision, struct account *accounts, uint32_t stride);

/*
 * Let the managers decide on a pod that stands in the ledger, whatever it holds
 * already, inside the open transaction. `reuse` begins empty. 0 with decision->admitted or a refusal;
 * the pod then keeps what was given before the refusal. -ENOMEM.
 */
int place_pod(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
	      struct decision *decision);

/* The same, and how nodes were chosen is written down (struct placing). */
int place_pod_accounted(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
			struct decision *decision, struct account *accounts, uint32_t stride);

/*
 * Masks of CPU hints are over the nodes with CPUs; alignment looks at all nodes.
 * On most machines these are the same.
 */
node_mask_t place_all_nodes(const struct topology *topology, node_mask_t nodes);

/* -ENOMEM. */
int account_alignment(const struct placing *placing, const struct cpu_offer *cpu,
		      const struct memory_offer *memory, const struct alignment *alignment,
		      uint32_t container);

/* --- change.c ---------------------------------------------------------------------------------- */

/* The sentence of a change; who leaves is looked up in the ledger. */
void change_say(const struct ledger *ledger, bool is_memory, const struct change *change,
		char *text, size_t size);
/* How much of this memory is asked for, to be read or set; NULL = not specified. */
int64_t *change_amount(struct resources *resources, uint64_t page_bytes);

/* --- refuse.c: sentences and numbers; `container` is an index or UINT32_MAX ------------------- */

void refuse_result(const struct ledger *ledger, const struct ledger_pod *pod,
		   enum cpu_result result, const struct cpu_shortage *shortage,
		   struct decision *decision);
void refuse_memory(const struct placing *placing, enum refusal refusal, enum memory_result result,
		   const struct memory_shortage *shortage);
/* Is it memory that alignment fails for? Then it is refused with its numbers. */
bool refuse_memory_alignment(const struct placing *placing, const struct memory_offer *offer);
void refuse_alignment(const struct placing *placing, const struct cpu_offer *offer,
		      uint32_t container);
/* Each has a set of nodes, but they have none in common. */
void refuse_together(const struct placing *placing, const struct cpu_offer *cpu,
		     const struct memory_offer *memory, uint32_t container);

/* Refuse with a sentence; `container` may be "". */
void refuse_pod(struct decision *decision, enum refusal refusal, const char *container,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Fill in change and suggestion of a refusal by trying changes on the ledger.
 * The ledger is as before afterwards. -ENOMEM.
 */
int explain_refusal(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);

#endif
