/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out the steps of a plan, each chain independently. */
#ifndef CTL_APPLY_H
#define CTL_APPLY_H

#include "ctl/operations.h"
#include "ctl/round.h"

struct controller;

/*
 * Other tasks leave a CPU before its owner arrives. If they do not leave, because their step
 * waits or fails, the owner's chain waits too. Unrelated chains continue.
 */
void ctl_apply(struct controller *controller, const struct round *round);
/*
 * Withhold CPUs that unfinished writes may still give to containers although the ledger has
 * changed.
 */
void ctl_hold_in_flight(struct controller *controller, const struct group_tree *desired);
/* A step that returned -EINPROGRESS has ended. */
void ctl_end_step(struct controller *controller, const struct operation *operation, int result,
		  const char *error);

#endif
