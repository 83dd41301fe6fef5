// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* The memory manager on small examples: capacity, hints, groups, reuse, budgets, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "memory_scene.h"

static const struct hint anywhere = {.any = true};

static struct hint on(node_mask_t nodes, bool preferred)
{
	return (struct hint){.nodes = nodes, .preferred = preferred};
}

static enum memory_result give(struct memory_scene *scene, struct memory_pod *pod, uint32_t index,
			       struct hint hint)
{
	return memory_allocate(&scene->manager, &scene->state, pod, index, &hint, NULL,
			       &scene->shortage);
}

static void reserve(struct memory_scene *scene, uint32_t node_id, uint64_t page, int64_t bytes)
{
	scene->policy.memory_reservations[scene->policy.nr_memory_reservations++] =
		(struct memory_reservation){node_id, page, (uint64_t)bytes};
}

static void capacity(void **state)
{
	const struct topology_node nodes[] = {
		{.id = 0,
		 .memory_bytes = 4 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_1G, 2, UINT64_MAX}}},
		{.id = 7,
		 .memory_bytes = 8 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_2M, 512, UINT64_MAX}}},
	};
	struct memory_scene scene = {.policy = policy_default()};
	char name[MEMORY_NAME_MAX];

	(void)state;
	reserve(&scene, 0, 0, GIB / 2);
	reserve(&scene, 7, PAGE_2M, GIB / 4);
	assert_true(memory_scene_init(&scene, memory_machine(nodes, 2)));
	assert_int_equal(scene.manager.nr_types, 3);
	memory_type_name(&scene.manager, 2, name, sizeof(name));
	assert_string_equal(name, "hugepages-1Gi");
	assert_int_equal(scene.state.nodes[0].free_bytes[0], 4 * GIB - 2 * GIB - GIB / 2);
	assert_int_equal(scene.state.nodes[0].free_bytes[1], 0);
	assert_int_equal(scene.state.nodes[0].free_bytes[2], 2 * GIB);
	assert_int_equal(scene.state.nodes[1].free_bytes[1], GIB - GIB / 4);
	memory_scene_fini(&scene);
}

static void refused_capacity(void **state)
{
	static const struct {
		struct memory_reservation reservation;
		uint64_t pages;
		const char *says;
	} cases[] = {
		{{3, 0, 1}, 0, "NUMA node 3 that does not exist"},
		{{0, 0, 5ULL << 30}, 0, "NUMA node 0 has 4294967296 bytes of memory"},
		{{0, PAGE_2M, 1}, 0, "NUMA node 0 has 0 bytes of hugepages-2Mi"},
		{{0, PAGE_1G, 1}, 0, "1048576 KiB on NUMA node 0, which has none"},
		{{0, 0, 1}, 2048, "and its huge pages together"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct topology_node node = {.id = 0,
					     .memory_bytes = 4 * GIB,
					     .nr_hugepages = 1,
					     .hugepages = {{PAGE_2M, cases[i].pages, 0}}};
		struct memory_scene scene = {.policy = policy_default()};

		scene.policy.memory_reservations[scene.policy.nr_memory_reservations++] =
			cases[i].reservation;
		assert_false(memory_scene_init(&scene, memory_machine(&node, 1)));
		if (!strstr(scene.error, cases[i].says))
			fail_msg("case %zu says '%s'", i, scene.error);
		/* The kubelet notices only the missing node; the rest wraps around. */
		scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
		assert_int_equal(memory_manager_init(&scene.manager, scene.topology, &scene.policy,
						     scene.error, sizeof(scene.error)),
				 i == 0 ? -EINVAL : 0);
		memory_scene_fini(&scene);
	}
}

/* Huge pages can be reserved only on a node that has that size, whatever the others have. */
static void pages_are_reserved_where_they_are(void **state)
{
	const struct topology_node nodes[] = {
		{.id = 0,
		 .memory_bytes = 8 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_1G, 2, UINT64_MAX}}},
		{.id = 1,
		 .memory_bytes = 8 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_2M, 512, UINT64_MAX}}},
	};
	struct memory_scene scene = {.policy = policy_default()};

	(void)state;
	/* The first wrong entry is reported, even if others follow that are right. */
	reserve(&scene, 0, PAGE_2M, GIB);
	reserve(&scene, 1, PAGE_2M, GIB);
	assert_false(memory_scene_init(&scene, memory_machine(nodes, 2)));
	assert_string_equal(scene.error,
			    "reservedMemory reserves huge pages of 2048 KiB on NUMA node 0, which "
			    "has none of this size; remove the entry or set the pages up");
	memory_scene_fini(&scene);
}

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

