// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * What must hold for every take on every machine: candidates only, the exact
 * count, the same answer twice, a refusal exactly when there are too few CPUs.
 * In kubelet-1.36 compatibility only that an answer comes, made of CPUs that exist.
 *
 * Random machines of 1 to 16 NUMA nodes (a few of up to 64), 1 to 8 threads per core, uneven cores,
 * offline CPUs, sparse ids, caches and sockets that span nodes. PINFOLD_STEPS sets
 * the number of takes, PINFOLD_SEED repeats a run.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/cpu/take.h"

#define DEFAULT_STEPS	  60000
#define STEPS_PER_MACHINE 60
#define MAX_CPUS	  (16 * 6 * 8)

static uint64_t seed, start_seed;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

static bool chance(uint32_t percent)
{
	return draw(100) < percent;
}

struct shape {
	uint32_t nr_nodes, threads, nodes_per_socket, nr_uncores;
	bool sparse, shared_uncores, single_socket;
	uint32_t offline_percent;
};

static struct shape draw_shape(void)
{
	/* Few machines are larger than the limit of the exact distributed search. */
	bool large = chance(5);

	return (struct shape){
		.nr_nodes = large ? 17 + draw(48) : 1 + draw(16),
		.threads = 1 + draw(large ? 2 : 8),
		.nodes_per_socket = 1 + draw(4),
		.nr_uncores = 1 + draw(3),
		.sparse = chance(50),
		.shared_uncores = chance(25),
		.single_socket = chance(15),
		.offline_percent = chance(50) ? 0 : draw(40),
	};
}

/* Threads of a core are `stride` apart: 1 puts siblings side by side. */
static void number_cpus(struct topology_cpu *cpus, uint32_t nr)
{
	bool shuffled = chance(50);

	for (uint32_t i = 0; i < nr; i++)
		cpus[i].id = i;
	for (uint32_t i = nr; shuffled && i-- > 1;) {
		uint32_t j = draw(i + 1), id = cpus[i].id;

		cpus[i].id = cpus[j].id;
		cpus[j].id = id;
	}
}

/* Core ids as the kubelet gives them: the lowest CPU of the core. `core` holds an ordinal. */
static void name_cores(struct topology_cpu *cpus, uint32_t nr)
{
	uint32_t lowest[MAX_CPUS];

	memset(lowest, 0xff, sizeof(lowest));
	for (uint32_t i = 0; i < nr; i++) {
		if (cpus[i].id < lowest[cpus[i].core])
			lowest[cpus[i].core] = cpus[i].id;
	}
	for (uint32_t i = 0; i < nr; i++)
		cpus[i].core = lowest[cpus[i].core];
}

static struct topology *draw_machine(void)
{
	struct shape shape = draw_shape();
	struct topology_cpu cpus[MAX_CPUS];
	struct topology_facts facts = {
		.cpus = cpus,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology;
	uint32_t nr = 0, core = 0, kept = 0;
	char error[256];

	for (uint32_t node = 0; node < shape.nr_nodes; node++) {
		uint32_t nr_cores = 1 + draw(6);

		for (uint32_t i = 0; i < nr_cores; i++, core++) {
			uint32_t threads = chance(15) ? 1 + draw(shape.threads) : shape.threads;
			uint32_t socket = shape.single_socket ? 0 : node / shape.nodes_per_socket;
			uint32_t uncore = i % shape.nr_uncores;

			/* Shared: a cache spans two neighbouring nodes. */
			uncore += (shape.shared_uncores ? node / 2 : node) * shape.nr_uncores;
			for (uint32_t t = 0; t < threads; t++)
				cpus[nr++] = (struct topology_cpu){
					0, core, socket, shape.sparse ? node * 3 + 1 : node,
					uncore};
		}
	}
	number_cpus(cpus, nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (!chance(shape.offline_percent) || (i + 1 == nr && kept == 0))
			cpus[kept++] = cpus[i];
	}
	name_cores(cpus, kept);
	facts.nr_cpus = kept;
	if (topology_new(&facts, error, sizeof(error), &topology) < 0)
		fail_msg("seed %" PRIu64 ": %s", start_seed, error);
	return topology;
}

/* The whole machine, all except a few CPUs, or any subset. */
static struct cpuset draw_free(const struct topology *topology)
{
	uint32_t percent = draw(101);
	struct cpuset set = topology->all;

