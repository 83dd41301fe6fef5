// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The objects of the NUMA nodes: whose their CPUs and memory are, and how far they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_scene.h"
#include "view_scene.h"

#define NR_CPUS 8
#define GIGA	1000000000LL

static struct topology *topology;
static struct policy policy;
static struct ledger *ledger;

/* Nodes 0 and 1 have four CPUs and 8 GiB each, 1 GiB of it in huge pages; node 4 is only memory. */
static int make_node(void **state)
{
	static const uint32_t distances[] = {10, 21, 14, 21, 10, 24, 14, 24, 10};
	struct topology_cpu cpus[NR_CPUS];
	struct topology_node nodes[3] = {
		{.id = 0, .memory_bytes = 8 * GIB, .nr_hugepages = 1},
		{.id = 1, .memory_bytes = 8 * GIB, .nr_hugepages = 1},
		{.id = 4, .memory_bytes = 32 * GIB},
	};
	const struct topology_facts facts = {.cpus = cpus,
					     .nr_cpus = NR_CPUS,
					     .nodes = nodes,
					     .nr_nodes = ARRAY_SIZE(nodes),
					     .distances = distances,
					     TOPOLOGY_COUNT_ALL};
	struct pod_spec *spec = guaranteed_pod("db", 2), *web = burstable_pod("web");
	char error[256] = "";

	(void)state;
	for (uint32_t i = 0; i < NR_CPUS; i++)
		cpus[i] = (struct topology_cpu){i, i, i / 4, i / 4, i / 4};
	nodes[0].hugepages[0] = nodes[1].hugepages[0] = (struct hugepages){PAGE_2M, 512, 512};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	policy = strict_policy("0");
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	ledger = scene_ledger(topology, &policy);
	spec->containers[0].request.memory_bytes = 2 * GIB;
	ask_pages(&spec->containers[0], PAGE_2M, 256 * MIB);
	assert_true(admit_and_free(ledger, spec).admitted);
	assert_true(admit_and_free(ledger, web).admitted);
	return 0;
}

static int free_node(void **state)
{
	(void)state;
	ledger_free(ledger);
	topology_free(topology);
	return 0;
}

/* Of nodes 0 and 1, which have CPUs; the second one has just begun to be counted. */
static const struct numa_wait waits[] = {
	{.total_ns = 75 * GIGA, .window_ns = 12 * GIGA, .window_wait_ns = 18 * GIGA},
	{.total_ns = 0, .window_ns = -1, .window_wait_ns = -1},
};

static void nodes_have_cpus_memory_and_distances(void **state)
{
	struct topology_node now[3] = {topology->memory_nodes[0], topology->memory_nodes[1],
				       topology->memory_nodes[2]};
	struct json_object *json;

	(void)state;
	/* Of the 768 MiB that the book calls free on node 0, others have taken 68. */
	now[0].hugepages[0].free_pages = 350;
	/* More are free in the kernel than can be promised: the pod has not used its own. */
	now[1].hugepages[0].free_pages = 512;
	json = view_numas(ledger, now, waits);
	check("numas", &view_numa_desc, json);
	expect(json, "/0/exclusive", "1-2");
	expect(json, "/0/reserved", "0");
	expect(json, "/0/free_cores", "1");
	expect(json, "/0/memory/0/type", "memory");
	expect(json, "/0/memory/0/total_bytes", "8589934592");
	expect(json, "/0/memory/0/granted_bytes", "2147483648");
	expect(json, "/0/memory/0/free_bytes", "5368709120");
	expect(json, "/0/memory/0/kernel_free_bytes", "null");
	expect(json, "/0/memory/1/granted_bytes", "268435456");
	expect(json, "/0/memory/1/kernel_free_bytes", "734003200");
	expect(json, "/0/memory/1/missing_bytes", "71303168");
	expect(json, "/1/largest_request", "4");
	expect(json, "/1/memory/1/missing_bytes", "0");
	expect(json, "/2/numa", "4");
	expect(json, "/2/cpus", "");
	expect(json, "/2/largest_request", "0");
	assert_int_equal(json_object_array_length(at(json, "/2/memory")), 1);
	expect(json, "/1/distances/2/numa", "4");
	expect(json, "/1/distances/2/distance", "24");
	json_object_put(json);
}

/* The shared container of the other pod is on no node in particular. */
static void containers_are_on_the_nodes_of_their_cpus_and_memory(void **state)
{
	struct json_object *json = view_numas(ledger, NULL, NULL);

	(void)state;
	assert_int_equal(json_object_array_length(at(json, "/0/containers")), 1);
	assert_int_equal(json_object_array_length(at(json, "/1/containers")), 0);
	expect(json, "/0/containers/0/pod", "db");
	expect(json, "/0/containers/0/container", "main");
	expect(json, "/0/containers/0/isolation", "container");
	expect(json, "/0/containers/0/cpus", "1-2");
	expect(json, "/0/containers/0/memory", "true");
	json_object_put(json);
}

static void waits_are_a_share_of_the_window(void **state)
{
	struct json_object *json = view_numas(ledger, NULL, waits);

	(void)state;
	expect(json, "/0/wait_seconds", "75.000000000");
	expect(json, "/0/window_seconds", "12.000000000");
	expect(json, "/0/wait_percent", "150.00");
	expect(json, "/1/wait_seconds", "0.000000000");
	expect(json, "/1/window_seconds", "null");
	expect(json, "/1/wait_percent", "null");
	/* for memory nobody waits */
	expect(json, "/2/wait_seconds", "null");
	json_object_put(json);
	json = view_numas(ledger, NULL, NULL);
	expect(json, "/0/wait_seconds", "null");
	expect(json, "/0/wait_percent", "null");
	json_object_put(json);
}

static void what_nobody_asked_the_kernel_is_not_known(void **state)
{
	struct topology_node now[3] = {topology->memory_nodes[0], topology->memory_nodes[1],
				       topology->memory_nodes[2]};
	struct json_object *json = view_numas(ledger, NULL, NULL);

	(void)state;
	expect(json, "/0/memory/1/kernel_free_bytes", "null");
	expect(json, "/0/memory/1/missing_bytes", "null");
	json_object_put(json);
	now[0].hugepages[0].free_pages = UINT64_MAX;
	now[1].nr_hugepages = 0;
	json = view_numas(ledger, now, NULL);
	expect(json, "/0/memory/1/kernel_free_bytes", "null");
	expect(json, "/0/memory/1/missing_bytes", "null");
	expect(json, "/1/memory/1/kernel_free_bytes", "null");
	json_object_put(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nodes_have_cpus_memory_and_distances, make_node,
						free_node),
		cmocka_unit_test_setup_teardown(
			containers_are_on_the_nodes_of_their_cpus_and_memory, make_node, free_node),
		cmocka_unit_test_setup_teardown(waits_are_a_share_of_the_window, make_node,
						free_node),
		cmocka_unit_test_setup_teardown(what_nobody_asked_the_kernel_is_not_known,
						make_node, free_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
