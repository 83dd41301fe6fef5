// SPDX-License-Identifier: Apache-2.0
/*
 * What must hold, worked out anew from the hardware, the policy and the requests.
 *
 * Written from the published rules, not from the code it judges, and in another
 * way: sets are plain arrays of bits over CPU ids, sums are counted one by one.
 */
#include "property.h"

#include <string.h>

#include "core/capacity.h"

#define BITS_WORDS (2 * MAX_CPUS / 64)
#define MAX_TYPES  (1 + TOPOLOGY_MAX_HUGEPAGES)

/* --- sets of CPU ids -------------------------------------------------------------------------- */

struct bits {
	uint64_t words[BITS_WORDS];
};

static struct bits bits_of(const struct cpuset *set)
{
	struct bits bits = {{0}};
	uint32_t nr = set->nr_words < BITS_WORDS ? set->nr_words : BITS_WORDS;

	memcpy(bits.words, set->words, nr * sizeof(bits.words[0]));
	return bits;
}

static void bits_set(struct bits *bits, uint32_t cpu)
{
	bits->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static uint32_t bits_count(const struct bits *bits)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BITS_WORDS; i++)
		nr += (uint32_t)__builtin_popcountll(bits->words[i]);
	return nr;
}

static void bits_add(struct bits *bits, const struct bits *other)
{
	for (uint32_t i = 0; i < BITS_WORDS; i++)
		bits->words[i] |= other->words[i];
}

static void bits_subtract(struct bits *bits, const struct bits *other)
{
	for (uint32_t i = 0; i < BITS_WORDS; i++)
		bits->words[i] &= ~other->words[i];
}

static uint32_t bits_common(const struct bits *a, const struct bits *b)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BITS_WORDS; i++)
		nr += (uint32_t)__builtin_popcountll(a->words[i] & b->words[i]);
	return nr;
}

static bool bits_equal(const struct bits *a, const struct bits *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool bits_within(const struct bits *part, const struct bits *whole)
{
	return bits_common(part, whole) == bits_count(part);
}

/* --- the machine ------------------------------------------------------------------------------ */

static bool is_online(const struct stage *stage, const struct topology_cpu *cpu)
{
	return !cpuset_has(&stage->offline, cpu->id);
}

/* CPUs pods may run on at all: online, and not kept alone by the kernel unless listed. */
static struct bits usable_cpus(const struct stage *stage)
{
	const struct policy *policy = &stage->policy;
	struct bits usable = {{0}}, excluded = bits_of(&policy->excluded);
	struct bits listed = bits_of(&policy->reserved_list);

	for (uint32_t i = 0; i < stage->hardware->nr_cpus; i++) {
		if (is_online(stage, &stage->hardware->cpus[i]))
			bits_set(&usable, stage->hardware->cpus[i].id);
	}
	if (policy->has_reserved_list)
		bits_subtract(&excluded, &listed);
	bits_subtract(&usable, &excluded);
	return usable;
}

static struct bits cpus_of_node(const struct stage *stage, uint32_t node_id)
{
	struct bits cpus = {{0}};

	for (uint32_t i = 0; i < stage->hardware->nr_cpus; i++) {
		const struct topology_cpu *cpu = &stage->hardware->cpus[i];

		if (cpu->node == node_id && is_online(stage, cpu))
			bits_set(&cpus, cpu->id);
	}
	return cpus;
}

static struct bits held_cpus(const struct stage *stage, const char *but_uid)
{
	struct bits held = {{0}};

	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);
		struct bits cpus = bits_of(&pod->held);

		if (!but_uid || strcmp(pod->spec->uid, but_uid))
			bits_add(&held, &cpus);
	}
	return held;
}

void rules_candidates(const struct stage *stage, const char *uid, struct cpuset *ret_cpus)
{
	struct bits free = usable_cpus(stage), held = held_cpus(stage, uid);
	struct bits reserved = bits_of(ledger_reserved(stage->ledger));

	bits_subtract(&free, &held);
	bits_subtract(&free, &reserved);
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t cpu = 0; cpu < BITS_WORDS * 64; cpu++) {
		if (free.words[cpu / 64] >> cpu % 64 & 1)
			cpuset_add(ret_cpus, cpu);
	}
}

bool rules_hold_cpus(const struct stage *stage)
{
	const struct policy *policy = &stage->policy;

	if (policy->compatibility != COMPATIBILITY_KUBELET_1_36)
		return true;
	return stage->hardware->is_even && cpuset_is_empty(&stage->offline) &&
	       !policy->cpu_options.distribute_across_numa;
}

