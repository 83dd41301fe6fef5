// SPDX-License-Identifier: Apache-2.0
/*
 * The topology hints of the CPU manager, in closed form.
 *
 * The kubelet enumerates all 2^n sets of NUMA nodes. Whether a set is a hint depends only
 * on sums per node, so an offer stores these sums and answers for any set. The
 * enumeration exists for alignment with other providers and for traces.
 *
 * Cost for n nodes and s sockets: an offer takes n (log n + s) steps. The enumeration
 * takes 2^n additions, with n <= CPU_LIST_NODES, and the only memory allocation of this
 * file. The brief list takes at most n failing searches for the nodes with the most CPUs,
 * n^2 steps each, and two successful ones of n rounds, so 3 n^3 < 10^6 steps for n = 64.
 */
#include "core/cpu/cpu.h"

#include <errno.h>
#include <string.h>

/* policy_check() ensures that there are no more sockets than nodes, so 64 bits suffice. */
static void offer_sockets(const struct topology *topology, struct cpu_offer *offer)
{
	uint32_t per_socket = topology->num_sockets ? topology->num_nodes / topology->num_sockets
						    : 0;

	if (!per_socket)
		return;
	offer->min_sockets = (offer->min_nodes + per_socket - 1) / per_socket;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		for (uint32_t j = 0; j < topology->sockets.nr && j < 64; j++) {
			if (cpuset_intersects(&topology->nodes.cpus[i], &topology->sockets.cpus[j]))
				offer->sockets_of[i] |= (uint64_t)1 << j;
		}
	}
}

static void offer_from(const struct cpu_manager *manager, const struct cpuset *available,
		       const struct cpuset *reusable, uint32_t request, struct cpu_offer *ret_offer)
{
	const struct topology_level *nodes = &manager->topology->nodes;

	*ret_offer = (struct cpu_offer){
		.opinion = CPU_OFFERS,
		.request = request,
		.nr_reusable = cpuset_count(reusable),
		.min_nodes = topology_fewest_nodes(manager->topology, request),
		.manager = manager,
	};
	for (uint32_t i = 0; i < nodes->nr; i++) {
		ret_offer->available[i] = cpuset_count_common(available, &nodes->cpus[i]);
		if (cpuset_intersects(reusable, &nodes->cpus[i]))
			ret_offer->required |= (node_mask_t)1 << i;
	}
	if (manager->policy->cpu_options.align_by_socket)
		offer_sockets(manager->topology, ret_offer);
}

static void offer_nothing(enum cpu_opinion opinion, struct cpu_offer *ret_offer)
{
	*ret_offer = (struct cpu_offer){.opinion = opinion};
}

static struct cpuset reusable_of(const struct cpu_manager *manager, const struct cpu_reuse *reuse,
				 const struct ledger_pod *pod)
{
	struct cpuset cpus = strcmp(reuse->uid, pod->spec->uid) ? CPUSET_EMPTY : reuse->cpus;

	cpuset_subtract(&cpus, &manager->withheld);
	return cpus;
}

static bool is_gated_off(const struct cpu_manager *manager, const struct ledger_pod *pod)
{
	return pod->spec->has_pod_resources && !manager->policy->pod_level_managers;
}

void cpu_offer_container(const struct cpu_manager *manager, const struct cpuset *shared,
			 const struct ledger_pod *pod, uint32_t index,
			 const struct cpu_reuse *reuse, struct cpu_offer *ret_offer)
{
	uint32_t request = cpu_exclusive_count(manager, pod->spec, pod->qos, index);
	const struct grant *grant = &pod->grants[index];
	struct cpuset available, reusable;

	if (!request || is_gated_off(manager, pod)) {
		offer_nothing(CPU_NO_OPINION, ret_offer);
	} else if (grant->isolation == ISOLATION_HOST) {
		cpu_grantable(manager, shared, &available);
		reusable = reusable_of(manager, reuse, pod);
		offer_from(manager, &available, &reusable, request, ret_offer);
	} else if (cpuset_count(grant->cpus) != request) {
		offer_nothing(CPU_IMPOSSIBLE, ret_offer);
	} else {
		offer_from(manager, grant->cpus, &CPUSET_EMPTY, request, ret_offer);
	}
}

void cpu_offer_resize(const struct cpu_manager *manager, const struct cpuset *available,
		      const struct cpuset *held, uint32_t request, struct cpu_offer *ret_offer)
{
	offer_from(manager, available, held, request, ret_offer);
}

/* The maximum number of exclusive CPUs that are needed at the same time. */
static uint32_t exclusive_total(const struct cpu_manager *manager, const struct ledger_pod *pod)
{
	uint32_t apps = 0, sidecars = 0, most_init = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, i);

		if (pod->grants[i].kind == CONTAINER_APP)
			apps += nr;
		else if (pod->grants[i].kind == CONTAINER_SIDECAR)
			sidecars += nr;
		else if (nr && sidecars + nr > most_init)
			most_init = sidecars + nr;
	}
	return apps + sidecars > most_init ? apps + sidecars : most_init;
}

