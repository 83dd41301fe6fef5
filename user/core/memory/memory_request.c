// SPDX-License-Identifier: Apache-2.0
/*
 * Computes what containers and pods request from the memory manager, and checks whether a
 * pod's budget is large enough for its containers. Uses only specs and does not know what
 * is free.
 */
#include "core/memory/memory_private.h"

/* --- requests --------------------------------------------------------------------------------- */

bool memory_is_pinned(const struct memory_manager *manager, const struct pod_spec *spec,
		      enum qos_class qos)
{
	return manager->policy->memory == MEMORY_POLICY_STATIC && qos == QOS_GUARANTEED &&
	       (!spec->has_pod_resources || manager->policy->pod_level_managers);
}

bool memory_is_exclusive(const struct container_spec *container)
{
	const struct resources *request = &container->request, *limit = &container->limit;

	return request->cpu_mcpu > 0 && request->cpu_mcpu == limit->cpu_mcpu &&
	       request->memory_bytes > 0 && request->memory_bytes == limit->memory_bytes;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void add_amount(const struct memory_manager *manager, uint64_t page_bytes, int64_t bytes,
		       struct memory_request *request)
{
	uint32_t type = memory_find_type(manager, page_bytes);

	if (bytes < 0)
		return;
	if (type == manager->nr_types) {
		if (bytes > 0) {
			request->is_unknown = true;
			request->unknown_page_bytes = page_bytes;
			request->unknown_bytes = (uint64_t)bytes;
		}
		return;
	}
	request->types |= 1U << type;
	request->bytes[type] = add_saturated(request->bytes[type], (uint64_t)bytes);
}

static void read_amounts(const struct memory_manager *manager, const struct resources *resources,
			 struct memory_request *ret_request)
{
	*ret_request = (struct memory_request){0};
	add_amount(manager, 0, resources->memory_bytes, ret_request);
	for (uint32_t i = 0; i < resources->nr_hugepages; i++)
		add_amount(manager, resources->hugepages[i].size_bytes,
			   resources->hugepages[i].bytes, ret_request);
}

void memory_container_request(const struct memory_manager *manager, const struct pod_spec *spec,
			      uint32_t index, struct memory_request *ret_request)
{
	const struct container_spec *container = &spec->containers[index];

	if (spec->has_pod_resources && !memory_is_exclusive(container))
		*ret_request = (struct memory_request){0};
	else
		read_amounts(manager, &container->request, ret_request);
}

/* Amounts of 0 do not belong to a budget. */
static void read_budget(const struct memory_manager *manager, const struct pod_spec *spec,
			struct memory_request *ret_request)
{
	read_amounts(manager, &spec->request, ret_request);
	memory_for_each_type(type, ret_request->types)
	{
		if (!ret_request->bytes[type])
			ret_request->types &= ~(1U << type);
	}
}

/*
 * Sidecars run concurrently with everything that starts after them; an ordinary init
 * container runs only with the sidecars before it. As in the kubelet, a type that no app
 * container requests is ignored.
 */
void memory_pod_request(const struct memory_manager *manager, const struct pod_spec *spec,
			struct memory_request *ret_request)
{
	struct memory_request sidecars = {0}, most_init = {0}, one;

	if (spec->has_pod_resources)
		return read_budget(manager, spec, ret_request);
	*ret_request = (struct memory_request){0};
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		enum container_kind kind = spec->containers[i].kind;
		struct memory_request *sum = kind == CONTAINER_APP ? ret_request : &sidecars;

		read_amounts(manager, &spec->containers[i].request, &one);
		if (one.is_unknown) {
			ret_request->is_unknown = true;
			ret_request->unknown_page_bytes = one.unknown_page_bytes;
			ret_request->unknown_bytes = one.unknown_bytes;
		}
		memory_for_each_type(type, one.types)
		{
			uint64_t with_sidecars =
				add_saturated(sidecars.bytes[type], one.bytes[type]);

			if (kind != CONTAINER_INIT)
				sum->bytes[type] = add_saturated(sum->bytes[type], one.bytes[type]);
			else if (with_sidecars > most_init.bytes[type])
				most_init.bytes[type] = with_sidecars;
		}
		if (kind == CONTAINER_APP)
			ret_request->types |= one.types;
	}
	for (uint32_t type = 0; type < manager->nr_types; type++) {
		uint64_t sum = add_saturated(ret_request->bytes[type], sidecars.bytes[type]);

		ret_request->bytes[type] = sum > most_init.bytes[type] ? sum
								       : most_init.bytes[type];
	}
}

bool memory_is_whole(const struct memory_manager *manager, const struct pod_spec *spec)
{
	const struct policy *policy = manager->policy;

	return spec->has_pod_resources && policy->pod_level_managers &&
	       policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD;
}

/* --- budgets ---------------------------------------------------------------------------------- */

/* The state of the iteration over the containers of a budget. */
struct budget {
	const struct memory_manager *manager;
	struct memory_request total;
	uint64_t exclusive[MEMORY_MAX_TYPES]; /* requests of long-running containers */
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

/* Is anything left for the shared containers? */
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
