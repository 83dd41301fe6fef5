/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-place resize: a pod of the ledger whose containers, or whose budget, get another number of
 * CPUs while they run. The rules are those of KEP-5554:
 *
 * - What grows keeps all of its CPUs. What shrinks stays within them.
 * - The CPUs of the admission, the baseline, are never given up. Fewer than these are refused.
 * - The NUMA nodes of the CPUs that are held stay. What grows is aligned with them, and with the
 *   nodes of pinned memory, under the policy in force; what shrinks is not aligned again.
 *
 * All containers that shrink do so first, so that others of the pod may get their CPUs.
 */
#ifndef CORE_ADMIT_RESIZE_H
#define CORE_ADMIT_RESIZE_H

#include "core/admit/decision.h"
#include "core/ledger/ledger.h"

/*
 * Is the difference to the pod's spec a resize? It is if the pod has exclusive CPUs, the
 * containers are the same, each remains exclusive or shared, and memory that is pinned remains
 * as it is. Anything else is decided anew.
 */
bool resize_is_wanted(const struct ledger *ledger, const struct ledger_pod *pod,
		      const struct pod_spec *spec);
/*
 * Decide on a resize, which resize_is_wanted() confirmed. With the index of a container it changes
 * the size of no other; UINT32_MAX = of each whose request differs from what it has. A transaction
 * must be open; the caller commits it, or aborts it after a refusal or an error. Returns 0 or
 * -ENOMEM.
 */
int resize_decide(struct ledger *ledger, const struct pod_spec *spec, uint32_t container,
		  struct decision *decision);
/*
 * Find the size nearest to the refused one that fits, by trying; the present size is the last.
 * No transaction may be open, and none is afterwards. Returns 0 or -ENOMEM.
 */
int resize_suggest(struct ledger *ledger, const struct pod_spec *spec, uint32_t container,
		   struct decision *decision);

#endif
