// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Memory that is allocated to a pod as a whole, by its pod-level resources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_is_divided),
		cmocka_unit_test(unpinned_pods_take_nothing),
		cmocka_unit_test(no_request_means_no_nodes),
		cmocka_unit_test(budget_leaves_nothing),
		cmocka_unit_test(nothing_of_a_budget_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
