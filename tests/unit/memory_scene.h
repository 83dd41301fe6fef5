/* SPDX-License-Identifier: Apache-2.0 */
/* Machines with memory, and pods that request it. Include after cmocka.h. */
#ifndef MEMORY_SCENE_H
#define MEMORY_SCENE_H

#include "core/memory/memory.h"
#include "scene.h"

#define MIB	(INT64_C(1) << 20)
#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

struct memory_scene {
	struct topology *topology;
	struct policy policy;
	struct memory_manager manager;
	struct memory_state state;
	struct memory_shortage shortage;
	char error[256];
};

/* One CPU on the first node; the nodes as given. */
static inline struct topology *memory_machine(const struct topology_node *nodes, uint32_t nr)
{
	struct topology_cpu cpu = {.node = nodes[0].id};
	struct topology_facts facts = {
		.cpus = &cpu,
		.nr_cpus = 1,
		.nodes = nodes,
		.nr_nodes = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* Nodes of `cores` cores each, and of as many bytes as listed. */
static inline struct topology *memory_machine_with(uint32_t nr_nodes, uint32_t cores,
						   uint32_t threads, const int64_t *bytes)
{
	uint32_t nr_cores = nr_nodes * cores;
	struct topology_cpu cpus[128] = {{0}};
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cores * threads,
		.nodes = nodes,
		.nr_nodes = nr_nodes,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	assert_true(facts.nr_cpus <= ARRAY_SIZE(cpus) && nr_nodes <= ARRAY_SIZE(nodes));
	for (uint32_t i = 0; i < facts.nr_cpus; i++) {
		uint32_t core = i % nr_cores, node = core / cores;

		cpus[i] = (struct topology_cpu){
			.id = i, .core = core, .node = node, .socket = node, .uncore = node};
	}
	for (uint32_t i = 0; i < nr_nodes; i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = (uint64_t)bytes[i]};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	return topology;
}

static inline struct topology *memory_machine_even(uint32_t nr_nodes, uint32_t cores,
						   uint32_t threads, uint32_t gib)
{
	int64_t bytes[TOPOLOGY_MAX_NODES];

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		bytes[i] = gib * GIB;
	return memory_machine_with(nr_nodes, cores, threads, bytes);
}

/* Takes `topology`; false with scene->error when the manager does not start. */
static inline bool memory_scene_init(struct memory_scene *scene, struct topology *topology)
{
	scene->topology = topology;
	scene->policy.memory = MEMORY_POLICY_STATIC;
	if (memory_manager_init(&scene->manager, topology, &scene->policy, scene->error,
				sizeof(scene->error)))
		return false;
	memory_initial_state(&scene->manager, &scene->state);
	return true;
}

/* `nr` nodes of `gib` each with `pages` huge pages of 2Mi, ids ascending by `stride`. */
static inline void memory_scene_even(struct memory_scene *scene, uint32_t nr, uint32_t stride,
				     int64_t gib, uint64_t pages)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES];

	for (uint32_t i = 0; i < nr; i++)
		nodes[i] = (struct topology_node){
			.id = i * stride,
			.memory_bytes = (uint64_t)(gib * GIB) + pages * PAGE_2M,
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, pages, UINT64_MAX}},
		};
	*scene = (struct memory_scene){.policy = policy_default()};
	assert_true(memory_scene_init(scene, memory_machine(nodes, nr)));
}

static inline void memory_scene_fini(struct memory_scene *scene)
{
	topology_free(scene->topology);
}

static inline struct container_spec *ask(struct pod_spec *spec, const char *name,
					 enum container_kind kind, int64_t bytes)
{
	struct container_spec *container = add_container(spec, name, kind, 1000, 1000);

	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	return container;
}

static inline void ask_pages(struct container_spec *container, uint64_t size_bytes, int64_t bytes)
{
	struct resources *request = &container->request;

	request->hugepages[request->nr_hugepages].size_bytes = size_bytes;
	request->hugepages[request->nr_hugepages++].bytes = bytes;
	container->limit = *request;
}

/* Takes `spec`. */
static inline struct memory_pod memory_pod_of(struct pod_spec *spec)
{
	struct memory_pod pod = {
		.spec = spec,
		.qos = pod_qos(spec),
		.blocks = memory_blocks_new(spec->nr_containers),
	};

	assert_non_null(pod.blocks);
	return pod;
}

static inline void memory_pod_fini(struct memory_pod *pod)
{
	pod_spec_free((struct pod_spec *)pod->spec);
	memory_blocks_free(pod->blocks);
}

/* Hints, and what becomes of a container with one. */
static const struct hint anywhere = {.any = true};

static inline struct hint on(node_mask_t nodes, bool preferred)
{
	return (struct hint){.nodes = nodes, .preferred = preferred};
}

static inline enum memory_result give(struct memory_scene *scene, struct memory_pod *pod,
				      uint32_t index, struct hint hint)
{
	return memory_allocate(&scene->manager, &scene->state, pod, index, &hint, NULL,
			       &scene->shortage);
}

static inline void reserve(struct memory_scene *scene, uint32_t node_id, uint64_t page,
			   int64_t bytes)
{
	scene->policy.memory_reservations[scene->policy.nr_memory_reservations++] =
		(struct memory_reservation){node_id, page, (uint64_t)bytes};
}

/* One container requests 12 GiB of the budget, and one shares what is left. */
static inline struct pod_spec *budget_pod(int64_t budget)
{
	struct pod_spec *spec = scene_pod("a");

	set_budget(spec, 4);
	spec->request.memory_bytes = spec->limit.memory_bytes = budget;
	ask(spec, "database", CONTAINER_APP, 12 * GIB);
	add_container(spec, "exporter", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	return spec;
}

#endif
