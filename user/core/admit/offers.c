// SPDX-License-Identifier: Apache-2.0
/*
 * Collects the managers' offers and aligns them.
 *
 * Cost: one offer and one list of hints per manager, and one merge. A list has at most
 * 2^16 hints. With more than 16 nodes the lists are brief, and each is compared with the
 * other once.
 */
#include "core/admit/offers.h"

#include <errno.h>

void offers_make(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t container,
		 const struct cpu_reuse *cpu_reuse, const struct memory_reuse *memory_reuse,
		 struct offers *ret_offers)
{
	const struct cpu_manager *cpus = ledger_cpu_manager(ledger);
	const struct cpuset *shared = ledger_shared_pool(ledger);
	const struct memory_manager *memory = ledger_memory_manager(ledger);
	const struct memory_state *state = ledger_memory_state(ledger);
	struct memory_pod memory_pod = ledger_memory_pod(pod);

	if (container == UINT32_MAX) {
		cpu_offer_pod(cpus, shared, pod, cpu_reuse, &ret_offers->cpu);
		memory_offer_pod(memory, state, &memory_pod, memory_reuse, &ret_offers->memory);
	} else {
		cpu_offer_container(cpus, shared, pod, container, cpu_reuse, &ret_offers->cpu);
		memory_offer_container(memory, state, &memory_pod, container, memory_reuse,
				       &ret_offers->memory);
	}
}

void offers_join(const struct ledger *ledger, const struct ledger_pod *pod,
		 const struct cpu_reuse *reuse, struct offers *offers)
{
	const struct cpu_manager *cpus = ledger_cpu_manager(ledger);
	struct cpuset kept = *pod->held, available;
	uint32_t request = offers->cpu.request;

	if (offers->cpu.opinion == CPU_NO_OPINION)
		return;
	cpu_grantable(cpus, ledger_shared_pool(ledger), &available);
	cpuset_union(&available, &reuse->cpus);
	cpuset_subtract(&available, &cpus->withheld);
	cpuset_subtract(&kept, &reuse->cpus);
	cpu_offer_resize(cpus, &available, &kept, request + cpuset_count(&kept), &offers->cpu);
}

/*
 * List the CPU manager's hints for alignment. If it is the only provider (`alone`), the
 * brief list gives the same result as all hints, unless distances or sockets allow any
 * set of nodes to win.
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
	/* An empty list is equivalent to an impossible hint. */
	*ret_list = nr ? (struct hint_list){nr, hints} : (struct hint_list){1, &impossible};
	return 0;
}

static void widen_to_all_nodes(const struct topology *topology, struct hint *hints, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && topology->nr_memory_nodes != topology->nodes.nr; i++)
		hints[i].nodes = topology_to_memory_mask(topology, hints[i].nodes);
}

/* Is this set of nodes a hint of both providers? */
static bool both_have(const struct topology *topology, const struct cpu_offer *cpu,
		      const struct memory_offer *memory, node_mask_t nodes)
{
	node_mask_t on_cpus = topology_to_cpu_mask(topology, nodes);

	return topology_to_memory_mask(topology, on_cpus) == nodes && cpu_offer_has(cpu, on_cpus) &&
	       memory_offer_has(memory, nodes);
}

/*
 * Brief lists of two providers may have no set in common. Add the sets of each list that
 * the other provider accepts as well to both lists. A set that is listed twice counts once.
 */
static int share_hints(const struct topology *topology, const struct cpu_offer *cpu,
		       const struct memory_offer *memory, struct hint **hints, uint32_t *nr_hints,
		       struct hint_list *cpu_list, struct hint **storage)
{
	uint32_t room = cpu_list->nr + *nr_hints, nr_memory = *nr_hints;
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
		if (both_have(topology, cpu, memory, mine[i].nodes))
			theirs[(*nr_hints)++] = (struct hint){
				.nodes = mine[i].nodes,
				.preferred = memory_offer_prefers(memory, mine[i].nodes)};
	}
	for (uint32_t i = 0; i < nr_memory; i++) {
		if (both_have(topology, cpu, memory, theirs[i].nodes))
			mine[cpu_list->nr++] = (struct hint){
				.nodes = theirs[i].nodes,
				.preferred = cpu_offer_prefers(
					cpu, topology_to_cpu_mask(topology, theirs[i].nodes))};
	}
	return 0;
}

static int merge(const struct ledger *ledger, const struct cpu_offer *cpu,
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
		r = list_hints(policy, cpu, memory->opinion == MEMORY_NO_OPINION, brief, &storage,
			       &lists[0]);
	if (r)
		return r;
	if (lists[0].hints == storage)
		widen_to_all_nodes(topology, storage, lists[0].nr);
	else if (lists[0].hints == brief)
		widen_to_all_nodes(topology, brief, lists[0].nr);
	/* A list of one impossible hint is not in the storage, and has nothing to share. */
	if (topology->nr_memory_nodes > CPU_LIST_NODES && nr_memory && lists[0].hints == storage)
		r = share_hints(topology, cpu, memory, &memory_hints, &nr_memory, &lists[0],
				&storage);
	if (r)
		return r;
	problem.nr_lists = 1 + memory_offer_lists(memory, memory_hints, nr_memory, lists + 1);
	return align_merge(&problem, ret_alignment);
}

int offers_align(const struct ledger *ledger, const struct offers *offers,
		 struct alignment *ret_alignment)
{
	return merge(ledger, &offers->cpu, &offers->memory, ret_alignment);
}

int offers_align_cpus(const struct ledger *ledger, const struct offers *offers, bool *ret_admitted)
{
	const struct memory_offer nothing = {
		.opinion = MEMORY_NO_OPINION,
		.manager = ledger_memory_manager(ledger),
	};
	struct alignment alignment;
	int r = merge(ledger, &offers->cpu, &nothing, &alignment);

	if (!r)
		*ret_admitted = alignment.admitted;
	return r;
}
