/* SPDX-License-Identifier: Apache-2.0 */
/* What a round works on: the plan from what the kernel has to what the ledger says. */
#ifndef CTL_ROUND_H
#define CTL_ROUND_H

#include "core/plan/plan.h"

/* All borrowed for the round. */
struct round {
	const struct group_tree *desired;
	const struct group_tree *observed;
	const struct group_tree *known; /* what there was before this look */
	const struct plan *plan;
};

/* What the step's file is to hold in the end; a plan may get there in two writes. */
static inline const char *round_final_value(const struct round *round, const struct step *step)
{
	const struct group *group = group_tree_find(round->desired, step->path);

	return group ? group->files[step->file] : NULL;
}

#endif
