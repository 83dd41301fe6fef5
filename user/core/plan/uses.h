/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this folder: which CPUs are in use by migrations that are apart from a given one.
 *
 * The answers come from counts for each CPU instead of a loop over all migrations, because
 * every round of the algorithm asks for nearly every migration.
 */
#ifndef CORE_PLAN_USES_H
#define CORE_PLAN_USES_H

#include "core/plan/planner.h"

/*
 * Containers that share CPUs in the final state may share CPUs in between; all others are apart.
 * None is apart from itself, because no target is empty.
 */
bool uses_are_apart(const struct migration *a, const struct migration *b);

/*
 * Count all migrations and find their peers. The caller provides zeroed counts and nr_peers, and
 * must not change the targets afterwards.
 */
void uses_init(struct planner *planner);
/* Give `migration` these CPUs. */
void uses_move(struct planner *planner, struct migration *migration, const struct cpuset *cpus);

/* All CPUs that migrations apart from `migration` use in this way. */
void uses_of_others(const struct planner *planner, const struct migration *migration, enum use use,
		    struct cpuset *ret_cpus);
/* Is one of them in `within`? */
bool uses_meet(const struct planner *planner, const struct migration *migration, enum use use,
	       const struct cpuset *within);

/* The number of other astray migrations that are not apart from `migration`. */
uint32_t uses_count_company(const struct planner *planner, const struct migration *migration);
/* The number of migrations that have this CPU now. */
uint32_t uses_count_on(const struct planner *planner, unsigned int cpu);

#endif
