// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Cost of the takes and of merging hints. Sizes are those of the tables published for the kubelet:
 * two threads per core, the machine prebuilt, only the decision timed.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/align/align.h"
#include "core/cpu/take.h"

struct machine {
	unsigned int nr_cpus, nr_nodes;
	unsigned int cpus_per_uncore; /* 0: the cache is the whole node */
	unsigned int nodes_per_socket;
};

struct take_case {
	struct topology *topology;
	struct cpuset free;
	unsigned int count;
	struct take_options options;
	bool distributed;
};

/* Siblings are numbered n and n + nr_cpus / 2. */
static struct topology *make_topology(struct machine machine)
{
	struct topology_cpu *cpus = calloc(machine.nr_cpus, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = machine.nr_cpus,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "out of memory";

	for (unsigned int i = 0; cpus && i < machine.nr_cpus; i++) {
		unsigned int core = i % (machine.nr_cpus / 2);
		unsigned int node = core / (machine.nr_cpus / 2 / machine.nr_nodes);
		unsigned int uncore = machine.cpus_per_uncore ? core / (machine.cpus_per_uncore / 2)
							      : node;

		unsigned int socket = node / machine.nodes_per_socket;

		cpus[i] = (struct topology_cpu){i, core, socket, node, uncore};
	}
	if (!cpus || topology_new(&facts, error, sizeof(error), &topology) < 0) {
		fprintf(stderr, "bench_core: %s\n", error);
		exit(1);
	}
	free(cpus);
	return topology;
}

static void call_take(void *arg)
{
	struct take_case *take = arg;
	struct cpuset cpus;
	enum take_status status = take->distributed
					  ? take_distributed(take->topology, &take->free,
							     take->count, &take->options, &cpus)
					  : take_packed(take->topology, &take->free, take->count,
							&take->options, &cpus);

	/* An answer that is wrong must not be timed as if it were one. */
	if (status != TAKE_OK || cpuset_count(&cpus) != take->count) {
		fprintf(stderr, "bench_core: a take of %u CPUs failed: %s\n", take->count,
			take_status_name(status));
		exit(1);
	}
}

static void bench_packed(const char *name, struct machine machine, unsigned int count, bool uncore)
{
	struct topology *topology cleanup_topology = make_topology(machine);
	struct take_case take = {topology, topology->all, count, {.uncore = uncore}, false};
	char params[128];

	snprintf(params, sizeof(params),
		 "{\"cpus\": %u, \"nodes\": %u, \"want\": %u, \"uncore\": %s}", machine.nr_cpus,
		 machine.nr_nodes, count, uncore ? "true" : "false");
	bench_run(name, params, call_take, &take);
}

static void bench_packed_sizes(void)
{
	static const unsigned int sizes[] = {64, 256, 1024};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned int counts[] = {1, sizes[i] / 8, sizes[i] / 2 + 1};

		for (size_t j = 0; j < ARRAY_SIZE(counts); j++) {
			bench_packed("take_packed", (struct machine){sizes[i], 2, 0, 1}, counts[j],
				     false);
			bench_packed("take_packed_uncore", (struct machine){sizes[i], 2, 32, 1},
				     counts[j], true);
		}
	}
	bench_packed("take_packed_1_of_1024", (struct machine){1024, 2, 0, 1}, 1, false);
}

static void bench_distributed(const char *name, struct machine machine, struct cpuset free,
			      unsigned int count, unsigned int group)
{
	struct topology *topology cleanup_topology = make_topology(machine);
	struct take_case take = {topology, topology->all, count, {.group = group}, true};
	char params[128];

	cpuset_subtract(&take.free, &free);
	snprintf(params, sizeof(params),
		 "{\"cpus\": %u, \"nodes\": %u, \"want\": %u, \"group\": %u}", machine.nr_cpus,
		 machine.nr_nodes, count, group);
	bench_run(name, params, call_take, &take);
}

