// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Defaulting, QoS class and totals of pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

static void qos_by_containers(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct container_spec *one, *two;

	assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
	one = add_container(spec, "one", CONTAINER_APP, 2000, 2000);
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
	two = add_container(spec, "two", CONTAINER_INIT, 100, 200);
	assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
	two->request.cpu_mcpu = 200;
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
	two->limit.memory_bytes = RESOURCE_UNSET;
	assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
	one->request = one->limit = two->request = two->limit = RESOURCES_UNSET;
	assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
	/* zero is equivalent to unset */
	one->request.cpu_mcpu = one->limit.cpu_mcpu = 0;
	assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
}

/* A request or a limit of either resource is enough not to be best effort. */
static void one_quantity_makes_a_pod_burstable(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
		struct container_spec *container =
			add_container(spec, "one", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
		int64_t *quantities[] = {&container->request.cpu_mcpu,
					 &container->request.memory_bytes,
					 &container->limit.cpu_mcpu,
					 &container->limit.memory_bytes};

		assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
		*quantities[i] = 1;
		assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
		spec->has_pod_resources = true;
		assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
		spec->request = container->request;
		spec->limit = container->limit;
		assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
	}
}

static void qos_by_pod_level(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	add_container(spec, "one", CONTAINER_APP, 100, RESOURCE_UNSET);
	set_budget(spec, 4);
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
	spec->request.memory_bytes = GIB;
	assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
	spec->request = spec->limit = RESOURCES_UNSET;
	/* Only the pod-level resources decide, even if they are empty. */
	assert_int_equal(pod_qos(spec), QOS_BEST_EFFORT);
}

/* Two containers that limit only memory, and all of what they request: there is no CPU limit. */
static void guaranteed_pods_limit_both(void **state)
{
	static const int64_t none[] = {RESOURCE_UNSET, 0};

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

		add_container(spec, "one", CONTAINER_APP, 1000, 1000);
		add_container(spec, "two", CONTAINER_APP, none[i], 1000);
		spec->containers[1].limit.cpu_mcpu = none[i];
		assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
	}
}

/* A container runtime knows the class, but not all that it follows from. */
static void runtimes_state_the_class(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 2);

	spec->stated_qos = QOS_BURSTABLE;
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
	spec->is_of_runtime = true;
	assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
}

static void limits_become_requests(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct container_spec *container;

	container = add_container(spec, "one", CONTAINER_APP, RESOURCE_UNSET, 3000);
	container->request.memory_bytes = RESOURCE_UNSET;
	container->limit.nr_hugepages = 1;
	container->limit.hugepages[0].size_bytes = 2 << 20;
	container->limit.hugepages[0].bytes = 8 << 20;
	pod_spec_default(spec);
	assert_int_equal(container->request.cpu_mcpu, 3000);
	assert_int_equal(container->request.memory_bytes, GIB);
	assert_int_equal(container->request.nr_hugepages, 1);
	assert_int_equal(container->request.hugepages[0].size_bytes, 2 << 20);
	assert_int_equal(container->request.hugepages[0].bytes, 8 << 20);
	container->request.cpu_mcpu = 1000;
	pod_spec_default(spec);
	assert_int_equal(container->request.cpu_mcpu, 1000);
}

static void pod_level_requests_default(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	add_container(spec, "side", CONTAINER_SIDECAR, 500, RESOURCE_UNSET);
	add_container(spec, "one", CONTAINER_APP, 1000, RESOURCE_UNSET);
	spec->has_pod_resources = true;
	spec->limit.cpu_mcpu = 4000;
	spec->limit.memory_bytes = 2 * GIB;
	pod_spec_default(spec);
	/* The sum of the containers' requests; none requests memory, so the limit. */
	assert_int_equal(spec->request.cpu_mcpu, 1500);
	assert_int_equal(spec->request.memory_bytes, 2 * GIB);
}

/*
 * Any pod-level limit makes the API fill in the pod-level requests; without one, or without
 * pod-level resources, they stay unset.
 */
static void pod_level_requests_need_a_limit(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
		struct pod_spec *copy cleanup_pod_spec = NULL;
		bool filled = i < 3;

		add_container(spec, "one", CONTAINER_APP, 1000, 1000);
		spec->has_pod_resources = i != 4;
		if (i == 0 || i == 4)
			spec->limit.cpu_mcpu = 4000;
		if (i == 1)
			spec->limit.memory_bytes = 2 * GIB;
		if (i == 2) {
			spec->limit.nr_hugepages = 1;
			spec->limit.hugepages[0].size_bytes = 2 << 20;
		}
		/* The copy has no room beyond its containers. */
		copy = pod_spec_copy(spec);
		assert_non_null(copy);
		pod_spec_default(copy);
		assert_int_equal(copy->request.cpu_mcpu, filled ? 1000 : RESOURCE_UNSET);
		assert_int_equal(copy->request.memory_bytes, filled ? GIB : RESOURCE_UNSET);
		assert_int_equal(copy->request.nr_hugepages, i == 2);
	}
}

