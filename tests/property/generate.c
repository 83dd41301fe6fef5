// SPDX-License-Identifier: Apache-2.0
/* Scenarios from a seed. The same seed makes the same scenario on every machine. */
#include "property.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ERROR_TEXT 256

static const uint64_t page_sizes[] = {UINT64_C(2) << 20, UINT64_C(1) << 30};

/* --- hardware --------------------------------------------------------------------------------- */

/* There are 2^n sets of nodes, so machines with many nodes are rare and have few CPUs per node. */
static uint32_t draw_nodes(struct chance *chance)
{
	uint32_t percent = chance_below(chance, 100);

	if (percent < 25)
		return 1;
	if (percent < 80)
		return 2 + chance_below(chance, 3);
	return percent < 98 ? 5 + chance_below(chance, 4) : 9 + chance_below(chance, 8);
}

static struct shape draw_shape(struct chance *chance)
{
	static const uint32_t threads[] = {1, 1, 2, 2, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8};
	struct shape shape = {
		.seed = chance_next(chance),
		.nr_nodes = draw_nodes(chance),
		.threads = threads[chance_below(chance, ARRAY_SIZE(threads))],
		.memory_only_nodes = chance_percent(chance, 15) ? 1 : 0,
		.node_stride = chance_percent(chance, 70) ? 1 : 2 + chance_below(chance, 3),
		.cpu_stride = chance_percent(chance, 85) ? 1 : 2,
		.offline_percent = chance_percent(chance, 30) ? 5 + chance_below(chance, 25) : 0,
		.uneven_percent = chance_percent(chance, 20) ? 10 + chance_below(chance, 60) : 0,
		.nr_page_sizes = chance_below(chance, ARRAY_SIZE(page_sizes) + 1),
		.adjacent = chance_percent(chance, 40),
		.has_distances = chance_percent(chance, 70),
	};

	shape.cores_per_node = 1 + chance_below(chance, 8);
	if (shape.nr_nodes * shape.cores_per_node * shape.threads < 4)
		shape.cores_per_node += 3;
	shape.nodes_per_socket = 1 + chance_below(chance, shape.nr_nodes);
	shape.cores_per_uncore = 1 + chance_below(chance, shape.cores_per_node + 1);
	return shape;
}

static void add_memory(const struct shape *shape, struct chance *chance, struct hardware *hardware)
{
	uint64_t gib = 2 + chance_below(chance, 15);
	struct topology_node *node = &hardware->nodes[hardware->nr_nodes];
	uint64_t pages_bytes = 0;

	node->id = hardware->nr_nodes++ * shape->node_stride;
	for (uint32_t i = 0; i < shape->nr_page_sizes; i++) {
		uint64_t bytes = chance_below(chance, 4) * (uint64_t)GIB;

		/* one node in six does not have the size */
		if (chance_percent(chance, 16))
			continue;
		node->hugepages[node->nr_hugepages++] =
			(struct hugepages){page_sizes[i], bytes / page_sizes[i], UINT64_MAX};
		pages_bytes += bytes;
	}
	node->memory_bytes = gib * (uint64_t)GIB + pages_bytes;
}

static void add_distances(struct chance *chance, struct hardware *hardware)
{
	uint32_t nr = hardware->nr_nodes;

	hardware->has_distances = true;
	for (uint32_t i = 0; i < nr; i++) {
		hardware->distances[i * nr + i] = 10;
		for (uint32_t j = 0; j < i; j++) {
			uint32_t distance = 11 + chance_below(chance, 4) * 10;

			hardware->distances[i * nr + j] = hardware->distances[j * nr + i] =
				distance;
		}
	}
}

static bool is_even(const struct shape *shape)
{
	/* A cache shared by cores of two nodes is listed with both. */
	return !shape->offline_percent && !shape->uneven_percent &&
	       shape->nr_nodes % shape->nodes_per_socket == 0 &&
	       shape->cores_per_node % shape->cores_per_uncore == 0;
}

