// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* The nodes that the memory manager offers for a container or a pod, and what it lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

/*
 * In the kubelet's mode more may be reserved than a node has. Its free memory then wraps
 * around to almost 2^64 bytes, and two such nodes together have less than either.
 */
static void sums_that_wrap_are_not_ordered(void **state)
{
	struct topology_node nodes[3] = {{0}};
	struct memory_scene scene = {.policy = policy_default()};
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct memory_pod pod;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = 8 * GIB + (i ? PAGE_1G : 0),
			.nr_hugepages = i ? 1 : 0,
			.hugepages = {{PAGE_1G, 1, UINT64_MAX}},
		};
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	reserve(&scene, 0, 0, 9 * GIB);
	assert_true(memory_scene_init(&scene, memory_machine(nodes, 3)));
	/* Nodes 0 and 1 sum to 7 GiB; only nodes 1 and 2 have 10 GiB and both pages. */
	ask_pages(ask(spec, "main", CONTAINER_APP, 10 * GIB), PAGE_1G, 2 * GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 2);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_int_equal(best.nodes, 6);
	assert_true(best.preferred);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Pages that wrap around on one node do not change how many nodes ordinary memory needs. */
static void other_sums_do_not_wrap(void **state)
{
	struct topology_node nodes[2] = {{0}};
	struct memory_scene scene = {.policy = policy_default()};
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct memory_pod pod;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = 8 * GIB,
			.nr_hugepages = 1,
			.hugepages = {{PAGE_1G, 1, UINT64_MAX}},
		};
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	reserve(&scene, 0, PAGE_1G, 2 * GIB);
	assert_true(memory_scene_init(&scene, memory_machine(nodes, 2)));
	ask(spec, "main", CONTAINER_APP, 10 * GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 2);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_int_equal(best.nodes, 3);
	assert_true(best.preferred);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* A request of 0 bytes is satisfied by one node, and then prefers one. */
static void nothing_needs_one_node(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct memory_pod pod;
	struct hint best;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 0);
	ask(spec, "main", CONTAINER_APP, 0);
	pod = memory_pod_of(spec);
	pod.qos = QOS_GUARANTEED;
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 1);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_int_equal(best.nodes, 1);
	assert_true(best.preferred);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* The smallest sufficient number of nodes by capacity is preferred, even if they are full. */
static void preferred_by_capacity(void **state)
{
	struct memory_scene scene;
	struct memory_pod first, second;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct hint *hints = NULL, best;
	uint32_t nr;

	(void)state;
	memory_scene_even(&scene, 3, 1, 8, 0);
	ask(spec, "main", CONTAINER_APP, 5 * GIB);
	first = memory_pod_of(spec);
	spec = scene_pod("b");
	ask(spec, "main", CONTAINER_APP, 6 * GIB);
	second = memory_pod_of(spec);

	assert_int_equal(give(&scene, &first, 0, on(1, true)), MEMORY_OK);
	memory_offer_container(&scene.manager, &scene.state, &second, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 1);
	assert_false(memory_offer_has(&offer, 1)); /* full */
	assert_true(memory_offer_has(&offer, 2));
	assert_false(memory_offer_has(&offer, 3)); /* node 0 serves single nodes */
	assert_true(memory_offer_has(&offer, 6));
	assert_int_equal(memory_offer_list(&offer, &hints, &nr), 0);
	assert_int_equal(nr, 3); /* {1} {2} {1,2} */
	assert_int_equal(hints[2].nodes, 6);
	assert_true(hints[0].preferred && hints[1].preferred && !hints[2].preferred);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_int_equal(best.nodes, 2);
	free(hints);
	memory_pod_fini(&first);
	memory_pod_fini(&second);
	memory_scene_fini(&scene);
}

