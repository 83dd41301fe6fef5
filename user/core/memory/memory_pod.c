// SPDX-License-Identifier: Apache-2.0
/*
 * Pods with pod-level resources that are allocated as a whole: the budget is charged
 * once, and divided without further charges among exclusive containers and a shared pool.
 * memory_request.c checks whether the budget is large enough.
 *
 * The rules are those of kubelet v1.36.3 with PodLevelResourceManagers and pod scope.
 */
#include <string.h>

#include "core/memory/memory_private.h"

static void share_of(node_mask_t nodes, const uint64_t *bytes, uint32_t types,
		     struct memory_share *ret_share)
{
	*ret_share = (struct memory_share){.present = true, .nodes = nodes};
	memory_for_each_type(type, types)
	{
		ret_share->bytes[type] = bytes[type];
		if (bytes[type])
			ret_share->types |= 1U << type;
	}
}

static void subtract(uint64_t *bytes, const struct memory_request *request)
{
	memory_for_each_type(type, request->types) bytes[type] -=
		bytes[type] < request->bytes[type] ? bytes[type] : request->bytes[type];
}

/*
 * Process the containers in order: a sidecar's share is unavailable to all later
 * containers, and an ordinary init container gets what the sidecars before it leave. The
 * shared pool is known only at the end, so the shared containers come last.
 */
static void divide(const struct memory_manager *manager, const struct memory_request *total,
		   node_mask_t nodes, struct memory_pod *pod)
{
	const struct pod_spec *spec = pod->spec;
	struct memory_share *shares = pod->blocks->containers;
	uint64_t pool[MEMORY_MAX_TYPES];

	memcpy(pool, total->bytes, sizeof(pool));
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		bool ordinary = spec->containers[i].kind == CONTAINER_INIT;
		struct memory_request one;

		if (memory_is_exclusive(&spec->containers[i])) {
			memory_container_request(manager, spec, i, &one);
			share_of(nodes, one.bytes, one.types, &shares[i]);
			if (!ordinary)
				subtract(pool, &one);
		} else if (ordinary) {
			share_of(nodes, pool, total->types, &shares[i]);
		}
	}
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (spec->containers[i].kind != CONTAINER_INIT &&
		    !memory_is_exclusive(&spec->containers[i]))
			share_of(nodes, pool, total->types, &shares[i]);
	}
}

void memory_divide(const struct memory_manager *manager, node_mask_t nodes, struct memory_pod *pod)
{
	struct memory_request total;

	memory_pod_request(manager, pod->spec, &total);
	share_of(nodes, total.bytes, total.types, &pod->blocks->pod);
	divide(manager, &total, nodes, pod);
}

enum memory_result memory_allocate_pod(const struct memory_manager *manager,
				       struct memory_state *state, struct memory_pod *pod,
				       const struct hint *hint,
				       struct memory_shortage *ret_shortage)
{
	struct memory_offer offer;
	struct memory_request total;
	node_mask_t nodes;
	enum memory_result result;

	if (!memory_is_pinned(manager, pod->spec, pod->qos))
		return MEMORY_OK;
	if (memory_is_repaired(manager) && pod->blocks->pod.present)
		return MEMORY_OK;
	result = memory_check_budget(manager, pod->spec, ret_shortage);
	if (result)
		return result;
	memory_pod_request(manager, pod->spec, &total);
	memory_offer_sizes(manager, state, &total, &offer);
	result = memory_choose(&offer, hint, &nodes, ret_shortage);
	if (result)
		return result;
	memory_charge(state, nodes, total.types, total.bytes);
	memory_divide(manager, nodes, pod);
	return MEMORY_OK;
}
