/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this folder: the partitions of pods and containers below the root.
 *
 * A container's list must lie within that of its pod, and the list of a partition must not
 * overlap with that of a sibling (Linux up to 6.12). So whatever is to change stops being a
 * partition before containers move, the lists of its pod and of the pods around it have all
 * CPUs of before, after and in between meanwhile, and it is a partition again at the end. A pod
 * whose containers keep their CPUs remains a partition throughout. Nobody shares a CPU because
 * of that: the containers' lists are disjoint with and without partitions.
 *
 * The root needs care: Linux 6.12 and 7.2 give the containers in a nested partition the CPUs
 * of others if the root becomes a valid partition again above it. While the root is invalid, a
 * nested partition that becomes a member gets the CPUs of others as well (6.12). If the root is
 * valid and becomes a member first, its CPUs stay isolated from unbound kernel work. Therefore
 * an invalid parent becomes a member before its children, a valid one after them.
 */
#ifndef CORE_PLAN_PARTITIONS_H
#define CORE_PLAN_PARTITIONS_H

#include "core/plan/planner.h"

/* Does the observed root become a partition, or stop being one? */
bool partitions_root_changes(const struct group *root, const struct group *observed);
/*
 * Before the root is written: end the partitions below it if it changes. Call this with the pairs
 * of planner->desired.
 */
void partitions_end_below(struct planner *planner, const struct pairing *desired,
			  const struct group *root, const struct group *observed);
/*
 * After the moves, which are the steps from `moves` on, have been planned: insert before them what
 * has to happen first, and append what narrows the lists of pods again.
 */
void partitions_surround(struct planner *planner, const struct pairing *desired,
			 const struct pairing *observed, uint32_t moves);
/* At the end of the plan: make the partitions. */
void partitions_make(struct planner *planner, const struct pairing *observed);

#endif
