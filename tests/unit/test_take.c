// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Takes on machines small enough to work the answer out by hand: the orders, the
 * options, and each of the kubelet's defects with both answers. The recorded
 * vectors are the broad proof; this is the one a reader can follow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/take.h"

#define MAX_CPUS 256

static struct topology *make(const struct topology_cpu *cpus, size_t nr)
{
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology;
	char error[256];

	if (topology_new(&facts, error, sizeof(error), &topology) < 0)
		fail_msg("%s", error);
	return topology;
}

/* Two threads per core, siblings adjacent; `nr_uncores` caches per node. */
static struct topology *make_regular(unsigned int nr_sockets, unsigned int nodes_per_socket,
				     unsigned int cores_per_node, unsigned int nr_uncores)
{
	struct topology_cpu cpus[MAX_CPUS];
	unsigned int nr = nr_sockets * nodes_per_socket * cores_per_node * 2;

	for (unsigned int i = 0; i < nr; i++) {
		unsigned int core = i / 2, node = core / cores_per_node;

		cpus[i] = (struct topology_cpu){i, core * 2, node / nodes_per_socket, node,
						core / (cores_per_node / nr_uncores)};
	}
	return make(cpus, nr);
}

struct question {
	const struct topology *topology;
	const char *free;
	unsigned int count;
	struct take_options options;
	bool distributed;
};

static void assert_take(struct question question, const char *want)
{
	struct cpuset free, cpus = CPUSET_EMPTY;
	enum take_status status;
	char text[1024];

	assert_int_equal(cpuset_parse(question.free, strlen(question.free), &free), 0);
	status = question.distributed ? take_distributed(question.topology, &free, question.count,
							 &question.options, &cpus)
				      : take_packed(question.topology, &free, question.count,
						    &question.options, &cpus);
	if (status == TAKE_OK)
		cpuset_format(&cpus, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", take_status_name(status));
	assert_string_equal(text, want);
}

#define PACKED(topology, free, count, want, ...) \
	assert_take((struct question){topology, free, count, {__VA_ARGS__}, false}, want)
#define DISTRIBUTED(topology, free, count, want, ...) \
	assert_take((struct question){topology, free, count, {__VA_ARGS__}, true}, want)
#define KUBELET .compatibility = COMPATIBILITY_KUBELET_1_36

static void packed_order(void **state)
{
	/* Sockets 0 and 1, one node each: CPUs 0-7 and 8-15. */
	cleanup_topology struct topology *topology = make_regular(2, 1, 4, 1);

	(void)state;
	PACKED(topology, "0-15", 0, "");
	PACKED(topology, "0-15", 17, "not-enough-cpus");
	PACKED(topology, "0-15", 8, "0-7");
	PACKED(topology, "0-15", 10, "0-9");
	/* A whole node before a part of one that has fewer free. */
	PACKED(topology, "2-15", 8, "8-15");
	/* No whole node fits: the node with fewer free CPUs comes first. */
	PACKED(topology, "0-15", 2, "0-1");
	PACKED(topology, "2-15", 2, "2-3");
	PACKED(topology, "0-11", 2, "8-9");
	/* A single CPU comes from the core that is broken already. */
	PACKED(topology, "0-2,4-15", 1, "2");
	/* Whole cores first, then the broken one. */
	PACKED(topology, "0-2,4-7", 3, "0-2");
}

static void spread_goes_by_number(void **state)
{
	static const struct topology_cpu offset[] = {{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0},
						     {2, 2, 0, 0, 0}, {3, 3, 0, 0, 0},
						     {4, 0, 0, 0, 0}, {5, 1, 0, 0, 0},
						     {6, 2, 0, 0, 0}, {7, 3, 0, 0, 0}};
	cleanup_topology struct topology *topology = make(offset, ARRAY_SIZE(offset));

	(void)state;
	PACKED(topology, "0-7", 4, "0-1,4-5");
	PACKED(topology, "0-7", 4, "0-3", .sorting = TAKE_SPREAD);
}

static void uncore_is_filled_or_left(void **state)
{
	/* One node of 16 CPUs, caches 0-3, 4-7, 8-11, 12-15. */
	cleanup_topology struct topology *topology = make_regular(1, 1, 8, 4);

	(void)state;
	PACKED(topology, "1-15", 4, "2-5", .uncore = false);
	PACKED(topology, "1-15", 4, "4-7", .uncore = true);
	PACKED(topology, "2-15", 2, "2-3", .uncore = true);
	/* Four and two: a whole cache, then a part of the one with least left. */
	PACKED(topology, "2-15", 6, "2-7", .uncore = true);
	/* An odd part leaves one sibling out. */
	PACKED(topology, "0-15", 3, "0-2", .uncore = true);
	/* More than any cache: no exact fit, plain cores. */
	PACKED(topology, "0,2,4,6,8,10,12,14", 3, "0,2,4", .uncore = true);
}

static void distributed_is_even(void **state)
{
	cleanup_topology struct topology *topology = make_regular(2, 2, 4, 1);

	(void)state;
	/* Fits one node. */
	DISTRIBUTED(topology, "0-31", 6, "0-5");
	/* Two nodes needed: half from each. */
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13");
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13", .group = 2);
	/* In groups of two the third pair of ten goes to one side. */
	DISTRIBUTED(topology, "0-31", 10, "0-5,8-11", .group = 2);
	/* Not a multiple of the group: packed. */
	DISTRIBUTED(topology, "0-31", 9, "0-8", .group = 2);
	DISTRIBUTED(topology, "0-31", 33, "not-enough-cpus");
	/* Nodes with four, four and eight: no even way over two, so three. */
	DISTRIBUTED(topology, "0-3,8-11,16-23", 12, "0-3,8-11,16-19");
	/* No even way at all: packed, the whole node first. */
	DISTRIBUTED(topology, "0-1,8-9,16-23", 10, "0-1,16-23");
}

/* F1: a remembered combination of nodes is written over. */
static void defect_combination(void **state)
{
	cleanup_topology struct topology *topology = make_regular(8, 1, 1, 1);

	(void)state;
	DISTRIBUTED(topology, "0-15", 8, "0-7");
	DISTRIBUTED(topology, "0-15", 8, "0-5,14-15", KUBELET);
}

/* F2: whole is judged by the machine's average. */
static void defect_average(void **state)
{
	static const struct topology_cpu uneven[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0},
						     {2, 2, 0, 0, 0}, {3, 2, 0, 0, 0},
						     {4, 4, 0, 0, 0}, {5, 5, 0, 0, 0},
						     {6, 6, 0, 0, 0}, {7, 7, 0, 0, 0}};
	cleanup_topology struct topology *topology = make(uneven, ARRAY_SIZE(uneven));

	(void)state;
	/* The smallest whole cores; the kubelet's average core has one CPU. */
	PACKED(topology, "0,2-7", 2, "4-5");
	/* CPU 1 was not to be had. */
	PACKED(topology, "0,2-7", 2, "0-1", KUBELET);
}

