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

#endif
