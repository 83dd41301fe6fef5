/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admits one pod through all managers in one transaction. The result is a set of grants
 * or a refusal.
 */
#ifndef CORE_ADMIT_ADMIT_H
#define CORE_ADMIT_ADMIT_H

#include "core/admit/change.h"
#include "core/admit/container.h"
#include "core/admit/decision.h"
#include "core/ledger/ledger.h"

/*
 * Decide on a pod and, if it is admitted, commit its grants to the ledger. A pod that is
 * in the ledger with an equal spec is admitted again without any change. If its spec differs
 * only in amounts, it is resized in place (resize.h). With any other difference the old grant
 * is released before the new one is tried. A refusal keeps the old grant. Returns -EINVAL if
 * the spec exceeds the limits of pod.h, or -ENOMEM. The ledger is unchanged on error and on
 * refusal. No transaction may be open.
 */
int admit_pod(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision);

/*
 * Like admit_pod, but an admission leaves the transaction open, so that the caller can
 * save the state file before it commits, or abort. No transaction is open after a refusal
 * or an error.
 */
int admit_prepare(struct ledger *ledger, const struct pod_spec *spec,
		  struct decision *ret_decision);

#endif