static struct pod_spec *budget_pod(int64_t budget)
{
	struct pod_spec *spec = scene_pod("a");

	set_budget(spec, 4);
	spec->request.memory_bytes = spec->limit.memory_bytes = budget;
	ask(spec, "database", CONTAINER_APP, 12 * GIB);
	add_container(spec, "exporter", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	return spec;
}

static void budget_is_divided(void **state)
{
	const struct hint hint = on(2, true);
	struct memory_scene scene;
	struct memory_state before;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	pod = memory_pod_of(budget_pod(16 * GIB));
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &hint,
					     &scene.shortage),
			 MEMORY_OK);
	assert_int_equal(scene.state.nodes[1].free_bytes[0], 4 * GIB);
	assert_int_equal(scene.state.nodes[1].nr_assignments, 1);
	assert_int_equal(pod.blocks->containers[0].bytes[0], 12 * GIB);
	assert_int_equal(pod.blocks->containers[1].bytes[0], 4 * GIB);
	assert_int_equal(memory_container_nodes(pod.blocks, 1), 2);
	/* Admitted again, as after a restart: nothing more is charged. */
	before = scene.state;
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &hint,
					     &scene.shortage),
			 MEMORY_OK);
	assert_true(memory_state_equal(&scene.manager, &scene.state, &before));
	/* The kubelet charges it twice, and refuses it if there is not enough for that. */
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &hint,
					     &scene.shortage),
			 MEMORY_NO_EXTENSION);
	scene.policy.compatibility = COMPATIBILITY_REPAIRED;
	memory_remove(&scene.manager, &scene.state, &pod, 0);
	assert_int_equal(scene.state.nodes[1].free_bytes[0], 4 * GIB);
	memory_remove(&scene.manager, &scene.state, &pod, 1);
	assert_int_equal(scene.state.nodes[1].free_bytes[0], 20 * GIB);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/* Nothing is charged to a pod whose memory is not pinned. */
static void unpinned_pods_take_nothing(void **state)
{
	struct memory_scene scene;
	struct memory_state empty;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	empty = scene.state;
	pod = memory_pod_of(budget_pod(16 * GIB));
	pod.qos = QOS_BURSTABLE;
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &anywhere,
					     &scene.shortage),
			 MEMORY_OK);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	assert_true(memory_state_equal(&scene.manager, &scene.state, &empty));
	assert_false(pod.blocks->pod.present);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

/*
 * Beside a budget that is not allocated as a whole, a shared container requests nothing.
 * The kubelet admits it to the nodes of its hint, but gives it no blocks, and so no nodes.
 */
static void no_request_means_no_nodes(void **state)
{
	struct hint_list lists[MEMORY_MAX_TYPES];
	struct memory_scene scene;
	struct memory_offer offer;
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	scene.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	pod = memory_pod_of(budget_pod(16 * GIB));
	assert_int_equal(give(&scene, &pod, 1, on(2, true)), MEMORY_OK);
	assert_true(pod.blocks->containers[1].present);
	assert_int_equal(memory_container_nodes(pod.blocks, 1), 0);
	assert_int_equal(scene.state.nodes[1].nr_assignments, 0);
	/* Asked again, it keeps no nodes, and has no opinion on where it runs. */
	memory_offer_container(&scene.manager, &scene.state, &pod, 1, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_OFFERS);
	assert_int_equal(memory_offer_lists(&offer, NULL, 0, lists), 1);
	assert_true(lists[0].hints[0].any && lists[0].hints[0].preferred);
	/* Nor does it matter to the pod, whose only nodes are those of the other container. */
	scene.policy.compatibility = COMPATIBILITY_REPAIRED;
	assert_int_equal(give(&scene, &pod, 0, on(1, true)), MEMORY_OK);
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_KEEPS);
	assert_int_equal(offer.kept.nodes, 1);
	memory_pod_fini(&pod);
	memory_scene_fini(&scene);
}

