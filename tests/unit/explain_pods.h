/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and pods for the scenes of explain_scenes.h. Include after cmocka.h. */
#ifndef EXPLAIN_PODS_H
#define EXPLAIN_PODS_H

#include "memory_scene.h"

/* --- policies --------------------------------------------------------------------------------- */

static inline void whole_cores(struct policy *policy)
{
	policy->cpu_options.full_pcpus_only = true;
}

static inline void keep_last(struct policy *policy)
{
	policy->may_empty_shared_pool = false;
}

static inline void restricted(struct policy *policy)
{
	policy->align = ALIGN_RESTRICTED;
}

static inline void single_pod(struct policy *policy)
{
	policy->align = ALIGN_SINGLE_NUMA_NODE;
	policy->scope = ALIGN_SCOPE_POD;
}

static inline void best_effort_pod(struct policy *policy)
{
	policy->align = ALIGN_BEST_EFFORT;
	policy->scope = ALIGN_SCOPE_POD;
}

static inline void restricted_pod(struct policy *policy)
{
	policy->align = ALIGN_RESTRICTED;
	policy->scope = ALIGN_SCOPE_POD;
}

static inline void memory_static(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
}

static inline void memory_best_effort(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_BEST_EFFORT;
}

static inline void memory_restricted(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_RESTRICTED;
}

static inline void memory_single(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_SINGLE_NUMA_NODE;
}

static inline void memory_best_effort_pod(struct policy *policy)
{
	memory_best_effort(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

static inline void memory_restricted_pod(struct policy *policy)
{
	memory_restricted(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

/* The kubelet never returns here, because it distributes groups but has counted CPUs. */
static inline void kubelet_hangs(struct policy *policy)
{
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
	policy->cpu_options.full_pcpus_only = true;
	policy->cpu_options.distribute_across_numa = true;
}

static inline void kubelet_spreads(struct policy *policy)
{
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
	policy->cpu_options.distribute_across_numa = true;
}

static inline void kubelet_best_effort(struct policy *policy)
{
	memory_best_effort(policy);
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
}

static inline void kubelet_best_effort_pod(struct policy *policy)
{
	kubelet_best_effort(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

/* --- pods ------------------------------------------------------------------------------------- */

static inline struct pod_spec *pod_with(const char *uid, int64_t cpus, int64_t bytes)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *container = &spec->containers[0];

	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	return spec;
}

static inline struct pod_spec *four_cpus(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 4);
}

/* The pod of three(), larger: what comes is a resize. */
static inline struct pod_spec *four_of_the_same(unsigned int index)
{
	return index ? NULL : guaranteed_pod("p", 4);
}

static inline struct pod_spec *web(unsigned int index)
{
	return index ? NULL : burstable_pod("web");
}

static inline struct pod_spec *five(void)
{
	return guaranteed_pod("p", 5);
}

static inline struct pod_spec *three(void)
{
	return guaranteed_pod("p", 3);
}

static inline struct pod_spec *four(void)
{
	return guaranteed_pod("p", 4);
}

static inline struct pod_spec *seven(void)
{
	return guaranteed_pod("p", 7);
}

static inline struct pod_spec *six_there(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 6);
}

/* All of the shared pool, while nobody needs it. */
static inline struct pod_spec *seven_there(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 7);
}

static inline struct pod_spec *one_each(unsigned int index)
{
	const char *const uids[] = {"a", "b", "c"};

	return index < ARRAY_SIZE(uids) ? guaranteed_pod(uids[index], 1) : NULL;
}

static inline struct pod_spec *one(void)
{
	return guaranteed_pod("p", 1);
}

static inline struct pod_spec *needs_shared(void)
{
	return burstable_pod("p");
}

/* Both nodes half taken. */
static inline struct pod_spec *four_on_each(unsigned int index)
{
	return index > 1 ? NULL : guaranteed_pod(index ? "b" : "a", 4);
}

static inline struct pod_spec *six(void)
{
	return guaranteed_pod("p", 6);
}

static inline struct pod_spec *two_of_five(void)
{
	struct pod_spec *spec = guaranteed_pod("p", 5);

	add_container(spec, "second", CONTAINER_APP, 5000, 5000);
	return spec;
}

static inline struct pod_spec *budget(int64_t cpus, int64_t exclusive, bool shares)
{
	struct pod_spec *spec = scene_pod("p");

	set_budget(spec, cpus);
	if (shares)
		add_container(spec, "side", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "main", CONTAINER_APP, exclusive * 1000, exclusive * 1000);
	return spec;
}

static inline struct pod_spec *budget_too_large(void)
{
	return budget(10, 4, true);
}

static inline struct pod_spec *budget_of_two(void)
{
	return budget(2, 1, false);
}

static inline struct pod_spec *budget_used_up(void)
{
	return budget(4, 4, true);
}

static inline struct pod_spec *budget_too_small(void)
{
	struct pod_spec *spec = budget(4, 3, false);

	add_container(spec, "second", CONTAINER_APP, 2000, 2000);
	return spec;
}

static inline struct pod_spec *twelve_gib(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 12 * GIB);
}

static inline struct pod_spec *six_gib(void)
{
	return pod_with("p", 1, 6 * GIB);
}

static inline struct pod_spec *ten_gib(void)
{
	return pod_with("p", 1, 10 * GIB);
}

static inline struct pod_spec *six_and_seven(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 1, (index ? 7 : 6) * GIB);
}

