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

#include "core/cpu/take.h"

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
	struct cpuset free, before = CPUSET_EMPTY, cpus;
	enum take_status status;
	char text[1024];

	/* The result is set on success, even if it is the empty set, and otherwise unchanged. */
	cpuset_add(&before, CPUSET_MAX - 1);
	cpus = before;

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
	if (status != TAKE_OK)
		assert_true(cpuset_equal(&cpus, &before));
}

#define PACKED(topology, free, count, want, ...) \
	assert_take((struct question){topology, free, count, {__VA_ARGS__}, false}, want)
#define DISTRIBUTED(topology, free, count, want, ...) \
	assert_take((struct question){topology, free, count, {__VA_ARGS__}, true}, want)
#define KUBELET .compatibility = COMPATIBILITY_KUBELET_1_36

static void packed_order(void **state)
{
	/* Sockets 0 and 1, one node each: CPUs 0-7 and 8-15. */
	struct topology *topology cleanup_topology = make_regular(2, 1, 4, 1);

	(void)state;
	PACKED(topology, "0-15", 0, "");
	PACKED(topology, "0-15", 17, "not-enough-cpus");
	PACKED(topology, "0-15", 8, "0-7");
	PACKED(topology, "0-15", 10, "0-9");
	/* A whole node comes before part of a node that has fewer free CPUs. */
	PACKED(topology, "2-15", 8, "8-15");
	/* No whole node fits: the node with fewer free CPUs comes first. */
	PACKED(topology, "0-15", 2, "0-1");
	PACKED(topology, "2-15", 2, "2-3");
	PACKED(topology, "0-11", 2, "8-9");
	/* A single CPU is taken from the core that is already partly used. */
	PACKED(topology, "0-2,4-15", 1, "2");
	/* Whole cores first, then the partly used one. */
	PACKED(topology, "0-2,4-7", 3, "0-2");
}

static void spread_goes_by_number(void **state)
{
	static const struct topology_cpu offset[] = {{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0},
						     {2, 2, 0, 0, 0}, {3, 3, 0, 0, 0},
						     {4, 0, 0, 0, 0}, {5, 1, 0, 0, 0},
						     {6, 2, 0, 0, 0}, {7, 3, 0, 0, 0}};
	struct topology *topology cleanup_topology = make(offset, ARRAY_SIZE(offset));

	(void)state;
	PACKED(topology, "0-7", 4, "0-1,4-5");
	PACKED(topology, "0-7", 4, "0-3", .sorting = TAKE_SPREAD);
}

static void uncore_is_filled_or_left(void **state)
{
	/* One node of 16 CPUs, caches 0-3, 4-7, 8-11, 12-15. */
	struct topology *topology cleanup_topology = make_regular(1, 1, 8, 4);

	(void)state;
	PACKED(topology, "1-15", 4, "2-5", .uncore = false);
	PACKED(topology, "1-15", 4, "4-7", .uncore = true);
	PACKED(topology, "2-15", 2, "2-3", .uncore = true);
	/* Four and two: a whole cache, then part of the one with the fewest free CPUs. */
	PACKED(topology, "2-15", 6, "2-7", .uncore = true);
	/* An odd part omits one sibling. */
	PACKED(topology, "0-15", 3, "0-2", .uncore = true);
	/* More than any cache: no exact fit, plain cores. */
	PACKED(topology, "0,2,4,6,8,10,12,14", 3, "0,2,4", .uncore = true);
}

/* The kubelet's own tests count more cores than CPUs; a core then counts as one CPU. */
static void more_cores_than_cpus(void **state)
{
	struct topology_cpu cpus[8];
	struct topology_facts facts = {.cpus = cpus, .nr_cpus = 8, TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .uncore = i / 4};
	facts.num_cores = 16;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(topology->cpus_per_core, 0);
	PACKED(topology, "1-7", 3, "1-3", .uncore = true, KUBELET);
	PACKED(topology, "0-7", 2, "0-1", .uncore = true);
}