void generate_hardware(const struct shape *shape, struct hardware *ret_hardware)
{
	uint32_t nr_cores = shape->nr_nodes * shape->cores_per_node;
	struct hardware *hardware = ret_hardware;
	struct chance chance = {shape->seed};
	bool is_small[MAX_CPUS] = {false};

	*hardware = (struct hardware){.threads = shape->threads, .is_even = is_even(shape)};
	for (uint32_t i = 0; i < shape->nr_nodes + shape->memory_only_nodes; i++)
		add_memory(shape, &chance, hardware);
	for (uint32_t core = 0; core < nr_cores; core++)
		is_small[core] = chance_percent(&chance, shape->uneven_percent);
	for (uint32_t i = 0; i < nr_cores * shape->threads; i++) {
		uint32_t core = shape->adjacent ? i / shape->threads : i % nr_cores;
		uint32_t thread = shape->adjacent ? i % shape->threads : i / nr_cores;
		uint32_t node = core / shape->cores_per_node;
		bool is_offline = chance_percent(&chance, shape->offline_percent);

		/* CPUs 0 to 2 stay online: one to reserve, two to grant */
		if (i > 2 && (is_offline || (is_small[core] && thread)))
			continue;
		hardware->cpus[hardware->nr_cpus++] = (struct topology_cpu){
			.id = i * shape->cpu_stride,
			.core = core * shape->cpu_stride,
			.node = node * shape->node_stride,
			.socket = node / shape->nodes_per_socket,
			.uncore = core / shape->cores_per_uncore,
		};
	}
	if (shape->has_distances)
		add_distances(&chance, hardware);
}

int hardware_topology(const struct hardware *hardware, const struct cpuset *offline,
		      struct topology **ret_topology)
{
	struct topology_cpu online[MAX_CPUS];
	struct topology_facts facts = {
		.cpus = online,
		.nodes = hardware->nodes,
		.nr_nodes = hardware->nr_nodes,
		.distances = hardware->has_distances ? hardware->distances : NULL,
		TOPOLOGY_COUNT_ALL,
	};
	char error[ERROR_TEXT];

	for (uint32_t i = 0; i < hardware->nr_cpus; i++) {
		if (!cpuset_has(offline, hardware->cpus[i].id))
			online[facts.nr_cpus++] = hardware->cpus[i];
	}
	return topology_new(&facts, error, sizeof(error), ret_topology);
}

/* --- policy ----------------------------------------------------------------------------------- */

static void draw_options(struct chance *chance, struct cpu_options *options)
{
	*options = (struct cpu_options){
		.full_pcpus_only = chance_percent(chance, 25),
		.distribute_across_numa = chance_percent(chance, 30),
		.distribute_across_cores = chance_percent(chance, 25),
		.align_by_socket = chance_percent(chance, 25),
		.prefer_uncore = chance_percent(chance, 30),
		.strict_reservation = chance_percent(chance, 60),
	};
}

static void draw_reservation(struct chance *chance, const struct hardware *hardware,
			     struct policy *policy)
{
	policy->reserved_mcpu = 1 + chance_below(chance, 2000);
	policy->has_reserved_list = chance_percent(chance, 40);
	for (uint32_t i = 0; policy->has_reserved_list && i < hardware->nr_cpus; i++) {
		if (chance_percent(chance, 8) || !i)
			cpuset_add(&policy->reserved_list, hardware->cpus[i].id);
	}
	if (!chance_percent(chance, 12))
		return;
	for (uint32_t i = 0; i < hardware->nr_cpus; i++) {
		if (chance_percent(chance, 15))
			cpuset_add(&policy->excluded, hardware->cpus[i].id);
	}
}

static void draw_memory(struct chance *chance, const struct hardware *hardware,
			struct policy *policy)
{
	if (chance_percent(chance, 45))
		return;
	policy->memory = MEMORY_POLICY_STATIC;
	for (uint32_t i = 0; i < hardware->nr_nodes; i++) {
		/* The kubelet requires at least one reserved CPU. */
		if (!i || chance_percent(chance, 40))
			policy->memory_reservations[policy->nr_memory_reservations++] =
				(struct memory_reservation){
					.node_id = hardware->nodes[i].id,
					.bytes = (uint64_t)(1 + chance_below(chance, 1024)) * MIB,
				};
	}
}

static struct policy draw_policy(struct chance *chance, const struct hardware *hardware)
{
	struct policy policy = policy_default();
	uint32_t mode = chance_below(chance, 100);

	policy.compatibility = mode < 70 ? COMPATIBILITY_REPAIRED
					 : 1 + chance_below(chance, COMPATIBILITY_NR - 1);
	draw_options(chance, &policy.cpu_options);
	draw_reservation(chance, hardware, &policy);
	draw_memory(chance, hardware, &policy);
	policy.align = chance_below(chance, ALIGN_NR);
	policy.scope = chance_below(chance, ALIGN_SCOPE_NR);
	policy.prefer_closest_nodes = chance_percent(chance, 25);
	policy.max_nodes = chance_percent(chance, 20) ? 16 + chance_below(chance, 49) : 0;
	policy.pod_level_managers = chance_percent(chance, 85);
	return policy;
}

