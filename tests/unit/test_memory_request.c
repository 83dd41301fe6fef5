// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* What containers, pods and budgets request from the memory manager. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

#define PAGE_16G (UINT64_C(16) << 30)

/*
 * In a pod with pod-level resources a container is exclusive if it requests some CPU and
 * some memory, and as much of both as its limits.
 */
static void exclusive_by_cpu_and_memory(void **state)
{
	static const struct {
		int64_t cpu_request, cpu_limit, memory_request, memory_limit;
		bool exclusive;
	} cases[] = {
		{1, 1, 1, 1, true},
		{1000, 1000, GIB, GIB, true},
		{0, 0, GIB, GIB, false},
		{1000, 1000, 0, 0, false},
		{RESOURCE_UNSET, RESOURCE_UNSET, GIB, GIB, false},
		{1000, 1000, RESOURCE_UNSET, RESOURCE_UNSET, false},
		{1000, 2000, GIB, GIB, false},
		{1000, 1000, GIB, 2 * GIB, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct container_spec container = {
			.request = {.cpu_mcpu = cases[i].cpu_request,
				    .memory_bytes = cases[i].memory_request},
			.limit = {.cpu_mcpu = cases[i].cpu_limit,
				  .memory_bytes = cases[i].memory_limit},
		};

		if (memory_is_exclusive(&container) != cases[i].exclusive)
			fail_msg("case %zu", i);
	}
}

/* An amount of 0 is a request for a size that exists, and nothing for one that does not. */
static void amounts_of_zero(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");
	struct container_spec *main_container;
	struct memory_request request;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 64);
	main_container = ask(spec, "main", CONTAINER_APP, GIB);
	ask_pages(main_container, PAGE_2M, 0);
	ask_pages(main_container, PAGE_16G, 0);
	memory_container_request(&scene.manager, spec, 0, &request);
	assert_int_equal(request.types, 3);
	assert_int_equal(request.bytes[1], 0);
	assert_false(request.is_unknown);
	/* The budget of a pod is different: there an amount of 0 counts as absent. */
	spec->has_pod_resources = true;
	spec->request = spec->limit = main_container->request;
	memory_pod_request(&scene.manager, spec, &request);
	assert_int_equal(request.types, 1);
	assert_int_equal(request.bytes[0], GIB);
	memory_scene_fini(&scene);
}

/* The request names a size that no node has, down to a single byte, for the message. */
static void unknown_sizes_are_named(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");
	struct memory_request request;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 64);
	ask_pages(ask(spec, "first", CONTAINER_APP, GIB), PAGE_16G, 1);
	ask(spec, "second", CONTAINER_APP, GIB);
	memory_container_request(&scene.manager, spec, 0, &request);
	assert_true(request.is_unknown);
	assert_int_equal(request.types, 1);
	assert_int_equal(request.unknown_page_bytes, PAGE_16G);
	assert_int_equal(request.unknown_bytes, 1);
	memory_pod_request(&scene.manager, spec, &request);
	assert_true(request.is_unknown);
	assert_int_equal(request.unknown_page_bytes, PAGE_16G);
	assert_int_equal(request.unknown_bytes, 1);
	assert_int_equal(request.bytes[0], 2 * GIB);
	memory_scene_fini(&scene);
}

/* Only beside a budget does a shared container request nothing. */
static void shared_containers_request_nothing_beside_a_budget(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");
	struct memory_request request;

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 0);
	ask(spec, "main", CONTAINER_APP, GIB)->limit.memory_bytes = 2 * GIB;
	memory_container_request(&scene.manager, spec, 0, &request);
	assert_int_equal(request.types, 1);
	assert_int_equal(request.bytes[0], GIB);
	set_budget(spec, 4);
	memory_container_request(&scene.manager, spec, 0, &request);
	assert_int_equal(request.types, 0);
	memory_scene_fini(&scene);
}

/* A budget is allocated as a whole with the feature gate, an aligning policy and pod scope. */
static void whole_only_with_gate_policy_and_scope(void **state)
{
	struct memory_scene scene;
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");

	(void)state;
	memory_scene_even(&scene, 2, 1, 8, 0);
	ask(spec, "main", CONTAINER_APP, GIB);
	set_budget(spec, 4);
	for (int i = 0; i < 16; i++) {
		spec->has_pod_resources = i & 1;
		scene.policy.pod_level_managers = i & 2;
		scene.policy.align = i & 4 ? ALIGN_BEST_EFFORT : ALIGN_NONE;
		scene.policy.scope = i & 8 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		assert_int_equal(memory_is_whole(&scene.manager, spec), i == 15);
	}
	memory_scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exclusive_by_cpu_and_memory),
		cmocka_unit_test(amounts_of_zero),
		cmocka_unit_test(unknown_sizes_are_named),
		cmocka_unit_test(shared_containers_request_nothing_beside_a_budget),
		cmocka_unit_test(whole_only_with_gate_policy_and_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
