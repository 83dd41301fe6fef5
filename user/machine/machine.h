/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as the decisions see it: from this computer, from what lstopo
 * saved, from an hwloc description or from a facts file. Reads only.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "core/topology.h"

#define MACHINE_ERROR_MAX 640

struct machine {
	struct topology *topology; /* owned */
	bool live;		   /* read from this computer (or a copy of its sysfs) */
	/* Of the kernel; when not live: online and possible are all CPUs, the rest empty. */
	struct cpuset online, possible;
	struct cpuset isolated, nohz_full; /* isolcpus=, nohz_full= */
};

void machine_fini(struct machine *machine);
#define cleanup_machine cleanup(machine_fini)

/*
 * `source`: "live"; a path that ends in .xml (lstopo) or .json (format/facts);
 * anything else is an hwloc synthetic description ("numa:2 core:16 pu:2").
 * `root` is where this computer's file system begins, "/" or a copy of its
 * sysfs for tests; only "live" looks at it.
 *
 * Ids are the kubelet's: a core is named by the lowest online CPU of it; the
 * uncore id is that of the first cache above level 2 that does not span exactly
 * the NUMA node, else the socket's. Without packages there is one socket, 0.
 * Only online CPUs are listed; NUMA nodes without CPUs have memory only.
 *
 * -EINVAL, -ENOENT or another errno, with a sentence naming source, cause and
 * remedy in `error` (size >= MACHINE_ERROR_MAX); -ENOMEM.
 */
int machine_read(const char *source, const char *root, char *error, size_t error_size,
		 struct machine *ret_machine);

/* Fill policy->excluded's rule: isolated and nohz_full CPUs of the machine. */
void machine_special_cpus(const struct machine *machine, struct cpuset *ret_cpus);

#endif
