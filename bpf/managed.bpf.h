/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The map with the managed cgroups and the slots of containers, for every object. Pinned by
 * name: the object that is loaded first creates it, the others reuse it, and it outlives the
 * agent.
 */
#ifndef MANAGED_BPF_H
#define MANAGED_BPF_H

#include <pinfold/abi.h>

/* Written by the agent, read by programs. Preallocated, so no allocation can fail later. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* set at load from maxContainers */
	__type(key, __u64);
	__type(value, struct managed);
} managed SEC(".maps");

#endif
