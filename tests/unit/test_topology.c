// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Conversion of facts to indexes, the kubelet's averages, and one message per invalid fact. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/topology/topology.h"

/* Two sockets, sparse node ids 4 and 9, CPU 6 without its sibling. */
static const struct topology_cpu cpus[] = {
	{0, 0, 0, 4, 0}, {1, 0, 0, 4, 0}, {2, 2, 0, 4, 0}, {3, 2, 0, 4, 0},
	{4, 4, 1, 9, 1}, {5, 4, 1, 9, 1}, {6, 6, 1, 9, 1},
};

static void indexes_and_averages(void **state)
{
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = ARRAY_SIZE(cpus), TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset set;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(cpuset_count(&topology->all), 7);
	assert_int_equal(topology->nodes.nr, 2);
	assert_int_equal(topology->nodes.ids[1], 9);
	assert_int_equal(topology->node_of[6], 1);
	assert_int_equal(topology->cores.nr, 4);
	assert_int_equal(topology->core_of[3], 1);
	assert_int_equal(topology->cores.nr_cpus[3], 1);
	/* 7 CPUs over 4 cores: the kubelet's average core is one CPU. */
	assert_int_equal(topology->cpus_per_core, 1);
	assert_int_equal(topology->cpus_per_socket, 3);
	assert_int_equal(topology->cpus_per_uncore, 3);
	topology_cpus_of_nodes(topology, 1ULL << 1, &set);
	assert_int_equal(cpuset_count(&set), 3);
	assert_true(cpuset_has(&set, 6));
	/* Without facts about memory every CPU node is a memory node. */
	assert_int_equal(topology->nr_memory_nodes, 2);
	topology_mems_of_mask(topology, 3, &set);
	assert_true(cpuset_has(&set, 4) && cpuset_has(&set, 9));
	assert_int_equal(cpuset_count(&set), 2);
}

/* Questions about cores and nodes; node 7 has memory and no CPU. */
static void cores_and_nodes_of_cpus(void **state)
{
	static const struct topology_node nodes[] = {{.id = 4}, {.id = 7}, {.id = 9}};
	struct topology_facts facts = {.cpus = cpus,
				       .nr_cpus = ARRAY_SIZE(cpus),
				       .nodes = nodes,
				       .nr_nodes = ARRAY_SIZE(nodes),
				       TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset some = CPUSET_EMPTY, set;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	cpuset_add(&some, 1);
	cpuset_add(&some, 6);
	topology_cores_of_cpus(topology, &some, &set);
	assert_int_equal(cpuset_count(&set), 3);
	assert_true(cpuset_has(&set, 0) && cpuset_has(&set, 1) && cpuset_has(&set, 6));
	/* 4 and 3 CPUs */
	assert_int_equal(topology_fewest_nodes(topology, 1), 1);
	assert_int_equal(topology_fewest_nodes(topology, 4), 1);
	assert_int_equal(topology_fewest_nodes(topology, 5), 2);
	assert_int_equal(topology_fewest_nodes(topology, 8), 2);
	assert_int_equal(topology_to_memory_mask(topology, 3), 5);
	assert_int_equal(topology_to_cpu_mask(topology, 6), 2);
}

static void counts_can_be_given(void **state)
{
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = ARRAY_SIZE(cpus), TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	facts.num_cpus = 8;
	facts.num_uncores = 0;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(topology->cpus_per_core, 2);
	assert_int_equal(topology->cpus_per_uncore, 0);
}

static void memory_and_distances(void **state)
{
	/* Node 1 has memory only; the order of the facts is not that of the ids. */
	static const struct topology_node nodes[] = {{.id = 9, .memory_bytes = 900},
						     {.id = 1, .memory_bytes = 100},
						     {.id = 4, .memory_bytes = 400}};
	static const uint32_t distances[] = {10, 30, 20, 31, 10, 40, 21, 41, 10};
	struct topology_facts facts = {.cpus = cpus,
				       .nr_cpus = ARRAY_SIZE(cpus),
				       .nodes = nodes,
				       .nr_nodes = ARRAY_SIZE(nodes),
				       .distances = distances,
				       TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(topology->nr_memory_nodes, 3);
	assert_int_equal(topology->memory_nodes[0].memory_bytes, 100);
	assert_int_equal(topology->memory_nodes[2].memory_bytes, 900);
	assert_int_equal(topology->memory_index[0], 1);
	assert_int_equal(topology->memory_index[1], 2);
	/* From 9 to 4 it is 20, from 4 to 9 it is 21, from 1 to 9 it is 31. */
	assert_int_equal(topology->distances[2 * 3 + 1], 20);
	assert_int_equal(topology->distances[1 * 3 + 2], 21);
	assert_int_equal(topology->distances[0 * 3 + 2], 31);
}

static void refused(struct topology_facts facts, const char *sentence)
{
	struct topology *topology = NULL;
	char error[256] = "";

	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), -EINVAL);
	assert_null(topology);
	if (!strstr(error, sentence))
		fail_msg("'%s' does not say '%s'", error, sentence);
}

static void refusals(void **state)
{
	static const struct topology_cpu twice[] = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
	static const struct topology_cpu far[] = {{8192, 0, 0, 0, 0}};
	static const struct topology_cpu far_node[] = {{3, 0, 0, 9000, 0}};
	static const struct topology_cpu far_core[] = {{3, 0x80000000U, 0, 0, 0}};
	static const struct topology_cpu sockets[] = {{0, 0, 0, 0, 0}, {1, 0, 1, 0, 0}};
	static const struct topology_cpu nodes[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}};
	static const struct topology_cpu caches[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 1}};
	static const struct topology_node node_twice[] = {{.id = 2}, {.id = 2}};
	struct topology_cpu many[65];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct topology_cpu){i, i, i, i, i};
#define FACTS(list) \
	(struct topology_facts){.cpus = (list), .nr_cpus = ARRAY_SIZE(list), TOPOLOGY_COUNT_ALL}
	refused((struct topology_facts){TOPOLOGY_COUNT_ALL}, "no CPU");
	refused(FACTS(twice), "CPU 0 is listed twice");
	refused(FACTS(far), "CPU 8192");
	refused(FACTS(far_node), "NUMA node id 9000");
	refused(FACTS(far_core), "CPU 3");
	refused(FACTS(sockets), "core 0 has CPUs 0 and 1 in different sockets");
	refused(FACTS(nodes), "different NUMA nodes");
	refused(FACTS(caches), "different uncore caches");
	refused(FACTS(many), "65 NUMA nodes");
	refused((struct topology_facts){.cpus = cpus,
					.nr_cpus = ARRAY_SIZE(cpus),
					.nodes = node_twice,
					.nr_nodes = 2,
					TOPOLOGY_COUNT_ALL},
		"node 2 is listed twice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indexes_and_averages),
		cmocka_unit_test(cores_and_nodes_of_cpus),
		cmocka_unit_test(counts_can_be_given),
		cmocka_unit_test(memory_and_distances),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