	if (chance(20))
		return set;
	if (chance(40)) {
		for (uint32_t n = 1 + draw(12); n > 0; n--)
			cpuset_remove(&set, draw(topology->nr_cpu_ids));
		return set;
	}
	cpuset_for_each (cpu, &topology->all) {
		if (!chance(percent))
			cpuset_remove(&set, cpu);
	}
	return set;
}

static enum take_status run(const struct topology *topology, const struct cpuset *free,
			    unsigned int count, const struct take_options *options,
			    bool distributed, struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	return distributed ? take_distributed(topology, free, count, options, ret_cpus)
			   : take_packed(topology, free, count, options, ret_cpus);
}

static void explain(const struct topology *topology, const struct cpuset *free, unsigned int count,
		    const struct take_options *options, bool distributed)
{
	char text[8192];

	cpuset_format(free, text, sizeof(text));
	print_error("seed %" PRIu64 ": %s take of %u out of %s (group %u, sorting %d, uncore %d, "
		    "compatibility %d)\n",
		    start_seed, distributed ? "distributed" : "packed", count, text, options->group,
		    options->sorting, options->uncore, options->compatibility);
	cpuset_for_each (cpu, &topology->all)
		print_error("[%u,%u,%u,%u,%u]", cpu, topology->cores.ids[topology->core_of[cpu]],
			    topology->sockets.ids[topology->socket_of[cpu]],
			    topology->nodes.ids[topology->node_of[cpu]],
			    topology->uncores.ids[topology->uncore_of[cpu]]);
	print_error("\n");
}

static bool holds(const struct topology *topology, const struct cpuset *free, unsigned int count,
		  const struct take_options *options, bool distributed, unsigned int *nr_taken)
{
	unsigned int nr_free = cpuset_count(free);
	struct cpuset cpus, again;
	enum take_status status = run(topology, free, count, options, distributed, &cpus);

	if (run(topology, free, count, options, distributed, &again) != status ||
	    !cpuset_equal(&cpus, &again))
		return false;
	*nr_taken += status == TAKE_OK;
	if (compatibility_is_kubelet(options->compatibility))
		return status < TAKE_STATUS_NR && cpuset_is_subset(&cpus, &topology->all) &&
		       (status == TAKE_NOT_ENOUGH) == (count > nr_free);
	if (count > nr_free)
		return status == TAKE_NOT_ENOUGH;
	return status == TAKE_OK && cpuset_count(&cpus) == count && cpuset_is_subset(&cpus, free);
}

static uint64_t number_from(const char *name, uint64_t absent)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : absent;
}

static enum compatibility any_compatibility(void)
{
	if (chance(50))
		return COMPATIBILITY_REPAIRED;
	if (chance(50))
		return COMPATIBILITY_IMPROVED;
	return chance(50) ? COMPATIBILITY_KUBELET_1_36 : COMPATIBILITY_KUBELET_1_37;
}

static void takes_hold(void **state)
{
	uint64_t nr_steps = number_from("PINFOLD_STEPS", DEFAULT_STEPS);
	struct topology *topology = NULL;
	unsigned int nr_taken = 0;

	(void)state;
	for (uint64_t step = 0; step < nr_steps; step++) {
		struct take_options options = {
			.compatibility = any_compatibility(),
			.sorting = chance(75) ? TAKE_PACKED : TAKE_SPREAD,
			.uncore = chance(30),
			.group = 1 + draw(8),
			.min_nodes = draw(9),
			.by_socket = chance(30),
		};
		bool distributed = chance(50);
		struct cpuset free;
		unsigned int count;

		if (step % STEPS_PER_MACHINE == 0) {
			topology_free(topology);
			topology = draw_machine();
		}
		free = draw_free(topology);
		count = draw(cpuset_count(&free) + 1 + (chance(10) ? 10 : 0));
		if (chance(50))
			count = count / options.group * options.group;
		if (holds(topology, &free, count, &options, distributed, &nr_taken))
			continue;
		explain(topology, &free, count, &options, distributed);
		topology_free(topology);
		fail_msg("step %" PRIu64 " of seed %" PRIu64, step, start_seed);
	}
	topology_free(topology);
	print_message("%" PRIu64 " takes, %u of them answered with CPUs\n", nr_steps, nr_taken);
	assert_true(nr_taken >= nr_steps / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(takes_hold)};

	start_seed =
		number_from("PINFOLD_SEED", (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid());
	seed = start_seed ? start_seed : 1;
	print_message("seed %" PRIu64 " (PINFOLD_SEED repeats this run)\n", start_seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