static inline struct pod_spec *three_gib(void)
{
	return pod_with("p", 1, 3 * GIB);
}

/* 6 GiB on node 0; 2 CPUs of node 1 */
static inline struct pod_spec *seven_and_cpus(unsigned int index)
{
	if (index > 1)
		return NULL;
	return index ? pod_with("b", 3, 2 * GIB) : pod_with("a", 1, 7 * GIB);
}

/* Most memory of both nodes that have CPUs. */
static inline struct pod_spec *seven_gib_on_each(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 1, 7 * GIB);
}

static inline struct pod_spec *two_cpus_three_gib(void)
{
	return pod_with("p", 2, 3 * GIB);
}

/* Only node 2 has two CPUs; then most of its memory is taken. */
static inline struct pod_spec *seven_gib_beside(unsigned int index)
{
	return index ? NULL : pod_with("a", 2, 7 * GIB);
}

static inline struct pod_spec *two_cpus_ten_gib(void)
{
	return pod_with("p", 2, 10 * GIB);
}

/* Nodes 0 and 1 keep most of their CPUs, but each serves a pod alone. */
static inline struct pod_spec *six_gib_on_each(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 2, 6 * GIB);
}

static inline struct pod_spec *twelve_cpus_ten_gib(void)
{
	return pod_with("p", 12, 10 * GIB);
}

/* Most memory of node 0, most pages of node 1, all CPUs of node 2. */
static inline struct pod_spec *each_lacks_one(unsigned int index)
{
	struct pod_spec *spec;

	if (index > 2)
		return NULL;
	if (index != 1)
		return index ? pod_with("c", 4, GIB) : pod_with("a", 1, 7 * GIB);
	spec = pod_with("b", 2, 4 * GIB);
	ask_pages(&spec->containers[0], PAGE_2M, 1536 * MIB);
	return spec;
}

static inline struct pod_spec *two_cpus_three_gib_and_pages(void)
{
	struct pod_spec *spec = two_cpus_three_gib();

	ask_pages(&spec->containers[0], PAGE_2M, GIB);
	return spec;
}

static inline struct pod_spec *seven_gib_there(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 7 * GIB);
}

static inline struct pod_spec *fourteen_cpus_three_gib(void)
{
	return pod_with("p", 14, 3 * GIB);
}

static inline struct pod_spec *with_pages(uint64_t page_bytes, int64_t bytes)
{
	struct pod_spec *spec = pod_with("p", 1, GIB);

	ask_pages(&spec->containers[0], page_bytes, bytes);
	return spec;
}

static inline struct pod_spec *many_pages(void)
{
	return with_pages(PAGE_2M, 5 * GIB);
}

