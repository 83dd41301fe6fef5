// SPDX-License-Identifier: Apache-2.0
/*
 * The requests of a pod: API defaulting, QoS class and totals.
 *
 * The rules are the kubelet's (v1.36: core/v1 defaults, qos.ComputePodQOS,
 * component-helpers resource.PodRequests and PodLimits). No decision is made here.
 */
#include "core/pod/pod.h"

#include <string.h>

/* The kubelet's MinShares. */
#define MIN_SHARES 2

struct pod_spec *pod_spec_copy(const struct pod_spec *spec)
{
	struct pod_spec *copy cleanup_pod_spec = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *spec;
	copy->containers = NULL;
	if (spec->nr_containers) {
		size_t size = spec->nr_containers * sizeof(*spec->containers);

		copy->containers = malloc(size);
		if (!copy->containers)
			return NULL;
		memcpy(copy->containers, spec->containers, size);
	}
	return TAKE_PTR(copy);
}

void pod_spec_free(struct pod_spec *spec)
{
	if (!spec)
		return;
	free(spec->containers);
	free(spec);
}

static const int64_t *find_hugepages(const struct resources *resources, uint64_t size_bytes)
{
	for (uint32_t i = 0; i < resources->nr_hugepages; i++) {
		if (resources->hugepages[i].size_bytes == size_bytes)
			return &resources->hugepages[i].bytes;
	}
	return NULL;
}

bool resources_same_memory(const struct resources *a, const struct resources *b)
{
	if (a->memory_bytes != b->memory_bytes || a->nr_hugepages != b->nr_hugepages)
		return false;
	for (uint32_t i = 0; i < a->nr_hugepages; i++) {
		const int64_t *bytes = find_hugepages(b, a->hugepages[i].size_bytes);

		if (!bytes || *bytes != a->hugepages[i].bytes)
			return false;
	}
	return true;
}

static bool resources_equal(const struct resources *a, const struct resources *b)
{
	return a->cpu_mcpu == b->cpu_mcpu && resources_same_memory(a, b);
}

static bool container_equal(const struct container_spec *a, const struct container_spec *b)
{
	return !strcmp(a->name, b->name) && a->kind == b->kind &&
	       resources_equal(&a->request, &b->request) && resources_equal(&a->limit, &b->limit);
}

bool container_has_amounts(const struct container_spec *container)
{
	return container->request.cpu_mcpu != RESOURCE_UNSET ||
	       container->limit.cpu_mcpu != RESOURCE_UNSET ||
	       container->limit.memory_bytes != RESOURCE_UNSET;
}

bool pod_spec_equal(const struct pod_spec *a, const struct pod_spec *b)
{
	if (strcmp(a->uid, b->uid) || strcmp(a->namespace, b->namespace) ||
	    strcmp(a->name, b->name) || a->has_pod_resources != b->has_pod_resources ||
	    a->is_of_runtime != b->is_of_runtime || a->stated_qos != b->stated_qos ||
	    a->nr_containers != b->nr_containers)
		return false;
	if (!resources_equal(&a->request, &b->request) || !resources_equal(&a->limit, &b->limit) ||
	    !resources_equal(&a->overhead, &b->overhead))
		return false;
	for (uint32_t i = 0; i < a->nr_containers; i++) {
		if (!container_equal(&a->containers[i], &b->containers[i]))
			return false;
	}
	return true;
}

static void set_hugepages(struct resources *resources, uint64_t size_bytes, int64_t bytes)
{
	if (resources->nr_hugepages == POD_MAX_HUGEPAGES)
		return;
	resources->hugepages[resources->nr_hugepages].size_bytes = size_bytes;
	resources->hugepages[resources->nr_hugepages].bytes = bytes;
	resources->nr_hugepages++;
}

static void default_from_limit(struct resources *request, const struct resources *limit)
{
	if (request->cpu_mcpu == RESOURCE_UNSET)
		request->cpu_mcpu = limit->cpu_mcpu;
	if (request->memory_bytes == RESOURCE_UNSET)
		request->memory_bytes = limit->memory_bytes;
	for (uint32_t i = 0; i < limit->nr_hugepages; i++) {
		if (!find_hugepages(request, limit->hugepages[i].size_bytes))
			set_hugepages(request, limit->hugepages[i].size_bytes,
				      limit->hugepages[i].bytes);
	}
}

static int64_t container_value(const struct container_spec *container, bool memory, bool limit)
{
	const struct resources *resources = limit ? &container->limit : &container->request;

	return memory ? resources->memory_bytes : resources->cpu_mcpu;
}

/* Quantities are external input, so sums saturate. */
static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * The maximum over everything that runs at the same time: one ordinary init container
 * with the sidecars started before it, or all sidecars with all app containers.
 * RESOURCE_UNSET if no container specifies the resource.
 */
static int64_t aggregate(const struct pod_spec *spec, bool memory, bool limit)
{
	int64_t apps = 0, sidecars = 0, most_init = 0;
	bool specified = false;

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];
		int64_t value = container_value(container, memory, limit);

		if (value == RESOURCE_UNSET)
			continue;
		specified = true;
		if (container->kind == CONTAINER_APP)
			apps = add_saturated(apps, value);
		else if (container->kind == CONTAINER_SIDECAR)
			sidecars = add_saturated(sidecars, value);
		else
			most_init = larger(most_init, add_saturated(sidecars, value));
	}
	return specified ? larger(add_saturated(apps, sidecars), most_init) : RESOURCE_UNSET;
}