static void distributed_is_even(void **state)
{
	struct topology *topology cleanup_topology = make_regular(2, 2, 4, 1);
	struct topology *caches cleanup_topology = make_regular(1, 1, 8, 4);

	(void)state;
	DISTRIBUTED(topology, "0-31", 0, "");
	/* Fits one node. */
	DISTRIBUTED(topology, "0-31", 6, "0-5");
	/* Two nodes needed: half from each. */
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13");
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13", .group = 2);
	/* In groups of two, the third pair goes to one of the nodes. */
	DISTRIBUTED(topology, "0-31", 10, "0-5,8-11", .group = 2);
	/* Not a multiple of the group: packed. */
	DISTRIBUTED(topology, "0-31", 9, "0-8", .group = 2);
	DISTRIBUTED(topology, "0-31", 33, "not-enough-cpus");
	/* Nodes with four, four and eight: no even distribution over two nodes, so three. */
	DISTRIBUTED(topology, "0-3,8-11,16-23", 12, "0-3,8-11,16-19");
	/* No even distribution at all: packed, the whole node first. */
	DISTRIBUTED(topology, "0-1,8-9,16-23", 10, "0-1,16-23");
	/* Caches do not count, neither inside a node nor where it is packed after all. */
	DISTRIBUTED(caches, "1-15", 4, "2-5", .uncore = true);
	DISTRIBUTED(caches, "1-15", 4, "2-5", .uncore = true, .group = 3);
}

/* How many nodes it needs at least is judged by the machine's average, not by what is free. */
static void distributed_over_no_fewer_than_the_average(void **state)
{
	static const unsigned int sizes[] = {8, 8, 2, 2};
	struct topology_cpu cpus[20];
	struct topology *topology cleanup_topology = NULL;
	unsigned int nr = 0;

	(void)state;
	for (unsigned int node = 0; node < ARRAY_SIZE(sizes); node++) {
		for (unsigned int i = 0; i < sizes[node]; i++, nr++)
			cpus[nr] = (struct topology_cpu){nr, nr, 0, node, 0};
	}
	topology = make(cpus, nr);
	/* Five on average: ten fit on two nodes, twelve need three, and only two are left. */
	DISTRIBUTED(topology, "0-15", 10, "0-4,8-12");
	DISTRIBUTED(topology, "0-15", 12, "0-11");
}

/* F1: a stored combination of nodes is overwritten. */
static void defect_combination(void **state)
{
	struct topology *topology cleanup_topology = make_regular(8, 1, 1, 1);

	(void)state;
	DISTRIBUTED(topology, "0-15", 8, "0-7");
	DISTRIBUTED(topology, "0-15", 8, "0-5,14-15", KUBELET);
}

/* F1 again: the nodes that were to give the rest are others now, and have too little. */
static void defect_combination_of_the_rest(void **state)
{
	static const char free[] =
		"1-2,6-15,19,22-23,25-28,30-31,33,38-41,44,47,50-54,57-63,66,69,71";
	struct topology *topology cleanup_topology = make_regular(6, 2, 3, 1);

	(void)state;
	DISTRIBUTED(topology, free, 32, "6-10,12-15,19,22-23,25-28,30-31,33,38-41,50-52,54,58-62");
	DISTRIBUTED(topology, free, 32, "hang", KUBELET);
}

/* F2: "whole" is derived from the machine's average. */
static void defect_average(void **state)
{
	static const struct topology_cpu uneven[] = {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0},
						     {2, 2, 0, 0, 0}, {3, 2, 0, 0, 0},
						     {4, 4, 0, 0, 0}, {5, 5, 0, 0, 0},
						     {6, 6, 0, 0, 0}, {7, 7, 0, 0, 0}};
	struct topology *topology cleanup_topology = make(uneven, ARRAY_SIZE(uneven));

	(void)state;
	/* The smallest whole cores; the kubelet's average core has one CPU. */
	PACKED(topology, "0,2-7", 2, "4-5");
	/* CPU 1 was not free. */
	PACKED(topology, "0,2-7", 2, "0-1", KUBELET);
}

