// SPDX-License-Identifier: Apache-2.0
#include "core/irq/irq.h"

/* The allowed CPUs on the NUMA nodes to which these CPUs belong. */
static void allowed_nearby(const struct irq_cpus *cpus, const struct cpuset *near,
			   struct cpuset *ret_cpus)
{
	const struct topology_level *nodes = &cpus->topology->nodes;
	struct cpuset nearby = CPUSET_EMPTY;

	for (uint32_t i = 0; i < nodes->nr; i++)
		if (cpuset_intersects(&nodes->cpus[i], near))
			cpuset_union(&nearby, &nodes->cpus[i]);
	cpuset_intersect(&nearby, &cpus->allowed);
	*ret_cpus = nearby;
}

void irq_target(const struct irq_cpus *cpus, const struct cpuset *original,
		struct cpuset *ret_target)
{
	struct cpuset target = *original;

	if (!cpuset_intersects(original, &cpus->exclusive) || cpuset_is_empty(&cpus->allowed)) {
		*ret_target = target;
		return;
	}
	cpuset_intersect(&target, &cpus->allowed);
	if (cpuset_is_empty(&target))
		allowed_nearby(cpus, original, &target);
	*ret_target = cpuset_is_empty(&target) ? cpus->allowed : target;
}

/* As irq_setup_affinity() of the kernel, the same from 6.1 to 7.2. */
static void initial_mask(const struct irq_cpus *cpus, const struct cpuset *default_mask,
			 int node_id, struct cpuset *ret_mask)
{
	const struct topology_level *nodes = &cpus->topology->nodes;
	struct cpuset mask = *default_mask, local;

	cpuset_intersect(&mask, &cpus->online);
	for (uint32_t i = 0; i < nodes->nr; i++) {
		/* A negative one, converted, is larger than any id. */
		if (nodes->ids[i] != (uint32_t)node_id)
			continue;
		local = mask;
		cpuset_intersect(&local, &nodes->cpus[i]);
		if (!cpuset_is_empty(&local))
			mask = local;
	}
	*ret_mask = mask;
}

void irq_original_of_new(const struct irq_cpus *cpus, const struct cpuset *default_now,
			 const struct cpuset *default_original, int node_id,
			 const struct cpuset *affinity, struct cpuset *ret_original)
{
	struct cpuset mask;

	initial_mask(cpus, default_now, node_id, &mask);
	if (cpuset_equal(&mask, affinity))
		initial_mask(cpus, default_original, node_id, ret_original);
	else
		*ret_original = *affinity;
}

/* When the last CPU of a mask goes offline, the kernel itself widens the mask to all online CPUs. */
static bool is_foreign(const struct irq_cpus *cpus, const struct irq_facts *facts)
{
	return facts->written && !cpuset_equal(facts->written, facts->affinity) &&
	       cpuset_intersects(facts->written, &cpus->online);
}

enum irq_action irq_decide(const struct irq_cpus *cpus, const struct irq_facts *facts,
			   struct cpuset *ret_original, struct cpuset *ret_target)
{
	const bool foreign = is_foreign(cpus, facts);
	const bool reaches = cpuset_intersects(facts->affinity, &cpus->exclusive);
	const bool is_chosen = foreign && reaches &&
			       cpuset_intersects(facts->affinity, &cpus->allowed);
	struct cpuset original = is_chosen ? *facts->affinity : *facts->original, target;

	irq_target(cpus, &original, &target);
	*ret_original = original;
	*ret_target = target;
	if (cpuset_equal(&target, facts->affinity))
		return IRQ_KEEP;
	if (facts->refused && cpuset_equal(&target, facts->refused))
		return IRQ_REFUSED;
	if (!foreign)
		return IRQ_WRITE;
	return reaches && facts->may_contend ? IRQ_REVERT : IRQ_FOREIGN;
}
