// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Memory that is allocated to containers: groups of nodes, what an init container leaves to
 * the others, and what a refusal says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "memory_scene.h"

static void groups(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_state empty;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 3, 2, 8, 0);
	empty = scene.state;
	ask(spec, "wide", CONTAINER_APP, 12 * GIB);
	ask(spec, "small", CONTAINER_APP, GIB);
	ask(spec, "other", CONTAINER_APP, 12 * GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, on(3, true)), MEMORY_OK);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 0);
	assert_int_equal(scene.state.nodes[1].free_bytes[0], 4 * GIB);
	assert_int_equal(scene.state.nodes[1].cells, 3);
	/* A hint for one node of the group is extended to the group ... */
	assert_int_equal(give(&scene, &pod, 1, on(2, false)), MEMORY_OK);
	assert_int_equal(memory_container_nodes(pod.blocks, 1), 3);
	memory_remove(&scene.manager, &scene.state, &pod, 1);
	/* ... but not when alignment promised just that node. */
	assert_int_equal(give(&scene, &pod, 1, on(2, true)), MEMORY_NO_EXTENSION_PREFERRED);
	/* Another group may not overlap. */
	assert_int_equal(give(&scene, &pod, 2, on(6, true)), MEMORY_GROUP);
	assert_int_equal(scene.shortage.nodes, 6);
	assert_false(pod.blocks->containers[2].present);
	memory_remove_pod(&scene.manager, &scene.state, &pod);
	assert_true(memory_state_equal(&scene.manager, &scene.state, &empty));
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* With the kubelet's rule the group is overwritten, and its start check then fails. */
static void group_overwritten(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	const struct memory_blocks *all[1];
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 3, 1, 8, 0);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	ask(spec, "wide", CONTAINER_APP, 12 * GIB);
	ask(spec, "small", CONTAINER_APP, GIB);
	ask(spec, "other", CONTAINER_APP, GIB);
	pod = memory_pod_of(spec);
	all[0] = pod.blocks;
	assert_int_equal(give(&scene, &pod, 0, on(3, true)), MEMORY_OK);
	assert_int_equal(memory_check_state(&scene.manager, &scene.state, all, 1), 0);
	assert_int_equal(give(&scene, &pod, 1, on(2, false)), MEMORY_OK);
	assert_int_equal(scene.state.nodes[1].cells, 2);
	assert_int_equal(scene.state.nodes[0].cells, 3);
	/* Several nodes are refused where one is in another group, also by the kubelet. */
	assert_int_equal(give(&scene, &pod, 2, on(3, true)), MEMORY_GROUP);
	assert_int_equal(scene.shortage.nodes, 3);
	memory_remove(&scene.manager, &scene.state, &pod, 1);
	assert_int_equal(memory_check_state(&scene.manager, &scene.state, all, 1), -EUCLEAN);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

static void init_memory_is_used_again(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_request request;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 1, 1, 8, 0);
	ask(spec, "init", CONTAINER_INIT, 6 * GIB);
	ask(spec, "sidecar", CONTAINER_SIDECAR, GIB);
	ask(spec, "main", CONTAINER_APP, 6 * GIB);
	pod = memory_pod_of(spec);
	memory_pod_request(&scene.manager, spec, &request);
	assert_int_equal(request.bytes[0], 7 * GIB);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_int_equal(give(&scene, &pod, 1, anywhere), MEMORY_OK);
	assert_int_equal(give(&scene, &pod, 2, anywhere), MEMORY_OK);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], GIB);
	assert_int_equal(pod.blocks->containers[0].bytes[0], 0);
	assert_int_equal(scene.state.nodes[0].nr_assignments, 3);
	memory_started(&scene.manager, &scene.state, &pod, 2);
	assert_int_equal(scene.state.nodes[0].nr_assignments, 2);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], GIB);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* What an ended init container had is free, so nobody takes it over from that container. */
