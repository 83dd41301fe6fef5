// SPDX-License-Identifier: Apache-2.0
/*
 * What must hold, worked out anew from the hardware, the policy and the requests.
 *
 * Written from the published rules, not from the code it judges, and in another
 * way: sets are plain arrays of bits over CPU ids, sums are counted one by one.
 */
#include "rules_private.h"

#include "core/capacity/capacity.h"

/* --- the machine ------------------------------------------------------------------------------ */

static bool is_online(const struct stage *stage, const struct topology_cpu *cpu)
{
	return !cpuset_has(&stage->offline, cpu->id);
}

struct bits usable_cpus(const struct stage *stage)
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

struct bits cpus_of_node(const struct stage *stage, uint32_t node_id)
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
		struct bits cpus = bits_of(pod->held);

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

	if (!compatibility_is_kubelet(policy->compatibility))
		return true;
	return stage->hardware->is_even && cpuset_is_empty(&stage->offline) &&
	       !policy->cpu_options.distribute_across_numa;
}

bool rules_hold_memory(const struct stage *stage)
{
	return stage->policy.memory == MEMORY_POLICY_NONE ||
	       !compatibility_is_kubelet(stage->policy.compatibility);
}

/* --- what a request is entitled to ------------------------------------------------------------ */

static bool equal_above_zero(int64_t request, int64_t limit)
{
	return request > 0 && request == limit;
}

bool is_guaranteed(const struct pod_spec *spec)
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

bool says_all(const struct container_spec *container)
{
	return equal_above_zero(container->request.cpu_mcpu, container->limit.cpu_mcpu) &&
	       equal_above_zero(container->request.memory_bytes, container->limit.memory_bytes);
}

bool is_one(const struct stage *stage, const struct pod_spec *spec)
{
	const struct known_pod *known = &stage->known[name_of(spec->uid)];
	enum align_policy align = known->spec ? known->align : stage->policy.align;
	enum align_scope scope = known->spec ? known->scope : stage->policy.scope;

	return spec->has_pod_resources && stage->policy.pod_level_managers && align != ALIGN_NONE &&
	       scope == ALIGN_SCOPE_POD && is_guaranteed(spec);
}

uint32_t entitled_cpus(const struct stage *stage, const struct pod_spec *spec, uint32_t index)
{
	const struct container_spec *container = &spec->containers[index];
	const struct policy *policy = &stage->policy;

	if (policy->cpu != CPU_POLICY_STATIC || !is_guaranteed(spec))
		return 0;
	/* A budget that is not a whole number gives no bubble, so no container has a slice. */
	if (is_one(stage, spec) && spec->request.cpu_mcpu % 1000)
		return 0;
	if (spec->has_pod_resources && (!policy->pod_level_managers || !says_all(container)))
		return 0;
	if (container->request.cpu_mcpu <= 0 || container->request.cpu_mcpu % 1000)
		return 0;
	return (uint32_t)(container->request.cpu_mcpu / 1000);
}

uint32_t bubble_cpus(const struct stage *stage, const struct pod_spec *spec)
{
	if (stage->policy.cpu != CPU_POLICY_STATIC || !is_one(stage, spec) ||
	    spec->request.cpu_mcpu % 1000)
		return 0;
	return (uint32_t)(spec->request.cpu_mcpu / 1000);
}

/* --- one pod ---------------------------------------------------------------------------------- */

static void check_count(struct stage *stage, const struct ledger_pod *pod,
			const struct grant *grant, uint32_t wanted)
{
	struct bits cpus = bits_of(grant->cpus);

	if (grant->isolation != ISOLATION_CONTAINER || bits_count(&cpus) != wanted)
		complain(stage, "exact counts: pod %s container %s has %u CPUs (%s), wanted %u",
			 pod->spec->uid, grant->container, bits_count(&cpus),
			 isolation_name(grant->isolation), wanted);
}

/* Containers that run at the same time have no CPU in common. */
static void check_separate(struct stage *stage, const struct ledger_pod *pod, uint32_t budget)
{
	struct bits running = {{0}}, held = {{0}};

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		uint32_t nr = entitled_cpus(stage, pod->spec, i);
		struct bits cpus = bits_of(grant->cpus);

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
		struct bits recorded = bits_of(pod->held);

		if (!bits_equal(&recorded, &held))
			complain(stage, "exact counts: pod %s holds other CPUs than its containers",
				 pod->spec->uid);
	}
}

/* Containers that share the bubble have exactly what the exclusive containers leave of it. */
static void check_bubble(struct stage *stage, const struct ledger_pod *pod, uint32_t budget)
{
	struct bits bubble = bits_of(pod->bubble), held = bits_of(pod->held), left = bubble;

	if (!pod->has_bubble || bits_count(&bubble) != budget || !bits_equal(&bubble, &held))
		complain(stage, "exact counts: pod %s holds %u CPUs for a budget of %u",
			 pod->spec->uid, bits_count(&held), budget);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct bits cpus = bits_of(grant->cpus);

		if (!bits_within(&cpus, &bubble))
			complain(stage, "candidates: pod %s container %s runs outside its bubble",
				 pod->spec->uid, grant->container);
		if (entitled_cpus(stage, pod->spec, i)) {
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
		struct bits cpus = bits_of(grant->cpus);

		if (!entitled_cpus(stage, pod->spec, i) && grant->kind != CONTAINER_INIT &&
		    (grant->isolation != ISOLATION_POD || !bits_equal(&cpus, &left)))
			complain(stage, "pool: pod %s container %s has not the pod's shared pool",
				 pod->spec->uid, grant->container);
	}
}

static void check_pod(struct stage *stage, const struct ledger_pod *pod)
{
	uint32_t budget = bubble_cpus(stage, pod->spec);

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

/* The capacities add up, per node and for the machine. */
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

/* Each CPU has one owner, is in the shared pool, or is reserved. */
static void check_owners(struct stage *stage)
{
	struct bits usable = usable_cpus(stage), held = {{0}};
	struct bits reserved = bits_of(ledger_reserved(stage->ledger));
	struct bits shared = bits_of(ledger_shared_pool(stage->ledger)), pool = usable;

	check_reserved(stage, &usable);
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);
		struct bits cpus = bits_of(pod->held);

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
	/* Measuring is as expensive as all other checks, and reads only what was checked here. */
	if (stage->nr_played % MEASURE_EVERY == 0)
		check_sums(stage, &held, &shared, &reserved);
}

/* --- what was promised ------------------------------------------------------------------------ */

/* Exactly the known pods exist, each with the request it was admitted with. */
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
	/* The ledger's own check must not report false violations. */
	if (!stage->error[0] && ledger_check(stage->ledger, error, sizeof(error)))
		complain(stage, "ledger_check: %s", error);
}