/* F3: two of the nodes have enough CPUs for the rest, but not enough pairs. */
static void defect_hang(void **state)
{
	cleanup_topology struct topology *topology = make_regular(4, 1, 4, 1);

	(void)state;
	DISTRIBUTED(topology, "0-4,8-14,16-22,24-30", 22, "0-3,8-13,16-21,24-29", .group = 2);
	DISTRIBUTED(topology, "0-4,8-14,16-22,24-30", 22, "hang", .group = 2, KUBELET);
}

/* F4: cache 0-3 spans both nodes; the kubelet claims it twice and stops four CPUs short. */
static void defect_listed_twice(void **state)
{
	static const struct topology_cpu spanning[] = {
		{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {2, 2, 1, 1, 0},   {3, 3, 1, 1, 0},
		{4, 4, 0, 0, 1}, {5, 5, 0, 0, 1}, {6, 6, 0, 0, 1},   {7, 7, 1, 1, 1},
		{8, 8, 1, 1, 1}, {9, 9, 1, 1, 1}, {10, 10, 0, 0, 2}, {11, 11, 1, 1, 2}};
	cleanup_topology struct topology *topology = make(spanning, ARRAY_SIZE(spanning));

	(void)state;
	PACKED(topology, "0-8", 8, "0-7", .uncore = true);
	PACKED(topology, "0-8", 8, "0-3", .uncore = true, KUBELET);
}

#define IMPROVED .compatibility = COMPATIBILITY_IMPROVED

/* F9: a part of a cache that is no exact hit. */
static void part_of_a_cache(void **state)
{
	/* Two nodes of 16 CPUs; caches of four: 0-3, 4-7, …, 28-31. */
	cleanup_topology struct topology *topology = make_regular(1, 2, 8, 4);
	/* One node, caches 0-7 and 8-15. */
	cleanup_topology struct topology *two = make_regular(1, 1, 8, 2);

	(void)state;
	/* The two lowest cores of 8-15 have three CPUs, not four. */
	PACKED(two, "1-3,9-13", 4, "2-3,10-11", .uncore = true);
	PACKED(two, "1-3,9-13", 4, "10-13", .uncore = true, IMPROVED);
	/* Node 0 could hold it, but in two caches. */
	PACKED(topology, "5,7-9,16-31", 3, "16-18", .uncore = true, IMPROVED);
	/* The cache with fewest free CPUs that hold it, whole cores first. */
	PACKED(topology, "0,2-3,4-7,16-31", 2, "2-3", .uncore = true, IMPROVED);
	PACKED(topology, "0-6,16-31", 3, "4-6", .uncore = true, IMPROVED);
	/* None holds five: one whole cache, then a part of another of its node. */
	PACKED(topology, "0-31", 5, "0-4", .uncore = true, IMPROVED);
	/* Three of three caches' CPUs each: two caches are enough. */
	PACKED(topology, "0-2,4-5,8-10,12-13", 6, "0-2,8-10", .uncore = true, IMPROVED);
	/* Groups of two: 0 and 4 are halves of cores and of no use. */
	PACKED(topology, "0,2-4,6-7,8-9", 4, "2-3,6-7", .uncore = true, .group = 2, IMPROVED);
	/* Not enough whole cores: as without caches. */
	PACKED(topology, "0,2,4,6", 2, "0,2", .uncore = true, .group = 2, IMPROVED);
}

/* F10: siblings are neighbours in number here. */
static void spread_goes_by_core(void **state)
{
	/* Two sockets of one node each; caches 0-7, 8-15 and 16-23, 24-31. */
	cleanup_topology struct topology *topology = make_regular(2, 1, 8, 2);

	(void)state;
	PACKED(topology, "0-31", 4, "0-3", .sorting = TAKE_SPREAD);
	/* Each cache in turn, each time a core of its own. */
	PACKED(topology, "0-31", 4, "0,2,8,10", .sorting = TAKE_SPREAD, IMPROVED);
	/* Idle cores before cores with a busy thread, whatever their cache. */
	PACKED(topology, "1,4-7,9", 3, "1,4-5", .sorting = TAKE_SPREAD);
	PACKED(topology, "1,4-7,9", 3, "4,6,9", .sorting = TAKE_SPREAD, IMPROVED);
	/* Socket 0 has fewer free, but would have to give both threads of a core. */
	PACKED(topology, "0-3,16-31", 3, "16,18,24", .sorting = TAKE_SPREAD, IMPROVED);
	PACKED(topology, "0-3,16-31", 2, "0,2", .sorting = TAKE_SPREAD, IMPROVED);
	/* More than cores: the second thread of the first ones. */
	PACKED(topology, "0-15", 10, "0-2,4,6,8-10,12,14", .sorting = TAKE_SPREAD, IMPROVED);
}

/* F5: the alignment asked for so many nodes. */
static void distributed_keeps_the_nodes(void **state)
{
	cleanup_topology struct topology *topology = make_regular(1, 4, 4, 1);

	(void)state;
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13", .min_nodes = 4);
	DISTRIBUTED(topology, "0-31", 12, "0-2,8-10,16-18,24-26", .min_nodes = 4, IMPROVED);
	DISTRIBUTED(topology, "0-31", 2, "0,8", .min_nodes = 3, IMPROVED);
	/* More than have a CPU free, or than have groups to give: as many as there are. */
	DISTRIBUTED(topology, "0-15", 4, "0-1,8-9", .min_nodes = 4, IMPROVED);
	DISTRIBUTED(topology, "0-31", 4, "0-1,8-9", .min_nodes = 4, .group = 2, IMPROVED);
	/* Four cannot do it evenly; the most that can. */
	DISTRIBUTED(topology, "0,8-31", 12, "8-11,16-19,24-27", .min_nodes = 4, IMPROVED);
}

/* F5: align-by-socket. */
static void distributed_stays_in_a_socket(void **state)
{
	/* Nodes of eight CPUs; sockets 0-15 and 16-31. */
	cleanup_topology struct topology *topology = make_regular(2, 2, 4, 1);

	(void)state;
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "8-12,24-28");
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "0-3,6,8-12", .by_socket = true,
		    IMPROVED);
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "8-12,24-28", .by_socket = true);
	/* One socket cannot hold it. */
	DISTRIBUTED(topology, "0-31", 18, "0-5,8-13,16-21", .by_socket = true, IMPROVED);
}

