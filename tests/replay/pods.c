// SPDX-License-Identifier: Apache-2.0
/* Policies and pods out of recorded cases. */
#include <stdio.h>
#include <string.h>

#include "memory_case.h"
#include "pods.h"

static const char *read_options(struct json_object *line, struct policy *policy)
{
	struct policy_gates gates = {.alpha = true, .beta = true};
	struct json_object *options = field_of(line, "options");
	char error[256];

	if (field_of(line, "alpha_options"))
		gates.alpha = field_bool(line, "alpha_options");
	if (!options)
		return NULL;
	json_object_object_foreach (options, name, value) {
		enum policy_problem problem = policy_set_cpu_option(&policy->cpu_options, name,
								    json_object_get_string(value),
								    gates, error, sizeof(error));

		if (problem)
			return policy_problem_name(problem);
	}
	return NULL;
}

static enum align_policy read_align(const char *name)
{
	for (enum align_policy policy = 0; policy < ALIGN_NR; policy++) {
		if (!strcmp(align_policy_name(policy), name))
			return policy;
	}
	return ALIGN_NONE;
}

const char *read_policy(const struct replay *replay, struct json_object *line,
			const struct topology *topology, struct policy *ret_policy)
{
	struct policy policy = policy_default();
	int64_t count = field_int(line, "reserved_count", 0);
	enum policy_problem problem;
	const char *failure;
	char error[256];

	policy.compatibility = replay->compatibility;
	policy.may_empty_shared_pool = true;
	policy.pod_level_managers = field_bool(line, "pod_level_managers");
	policy.align = read_align(field_text(line, "tm_policy", "none"));
	policy.scope = strcmp(field_text(line, "tm_scope", "container"), "pod")
			       ? ALIGN_SCOPE_CONTAINER
			       : ALIGN_SCOPE_POD;
	if (!strcmp(field_text(line, "memory_policy", ""), "Static"))
		policy.memory = MEMORY_POLICY_STATIC;
	if (!memory_case_reserved(field_of(line, "reserved"), &policy))
		return "reserve-failed";
	policy.reserved_mcpu = count * 1000;
	policy.has_reserved_list = field_of(line, "reserved_cpus") != NULL;
	*ret_policy = policy;
	failure = read_options(line, ret_policy);
	if (failure)
		return failure;
	problem = policy_check_options(ret_policy, topology, error, sizeof(error));
	if (problem)
		return policy_problem_name(problem);
	if (policy.has_reserved_list &&
	    !field_cpus(line, "reserved_cpus", &ret_policy->reserved_list))
		return "bad-cpuset";
	if (policy.has_reserved_list && cpuset_count(&ret_policy->reserved_list) != count)
		return "reserve-failed";
	return NULL;
}

static struct resources read_resources(struct json_object *object, const char *cpu,
				       const char *memory)
{
	struct json_object *pages = field_of(object, "hugepages");
	struct resources resources = RESOURCES_UNSET;

	resources.cpu_mcpu = field_int(object, cpu, RESOURCE_UNSET);
	resources.memory_bytes = field_int(object, memory, RESOURCE_UNSET);
	/* The same as request and as limit; what is of no type asks for nothing. */
	if (pages) {
		json_object_object_foreach (pages, name, bytes) {
			uint32_t nr = resources.nr_hugepages;

			if (nr == POD_MAX_HUGEPAGES ||
			    !memory_case_type(name, &resources.hugepages[nr].size_bytes))
				continue;
			resources.hugepages[nr].bytes = json_object_get_int64(bytes);
			resources.nr_hugepages++;
		}
	}
	return resources;
}

static bool read_containers(struct json_object *list, bool init, struct pod_spec *spec)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *object = json_object_array_get_idx(list, i);
		struct container_spec *container = &spec->containers[spec->nr_containers++];

		if (!field_copy(field_text(object, "name", ""), container->name,
				sizeof(container->name)))
			return false;
		container->kind = CONTAINER_APP;
		if (init)
			container->kind = field_bool(object, "sidecar") ? CONTAINER_SIDECAR
									: CONTAINER_INIT;
		container->request = read_resources(object, "cpu_req", "mem_req");
		container->limit = read_resources(object, "cpu_lim", "mem_lim");
	}
	return true;
}

static size_t length_of(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

struct pod_spec *read_pod(struct json_object *pod, const char *uid, uint32_t extra)
{
	struct json_object *init = field_of(pod, "init"), *main_list = field_of(pod, "main");
	struct json_object *level = field_of(pod, "pod");
	size_t nr = length_of(init) + length_of(main_list) + extra;
	struct pod_spec *spec cleanup_pod_spec = calloc(1, sizeof(*spec));

	if (!spec)
		return NULL;
	spec->containers = calloc(nr + 1, sizeof(*spec->containers));
	if (!spec->containers)
		return NULL;
	if (!field_copy(uid, spec->uid, sizeof(spec->uid)) ||
	    !field_copy(uid, spec->name, sizeof(spec->name)))
		return NULL;
	snprintf(spec->namespace, sizeof(spec->namespace), "default");
	spec->has_pod_resources = level != NULL;
	spec->request = read_resources(level, "cpu_req", "mem_req");
	spec->limit = read_resources(level, "cpu_lim", "mem_lim");
	spec->overhead = RESOURCES_UNSET;
	if (!read_containers(init, true, spec) || !read_containers(main_list, false, spec))
		return NULL;
	return TAKE_PTR(spec);
}

struct cpu_affinity read_affinity(const struct topology *topology, struct json_object *hint)
{
	struct cpu_affinity affinity = {.known = hint != NULL};

	for (size_t i = 0; i < length_of(hint); i++) {
		int64_t id = json_object_get_int64(json_object_array_get_idx(hint, i));

		for (uint32_t node = 0; node < topology->nodes.nr; node++) {
			if (topology->nodes.ids[node] == id)
				affinity.nodes |= (node_mask_t)1 << node;
		}
	}
	return affinity;
}

uint64_t ids_of_nodes(const struct topology *topology, node_mask_t nodes)
{
	uint64_t ids = 0;

	for (; nodes; nodes &= nodes - 1)
		ids |= (uint64_t)1 << (topology->nodes.ids[__builtin_ctzll(nodes)] & 63);
	return ids;
}
