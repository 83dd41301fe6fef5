/* SPDX-License-Identifier: Apache-2.0 */
/* Doing the steps of a plan, each chain for itself. */
#ifndef CTL_APPLY_H
#define CTL_APPLY_H

#include "ctl/operations.h"
#include "ctl/round.h"

struct controller;

/*
 * Strangers leave before the owner arrives: where one does not leave, because its step
 * waits or fails, the owner is held too. Chains that have nothing to do with it go on.
 */
void ctl_apply(struct controller *controller, const struct round *round);
/* Hold what writes that go on may give their containers, though the ledger does not any more. */
void ctl_hold_in_flight(struct controller *controller, const struct group_tree *desired);
/* A step that had answered -EINPROGRESS has ended. */
void ctl_end_step(struct controller *controller, const struct operation *operation, int result,
		  const char *error);

#endif