bool rules_hold_memory(const struct stage *stage)
{
	return stage->policy.memory == MEMORY_POLICY_NONE ||
	       stage->policy.compatibility != COMPATIBILITY_KUBELET_1_36;
}

/* --- what a request is entitled to ------------------------------------------------------------ */

static bool equal_above_zero(int64_t request, int64_t limit)
{
	return request > 0 && request == limit;
}

static bool is_guaranteed(const struct pod_spec *spec)
{
	if (spec->has_pod_resources)
		return equal_above_zero(spec->request.cpu_mcpu, spec->limit.cpu_mcpu) &&
		       equal_above_zero(spec->request.memory_bytes, spec->limit.memory_bytes);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		if (!equal_above_zero(container->request.cpu_mcpu, container->limit.cpu_mcpu) ||
		    !equal_above_zero(container->request.memory_bytes,
				      container->limit.memory_bytes))
			return false;
	}
	return true;
}

/* In a pod with resources of its own: a container that fully says what it wants. */
static bool says_all(const struct container_spec *container)
{
	return equal_above_zero(container->request.cpu_mcpu, container->limit.cpu_mcpu) &&
	       equal_above_zero(container->request.memory_bytes, container->limit.memory_bytes);
}

/* Placed as one: resources of its own, alignment in pod scope, managers told to. */
static bool is_one(const struct policy *policy, const struct pod_spec *spec)
{
	return spec->has_pod_resources && policy->pod_level_managers &&
	       policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD &&
	       is_guaranteed(spec);
}

static uint32_t entitled_cpus(const struct policy *policy, const struct pod_spec *spec,
			      uint32_t index)
{
	const struct container_spec *container = &spec->containers[index];

	if (policy->cpu != CPU_POLICY_STATIC || !is_guaranteed(spec))
		return 0;
	/* A budget that is no whole number makes no bubble, so nobody has a slice of one. */
	if (is_one(policy, spec) && spec->request.cpu_mcpu % 1000)
		return 0;
	if (spec->has_pod_resources && (!policy->pod_level_managers || !says_all(container)))
		return 0;
	if (container->request.cpu_mcpu <= 0 || container->request.cpu_mcpu % 1000)
		return 0;
	return (uint32_t)(container->request.cpu_mcpu / 1000);
}

static uint32_t bubble_cpus(const struct policy *policy, const struct pod_spec *spec)
{
	if (policy->cpu != CPU_POLICY_STATIC || !is_one(policy, spec) ||
	    spec->request.cpu_mcpu % 1000)
		return 0;
	return (uint32_t)(spec->request.cpu_mcpu / 1000);
}

/* --- one pod ---------------------------------------------------------------------------------- */

static void check_count(struct stage *stage, const struct ledger_pod *pod,
			const struct grant *grant, uint32_t wanted)
{
	struct bits cpus = bits_of(&grant->cpus);

	if (grant->isolation != ISOLATION_CONTAINER || bits_count(&cpus) != wanted)
		complain(stage, "exact counts: pod %s container %s has %u CPUs (%s), wanted %u",
			 pod->spec->uid, grant->container, bits_count(&cpus),
			 isolation_name(grant->isolation), wanted);
}

/* Containers that run at one time have no CPU in common. */
static void check_separate(struct stage *stage, const struct ledger_pod *pod, uint32_t budget)
{
	struct bits running = {{0}}, held = {{0}};

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		uint32_t nr = entitled_cpus(&stage->policy, pod->spec, i);
		struct bits cpus = bits_of(&grant->cpus);

		bits_add(&held, &cpus);
		if (!nr && budget)
			continue;
		if (!nr && (grant->isolation != ISOLATION_HOST || bits_count(&cpus)))
			complain(stage, "exact counts: pod %s container %s is entitled to no CPU",
				 pod->spec->uid, grant->container);
		if (!nr)
			continue;
		check_count(stage, pod, grant, nr);
		if (bits_common(&cpus, &running))
			complain(stage, "owners: pod %s container %s has a neighbour's CPU",
				 pod->spec->uid, grant->container);
		if (grant->kind != CONTAINER_INIT)
			bits_add(&running, &cpus);
	}
	if (!budget && pod->has_bubble)
		complain(stage, "exact counts: pod %s has a bubble it did not ask for",
			 pod->spec->uid);
	if (!budget) {
		struct bits recorded = bits_of(&pod->held);

		if (!bits_equal(&recorded, &held))
			complain(stage, "exact counts: pod %s holds other CPUs than its containers",
				 pod->spec->uid);
	}
}