void cpu_offer_pod(const struct cpu_manager *manager, const struct cpuset *shared,
		   const struct ledger_pod *pod, const struct cpu_reuse *reuse,
		   struct cpu_offer *ret_offer)
{
	bool pod_level = pod->spec->has_pod_resources;
	uint32_t request = pod_level ? cpu_bubble_count(pod->spec, pod->qos)
				     : exclusive_total(manager, pod);
	struct cpuset held = CPUSET_EMPTY, available, reusable;

	if (!request || manager->policy->cpu != CPU_POLICY_STATIC || is_gated_off(manager, pod))
		return offer_nothing(CPU_NO_OPINION, ret_offer);
	/* Containers that become known one by one are refused one by one. */
	if (pod_level && !pod->spec->is_of_runtime &&
	    !cpu_pod_pool_is_enough(manager, pod->spec, pod->qos))
		return offer_nothing(CPU_IMPOSSIBLE, ret_offer);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		if (grant->isolation == ISOLATION_HOST)
			continue;
		if (cpuset_count(grant->cpus) !=
		    cpu_exclusive_count(manager, pod->spec, pod->qos, i))
			return offer_nothing(CPU_IMPOSSIBLE, ret_offer);
		cpuset_union(&held, grant->cpus);
	}
	if (cpuset_count(&held) == request)
		return offer_from(manager, &held, &CPUSET_EMPTY, request, ret_offer);
	cpu_grantable(manager, shared, &available);
	reusable = reusable_of(manager, reuse, pod);
	cpuset_union(&reusable, &held);
	offer_from(manager, &available, &reusable, request, ret_offer);
}

bool cpu_offer_has(const struct cpu_offer *offer, node_mask_t nodes)
{
	/* A CPU that is both reusable and available counts twice, as in the kubelet. */
	uint64_t count = offer->nr_reusable;

	if (offer->opinion != CPU_OFFERS || (offer->required & ~nodes))
		return false;
	for (; nodes; nodes &= nodes - 1)
		count += offer->available[__builtin_ctzll(nodes)];
	return count >= offer->request;
}

/* align-by-socket: does the set touch no more sockets than the smallest sufficient set? */
static bool is_socket_aligned(const struct cpu_offer *offer, node_mask_t nodes)
{
	uint64_t sockets = 0;

	for (; nodes; nodes &= nodes - 1)
		sockets |= offer->sockets_of[__builtin_ctzll(nodes)];
	return (uint32_t)__builtin_popcountll(sockets) == offer->min_sockets;
}

bool cpu_offer_prefers(const struct cpu_offer *offer, node_mask_t nodes)
{
	if ((uint32_t)__builtin_popcountll(nodes) == offer->min_nodes)
		return true;
	return offer->min_sockets && is_socket_aligned(offer, nodes);
}

static void add_hint(const struct cpu_offer *offer, node_mask_t nodes, struct hint *hints,
		     uint32_t *nr)
{
	if (!nodes || !cpu_offer_has(offer, nodes))
		return;
	hints[(*nr)++] =
		(struct hint){.nodes = nodes, .preferred = cpu_offer_prefers(offer, nodes)};
}

struct cpu_listing {
	const struct cpu_offer *offer;
	uint32_t nr_nodes, size;
	struct hint *hints;
	uint32_t nr;
};

/* Like add_hint, for a set whose size and CPU count (`count`) are already known. */
static void add_counted(struct cpu_listing *listing, node_mask_t nodes, uint64_t count)
{
	const struct cpu_offer *offer = listing->offer;
	bool preferred = listing->size == offer->min_nodes ||
			 (offer->min_sockets && is_socket_aligned(offer, nodes));

	if (count >= offer->request && !(offer->required & ~nodes))
		listing->hints[listing->nr++] =
			(struct hint){.nodes = nodes, .preferred = preferred};
}

/*
 * List the sets that consist of `nodes` and `more` nodes from `first` on, in
 * lexicographic order. The recursion depth is at most 16.
 */
static void list_size(struct cpu_listing *listing, node_mask_t nodes, uint64_t count,
		      uint32_t first, uint32_t more)
{
	for (uint32_t i = first; i + more <= listing->nr_nodes; i++) {
		node_mask_t with = nodes | (node_mask_t)1 << i;
		uint64_t sum = count + listing->offer->available[i];

		if (more == 1)
			add_counted(listing, with, sum);
		else
			list_size(listing, with, sum, i + 1, more - 1);
	}
}