static bool has_any_limit(const struct resources *limit)
{
	return limit->cpu_mcpu != RESOURCE_UNSET || limit->memory_bytes != RESOURCE_UNSET ||
	       limit->nr_hugepages;
}

/*
 * A missing pod-level request is set to the containers' aggregate request, or to the
 * pod-level limit if no container specifies the resource. Huge pages cannot be
 * overcommitted, so their request is always the limit.
 */
static void default_pod_level(struct pod_spec *spec)
{
	if (!spec->has_pod_resources || !has_any_limit(&spec->limit))
		return;
	if (spec->request.cpu_mcpu == RESOURCE_UNSET)
		spec->request.cpu_mcpu = aggregate(spec, false, false);
	if (spec->request.memory_bytes == RESOURCE_UNSET)
		spec->request.memory_bytes = aggregate(spec, true, false);
	default_from_limit(&spec->request, &spec->limit);
}

void pod_spec_default(struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++)
		default_from_limit(&spec->containers[i].request, &spec->containers[i].limit);
	default_pod_level(spec);
}

/* The sums that determine the QoS class. Only positive cpu and memory quantities count. */
struct qos_sums {
	int64_t request[2], limit[2]; /* cpu, memory */
	bool every_limit;	      /* every contributor limits both */
};

static void add_to_sums(struct qos_sums *sums, const struct resources *request,
			const struct resources *limit)
{
	const int64_t requests[2] = {request->cpu_mcpu, request->memory_bytes};
	const int64_t limits[2] = {limit->cpu_mcpu, limit->memory_bytes};

	for (int i = 0; i < 2; i++) {
		if (requests[i] > 0)
			sums->request[i] = add_saturated(sums->request[i], requests[i]);
		if (limits[i] > 0)
			sums->limit[i] = add_saturated(sums->limit[i], limits[i]);
		else
			sums->every_limit = false;
	}
}

enum qos_class pod_qos(const struct pod_spec *spec)
{
	struct qos_sums sums = {.every_limit = true};

	if (spec->is_of_runtime)
		return spec->stated_qos;
	if (spec->has_pod_resources) {
		add_to_sums(&sums, &spec->request, &spec->limit);
	} else {
		for (uint32_t i = 0; i < spec->nr_containers; i++)
			add_to_sums(&sums, &spec->containers[i].request,
				    &spec->containers[i].limit);
	}
	if (!sums.request[0] && !sums.request[1] && !sums.limit[0] && !sums.limit[1])
		return QOS_BEST_EFFORT;
	if (sums.every_limit && sums.request[0] == sums.limit[0] &&
	    sums.request[1] == sums.limit[1])
		return QOS_GUARANTEED;
	return QOS_BURSTABLE;
}

const char *qos_class_name(enum qos_class qos)
{
	static const char *const names[] = {
		[QOS_GUARANTEED] = "Guaranteed",
		[QOS_BURSTABLE] = "Burstable",
		[QOS_BEST_EFFORT] = "BestEffort",
	};

	_Static_assert(ARRAY_SIZE(names) == QOS_NR, "a name for each class");
	return names[qos];
}

const char *container_kind_name(enum container_kind kind)
{
	static const char *const names[] = {
		[CONTAINER_INIT] = "init",
		[CONTAINER_SIDECAR] = "sidecar",
		[CONTAINER_APP] = "app",
	};

	_Static_assert(ARRAY_SIZE(names) == CONTAINER_KIND_NR, "a name for each kind");
	return names[kind];
}

static int64_t total_request(const struct pod_spec *spec, bool memory)
{
	int64_t own = memory ? spec->request.memory_bytes : spec->request.cpu_mcpu;
	int64_t overhead = memory ? spec->overhead.memory_bytes : spec->overhead.cpu_mcpu;
	int64_t total;

	total = spec->has_pod_resources && own != RESOURCE_UNSET ? own
								 : aggregate(spec, memory, false);
	return add_saturated(larger(total, 0), larger(overhead, 0));
}

/* A pod has a limit if its pod-level resources set one, or if every container has one. */
static int64_t total_limit(const struct pod_spec *spec, bool memory)
{
	int64_t own = memory ? spec->limit.memory_bytes : spec->limit.cpu_mcpu;
	int64_t overhead = memory ? spec->overhead.memory_bytes : spec->overhead.cpu_mcpu;

	if (spec->has_pod_resources && own > 0)
		return add_saturated(own, larger(overhead, 0));
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (container_value(&spec->containers[i], memory, true) <= 0)
			return RESOURCE_UNSET;
	}
	if (!spec->nr_containers)
		return RESOURCE_UNSET;
	return add_saturated(aggregate(spec, memory, true), larger(overhead, 0));
}

struct pod_totals pod_totals(const struct pod_spec *spec)
{
	return (struct pod_totals){
		.cpu_request_mcpu = total_request(spec, false),
		.cpu_limit_mcpu = total_limit(spec, false),
		.memory_request_bytes = total_request(spec, true),
		.memory_limit_bytes = total_limit(spec, true),
	};
}

/*
 * The kubelet computes floor(milli * 1024 / 1000), which grows by at least 1 with each milli-CPU.
 * So at most one request has these shares, and rounding up finds it.
 */
int64_t pod_mcpu_of_shares(int64_t shares)
{
	if (shares <= MIN_SHARES)
		return RESOURCE_UNSET;
	return ((shares < CPU_SHARES_MAX ? shares : CPU_SHARES_MAX) * 1000 + 1023) / 1024;
}