/* Who shares the bubble shares just what exclusive containers leave of it. */
static void check_bubble(struct stage *stage, const struct ledger_pod *pod, uint32_t budget)
{
	struct bits bubble = bits_of(&pod->bubble), held = bits_of(&pod->held), left = bubble;

	if (!pod->has_bubble || bits_count(&bubble) != budget || !bits_equal(&bubble, &held))
		complain(stage, "exact counts: pod %s holds %u CPUs for a budget of %u",
			 pod->spec->uid, bits_count(&held), budget);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct bits cpus = bits_of(&grant->cpus);

		if (!bits_within(&cpus, &bubble))
			complain(stage, "candidates: pod %s container %s runs outside its bubble",
				 pod->spec->uid, grant->container);
		if (entitled_cpus(&stage->policy, pod->spec, i)) {
			if (grant->kind != CONTAINER_INIT)
				bits_subtract(&left, &cpus);
		} else if (grant->kind == CONTAINER_INIT &&
			   (grant->isolation != ISOLATION_POD || !bits_equal(&cpus, &left))) {
			complain(stage, "pool: pod %s init container %s has not what is left",
				 pod->spec->uid, grant->container);
		}
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct bits cpus = bits_of(&grant->cpus);

		if (!entitled_cpus(&stage->policy, pod->spec, i) && grant->kind != CONTAINER_INIT &&
		    (grant->isolation != ISOLATION_POD || !bits_equal(&cpus, &left)))
			complain(stage, "pool: pod %s container %s has not the pod's shared pool",
				 pod->spec->uid, grant->container);
	}
}

static void check_pod(struct stage *stage, const struct ledger_pod *pod)
{
	uint32_t budget = bubble_cpus(&stage->policy, pod->spec);

	if (budget)
		check_bubble(stage, pod, budget);
	check_separate(stage, pod, budget);
}

/* --- pools and owners ------------------------------------------------------------------------- */

static void check_reserved(struct stage *stage, const struct bits *usable)
{
	const struct policy *policy = &stage->policy;
	struct bits reserved = bits_of(ledger_reserved(stage->ledger));
	struct bits listed = bits_of(&policy->reserved_list);
	int64_t count = (policy->reserved_mcpu + 999) / 1000;

	if (policy->has_reserved_list ? !bits_equal(&reserved, &listed)
				      : bits_count(&reserved) != count)
		complain(stage, "reserved: %u CPUs are reserved, not what was asked for",
			 bits_count(&reserved));
	if (!bits_within(&reserved, usable))
		complain(stage, "reserved: a CPU is reserved that is not usable");
}

/* What the ledger is said to have per node adds up to the node, and the nodes to the machine. */
static void check_sums(struct stage *stage, const struct bits *held, const struct bits *shared,
		       const struct bits *reserved)
{
	const struct hardware *hardware = stage->hardware;
	struct capacity capacity;
	uint32_t sum = 0;

	capacity_measure(stage->ledger, &capacity);
	if (capacity.nr_nodes != hardware->nr_nodes)
		return complain(stage, "sums: %u nodes are measured of %u", capacity.nr_nodes,
				hardware->nr_nodes);
	for (uint32_t i = 0; i < hardware->nr_nodes; i++) {
		struct bits node = cpus_of_node(stage, hardware->nodes[i].id);
		struct bits grantable = *shared;
		const struct capacity_node *said = &capacity.nodes[i];

		bits_subtract(&grantable, reserved);
		sum += said->nr_cpus;
		if (said->id != hardware->nodes[i].id || said->nr_cpus != bits_count(&node) ||
		    said->nr_exclusive != bits_common(&node, held) ||
		    said->nr_shared != bits_common(&node, shared) ||
		    said->nr_reserved != bits_common(&node, reserved) ||
		    said->nr_grantable != bits_common(&node, &grantable))
			complain(stage,
				 "sums: node %u is said to have %u CPUs: %u exclusive, %u shared, "
				 "%u reserved, %u to grant",
				 said->id, said->nr_cpus, said->nr_exclusive, said->nr_shared,
				 said->nr_reserved, said->nr_grantable);
		if (said->largest_request > said->nr_grantable)
			complain(stage, "sums: node %u can grant %u CPUs and would serve %u",
				 said->id, said->nr_grantable, said->largest_request);
	}
	if (sum != stage->topology->num_cpus)
		complain(stage, "sums: the nodes have %u CPUs, the machine %u", sum,
			 stage->topology->num_cpus);
}

