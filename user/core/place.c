// SPDX-License-Identifier: Apache-2.0
/*
 * One pod through alignment and the managers, in the scope of the policy.
 *
 * Scope container: each container is aligned, then allocated, one after the
 * other. Scope pod: one alignment for all; a pod with resources of its own gets
 * them as one bubble. Transactions and suggestions are the callers' subject.
 */
#include "core/admit_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct placing {
	struct ledger *ledger;
	struct ledger_pod *pod;
	struct cpu_reuse *reuse;
	struct decision *decision;
};

/* "container db" or "the pod": who asked. */
static void name_asker(const struct ledger_pod *pod, uint32_t container, char *buffer, size_t size)
{
	if (container < pod->nr_grants)
		snprintf(buffer, size, "container %s", pod->grants[container].container);
	else
		snprintf(buffer, size, "the pod");
}

static void refuse_count(const struct ledger *ledger, const struct ledger_pod *pod,
			 const char *asker, const char *container, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset held;

	ledger_exclusive(ledger, &held);
	cpuset_subtract(&held, &pod->held);
	refuse_pod(
		decision, REFUSAL_CPUS, container,
		"%s asks for %lld exclusive CPUs, %lld are free: of %u CPUs %u are reserved and %u "
		"held by other pods",
		asker, (long long)decision->wanted, (long long)decision->available,
		cpuset_count(&manager->usable), cpuset_count(&manager->reserved),
		cpuset_count(&held));
}

static void refuse_result(const struct ledger *ledger, const struct ledger_pod *pod,
			  enum cpu_result result, const struct cpu_shortage *shortage,
			  struct decision *decision)
{
	const struct topology *topology = ledger_topology(ledger);
	bool is_container = shortage->container < pod->nr_grants;
	const char *container = is_container ? pod->grants[shortage->container].container : "";
	char asker[POD_CONTAINER_NAME + 16];

	name_asker(pod, shortage->container, asker, sizeof(asker));
	decision->wanted = shortage->wanted;
	decision->available = shortage->available;
	switch (result) {
	case CPU_SMT_NOT_MULTIPLE:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %u exclusive CPUs, which is no multiple "
			"of %u, the threads of a core",
			asker, shortage->wanted, topology->cpus_per_core);
	case CPU_SMT_NO_FREE_CORES:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %u exclusive CPUs, %u are free on cores "
			"without a reserved thread",
			asker, shortage->wanted, shortage->available);
	case CPU_EMPTY_POD_POOL:
		return refuse_pod(
			decision, REFUSAL_EMPTY_SHARED_POOL, container,
			"the pod's budget of %u CPUs goes to its exclusive containers whole; "
			"its other containers would have none",
			shortage->wanted);
	case CPU_NOT_ENOUGH:
		if (is_container && pod->has_bubble)
			return refuse_pod(
				decision, REFUSAL_POD_BUDGET, container,
				"%s asks for %u exclusive CPUs, but the pod's budget of %u "
				"has %u left for it",
				asker, shortage->wanted, cpuset_count(&pod->bubble),
				shortage->available);
		return refuse_count(ledger, pod, asker, container, decision);
	default:
		return refuse_pod(
			decision, REFUSAL_CPUS, container,
			"%s asks for %u exclusive CPUs and %u are free, but the kubelet's own "
			"algorithm fails here (%s); compatibility: repaired does not",
			asker, shortage->wanted, shortage->available, cpu_result_name(result));
	}
}

/* --- alignment -------------------------------------------------------------------------------- */

/*
 * Masks of CPU hints are over the nodes with CPUs; alignment looks at all nodes.
 * On most machines these are the same.
 */
static node_mask_t to_all_nodes(const struct topology *topology, node_mask_t nodes)
{
	node_mask_t all = 0;

	if (topology->nr_memory_nodes == topology->nodes.nr)
		return nodes;
	for (; nodes; nodes &= nodes - 1)
		all |= (node_mask_t)1 << topology->memory_index[__builtin_ctzll(nodes)];
	return all;
}

static node_mask_t to_cpu_nodes(const struct topology *topology, node_mask_t all)
{
	node_mask_t nodes = 0;

	if (topology->nr_memory_nodes == topology->nodes.nr)
		return all;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (all >> topology->memory_index[i] & 1)
			nodes |= (node_mask_t)1 << i;
	}
	return nodes;
}

