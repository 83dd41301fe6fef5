// SPDX-License-Identifier: Apache-2.0
/*
 * Allocation and release for one container: chooses the nodes and charges the memory to
 * them.
 */
#include <string.h>

#include "core/memory/memory_private.h"

/* --- init containers -------------------------------------------------------------------------- */

static bool is_ordinary_init(const struct memory_pod *pod, uint32_t index)
{
	return pod->spec->containers[index].kind == CONTAINER_INIT;
}

static struct memory_reuse_set *find_set(struct memory_reuse *reuse, node_mask_t nodes)
{
	struct memory_reuse_set *set;

	for (uint32_t i = 0; i < reuse->nr; i++) {
		if (reuse->sets[i].nodes == nodes)
			return &reuse->sets[i];
	}
	if (reuse->nr == POD_MAX_CONTAINERS)
		return NULL;
	set = &reuse->sets[reuse->nr++];
	*set = (struct memory_reuse_set){.nodes = nodes};
	return set;
}

/* Called after an allocation, including one that already existed. */
static void note_reuse(const struct memory_pod *pod, uint32_t index, struct memory_reuse *reuse)
{
	const struct memory_share *share = &pod->blocks->containers[index];
	struct memory_reuse_set *set;

	if (!reuse)
		return;
	if (strcmp(reuse->uid, pod->spec->uid) != 0) {
		memcpy(reuse->uid, pod->spec->uid, sizeof(reuse->uid));
		reuse->nr = 0;
	}
	set = share->types ? find_set(reuse, share->nodes) : NULL;
	if (!set)
		return;
	memory_for_each_type(type, share->types)
	{
		uint64_t size = share->bytes[type], old = set->bytes[type];

		if (is_ordinary_init(pod, index))
			set->bytes[type] = old > size ? old : size;
		else
			set->bytes[type] = old > size ? old - size : 0;
	}
}

void memory_shrink_inits(struct memory_pod *pod, uint32_t index)
{
	const struct memory_share *share = &pod->blocks->containers[index];

	memory_for_each_type(type, share->types)
	{
		uint64_t rest = share->bytes[type];

		for (uint32_t i = 0; i < index && rest; i++) {
			struct memory_share *init = &pod->blocks->containers[i];
			uint64_t taken;

			if (!is_ordinary_init(pod, i) || !init->present ||
			    init->nodes != share->nodes || !(init->types >> type & 1))
				continue;
			taken = init->bytes[type] < rest ? init->bytes[type] : rest;
			init->bytes[type] -= taken;
			rest -= taken;
		}
	}
}

/* --- allocation ------------------------------------------------------------------------------- */

static enum memory_result extend(const struct memory_offer *offer, const struct hint *best,
				 struct hint *ret_hint, struct memory_shortage *ret_shortage)
{
	memory_offer_shortage(offer, best->nodes, ret_shortage);
	if (!memory_offer_best(offer, best->nodes, ret_hint)) {
		/* In repaired mode the set may also be large enough but in use by another group. */
		if (memory_offer_is_free(offer, best->nodes) &&
		    !memory_offer_is_lawful(offer, best->nodes))
			return MEMORY_GROUP;
		return MEMORY_NO_EXTENSION;
	}
	return ret_hint->preferred || !best->preferred ? MEMORY_OK : MEMORY_NO_EXTENSION_PREFERRED;
}

