// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the sets of NUMA nodes that can satisfy a request, and the best one among them.
 *
 * The kubelet enumerates all 2^n sets for every request. Here each set can be checked
 * independently, and the best one is searched in order of size: by the group rule, a set
 * of several nodes either consists of unused nodes or is a group in use.
 */
#include <errno.h>
#include <string.h>

#include "core/memory/memory_private.h"

/* --- one set ---------------------------------------------------------------------------------- */

uint64_t memory_offer_reusable(const struct memory_offer *offer, node_mask_t nodes, uint32_t type)
{
	const struct memory_reuse *reuse = offer->reuse;
	const struct memory_blocks *blocks = offer->pod.blocks;
	uint64_t sum = 0;

	if (!memory_is_repaired(offer->manager)) {
		if (!reuse || strcmp(reuse->uid, offer->pod.spec->uid) != 0)
			return 0;
		for (uint32_t i = 0; i < reuse->nr; i++) {
			if (reuse->sets[i].nodes == nodes)
				return reuse->sets[i].bytes[type];
		}
		return 0;
	}
	if (!blocks || blocks->pod.present)
		return 0;
	/*
	 * App containers come after all init containers, so the index order is the order
	 * in time.
	 */
	for (uint32_t i = 0; i < blocks->nr && i < offer->index; i++) {
		const struct memory_share *share = &blocks->containers[i];

		if (offer->pod.spec->containers[i].kind == CONTAINER_INIT && share->present &&
		    share->nodes == nodes && (share->types >> type & 1))
			sum += share->bytes[type];
	}
	return sum;
}

static uint64_t sum_free(const struct memory_offer *offer, node_mask_t nodes, uint32_t type)
{
	uint64_t sum = 0;

	for (; nodes; nodes &= nodes - 1)
		sum += offer->state->nodes[__builtin_ctzll(nodes)].free_bytes[type];
	return sum;
}

/* MEMORY_NOT_KNOWN if the value of any node is not known. */
static uint64_t sum_kernel_free(const struct memory_offer *offer, node_mask_t nodes, uint32_t type)
{
	uint64_t sum = 0;

	for (; nodes; nodes &= nodes - 1) {
		uint64_t free = offer->manager->kernel_free_bytes[__builtin_ctzll(nodes)][type];

		if (free == MEMORY_NOT_KNOWN)
			return MEMORY_NOT_KNOWN;
		sum += free;
	}
	return sum;
}

static bool has_capacity(const struct memory_offer *offer, node_mask_t nodes)
{
	if (offer->request.is_unknown)
		return false;
	memory_for_each_type(type, offer->request.types)
	{
		uint64_t sum = 0;

		for (node_mask_t left = nodes; left; left &= left - 1)
			sum += offer->manager->allocatable_bytes[__builtin_ctzll(left)][type];
		if (sum < offer->request.bytes[type])
			return false;
	}
	return true;
}

bool memory_offer_is_lawful(const struct memory_offer *offer, node_mask_t nodes)
{
	node_mask_t used = nodes & offer->used;

	if (memory_count(nodes) == 1)
		return memory_count(offer->state->nodes[__builtin_ctzll(nodes)].cells) <= 1;
	for (; used; used &= used - 1) {
		if (offer->state->nodes[__builtin_ctzll(used)].cells != nodes)
			return false;
	}
	return true;
}

bool memory_offer_is_free(const struct memory_offer *offer, node_mask_t nodes)
{
	if (offer->request.is_unknown)
		return false;
	memory_for_each_type(type, offer->request.types)
	{
		if (sum_free(offer, nodes, type) < offer->request.bytes[type])
			return false;
	}
	return true;
}

uint32_t memory_offer_lacking(const struct memory_offer *offer, node_mask_t nodes)
{
	uint32_t lacking = 0;

	memory_for_each_type(type, offer->request.types)
	{
		uint64_t wanted = offer->request.bytes[type];
		uint64_t reusable = memory_offer_reusable(offer, nodes, type);

		if (sum_free(offer, nodes, type) + reusable < wanted)
			lacking |= 1U << type;
		if (type && !offer->is_resident && memory_is_repaired(offer->manager) &&
		    wanted > reusable && sum_kernel_free(offer, nodes, type) < wanted - reusable)
			lacking |= 1U << type;
	}
	return lacking;
}

