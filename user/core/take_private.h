/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the packed take have in common; nobody else includes it. */
#ifndef CORE_TAKE_PRIVATE_H
#define CORE_TAKE_PRIVATE_H

#include "core/take.h"

/* Members of a level in the order in which they are visited; may name one several times. */
struct take_order {
	uint32_t nr;
	uint16_t index[CPUSET_MAX];
};

/* The nodes or sockets that have a CPU in `free`, in the kubelet's order; returns their level. */
const struct topology_level *take_order_of(const struct topology *topology,
					   const struct cpuset *free, bool inner,
					   struct take_order *ret_order);

/*
 * The two steps that "improved" takes otherwise (rules in take.h). `need` is at
 * least 1 and at most the number of `free`. False = there is no way in caches,
 * because too few cores are whole.
 */
bool take_in_caches(const struct topology *topology, const struct cpuset *free, uint32_t need,
		    uint32_t group, struct cpuset *ret_cpus);
void take_across_cores(const struct topology *topology, const struct cpuset *free, uint32_t need,
		       struct cpuset *ret_cpus);

#endif