/* F3: two of the nodes have enough CPUs for the rest, but not enough pairs. */
static void defect_hang(void **state)
{
	struct topology *topology cleanup_topology = make_regular(4, 1, 4, 1);

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
	struct topology *topology cleanup_topology = make(spanning, ARRAY_SIZE(spanning));

	(void)state;
	PACKED(topology, "0-8", 8, "0-7", .uncore = true);
	PACKED(topology, "0-8", 8, "0-3", .uncore = true, KUBELET);
}

/* F4 in a distributed take: node 0 is visited below both sockets, and CPU 0 claimed for each. */
static void defect_node_listed_twice(void **state)
{
	static const struct topology_cpu crossing[] = {
		{0, 0, 1, 0, 0}, {1, 1, 0, 0, 0}, {2, 1, 0, 0, 0}, {3, 3, 0, 1, 1},
		{4, 3, 0, 1, 1}, {5, 5, 1, 1, 1}, {6, 5, 1, 1, 1}, {7, 7, 1, 2, 2},
		{8, 7, 1, 2, 2}, {9, 9, 1, 2, 2}, {10, 9, 1, 2, 2}};
	struct topology *topology cleanup_topology = make(crossing, ARRAY_SIZE(crossing));

	(void)state;
	DISTRIBUTED(topology, "0-2,4,6-9", 2, "0-1");
	DISTRIBUTED(topology, "0-2,4,6-9", 2, "accounting-too-few", KUBELET);
}

/*
 * F4 in the last step: node 0 is visited below both sockets. The kubelet claims CPU 0 of
 * its half free core again, and stops one CPU short.
 */