/*
 * The CPU manager's hints as alignment takes them. As long as it is the only
 * provider, the brief list is as good as all of them, unless distances or sockets
 * let any set of nodes win.
 */
static int list_hints(const struct policy *policy, const struct cpu_offer *offer,
		      struct hint brief[CPU_BRIEF_MAX], struct hint **storage,
		      struct hint_list *ret_list)
{
	static const struct hint no_opinion = HINT_NO_OPINION, impossible = HINT_IMPOSSIBLE;
	const struct hint *hints = brief;
	uint32_t nr = 0;

	if (offer->opinion == CPU_NO_OPINION) {
		*ret_list = (struct hint_list){1, &no_opinion};
		return 0;
	}
	if (policy->prefer_closest_nodes || policy->cpu_options.align_by_socket) {
		int r = cpu_offer_list(offer, storage, &nr);

		if (r)
			return r;
		hints = *storage;
	} else {
		nr = cpu_offer_brief(offer, brief);
	}
	/* An empty list of hints says what an impossible one says. */
	*ret_list = nr ? (struct hint_list){nr, hints} : (struct hint_list){1, &impossible};
	return 0;
}

static void widen_to_all_nodes(const struct topology *topology, struct hint *hints, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		hints[i].nodes = to_all_nodes(topology, hints[i].nodes);
}

static int merge_offer(const struct ledger *ledger, const struct cpu_offer *offer,
		       struct alignment *ret_alignment)
{
	const struct topology *topology = ledger_topology(ledger);
	const struct policy *policy = ledger_policy(ledger);
	struct hint brief[CPU_BRIEF_MAX], *storage cleanup_free = NULL;
	struct hint_list list;
	struct align_problem problem = {
		.policy = policy->align,
		.prefer_closest = policy->prefer_closest_nodes && topology->distances,
		.nr_nodes = topology->nr_memory_nodes,
		.distances = topology->distances,
		.nr_lists = 1,
		.lists = &list,
	};
	int r = list_hints(policy, offer, brief, &storage, &list);

	if (r)
		return r;
	if (list.hints == storage)
		widen_to_all_nodes(topology, storage, list.nr);
	else if (list.hints == brief)
		widen_to_all_nodes(topology, brief, list.nr);
	return align_merge(&problem, ret_alignment);
}

/* "0: 6 of 16, 1: 2 of 16": free and all CPUs per node, as many nodes as there is room for. */
static void describe_nodes(const struct topology *topology, const struct cpu_offer *offer,
			   char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (uint32_t i = 0; i < topology->nodes.nr && used + 40 < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%u: %u of %u",
					 i ? ", " : "", topology->nodes.ids[i], offer->available[i],
					 topology->nodes.nr_cpus[i]);
}

/* CPUs of the `nr_nodes` nodes that offer most. */
static uint32_t most_on_nodes(const struct topology *topology, const struct cpu_offer *offer,
			      uint32_t nr_nodes)
{
	uint32_t sum = offer->nr_reusable;
	node_mask_t taken = 0;

	for (uint32_t n = 0; n < nr_nodes && n < topology->nodes.nr; n++) {
		uint32_t best = TOPOLOGY_MAX_NODES;

		for (uint32_t i = 0; i < topology->nodes.nr; i++) {
			if (!(taken >> i & 1) && (best == TOPOLOGY_MAX_NODES ||
						  offer->available[i] > offer->available[best]))
				best = i;
		}
		taken |= (node_mask_t)1 << best;
		sum += offer->available[best];
	}
	return sum;
}

