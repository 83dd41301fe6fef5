// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The memory manager on the largest machines: every node number and every page size in
 * use. A build with sanitizers also sees here whether anything reads past the last of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "memory_scene.h"

/* As many page sizes as a node can have, each twice the one before. */
static struct topology_node node_with_every_size(uint32_t id, uint64_t smallest)
{
	struct topology_node node = {
		.id = id,
		.memory_bytes = 16 * GIB,
		.nr_hugepages = TOPOLOGY_MAX_HUGEPAGES,
	};

	for (uint32_t i = 0; i < TOPOLOGY_MAX_HUGEPAGES; i++)
		node.hugepages[i] = (struct hugepages){smallest << i, 16, UINT64_MAX};
	return node;
}

static void every_page_size(void **state)
{
	const uint64_t smallest = 64 << 10;
	struct topology_node now, node = node_with_every_size(0, smallest);
	struct memory_scene scene = {.policy = policy_default()};
	struct pod_spec *spec = scene_pod("a");
	struct container_spec *container;
	struct memory_request request;
	struct hint_list lists[MEMORY_MAX_TYPES];
	const struct memory_blocks *all[1];
	struct memory_offer offer;
	struct hint *hints = NULL;
	struct memory_pod pod;
	uint32_t nr;

	(void)state;
	assert_true(memory_scene_init(&scene, memory_machine(&node, 1)));
	assert_int_equal(scene.manager.nr_types, MEMORY_MAX_TYPES);
	container = ask(spec, "main", CONTAINER_APP, GIB);
	for (uint32_t i = 0; i < TOPOLOGY_MAX_HUGEPAGES; i++)
		ask_pages(container, smallest << i, (int64_t)(smallest << i));
	pod = memory_pod_of(spec);
	memory_pod_request(&scene.manager, spec, &request);
	assert_int_equal(request.types, (1 << MEMORY_MAX_TYPES) - 1);
	for (uint32_t i = 0; i < TOPOLOGY_MAX_HUGEPAGES; i++)
		assert_int_equal(request.bytes[i + 1], smallest << i);
	/* The kernel may report a size that was set up after the start; nobody can request it. */
	now = node;
	for (uint32_t i = 0; i < TOPOLOGY_MAX_HUGEPAGES; i++)
		now.hugepages[i].free_pages = 1;
	now.hugepages[0] = (struct hugepages){UINT64_C(16) << 30, 1, 1};
	memory_set_kernel_free(&scene.manager, &now, 1);
	assert_int_equal(scene.manager.kernel_free_bytes[0][1], MEMORY_NOT_KNOWN);
	assert_int_equal(scene.manager.kernel_free_bytes[0][MEMORY_MAX_TYPES - 1],
			 smallest << (TOPOLOGY_MAX_HUGEPAGES - 1));
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(memory_offer_list(&offer, &hints, &nr), 0);
	/* One list for each type. */
	assert_int_equal(memory_offer_lists(&offer, hints, nr, lists), MEMORY_MAX_TYPES);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_int_equal(scene.state.nodes[0].nr_assignments, MEMORY_MAX_TYPES);
	all[0] = pod.blocks;
	assert_int_equal(memory_check_state(&scene.manager, &scene.state, all, 1), 0);
	/* The check does not look behind the last size of the last node. */
	scene.state.nodes[1].nr_assignments = 1;
	assert_int_equal(memory_check_state(&scene.manager, &scene.state, all, 1), 0);
	free(hints);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Each node may have as many sizes as there can be, but not all nodes together more. */
static void more_page_sizes_than_types(void **state)
{
	const struct topology_node nodes[] = {node_with_every_size(0, 64 << 10),
					      node_with_every_size(1, 32 << 10),
					      node_with_every_size(2, 64 << 10)};
	struct memory_scene scene = {.policy = policy_default()};

	(void)state;
	assert_false(memory_scene_init(&scene, memory_machine(nodes, 3)));
	assert_string_equal(scene.error, "the machine has more than 8 huge page sizes");
	assert_int_equal(memory_manager_init(&scene.manager, scene.topology, &scene.policy,
					     scene.error, sizeof(scene.error)),
			 -EINVAL);
	memory_scene_fini(&scene);
}

static void every_node(void **state)
{
	struct topology_node elsewhere = {
		.id = 64, .nr_hugepages = 1, .hugepages = {{PAGE_2M, 4, 4}}};
	struct memory_scene scene;
	struct memory_state other;

	(void)state;
	memory_scene_even(&scene, TOPOLOGY_MAX_NODES, 1, 1, 4);
	/* A node that was added after the start is ignored. */
	memory_set_kernel_free(&scene.manager, &elsewhere, 1);
	for (uint32_t i = 0; i < TOPOLOGY_MAX_NODES; i++)
		assert_int_equal(scene.manager.kernel_free_bytes[i][1], MEMORY_NOT_KNOWN);
	assert_int_equal(memory_check_state(&scene.manager, &scene.state, NULL, 0), 0);
	other = scene.state;
	assert_true(memory_state_equal(&scene.manager, &scene.state, &other));
	other.nodes[TOPOLOGY_MAX_NODES - 1].free_bytes[1] = 0;
	assert_false(memory_state_equal(&scene.manager, &scene.state, &other));
	assert_int_equal(memory_check_state(&scene.manager, &other, NULL, 0), -EUCLEAN);
	memory_scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_size),
		cmocka_unit_test(more_page_sizes_than_types),
		cmocka_unit_test(every_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
