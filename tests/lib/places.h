/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Just enough of the machine for tests and benches of the observer: which CPUs
 * there are, their core, last-level cache and NUMA node, from sysfs. Linking
 * the machine room instead would pull hwloc into every guest.
 */
#ifndef TESTS_PLACES_H
#define TESTS_PLACES_H

#include <stdio.h>
#include <string.h>

#include "core/topology/topology.h"

/* First line of a file below /sys/devices/system; "" when it is not there. */
static inline void places_read(const char *name, char *text, size_t size)
{
	char path[256];
	FILE *file;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/sys/devices/system/%s", name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(text, (int)size, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static inline int places_parse(const char *name, struct cpuset *ret_cpus)
{
	static char text[CPUSET_TEXT_MAX];

	places_read(name, text, sizeof(text));
	return text[0] ? cpuset_parse(text, strlen(text), ret_cpus) : -1;
}

static inline void places_set(const struct cpuset *cpus, uint32_t *index_of, uint32_t index)
{
	cpuset_for_each (cpu, cpus)
		index_of[cpu] = index;
}

/* Fills what the observer reads; -1 when sysfs does not say which CPUs are online. */
static inline int places_open(struct topology *topology)
{
	static uint32_t node_of[CPUSET_MAX], uncore_of[CPUSET_MAX], core_of[CPUSET_MAX];
	struct cpuset cpus;
	char name[64];

	memset(topology, 0, sizeof(*topology));
	if (places_parse("cpu/online", &topology->all))
		return -1;
	topology->node_of = node_of;
	topology->uncore_of = uncore_of;
	topology->core_of = core_of;
	topology->nodes.nr = 1;
	cpuset_for_each (cpu, &topology->all) {
		topology->nr_cpu_ids = cpu + 1;
		snprintf(name, sizeof(name), "cpu/cpu%u/cache/index3/shared_cpu_list", cpu);
		if (!places_parse(name, &cpus))
			uncore_of[cpu] = cpuset_next(&cpus, 0);
		snprintf(name, sizeof(name), "cpu/cpu%u/topology/thread_siblings_list", cpu);
		core_of[cpu] = places_parse(name, &cpus) ? cpu : cpuset_next(&cpus, 0);
	}
	for (uint32_t node = 0; node < TOPOLOGY_MAX_NODES; node++) {
		snprintf(name, sizeof(name), "node/node%u/cpulist", node);
		if (places_parse(name, &cpus))
			continue;
		places_set(&cpus, node_of, node);
		topology->nodes.nr = node + 1;
	}
	return 0;
}

#endif