static void refuse_alignment(const struct placing *placing, const struct cpu_offer *offer,
			     uint32_t container)
{
	const struct topology *topology = ledger_topology(placing->ledger);
	const struct policy *policy = ledger_policy(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	struct decision *decision = placing->decision;
	const char *name = container < pod->nr_grants ? pod->grants[container].container : "";
	uint32_t nr_nodes = policy->align == ALIGN_SINGLE_NUMA_NODE ? 1 : offer->min_nodes;
	char asker[POD_CONTAINER_NAME + 16], nodes[256];

	name_asker(pod, container, asker, sizeof(asker));
	if (offer->opinion != CPU_OFFERS) {
		decision->wanted = cpu_bubble_count(pod->spec, pod->qos);
		refuse_pod(decision, REFUSAL_TOPOLOGY, name,
			   "topologyManagerPolicy %s: no NUMA nodes satisfy %s: its exclusive "
			   "containers leave nothing of its budget of %lld CPUs to the others",
			   align_policy_name(policy->align), asker, (long long)decision->wanted);
		return;
	}
	describe_nodes(topology, offer, nodes, sizeof(nodes));
	decision->wanted = offer->request;
	decision->available = most_on_nodes(topology, offer, nr_nodes);
	refuse_pod(decision, REFUSAL_TOPOLOGY, name,
		   "topologyManagerPolicy %s: %s asks for %u exclusive CPUs on %u NUMA node%s, but "
		   "at most %lld are free so; free by node: %s",
		   align_policy_name(policy->align), asker, offer->request, nr_nodes,
		   nr_nodes == 1 ? "" : "s", (long long)decision->available, nodes);
}

/* The affinity of one container, or of all (UINT32_MAX); *ret_aligned false = refused. */
static int align(const struct placing *placing, uint32_t container,
		 struct cpu_affinity *ret_affinity, bool *ret_aligned)
{
	const struct cpu_manager *manager = ledger_cpu_manager(placing->ledger);
	const struct cpuset *shared = ledger_shared_pool(placing->ledger);
	struct alignment alignment;
	struct cpu_offer offer;
	int r;

	*ret_affinity = (struct cpu_affinity){.known = false};
	*ret_aligned = true;
	if (manager->policy->align == ALIGN_NONE)
		return 0;
	if (container == UINT32_MAX)
		cpu_offer_pod(manager, shared, placing->pod, placing->reuse, &offer);
	else
		cpu_offer_container(manager, shared, placing->pod, container, placing->reuse,
				    &offer);
	r = merge_offer(placing->ledger, &offer, &alignment);
	if (r)
		return r;
	if (!alignment.admitted) {
		refuse_alignment(placing, &offer, container);
		*ret_aligned = false;
	} else if (!alignment.hint.any) {
		ret_affinity->known = true;
		ret_affinity->nodes = to_cpu_nodes(manager->topology, alignment.hint.nodes);
	}
	return 0;
}

/* --- scopes ----------------------------------------------------------------------------------- */

/* False = refused. */
static bool allocate(struct placing *placing, uint32_t container)
{
	const struct cpu_manager *manager = ledger_cpu_manager(placing->ledger);
	struct ledger_pod *pod = placing->pod;
	struct cpu_shortage shortage;
	enum cpu_result result = cpu_allocate(manager, ledger_edit_shared_pool(placing->ledger),
					      pod, container, &pod->grants[container].affinity,
					      placing->reuse, &shortage);

	if (result)
		refuse_result(placing->ledger, pod, result, &shortage, placing->decision);
	return !result;
}

static bool allocate_bubble(struct placing *placing)
{
	const struct cpu_manager *manager = ledger_cpu_manager(placing->ledger);
	struct ledger_pod *pod = placing->pod;
	struct cpu_shortage shortage;
	enum cpu_result result = cpu_allocate_pod(manager, ledger_edit_shared_pool(placing->ledger),
						  pod, &pod->grants[0].affinity, &shortage);

	if (result)
		refuse_result(placing->ledger, pod, result, &shortage, placing->decision);
	return !result;
}

static int place_containers(struct placing *placing)
{
	struct ledger_pod *pod = placing->pod;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		bool aligned;
		int r = align(placing, i, &pod->grants[i].affinity, &aligned);

		if (r)
			return r;
		if (!aligned || !allocate(placing, i))
			return 0;
	}
	placing->decision->admitted = true;
	return 0;
}

static int place_whole(struct placing *placing)
{
	const struct cpu_manager *manager = ledger_cpu_manager(placing->ledger);
	struct ledger_pod *pod = placing->pod;
	struct cpu_affinity affinity;
	bool aligned;
	int r = align(placing, UINT32_MAX, &affinity, &aligned);

	if (r || !aligned)
		return r;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		pod->grants[i].affinity = affinity;
	if (cpu_is_bubble_pod(manager, pod->spec, pod->qos)) {
		placing->decision->admitted = allocate_bubble(placing);
		return 0;
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!allocate(placing, i))
			return 0;
	}
	placing->decision->admitted = true;
	return 0;
}

int place_pod(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
	      struct decision *decision)
{
	const struct policy *policy = ledger_policy(ledger);
	struct placing placing = {
		.ledger = ledger, .pod = pod, .reuse = reuse, .decision = decision};

	decision->admitted = false;
	if (policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD)
		return place_whole(&placing);
	return place_containers(&placing);
}