static void an_ended_init_container_leaves_nothing(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 1, 1, 8, 0);
	ask(spec, "first", CONTAINER_INIT, 8 * GIB);
	ask(spec, "second", CONTAINER_INIT, 2 * GIB);
	ask(spec, "main", CONTAINER_APP, 6 * GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	memory_started(&scene.manager, &scene.state, &pod, 1);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 8 * GIB);
	assert_int_equal(give(&scene, &pod, 1, anywhere), MEMORY_OK);
	assert_int_equal(give(&scene, &pod, 2, anywhere), MEMORY_OK);
	memory_started(&scene.manager, &scene.state, &pod, 2);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 2 * GIB);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

static enum memory_result kubelet_give(struct memory_scene *scene, struct memory_pod *pod,
				       uint32_t index, struct memory_reuse *reuse)
{
	const struct hint hint = on(1, true);

	return memory_allocate(&scene->manager, &scene->state, pod, index, &hint, reuse,
			       &scene->shortage);
}

/*
 * The kubelet keeps what init containers leave in a table for one pod. Another pod empties
 * it, and a container that is admitted again, as after a restart, enters it again.
 */
static void reuse_in_the_kubelet(void **state)
{
	struct memory_reuse reuse = {.nr = 0}, restarted = {.nr = 0};
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod first, second;

	(void)state;
	memory_scene_even(&scene, 1, 1, 20, 0);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	ask(spec, "init", CONTAINER_INIT, 6 * GIB);
	ask(spec, "main", CONTAINER_APP, 6 * GIB);
	first = memory_pod_of(spec);
	spec = scene_pod("b");
	ask(spec, "one", CONTAINER_APP, GIB);
	ask(spec, "two", CONTAINER_APP, GIB);
	second = memory_pod_of(spec);
	assert_int_equal(kubelet_give(&scene, &first, 0, &reuse), MEMORY_OK);
	assert_int_equal(kubelet_give(&scene, &second, 0, &reuse), MEMORY_OK);
	assert_int_equal(kubelet_give(&scene, &second, 1, &reuse), MEMORY_OK);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 12 * GIB);
	assert_int_equal(kubelet_give(&scene, &first, 0, &restarted), MEMORY_OK);
	assert_int_equal(kubelet_give(&scene, &first, 1, &restarted), MEMORY_OK);
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 12 * GIB);
	memory_pod_fini(&first);
	memory_pod_fini(&second);
	memory_scene_fini(&scene);
}

/* The ledger has the pages, the kernel has not: refused with both numbers. */
static void pages_the_kernel_lacks(void **state)
{
	struct topology_node now[2];
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 3, 8, 1024);
	ask_pages(ask(spec, "main", CONTAINER_APP, GIB), PAGE_2M, GIB);
	pod = memory_pod_of(spec);
	memcpy(now, scene.topology->memory_nodes, sizeof(now));
	now[0].hugepages[0].free_pages = 100;
	now[1].hugepages[0].free_pages = 400;
	memory_set_kernel_free(&scene.manager, now, 2);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_NO_DEFAULT);
	assert_int_equal(scene.shortage.type, 1);
	assert_int_equal(scene.shortage.wanted_bytes, GIB);
	assert_int_equal(scene.shortage.available_bytes, 4 * GIB);
	assert_int_equal(scene.shortage.kernel_free_bytes, 500 * (int64_t)PAGE_2M);
	now[1].hugepages[0].free_pages = 512;
	memory_set_kernel_free(&scene.manager, now, 2);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 2);
	/* The kubelet does not ask the kernel. */
	memory_remove_pod(&scene.manager, &scene.state, &pod);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	now[0].hugepages[0].free_pages = 0;
	memory_set_kernel_free(&scene.manager, now, 1);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_int_equal(memory_container_nodes(pod.blocks, 0), 1);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Pages that an init container leaves are in use now, and still there for its successor. */