/* Each CPU has one owner, is in the pool, or is reserved. */
static void check_owners(struct stage *stage)
{
	struct bits usable = usable_cpus(stage), held = {{0}};
	struct bits reserved = bits_of(ledger_reserved(stage->ledger));
	struct bits shared = bits_of(ledger_shared_pool(stage->ledger)), pool = usable;

	check_reserved(stage, &usable);
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);
		struct bits cpus = bits_of(&pod->held);

		if (bits_common(&held, &cpus))
			complain(stage, "owners: pod %s holds a CPU of another pod",
				 pod->spec->uid);
		if (bits_common(&reserved, &cpus))
			complain(stage, "reserved: pod %s holds a reserved CPU", pod->spec->uid);
		if (!bits_within(&cpus, &usable))
			complain(stage, "candidates: pod %s holds a CPU no pod may use",
				 pod->spec->uid);
		bits_add(&held, &cpus);
		check_pod(stage, pod);
	}
	if (stage->policy.cpu_options.strict_reservation) {
		if (bits_common(&reserved, &shared))
			complain(stage, "reserved: strict, and the shared pool has one");
		bits_subtract(&pool, &reserved);
	}
	bits_subtract(&pool, &held);
	if (!bits_equal(&pool, &shared))
		complain(stage, "sums: the shared pool is not what nobody holds");
	/* Measuring costs as much as all the rest, and reads only what was checked here. */
	if (stage->nr_played % MEASURE_EVERY == 0)
		check_sums(stage, &held, &shared, &reserved);
}

/* --- memory ----------------------------------------------------------------------------------- */

struct tally {
	uint32_t nr_types;
	uint64_t page_bytes[MAX_TYPES];
	uint64_t allocatable[TOPOLOGY_MAX_NODES][MAX_TYPES];
	uint32_t nr_placements;
	struct placement {
		node_mask_t nodes;
		uint64_t charged[MAX_TYPES], reusable[MAX_TYPES];
	} placements[TOPOLOGY_MAX_NODES];
};

static uint32_t tally_type(struct tally *tally, uint64_t page_bytes)
{
	for (uint32_t i = 0; i < tally->nr_types; i++) {
		if (tally->page_bytes[i] == page_bytes)
			return i;
	}
	tally->page_bytes[tally->nr_types] = page_bytes;
	return tally->nr_types++;
}

static void open_tally(const struct stage *stage, struct tally *tally)
{
	const struct hardware *hardware = stage->hardware;
	const struct policy *policy = &stage->policy;

	tally->nr_types = tally->nr_placements = 0;
	memset(tally->allocatable, 0, sizeof(tally->allocatable));
	tally_type(tally, 0);
	for (uint32_t i = 0; i < hardware->nr_nodes; i++) {
		const struct topology_node *node = &hardware->nodes[i];

		tally->allocatable[i][0] += node->memory_bytes;
		for (uint32_t j = 0; j < node->nr_hugepages; j++) {
			uint64_t bytes =
				node->hugepages[j].size_bytes * node->hugepages[j].total_pages;
			uint32_t type = tally_type(tally, node->hugepages[j].size_bytes);

			tally->allocatable[i][type] += bytes;
			tally->allocatable[i][0] -= bytes;
		}
	}
	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++) {
		const struct memory_reservation *taken = &policy->memory_reservations[i];

		for (uint32_t j = 0; j < hardware->nr_nodes; j++) {
			if (hardware->nodes[j].id == taken->node_id)
				tally->allocatable[j][tally_type(tally, taken->size_bytes)] -=
					taken->bytes;
		}
	}
}

static struct placement *tally_placement(struct stage *stage, struct tally *tally,
					 node_mask_t nodes)
{
	for (uint32_t i = 0; i < tally->nr_placements; i++) {
		if (tally->placements[i].nodes == nodes)
			return &tally->placements[i];
		if (tally->placements[i].nodes & nodes) {
			complain(stage,
				 "sums: nodes %#llx are used alone or in a group and also in %#llx",
				 (unsigned long long)tally->placements[i].nodes,
				 (unsigned long long)nodes);
			return NULL;
		}
	}
	tally->placements[tally->nr_placements] = (struct placement){.nodes = nodes};
	return &tally->placements[tally->nr_placements++];
}

