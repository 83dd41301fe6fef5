// SPDX-License-Identifier: Apache-2.0
/*
 * Converts facts about a machine to dense indexes, CPU sets per level, and the counts and
 * averages that the kubelet uses to define "whole". Reads no files; user/machine supplies
 * the facts.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/topology/topology.h"

static int refuse(char *error, size_t error_size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, size_t error_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, error_size, format, args);
	va_end(args);
	return -EINVAL;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sort in place and remove duplicates. Returns the number of ids left. */
static uint32_t sort_unique(uint32_t *ids, uint32_t nr)
{
	uint32_t kept = 0;

	qsort(ids, nr, sizeof(*ids), compare_ids);
	for (uint32_t i = 0; i < nr; i++) {
		if (kept == 0 || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	}
	return kept;
}

/* `ids` are ascending and contain `id`. */
static uint32_t index_of(const uint32_t *ids, uint32_t nr, uint32_t id)
{
	uint32_t low = 0, high = nr - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int check_cpu(const struct topology_cpu *cpu, struct cpuset *seen, char *error,
		     size_t error_size)
{
	if (cpu->id >= CPUSET_MAX)
		return refuse(error, error_size,
			      "CPU %u: the id is too large; pinfold handles CPUs 0 to %d", cpu->id,
			      CPUSET_MAX - 1);
	if (cpuset_has(seen, cpu->id))
		return refuse(error, error_size, "CPU %u is listed twice; list each CPU once",
			      cpu->id);
	if (cpu->node >= CPUSET_MAX)
		return refuse(error, error_size,
			      "CPU %u: NUMA node id %u is too large; it must be below %d", cpu->id,
			      cpu->node, CPUSET_MAX);
	if (cpu->core > TOPOLOGY_MAX_ID || cpu->socket > TOPOLOGY_MAX_ID ||
	    cpu->uncore > TOPOLOGY_MAX_ID)
		return refuse(error, error_size, "CPU %u: core, socket or uncore id is above %d",
			      cpu->id, TOPOLOGY_MAX_ID);
	cpuset_add(seen, cpu->id);
	return 0;
}

static int check_cpus(const struct topology_facts *facts, struct cpuset *ret_all, char *error,
		      size_t error_size)
{
	struct cpuset all = CPUSET_EMPTY;

	if (facts->nr_cpus == 0)
		return refuse(error, error_size, "the machine has no CPU; the topology is empty");
	/* This loop ends after at most CPUSET_MAX + 1 rounds, because an id must repeat by then. */
	for (size_t i = 0; i < facts->nr_cpus; i++) {
		int r = check_cpu(&facts->cpus[i], &all, error, error_size);

		if (r < 0)
			return r;
	}
	*ret_all = all;
	return 0;
}

static uint32_t core_id(const struct topology_cpu *cpu)
{
	return cpu->core;
}

static uint32_t uncore_id(const struct topology_cpu *cpu)
{
	return cpu->uncore;
}

static uint32_t node_id(const struct topology_cpu *cpu)
{
	return cpu->node;
}

static uint32_t socket_id(const struct topology_cpu *cpu)
{
	return cpu->socket;
}

static int build_level(const struct topology_facts *facts, uint32_t nr_cpu_ids,
		       uint32_t (*id_of)(const struct topology_cpu *cpu),
		       struct topology_level *level, uint32_t **ret_index_of_cpu)
{
	uint32_t nr = (uint32_t)facts->nr_cpus;

	level->ids = calloc(nr, sizeof(*level->ids));
	*ret_index_of_cpu = calloc(nr_cpu_ids, sizeof(**ret_index_of_cpu));
	if (!level->ids || !*ret_index_of_cpu)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		level->ids[i] = id_of(&facts->cpus[i]);
	level->nr = sort_unique(level->ids, nr);
	level->cpus = calloc(level->nr, sizeof(*level->cpus));
	level->nr_cpus = calloc(level->nr, sizeof(*level->nr_cpus));
	if (!level->cpus || !level->nr_cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct topology_cpu *cpu = &facts->cpus[i];
		uint32_t index = index_of(level->ids, level->nr, id_of(cpu));

		cpuset_add(&level->cpus[index], cpu->id);
		level->nr_cpus[index]++;
		(*ret_index_of_cpu)[cpu->id] = index;
	}
	return 0;
}

static int build_levels(const struct topology_facts *facts, struct topology *topology)
{
	const struct {
		uint32_t (*id_of)(const struct topology_cpu *cpu);
		struct topology_level *level;
		uint32_t **index_of_cpu;
	} levels[] = {
		{core_id, &topology->cores, &topology->core_of},
		{uncore_id, &topology->uncores, &topology->uncore_of},
		{node_id, &topology->nodes, &topology->node_of},
		{socket_id, &topology->sockets, &topology->socket_of},
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		int r = build_level(facts, topology->nr_cpu_ids, levels[i].id_of, levels[i].level,
				    levels[i].index_of_cpu);

		if (r < 0)
			return r;
	}
	return 0;
}

static int check_cores(const struct topology *topology, char *error, size_t error_size)
{
	for (uint32_t core = 0; core < topology->cores.nr; core++) {
		const struct cpuset *cpus = &topology->cores.cpus[core];
		unsigned int first = cpuset_next(cpus, 0);

		cpuset_for_each (cpu, cpus) {
			const char *what = NULL;

			if (topology->socket_of[cpu] != topology->socket_of[first])
				what = "sockets";
			else if (topology->node_of[cpu] != topology->node_of[first])
				what = "NUMA nodes";
			else if (topology->uncore_of[cpu] != topology->uncore_of[first])
				what = "uncore caches";
			if (what)
				return refuse(error, error_size,
					      "core %u has CPUs %u and %u in different %s; core "
					      "ids must be unique machine-wide",
					      topology->cores.ids[core], first, cpu, what);
		}
	}
	return 0;
}

static uint32_t counted(uint32_t given, uint32_t count)
{
	return given == TOPOLOGY_COUNTED ? count : given;
}

static uint32_t average(uint32_t total, uint32_t parts)
{
	return parts ? total / parts : 0;
}

static void fill_counts(const struct topology_facts *facts, struct topology *topology)
{
	topology->num_cpus = counted(facts->num_cpus, (uint32_t)facts->nr_cpus);
	topology->num_cores = counted(facts->num_cores, topology->cores.nr);
	topology->num_sockets = counted(facts->num_sockets, topology->sockets.nr);
	topology->num_nodes = counted(facts->num_nodes, topology->nodes.nr);
	topology->num_uncores = counted(facts->num_uncores, topology->uncores.nr);
	topology->cpus_per_core = average(topology->num_cpus, topology->num_cores);
	topology->cpus_per_socket = average(topology->num_cpus, topology->num_sockets);
	topology->cpus_per_uncore = average(topology->num_cpus, topology->num_uncores);
}

static int check_nodes(const struct topology_facts *facts, const struct topology *topology,
		       char *error, size_t error_size)
{
	struct cpuset seen = CPUSET_EMPTY;

	for (size_t i = 0; i < facts->nr_nodes; i++) {
		uint32_t id = facts->nodes[i].id;

		if (id >= CPUSET_MAX)
			return refuse(error, error_size,
				      "NUMA node id %u is too large; it must be below %d", id,
				      CPUSET_MAX);
		if (cpuset_has(&seen, id))
			return refuse(error, error_size,
				      "NUMA node %u is listed twice; list each node once", id);
		if (facts->nodes[i].nr_hugepages > TOPOLOGY_MAX_HUGEPAGES)
			return refuse(error, error_size,
				      "NUMA node %u has %u huge page sizes; at most %d are "
				      "handled",
				      id, facts->nodes[i].nr_hugepages, TOPOLOGY_MAX_HUGEPAGES);
		cpuset_add(&seen, id);
	}
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		cpuset_add(&seen, topology->nodes.ids[i]);
	if (cpuset_count(&seen) > TOPOLOGY_MAX_NODES)
		return refuse(error, error_size,
			      "the machine has %u NUMA nodes; at most %d are handled",
			      cpuset_count(&seen), TOPOLOGY_MAX_NODES);
	return 0;
}

/* Add every node that has CPUs, memory or both; nr_memory_nodes <= 64 has been checked. */
static int build_memory(const struct topology_facts *facts, struct topology *topology)
{
	uint32_t ids[2 * TOPOLOGY_MAX_NODES];
	uint32_t nr = 0;

	for (size_t i = 0; i < facts->nr_nodes; i++)
		ids[nr++] = facts->nodes[i].id;
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		ids[nr++] = topology->nodes.ids[i];
	nr = sort_unique(ids, nr);
	topology->nr_memory_nodes = nr;
	topology->memory_nodes = calloc(nr, sizeof(*topology->memory_nodes));
	topology->memory_index = calloc(topology->nodes.nr, sizeof(*topology->memory_index));
	if (!topology->memory_nodes || !topology->memory_index)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		topology->memory_nodes[i].id = ids[i];
	for (size_t i = 0; i < facts->nr_nodes; i++)
		topology->memory_nodes[index_of(ids, nr, facts->nodes[i].id)] = facts->nodes[i];
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		topology->memory_index[i] = index_of(ids, nr, topology->nodes.ids[i]);
	return 0;
}

/* Reorder the distances from the order of the facts to memory indexes. Unknown pairs stay 0. */
static int build_distances(const struct topology_facts *facts, struct topology *topology)
{
	uint32_t nr = topology->nr_memory_nodes;
	uint32_t index[TOPOLOGY_MAX_NODES];

	if (!facts->distances || facts->nr_nodes == 0)
		return 0;
	topology->distances = calloc((size_t)nr * nr, sizeof(*topology->distances));
	if (!topology->distances)
		return -ENOMEM;
	for (size_t i = 0; i < facts->nr_nodes; i++) {
		uint32_t at = 0;

		while (topology->memory_nodes[at].id != facts->nodes[i].id)
			at++;
		index[i] = at;
	}
	for (size_t i = 0; i < facts->nr_nodes; i++) {
		for (size_t j = 0; j < facts->nr_nodes; j++)
			topology->distances[index[i] * nr + index[j]] =
				facts->distances[i * facts->nr_nodes + j];
	}
	return 0;
}

static int fill(const struct topology_facts *facts, struct topology *topology, char *error,
		size_t error_size)
{
	int r;

	r = check_cpus(facts, &topology->all, error, error_size);
	if (r < 0)
		return r;
	topology->nr_cpu_ids = topology->all.nr_words * CPUSET_WORD_BITS;
	r = build_levels(facts, topology);
	if (r < 0)
		return r;
	if (!facts->split_cores) {
		r = check_cores(topology, error, error_size);
		if (r < 0)
			return r;
	}
	r = check_nodes(facts, topology, error, error_size);
	if (r < 0)
		return r;
	fill_counts(facts, topology);
	r = build_memory(facts, topology);
	if (r < 0)
		return r;
	return build_distances(facts, topology);
}

int topology_new(const struct topology_facts *facts, char *error, size_t error_size,
		 struct topology **ret_topology)
{
	struct topology *topology cleanup_topology = calloc(1, sizeof(*topology));
	int r;

	if (!topology)
		return -ENOMEM;
	r = fill(facts, topology, error, error_size);
	if (r < 0)
		return r;
	*ret_topology = TAKE_PTR(topology);
	return 0;
}

static void level_fini(struct topology_level *level)
{
	free(level->ids);
	free(level->cpus);
	free(level->nr_cpus);
}

void topology_free(struct topology *topology)
{
	if (!topology)
		return;
	level_fini(&topology->cores);
	level_fini(&topology->uncores);
	level_fini(&topology->nodes);
	level_fini(&topology->sockets);
	free(topology->core_of);
	free(topology->uncore_of);
	free(topology->node_of);
	free(topology->socket_of);
	free(topology->memory_nodes);
	free(topology->memory_index);
	free(topology->distances);
	free(topology);
}

void topology_cpus_of_nodes(const struct topology *topology, node_mask_t mask,
			    struct cpuset *ret_cpus)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (mask & (1ULL << i))
			cpuset_union(&cpus, &topology->nodes.cpus[i]);
	}
	*ret_cpus = cpus;
}