bool memory_offer_has(const struct memory_offer *offer, node_mask_t nodes)
{
	/* Most sets with a node in use violate the group rule, so check that first. */
	return nodes && offer->request.types && memory_offer_is_lawful(offer, nodes) &&
	       !memory_offer_lacking(offer, nodes) && has_capacity(offer, nodes);
}

bool memory_offer_prefers(const struct memory_offer *offer, node_mask_t nodes)
{
	return memory_count(nodes) == offer->min_nodes;
}

void memory_offer_shortage(const struct memory_offer *offer, node_mask_t nodes,
			   struct memory_shortage *ret_shortage)
{
	uint32_t types = offer->request.types;
	/* If no type is short, the group rule is the obstacle; report the first type requested. */
	uint32_t first = types ? (uint32_t)__builtin_ctz(types) : 0;

	memory_for_each_type(type, types)
	{
		uint64_t wanted = offer->request.bytes[type];

		if (sum_free(offer, nodes, type) < wanted ||
		    (type && sum_kernel_free(offer, nodes, type) < wanted)) {
			first = type;
			break;
		}
	}
	if (offer->request.is_unknown) {
		*ret_shortage = (struct memory_shortage){
			.unknown_page_bytes = offer->request.unknown_page_bytes,
			.wanted_bytes = offer->request.unknown_bytes,
			.kernel_free_bytes = MEMORY_NOT_KNOWN,
			.nodes = nodes,
			.container = offer->index,
		};
		return;
	}
	*ret_shortage = (struct memory_shortage){
		.type = first,
		.wanted_bytes = offer->request.bytes[first],
		.available_bytes = sum_free(offer, nodes, first),
		.kernel_free_bytes = first ? sum_kernel_free(offer, nodes, first)
					   : MEMORY_NOT_KNOWN,
		.nodes = nodes,
		.container = offer->index,
	};
}

/* --- all sets of one size --------------------------------------------------------------------- */

typedef bool judge_set(const struct memory_offer *offer, node_mask_t nodes);

#define MAX_LOOKS 65536 /* limit for examining sets of one size individually */

/* C(n, k), or a value above MAX_LOOKS. */
static uint64_t combinations(uint32_t n, uint32_t k)
{
	uint64_t nr = 1;

	for (uint32_t i = 1; i <= (k < n - k ? k : n - k) && nr <= MAX_LOOKS; i++)
		nr = nr * (n - i + 1) / i;
	return nr;
}

/* Bit i of `picks` chooses the i-th lowest member of `among`. */
static node_mask_t pick(node_mask_t among, uint64_t picks)
{
	node_mask_t nodes = 0;

	for (; picks; picks >>= 1, among &= among - 1) {
		if (picks & 1)
			nodes |= among & -among;
	}
	return nodes;
}

/* The sets ascend numerically, so the first good one is the lowest. */
static node_mask_t lowest_by_looking(const struct memory_offer *offer, judge_set *is_good,
				     node_mask_t base, node_mask_t among, uint32_t size)
{
	uint32_t nr = memory_count(among);
	uint64_t picks = memory_first_nodes(size);

	if (!size)
		return is_good(offer, base) ? base : 0;
	for (;;) {
		node_mask_t nodes = base | pick(among, picks);
		uint64_t low = picks & -picks, ripple = picks + low;

		if (is_good(offer, nodes))
			return nodes;
		/* The highest members were the last set. */
		if (picks >> (nr - size) == memory_first_nodes(size))
			return 0;
		/* The next number with the same number of bits. */
		picks = ripple | (((picks ^ ripple) >> 2) / low);
	}
}

/* How much of the request a node has, summed over all types; each type counts at most 2^20. */
static uint64_t worth(const struct memory_offer *offer, uint32_t index, bool capacity)
{
	uint64_t sum = 0;

	memory_for_each_type(type, offer->request.types)
	{
		uint64_t wanted = offer->request.bytes[type];
		uint64_t has = capacity ? offer->manager->allocatable_bytes[index][type]
					: offer->state->nodes[index].free_bytes[type];

		if (wanted)
			sum += has >= wanted ? 1 << 20
					     : (uint64_t)((double)has / (double)wanted * (1 << 20));
	}
	return sum;
}