/* A size that is requested keeps its request; the others are added as far as there is room. */
static void hugepages_are_requested_once(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct container_spec *container = add_container(spec, "one", CONTAINER_APP, 1000, 1000);

	container->limit.nr_hugepages = POD_MAX_HUGEPAGES;
	for (uint32_t i = 0; i < POD_MAX_HUGEPAGES; i++) {
		container->limit.hugepages[i].size_bytes = 1ULL << (POD_MAX_HUGEPAGES - i);
		container->limit.hugepages[i].bytes = 100 + i;
	}
	container->request.nr_hugepages = 2;
	container->request.hugepages[0].size_bytes = 2; /* the last but one of the limits */
	container->request.hugepages[0].bytes = 7;
	container->request.hugepages[1].size_bytes = 3; /* of no limit */
	container->request.hugepages[1].bytes = 8;
	pod_spec_default(spec);
	assert_int_equal(container->request.nr_hugepages, POD_MAX_HUGEPAGES);
	assert_int_equal(container->request.hugepages[0].bytes, 7);
	assert_int_equal(container->request.hugepages[1].bytes, 8);
	for (uint32_t i = 2; i < POD_MAX_HUGEPAGES; i++)
		assert_int_equal(container->request.hugepages[i].bytes, 100 + i - 2);
}

static void totals_follow_what_runs_together(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct pod_totals totals;

	add_container(spec, "early", CONTAINER_INIT, 5000, 5000);
	add_container(spec, "side", CONTAINER_SIDECAR, 1000, 1000);
	add_container(spec, "late", CONTAINER_INIT, 6000, 6000);
	add_container(spec, "one", CONTAINER_APP, 2000, 2000);
	add_container(spec, "two", CONTAINER_APP, 2500, 2500);
	spec->overhead.cpu_mcpu = 250;
	totals = pod_totals(spec);
	assert_int_equal(totals.cpu_request_mcpu, 7250);
	assert_int_equal(totals.cpu_limit_mcpu, 7250);
	spec->containers[3].limit.cpu_mcpu = RESOURCE_UNSET;
	assert_int_equal(pod_totals(spec).cpu_limit_mcpu, RESOURCE_UNSET);
	set_budget(spec, 9);
	assert_int_equal(pod_totals(spec).cpu_request_mcpu, 9250);
	assert_int_equal(pod_totals(spec).cpu_limit_mcpu, 9250);
}

/* What is requested as 0 is specified, and neither a request nor a limit. */
static void zero_adds_nothing(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	assert_int_equal(pod_totals(spec).cpu_request_mcpu, 0);
	assert_int_equal(pod_totals(spec).cpu_limit_mcpu, RESOURCE_UNSET);
	add_container(spec, "one", CONTAINER_APP, 0, 0);
	assert_int_equal(pod_totals(spec).cpu_request_mcpu, 0);
	assert_int_equal(pod_totals(spec).cpu_limit_mcpu, RESOURCE_UNSET);
	assert_int_equal(pod_totals(spec).memory_request_bytes, GIB);
	assert_int_equal(pod_totals(spec).memory_limit_bytes, GIB);
	spec->has_pod_resources = true;
	spec->request.memory_bytes = 0;
	spec->limit.memory_bytes = 0;
	assert_int_equal(pod_totals(spec).memory_request_bytes, 0);
	assert_int_equal(pod_totals(spec).memory_limit_bytes, GIB);
	spec->request.memory_bytes = spec->limit.memory_bytes = 1;
	assert_int_equal(pod_totals(spec).memory_request_bytes, 1);
	assert_int_equal(pod_totals(spec).memory_limit_bytes, 1);
	spec->overhead.memory_bytes = 1;
	assert_int_equal(pod_totals(spec).memory_request_bytes, 2);
	assert_int_equal(pod_totals(spec).memory_limit_bytes, 2);
	/* Quantities of the pod level count only if the pod has that level. */
	spec->has_pod_resources = false;
	assert_int_equal(pod_totals(spec).memory_request_bytes, GIB + 1);
	assert_int_equal(pod_totals(spec).memory_limit_bytes, GIB + 1);
}

/* One container without a limit is enough for a pod without one, whichever it is. */
static void every_container_must_have_a_limit(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

		for (int j = 0; j < 3; j++)
			add_container(spec, "one", CONTAINER_APP, 1000, 1000);
		assert_int_equal(pod_totals(spec).cpu_limit_mcpu, 3000);
		spec->containers[i].limit.cpu_mcpu = RESOURCE_UNSET;
		assert_int_equal(pod_totals(spec).cpu_limit_mcpu, RESOURCE_UNSET);
		assert_int_equal(pod_totals(spec).cpu_request_mcpu, 3000);
		assert_int_equal(pod_totals(spec).memory_limit_bytes, 3 * GIB);
	}
}

static void sums_do_not_wrap(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	add_container(spec, "one", CONTAINER_APP, INT64_MAX, INT64_MAX);
	add_container(spec, "two", CONTAINER_APP, INT64_MAX, INT64_MAX);
	assert_int_equal(pod_totals(spec).cpu_request_mcpu, INT64_MAX);
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
}