/* What is charged for one container or budget, less what earlier init containers leave there. */
static void charge(struct stage *stage, struct tally *tally, node_mask_t nodes,
		   const struct resources *request, bool is_init)
{
	struct placement *placement = tally_placement(stage, tally, nodes);

	for (uint32_t i = 0; placement && i <= request->nr_hugepages; i++) {
		int64_t bytes = i ? request->hugepages[i - 1].bytes : request->memory_bytes;
		uint32_t type = tally_type(tally, i ? request->hugepages[i - 1].size_bytes : 0);
		uint64_t wanted = bytes > 0 ? (uint64_t)bytes : 0;
		uint64_t *reusable = &placement->reusable[type];

		placement->charged[type] += wanted > *reusable ? wanted - *reusable : 0;
		if (is_init)
			*reusable = wanted > *reusable ? wanted : *reusable;
		else
			*reusable = wanted > *reusable ? 0 : *reusable - wanted;
	}
}

static void charge_pod(struct stage *stage, struct tally *tally, const struct ledger_pod *pod)
{
	const struct pod_spec *spec = pod->spec;
	bool one = is_one(&stage->policy, spec);
	node_mask_t whole = 0;

	for (uint32_t i = 0; i < tally->nr_placements; i++)
		memset(tally->placements[i].reusable, 0, sizeof(tally->placements[i].reusable));
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct container_spec *container = &spec->containers[i];
		node_mask_t nodes = pod->grants[i].mems;
		bool asks = !spec->has_pod_resources || says_all(container);

		if (!is_guaranteed(spec) ||
		    (spec->has_pod_resources && !stage->policy.pod_level_managers))
			asks = one = false;
		/* Of a budget every container is on its nodes, or has no part of it. */
		if (one && nodes && whole && nodes != whole)
			complain(stage, "sums: pod %s has memory on two sets of nodes", spec->uid);
		if ((asks && !nodes) || (!asks && !one && nodes))
			complain(stage, "sums: pod %s container %s: NUMA nodes %#llx", spec->uid,
				 container->name, (unsigned long long)nodes);
		whole |= nodes;
		if (asks && !one && nodes)
			charge(stage, tally, nodes, &container->request,
			       container->kind == CONTAINER_INIT);
	}
	if (one && whole)
		charge(stage, tally, whole, &spec->request, false);
}

/* Bytes of a type that the ledger says are free on a node; its types have an order of their own. */
static uint64_t free_on_node(const struct stage *stage, uint32_t node, uint64_t page_bytes)
{
	const struct memory_manager *manager = ledger_memory_manager(stage->ledger);
	const struct memory_state *state = ledger_memory_state(stage->ledger);

	for (uint32_t type = 0; type < manager->nr_types; type++) {
		if (manager->page_bytes[type] == page_bytes)
			return state->nodes[node].free_bytes[type];
	}
	return 0;
}

static void check_free(struct stage *stage, const struct tally *tally, node_mask_t nodes,
		       const uint64_t *charged)
{
	for (uint32_t type = 0; type < tally->nr_types; type++) {
		uint64_t free = 0, allocatable = 0, page_bytes = tally->page_bytes[type];

		for (node_mask_t left = nodes; left; left &= left - 1) {
			uint32_t node = (uint32_t)__builtin_ctzll(left);

			free += free_on_node(stage, node, page_bytes);
			allocatable += tally->allocatable[node][type];
			if (free_on_node(stage, node, page_bytes) > tally->allocatable[node][type])
				complain(stage, "sums: node %u has more memory free than it has",
					 node);
		}
		if (charged && free + charged[type] != allocatable)
			complain(stage,
				 "sums: nodes %#llx have %llu bytes (pages of %llu), %llu are "
				 "granted and %llu free",
				 (unsigned long long)nodes, (unsigned long long)allocatable,
				 (unsigned long long)page_bytes, (unsigned long long)charged[type],
				 (unsigned long long)free);
	}
}