/* A pod that is aligned again keeps its nodes, if all of its containers have the same. */
static void a_pod_keeps_the_nodes_it_has(void **state)
{
	struct hint_list lists[MEMORY_MAX_TYPES];
	struct hint other, *hints = &other;
	struct memory_scene scene;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;
	uint32_t nr = 7;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	ask(spec, "init", CONTAINER_INIT, GIB);
	ask(spec, "one", CONTAINER_APP, GIB);
	ask(spec, "two", CONTAINER_APP, GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, on(1, true)), MEMORY_OK);
	memory_remove(&scene.manager, &scene.state, &pod, 0);
	assert_int_equal(give(&scene, &pod, 1, on(2, true)), MEMORY_OK);
	/* An ended init container and one that has nothing yet do not matter. */
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_KEEPS);
	assert_int_equal(offer.kept.nodes, 2);
	assert_int_equal(memory_offer_list(&offer, &hints, &nr), 0);
	assert_null(hints);
	assert_int_equal(nr, 0);
	assert_int_equal(memory_offer_lists(&offer, hints, nr, lists), 1);
	assert_int_equal(lists[0].nr, 1);
	assert_int_equal(lists[0].hints[0].nodes, 2);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	/* Different nodes are no nodes for the pod as a whole. */
	assert_int_equal(give(&scene, &pod, 2, on(1, true)), MEMORY_OK);
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_NO_OPINION);
	assert_int_equal(memory_offer_lists(&offer, NULL, 0, lists), 1);
	assert_true(lists[0].hints[0].any && lists[0].hints[0].preferred);
	/* The kubelet compares what the first container has with the request of the pod. */
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_NO_OPINION);
	memory_pod_fini(&pod);
	spec = scene_pod("b");
	ask(spec, "only", CONTAINER_APP, GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, on(2, true)), MEMORY_OK);
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_KEEPS);
	assert_int_equal(offer.kept.nodes, 2);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Why an offer cannot be aligned: too little anywhere, or only on more nodes than allowed. */
static void a_probe_names_what_is_short(void **state)
{
	struct memory_scene scene;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 3, 1, 8, 0);
	ask(spec, "fits", CONTAINER_APP, 8 * GIB);
	ask(spec, "wide", CONTAINER_APP, 16 * GIB);
	ask(spec, "huge", CONTAINER_APP, 25 * GIB);
	ask_pages(ask(spec, "unknown", CONTAINER_APP, GIB), UINT64_C(16) << 30, GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	memory_offer_container(&scene.manager, &scene.state, &pod, 1, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	assert_int_equal(memory_probe(&offer, 2, &scene.shortage), MEMORY_OK);
	/* Two nodes are preferred, and only one is allowed. */
	assert_int_equal(memory_probe(&offer, 1, &scene.shortage), MEMORY_NO_DEFAULT_PREFERRED);
	assert_int_equal(scene.shortage.nodes, 1);
	assert_int_equal(scene.shortage.available_bytes, 8 * GIB);
	memory_offer_container(&scene.manager, &scene.state, &pod, 2, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_NO_DEFAULT);
	assert_int_equal(scene.shortage.nodes, 7);
	memory_offer_container(&scene.manager, &scene.state, &pod, 3, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_NO_DEFAULT);
	assert_int_equal(scene.shortage.unknown_page_bytes, UINT64_C(16) << 30);
	/* One node has too little left for eight, two have enough but are not preferred. */
	for (uint32_t i = 0; i < 2; i++)
		scene.state.nodes[i].free_bytes[0] = (5 + i) * GIB;
	scene.state.nodes[2].free_bytes[0] = 0;
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_NO_DEFAULT_PREFERRED);
	assert_int_equal(scene.shortage.nodes, 2);
	assert_int_equal(scene.shortage.available_bytes, 6 * GIB);
	assert_int_equal(memory_probe(&offer, 2, &scene.shortage), MEMORY_NO_DEFAULT_PREFERRED);
	assert_int_equal(scene.shortage.nodes, 3);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Who requests nothing lacks nothing; who requests only pages that no node has lacks them. */
static void a_probe_without_a_known_type(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = budget_pod(16 * GIB);
	struct hint_list lists[MEMORY_MAX_TYPES];
	struct memory_offer offer;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 1, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_OFFERS);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	memory_pod_fini(&pod);
	spec = scene_pod("b");
	ask_pages(ask(spec, "main", CONTAINER_APP, RESOURCE_UNSET), UINT64_C(16) << 30, GIB);
	pod = memory_pod_of(spec);
	pod.qos = QOS_GUARANTEED;
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_OFFERS);
	assert_int_equal(offer.request.types, 0);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_NO_DEFAULT);
	assert_int_equal(scene.shortage.unknown_page_bytes, UINT64_C(16) << 30);
	assert_int_equal(memory_offer_lists(&offer, NULL, 0, lists), 1);
	assert_true(lists[0].hints[0].any && !lists[0].hints[0].preferred);
	/* The pod as a whole can be aligned no more than its container. */
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_OFFERS);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_NO_DEFAULT);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* If no set has the capacity, only the set of all nodes would be preferred. */
static void too_much_for_all_nodes(void **state)
{
	struct memory_scene scene;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 3, 1, 8, 512);
	ask(spec, "memory", CONTAINER_APP, 25 * GIB);
	ask_pages(ask(spec, "pages", CONTAINER_APP, 25 * GIB), PAGE_2M, GIB);
	ask_pages(ask(spec, "unknown", CONTAINER_APP, GIB), UINT64_C(16) << 30, GIB);
	pod = memory_pod_of(spec);
	for (uint32_t i = 0; i < 3; i++) {
		memory_offer_container(&scene.manager, &scene.state, &pod, i, NULL, &offer);
		assert_int_equal(offer.min_nodes, 3);
	}
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