static void left_pages_need_not_be_free(void **state)
{
	struct topology_node now;
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 1, 1, 8, 1024);
	ask_pages(ask(spec, "init", CONTAINER_INIT, GIB), PAGE_2M, 2 * GIB);
	ask_pages(ask(spec, "main", CONTAINER_APP, GIB), PAGE_2M, GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	now = scene.topology->memory_nodes[0];
	now.hugepages[0].free_pages = 0;
	memory_set_kernel_free(&scene.manager, &now, 1);
	assert_int_equal(give(&scene, &pod, 1, anywhere), MEMORY_OK);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* The shortage is that of the first type of which less is free than requested. */
static void the_first_short_type_is_told(void **state)
{
	static const struct {
		int64_t memory;
		uint64_t small, kernel_small, large;
		uint32_t type;
	} cases[] = {
		{8 * GIB + 1, 512, 512, 1, 0}, {8 * GIB, 513, 512, 1, 1}, {8 * GIB, 512, 511, 1, 1},
		{8 * GIB, 512, 512, 2, 2},     {8 * GIB, 512, 512, 1, 0},
	};
	const struct topology_node node = {
		.memory_bytes = 10 * GIB,
		.nr_hugepages = 2,
		.hugepages = {{PAGE_2M, 512, UINT64_MAX}, {PAGE_1G, 1, UINT64_MAX}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memory_scene scene = {.policy = policy_default()};
		struct topology_node now = node;
		struct pod_spec *spec = scene_pod("a");
		struct container_spec *container;
		struct memory_pod pod;

		assert_true(memory_scene_init(&scene, memory_machine(&node, 1)));
		now.hugepages[0].free_pages = cases[i].kernel_small;
		now.hugepages[1].free_pages = 1;
		memory_set_kernel_free(&scene.manager, &now, 1);
		container = ask(spec, "main", CONTAINER_APP, cases[i].memory);
		ask_pages(container, PAGE_2M, (int64_t)(cases[i].small * PAGE_2M));
		ask_pages(container, PAGE_1G, (int64_t)(cases[i].large * PAGE_1G));
		pod = memory_pod_of(spec);
		assert_int_equal(give(&scene, &pod, 0, anywhere) == MEMORY_OK,
				 i + 1 == ARRAY_SIZE(cases));
		if (scene.shortage.type != cases[i].type)
			fail_msg("case %zu: type %u", i, scene.shortage.type);
		memory_pod_fini(&pod);
		memory_scene_fini(&scene);
	}
}

/* A size that no node has counts as capacity 0, where the kubelet would crash. */
static void unknown_page_size(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 0);
	ask_pages(ask(spec, "main", CONTAINER_APP, GIB), UINT64_C(16) << 30, GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_NO_DEFAULT);
	assert_int_equal(give(&scene, &pod, 0, on(1, true)), MEMORY_NO_EXTENSION);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_int_equal(give(&scene, &pod, 0, on(1, true)), MEMORY_NO_EXTENSION);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

static void results_have_names(void **state)
{
	struct memory_scene scene;
	char text[192] = "";

	(void)state;
	assert_string_equal(memory_result_name(MEMORY_OK), "ok");
	assert_string_equal(memory_result_name(MEMORY_INIT_OVER_BUDGET), "init-over-budget");
	assert_string_equal(memory_restored_name(MEMORY_DROPPED), "dropped");
	memory_scene_even(&scene, 1, 1, 8, 0);
	memory_result_text(&scene.manager, MEMORY_OK, &scene.shortage, text, sizeof(text));
	assert_string_equal(text, "ok");
	memory_scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups),
		cmocka_unit_test(group_overwritten),
		cmocka_unit_test(init_memory_is_used_again),
		cmocka_unit_test(an_ended_init_container_leaves_nothing),
		cmocka_unit_test(reuse_in_the_kubelet),
		cmocka_unit_test(pages_the_kernel_lacks),
		cmocka_unit_test(left_pages_need_not_be_free),
		cmocka_unit_test(the_first_short_type_is_told),
		cmocka_unit_test(unknown_page_size),
		cmocka_unit_test(results_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
