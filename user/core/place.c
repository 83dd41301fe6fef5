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
	struct memory_reuse *memory_reuse; /* kubelet-1.36 looks at it */
	struct decision *decision;
	struct hint hint; /* what alignment settled on last; memory is allocated under it */
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
 * provider (`alone`), the brief list is as good as all of them, unless distances or
 * sockets let any set of nodes win.
 */
static int list_hints(const struct policy *policy, const struct cpu_offer *offer, bool alone,
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
	if (!alone || policy->prefer_closest_nodes || policy->cpu_options.align_by_socket) {
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

/* Does a provider other than this one say the set will do? */
static bool both_have(const struct topology *topology, const struct cpu_offer *cpu,
		      const struct memory_offer *memory, node_mask_t nodes)
{
	node_mask_t on_cpus = to_cpu_nodes(topology, nodes);

	return on_cpus && to_all_nodes(topology, on_cpus) == nodes && cpu_offer_has(cpu, on_cpus) &&
	       memory_offer_has(memory, nodes);
}

static bool lists_nodes(const struct hint *hints, uint32_t nr, node_mask_t nodes)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (hints[i].nodes == nodes)
			return true;
	}
	return false;
}

/*
 * Where lists are brief, each provider names sets of its own; those the other one
 * can do with as well are added to both, or nothing would be found in common.
 */
static int share_hints(const struct topology *topology, const struct cpu_offer *cpu,
		       const struct memory_offer *memory, struct hint **hints, uint32_t *nr_hints,
		       struct hint_list *cpu_list, struct hint **storage)
{
	uint32_t room = cpu_list->nr + *nr_hints, nr = cpu_list->nr, nr_memory = *nr_hints;
	struct hint *mine = reallocarray(*storage, room, sizeof(*mine)), *theirs;

	if (!mine)
		return -ENOMEM;
	*storage = mine;
	cpu_list->hints = mine;
	theirs = reallocarray(*hints, room, sizeof(*theirs));
	if (!theirs)
		return -ENOMEM;
	*hints = theirs;
	for (uint32_t i = 0; i < cpu_list->nr; i++) {
		if (both_have(topology, cpu, memory, mine[i].nodes) &&
		    !lists_nodes(theirs, nr_memory, mine[i].nodes))
			theirs[(*nr_hints)++] = (struct hint){
				.nodes = mine[i].nodes,
				.preferred = memory_offer_prefers(memory, mine[i].nodes)};
	}
	for (uint32_t i = 0; i < nr_memory; i++) {
		if (both_have(topology, cpu, memory, theirs[i].nodes) &&
		    !lists_nodes(mine, nr, theirs[i].nodes))
			mine[cpu_list->nr++] = (struct hint){
				.nodes = theirs[i].nodes,
				.preferred = cpu_offer_prefers(cpu, to_cpu_nodes(topology,
										 theirs[i].nodes))};
	}
	return 0;
}