/* Draw until the policy is valid on this machine; afterwards the CPU policy may become none. */
static struct policy draw_possible_policy(struct chance *chance, const struct hardware *hardware)
{
	struct topology *topology cleanup_topology = NULL;
	char error[ERROR_TEXT];

	if (hardware_topology(hardware, &CPUSET_EMPTY, &topology))
		abort();
	for (;;) {
		struct policy policy = draw_policy(chance, hardware);

		if (policy_check(&policy, topology, error, sizeof(error)))
			continue;
		if (chance_percent(chance, 8))
			policy.cpu = CPU_POLICY_NONE;
		return policy;
	}
}

void generate_scenario(uint64_t seed, struct scenario *ret_scenario)
{
	struct chance chance = {seed};
	struct hardware *hardware cleanup_free = malloc(sizeof(*hardware));

	if (!hardware)
		abort();
	ret_scenario->shape = draw_shape(&chance);
	generate_hardware(&ret_scenario->shape, hardware);
	ret_scenario->policy = draw_possible_policy(&chance, hardware);
	ret_scenario->nr_steps = 30 + chance_below(&chance, MAX_STEPS - 30);
	/* Expensive events are less frequent. */
	if (ret_scenario->shape.nr_nodes > 8)
		ret_scenario->nr_steps = 12;
	for (uint32_t i = 0; i < ret_scenario->nr_steps; i++)
		ret_scenario->steps[i] = (struct action){.seed = chance_next(&chance)};
}

/* --- pods ------------------------------------------------------------------------------------- */

struct wishes {
	struct chance *chance;
	const struct hardware *hardware;
	unsigned int plainness;
	uint32_t most_cpus, cpus_step;
	uint64_t most_mib;
	bool is_guaranteed;
};

static struct resources draw_resources(struct wishes *wishes)
{
	struct resources resources = RESOURCES_UNSET;
	struct chance *chance = wishes->chance;
	uint32_t page = chance_below(chance, ARRAY_SIZE(page_sizes));

	resources.cpu_mcpu =
		INT64_C(1000) * wishes->cpus_step * (1 + chance_below(chance, wishes->most_cpus));
	if (chance_percent(chance, 12))
		resources.cpu_mcpu -= 250 * (1 + (int64_t)chance_below(chance, 3));
	resources.memory_bytes =
		(int64_t)(1 + chance_next(chance) % wishes->most_mib) * MIB -
		(int64_t)(chance_percent(chance, 20) ? chance_below(chance, 1000) : 0);
	if (chance_percent(chance, 25) && !(wishes->plainness & PLAIN_PAGES)) {
		resources.hugepages[0].size_bytes = page_sizes[page];
		resources.hugepages[0].bytes = (int64_t)page_sizes[page] *
					       (1 + (int64_t)chance_below(chance, 3)) *
					       (page ? 1 : 128);
		resources.nr_hugepages = 1;
	}
	return resources;
}

static struct container_spec *add_container(struct pod_spec *spec, enum container_kind kind)
{
	struct container_spec *container = &spec->containers[spec->nr_containers];

	snprintf(container->name, sizeof(container->name), "c%u", spec->nr_containers++);
	container->kind = kind;
	container->request = container->limit = RESOURCES_UNSET;
	return container;
}

static void add_asking(struct wishes *wishes, struct pod_spec *spec, enum container_kind kind)
{
	struct container_spec *container = add_container(spec, kind);
	struct chance *chance = wishes->chance;

	container->limit = container->request = draw_resources(wishes);
	if (wishes->is_guaranteed)
		return;
	/*
	 * Burstable: no CPU limit, or a limit above the request; this never applies to
	 * huge pages.
	 */
	if (chance_percent(chance, 50))
		container->limit.cpu_mcpu = RESOURCE_UNSET;
	else
		container->request.cpu_mcpu = 100;
}