/* Groups of two, one core of node 0 missing. */
static void bench_distributed_sizes(void)
{
	static const struct {
		unsigned int nr_cpus, nr_nodes, nr_wanted;
	} cases[] = {
		{64, 2, 1},   {64, 4, 2},   {64, 4, 3},	  {64, 8, 4},	{64, 8, 7},    {256, 2, 1},
		{256, 4, 2},  {256, 4, 3},  {256, 8, 4},  {256, 8, 7},	{256, 16, 4},  {1024, 2, 1},
		{1024, 4, 2}, {1024, 4, 3}, {1024, 8, 4}, {1024, 8, 7}, {1024, 16, 8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine machine = {cases[i].nr_cpus, cases[i].nr_nodes, 0, 1};
		struct cpuset missing = CPUSET_EMPTY;

		cpuset_add(&missing, 0);
		cpuset_add(&missing, machine.nr_cpus / 2);
		bench_distributed("take_distributed", machine, missing,
				  machine.nr_cpus / machine.nr_nodes * cases[i].nr_wanted - 2, 2);
	}
}

/*
 * Half of the nodes wanted, no two of them equally free in a perfect way, and
 * one group less than the number of nodes to deal out.
 */
static void bench_distributed_worst(const char *name, unsigned int nr_cpus, unsigned int nr_nodes)
{
	struct machine machine = {nr_cpus, nr_nodes, 0, 1};
	unsigned int per_node = nr_cpus / nr_nodes, nr_wanted = nr_nodes / 2;
	unsigned int even = per_node > nr_wanted ? per_node - nr_wanted : 1;
	struct cpuset missing = CPUSET_EMPTY;

	/* Node n lacks n % 4 CPUs, so that every combination scores differently. */
	for (unsigned int node = 0; node < nr_nodes; node++) {
		for (unsigned int i = 0; i < node % 4 && per_node > 16; i++)
			cpuset_add(&missing, node * (per_node / 2) + i);
	}
	bench_distributed(name, machine, missing, even * nr_wanted + nr_wanted - 1, 1);
}

/*
 * The slowest problem that random search found: all nodes wanted, so unevenly
 * free that the best subset for the rest comes late in the kubelet's order.
 */
static void bench_distributed_hard(void)
{
	static const unsigned int free[] = {17, 20, 18, 22, 17, 22, 22, 30,
					    20, 23, 21, 18, 19, 19, 17, 18};
	struct machine machine = {1024, 16, 0, 1};
	struct cpuset missing = CPUSET_EMPTY;

	for (unsigned int node = 0; node < 16; node++) {
		for (unsigned int i = free[node]; i < 64; i++)
			cpuset_add(&missing, i < 32 ? node * 32 + i : 512 + node * 32 + i - 32);
	}
	bench_distributed("take_distributed_hard_16_nodes", machine, missing, 271, 1);
}

static void bench_improved(const char *name, struct machine machine, struct cpuset missing,
			   unsigned int count, struct take_options options)
{
	bool distributed = options.min_nodes || options.by_socket;
	struct topology *topology cleanup_topology = make_topology(machine);
	struct take_case take = {topology, topology->all, count, options, distributed};
	char params[128];

	take.options.compatibility = COMPATIBILITY_IMPROVED;
	cpuset_subtract(&take.free, &missing);
	snprintf(params, sizeof(params), "{\"cpus\": %u, \"nodes\": %u, \"want\": %u}",
		 machine.nr_cpus, machine.nr_nodes, count);
	bench_run(name, params, call_take, &take);
}

/* What compatibility improved does otherwise, where it has most to look at. */
static void bench_improvements(void)
{
	struct machine caches = {1024, 8, 16, 4}, sockets = {1024, 16, 0, 2};
	struct machine many = {4096, 64, 0, 2};
	struct cpuset one_of_each = CPUSET_EMPTY, uneven = CPUSET_EMPTY, more = CPUSET_EMPTY;

	/* No cache is whole, so each of the 64 is a part. */
	for (unsigned int cpu = 0; cpu < 512; cpu += 8)
		cpuset_add(&one_of_each, cpu);
	bench_improved("take_improved_caches", caches, one_of_each, 480,
		       (struct take_options){.uncore = true, .group = 1});
	bench_improved("take_improved_caches", caches, one_of_each, 1,
		       (struct take_options){.uncore = true, .group = 1});
	bench_improved("take_improved_cores", caches, one_of_each, 480,
		       (struct take_options){.sorting = TAKE_SPREAD});
	bench_improved("take_improved_cores", caches, one_of_each, 1,
		       (struct take_options){.sorting = TAKE_SPREAD});
	/* One CPU more than six sockets have, so every smaller number of sockets fails first. */
	for (unsigned int node = 0; node < 16; node++) {
		for (unsigned int i = 0; i < node % 4; i++)
			cpuset_add(&uneven, node * 32 + i);
	}
	bench_improved("take_improved_sockets_16_nodes", sockets, uneven, 12 * 62 + 7,
		       (struct take_options){.by_socket = true, .min_nodes = 13});
	for (unsigned int node = 0; node < 64; node++) {
		for (unsigned int i = 0; i < node % 8; i++)
			cpuset_add(&more, node * 32 + i);
	}
	bench_improved("take_improved_sockets_64_nodes", many, more, 48 * 60 + 7,
		       (struct take_options){.by_socket = true, .min_nodes = 49});
}

struct merge_case {
	struct align_problem problem;
	bool admitted;
	struct hint_list lists[3];
	struct hint *hints;
};

static void call_merge(void *arg)
{
	struct merge_case *merge = arg;
	struct alignment alignment;

	if (align_merge(&merge->problem, &alignment) < 0 || alignment.admitted != merge->admitted) {
		fprintf(stderr, "bench_core: a merge gave the wrong answer\n");
		exit(1);
	}
}

/*
 * Three providers that offer every mask, as on an idle machine. Found: all prefer
 * single nodes. Worst: no two prefer the same, so every intersection counts.
 */
static void bench_merge(const char *name, unsigned int nr_nodes, bool found)
{
	uint32_t nr_masks = (1U << nr_nodes) - 1;
	struct merge_case merge = {.admitted = found};
	char params[64];

	merge.hints = calloc(3 * (size_t)nr_masks, sizeof(*merge.hints));
	if (!merge.hints)
		exit(1);
	for (uint32_t i = 0; i < 3; i++) {
		struct hint *hints = merge.hints + i * nr_masks;

		for (uint32_t mask = 1; mask <= nr_masks; mask++)
			hints[mask - 1] = (struct hint){
				.nodes = mask,
				.preferred = found ? (mask & (mask - 1)) == 0 : mask == 1U << i};
		merge.lists[i] = (struct hint_list){nr_masks, hints};
	}
	merge.problem = (struct align_problem){.policy = ALIGN_RESTRICTED,
					       .nr_nodes = nr_nodes,
					       .nr_lists = 3,
					       .lists = merge.lists};
	snprintf(params, sizeof(params), "{\"nodes\": %u, \"providers\": 3}", nr_nodes);
	bench_run(name, params, call_merge, &merge);
	free(merge.hints);
}

/*
 * All sets of more than half of the nodes but the one that would win: it lies below
 * hints of every list, so only counting can tell whether some of them give it.
 */
static void bench_merge_counted(unsigned int nr_nodes, unsigned int nr_lists, bool closest)
{
	uint32_t distances[16 * 16], lowest = (1U << (nr_nodes / 2 + 1)) - 1, nr = 0;
	struct merge_case merge = {.admitted = false};
	struct hint *hints = calloc((size_t)1 << nr_nodes, sizeof(*hints));
	char params[96];

	if (!hints)
		exit(1);
	for (unsigned int i = 0; i < nr_nodes * nr_nodes; i++)
		distances[i] = 10 + i * 7 % 5 * (i / nr_nodes != i % nr_nodes);
	for (uint32_t mask = 1; mask < 1U << nr_nodes; mask++) {
		if (__builtin_popcount(mask) > (int)nr_nodes / 2 && mask != lowest)
			hints[nr++].nodes = mask;
	}
	for (uint32_t i = 0; i < nr_lists; i++)
		merge.lists[i] = (struct hint_list){nr - i, hints + i};
	merge.problem = (struct align_problem){.policy = ALIGN_RESTRICTED,
					       .prefer_closest = closest,
					       .nr_nodes = nr_nodes,
					       .distances = distances,
					       .nr_lists = nr_lists,
					       .lists = merge.lists};
	snprintf(params, sizeof(params), "{\"nodes\": %u, \"providers\": %u, \"closest\": %s}",
		 nr_nodes, nr_lists, closest ? "true" : "false");
	bench_run("merge_counted", params, call_merge, &merge);
	free(hints);
}

static void bench_merges(void)
{
	static const unsigned int sizes[] = {2, 4, 12, 16};

	bench_merge("merge_restricted_8x3_found", 8, true);
	bench_merge("merge_restricted_8x3_worst", 8, false);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		bench_merge("merge_restricted_found", sizes[i], true);
		bench_merge("merge_restricted_worst", sizes[i], false);
	}
	for (unsigned int nr_lists = 2; nr_lists <= 3; nr_lists++) {
		bench_merge_counted(8, nr_lists, false);
		bench_merge_counted(16, nr_lists, false);
		bench_merge_counted(16, nr_lists, true);
	}
}

int main(void)
{
	static const unsigned int nodes[] = {2, 4, 6, 8, 10, 12, 16};

	bench_packed_sizes();
	bench_distributed_sizes();
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		bench_distributed_worst("take_distributed_worst", nodes[i] * 16, nodes[i]);
	bench_distributed_worst("take_distributed_worst", 256, 8);
	bench_distributed_worst("take_distributed_worst", 1024, 8);
	bench_distributed_worst("take_distributed_worst", 768, 12);
	bench_distributed_worst("take_distributed_worst_16_nodes_1024_cpus", 1024, 16);
	bench_distributed_hard();
	bench_distributed_worst("take_distributed_64_nodes", 4096, 64);
	bench_improvements();
	bench_merges();
	return 0;
}