void topology_mems_of_mask(const struct topology *topology, node_mask_t memory_mask,
			   struct cpuset *ret_ids)
{
	struct cpuset ids = CPUSET_EMPTY;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		if (memory_mask & (1ULL << i))
			cpuset_add(&ids, topology->memory_nodes[i].id);
	}
	*ret_ids = ids;
}

node_mask_t topology_memory_of_cpus(const struct topology *topology, const struct cpuset *cpus)
{
	node_mask_t mask = 0;

	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (cpuset_intersects(&topology->nodes.cpus[i], cpus))
			mask |= 1ULL << topology->memory_index[i];
	}
	return mask;
}

node_mask_t topology_mask_of_mems(const struct topology *topology, const struct cpuset *ids)
{
	node_mask_t mask = 0;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		if (cpuset_has(ids, topology->memory_nodes[i].id))
			mask |= 1ULL << i;
	}
	return mask;
}

node_mask_t topology_to_memory_mask(const struct topology *topology, node_mask_t nodes)
{
	node_mask_t mask = 0;

	if (topology->nr_memory_nodes == topology->nodes.nr)
		return nodes;
	for (; nodes; nodes &= nodes - 1)
		mask |= (node_mask_t)1 << topology->memory_index[__builtin_ctzll(nodes)];
	return mask;
}