static void budget_leaves_nothing(void **state)
{
	struct memory_scene scene;
	struct memory_offer offer;
	struct memory_pod pod;
	char text[192];

	(void)state;
	memory_scene_even(&scene, 2, 1, 20, 0);
	pod = memory_pod_of(budget_pod(12 * GIB));
	memory_offer_pod(&scene.manager, &scene.state, &pod, NULL, &offer);
	assert_int_equal(offer.opinion, MEMORY_IMPOSSIBLE);
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &anywhere,
					     &scene.shortage),
			 MEMORY_EMPTY_POOL);
	memory_result_text(&scene.manager, MEMORY_EMPTY_POOL, &scene.shortage, text, sizeof(text));
	assert_string_equal(text, "pod rejected, sum of exclusive container memory requests equals "
				  "pod budget, leaving no memory for shared containers");
	assert_int_equal(scene.shortage.wanted_bytes, 12 * GIB);
	memory_pod_fini(&pod);
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

/* What a budget has cannot be used again by its containers: it is charged once, as a whole. */
static void nothing_of_a_budget_is_used_again(void **state)
{
	const struct hint hint = on(1, true);
	struct memory_scene scene;
	struct memory_offer offer;
	struct pod_spec *spec = scene_pod("a");
	struct memory_pod pod;

	(void)state;
	memory_scene_even(&scene, 1, 1, 20, 0);
	set_budget(spec, 4);
	spec->request.memory_bytes = spec->limit.memory_bytes = 12 * GIB;
	ask(spec, "init", CONTAINER_INIT, 10 * GIB);
	ask(spec, "main", CONTAINER_APP, 10 * GIB);
	pod = memory_pod_of(spec);
	assert_int_equal(memory_allocate_pod(&scene.manager, &scene.state, &pod, &hint,
					     &scene.shortage),
			 MEMORY_OK);
	memory_remove(&scene.manager, &scene.state, &pod, 1);
	memory_offer_container(&scene.manager, &scene.state, &pod, 1, NULL, &offer);
	assert_false(memory_offer_has(&offer, 1));
	memory_pod_fini(&pod);
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

/* By type, what is reserved on all nodes is what the kubelet keeps from pods. */
static void reservations_are_summed_by_type(void **state)
{
	static const struct memory_reservation memory[] = {{0, 0, GIB}, {4, 0, GIB}},
					       pages[] = {{0, PAGE_2M, PAGE_2M},
							  {4, PAGE_2M, PAGE_2M}},
					       both[] = {
						       {0, 0, GIB}, {0, PAGE_1G, GIB}, {4, 0, GIB}};
	static const struct memory_amount two_gib[] = {{0, 2 * GIB}}, one_gib[] = {{0, GIB}},
					  in_parts[] = {{0, GIB}, {0, GIB}},
					  four_mib[] = {{PAGE_2M, 2 * PAGE_2M}};
	static const struct {
		const struct memory_reservation *reservations;
		const struct memory_amount *amounts;
		uint32_t nr, nr_amounts;
		const char *error;
	} cases[] = {
		{memory, two_gib, 2, 1, NULL},
		{memory, in_parts, 2, 2, NULL},
		{memory, one_gib, 2, 1,
		 "amount \"2Gi\" of type \"memory\" is not equal to the value "
		 "\"1Gi\""},
		{memory, two_gib, 1, 1,
		 "amount \"1Gi\" of type \"memory\" is not equal to the value "
		 "\"2Gi\""},
		{both, two_gib, 3, 1,
		 "amount \"1Gi\" of type \"hugepages-1Gi\" is not equal to the value \"0\""},
		{NULL, two_gib, 0, 1, "amount \"0\" of type \"memory\" is not equal to the value"},
		{pages, four_mib, 2, 1, "you should specify the system reserved memory"},
		{both + 1, two_gib, 1, 0, "hugepages-1Gi"},
	};
	static const uint32_t ids[] = {0, 4};
	static const struct memory_reservation elsewhere[] = {{0, 0, GIB}, {3, 0, GIB}};
	char error[256] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = memory_check_reservations(cases[i].reservations, cases[i].nr, ids, 2,
						  cases[i].amounts, cases[i].nr_amounts, error,
						  sizeof(error));

		if (r != (cases[i].error ? -EINVAL : 0) ||
		    (cases[i].error ? !strstr(error, cases[i].error) : *error))
			fail_msg("case %zu: %d, '%s'", i, r, error);
		*error = '\0';
	}
	assert_int_equal(memory_check_reservations(elsewhere, 2, ids, 2, two_gib, 1, error,
						   sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "references a NUMA node 3 that does not exist"));
}

