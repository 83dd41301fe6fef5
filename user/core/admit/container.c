// SPDX-License-Identifier: Apache-2.0
/* One container at a time: a pod's record is extended, and only the new grant is assigned. */
#include "core/admit/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/admit/refuse.h"

int container_check_policy(const struct policy *policy, char *error, size_t error_size)
{
	const char *field = NULL;

	if (policy->memory == MEMORY_POLICY_STATIC)
		field = "memoryManagerPolicy: Static";
	else if (policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD)
		field = "topologyManagerScope: pod";
	if (!field)
		return 0;
	snprintf(error, error_size,
		 "%s is not supported for pods of a container runtime: it needs to know all "
		 "containers of a pod, and a runtime names them one by one",
		 field);
	return -EINVAL;
}

/* --- the pod's record ------------------------------------------------------------------------- */

static uint32_t find_container(const struct ledger_pod *pod, const char *name)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (!strcmp(pod->grants[i].container, name))
			return i;
	return UINT32_MAX;
}

/* Init containers and sidecars come before the others. */
static uint32_t place_for(const struct ledger_pod *pod, enum container_kind kind)
{
	uint32_t index = pod->nr_grants;

	if (kind == CONTAINER_APP)
		return index;
	for (index = 0; index < pod->nr_grants; index++)
		if (pod->grants[index].kind == CONTAINER_APP)
			break;
	return index;
}

static int insert_container(struct ledger_pod *pod, const struct container_spec *container,
			    uint32_t *ret_index)
{
	const uint32_t nr = pod->nr_grants, index = place_for(pod, container->kind);
	struct container_spec *specs;
	struct grant *grants;

	if (nr == POD_MAX_CONTAINERS)
		return -EINVAL;
	specs = realloc(pod->spec->containers, (nr + 1) * sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	pod->spec->containers = specs;
	grants = realloc(pod->grants, (nr + 1) * sizeof(*grants));
	if (!grants)
		return -ENOMEM;
	pod->grants = grants;
	memmove(&specs[index + 1], &specs[index], (nr - index) * sizeof(*specs));
	memmove(&grants[index + 1], &grants[index], (nr - index) * sizeof(*grants));
	specs[index] = *container;
	grants[index] = (struct grant){.kind = container->kind, .isolation = ISOLATION_HOST};
	memcpy(grants[index].container, container->name, sizeof(grants[index].container));
	pod->spec->nr_containers = pod->nr_grants = nr + 1;
	*ret_index = index;
	return 0;
}

static void remove_container(struct ledger_pod *pod, uint32_t index)
{
	const uint32_t left = pod->nr_grants - index - 1;

	memmove(&pod->spec->containers[index], &pod->spec->containers[index + 1],
		left * sizeof(*pod->spec->containers));
	memmove(&pod->grants[index], &pod->grants[index + 1], left * sizeof(*pod->grants));
	pod->nr_grants--;
	pod->spec->nr_containers--;
}

static bool is_same(const struct container_spec *a, const struct container_spec *b)
{
	struct container_spec left_container = *a, right_container = *b;
	const struct pod_spec left = {.nr_containers = 1, .containers = &left_container};
	const struct pod_spec right = {.nr_containers = 1, .containers = &right_container};

	return pod_spec_equal(&left, &right);
}

static bool is_valid(const struct pod_spec *pod, const struct container_spec *container)
{
	return pod->is_of_runtime && pod->uid[0] && memchr(pod->uid, 0, sizeof(pod->uid)) &&
	       memchr(pod->name, 0, sizeof(pod->name)) &&
	       memchr(pod->namespace, 0, sizeof(pod->namespace)) && container->name[0] &&
	       memchr(container->name, 0, sizeof(container->name)) &&
	       container->kind < CONTAINER_KIND_NR;
}

/* A record of the pod to be changed; a new one has no container yet. NULL = no memory. */
static struct ledger_pod *edit_pod(struct ledger *ledger, const struct pod_spec *pod)
{
	struct ledger_pod *edited;
	struct pod_spec empty = *pod;

	if (!ledger_find(ledger, pod->uid)) {
		empty.nr_containers = 0;
		empty.containers = NULL;
		return ledger_new_pod(ledger, &empty);
	}
	edited = ledger_edit_pod(ledger, pod->uid);
	/* What only a later container shows: see user/runtime/request.h. */
	if (edited)
		edited->spec->has_pod_resources |= pod->has_pod_resources;
	return edited;
}

/* The number of exclusive CPUs that it is to have; 0 = it belongs on the shared pool. */
static uint32_t entitlement(const struct ledger *ledger, const struct ledger_pod *pod,
			    uint32_t index)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);

	if (pod->spec->has_pod_resources && !manager->policy->pod_level_managers)
		return 0;
	return cpu_exclusive_count(manager, pod->spec, pod->qos, index);
}

/* If not, it shares because it could not have its CPUs earlier. */
static bool has_its_cpus(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t index)
{
	return pod->grants[index].isolation != ISOLATION_HOST || !entitlement(ledger, pod, index);
}

/*
 * Extend the pod by the container, which then is on the shared pool. 1 = the ledger has it like
 * this already, and nothing was changed; unless `may_share`, it has its CPUs as well.
 */
static int begin(struct ledger *ledger, const struct pod_spec *pod,
		 const struct container_spec *container, bool may_share,
		 struct ledger_pod **ret_pod, uint32_t *ret_index)
{
	const struct ledger_pod *known = ledger_find(ledger, pod->uid);
	uint32_t index = known ? find_container(known, container->name) : UINT32_MAX;
	struct ledger_pod *edited;
	char why[256];

