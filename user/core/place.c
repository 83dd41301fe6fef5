// SPDX-License-Identifier: Apache-2.0
/*
 * One pod through alignment and the managers, in the scope of the policy.
 *
 * Scope container: each container is aligned, then allocated, one after the
 * other. Scope pod: one alignment for all; a pod with resources of its own gets
 * them as one bubble. A container has its CPUs and its memory before the next one
 * gets anything, as in the kubelet: a refused pod is told the same reason.
 * Transactions and suggestions are the callers' subject.
 *
 * Bounds: per container, or once per pod, an offer and a list of hints of each
 * manager, one merge of them, and one allocation. Lists are of 2^16 hints at most,
 * and brief beyond 16 nodes, where each is compared with the other once.
 */
#include "core/admit_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- alignment -------------------------------------------------------------------------------- */

/*
 * Masks of CPU hints are over the nodes with CPUs; alignment looks at all nodes.
 * On most machines these are the same.
 */
node_mask_t place_all_nodes(const struct topology *topology, node_mask_t nodes)
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
		hints[i].nodes = place_all_nodes(topology, hints[i].nodes);
}

/* Does a provider other than this one say the set will do? */
static bool both_have(const struct topology *topology, const struct cpu_offer *cpu,
		      const struct memory_offer *memory, node_mask_t nodes)
{
	node_mask_t on_cpus = to_cpu_nodes(topology, nodes);

	return on_cpus && place_all_nodes(topology, on_cpus) == nodes &&
	       cpu_offer_has(cpu, on_cpus) && memory_offer_has(memory, nodes);
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
	if (!r && placing->accounts)
		r = account_alignment(placing, &offer, &memory, &alignment, container);
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
	bool is_pages = shortage->type || shortage->unknown_page_bytes;
	enum refusal refusal = result >= MEMORY_EMPTY_POOL ? REFUSAL_EMPTY_SHARED_POOL
			       : is_pages		   ? REFUSAL_HUGEPAGES
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

static bool allocate_memory_budget(struct placing *placing)
{
	const struct memory_manager *manager = ledger_memory_manager(placing->ledger);
	struct ledger_pod *pod = placing->pod;
	struct memory_pod memory = ledger_memory_pod(pod);
	struct memory_shortage shortage;
	enum memory_result result;

	if (!pod->memory)
		return true;
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

/* What the pod asks for as a whole; the kubelet asks the CPU manager first. */
static bool allocate_budget(struct placing *placing)
{
	const struct ledger_pod *pod = placing->pod;

	if (cpu_is_bubble_pod(ledger_cpu_manager(placing->ledger), pod->spec, pod->qos) &&
	    !allocate_bubble(placing))
		return false;
	return allocate_memory_budget(placing);
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
	struct ledger_pod *pod = placing->pod;
	struct cpu_affinity affinity;
	bool aligned;
	int r = align(placing, UINT32_MAX, &affinity, &aligned);

	if (r || !aligned)
		return r;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		pod->grants[i].affinity = affinity;
	if (memory_is_whole(ledger_memory_manager(placing->ledger), pod->spec)) {
		placing->decision->admitted = allocate_budget(placing);
		return 0;
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!allocate(placing, i) || !allocate_memory(placing, i))
			return 0;
	}
	placing->decision->admitted = true;
	return 0;
}

int place_pod(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
	      struct decision *decision)
{
	return place_pod_accounted(ledger, pod, reuse, decision, NULL, 0);
}

int place_pod_accounted(struct ledger *ledger, struct ledger_pod *pod, struct cpu_reuse *reuse,
			struct decision *decision, struct account *accounts, uint32_t stride)
{
	const struct policy *policy = ledger_policy(ledger);
	struct memory_reuse memory_reuse;
	struct placing placing = {
		.ledger = ledger,
		.pod = pod,
		.reuse = reuse,
		.memory_reuse = &memory_reuse,
		.decision = decision,
		.accounts = accounts,
		.account_stride = stride,
	};

	/* Not the sets: they are many, and none counts beyond nr. */
	memory_reuse.uid[0] = '\0';
	memory_reuse.nr = 0;
	decision->admitted = false;
	if (policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD)
		return place_whole(&placing);
	return place_containers(&placing);
}