static void reserved_memory(void **state)
{
	const uint32_t ids[] = {0, 4};
	const struct memory_reservation good[] = {{0, 0, GIB}, {4, 0, GIB}, {4, PAGE_2M, PAGE_2M}};
	const struct memory_amount wanted[] = {{0, 2 * GIB}, {PAGE_2M, PAGE_2M}};
	char error[256] = "";

	(void)state;
	assert_int_equal(
		memory_check_reservations(good, 3, ids, 2, wanted, 2, error, sizeof(error)), 0);
	assert_int_equal(memory_check_reservations(good, 2, ids, 2, wanted, 2, error,
						   sizeof(error)),
			 -EINVAL);
	assert_string_equal(error, "the total amount \"0\" of type \"hugepages-2Mi\" is not equal "
				   "to the value \"2Mi\" determined by Node Allocatable feature");
	assert_int_equal(memory_check_reservations(good, 3, ids, 1, wanted, 2, error,
						   sizeof(error)),
			 -EINVAL);
	assert_int_equal(memory_check_reservations(NULL, 0, ids, 2, NULL, 0, error, sizeof(error)),
			 -EINVAL);
	assert_string_equal(error, "[memorymanager] you should specify the system reserved memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity),
		cmocka_unit_test(refused_capacity),
		cmocka_unit_test(pages_are_reserved_where_they_are),
		cmocka_unit_test(sums_that_wrap_are_not_ordered),
		cmocka_unit_test(preferred_by_capacity),
		cmocka_unit_test(groups),
		cmocka_unit_test(group_overwritten),
		cmocka_unit_test(init_memory_is_used_again),
		cmocka_unit_test(an_ended_init_container_leaves_nothing),
		cmocka_unit_test(reuse_in_the_kubelet),
		cmocka_unit_test(budget_is_divided),
		cmocka_unit_test(unpinned_pods_take_nothing),
		cmocka_unit_test(no_request_means_no_nodes),
		cmocka_unit_test(budget_leaves_nothing),
		cmocka_unit_test(pages_the_kernel_lacks),
		cmocka_unit_test(left_pages_need_not_be_free),
		cmocka_unit_test(the_first_short_type_is_told),
		cmocka_unit_test(nothing_of_a_budget_is_used_again),
		cmocka_unit_test(a_pod_keeps_the_nodes_it_has),
		cmocka_unit_test(a_probe_names_what_is_short),
		cmocka_unit_test(nothing_fits_is_impossible),
		cmocka_unit_test(too_much_for_all_nodes),
		cmocka_unit_test(unknown_page_size),
		cmocka_unit_test(other_sums_do_not_wrap),
		cmocka_unit_test(nothing_needs_one_node),
		cmocka_unit_test(a_probe_without_a_known_type),
		cmocka_unit_test(sixty_four_nodes),
		cmocka_unit_test(the_list_is_complete_up_to_sixteen_nodes),
		cmocka_unit_test(an_offer_needs_no_blocks),
		cmocka_unit_test(all_of_sixty_four_nodes),
		cmocka_unit_test(a_group_in_use_is_found_beside_unused_nodes),
		cmocka_unit_test(restart_on_another_machine),
		cmocka_unit_test(a_budget_is_restored_as_one),
		cmocka_unit_test(blocks_are_rebuilt_from_requests_and_nodes),
		cmocka_unit_test(the_start_check_sees_each_difference),
		cmocka_unit_test(results_have_names),
		cmocka_unit_test(one_byte_too_many_is_not_restored),
		cmocka_unit_test(the_worst_of_a_restart_is_told),
		cmocka_unit_test(reservations_are_summed_by_type),
		cmocka_unit_test(reserved_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
