/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the order in which containers move from CPUs to CPUs. */
#ifndef CORE_PLAN_MIGRATE_H
#define CORE_PLAN_MIGRATE_H

#include "core/plan/planner.h"

/*
 * Append the writes that bring every migration of the planner to its target. No two containers
 * that are apart in the end share a CPU in between, unless there is no such order (plan.h).
 */
void migrate_all(struct planner *planner);

#endif
