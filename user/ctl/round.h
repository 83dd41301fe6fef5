/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a round: the plan that leads from the state of the kernel to that of the ledger. */
#ifndef CTL_ROUND_H
#define CTL_ROUND_H

#include "core/plan/plan.h"

/* All borrowed for the round. */
struct round {
	const struct group_tree *desired;
	const struct group_tree *observed;
	const struct group_tree *known; /* the known state before this look */
	const struct plan *plan;
};

/*
 * The value that the step's file has after the whole plan, which may need two writes to reach
 * it.
 */
static inline const char *round_final_value(const struct round *round, const struct step *step)
{
	const struct group *group = group_tree_find(round->desired, step->path);

	return group ? group->files[step->file] : NULL;
}

#endif
