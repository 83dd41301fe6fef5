/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that decisions are based on, read from this computer, a file saved by
 * lstopo, an hwloc description or a facts file. Changes nothing.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "core/topology/topology.h"

#define MACHINE_ERROR_MAX 640

struct machine {
	struct topology *topology; /* owned */
	bool live;		   /* read from this computer (or a copy of its sysfs) */
	/*
	 * The kernel's CPU sets. If not live, online and possible contain all CPUs and
	 * the others are empty.
	 */
	struct cpuset online, possible;
	struct cpuset isolated, nohz_full; /* isolcpus=, nohz_full= */
};

/* Free the topology and leave an empty machine. */
void machine_fini(struct machine *machine);
#define cleanup_machine cleanup(machine_fini)

/*
 * `source` is "live", or a path that ends in .xml (lstopo) or .json (format/facts);
 * anything else is an hwloc synthetic description ("numa:2 core:16 pu:2"). `root` is the
 * root of this computer's file system, "/" or for tests a copy of sysfs; only "live" uses
 * it.
 *
 * Ids are those of the kubelet: the id of a core is its lowest online CPU; the uncore id
 * is that of the first cache above level 2 that does not span exactly the NUMA node,
 * otherwise the socket's. A machine without packages has one socket, 0. Only online CPUs
 * are listed. NUMA nodes without CPUs are listed with their memory.
 *
 * Returns a negative errno with a message in `error` (size >= MACHINE_ERROR_MAX) that
 * names the source, the cause and the remedy.
 */
int machine_read(const char *source, const char *root, char *error, size_t error_size,
		 struct machine *ret_machine);

/* The isolated and nohz_full CPUs of the machine, as input of policy_exclude. */
void machine_special_cpus(const struct machine *machine, struct cpuset *ret_cpus);

#endif