static void add_amounts(struct resources *sum, const struct resources *amounts)
{
	if (amounts->cpu_mcpu > 0)
		sum->cpu_mcpu += amounts->cpu_mcpu;
	if (amounts->memory_bytes > 0)
		sum->memory_bytes += amounts->memory_bytes;
	for (uint32_t i = 0; i < amounts->nr_hugepages; i++) {
		uint32_t at = 0;

		while (at < sum->nr_hugepages &&
		       sum->hugepages[at].size_bytes != amounts->hugepages[i].size_bytes)
			at++;
		if (at == sum->nr_hugepages) {
			sum->hugepages[at] = amounts->hugepages[i];
			sum->nr_hugepages++;
		} else {
			sum->hugepages[at].bytes += amounts->hugepages[i].bytes;
		}
	}
}

/*
 * Resources of the pod's own: mostly a little more than its long-running
 * containers ask for, at times just that or too little.
 */
static void add_budget(struct wishes *wishes, struct pod_spec *spec)
{
	struct resources sum = {0};
	struct chance *chance = wishes->chance;
	int64_t spare = (int64_t)chance_below(chance, 4) - (chance_percent(chance, 15) ? 2 : 0);

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (spec->containers[i].kind != CONTAINER_INIT)
			add_amounts(&sum, &spec->containers[i].request);
	}
	sum.cpu_mcpu += spare * wishes->cpus_step * 1000;
	if (sum.cpu_mcpu < 1000)
		sum.cpu_mcpu = 1000;
	if (!chance_percent(chance, 8))
		sum.cpu_mcpu = (sum.cpu_mcpu + 999) / 1000 * 1000;
	sum.memory_bytes += spare * 64 * MIB;
	if (sum.memory_bytes < MIB)
		sum.memory_bytes = MIB;
	for (uint32_t i = 0; i < sum.nr_hugepages && chance_percent(chance, 50); i++)
		sum.hugepages[i].bytes += (int64_t)sum.hugepages[i].size_bytes;
	spec->has_pod_resources = true;
	spec->request = spec->limit = sum;
}

static void add_containers(struct wishes *wishes, struct pod_spec *spec)
{
	struct chance *chance = wishes->chance;
	uint32_t nr_init = chance_percent(chance, 30) ? 1 + chance_below(chance, 3) : 0;
	uint32_t nr_apps = 1 + chance_below(chance, 3);
	bool has_budget = chance_percent(chance, 30);

	if (wishes->plainness & PLAIN_INIT)
		nr_init = 0;
	if (wishes->plainness & PLAIN_CONTAINERS)
		nr_apps = 1;
	if (wishes->plainness & PLAIN_BUDGET)
		has_budget = false;
	for (uint32_t i = 0; i < nr_init; i++) {
		enum container_kind kind = chance_percent(chance, 50) ? CONTAINER_INIT
								      : CONTAINER_SIDECAR;

		/* containers without resources of their own, as budgets are meant for */
		if (has_budget && chance_percent(chance, 40))
			add_container(spec, kind);
		else
			add_asking(wishes, spec, kind);
	}
	for (uint32_t i = 0; i < nr_apps; i++) {
		if (has_budget && i && chance_percent(chance, 50))
			add_container(spec, CONTAINER_APP);
		else
			add_asking(wishes, spec, CONTAINER_APP);
	}
	if (has_budget)
		add_budget(wishes, spec);
}

struct pod_spec *generate_pod(struct chance *chance, const struct hardware *hardware,
			      const struct policy *policy, const char *uid, unsigned int plainness)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));
	uint64_t memory_mib = hardware->nodes[0].memory_bytes / MIB;
	struct wishes wishes = {
		.chance = chance,
		.hardware = hardware,
		.plainness = plainness,
		.most_cpus = 1 + hardware->nr_cpus / 6,
		.cpus_step = 1,
		/* at times more than a node has */
		.most_mib = chance_percent(chance, 12) ? memory_mib * 2 : memory_mib / 2,
		.is_guaranteed = chance_percent(chance, 85),
	};

	if (spec)
		spec->containers = calloc(MAX_CONTAINERS, sizeof(*spec->containers));
	if (!spec || !spec->containers)
		abort();
	if (policy->cpu_options.full_pcpus_only && chance_percent(chance, 70)) {
		wishes.cpus_step = hardware->threads;
		wishes.most_cpus = 1 + hardware->nr_cpus / 6 / wishes.cpus_step;
	}
	snprintf(spec->uid, sizeof(spec->uid), "%s", uid);
	snprintf(spec->name, sizeof(spec->name), "%s", uid);
	snprintf(spec->namespace, sizeof(spec->namespace), "test");
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	add_containers(&wishes, spec);
	if (chance_percent(chance, 10))
		spec->overhead.cpu_mcpu = 100;
	pod_spec_default(spec);
	return spec;
}
