/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a refusal in a message and in numbers. */
#ifndef CORE_ADMIT_REFUSE_H
#define CORE_ADMIT_REFUSE_H

#include "core/admit/assign.h"
#include "core/admit/decision.h"

/*
 * Fill `decision` from an outcome other than ASSIGN_OK, without suggestions. The pod must
 * still be in the ledger as the assignment left it. Returns 0 or -ENOMEM.
 */
int refuse_assignment(const struct assignment *assignment, struct decision *decision);
/*
 * The same for container `index` of `pod`, whose new request is that of a shared container although
 * it is exclusive, or the other way round: a container that runs does not change its kind.
 */
void refuse_other_kind(const struct ledger_pod *pod, uint32_t index,
		       const struct container_spec *wanted, struct decision *decision);
/* The same for a container whose memory is pinned and that asks for another amount of it. */
void refuse_memory_resize(const struct ledger_pod *pod, uint32_t index, struct decision *decision);

#endif