static void check_memory(struct stage *stage)
{
	static const uint64_t nothing[MAX_TYPES];
	struct tally tally;
	node_mask_t unused = 0;

	if (stage->policy.memory != MEMORY_POLICY_STATIC)
		return;
	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++)
		unused |= (node_mask_t)1 << i;
	open_tally(stage, &tally);
	if (!rules_hold_memory(stage))
		return check_free(stage, &tally, unused, NULL);
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger) && !stage->error[0]; i++)
		charge_pod(stage, &tally, ledger_pod_at(stage->ledger, i));
	for (uint32_t i = 0; i < tally.nr_placements; i++) {
		unused &= ~tally.placements[i].nodes;
		check_free(stage, &tally, tally.placements[i].nodes, tally.placements[i].charged);
	}
	for (; unused; unused &= unused - 1)
		check_free(stage, &tally, unused & -unused, nothing);
}

/* --- what was promised ------------------------------------------------------------------------ */

/* No pod but those told to is there, with just the request it was admitted with. */
static void check_known(struct stage *stage)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR_NAMES; i++) {
		const struct known_pod *known = &stage->known[i];
		const struct ledger_pod *pod;

		if (!known->spec)
			continue;
		nr++;
		pod = ledger_find(stage->ledger, known->spec->uid);
		if (!pod)
			complain(stage, "promise: pod %s is gone", known->spec->uid);
		else if (pod->state != known->state || !pod_spec_equal(pod->spec, known->spec))
			complain(stage, "promise: pod %s is another one", known->spec->uid);
		else if (pod_digest(pod) != known->digest)
			complain(stage, "promise: pod %s was given other CPUs or nodes",
				 known->spec->uid);
	}
	if (nr != ledger_nr_pods(stage->ledger))
		complain(stage, "promise: %u pods are there, %u were admitted",
			 ledger_nr_pods(stage->ledger), nr);
}

void check_rules(struct stage *stage)
{
	char error[256];

	check_known(stage);
	if (!stage->error[0] && rules_hold_cpus(stage))
		check_owners(stage);
	if (!stage->error[0])
		check_memory(stage);
	/* The ledger's own check must not cry where nothing is wrong. */
	if (!stage->error[0] && ledger_check(stage->ledger, error, sizeof(error)))
		complain(stage, "ledger_check: %s", error);
}

/* --- decisions -------------------------------------------------------------------------------- */

static uint32_t nodes_touched(const struct stage *stage, const struct bits *cpus,
			      node_mask_t *ret_nodes)
{
	uint32_t nr = 0;

	*ret_nodes = 0;
	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++) {
		struct bits node = cpus_of_node(stage, stage->hardware->nodes[i].id);

		if (!bits_common(&node, cpus))
			continue;
		*ret_nodes |= (node_mask_t)1 << i;
		nr++;
	}
	return nr;
}

/* The fewest nodes that have so many CPUs, held or not. */
static uint32_t fewest_nodes(const struct stage *stage, uint32_t nr_cpus)
{
	uint32_t counts[TOPOLOGY_MAX_NODES], nr = 0, sum = 0;

	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++) {
		struct bits node = cpus_of_node(stage, stage->hardware->nodes[i].id);

		counts[i] = bits_count(&node);
	}
	while (sum < nr_cpus && nr < stage->hardware->nr_nodes) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < stage->hardware->nr_nodes; i++) {
			if (counts[i] > counts[most])
				most = i;
		}
		sum += counts[most];
		counts[most] = 0;
		nr++;
	}
	return nr;
}

/* On no more nodes than the policy promises, and memory where the CPUs are. */
static void check_nodes(struct stage *stage, const char *who, const struct bits *cpus,
			node_mask_t mems)
{
	bool single = stage->policy.align == ALIGN_SINGLE_NUMA_NODE;
	uint32_t most = single ? 1 : fewest_nodes(stage, bits_count(cpus)), nr;
	node_mask_t nodes;

	if (!bits_count(cpus))
		return;
	stage->coverage->feature[FEATURE_ALIGNED]++;
	nr = nodes_touched(stage, cpus, &nodes);
	if (nr > most)
		complain(stage, "alignment: %s has CPUs of %u nodes, %u are enough", who, nr, most);
	if (mems && (nodes & ~mems))
		complain(stage, "alignment: %s has CPUs on nodes %#llx and memory on %#llx", who,
			 (unsigned long long)nodes, (unsigned long long)mems);
	if (single && __builtin_popcountll(mems) > 1)
		complain(stage, "alignment: %s has memory of several nodes", who);
}

static bool has_init(const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (spec->containers[i].kind == CONTAINER_INIT)
			return true;
	}
	return false;
}

