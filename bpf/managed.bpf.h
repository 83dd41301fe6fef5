/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one map that says which cgroups are managed and which slot a container has, for
 * every object. Pinned by name: the object loaded first makes it, the others take it
 * over, and it outlives the agent.
 */
#ifndef MANAGED_BPF_H
#define MANAGED_BPF_H

#include <pinfold/abi.h>

/* Written by the agent, read by programs. Preallocated: no allocation can fail later. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* set at load from maxContainers */
	__type(key, __u64);
	__type(value, struct managed);
} managed SEC(".maps");

#endif
