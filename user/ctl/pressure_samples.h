/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last 24 hours of each pod and container: who has a ring, and what is added to it after each
 * pass that read the pressure.
 */
#ifndef CTL_PRESSURE_SAMPLES_H
#define CTL_PRESSURE_SAMPLES_H

#include "core/pod/pod.h"
#include "ctl/pressure_ring.h"

struct controller;

/* Pods and containers with a ring; the others of a node that has more have none. */
#define PRESSURE_SAMPLES_MAX 1024

/* A pod (container "") or a container. A new cgroup of the same name continues its ring. */
struct sampled_group {
	char uid[POD_UID_MAX], container[POD_CONTAINER_NAME];
	struct pressure_totals last; /* of the pass before */
	struct pressure_ring ring;
};

struct pressure_samples {
	uint32_t nr;
	struct sampled_group **groups; /* owned; in the order of the measured groups */
	uint32_t nr_left_out;	       /* that have no ring */
	uint64_t pause_ns;	       /* that followed the pass before; see struct pressures */
	uint64_t added_ns;	       /* when samples were added last; 0 = never */
};

void pressure_samples_fini(struct pressure_samples *samples);

/*
 * Call it after each pass that succeeded. It allocates only if a pod or container is new, and frees
 * the ring of a pod only when the ledger has it no more.
 */
void ctl_add_pressure_samples(struct controller *controller);
/* NULL = it has no ring (yet). Borrowed until the next pass. */
const struct sampled_group *pressure_samples_find(const struct pressure_samples *samples,
						  const char *uid, const char *container);

#endif