static void defect_single_cpu_listed_twice(void **state)
{
	static const struct topology_cpu crossing[] = {
		{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {2, 1, 1, 0, 0},  {3, 1, 1, 0, 0},
		{4, 2, 0, 1, 1}, {5, 2, 0, 1, 1}, {6, 3, 0, 1, 1},  {7, 3, 0, 1, 1},
		{8, 4, 1, 2, 2}, {9, 4, 1, 2, 2}, {10, 5, 1, 2, 2}, {11, 5, 1, 2, 2}};
	struct topology *topology cleanup_topology = make(crossing, ARRAY_SIZE(crossing));

	(void)state;
	PACKED(topology, "0,2,4,6,8,10", 5, "0,2,4,6,8");
	PACKED(topology, "0,2,4,6,8,10", 5, "0,2,4,6", KUBELET);
	PACKED(topology, "0,2,4,6,8,10", 6, "0,2,4,6,8,10");
}

#define KUBELET_1_37 .compatibility = COMPATIBILITY_KUBELET_1_37, .by_socket = true

/* Both options: one socket before a better balance, poor nodes lower the share. */
static void distribution_by_socket_in_1_37(void **state)
{
	/* Sockets 0 and 1 of two nodes: CPUs 0-7, 8-15 and 16-23, 24-31. */
	struct topology *topology cleanup_topology = make_regular(2, 2, 4, 1);

	(void)state;
	/* Nodes 0 and 2 are the fullest, but lie in two sockets. */
	DISTRIBUTED(topology, "0-7,8-12,16-23", 10, "0-4,16-20", KUBELET);
	DISTRIBUTED(topology, "0-7,8-12,16-23", 10, "0-4,8-12", KUBELET_1_37);
	DISTRIBUTED(topology, "0-7,8-12,16-23", 10, "0-4,16-20",
		    .compatibility = COMPATIBILITY_KUBELET_1_37);
	/* Two nodes that cross sockets still go before three nodes. */
	DISTRIBUTED(topology, "0-7,8-9,16-23,24-25", 14, "0-6,16-22", KUBELET_1_37);
	/* Node 1 has 2 of 5: its combination is not thrown out, and node 0 supplies the rest. */
	DISTRIBUTED(topology, "0-7,8-9", 10, "0-9", KUBELET_1_37);
	DISTRIBUTED(topology, "0-7,8-9,16-22,24-26", 9, "0-4,16-19", KUBELET);
	DISTRIBUTED(topology, "0-7,8-9,16-22,24-26", 9, "0-6,8-9", KUBELET_1_37);
	/* In groups of two, node 1's five CPUs limit the share to four. */
	DISTRIBUTED(topology, "0-7,8-12", 12, "0-11", KUBELET_1_37, .group = 2);
}

#define IMPROVED .compatibility = COMPATIBILITY_IMPROVED

/* F9: part of a cache that is not an exact match. */
static void part_of_a_cache(void **state)
{
	/* Two nodes of 16 CPUs; caches of four: 0-3, 4-7, …, 28-31. */
	struct topology *topology cleanup_topology = make_regular(1, 2, 8, 4);
	/* One node, caches 0-7 and 8-15. */
	struct topology *two cleanup_topology = make_regular(1, 1, 8, 2);

	(void)state;
	/* The two lowest cores of 8-15 have three CPUs, not four. */
	PACKED(two, "1-3,9-13", 4, "2-3,10-11", .uncore = true);
	PACKED(two, "1-3,9-13", 4, "10-13", .uncore = true, IMPROVED);
	/* Node 0 could hold it, but only in two caches. */
	PACKED(topology, "5,7-9,16-31", 3, "16-18", .uncore = true, IMPROVED);
	/* The cache with the fewest free CPUs that suffice, whole cores first. */
	PACKED(topology, "0,2-3,4-7,16-31", 2, "2-3", .uncore = true, IMPROVED);
	PACKED(topology, "0-6,16-31", 3, "4-6", .uncore = true, IMPROVED);
	PACKED(topology, "0-2,4-7,16-31", 3, "0-2", .uncore = true, IMPROVED);
	/* Node 0 would give six out of four caches, node 1 out of three. */
	PACKED(topology, "0-2,4,8,12,16-17,20-21,24-25", 6, "16-17,20-21,24-25", .uncore = true,
	       IMPROVED);
	/* None can hold five: one whole cache, then part of another one in the same node. */
	PACKED(topology, "0-31", 5, "0-4", .uncore = true, IMPROVED);
	/* Three of three caches' CPUs each: two caches are enough. */
	PACKED(topology, "0-2,4-5,8-10,12-13", 6, "0-2,8-10", .uncore = true, IMPROVED);
	/* Groups of two: 0 and 4 are halves of cores and cannot be used. */
	PACKED(topology, "0,2-4,6-7,8-9", 4, "2-3,6-7", .uncore = true, .group = 2, IMPROVED);
	/* Not enough whole cores: as without caches. */
	PACKED(topology, "0,2,4,6", 2, "0,2", .uncore = true, .group = 2, IMPROVED);
}

/* F10: siblings have adjacent numbers here. */
static void spread_goes_by_core(void **state)
{
	/* Caches 4-7 and 0-3. */
	static const struct topology_cpu turned[] = {{0, 0, 0, 0, 1}, {1, 0, 0, 0, 1},
						     {2, 2, 0, 0, 1}, {3, 2, 0, 0, 1},
						     {4, 4, 0, 0, 0}, {5, 4, 0, 0, 0},
						     {6, 6, 0, 0, 0}, {7, 6, 0, 0, 0}};
	/* Two sockets of one node each; caches 0-7, 8-15 and 16-23, 24-31. */
	struct topology *topology cleanup_topology = make_regular(2, 1, 8, 2);

	(void)state;
	PACKED(topology, "0-31", 4, "0-3", .sorting = TAKE_SPREAD);
	/* Each cache in turn, each time another core. */
	PACKED(topology, "0-31", 4, "0,2,8,10", .sorting = TAKE_SPREAD, IMPROVED);
	/* Idle cores before cores with a busy thread, whatever their cache. */
	PACKED(topology, "1,4-7,9", 3, "1,4-5", .sorting = TAKE_SPREAD);
	PACKED(topology, "1,4-7,9", 3, "4,6,9", .sorting = TAKE_SPREAD, IMPROVED);
	/* Socket 0 has fewer free, but would have to give both threads of a core. */
	PACKED(topology, "0-3,16-31", 3, "16,18,24", .sorting = TAKE_SPREAD, IMPROVED);
	PACKED(topology, "0-3,16-31", 2, "0,2", .sorting = TAKE_SPREAD, IMPROVED);
	/* Socket 0 has three threads free, on cores that are already busy. */
	PACKED(topology, "0,2,4,16-21", 3, "16,18,20", .sorting = TAKE_SPREAD, IMPROVED);
	/* More CPUs than cores: the second threads of the first cores. */
	PACKED(topology, "0-15", 10, "0-2,4,6,8-10,12,14", .sorting = TAKE_SPREAD, IMPROVED);
	/* The lowest core goes first, not the cache of the lowest id; then the cache that gave less. */
	topology_free(topology);
	topology = make(turned, ARRAY_SIZE(turned));
	PACKED(topology, "0-7", 1, "0", .sorting = TAKE_SPREAD, IMPROVED);
	PACKED(topology, "0-7", 2, "0,4", .sorting = TAKE_SPREAD, IMPROVED);
	PACKED(topology, "0-7", 3, "0,2,4", .sorting = TAKE_SPREAD, IMPROVED);
}

/* What no node holds is taken in a socket: of those that cost the same the one with least free. */
static void improved_takes_stay_in_a_socket(void **state)
{
	/* Sockets 0-15 and 16-31, nodes of eight CPUs, caches of four. */
	struct topology *topology cleanup_topology = make_regular(2, 2, 4, 2);

	(void)state;
	PACKED(topology, "0-2,4-5,8-9,12-13,16-18,20-22,24-25", 7, "16-18,20-22,24", .uncore = true,
	       IMPROVED);
	PACKED(topology, "0,2,4,8,10,12,16,18,20,24,26", 4, "16,18,20,24", .sorting = TAKE_SPREAD,
	       IMPROVED);
	/* Nor does a socket hold it: the machine. */
	PACKED(topology, "0,2,4,16,18,20", 4, "0,4,16,20", .sorting = TAKE_SPREAD, IMPROVED);
}

/* F5: the alignment chose this many nodes. */
static void distributed_keeps_the_nodes(void **state)
{
	struct topology *topology cleanup_topology = make_regular(1, 4, 4, 1);

	(void)state;
	DISTRIBUTED(topology, "0-31", 12, "0-5,8-13", .min_nodes = 4);
	DISTRIBUTED(topology, "0-31", 12, "0-2,8-10,16-18,24-26", .min_nodes = 4, IMPROVED);
	DISTRIBUTED(topology, "0-31", 2, "0,8", .min_nodes = 3, IMPROVED);
	/* More nodes than have a free CPU, or a free group: as many as there are. */
	DISTRIBUTED(topology, "0-15", 4, "0-1,8-9", .min_nodes = 4, IMPROVED);
	DISTRIBUTED(topology, "0-31", 4, "0-1,8-9", .min_nodes = 4, .group = 2, IMPROVED);
	/* Four nodes cannot do it evenly; use the largest number that can. */
	DISTRIBUTED(topology, "0,8-31", 12, "8-11,16-19,24-27", .min_nodes = 4, IMPROVED);
}

/* F5: align-by-socket. */
static void distributed_stays_in_a_socket(void **state)
{
	/* Nodes of eight CPUs; sockets 0-15 and 16-31. */
	struct topology *topology cleanup_topology = make_regular(2, 2, 4, 1);

	(void)state;
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "8-12,24-28");
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "0-3,6,8-12", .by_socket = true,
		    IMPROVED);
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "8-12,24-28", .by_socket = true);
	DISTRIBUTED(topology, "0-6,8-15,16-22,24-31", 10, "8-12,24-28", IMPROVED);
	/* One socket cannot hold it. */
	DISTRIBUTED(topology, "0-31", 18, "0-5,8-13,16-21", .by_socket = true, IMPROVED);
}

