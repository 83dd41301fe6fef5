/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs an interrupt may fire on while some CPUs are exclusive, and whether its mask has to
 * be written. The same rules hold for the mask that new interrupts begin with and for the mask of
 * the kernel's unbound work. Who reads and writes the masks is user/irq.
 */
#ifndef CORE_IRQ_IRQ_H
#define CORE_IRQ_IRQ_H

#include "core/topology/topology.h"

/* The CPUs at one moment. Every set holds CPU ids. */
struct irq_cpus {
	const struct topology *topology;
	struct cpuset
		exclusive; /* held exclusively by containers; empty = nothing is to be steered */
	struct cpuset allowed; /* reserved and shared CPUs that are online; disjoint from it */
	struct cpuset online;
};

/*
 * The mask that an interrupt with this original mask is to have: the original while it reaches no
 * exclusive CPU; otherwise its allowed CPUs; if it has none, the allowed CPUs on its NUMA nodes;
 * if there are none, all allowed CPUs. The original if no CPU is allowed, because an empty mask
 * is not valid.
 */
void irq_target(const struct irq_cpus *cpus, const struct cpuset *original,
		struct cpuset *ret_target);

/*
 * What the mask of a new interrupt would have been without us. The kernel gives a new interrupt
 * the online CPUs of the default mask, limited to its device's NUMA node (`node_id`, negative =
 * none) if that leaves any. If `affinity` is what the present default mask yields, it comes from
 * there, and *ret_original is what the original default mask yields; otherwise somebody chose it,
 * and it is the original.
 */
void irq_original_of_new(const struct irq_cpus *cpus, const struct cpuset *default_now,
			 const struct cpuset *default_original, int node_id,
			 const struct cpuset *affinity, struct cpuset *ret_original);

/* What is known of a mask. All borrowed for the call. */
struct irq_facts {
	const struct cpuset *affinity; /* as read now */
	const struct cpuset *original;
	/* What we wrote last; NULL = nothing, or it is unknown after a crash. */
	const struct cpuset *written;
	/* A mask that the kernel refused; NULL = none. It is not tried again. */
	const struct cpuset *refused;
	bool may_contend; /* the pause since another process changed the mask is over */
};

enum irq_action {
	IRQ_KEEP,    /* nothing is to be written */
	IRQ_WRITE,   /* write the target */
	IRQ_REFUSED, /* the target is what the kernel refused */
	/* Another process changed the mask we wrote, and: */
	IRQ_FOREIGN, /* it spares the exclusive CPUs, or the pause is not over: leave it */
	IRQ_REVERT,  /* it does not: write the target */
};

/*
 * A mask that another process wrote, and that has allowed CPUs beside exclusive ones, is the original
 * from then on: whoever keeps interrupts off more CPUs, such as TuneD, is obeyed in that, and only the
 * exclusive CPUs are left out. *ret_original is that mask, or else the one of the facts. A mask of
 * exclusive CPUs alone leaves nothing to obey. One that spares them need not be a choice: the kernel
 * takes the CPUs of isolated partitions out of the mask of unbound work (since Linux 6.9).
 */
enum irq_action irq_decide(const struct irq_cpus *cpus, const struct irq_facts *facts,
			   struct cpuset *ret_original, struct cpuset *ret_target);

#endif
