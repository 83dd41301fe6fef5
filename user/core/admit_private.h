/* SPDX-License-Identifier: Apache-2.0 */
/* What admit.c and explain.c have in common; nobody else includes it. */
#ifndef CORE_ADMIT_PRIVATE_H
#define CORE_ADMIT_PRIVATE_H

#include "core/admit.h"

/*
 * Place a pod inside the open transaction, giving back what it held before.
 * 0 with decision->admitted or a refusal without suggestion; the caller
 * commits or aborts. -ENOMEM.
 */
int admit_place(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);

/*
 * Let the managers decide on a pod that stands in the ledger, whatever it holds
 * already, inside the open transaction. `reuse` begins empty. 0 with decision->admitted or a refusal;
 * the pod then keeps what was given before the refusal. -ENOMEM.
 */
int place_pod(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
	      struct decision *decision);

/* Refuse with a sentence; `container` may be "". */
void refuse_pod(struct decision *decision, enum refusal refusal, const char *container,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Fill in change and suggestion of a refusal by trying changes on the ledger.
 * The ledger is as before afterwards. -ENOMEM.
 */
int explain_refusal(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);

#endif
