/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods with a cgroup between pod and containers, and a node whose desired tree is full. Include it
 * after fake_world.h.
 */
#ifndef TESTS_MIXED_POD_H
#define TESTS_MIXED_POD_H

#include "../lib/fake_world.h"

/*
 * Exclusive CPUs for the container `container`, and what they leave of the pod's limits for the other
 * one, "rest": the pod has four cgroups, and that of role GROUP_SHARED is neither a pod nor a container.
 */
static inline struct pod_spec *mixed_pod(const char *name, const char *container, int64_t own_mcpu,
					 int64_t pod_mcpu)
{
	struct pod_spec *spec = fake_pod(name, container, own_mcpu, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	if (!containers)
		abort();
	containers[0] = containers[1] = spec->containers[0];
	snprintf(containers[1].name, sizeof(containers[1].name), "rest");
	containers[1].request.cpu_mcpu = 500;
	containers[1].limit = RESOURCES_UNSET;
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	spec->has_pod_resources = true;
	spec->request.cpu_mcpu = pod_mcpu;
	spec->request.memory_bytes = 256 << 20;
	spec->limit = spec->request;
	return spec;
}

/* Two containers with a CPU of their own each and one that shares the rest, out of the pod's CPUs. */
static inline struct pod_spec *bubble_pod(int64_t pod_mcpu)
{
	struct pod_spec *spec = mixed_pod("bubble", "one", 1000, pod_mcpu);
	struct container_spec *containers = calloc(3, sizeof(*containers));

	if (!containers)
		abort();
	containers[0] = containers[1] = spec->containers[0];
	containers[2] = spec->containers[1];
	snprintf(containers[1].name, sizeof(containers[1].name), "two");
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 3;
	return spec;
}

/* With the root they have 16 cgroups, so that the array of the desired tree has no spare element. */
#define NR_FULL_TREE_PODS 6

static inline void make_full_tree(struct pod_spec *pods[NR_FULL_TREE_PODS])
{
	char name[8];

	pods[0] = mixed_pod("m", "exclusive", 1000, 2000);
	for (int i = 1; i < NR_FULL_TREE_PODS; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		pods[i] = fake_pod(name, "web", 100, false);
	}
	pods[1]->containers = realloc(pods[1]->containers, 2 * sizeof(*pods[1]->containers));
	if (!pods[1]->containers)
		abort();
	pods[1]->containers[1] = pods[1]->containers[0];
	snprintf(pods[1]->containers[1].name, sizeof(pods[1]->containers[1].name), "second");
	pods[1]->nr_containers = 2;
}

#endif
