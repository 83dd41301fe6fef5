/* SPDX-License-Identifier: Apache-2.0 */
/* A change that would admit a pod: applies it and describes it. */
#ifndef CORE_ADMIT_CHANGE_H
#define CORE_ADMIT_CHANGE_H

#include "core/admit/decision.h"

/* Apply a change to the spec or to the policy; changes of the other kinds have no effect on it. */
void change_apply(const struct change *change, struct pod_spec *spec);
void change_policy(const struct change *change, struct policy *policy);

/* Write the message for a change; the pod that leaves is looked up in the ledger. */
void change_say(const struct ledger *ledger, bool is_memory, const struct change *change,
		char *text, size_t size);
/*
 * Pointer to the requested amount of this memory type, for reading or writing; NULL = not
 * specified.
 */
int64_t *change_amount(struct resources *resources, uint64_t page_bytes);

#endif