/* The lowest of the nodes that have most of the request. */
static uint32_t richest_node(const struct memory_offer *offer, node_mask_t among, bool capacity)
{
	uint32_t best = (uint32_t)__builtin_ctzll(among);
	uint64_t most = worth(offer, best, capacity);

	for (node_mask_t left = among; left; left &= left - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(left);
		uint64_t has = worth(offer, index, capacity);

		if (has > most) {
			best = index;
			most = has;
		}
	}
	return best;
}

static node_mask_t richest(const struct memory_offer *offer, node_mask_t base, node_mask_t among,
			   uint32_t size, bool capacity)
{
	while (memory_count(base) < size && among) {
		node_mask_t best = (node_mask_t)1 << richest_node(offer, among, capacity);

		base |= best;
		among &= ~best;
	}
	return memory_count(base) == size ? base : 0;
}

/*
 * Starting at the highest node: is it needed, or do the others with the most memory
 * suffice? With one type, those suffice whenever any set does, so the result is the
 * lowest set. `found` always includes `base` and is in turn part of `base` and `among`.
 */
static node_mask_t lowest_by_worth(const struct memory_offer *offer, judge_set *is_good,
				   node_mask_t base, node_mask_t among, uint32_t size,
				   bool capacity)
{
	node_mask_t found = richest(offer, base, among, size, capacity);

	if (!found || !is_good(offer, found))
		return 0;
	while (memory_count(base) < size) {
		node_mask_t top = (node_mask_t)1 << (63 - __builtin_clzll(among));
		node_mask_t without;

		among &= ~top;
		without = richest(offer, base, among, size, capacity);
		if (without && is_good(offer, without))
			found = without;
		else
			base |= top;
	}
	return found;
}

/* The lowest good set of `size` nodes that consists of `base` and nodes of `among`; 0 = none. */
static node_mask_t lowest_set(const struct memory_offer *offer, judge_set *is_good,
			      node_mask_t base, node_mask_t among, uint32_t size, bool capacity)
{
	uint32_t more = size - memory_count(base);

	among &= ~base;
	if (size < memory_count(base) || more > memory_count(among))
		return 0;
	if (combinations(memory_count(among), more) <= MAX_LOOKS)
		return lowest_by_looking(offer, is_good, base, among, more);
	return lowest_by_worth(offer, is_good, base, among, size, capacity);
}

/* --- the best set ----------------------------------------------------------------------------- */

/*
 * The smallest number of nodes that can hold one type, 0 for an amount of 0. Sums that
 * wrap around are not ordered by size.
 */
static uint32_t fewest_for_type(const struct memory_offer *offer, uint32_t type)
{
	node_mask_t left = memory_all_nodes(offer->manager);
	uint64_t sum = 0;
	uint32_t nr = 0;

	if (offer->manager->wraps)
		return 1;
	for (; left && sum < offer->request.bytes[type]; nr++) {
		uint32_t best = (uint32_t)__builtin_ctzll(left);

		for (node_mask_t other = left; other; other &= other - 1) {
			uint32_t index = (uint32_t)__builtin_ctzll(other);

			if (offer->manager->allocatable_bytes[index][type] >
			    offer->manager->allocatable_bytes[best][type])
				best = index;
		}
		sum += offer->manager->allocatable_bytes[best][type];
		left &= ~((node_mask_t)1 << best);
	}
	return sum < offer->request.bytes[type] ? memory_nr_nodes(offer->manager) : nr;
}

/* By capacity, not by free memory; the number of all nodes if no set has enough. */
static uint32_t fewest_by_capacity(const struct memory_offer *offer)
{
	uint32_t nr = memory_nr_nodes(offer->manager), size = 1;

	if (offer->request.is_unknown)
		return nr;
	memory_for_each_type(type, offer->request.types)
	{
		uint32_t least = fewest_for_type(offer, type);

		size = least > size ? least : size;
	}
	if (memory_count(offer->request.types) <= 1 && !offer->manager->wraps)
		return size;
	while (size < nr &&
	       !lowest_set(offer, has_capacity, 0, memory_all_nodes(offer->manager), size, true))
		size++;
	return size;
}

