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
	static const struct topology_node nodes[] = {{.id = 7}, {.id = 4}, {.id = 9}};
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
	assert_int_equal(topology_to_memory_mask(topology, 2), 4);
	assert_int_equal(topology_to_cpu_mask(topology, 6), 2);
	assert_int_equal(topology_to_cpu_mask(topology, 3), 1);
	topology_cpus_of_nodes(topology, 1, &set);
	assert_int_equal(cpuset_count(&set), 4);
	assert_true(cpuset_has(&set, 0));
	topology_cpus_of_nodes(topology, 3, &set);
	assert_true(cpuset_equal(&set, &topology->all));
}

static void assert_level(const struct topology_level *level, const uint32_t *index_of_cpu,
			 uint32_t cpu, uint32_t id)
{
	uint32_t index = index_of_cpu[cpu];

	assert_true(index < level->nr);
	assert_int_equal(level->ids[index], id);
	assert_true(cpuset_has(&level->cpus[index], cpu));
	assert_int_equal(level->nr_cpus[index], cpuset_count(&level->cpus[index]));
}

static void assert_partition(const struct topology_level *level, uint32_t nr, uint32_t nr_cpus)
{
	uint32_t sum = 0;

	assert_int_equal(level->nr, nr);
	for (uint32_t i = 0; i < level->nr; i++) {
		assert_true(i == 0 || level->ids[i - 1] < level->ids[i]);
		sum += level->nr_cpus[i];
	}
	assert_int_equal(sum, nr_cpus);
}

/*
 * Whatever the order and the gaps of the ids, each CPU is in the one group that its fact names,
 * at every level, and indexes follow the order of the ids. Groups at the end of the range are in.
 */
static void every_cpu_is_in_its_groups(void **state)
{
	enum { NR = 96 };
	struct topology_cpu list[NR];
	struct topology_facts facts = {.cpus = list, .nr_cpus = NR, TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	for (uint32_t i = 0; i < NR; i++) {
		uint32_t at = i * 37 % NR; /* each CPU once, in no order */

		list[at].id = i == NR - 1 ? CPUSET_MAX - 1 : i * 5;
		list[at].core = TOPOLOGY_MAX_ID - i / 2 * 3;
		list[at].uncore = TOPOLOGY_MAX_ID - i / 4 % 24 * 7;
		list[at].node = CPUSET_MAX - 1 - i / 8 * 11;
		list[at].socket = TOPOLOGY_MAX_ID - i / 48;
	}
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(cpuset_count(&topology->all), NR);
	assert_true(topology->nr_cpu_ids >= CPUSET_MAX);
	assert_partition(&topology->cores, NR / 2, NR);
	assert_partition(&topology->uncores, NR / 4, NR);
	assert_partition(&topology->nodes, NR / 8, NR);
	assert_partition(&topology->sockets, NR / 48, NR);
	for (uint32_t i = 0; i < NR; i++) {
		const struct topology_cpu *cpu = &list[i];

		assert_true(cpuset_has(&topology->all, cpu->id));
		assert_level(&topology->cores, topology->core_of, cpu->id, cpu->core);
		assert_level(&topology->uncores, topology->uncore_of, cpu->id, cpu->uncore);
		assert_level(&topology->nodes, topology->node_of, cpu->id, cpu->node);
		assert_level(&topology->sockets, topology->socket_of, cpu->id, cpu->socket);
	}
	assert_int_equal(topology->num_cpus, NR);
	assert_int_equal(topology->num_cores, NR / 2);
	assert_int_equal(topology->num_uncores, NR / 4);
	assert_int_equal(topology->num_nodes, NR / 8);
	assert_int_equal(topology->num_sockets, NR / 48);
}

/* The largest nodes come first, wherever they are. */
static void fewest_nodes_are_the_largest(void **state)
{
	static const struct topology_cpu uneven[] = {{0, 0, 0, 0, 0}, {1, 1, 0, 1, 0},
						     {2, 2, 0, 1, 0}, {3, 3, 0, 1, 0},
						     {4, 4, 0, 2, 0}, {5, 5, 0, 2, 0}};
	static const uint32_t expected[] = {1, 1, 1, 1, 2, 2, 3, 3};
	struct topology_facts facts = {
		.cpus = uneven, .nr_cpus = ARRAY_SIZE(uneven), TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	for (uint32_t nr = 0; nr < ARRAY_SIZE(expected); nr++)
		assert_int_equal(topology_fewest_nodes(topology, nr), expected[nr]);
}

/* The limits themselves are allowed: 64 nodes, the last id, every kind of huge page. */
static void limits_are_inclusive(void **state)
{
	struct topology_cpu list[TOPOLOGY_MAX_NODES];
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{.id = 0}};
	struct topology_facts facts = {.cpus = list,
				       .nr_cpus = ARRAY_SIZE(list),
				       .nodes = nodes,
				       .nr_nodes = ARRAY_SIZE(nodes),
				       TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset ids;
	char error[256];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++) {
		uint32_t id = CPUSET_MAX - ARRAY_SIZE(list) + i;

		list[i] = (struct topology_cpu){i, i, i, id, i};
		nodes[ARRAY_SIZE(list) - 1 - i] = (struct topology_node){
			.id = id, .memory_bytes = i, .nr_hugepages = TOPOLOGY_MAX_HUGEPAGES};
	}
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(topology->nr_memory_nodes, TOPOLOGY_MAX_NODES);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		assert_int_equal(topology->memory_nodes[i].memory_bytes, i);
		assert_int_equal(topology->memory_index[i], i);
	}
	topology_mems_of_mask(topology, ~0ULL, &ids);
	assert_int_equal(cpuset_count(&ids), TOPOLOGY_MAX_NODES);
	/* All nodes have CPUs and memory, so both kinds of masks are the same. */
	assert_true(topology_to_memory_mask(topology, 1ULL << 63 | 5) == (1ULL << 63 | 5));
	assert_true(topology_to_cpu_mask(topology, 1ULL << 63 | 5) == (1ULL << 63 | 5));
}