static inline struct pod_spec *few_pages(void)
{
	return with_pages(PAGE_2M, 512 * MIB);
}

static inline struct pod_spec *unknown_pages(void)
{
	return with_pages(PAGE_1G, 2 * GIB);
}

static inline struct pod_spec *pages_held(unsigned int index)
{
	struct pod_spec *spec;

	if (index)
		return NULL;
	spec = with_pages(PAGE_2M, GIB);
	snprintf(spec->uid, sizeof(spec->uid), "a");
	snprintf(spec->name, sizeof(spec->name), "a");
	return spec;
}

/* All CPUs of node 0; on node 1 three quarters of the pages */
static inline struct pod_spec *cpus_and_pages_apart(unsigned int index)
{
	struct pod_spec *spec;

	if (index > 1)
		return NULL;
	spec = index ? pod_with("b", 1, GIB) : pod_with("a", 3, GIB);
	if (index)
		ask_pages(&spec->containers[0], PAGE_2M, 1536 * MIB);
	return spec;
}

static inline struct pod_spec *two_cpus_and_pages(void)
{
	struct pod_spec *spec = pod_with("p", 2, GIB);

	ask_pages(&spec->containers[0], PAGE_2M, GIB);
	return spec;
}

/* Pod level: 8 GiB of memory for the pod, `bytes` of them exclusively `main`'s. */
static inline struct pod_spec *memory_budget(int64_t bytes, enum container_kind kind)
{
	struct pod_spec *spec = budget(6, 2, kind == CONTAINER_SIDECAR);
	struct container_spec *container = &spec->containers[spec->nr_containers - 1];

	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	return spec;
}

static inline struct pod_spec *memory_used_up(void)
{
	return memory_budget(8 * GIB, CONTAINER_SIDECAR);
}

static inline struct pod_spec *memory_budget_too_large(void)
{
	struct pod_spec *spec = memory_budget(2 * GIB, CONTAINER_SIDECAR);

	spec->request.memory_bytes = spec->limit.memory_bytes = 20 * GIB;
	return spec;
}

/* An exclusive sidecar has all of the memory when a shared init container comes. */
static inline struct pod_spec *nothing_for_init(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *side;

	set_budget(spec, 6);
	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	side = add_container(spec, "side", CONTAINER_SIDECAR, 2000, 2000);
	side->request.memory_bytes = side->limit.memory_bytes = 8 * GIB;
	add_container(spec, "setup", CONTAINER_INIT, RESOURCE_UNSET, RESOURCE_UNSET);
	return spec;
}

static inline struct pod_spec *init_over_budget(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *setup;

	set_budget(spec, 6);
	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	setup = add_container(spec, "setup", CONTAINER_INIT, 2000, 2000);
	setup->request.memory_bytes = setup->limit.memory_bytes = 9 * GIB;
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	return spec;
}

static inline struct pod_spec *thirty(void)
{
	return guaranteed_pod("p", 30);
}

static inline struct pod_spec *fourteen(void)
{
	return guaranteed_pod("p", 14);
}

static inline struct pod_spec *two_gib_there(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 2 * GIB);
}

/* Its sidecar requests nothing, and the kubelet still searches for nodes. */
static inline struct pod_spec *shared_beside(void)
{
	return budget(4, 2, true);
}

/* CPUs of both nodes, so the pod is aligned to both although one would suffice for `main`. */
static inline struct pod_spec *large_init(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *setup = add_container(spec, "setup", CONTAINER_INIT, 6000, 6000);

	setup->request.memory_bytes = setup->limit.memory_bytes = 11 * GIB;
	setup = add_container(spec, "main", CONTAINER_APP, 6000, 6000);
	setup->request.memory_bytes = setup->limit.memory_bytes = 8 * GIB;
	return spec;
}

/* Beyond what counts and sets of CPUs are made for; odd, even, and 2 when cut to 32 bits. */
static inline struct pod_spec *nine_thousand(void)
{
	return guaranteed_pod("p", 9000);
}

static inline struct pod_spec *more_than_32_bits(void)
{
	return guaranteed_pod("p", 4294967298);
}

#endif
