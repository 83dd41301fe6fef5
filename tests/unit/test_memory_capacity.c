// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* What the nodes have for containers, and the reservations that are kept from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "memory_scene.h"

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

/* Of 512 pages a quarter is reserved, and another one is granted. */
static void figures_of_a_node(void **state)
{
	struct memory_scene scene = {.policy = policy_default()};
	struct topology_node node = {
		.id = 0,
		.memory_bytes = 4 * GIB,
		.nr_hugepages = 1,
		.hugepages = {{PAGE_2M, 512, UINT64_MAX}},
	};
	struct pod_spec *spec = scene_pod("a");
	struct memory_figures figures;
	struct memory_pod pod;

	(void)state;
	reserve(&scene, 0, PAGE_2M, GIB / 4);
	assert_true(memory_scene_init(&scene, memory_machine(&node, 1)));
	ask_pages(ask(spec, "main", CONTAINER_APP, GIB), PAGE_2M, GIB / 4);
	pod = memory_pod_of(spec);
	assert_int_equal(give(&scene, &pod, 0, anywhere), MEMORY_OK);
	figures = memory_figures(&scene.manager, &scene.state, 0, 1);
	assert_int_equal(figures.reserved_bytes, GIB / 4);
	assert_int_equal(figures.granted_bytes, GIB / 4);
	assert_int_equal(figures.free_bytes, GIB / 2);
	memory_pod_fini(&pod);
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
		cmocka_unit_test(figures_of_a_node),
		cmocka_unit_test(refused_capacity),
		cmocka_unit_test(pages_are_reserved_where_they_are),
		cmocka_unit_test(reservations_are_summed_by_type),
		cmocka_unit_test(reserved_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
