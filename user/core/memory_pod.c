// SPDX-License-Identifier: Apache-2.0
/*
 * Pods with resources of their own, placed as one: the budget is charged once,
 * and divided on paper among exclusive containers and a shared pool.
 *
 * Rule: kubelet v1.36.3 with PodLevelResourceManagers, pod scope.
 */
#include <string.h>

#include "core/memory_private.h"

/* What the walk over the containers of a budget has seen so far. */
struct budget {
	const struct memory_manager *manager;
	struct memory_request total;
	uint64_t exclusive[MEMORY_MAX_TYPES]; /* of long-running containers */
	bool has_shared;
	struct memory_shortage *shortage;
};

static enum memory_result fall_short(struct budget *budget, enum memory_result result,
				     uint32_t type, uint64_t wanted, uint64_t available,
				     uint32_t container)
{
	*budget->shortage = (struct memory_shortage){
		.type = type,
		.wanted_bytes = wanted,
		.available_bytes = available,
		.kernel_free_bytes = MEMORY_NOT_KNOWN,
		.container = container,
	};
	return result;
}

static uint64_t left_of(const struct budget *budget, uint32_t type)
{
	uint64_t total = budget->total.bytes[type], taken = budget->exclusive[type];

	return total > taken ? total - taken : 0;
}

/* Is anything left for those that share? */
static enum memory_result check_left(struct budget *budget, enum memory_result result,
				     uint32_t container)
{
	memory_for_each_type(type, budget->total.types)
	{
		if (!left_of(budget, type))
			return fall_short(budget, result, type, budget->exclusive[type],
					  budget->total.bytes[type], container);
	}
	return MEMORY_OK;
}

static enum memory_result check_init(struct budget *budget, const struct pod_spec *spec,
				     uint32_t index)
{
	struct memory_request one;

	if (!memory_is_exclusive(&spec->containers[index]))
		return check_left(budget, MEMORY_EMPTY_INIT_POOL, index);
	if (!memory_is_repaired(budget->manager))
		return MEMORY_OK;
	memory_container_request(budget->manager, spec, index, &one);
	memory_for_each_type(type, one.types)
	{
		if (one.bytes[type] > left_of(budget, type))
			return fall_short(budget, MEMORY_INIT_OVER_BUDGET, type, one.bytes[type],
					  left_of(budget, type), index);
	}
	return MEMORY_OK;
}

enum memory_result memory_check_budget(const struct memory_manager *manager,
				       const struct pod_spec *spec,
				       struct memory_shortage *ret_shortage)
{
	struct budget budget = {.manager = manager, .shortage = ret_shortage};

	memory_pod_request(manager, spec, &budget.total);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		struct memory_request one;

		if (spec->containers[i].kind == CONTAINER_INIT) {
			enum memory_result result = check_init(&budget, spec, i);

			if (result)
				return result;
			continue;
		}
		if (!memory_is_exclusive(&spec->containers[i])) {
			budget.has_shared = true;
			continue;
		}
		memory_container_request(manager, spec, i, &one);
		memory_for_each_type(type, one.types) budget.exclusive[type] += one.bytes[type];
	}
	return budget.has_shared ? check_left(&budget, MEMORY_EMPTY_POOL, UINT32_MAX) : MEMORY_OK;
}

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
 * In order: a sidecar's share is gone for all that come after it, an ordinary
 * init container has what the sidecars so far leave. The shared pool is known
 * only at the end, so those that get it come last.
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

bool memory_is_whole(const struct memory_manager *manager, const struct pod_spec *spec)
{
	const struct policy *policy = manager->policy;

	return spec->has_pod_resources && policy->pod_level_managers &&
	       policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD;
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
	offer.pod = *pod;
	result = memory_choose(&offer, hint, &nodes, ret_shortage);
	if (result)
		return result;
	memory_charge(manager, state, nodes, total.types, total.bytes);
	memory_divide(manager, nodes, pod);
	return MEMORY_OK;
}