/* Sockets beyond the 64 that have a bit cannot be told apart: then they do not count. */
/*
 * Three sockets of three nodes with three CPUs. The best eight nodes have two each, but the
 * enumeration replaces 9-11 by the node that has only CPU 22 (F1). What it lacks becomes
 * remainder, of which the node that was replaced supplies one group.
 */
static void a_mixed_up_node_lowers_the_share_in_1_37(void **state)
{
	struct topology_cpu cpus[27];
	struct topology *topology cleanup_topology = NULL;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i, i / 9, i / 3, i / 9};
	topology = make(cpus, ARRAY_SIZE(cpus));
	DISTRIBUTED(topology, "0,2-3,5-12,14-16,18-20,22,24-26", 19,
		    "0,2-3,5-9,12,14-16,18-20,22,24-26", KUBELET_1_37);
}

/* 64 sockets, of which the first has two nodes and the last two have one together. */
static void sixty_four_sockets_do_count(void **state)
{
	struct topology_cpu cpus[MAX_CPUS];
	struct topology *topology cleanup_topology = NULL;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cpus); i++) {
		unsigned int node = i / 4, socket = node ? node - 1 : 0;

		cpus[i] = (struct topology_cpu){i, i, i < 254 ? socket : 63, node, node};
	}
	topology = make(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(topology->sockets.nr, 64);
	DISTRIBUTED(topology, "0-6,8-255", 6, "0-2,8-10", IMPROVED);
	DISTRIBUTED(topology, "0-6,8-255", 6, "0-2,4-6", .by_socket = true, IMPROVED);
}