/*
 * A search is pointless if one type exceeds what any `size` unused nodes can have. None of
 * them has reusable memory: an init container that leaves some is still charged there.
 */
static bool may_fit(const struct memory_offer *offer, node_mask_t base, node_mask_t among,
		    uint32_t size)
{
	memory_for_each_type(type, offer->request.types)
	{
		node_mask_t left = among & ~base;
		uint64_t sum = sum_free(offer, base, type);

		for (uint32_t nr = memory_count(base); nr < size && left; nr++) {
			uint32_t best = (uint32_t)__builtin_ctzll(left);

			for (node_mask_t other = left; other; other &= other - 1) {
				uint32_t index = (uint32_t)__builtin_ctzll(other);

				if (offer->state->nodes[index].free_bytes[type] >
				    offer->state->nodes[best].free_bytes[type])
					best = index;
			}
			sum += offer->state->nodes[best].free_bytes[type];
			left &= ~((node_mask_t)1 << best);
		}
		if (!offer->manager->wraps && sum < offer->request.bytes[type])
			return false;
	}
	return true;
}

/* The lowest hint of `size` nodes that includes `base`; 0 = none. */
static node_mask_t hint_of_size(const struct memory_offer *offer, node_mask_t base, uint32_t size)
{
	node_mask_t all = memory_all_nodes(offer->manager), best = 0;

	if (size == 1)
		return lowest_set(offer, memory_offer_has, base, all, 1, false);
	for (node_mask_t used = offer->used; used; used &= used - 1) {
		node_mask_t group = offer->state->nodes[__builtin_ctzll(used)].cells;

		if (memory_count(group) == size && !(base & ~group) && (!best || group < best) &&
		    memory_offer_has(offer, group))
			best = group;
	}
	if (!(base & offer->used) && may_fit(offer, base, all & ~offer->used, size)) {
		node_mask_t set =
			lowest_set(offer, memory_offer_has, base, all & ~offer->used, size, false);

		if (set && (!best || set < best))
			best = set;
	}
	return best;
}

bool memory_offer_best(const struct memory_offer *offer, node_mask_t base, struct hint *ret_hint)
{
	uint32_t size = memory_count(base);
	node_mask_t nodes = 0;

	if (!offer->request.types)
		return false;
	/* No set of fewer nodes has the capacity. */
	if (size < offer->min_nodes)
		size = offer->min_nodes;
	for (; !nodes && size <= memory_nr_nodes(offer->manager); size++)
		nodes = hint_of_size(offer, base, size);
	if (!nodes)
		return false;
	*ret_hint = (struct hint){.nodes = nodes, .preferred = memory_offer_prefers(offer, nodes)};
	return true;
}

enum memory_result memory_probe(const struct memory_offer *offer, uint32_t max_nodes,
				struct memory_shortage *ret_shortage)
{
	node_mask_t all = memory_all_nodes(offer->manager);
	uint32_t size = max_nodes ? max_nodes : offer->min_nodes;
	struct hint best;