static int merge_offers(const struct ledger *ledger, const struct cpu_offer *offer,
			const struct memory_offer *memory, struct alignment *ret_alignment)
{
	const struct topology *topology = ledger_topology(ledger);
	const struct policy *policy = ledger_policy(ledger);
	struct hint brief[CPU_BRIEF_MAX], *storage cleanup_free = NULL;
	struct hint *memory_hints cleanup_free = NULL;
	struct hint_list lists[1 + MEMORY_MAX_TYPES];
	struct align_problem problem = {
		.policy = policy->align,
		.prefer_closest = policy->prefer_closest_nodes && topology->distances,
		.nr_nodes = topology->nr_memory_nodes,
		.distances = topology->distances,
		.lists = lists,
	};
	uint32_t nr_memory = 0;
	int r = memory_offer_list(memory, &memory_hints, &nr_memory);

	if (!r)
		r = list_hints(policy, offer, memory->opinion == MEMORY_NO_OPINION, brief, &storage,
			       &lists[0]);
	if (r)
		return r;
	if (lists[0].hints == storage)
		widen_to_all_nodes(topology, storage, lists[0].nr);
	else if (lists[0].hints == brief)
		widen_to_all_nodes(topology, brief, lists[0].nr);
	if (topology->nr_memory_nodes > CPU_LIST_NODES && nr_memory && storage)
		r = share_hints(topology, offer, memory, &memory_hints, &nr_memory, &lists[0],
				&storage);
	if (r)
		return r;
	problem.nr_lists = 1 + memory_offer_lists(memory, memory_hints, nr_memory, lists + 1);
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

/* Who asks for how much, and what there is; the numbers of the decision are bytes. */
static void refuse_memory(const struct placing *placing, enum refusal refusal,
			  enum memory_result result, const struct memory_shortage *shortage)
{
	const struct memory_manager *manager = ledger_memory_manager(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	struct decision *decision = placing->decision;
	const char *container = shortage->container < pod->nr_grants
					? pod->grants[shortage->container].container
					: "";
	char asker[POD_CONTAINER_NAME + 16], type[MEMORY_NAME_MAX], nodes[256], why[192];
	char kernel[80] = "";
	struct cpuset ids;

	name_asker(pod, shortage->container, asker, sizeof(asker));
	memory_type_name(manager, shortage->type, type, sizeof(type));
	memory_result_text(manager, result, shortage, why, sizeof(why));
	topology_mems_of_mask(manager->topology, shortage->nodes, &ids);
	cpuset_format(&ids, nodes, sizeof(nodes));
	if (shortage->kernel_free_bytes != MEMORY_NOT_KNOWN)
		snprintf(kernel, sizeof(kernel), ", the kernel has %llu of them free",
			 (unsigned long long)shortage->kernel_free_bytes);
	decision->is_memory = true;
	decision->wanted = (int64_t)shortage->wanted_bytes;
	decision->available = (int64_t)shortage->available_bytes;
	if (refusal == REFUSAL_EMPTY_SHARED_POOL)
		refuse_pod(decision, refusal, container, "%s: %s", asker, why);
	else
		refuse_pod(decision, refusal, container,
			   "%s asks for %llu bytes of %s; NUMA nodes %s have %llu not granted%s "
			   "(%s)",
			   asker, (unsigned long long)shortage->wanted_bytes, type, nodes,
			   (unsigned long long)shortage->available_bytes, kernel, why);
}

/* Is it memory that alignment fails for? Then it is refused with its numbers. */
static bool refuse_memory_alignment(const struct placing *placing, const struct memory_offer *offer)
{
	const struct policy *policy = ledger_policy(placing->ledger);
	struct memory_shortage shortage;
	enum memory_result result =
		memory_probe(offer, policy->align == ALIGN_SINGLE_NUMA_NODE ? 1 : 0, &shortage);

	if (result)
		refuse_memory(placing, REFUSAL_TOPOLOGY, result, &shortage);
	return result != MEMORY_OK;
}

/* Each has a set of nodes, but they have none in common. */
static void refuse_together(const struct placing *placing, const struct cpu_offer *cpu,
			    const struct memory_offer *memory, uint32_t container)
{
	const struct policy *policy = ledger_policy(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	char asker[POD_CONTAINER_NAME + 16];

	name_asker(pod, container, asker, sizeof(asker));
	placing->decision->is_memory = true;
	placing->decision->wanted = (int64_t)memory->request.bytes[0];
	refuse_pod(placing->decision, REFUSAL_TOPOLOGY,
		   container < pod->nr_grants ? pod->grants[container].container : "",
		   "topologyManagerPolicy %s: %s asks for %u exclusive CPUs and %llu bytes of "
		   "memory; each alone would find NUMA nodes, but no nodes have both",
		   align_policy_name(policy->align), asker, cpu->request,
		   (unsigned long long)memory->request.bytes[0]);
}

/* Would CPUs alone be admitted? */
static int cpus_are_aligned(const struct ledger *ledger, const struct cpu_offer *offer,
			    bool *ret_admitted)
{
	const struct memory_offer nothing = {
		.opinion = MEMORY_NO_OPINION,
		.manager = ledger_memory_manager(ledger),
	};
	struct alignment alignment;
	int r = merge_offers(ledger, offer, &nothing, &alignment);

	*ret_admitted = !r && alignment.admitted;
	return r;
}

static int refuse_offers(const struct placing *placing, const struct cpu_offer *cpu,
			 const struct memory_offer *memory, uint32_t container)
{
	bool cpus_fit;
	int r;

	if (memory->opinion != MEMORY_NO_OPINION && refuse_memory_alignment(placing, memory))
		return 0;
	r = cpus_are_aligned(placing->ledger, cpu, &cpus_fit);
	if (r)
		return r;
	if (cpus_fit)
		refuse_together(placing, cpu, memory, container);
	else
		refuse_alignment(placing, cpu, container);
	return 0;
}

/* The affinity of one container, or of all (UINT32_MAX); *ret_aligned false = refused. */
static int align(struct placing *placing, uint32_t container, struct cpu_affinity *ret_affinity,
		 bool *ret_aligned)
{
	const struct cpu_manager *manager = ledger_cpu_manager(placing->ledger);
	const struct cpuset *shared = ledger_shared_pool(placing->ledger);
	struct memory_pod memory_pod = ledger_memory_pod(placing->pod);
	struct memory_offer memory;
	struct alignment alignment;
	struct cpu_offer offer;
	int r;

	*ret_affinity = (struct cpu_affinity){.known = false};
	*ret_aligned = true;
	placing->hint = (struct hint){.any = true};
	if (manager->policy->align == ALIGN_NONE)
		return 0;
	if (container == UINT32_MAX) {
		cpu_offer_pod(manager, shared, placing->pod, placing->reuse, &offer);
		memory_offer_pod(ledger_memory_manager(placing->ledger),
				 ledger_memory_state(placing->ledger), &memory_pod,
				 placing->memory_reuse, &memory);
	} else {
		cpu_offer_container(manager, shared, placing->pod, container, placing->reuse,
				    &offer);
		memory_offer_container(ledger_memory_manager(placing->ledger),
				       ledger_memory_state(placing->ledger), &memory_pod, container,
				       placing->memory_reuse, &memory);
	}
	r = merge_offers(placing->ledger, &offer, &memory, &alignment);
	if (r)
		return r;
	placing->hint = alignment.hint;
	*ret_aligned = alignment.admitted;
	if (!alignment.admitted)
		return refuse_offers(placing, &offer, &memory, container);
	if (!alignment.hint.any) {
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

static bool refuse_memory_result(const struct placing *placing, enum memory_result result,
				 const struct memory_shortage *shortage)
{
	enum refusal refusal = result >= MEMORY_EMPTY_POOL ? REFUSAL_EMPTY_SHARED_POOL
			       : shortage->type		   ? REFUSAL_HUGEPAGES
							   : REFUSAL_MEMORY;

	refuse_memory(placing, refusal, result, shortage);
	return false;
}

/* Under placing->hint. False = refused. */
static bool allocate_memory(struct placing *placing, uint32_t container)
{
	struct ledger_pod *pod = placing->pod;
	struct memory_pod memory = ledger_memory_pod(pod);
	struct memory_shortage shortage;
	enum memory_result result;

	if (!pod->memory)
		return true;
	result = memory_allocate(ledger_memory_manager(placing->ledger),
				 ledger_edit_memory_state(placing->ledger), &memory, container,
				 &placing->hint, placing->memory_reuse, &shortage);
	if (result)
		return refuse_memory_result(placing, result, &shortage);
	pod->grants[container].mems = memory_container_nodes(pod->memory, container);
	return true;
}

static bool allocate_whole_memory(struct placing *placing)
{
	const struct memory_manager *manager = ledger_memory_manager(placing->ledger);
	struct ledger_pod *pod = placing->pod;
	struct memory_pod memory = ledger_memory_pod(pod);
	struct memory_shortage shortage;
	enum memory_result result;

	if (!pod->memory)
		return true;
	if (!memory_is_whole(manager, pod->spec)) {
		for (uint32_t i = 0; i < pod->nr_grants; i++) {
			if (!allocate_memory(placing, i))
				return false;
		}
		return true;
	}
	result = memory_allocate_pod(manager, ledger_edit_memory_state(placing->ledger), &memory,
				     &placing->hint, &shortage);
	if (result)
		return refuse_memory_result(placing, result, &shortage);
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		pod->grants[i].mems = memory_container_nodes(pod->memory, i);
	return true;
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
		if (!aligned || !allocate(placing, i) || !allocate_memory(placing, i))
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
		if (!allocate_bubble(placing))
			return 0;
	} else {
		for (uint32_t i = 0; i < pod->nr_grants; i++) {
			if (!allocate(placing, i))
				return 0;
		}
	}
	placing->decision->admitted = allocate_whole_memory(placing);
	return 0;
}

int place_pod(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
	      struct decision *decision)
{
	const struct policy *policy = ledger_policy(ledger);
	struct memory_reuse memory_reuse;
	struct placing placing = {
		.ledger = ledger,
		.pod = pod,
		.reuse = reuse,
		.memory_reuse = &memory_reuse,
		.decision = decision,
	};

	/* Not the sets: they are many, and none counts beyond nr. */
	memory_reuse.uid[0] = '\0';
	memory_reuse.nr = 0;
	decision->admitted = false;
	if (policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD)
		return place_whole(&placing);
	return place_containers(&placing);
}