static void list_all(const struct cpu_offer *offer, uint32_t nr_nodes, struct hint *hints,
		     uint32_t *nr)
{
	struct cpu_listing listing = {offer, nr_nodes, 1, hints, *nr};

	for (; listing.size <= nr_nodes; listing.size++)
		list_size(&listing, 0, offer->nr_reusable, 0, listing.size);
	*nr = listing.nr;
}

static node_mask_t lowest_nodes(uint32_t nr)
{
	return nr >= 64 ? ~(node_mask_t)0 : ((node_mask_t)1 << nr) - 1;
}

/*
 * The `size` nodes of `among` with the most CPUs, always including `fixed`; 0 = there are
 * not enough nodes.
 */
static node_mask_t richest_nodes(const struct cpu_offer *offer, node_mask_t among,
				 node_mask_t fixed, uint32_t size)
{
	node_mask_t chosen = fixed;

	among &= ~fixed;
	while ((uint32_t)__builtin_popcountll(chosen) < size) {
		uint32_t best = 64;

		if (!among)
			return 0;
		for (node_mask_t rest = among; rest; rest &= rest - 1) {
			uint32_t node = (uint32_t)__builtin_ctzll(rest);

			if (best == 64 || offer->available[node] > offer->available[best])
				best = node;
		}
		chosen |= (node_mask_t)1 << best;
		among &= ~((node_mask_t)1 << best);
	}
	return (uint32_t)__builtin_popcountll(chosen) == size ? chosen : 0;
}

/*
 * The set of `size` nodes that is a hint and has the smallest numeric value: starting at
 * the highest node, choose each node as low as the others allow. 0 = there is none.
 */
static node_mask_t lowest_hint(const struct cpu_offer *offer, uint32_t nr_nodes, uint32_t size)
{
	node_mask_t fixed = offer->required, below = lowest_nodes(nr_nodes), found;

	found = richest_nodes(offer, below, fixed, size);
	if (!found || !cpu_offer_has(offer, found))
		return 0;
	while (below & ~fixed) {
		/* Is the highest undecided node needed, or can it be left out? */
		node_mask_t top = (node_mask_t)1 << (63 - __builtin_clzll(below & ~fixed));
		node_mask_t without;

		below &= ~top;
		without = richest_nodes(offer, below, fixed, size);
		if (without && cpu_offer_has(offer, without))
			found = without;
		else
			fixed |= top;
		if ((uint32_t)__builtin_popcountll(fixed) == size)
			return fixed;
	}
	return found;
}

static node_mask_t nodes_of_socket(const struct topology *topology, uint32_t socket)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (cpuset_intersects(&topology->nodes.cpus[i], &topology->sockets.cpus[socket]))
			nodes |= (node_mask_t)1 << i;
	}
	return nodes;
}

uint32_t cpu_offer_brief(const struct cpu_offer *offer, struct hint *hints)
{
	const struct topology *topology;
	uint32_t nr_nodes, nr = 0;

	if (offer->opinion != CPU_OFFERS)
		return 0;
	topology = offer->manager->topology;
	nr_nodes = topology->nodes.nr;
	for (uint32_t i = 0; i < nr_nodes; i++)
		add_hint(offer, (node_mask_t)1 << i, hints, &nr);
	for (uint32_t size = 2; !nr && size < nr_nodes; size++)
		add_hint(offer, lowest_hint(offer, nr_nodes, size), hints, &nr);
	/*
	 * Reusable CPUs that are also free count twice, and then narrower sets are not
	 * preferred.
	 */
	if (offer->min_nodes > 1)
		add_hint(offer, lowest_hint(offer, nr_nodes, offer->min_nodes), hints, &nr);
	for (uint32_t i = 0; offer->min_sockets && i < topology->sockets.nr && i < 64; i++)
		add_hint(offer, nodes_of_socket(topology, i) | offer->required, hints, &nr);
	add_hint(offer, lowest_nodes(nr_nodes), hints, &nr);
	return nr;
}

int cpu_offer_list(const struct cpu_offer *offer, struct hint **ret_hints, uint32_t *ret_nr)
{
	struct hint *hints cleanup_free = NULL;
	uint32_t nr_nodes, nr = 0;

	if (offer->opinion != CPU_OFFERS) {
		*ret_hints = NULL;
		*ret_nr = 0;
		return 0;
	}
	nr_nodes = offer->manager->topology->nodes.nr;
	hints = malloc(sizeof(*hints) *
		       (nr_nodes <= CPU_LIST_NODES ? (size_t)1 << nr_nodes : CPU_BRIEF_MAX));
	if (!hints)
		return -ENOMEM;
	if (nr_nodes <= CPU_LIST_NODES)
		list_all(offer, nr_nodes, hints, &nr);
	else
		nr = cpu_offer_brief(offer, hints);
	*ret_hints = TAKE_PTR(hints);
	*ret_nr = nr;
	return 0;
}
