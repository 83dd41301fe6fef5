/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this room: reads facts from sysfs below a given root directory. */
#ifndef MACHINE_SYSFS_H
#define MACHINE_SYSFS_H

#include "core/topology/topology.h"

/* Read a CPU list file below sys/devices/system. A missing file or "(null)" is the empty set. */
int sysfs_read_cpus(int root_fd, const char *name, struct cpuset *ret_cpus);

/* Does sysfs have a NUMA directory? */
bool sysfs_has_nodes(int root_fd);

/* Read nodeN/cpulist; -ENOENT = no such node. */
int sysfs_read_node_cpus(int root_fd, uint32_t node_id, struct cpuset *ret_cpus);

/* Read the total and free pages of every size; -ENOENT = not known, `node` unchanged. */
int sysfs_read_hugepages(int root_fd, struct topology_node *node);

#endif
