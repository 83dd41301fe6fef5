/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a kubelet's state files to pods of a ledger, for taking a node over.
 *
 * The files know pods by uid and containers by name, and of containers on the
 * node shared pool nothing: namespace, name, kinds and requests are made up so
 * that the same CPUs and memory nodes follow from them. Such a pod waits for its
 * manifest, which is found by metadata.uid; containers are matched by name.
 */
#ifndef KUBELET_IMPORT_H
#define KUBELET_IMPORT_H

#include "core/ledger/ledger.h"
#include "kubelet/memory_state.h"
#include "kubelet/cpu_state.h"

/* Namespace of pods whose manifest is not known yet. */
#define KUBELET_IMPORT_NAMESPACE "imported"

/*
 * Put all pods of the files into an empty ledger, or none. `memory` may be NULL.
 * -EINVAL with a sentence (size >= 320) that names pod and container: a pod or
 * container without a name, CPUs or NUMA nodes that the machine does not have, a
 * pod-level pod under another policy, whatever breaks an invariant of the ledger.
 * -ENOMEM.
 */
int kubelet_import(struct ledger *ledger, const struct kubelet_cpu_state *cpu,
		   const struct kubelet_memory_state *memory, char *error, size_t error_size);

#endif