node_mask_t topology_to_cpu_mask(const struct topology *topology, node_mask_t memory_mask)
{
	node_mask_t nodes = 0;

	if (topology->nr_memory_nodes == topology->nodes.nr)
		return memory_mask;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (memory_mask >> topology->memory_index[i] & 1)
			nodes |= (node_mask_t)1 << i;
	}
	return nodes;
}

void topology_cores_of_cpus(const struct topology *topology, const struct cpuset *cpus,
			    struct cpuset *ret_cpus)
{
	struct cpuset wide = CPUSET_EMPTY;

	cpuset_for_each (cpu, cpus)
		cpuset_union(&wide, &topology->cores.cpus[topology->core_of[cpu]]);
	*ret_cpus = wide;
}

static int compare_descending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

uint32_t topology_fewest_nodes(const struct topology *topology, uint32_t nr_cpus)
{
	const struct topology_level *nodes = &topology->nodes;
	uint32_t sizes[TOPOLOGY_MAX_NODES];
	uint64_t sum = 0;

	memcpy(sizes, nodes->nr_cpus, nodes->nr * sizeof(sizes[0]));
	qsort(sizes, nodes->nr, sizeof(sizes[0]), compare_descending);
	for (uint32_t i = 0; i < nodes->nr; i++) {
		sum += sizes[i];
		if (sum >= nr_cpus)
			return i + 1;
	}
	return nodes->nr;
}

int64_t topology_free_hugepages(const struct topology_node *node, uint64_t page_bytes)
{
	for (uint32_t i = 0; page_bytes && i < node->nr_hugepages; i++)
		if (node->hugepages[i].size_bytes == page_bytes &&
		    node->hugepages[i].free_pages != UINT64_MAX)
			return (int64_t)(node->hugepages[i].free_pages * page_bytes);
	return -1;
}