	if (offer->opinion == MEMORY_IMPOSSIBLE)
		return memory_check_budget(offer->manager, offer->pod.spec, ret_shortage);
	if (offer->opinion != MEMORY_OFFERS ||
	    (!offer->request.types && !offer->request.is_unknown))
		return MEMORY_OK;
	if (!memory_offer_best(offer, 0, &best)) {
		memory_offer_shortage(offer, all, ret_shortage);
		return MEMORY_NO_DEFAULT;
	}
	if (best.preferred && (!max_nodes || memory_count(best.nodes) <= max_nodes))
		return MEMORY_OK;
	memory_offer_shortage(offer, richest(offer, 0, all, size, false), ret_shortage);
	return MEMORY_NO_DEFAULT_PREFERRED;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct memory_listing {
	const struct memory_offer *offer;
	struct hint *hints;
	uint32_t nr;
};

static void add_hint(struct memory_listing *listing, node_mask_t nodes)
{
	if (!memory_offer_has(listing->offer, nodes))
		return;
	for (uint32_t i = 0;
	     i < listing->nr && memory_nr_nodes(listing->offer->manager) > MEMORY_EXACT_NODES;
	     i++) {
		if (listing->hints[i].nodes == nodes)
			return;
	}
	listing->hints[listing->nr++] = (struct hint){
		.nodes = nodes, .preferred = memory_offer_prefers(listing->offer, nodes)};
}

/*
 * List the sets that consist of `chosen` and `more` nodes from `first` on, in
 * lexicographic order. The recursion depth is at most 16. By the group rule, a set with a
 * node in use must be that node's group; `bound` is the intersection of the groups of the
 * chosen nodes, and a set with nodes outside it is not a hint.
 */
static void list_size(struct memory_listing *listing, node_mask_t chosen, node_mask_t bound,
		      uint32_t first, uint32_t more)
{
	const struct memory_offer *offer = listing->offer;
	uint32_t nr = memory_nr_nodes(offer->manager);

	if (!more)
		return add_hint(listing, chosen);
	for (uint32_t i = first; i + more <= nr; i++) {
		node_mask_t with = chosen | (node_mask_t)1 << i, within = bound;

		if ((chosen || more > 1) && (offer->used >> i & 1))
			within &= offer->state->nodes[i].cells;
		if (!(with & ~within))
			list_size(listing, with, within, i + 1, more - 1);
	}
}

static void list_brief(struct memory_listing *listing)
{
	const struct memory_offer *offer = listing->offer;
	node_mask_t all = memory_all_nodes(offer->manager);

	for (uint32_t i = 0; i < memory_nr_nodes(offer->manager); i++)
		add_hint(listing, (node_mask_t)1 << i);
	for (node_mask_t used = offer->used; used; used &= used - 1)
		add_hint(listing, offer->state->nodes[__builtin_ctzll(used)].cells);
	for (uint32_t size = 2; size <= memory_nr_nodes(offer->manager); size++) {
		node_mask_t set = hint_of_size(offer, 0, size);

		add_hint(listing, set);
		if (set)
			break;
	}
	add_hint(listing, all & ~offer->used);
}

int memory_offer_list(const struct memory_offer *offer, struct hint **ret_hints, uint32_t *ret_nr)
{
	struct memory_listing listing = {.offer = offer};
	uint32_t nr = memory_nr_nodes(offer->manager);

	if (offer->opinion != MEMORY_OFFERS || !offer->request.types) {
		*ret_hints = NULL;
		*ret_nr = 0;
		return 0;
	}
	listing.hints = malloc(sizeof(*listing.hints) *
			       (nr <= MEMORY_EXACT_NODES ? (size_t)1 << nr : MEMORY_BRIEF_MAX));
	if (!listing.hints)
		return -ENOMEM;
	for (uint32_t size = 1; nr <= MEMORY_EXACT_NODES && size <= nr; size++)
		list_size(&listing, 0, ~(node_mask_t)0, 0, size);
	if (nr > MEMORY_EXACT_NODES)
		list_brief(&listing);
	*ret_hints = listing.hints;
	*ret_nr = listing.nr;
	return 0;
}

uint32_t memory_offer_lists(const struct memory_offer *offer, const struct hint *hints,
			    uint32_t nr_hints, struct hint_list *lists)
{
	static const struct hint no_opinion = HINT_NO_OPINION, impossible = HINT_IMPOSSIBLE;
	struct hint_list list = {1, &no_opinion};
	uint32_t nr = memory_count(offer->request.types);
	bool asks = nr || offer->request.is_unknown;

	switch (offer->opinion) {
	case MEMORY_IMPOSSIBLE:
		list.hints = &impossible;
		break;
	case MEMORY_KEEPS:
		list.hints = &offer->kept;
		break;
	case MEMORY_OFFERS:
		if (nr_hints)
			list = (struct hint_list){nr_hints, hints};
		else if (asks && memory_is_repaired(offer->manager))
			list.hints = &impossible;
		break;
	case MEMORY_NO_OPINION:
		break;
	}
	/* The kubelet represents "no opinion" as one list, however many types are requested. */
	if (list.hints == &no_opinion || !nr)
		nr = 1;
	for (uint32_t i = 0; i < nr; i++)
		lists[i] = list;
	return nr;
}

/* --- construction ----------------------------------------------------------------------------- */

static void begin_offer(const struct memory_manager *manager, const struct memory_state *state,
			const struct memory_reuse *reuse, struct memory_offer *ret_offer)
{
	*ret_offer = (struct memory_offer){
		.opinion = MEMORY_NO_OPINION,
		.index = UINT32_MAX,
		.manager = manager,
		.state = state,
		.reuse = reuse,
	};
}

static void offer_request(struct memory_offer *offer)
{
	offer->opinion = MEMORY_OFFERS;
	for (uint32_t i = 0; i < memory_nr_nodes(offer->manager); i++) {
		if (offer->state->nodes[i].nr_assignments)
			offer->used |= (node_mask_t)1 << i;
	}
	offer->min_nodes = fewest_by_capacity(offer);
}

void memory_offer_sizes(const struct memory_manager *manager, const struct memory_state *state,
			const struct memory_request *request, struct memory_offer *ret_offer)
{
	begin_offer(manager, state, NULL, ret_offer);
	ret_offer->request = *request;
	offer_request(ret_offer);
}

/* Offer what is already held if it matches the request exactly; otherwise no opinion. */
static void offer_kept(struct memory_offer *offer, const struct memory_share *share)
{
	if (share->types != offer->request.types)
		return;
	memory_for_each_type(type, share->types)
	{
		if (share->bytes[type] != offer->request.bytes[type])
			return;
	}
	offer->opinion = MEMORY_KEEPS;
	offer->kept = (struct hint){.nodes = share->nodes, .preferred = true};
	/* Nothing is requested and nothing is held: no hints, and no opinion either. */
	if (!share->types)
		offer->opinion = MEMORY_OFFERS;
}

void memory_offer_container(const struct memory_manager *manager, const struct memory_state *state,
			    const struct memory_pod *pod, uint32_t index,
			    const struct memory_reuse *reuse, struct memory_offer *ret_offer)
{
	begin_offer(manager, state, reuse, ret_offer);
	ret_offer->index = index;
	ret_offer->pod = *pod;
	if (!memory_is_pinned(manager, pod->spec, pod->qos))
		return;
	memory_container_request(manager, pod->spec, index, &ret_offer->request);
	if (pod->blocks && pod->blocks->containers[index].present)
		return offer_kept(ret_offer, &pod->blocks->containers[index]);
	offer_request(ret_offer);
}

/* Repaired: the nodes of everything that a pod holds, if they are the same for all containers. */
static bool find_common_nodes(const struct memory_blocks *blocks, node_mask_t *ret_nodes)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < blocks->nr; i++) {
		const struct memory_share *share = &blocks->containers[i];

		if (!share->present || !share->types)
			continue;
		if (nodes && share->nodes != nodes)
			return false;
		nodes = share->nodes;
	}
	*ret_nodes = nodes;
	return nodes != 0;
}