enum memory_result memory_choose(const struct memory_offer *offer, const struct hint *hint,
				 node_mask_t *ret_nodes, struct memory_shortage *ret_shortage)
{
	bool repaired = memory_is_repaired(offer->manager);
	struct hint best = *hint, extended;
	enum memory_result result;

	memory_offer_shortage(offer, memory_all_nodes(offer->manager), ret_shortage);
	if (hint->any) {
		if (!memory_offer_best(offer, 0, &best))
			return MEMORY_NO_DEFAULT;
		if (!best.preferred && hint->preferred)
			return MEMORY_NO_DEFAULT_PREFERRED;
	}
	if (repaired ? !memory_offer_has(offer, best.nodes)
		     : !memory_offer_is_free(offer, best.nodes)) {
		result = extend(offer, &best, &extended, ret_shortage);
		if (result)
			return result;
		best = extended;
	}
	if (memory_count(best.nodes) > 1 && !memory_offer_is_lawful(offer, best.nodes)) {
		memory_offer_shortage(offer, best.nodes, ret_shortage);
		return MEMORY_GROUP;
	}
	*ret_nodes = best.nodes;
	return MEMORY_OK;
}

static void take(const struct memory_offer *offer, struct memory_state *state, node_mask_t nodes)
{
	struct memory_share *share = &offer->pod.blocks->containers[offer->index];
	const struct memory_request *request = &offer->request;
	uint64_t charge[MEMORY_MAX_TYPES];

	memory_for_each_type(type, request->types)
	{
		uint64_t reusable = memory_offer_reusable(offer, nodes, type);

		charge[type] = request->bytes[type] > reusable ? request->bytes[type] - reusable
							       : 0;
	}
	memory_charge(state, nodes, request->types, charge);
	*share = (struct memory_share){.present = true, .types = request->types, .nodes = nodes};
	memcpy(share->bytes, request->bytes, sizeof(share->bytes));
}

enum memory_result memory_allocate(const struct memory_manager *manager, struct memory_state *state,
				   struct memory_pod *pod, uint32_t index, const struct hint *hint,
				   struct memory_reuse *reuse, struct memory_shortage *ret_shortage)
{
	struct memory_offer offer;
	node_mask_t nodes;
	enum memory_result result;

	if (!memory_is_pinned(manager, pod->spec, pod->qos))
		return MEMORY_OK;
	if (!pod->blocks->containers[index].present) {
		memory_offer_container(manager, state, pod, index, reuse, &offer);
		if (memory_is_repaired(manager) && !offer.request.types &&
		    !offer.request.is_unknown)
			return MEMORY_OK;
		result = memory_choose(&offer, hint, &nodes, ret_shortage);
		if (result)
			return result;
		take(&offer, state, nodes);
		note_reuse(pod, index, reuse);
		memory_shrink_inits(pod, index);
		return MEMORY_OK;
	}
	note_reuse(pod, index, reuse);
	return MEMORY_OK;
}

/* --- release ---------------------------------------------------------------------------------- */

void memory_remove(const struct memory_manager *manager, struct memory_state *state,
		   struct memory_pod *pod, uint32_t index)
{
	struct memory_blocks *blocks = pod->blocks;
	struct memory_share *share = &blocks->containers[index];

	if (!share->present)
		return;
	if (!blocks->pod.present) {
		memory_release(manager, state, share);
		share->present = false;
		return;
	}
	share->present = false;
	for (uint32_t i = 0; i < blocks->nr; i++) {
		if (blocks->containers[i].present)
			return;
	}
	memory_release(manager, state, &blocks->pod);
	blocks->pod.present = false;
}

void memory_remove_pod(const struct memory_manager *manager, struct memory_state *state,
		       struct memory_pod *pod)
{
	for (uint32_t i = 0; i < pod->blocks->nr; i++)
		memory_remove(manager, state, pod, i);
}

void memory_uncharge(const struct memory_manager *manager, struct memory_state *state,
		     const struct memory_blocks *blocks)
{
	if (blocks->pod.present)
		memory_release(manager, state, &blocks->pod);
	for (uint32_t i = 0; i < blocks->nr && !blocks->pod.present; i++) {
		if (blocks->containers[i].present)
			memory_release(manager, state, &blocks->containers[i]);
	}
}

void memory_started(const struct memory_manager *manager, struct memory_state *state,
		    struct memory_pod *pod, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (is_ordinary_init(pod, i))
			memory_remove(manager, state, pod, i);
	}
}
