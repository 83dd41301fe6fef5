// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Memory after a restart: allocations that are restored on the same or another machine, and
 * the kubelet's check of its state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "memory_scene.h"

/* Running pods stay where they are; only pods that lost a node or no longer fit are moved. */
static void restart_on_another_machine(void **state)
{
	struct memory_scene scene, after;
	struct topology_node now[3];
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 3, 1, 8, 1024);
	ask_pages(ask(spec, "wide", CONTAINER_APP, 12 * GIB), PAGE_2M, GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, on(3, true)), MEMORY_OK);
	/* Its own pages are no longer free, which is not a reason against it. */
	memcpy(now, scene.topology->memory_nodes, sizeof(now));
	for (uint32_t i = 0; i < 3; i++)
		now[i].hugepages[0].free_pages = 0;
	memory_set_kernel_free(&scene.manager, now, 3);
	memory_initial_state(&scene.manager, &scene.state);
	assert_int_equal(memory_restore(&scene.manager, &scene.state, &pod, false), MEMORY_KEPT);
	/* Smaller nodes: the third node is added. */
	memory_scene_even(&after, 3, 1, 5, 1024);
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, false),
			 MEMORY_EXTENDED);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 7);
	memory_scene_fini(&after);
	/*
	 * A node no longer exists: the pod keeps its other node if possible, and counts
	 * as moved.
	 */
	memory_scene_even(&after, 2, 1, 8, 1024);
	pod.blocks->containers[0].nodes = 1;
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, true), MEMORY_MOVED);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 3);
	memory_scene_fini(&after);
	/* It counts as moved even if the rest of its nodes suffice. */
	memory_scene_even(&after, 2, 1, 16, 1024);
	pod.blocks->containers[0].nodes = 2;
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, true), MEMORY_MOVED);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 2);
	memory_scene_fini(&after);
	memory_scene_even(&after, 1, 1, 8, 1024);
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, true), MEMORY_DROPPED);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 0);
	assert_int_equal(after.state.nodes[0].nr_assignments, 0);
	memory_scene_fini(&after);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* A budget that was placed as one keeps, changes or loses its nodes as one. */
static void a_budget_is_restored_as_one(void **state)
{
	const struct hint hint = on(2, true);
	struct memory_scene scene, after;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	pod = memory_pod_of(budget_pod(16 * GIB));
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &hint,
					     &scene.shortage),
			 MEMORY_OK);
	memory_scene_even(&after, 2, 1, 16, 0);
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, false), MEMORY_KEPT);
	assert_int_equal(after.state.nodes[1].free_bytes[0], 0);
	assert_int_equal(after.state.nodes[1].nr_assignments, 1);
	memory_scene_fini(&after);
	memory_scene_even(&after, 2, 1, 9, 0);
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, false),
			 MEMORY_EXTENDED);
	assert_int_equal(after.state.nodes[0].free_bytes[0] + after.state.nodes[1].free_bytes[0],
			 2 * GIB);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(memory_container_nodes(pod.blocks, i), 3);
	memory_scene_fini(&after);
	memory_scene_even(&after, 1, 1, 15, 0);
	assert_int_equal(memory_restore(&after.manager, &after.state, &pod, true), MEMORY_DROPPED);
	assert_int_equal(after.state.nodes[0].free_bytes[0], 15 * GIB);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(memory_container_nodes(pod.blocks, i), 0);
	memory_scene_fini(&after);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Blocks follow from the request and the recorded nodes; without either there are none. */