static const struct memory_share *first_share(const struct memory_blocks *blocks)
{
	for (uint32_t i = 0; blocks && i < blocks->nr; i++) {
		if (blocks->containers[i].present)
			return &blocks->containers[i];
	}
	return NULL;
}

void memory_offer_pod(const struct memory_manager *manager, const struct memory_state *state,
		      const struct memory_pod *pod, const struct memory_reuse *reuse,
		      struct memory_offer *ret_offer)
{
	const struct memory_share *share = first_share(pod->blocks);
	struct memory_shortage shortage;
	node_mask_t nodes;

	begin_offer(manager, state, reuse, ret_offer);
	ret_offer->pod = *pod;
	if (!memory_is_pinned(manager, pod->spec, pod->qos))
		return;
	memory_pod_request(manager, pod->spec, &ret_offer->request);
	if (pod->spec->has_pod_resources && memory_check_budget(manager, pod->spec, &shortage)) {
		ret_offer->opinion = MEMORY_IMPOSSIBLE;
		return;
	}
	if (!ret_offer->request.types && !ret_offer->request.is_unknown)
		return;
	if (!share)
		return offer_request(ret_offer);
	/* The kubelet compares the first container's blocks with the request of the whole pod. */
	if (!memory_is_repaired(manager))
		return offer_kept(ret_offer, share);
	if (find_common_nodes(pod->blocks, &nodes)) {
		ret_offer->opinion = MEMORY_KEEPS;
		ret_offer->kept = (struct hint){.nodes = nodes, .preferred = true};
	}
}
