/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nearest changes that would admit a refused pod. */
#ifndef CORE_ADMIT_SUGGEST_H
#define CORE_ADMIT_SUGGEST_H

#include "core/admit/decision.h"
#include "core/ledger/ledger.h"

/*
 * Fill in the changes and the suggestion of a refusal by trying changes on the ledger.
 * The ledger is unchanged afterwards. Returns 0 or -ENOMEM.
 */
int suggest_changes(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision);

#endif