static void copies_are_equal_and_apart(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 2);
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);

	assert_true(pod_spec_equal(spec, copy));
	copy->containers[0].limit.cpu_mcpu++;
	assert_false(pod_spec_equal(spec, copy));
	assert_int_equal(spec->containers[0].limit.cpu_mcpu, 2000);
}

/* A pod without containers may have room for some, which its copy does not share. */
static void copy_of_an_empty_pod_is_its_own(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);

	assert_true(pod_spec_equal(spec, copy));
	assert_null(copy->containers);
}

static void assert_differ(const struct pod_spec *a, const struct pod_spec *b)
{
	assert_false(pod_spec_equal(a, b));
	assert_false(pod_spec_equal(b, a));
}

static struct resources two_sizes(void)
{
	struct resources resources = {.cpu_mcpu = 1000, .memory_bytes = GIB, .nr_hugepages = 2};

	resources.hugepages[0].size_bytes = 2 << 20;
	resources.hugepages[0].bytes = 8 << 20;
	resources.hugepages[1].size_bytes = GIB;
	resources.hugepages[1].bytes = 2 * GIB;
	return resources;
}

/* Every quantity distinguishes two pods; the order of the page sizes does not. */
static void assert_resources_count(const struct pod_spec *spec, const struct pod_spec *copy,
				   struct resources *of_copy)
{
	const struct resources before = *of_copy;

	of_copy->cpu_mcpu++;
	assert_differ(spec, copy);
	*of_copy = before;
	of_copy->memory_bytes++;
	assert_differ(spec, copy);
	for (uint32_t i = 0; i < before.nr_hugepages; i++) {
		*of_copy = before;
		of_copy->hugepages[i].bytes++;
		assert_differ(spec, copy);
		*of_copy = before;
		of_copy->hugepages[i].size_bytes *= 2;
		assert_differ(spec, copy);
	}
	*of_copy = before;
	of_copy->nr_hugepages--;
	assert_differ(spec, copy);
	/* Entries above the number do not count. */
	*of_copy = before;
	of_copy->hugepages[2] = of_copy->hugepages[1];
	of_copy->hugepages[1].size_bytes *= 2;
	assert_differ(spec, copy);
	*of_copy = before;
	of_copy->hugepages[0] = before.hugepages[1];
	of_copy->hugepages[1] = before.hugepages[0];
	assert_true(pod_spec_equal(spec, copy));
	*of_copy = before;
}

static void every_field_distinguishes_pods(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 2);
	struct pod_spec *copy cleanup_pod_spec = NULL;
	struct container_spec *last = add_container(spec, "last", CONTAINER_APP, 1000, 1000);

	spec->request = spec->limit = spec->overhead = two_sizes();
	last->request = last->limit = two_sizes();
	copy = pod_spec_copy(spec);
	assert_non_null(copy);
	last = &copy->containers[1];
	assert_resources_count(spec, copy, &copy->request);
	assert_resources_count(spec, copy, &copy->limit);
	assert_resources_count(spec, copy, &copy->overhead);
	assert_resources_count(spec, copy, &last->request);
	assert_resources_count(spec, copy, &last->limit);
	for (size_t i = 0; i < 4; i++) {
		char *names[] = {copy->uid, copy->namespace, copy->name, last->name};

		names[i][0]++;
		assert_differ(spec, copy);
		names[i][0]--;
	}
	copy->has_pod_resources = !copy->has_pod_resources;
	assert_differ(spec, copy);
	copy->has_pod_resources = spec->has_pod_resources;
	copy->is_of_runtime = !copy->is_of_runtime;
	assert_differ(spec, copy);
	copy->is_of_runtime = spec->is_of_runtime;
	copy->stated_qos++;
	assert_differ(spec, copy);
	copy->stated_qos = spec->stated_qos;
	last->kind = CONTAINER_SIDECAR;
	assert_differ(spec, copy);
	last->kind = CONTAINER_APP;
	copy->nr_containers--;
	assert_differ(spec, copy);
	copy->nr_containers++;
	assert_true(pod_spec_equal(spec, copy));
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < QOS_NR; i++)
		assert_non_null(qos_class_name(i));
	for (int i = 0; i < CONTAINER_KIND_NR; i++)
		assert_non_null(container_kind_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qos_by_containers),
		cmocka_unit_test(one_quantity_makes_a_pod_burstable),
		cmocka_unit_test(qos_by_pod_level),
		cmocka_unit_test(guaranteed_pods_limit_both),
		cmocka_unit_test(runtimes_state_the_class),
		cmocka_unit_test(limits_become_requests),
		cmocka_unit_test(pod_level_requests_default),
		cmocka_unit_test(pod_level_requests_need_a_limit),
		cmocka_unit_test(hugepages_are_requested_once),
		cmocka_unit_test(totals_follow_what_runs_together),
		cmocka_unit_test(zero_adds_nothing),
		cmocka_unit_test(every_container_must_have_a_limit),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(copies_are_equal_and_apart),
		cmocka_unit_test(copy_of_an_empty_pod_is_its_own),
		cmocka_unit_test(every_field_distinguishes_pods),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