	if (!is_valid(pod, container) || (known && !known->spec->is_of_runtime) ||
	    container_check_policy(ledger_policy(ledger), why, sizeof(why)))
		return -EINVAL;
	if (index != UINT32_MAX && is_same(&known->spec->containers[index], container) &&
	    (may_share || has_its_cpus(ledger, known, index)))
		return 1;
	edited = edit_pod(ledger, pod);
	if (!edited)
		return -ENOMEM;
	if (index != UINT32_MAX) {
		cpu_remove(ledger_edit_shared_pool(ledger), edited, index);
		remove_container(edited, index);
	}
	*ret_pod = edited;
	return insert_container(edited, container, ret_index);
}

/* --- decisions -------------------------------------------------------------------------------- */

/* The CPUs that init containers of the pod leave to the containers after them. */
static void fill_reuse(const struct ledger_pod *pod, struct cpu_reuse *reuse)
{
	*reuse = (struct cpu_reuse){.cpus = CPUSET_EMPTY};
	memcpy(reuse->uid, pod->spec->uid, sizeof(reuse->uid));
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (pod->grants[i].kind == CONTAINER_INIT)
			cpuset_union(&reuse->cpus, &pod->grants[i].cpus);
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (pod->grants[i].kind != CONTAINER_INIT)
			cpuset_subtract(&reuse->cpus, &pod->grants[i].cpus);
}

static int assign_one(struct ledger *ledger, struct ledger_pod *pod, uint32_t index,
		      struct decision *decision)
{
	struct assignment *assignment cleanup_free = malloc(sizeof(*assignment));
	struct cpu_reuse reuse;
	int r;

	if (!assignment)
		return -ENOMEM;
	fill_reuse(pod, &reuse);
	assign_begin(assignment, ledger, pod, &reuse);
	assignment->nr_done = index;
	assignment->nr_steps = index + 1;
	r = assign_finish(assignment);
	if (r)
		return r;
	if (assignment->outcome)
		return refuse_assignment(assignment, decision);
	decision->admitted = true;
	return 0;
}

int container_prepare(struct ledger *ledger, const struct pod_spec *pod,
		      const struct container_spec *container, struct decision *ret_decision)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	struct ledger_pod *edited;
	uint32_t index;
	int r;

	if (!decision)
		return -ENOMEM;
	decision->wanted = decision->available = -1;
	r = ledger_begin(ledger);
	if (r)
		return r;
	r = begin(ledger, pod, container, false, &edited, &index);
	if (r == 1)
		decision->admitted = true;
	else if (!r)
		r = assign_one(ledger, edited, index, decision);
	if (r < 0 || !decision->admitted)
		ledger_abort(ledger);
	if (r < 0)
		return r;
	*ret_decision = *decision;
	return 0;
}

static bool are_free(const struct ledger *ledger, const struct cpuset *cpus)
{
	struct cpuset free_cpus;

	cpu_grantable(ledger_cpu_manager(ledger), ledger_shared_pool(ledger), &free_cpus);
	return cpuset_is_subset(cpus, &free_cpus);
}

static int grant_as(struct ledger *ledger, struct ledger_pod *pod, uint32_t index,
		    const struct cpuset *cpus)
{
	const uint32_t nr = entitlement(ledger, pod, index);

	if (!nr || nr != cpuset_count(cpus) || !are_free(ledger, cpus))
		return -ENOTSUP;
	pod->grants[index].isolation = ISOLATION_CONTAINER;
	pod->grants[index].cpus = *cpus;
	pod->grants[index].baseline = *cpus;
	cpuset_union(&pod->held, cpus);
	cpuset_subtract(ledger_edit_shared_pool(ledger), cpus);
	return 0;
}

static int prepare_without_choice(struct ledger *ledger, const struct pod_spec *pod,
				  const struct container_spec *container, const struct cpuset *cpus)
{
	struct ledger_pod *edited;
	uint32_t index;
	int r = ledger_begin(ledger);

	if (r)
		return r;
	r = begin(ledger, pod, container, true, &edited, &index);
	if (!r && cpus)
		r = grant_as(ledger, edited, index, cpus);
	if (r < 0)
		ledger_abort(ledger);
	return r < 0 ? r : 0;
}

int container_prepare_as(struct ledger *ledger, const struct pod_spec *pod,
			 const struct container_spec *container, const struct cpuset *cpus)
{
	return prepare_without_choice(ledger, pod, container, cpus);
}

int container_prepare_shared(struct ledger *ledger, const struct pod_spec *pod,
			     const struct container_spec *container)
{
	return prepare_without_choice(ledger, pod, container, NULL);
}

int container_release(struct ledger *ledger, const char *uid, const char *container)
{
	const struct ledger_pod *known = ledger_find(ledger, uid);
	uint32_t index = known ? find_container(known, container) : UINT32_MAX;
	struct ledger_pod *pod;
	int r;

	if (index == UINT32_MAX)
		return -ENOENT;
	if (known->nr_grants == 1)
		return ledger_remove(ledger, uid);
	r = ledger_begin(ledger);
	if (r)
		return r;
	pod = ledger_edit_pod(ledger, uid);
	if (!pod) {
		ledger_abort(ledger);
		return -ENOMEM;
	}
	cpu_remove(ledger_edit_shared_pool(ledger), pod, index);
	remove_container(pod, index);
	ledger_commit(ledger);
	return 0;
}
