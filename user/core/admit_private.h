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
 * Fill in change and suggestion of a refusal by trying changes on the ledger.
 * The ledger is as before afterwards. -ENOMEM.
 */
int explain_refusal(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);

#endif
