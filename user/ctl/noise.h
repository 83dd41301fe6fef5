/* SPDX-License-Identifier: Apache-2.0 */
/* Who disturbs the CPUs that containers have exclusively. */
#ifndef CTL_NOISE_H
#define CTL_NOISE_H

#include "core/ledger/ledger.h"
#include "ctl/ports.h"

struct controller;

#define NOISE_NAMES 64

/* What the CPUs of a pod had counted for their owners before these lost them. */
struct noise_kept {
	uint64_t pod; /* as struct managed_group has it */
	uint64_t total_ns[NOISE_SOURCE_NR];
	bool is_in_ledger; /* while those of released pods are dropped */
};

struct noise {
	/* What the port was told last. */
	uint32_t nr;
	struct noise_grant *grants; /* owned; by ascending CPU */
	uint64_t *pods;		    /* owned; of the grants, as struct noise_kept has them */
	uint32_t nr_kept;
	struct noise_kept *kept; /* owned; of pods that are in the ledger */
	/*
	 * The cgroups of foreign tasks that were named last, because looking up a name may have
	 * to wait. The kernel does not use an id twice.
	 */
	struct noise_name {
		uint64_t cgroup_id;
		char path[ROW_PATH_MAX]; /* "/" = the root */
	} names[NOISE_NAMES];
	uint32_t nr_names; /* ever; the next one takes the place nr_names % NOISE_NAMES */
	uint64_t wanted;   /* a cgroup whose name is looked up at the next tick; 0 = none */
	uint64_t tried;	   /* the last one for which that was done */
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

/*
 * Tell the port which CPUs are exclusive, if that has changed, and look up a name that was missing;
 * called each second.
 */
void ctl_tell_noise(struct controller *controller);
/*
 * The exclusive CPUs by ascending number. The caller owns *ret_rows, whose pods and names are
 * borrowed from the ledger. -ENOMEM.
 */
int ctl_noisy_cpus(const struct controller *controller, struct noisy_cpu **ret_rows,
		   uint32_t *ret_nr);
/*
 * The path of a cgroup below the mount; NULL = it is gone, or its name is still being looked up, so
 * a later call may know it. Borrowed until NOISE_NAMES others have been named.
 */
const char *ctl_noise_cgroup(struct controller *controller, uint64_t cgroup_id);
/*
 * The same from memory: NULL also if the name was not looked up yet. One of those that were asked for
 * is looked up each second, so a caller that anybody can cause to ask has most names after a while.
 */
const char *noise_cgroup_in_memory(struct noise *noise, uint64_t cgroup_id);
/*
 * The totals of each pod with exclusive CPUs, with what CPUs had counted that it gave up or that got
 * another container of it, as long as all of them are counted: the sum of the others would look like a
 * counter that decreased. There must be a port. The caller owns *ret_rows. -ENOMEM.
 */
int ctl_pod_noises(const struct controller *controller, struct pod_noise **ret_rows,
		   uint32_t *ret_nr);

#endif