static void blocks_are_rebuilt_from_requests_and_nodes(void **state)
{
	struct memory_scene scene;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	/* As a whole, any container shows the nodes of the budget. */
	pod = memory_pod_of(budget_pod(16 * GIB));
	memory_rebuild(&scene.manager, &pod, true);
	assert_false(pod.blocks->pod.present);
	pod.blocks->containers[0].nodes = 2;
	memory_rebuild(&scene.manager, &pod, true);
	assert_true(pod.blocks->pod.present);
	assert_int_equal(pod.blocks->pod.nodes, 2);
	assert_int_equal(memory_container_nodes(pod.blocks, 1), 2);
	memory_pod_fini(&pod);
	/* Each for itself: "exporter" requests nothing, "database" has no nodes yet. */
	pod = memory_pod_of(budget_pod(16 * GIB));
	pod.blocks->containers[1].nodes = 2;
	memory_rebuild(&scene.manager, &pod, false);
	assert_false(pod.blocks->containers[0].present);
	assert_false(pod.blocks->containers[1].present);
	pod.blocks->containers[0].nodes = 1;
	memory_rebuild(&scene.manager, &pod, false);
	assert_true(pod.blocks->containers[0].present);
	assert_int_equal(pod.blocks->containers[0].bytes[0], 12 * GIB);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* The kubelet's start check compares the assignments, the group and the free memory. */
static void the_start_check_sees_each_difference(void **state)
{
	struct memory_scene scene;
	struct memory_state other;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	for (uint32_t node = 0; node < 2; node++) {
		for (int what = 0; what < 3; what++) {
			other = scene.state;
			if (what == 0)
				other.nodes[node].nr_assignments++;
			else if (what == 1)
				other.nodes[node].cells = 3;
			else
				other.nodes[node].free_bytes[0]--;
			assert_int_equal(memory_check_state(&scene.manager, &other, NULL, 0),
					 -EUCLEAN);
			assert_false(memory_state_equal(&scene.manager, &scene.state, &other));
		}
	}
	/* What lies behind the last node of the machine is not part of its state. */
	other = scene.state;
	other.nodes[2].nr_assignments++;
	assert_int_equal(memory_check_state(&scene.manager, &other, NULL, 0), 0);
	assert_true(memory_state_equal(&scene.manager, &scene.state, &other));
	memory_scene_fini(&scene);
}

/* Restoring is exact to the byte: what the pods before it left must suffice. */
static void one_byte_too_many_is_not_restored(void **state)
{
	(void)state;
	for (int64_t more = 0; more < 2; more++) {
		struct memory_scene scene;
		struct pod_spec *spec = scene_pod("a");
		struct memory_pod pod;

		memory_scene_even(&scene, 1, 1, 8, 0);
		ask(spec, "one", CONTAINER_APP, 4 * GIB);
		ask(spec, "two", CONTAINER_APP, 4 * GIB + more);
		pod = memory_pod_of(spec);
		for (uint32_t i = 0; i < 2; i++)
			pod.blocks->containers[i].nodes = 1;
		memory_rebuild(&scene.manager, &pod, false);
		assert_int_equal(memory_restore(&scene.manager, &scene.state, &pod, false),
				 more ? MEMORY_DROPPED : MEMORY_KEPT);
		memory_pod_fini(&pod);
		memory_scene_fini(&scene);
	}
}

/* Of a pod's containers each is restored alone, and the worst that happened is told. */
static void the_worst_of_a_restart_is_told(void **state)
{
	(void)state;
	for (uint32_t wide = 0; wide < 3; wide++) {
		struct memory_scene scene, after;
		struct pod_spec *spec = scene_pod("a");
		struct memory_pod pod;

		memory_scene_even(&scene, 3, 1, 12, 0);
		for (uint32_t i = 0; i < 3; i++)
			ask(spec, "c", CONTAINER_APP, (i == wide ? 12 : 2) * GIB);
		pod = memory_pod_of(spec);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(give(&scene, &pod, i, on(1ULL << i, true)), MEMORY_OK);
		memory_scene_even(&after, 3, 1, 3, 0);
		assert_int_equal(memory_restore(&after.manager, &after.state, &pod, false),
				 MEMORY_DROPPED);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(memory_container_nodes(pod.blocks, i),
					 i == wide ? 0 : 1ULL << i);
		memory_scene_fini(&after);
		memory_pod_fini(&pod);
		memory_scene_fini(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restart_on_another_machine),
		cmocka_unit_test(a_budget_is_restored_as_one),
		cmocka_unit_test(blocks_are_rebuilt_from_requests_and_nodes),
		cmocka_unit_test(the_start_check_sees_each_difference),
		cmocka_unit_test(one_byte_too_many_is_not_restored),
		cmocka_unit_test(the_worst_of_a_restart_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
