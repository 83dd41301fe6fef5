/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offers of the CPU manager and the memory manager for one container or a whole pod,
 * and the NUMA nodes that alignment derives from them.
 */
#ifndef CORE_ADMIT_OFFERS_H
#define CORE_ADMIT_OFFERS_H

#include "core/ledger/ledger.h"

struct offers {
	struct cpu_offer cpu;
	struct memory_offer
		memory; /* borrows from the ledger: valid until something is allocated */
};

/* `container` is an index in the spec, or UINT32_MAX for the pod as a whole. */
void offers_make(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t container,
		 const struct cpu_reuse *cpu_reuse, const struct memory_reuse *memory_reuse,
		 struct offers *ret_offers);

/*
 * `offers` are those of one container of a pod that is to be aligned as a whole, but whose containers
 * become known one by one: make them offers for that container and for what the pod holds already.
 */
void offers_join(const struct ledger *ledger, const struct ledger_pod *pod,
		 const struct cpu_reuse *reuse, struct offers *offers);

/* Choose the nodes for both under the ledger's policy. Returns 0 or -ENOMEM. */
int offers_align(const struct ledger *ledger, const struct offers *offers,
		 struct alignment *ret_alignment);

/* Would the CPUs alone be admitted? Returns 0 or -ENOMEM. */
int offers_align_cpus(const struct ledger *ledger, const struct offers *offers, bool *ret_admitted);

#endif