static void more_sockets_than_bits_do_not_count(void **state)
{
	struct topology_cpu cpus[65];
	struct topology *topology cleanup_topology = NULL;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i, i, i / 5, i};
	topology = make(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(topology->sockets.nr, 65);
	DISTRIBUTED(topology, "0-64", 8, "0-3,5-8", IMPROVED);
	DISTRIBUTED(topology, "0-64", 8, "0-3,5-8", .by_socket = true, IMPROVED);
}

static void node_order(void **state)
{
	struct topology *topology cleanup_topology = make_regular(2, 2, 4, 1);
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

/* Node 0 is below both sockets, and still one node. */
static void each_node_is_listed_once(void **state)
{
	static const struct topology_cpu crossing[] = {
		{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}, {2, 2, 0, 1, 1}, {3, 3, 1, 2, 2}};
	struct topology *topology cleanup_topology = make(crossing, ARRAY_SIZE(crossing));
	uint16_t nodes[TOPOLOGY_MAX_NODES];

	(void)state;
	assert_int_equal(take_node_order(topology, &topology->all, nodes), 3);
	assert_int_equal(nodes[0], 1);
	assert_int_equal(nodes[1], 0);
	assert_int_equal(nodes[2], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_order),
		cmocka_unit_test(spread_goes_by_number),
		cmocka_unit_test(uncore_is_filled_or_left),
		cmocka_unit_test(more_cores_than_cpus),
		cmocka_unit_test(distributed_is_even),
		cmocka_unit_test(distributed_over_no_fewer_than_the_average),
		cmocka_unit_test(defect_combination),
		cmocka_unit_test(defect_combination_of_the_rest),
		cmocka_unit_test(defect_average),
		cmocka_unit_test(defect_hang),
		cmocka_unit_test(defect_listed_twice),
		cmocka_unit_test(defect_node_listed_twice),
		cmocka_unit_test(defect_single_cpu_listed_twice),
		cmocka_unit_test(distribution_by_socket_in_1_37),
		cmocka_unit_test(part_of_a_cache),
		cmocka_unit_test(spread_goes_by_core),
		cmocka_unit_test(improved_takes_stay_in_a_socket),
		cmocka_unit_test(distributed_keeps_the_nodes),
		cmocka_unit_test(distributed_stays_in_a_socket),
		cmocka_unit_test(a_mixed_up_node_lowers_the_share_in_1_37),
		cmocka_unit_test(sixty_four_sockets_do_count),
		cmocka_unit_test(more_sockets_than_bits_do_not_count),
		cmocka_unit_test(node_order),
		cmocka_unit_test(each_node_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