static void nothing_fits_is_impossible(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct hint_list lists[MEMORY_MAX_TYPES];
	struct memory_offer offer;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 512);
	ask_pages(ask(spec, "main", CONTAINER_APP, 20 * GIB), PAGE_2M, GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(memory_offer_lists(&offer, NULL, 0, lists), 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(lists[i].hints[0].any && !lists[i].hints[0].preferred);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_int_equal(memory_offer_lists(&offer, NULL, 0, lists), 1);
	assert_true(lists[0].hints[0].preferred);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* 64 nodes of 1 to 64 GiB: the fewest are the largest, and the answer is quick. */
static void sixty_four_nodes(void **state)
{
	struct topology_node nodes[64] = {{0}};
	struct memory_scene scene = {.policy = policy_default()};
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct hint *hints = NULL, best;
	struct memory_pod pod;
	uint32_t nr;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		nodes[i].id = i * 3;
		nodes[i].memory_bytes = (uint64_t)((i * 37 % 64 + 1) * GIB);
	}
	assert_true(memory_scene_init(&scene, memory_machine(nodes, 64)));
	ask(spec, "main", CONTAINER_APP, (64 + 63 + 62 + 61 + 60 + 59 + 58 + 57 + 56 + 55) * GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 10);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_true(best.preferred);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(best.nodes >> i & 1, nodes[i].memory_bytes >= 55 * (uint64_t)GIB);
	assert_int_equal(memory_offer_list(&offer, &hints, &nr), 0);
	assert_true(nr >= 2);
	free(hints);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/*
 * Up to 16 nodes every set that is a hint is listed, by size and then by its nodes. More
 * nodes have too many sets.
 */
static void the_list_is_complete_up_to_sixteen_nodes(void **state)
{
	(void)state;
	for (uint32_t nr_nodes = 16; nr_nodes <= 17; nr_nodes++) {
		struct hint *hints cleanup_free = NULL;
		struct memory_scene scene;
		struct pod_spec *spec = scene_pod("a");
		struct memory_offer offer;
		struct memory_pod pod;
		uint32_t nr;

		memory_scene_even(&scene, nr_nodes, 1, 1, 0);
		ask(spec, "main", CONTAINER_APP, GIB);
		pod = memory_pod_of(spec);
		memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
		assert_int_equal(memory_offer_list(&offer, &hints, &nr), 0);
		for (uint32_t i = 1; i < nr; i++)
			assert_true(__builtin_popcountll(hints[i - 1].nodes) <=
				    __builtin_popcountll(hints[i].nodes));
		/* Of 17 nodes: the single ones, the narrowest set of several, and all. */
		assert_int_equal(nr, nr_nodes == 16 ? (1 << 16) - 1 : 17 + 1 + 1);
		memory_pod_fini(&pod);
		memory_scene_fini(&scene);
	}
}

/* A pod that nothing was assigned to yet need not have blocks. */
static void an_offer_needs_no_blocks(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 0);
	ask(spec, "main", CONTAINER_APP, GIB);
	pod = (struct memory_pod){.spec = spec, .qos = pod_qos(spec)};
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(memory_probe(&offer, 0, &scene.shortage), MEMORY_OK);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* A container that needs the memory of all 64 nodes gets them. */
static void all_of_sixty_four_nodes(void **state)
{
	struct topology_node nodes[64] = {{0}};
	struct memory_scene scene = {.policy = policy_default()};
	struct pod_spec *spec = scene_pod("a");
	struct memory_offer offer;
	struct memory_pod pod;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = GIB};
	assert_true(memory_scene_init(&scene, memory_machine(nodes, 64)));
	ask(spec, "main", CONTAINER_APP, 64 * GIB);
	pod = memory_pod_of(spec);
	memory_offer_container(&scene.manager, &scene.state, &pod, 0, NULL, &offer);
	assert_int_equal(offer.min_nodes, 64);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_true(best.nodes == ~(node_mask_t)0);
	assert_true(best.preferred);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_true(memory_container_nodes(pod.blocks, 0) == ~(node_mask_t)0);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/*
 * Unused nodes have enough by the ledger, but their pages are in use in the kernel: the
 * group in use, which has the pages, is the best set.
 */
static void a_group_in_use_is_found_beside_unused_nodes(void **state)
{
	struct topology_node now[4];
	struct memory_scene scene;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;
	struct hint best;

	(void)state;
	memory_scene_even(&scene, 4, 1, 8, 1024);
	ask_pages(ask(spec, "first", CONTAINER_APP, GIB), PAGE_2M, GIB);
	ask_pages(ask(spec, "second", CONTAINER_APP, GIB), PAGE_2M, 3 * GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, on(6, false)), MEMORY_OK);
	memcpy(now, scene.topology->memory_nodes, sizeof(now));
	now[0].hugepages[0].free_pages = now[3].hugepages[0].free_pages = 0;
	memory_set_kernel_free(&scene.manager, now, 4);
	memory_offer_container(&scene.manager, &scene.state, &pod, 1, NULL, &offer);
	assert_true(memory_offer_best(&offer, 0, &best));
	assert_int_equal(best.nodes, 6);
	assert_true(best.preferred);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_that_wrap_are_not_ordered),
		cmocka_unit_test(preferred_by_capacity),
		cmocka_unit_test(a_pod_keeps_the_nodes_it_has),
		cmocka_unit_test(a_probe_names_what_is_short),
		cmocka_unit_test(nothing_fits_is_impossible),
		cmocka_unit_test(too_much_for_all_nodes),
		cmocka_unit_test(other_sums_do_not_wrap),
		cmocka_unit_test(nothing_needs_one_node),
		cmocka_unit_test(a_probe_without_a_known_type),
		cmocka_unit_test(sixty_four_nodes),
		cmocka_unit_test(the_list_is_complete_up_to_sixteen_nodes),
		cmocka_unit_test(an_offer_needs_no_blocks),
		cmocka_unit_test(all_of_sixty_four_nodes),
		cmocka_unit_test(a_group_in_use_is_found_beside_unused_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