/* A matrix is by the nodes of the facts; without them it says nothing. */
static void distances_need_nodes(void **state)
{
	static const uint32_t distances[] = {10};
	struct topology_facts facts = {.cpus = cpus,
				       .nr_cpus = ARRAY_SIZE(cpus),
				       .distances = distances,
				       TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_null(topology->distances);
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
	static const struct topology_cpu far_socket[] = {{4, 0, 0x80000000U, 0, 0}};
	static const struct topology_cpu far_cache[] = {{5, 0, 0, 0, 0x80000000U}};
	static const struct topology_cpu border_node[] = {{6, 0, 0, CPUSET_MAX, 0}};
	static const struct topology_cpu sockets[] = {{0, 0, 0, 0, 0}, {1, 0, 1, 0, 0}};
	static const struct topology_cpu nodes[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}};
	static const struct topology_cpu caches[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 1}};
	static const struct topology_node node_twice[] = {{.id = 2}, {.id = 2}};
	static const struct topology_node node_far[] = {{.id = CPUSET_MAX}};
	static const struct topology_node node_pages[] = {
		{.id = 2}, {.id = 3, .nr_hugepages = TOPOLOGY_MAX_HUGEPAGES + 1}};
	struct topology_cpu many[65];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct topology_cpu){i, i, i, i, i};
#define FACTS(list) \
	(struct topology_facts){.cpus = (list), .nr_cpus = ARRAY_SIZE(list), TOPOLOGY_COUNT_ALL}
	refused((struct topology_facts){TOPOLOGY_COUNT_ALL}, "no CPU");
	refused(FACTS(twice), "CPU 0 is listed twice");
	refused(FACTS(far), "CPU 8192: the id is too large; pinfold handles CPUs 0 to 8191");
	refused(FACTS(far_node), "NUMA node id 9000");
	refused(FACTS(far_core), "CPU 3");
	refused(FACTS(far_socket), "CPU 4");
	refused(FACTS(far_cache), "CPU 5");
	refused(FACTS(border_node), "NUMA node id 8192");
	refused(FACTS(sockets), "core 0 has CPUs 0 and 1 in different sockets");
	refused(FACTS(nodes), "different NUMA nodes");
	refused(FACTS(caches), "different uncore caches");
	refused(FACTS(many), "65 NUMA nodes");
#define NODES(list)                                           \
	(struct topology_facts){.cpus = cpus,                 \
				.nr_cpus = ARRAY_SIZE(cpus),  \
				.nodes = (list),              \
				.nr_nodes = ARRAY_SIZE(list), \
				TOPOLOGY_COUNT_ALL}
	refused(NODES(node_twice), "node 2 is listed twice");
	refused(NODES(node_far), "NUMA node id 8192");
	refused(NODES(node_pages), "NUMA node 3 has 9 huge page sizes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indexes_and_averages),
		cmocka_unit_test(cores_and_nodes_of_cpus),
		cmocka_unit_test(every_cpu_is_in_its_groups),
		cmocka_unit_test(fewest_nodes_are_the_largest),
		cmocka_unit_test(limits_are_inclusive),
		cmocka_unit_test(distances_need_nodes),
		cmocka_unit_test(counts_can_be_given),
		cmocka_unit_test(memory_and_distances),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