static void node_order(void **state)
{
	cleanup_topology struct topology *topology = make_regular(2, 2, 4, 1);
	uint16_t nodes[TOPOLOGY_MAX_NODES];
	struct cpuset free;

	(void)state;
	/* Socket 0 has ten free, socket 1 nine; nodes stay with their socket. */
	assert_int_equal(cpuset_parse("0-7,8-9,16,24-31", 16, &free), 0);
	assert_int_equal(take_node_order(topology, &free, nodes), 4);
	assert_int_equal(nodes[0], 2);
	assert_int_equal(nodes[1], 3);
	assert_int_equal(nodes[2], 1);
	assert_int_equal(nodes[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_order),
		cmocka_unit_test(spread_goes_by_number),
		cmocka_unit_test(uncore_is_filled_or_left),
		cmocka_unit_test(distributed_is_even),
		cmocka_unit_test(defect_combination),
		cmocka_unit_test(defect_average),
		cmocka_unit_test(defect_hang),
		cmocka_unit_test(defect_listed_twice),
		cmocka_unit_test(part_of_a_cache),
		cmocka_unit_test(spread_goes_by_core),
		cmocka_unit_test(distributed_keeps_the_nodes),
		cmocka_unit_test(distributed_stays_in_a_socket),
		cmocka_unit_test(node_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
