/* SPDX-License-Identifier: Apache-2.0 */
/* Who disturbs the CPUs that containers have exclusively. */
#ifndef CTL_NOISE_H
#define CTL_NOISE_H

#include "core/ledger/ledger.h"
#include "ctl/ports.h"

struct controller;

/* What the port was told last. */
struct noise {
	uint32_t nr;
	struct noise_grant *grants; /* owned; by ascending CPU */
};

/* An exclusive CPU with its owner. */
struct noisy_cpu {
	const struct ledger_pod *pod;
	/* "" if several containers of the pod have it, one after the other: all are its owner. */
	const char *container;
	struct noise_grant grant; /* the owner's cgroup is 0 while it has none */
};

/* A pod's disturbances, by source; UINT64_MAX = this kernel cannot count them. */
struct pod_noise {
	const struct ledger_pod *pod;
	uint64_t total_ns[NOISE_SOURCE_NR];
};

void noise_fini(struct noise *noise);

/* Tell the port which CPUs are exclusive, if that has changed; called each second. */
void ctl_tell_noise(struct controller *controller);
/*
 * The exclusive CPUs by ascending number. The caller owns *ret_rows, whose pods and names are
 * borrowed from the ledger. -ENOMEM.
 */
int ctl_noisy_cpus(const struct controller *controller, struct noisy_cpu **ret_rows,
		   uint32_t *ret_nr);
/*
 * The totals of each pod with exclusive CPUs, as long as all of them are counted: the sum of the
 * others would look like a counter that decreased. The caller owns *ret_rows. -ENOMEM.
 */
int ctl_pod_noises(const struct controller *controller, struct pod_noise **ret_rows,
		   uint32_t *ret_nr);

#endif