static void check_alignment(struct stage *stage, const struct ledger_pod *pod)
{
	const struct policy *policy = &stage->policy;
	struct bits all = bits_of(&pod->held);
	node_mask_t mems = 0;

	if ((policy->align != ALIGN_RESTRICTED && policy->align != ALIGN_SINGLE_NUMA_NODE) ||
	    policy->cpu_options.align_by_socket)
		return;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		mems |= pod->grants[i].mems;
	if (policy->scope == ALIGN_SCOPE_POD) {
		/* CPUs that init containers leave may be out of reach for later ones. */
		if (pod->has_bubble || !has_init(pod->spec))
			check_nodes(stage, pod->spec->uid, &all, mems);
		return;
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		struct bits cpus = bits_of(&pod->grants[i].cpus);

		check_nodes(stage, pod->grants[i].container, &cpus, pod->grants[i].mems);
	}
}

/* full-pcpus-only: whole cores, counted by the average core as the kubelet does. */
static void check_whole_cores(struct stage *stage, const struct ledger_pod *pod)
{
	uint32_t per_core = stage->topology->num_cpus / stage->topology->num_cores;
	uint32_t budget = bubble_cpus(&stage->policy, pod->spec);

	if (!stage->policy.cpu_options.full_pcpus_only)
		return;
	if (budget % per_core)
		complain(stage, "cores: pod %s holds a part of a core", pod->spec->uid);
	for (uint32_t i = 0; i < pod->nr_grants && !budget; i++) {
		if (entitled_cpus(&stage->policy, pod->spec, i) % per_core)
			complain(stage, "cores: pod %s container %s holds a part of a core",
				 pod->spec->uid, pod->grants[i].container);
	}
}

void check_admitted(struct stage *stage, const struct pod_spec *spec,
		    const struct cpuset *candidates)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, spec->uid);
	struct bits given, allowed = bits_of(candidates);

	if (!pod)
		return complain(stage, "promise: pod %s is admitted and not there", spec->uid);
	if (!pod_spec_equal(pod->spec, spec))
		complain(stage, "promise: pod %s is admitted with another request", spec->uid);
	if (!rules_hold_cpus(stage))
		return;
	given = bits_of(&pod->held);
	if (!bits_within(&given, &allowed))
		complain(stage, "candidates: pod %s was given a CPU that was none", spec->uid);
	if (stage->policy.compatibility != COMPATIBILITY_KUBELET_1_36 &&
	    cpuset_is_empty(ledger_shared_pool(stage->ledger)) &&
	    ledger_nr_host_containers(stage->ledger))
		complain(stage, "shared pool: the last CPU was given away to pod %s", spec->uid);
	check_whole_cores(stage, pod);
	check_alignment(stage, pod);
}

void check_refused(struct stage *stage, const struct pod_spec *spec,
		   const struct decision *decision)
{
	const struct policy *policy = &stage->policy;
	struct bits shared = bits_of(ledger_shared_pool(stage->ledger)), free, mine = {{0}};
	const struct ledger_pod *old = ledger_find(stage->ledger, spec->uid);
	struct cpuset candidates;
	uint32_t wanted = 0, nr_host = ledger_nr_host_containers(stage->ledger);

	if (!decision->reason[0] || !decision->message[0])
		complain(stage, "refusal: pod %s is refused without a word", spec->uid);
	if (policy->align != ALIGN_NONE || policy->cpu_options.full_pcpus_only ||
	    spec->has_pod_resources || has_init(spec) || !rules_hold_cpus(stage) ||
	    (policy->memory == MEMORY_POLICY_STATIC && is_guaranteed(spec)))
		return;
	rules_candidates(stage, spec->uid, &candidates);
	free = bits_of(&candidates);
	for (uint32_t i = 0; old && i < old->nr_grants; i++)
		nr_host -= old->grants[i].isolation == ISOLATION_HOST;
	if (old)
		mine = bits_of(&old->held);
	bits_add(&shared, &mine);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		wanted += entitled_cpus(policy, spec, i);
		nr_host += !entitled_cpus(policy, spec, i);
	}
	if (wanted > bits_count(&free))
		return;
	if (policy->compatibility != COMPATIBILITY_KUBELET_1_36 && nr_host &&
	    wanted == bits_count(&shared))
		return;
	complain(stage, "refusal: pod %s wants %u CPUs, %u are free, and it is refused (%s)",
		 spec->uid, wanted, bits_count(&free), decision->message);
}
