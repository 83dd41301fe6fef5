/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs share a core with an exclusive CPU without being its owner's, and where the BPF programs
 * count what runs on them (`noise_siblings` in bpf/noise.bpf.c).
 */
#ifndef BPF_NOISE_SIBLINGS_H
#define BPF_NOISE_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/noise.h>

#include "core/topology/topology.h"

struct noise_siblings {
	uint32_t nr_cpus;
	uint32_t
		nr; /* other threads of a core, at most; 0 = there are none, or they are not known */
	uint32_t *others; /* [nr_cpus * nr], NOISE_NO_CPU where a core has fewer threads; owned */
	/* By CPU; `number` is 0 while all threads of the core are its owner's, or it has none. */
	struct noise_share {
		uint32_t number, epoch, foreign; /* `foreign`: bit i: the i-th other thread is */
	} * shares;				 /* owned */
};

#define NOISE_NO_CPU UINT32_MAX

/*
 * Threads that are offline are not in the topology. NULL: which CPUs share a core is not known.
 * -ENOMEM.
 */
int noise_siblings_init(struct noise_siblings *siblings, const struct topology *topology,
			uint32_t nr_cpus);
void noise_siblings_fini(struct noise_siblings *siblings);

/*
 * The owners of the CPUs have changed. A new share gets the next number, so it also begins anew where
 * other threads become the owner's, or cease to be.
 */
void noise_siblings_follow(struct noise_siblings *siblings, const struct noise_owner *owners,
			   uint32_t *number);

/*
 * The record at `index` is about what CPU index / nr does to *ret_cpu. Returns the share of that
 * one's owner; 0 = there is nothing to count.
 */
uint32_t noise_siblings_share(const struct noise_siblings *siblings, uint32_t index,
			      uint32_t *ret_cpu);
/* The record about what the i-th other thread does to this CPU; NOISE_NO_CPU = there is none. */
uint32_t noise_siblings_index(const struct noise_siblings *siblings, uint32_t cpu, uint32_t i);

/*
 * The entries of a record whose owner has had its CPU for so long. The stay that is not over is
 * included. Returns their number, up to NOISE_SIBLING_ENTRIES.
 */
uint32_t noise_siblings_read(const struct noise_cpu *record, uint32_t sibling, uint64_t owner_ns,
			     struct noise_entry *ret_entries);

#endif
