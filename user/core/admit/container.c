// SPDX-License-Identifier: Apache-2.0
/* One container at a time: a pod's record is extended, and only the new grant is assigned. */
#include "core/admit/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/admit/refuse.h"
#include "core/admit/resize.h"

int container_check_policy(const struct policy *policy, char *error, size_t error_size)
{
	/* The budget of a pod would be pinned before its containers are known, which is not built. */
	if (policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD &&
	    policy->memory == MEMORY_POLICY_STATIC) {
		snprintf(error, error_size,
			 "topologyManagerScope: pod is supported for pods of a container runtime "
			 "only without memoryManagerPolicy: Static, because a runtime names the "
			 "containers of a pod one by one");
		return -EINVAL;
	}
	/* What the kubelet leaves to later containers is forgotten between them: struct memory_reuse. */
	if (policy->memory == MEMORY_POLICY_STATIC &&
	    compatibility_is_kubelet(policy->compatibility)) {
		snprintf(error, error_size,
			 "memoryManagerPolicy: Static is supported for pods of a container runtime "
			 "only with compatibility: repaired or improved");
		return -EINVAL;
	}
	return 0;
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
static uint32_t insertion_index(const struct ledger_pod *pod, enum container_kind kind)
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
	const uint32_t nr = pod->nr_grants, index = insertion_index(pod, container->kind);
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
	if (pod->memory && memory_blocks_insert(&pod->memory, index))
		return -ENOMEM;
	memmove(&specs[index + 1], &specs[index], (nr - index) * sizeof(*specs));
	memmove(&grants[index + 1], &grants[index], (nr - index) * sizeof(*grants));
	specs[index] = *container;
	grants[index] = (struct grant){.kind = container->kind, .isolation = ISOLATION_HOST};
	memcpy(grants[index].container, container->name, sizeof(grants[index].container));
	pod->spec->nr_containers = pod->nr_grants = nr + 1;
	if (ledger_pod_own_sets(pod))
		return -ENOMEM;
	*ret_index = index;
	return 0;
}

/* Release what it holds, and take it out of the record. */
static void remove_container(struct ledger *ledger, struct ledger_pod *pod, uint32_t index)
{
	const uint32_t left = pod->nr_grants - index - 1;
	struct memory_pod memory = ledger_memory_pod(pod);

	cpu_remove(ledger_edit_shared_pool(ledger), pod, index);
	/* The other containers of the pod share what its slice had. */
	if (pod->has_bubble)
		cpu_resize_finish(pod);
	if (pod->memory) {
		memory_remove(ledger_memory_manager(ledger), ledger_edit_memory_state(ledger),
			      &memory, index);
		memory_blocks_drop(pod->memory, index);
	}
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

static bool has_amounts(const struct pod_spec *pod)
{
	return pod->request.cpu_mcpu != RESOURCE_UNSET || pod->limit.cpu_mcpu != RESOURCE_UNSET ||
	       pod->limit.memory_bytes != RESOURCE_UNSET;
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
	if (!edited)
		return NULL;
	/* What only a later container shows: see user/runtime/request.h. */
	edited->spec->has_pod_resources |= pod->has_pod_resources;
	if (!has_amounts(edited->spec) && cpuset_is_empty(edited->held)) {
		edited->spec->request = pod->request;
		edited->spec->limit = pod->limit;
	}
	return edited;
}

static bool is_bubble_pod(const struct ledger *ledger, const struct pod_spec *spec,
			  enum qos_class qos)
{
	return cpu_is_bubble_pod(ledger_cpu_manager(ledger), spec, qos);
}

/* Is it to have its budget as a bubble? A budget of no whole CPUs makes none: all containers share. */
static bool wants_bubble(const struct ledger *ledger, const struct pod_spec *spec,
			 enum qos_class qos)
{
	return is_bubble_pod(ledger, spec, qos) && cpu_bubble_count(spec, qos);
}

bool container_wants_bubble(const struct ledger *ledger, const struct pod_spec *pod)
{
	return wants_bubble(ledger, pod, pod_qos(pod));
}

/*
 * Containers that got CPUs of their own under an earlier policy keep them while they run. So there is no
 * bubble for the pod: the others are decided one by one as well.
 */
static bool has_begun_without_bubble(const struct ledger_pod *pod)
{
	return !pod->has_bubble && !cpuset_is_empty(pod->held);
}

static bool belongs_in_bubble(const struct ledger *ledger, const struct ledger_pod *pod)
{
	return wants_bubble(ledger, pod->spec, pod->qos) && !has_begun_without_bubble(pod);
}

/* The number of exclusive CPUs that it is to have; 0 = it belongs on a shared pool. */
static uint32_t entitlement(const struct ledger *ledger, const struct ledger_pod *pod,
			    uint32_t index)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);

	if (pod->spec->has_pod_resources && !manager->policy->pod_level_managers)
		return 0;
	if (is_bubble_pod(ledger, pod->spec, pod->qos) && !cpu_bubble_count(pod->spec, pod->qos))
		return 0;
	return cpu_exclusive_count(manager, pod->spec, pod->qos, index);
}

static bool is_to_be_pinned(const struct ledger *ledger, const struct ledger_pod *pod,
			    uint32_t index)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	struct memory_request request;

	if (!pod->memory || !memory_is_pinned(manager, pod->spec, pod->qos))
		return false;
	memory_container_request(manager, pod->spec, index, &request);
	return request.types || request.is_unknown;
}

static bool lacks_memory(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t index)
{
	return is_to_be_pinned(ledger, pod, index) && !pod->memory->containers[index].present;
}

/*
 * If not, it shares because it could not have its CPUs or its memory earlier. One that has its CPUs
 * does not lose them for its memory's sake.
 */
static bool has_its_share(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t index)
{
	return pod->grants[index].isolation != ISOLATION_HOST ||
	       (!belongs_in_bubble(ledger, pod) && !entitlement(ledger, pod, index) &&
		!lacks_memory(ledger, pod, index));
}

/*
 * Extend the pod by the container, which then is on the shared pool. 1 = the ledger has it like
 * this already, and nothing was changed; unless `may_share`, it has its CPUs and its memory as well.
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
	    (may_share || has_its_share(ledger, known, index)))
		return 1;
	edited = edit_pod(ledger, pod);
	if (!edited)
		return -ENOMEM;
	if (index != UINT32_MAX)
		remove_container(ledger, edited, index);
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
			cpuset_union(&reuse->cpus, pod->grants[i].cpus);
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (pod->grants[i].kind != CONTAINER_INIT)
			cpuset_subtract(&reuse->cpus, pod->grants[i].cpus);
}

/*
 * With pod scope, a pod-level budget is taken as a whole for the first container that is to run in it.
 * Without one, each container is aligned together with what the pod holds already.
 */
static void choose_steps(struct assignment *assignment, uint32_t index)
{
	const bool is_whole = assignment->is_whole;
	const struct ledger_pod *pod = assignment->pod;

	if (is_whole && is_bubble_pod(assignment->ledger, pod->spec, pod->qos) &&
	    !(has_begun_without_bubble(pod) && cpu_bubble_count(pod->spec, pod->qos))) {
		assignment->first = index;
		return;
	}
	assignment->is_whole = false;
	assignment->is_joining = is_whole;
	assignment->nr_done = index;
	assignment->nr_steps = index + 1;
}

static void join_bubble(struct assignment *assignment, uint32_t index)
{
	assignment->container = index;
	assignment->cpu_result = cpu_join_bubble(ledger_cpu_manager(assignment->ledger),
						 assignment->pod, index, NULL,
						 &assignment->cpu_shortage);
	if (assignment->cpu_result)
		assignment->outcome = ASSIGN_NO_CPUS;
}

static int assign_one(struct ledger *ledger, struct ledger_pod *pod, uint32_t index,
		      struct decision *decision)
{
	struct assignment *assignment cleanup_free = malloc(sizeof(*assignment));
	struct cpu_reuse reuse;
	int r = 0;

	if (!assignment)
		return -ENOMEM;
	fill_reuse(pod, &reuse);
	assign_begin(assignment, ledger, pod, &reuse);
	choose_steps(assignment, index);
	if (pod->has_bubble)
		join_bubble(assignment, index);
	else
		r = assign_finish(assignment);
	if (r)
		return r;
	if (assignment->outcome)
		return refuse_assignment(assignment, decision);
	decision->admitted = true;
	return 0;
}

/* Pin its memory to these nodes, or to more if they do not have enough. */
static bool pin_to(struct ledger *ledger, struct ledger_pod *pod, uint32_t index, node_mask_t nodes)
{
	const struct hint hint = {.nodes = nodes};
	struct memory_pod memory = ledger_memory_pod(pod);
	struct memory_shortage shortage;

	if (!nodes ||
	    memory_allocate(ledger_memory_manager(ledger), ledger_edit_memory_state(ledger),
			    &memory, index, &hint, NULL, &shortage))
		return false;
	pod->grants[index].mems = memory_container_nodes(pod->memory, index);
	return true;
}

/* A container that runs with its CPUs goes on without pinned memory if there is no room for it. */
static int pin_near_cpus(struct ledger *ledger, const char *uid, const char *name)
{
	const struct ledger_pod *known = ledger_find(ledger, uid);
	const uint32_t index = find_container(known, name);
	struct ledger_pod *edited;

	if (known->grants[index].isolation == ISOLATION_HOST || !lacks_memory(ledger, known, index))
		return 0;
	edited = ledger_edit_pod(ledger, uid);
	if (!edited)
		return -ENOMEM;
	pin_to(ledger, edited, index,
	       topology_memory_of_cpus(ledger_topology(ledger), edited->grants[index].cpus));
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
	if (r == 1) {
		decision->admitted = true;
		r = pin_near_cpus(ledger, pod->uid, container->name);
	} else if (!r)
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
	*ledger_pod_edit(pod, pod->grants[index].cpus) = *cpus;
	*ledger_pod_edit(pod, pod->grants[index].baseline) = *cpus;
	cpuset_union(ledger_pod_edit(pod, pod->held), cpus);
	cpuset_subtract(ledger_edit_shared_pool(ledger), cpus);
	return 0;
}

static int grant_running(struct ledger *ledger, struct ledger_pod *pod, uint32_t index,
			 const struct cpuset *cpus, node_mask_t nodes)
{
	const bool is_exclusive = entitlement(ledger, pod, index);
	int r = is_exclusive ? grant_as(ledger, pod, index, cpus) : 0;

	if (r || !is_to_be_pinned(ledger, pod, index))
		return is_exclusive ? r : -ENOTSUP;
	if (pin_to(ledger, pod, index, nodes))
		return 0;
	if (!is_exclusive)
		return -ENOTSUP;
	pin_to(ledger, pod, index, topology_memory_of_cpus(ledger_topology(ledger), cpus));
	return 0;
}

/* Take these CPUs for its budget, and more near them if they are fewer. */
static int take_bubble(struct ledger *ledger, struct ledger_pod *pod, const struct cpuset *bubble)
{
	struct cpu_shortage shortage;

	if (cpuset_is_empty(bubble) ||
	    cpuset_count(bubble) > cpu_bubble_count(pod->spec, pod->qos) ||
	    !are_free(ledger, bubble))
		return -ENOTSUP;
	pod->has_bubble = true;
	*ledger_pod_edit(pod, pod->bubble) = *bubble;
	*ledger_pod_edit(pod, pod->held) = *bubble;
	cpuset_subtract(ledger_edit_shared_pool(ledger), bubble);
	if (cpu_resize_bubble(ledger_cpu_manager(ledger), ledger_edit_shared_pool(ledger), pod,
			      NULL, &shortage))
		return -ENOTSUP;
	*ledger_pod_edit(pod, pod->bubble_baseline) = *pod->bubble;
	return 0;
}

/* What the containers of the pod share follows from the slices of the others. */
static int grant_in_bubble(struct ledger *ledger, struct ledger_pod *pod, uint32_t index,
			   const struct container_found *found)
{
	struct cpu_shortage shortage;
	int r = pod->has_bubble ? 0 : take_bubble(ledger, pod, &found->pod_cpus);

	if (r)
		return r;
	return cpu_join_bubble(ledger_cpu_manager(ledger), pod, index, &found->cpus, &shortage)
		       ? -ENOTSUP
		       : 0;
}

/* `found` NULL: on the shared pool. */
static int prepare_without_choice(struct ledger *ledger, const struct pod_spec *pod,
				  const struct container_spec *container,
				  const struct container_found *found)
{
	struct ledger_pod *edited;
	uint32_t index;
	int r = ledger_begin(ledger);

	if (r)
		return r;
	r = begin(ledger, pod, container, true, &edited, &index);
	if (!r && found && belongs_in_bubble(ledger, edited))
		r = grant_in_bubble(ledger, edited, index, found);
	else if (!r && found)
		r = grant_running(ledger, edited, index, &found->cpus, found->nodes);
	if (r < 0)
		ledger_abort(ledger);
	return r < 0 ? r : 0;
}

int container_prepare_as(struct ledger *ledger, const struct pod_spec *pod,
			 const struct container_spec *container,
			 const struct container_found *found)
{
	return prepare_without_choice(ledger, pod, container, found);
}

int container_prepare_shared(struct ledger *ledger, const struct pod_spec *pod,
			     const struct container_spec *container)
{
	return prepare_without_choice(ledger, pod, container, NULL);
}

/* --- resize in place -------------------------------------------------------------------------- */

/* Would it still be given the kind of CPUs that it has? `spec` has its new amounts. */
static bool keeps_kind(const struct ledger *ledger, const struct ledger_pod *pod, uint32_t index,
		       const struct pod_spec *spec)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	const bool is_exclusive = pod->grants[index].isolation == ISOLATION_CONTAINER;
	/* Exclusive containers of a pod may be older than what shows its pod-level resources. */
	const bool is_gated_off = !is_exclusive && spec->has_pod_resources &&
				  !manager->policy->pod_level_managers;

	/* So may those of one whose budget is not a whole number of CPUs. */
	const bool has_no_budget = !is_exclusive && is_bubble_pod(ledger, spec, pod->qos) &&
				   !cpu_bubble_count(spec, pod->qos);

	return is_exclusive == (!is_gated_off && !has_no_budget &&
				cpu_exclusive_count(manager, spec, pod->qos, index));
}

/* Pinned memory stays as it was admitted. */
static bool keeps_memory(const struct ledger_pod *pod, uint32_t index,
			 const struct container_spec *wanted)
{
	const struct container_spec *present = &pod->spec->containers[index];

	return !pod->memory || !pod->memory->containers[index].present ||
	       (resources_same_memory(&present->request, &wanted->request) &&
		resources_same_memory(&present->limit, &wanted->limit));
}

/* In an open transaction. */
static int resize(struct ledger *ledger, const struct pod_spec *spec, uint32_t index,
		  struct decision *decision)
{
	const struct ledger_pod *pod = ledger_find(ledger, spec->uid);

	if (!keeps_memory(pod, index, &spec->containers[index])) {
		refuse_memory_resize(pod, index, decision);
		return 0;
	}
	if (keeps_kind(ledger, pod, index, spec))
		return resize_decide(ledger, spec, index, decision);
	refuse_other_kind(pod, index, &spec->containers[index], decision);
	return 0;
}

static int prepare_resize(struct ledger *ledger, const struct pod_spec *spec, uint32_t index,
			  struct decision *decision)
{
	const bool had_cpus = !cpuset_is_empty(ledger_find(ledger, spec->uid)->grants[index].cpus);
	int r = ledger_begin(ledger);

	if (r)
		return r;
	r = resize(ledger, spec, index, decision);
	if (r || !decision->admitted)
		ledger_abort(ledger);
	/* One that shares has no size in CPUs, and no size in CPUs makes other memory fit. */
	if (!r && !decision->admitted && had_cpus && decision->refusal != REFUSAL_MEMORY)
		r = resize_suggest(ledger, spec, index, decision);
	return r;
}

int container_prepare_resize(struct ledger *ledger, const char *uid,
			     const struct container_spec *container, struct decision *ret_decision)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	const struct ledger_pod *known = ledger_find(ledger, uid);
	struct pod_spec *spec cleanup_pod_spec = NULL;
	enum container_kind kind;
	uint32_t index;
	int r;

	if (!known || !known->spec->is_of_runtime)
		return -ENOENT;
	index = find_container(known, container->name);
	if (index == UINT32_MAX)
		return -ENOENT;
	spec = pod_spec_copy(known->spec);
	if (!decision || !spec)
		return -ENOMEM;
	kind = spec->containers[index].kind;
	spec->containers[index] = *container;
	spec->containers[index].kind = kind;
	if (!has_its_share(ledger, known, index) ||
	    is_same(&known->spec->containers[index], &spec->containers[index]))
		return container_prepare(ledger, spec, &spec->containers[index], ret_decision);
	decision->wanted = decision->available = -1;
	r = prepare_resize(ledger, spec, index, decision);
	if (!r)
		*ret_decision = *decision;
	return r;
}

/* --- the end ---------------------------------------------------------------------------------- */

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
	remove_container(ledger, pod, index);
	ledger_commit(ledger);
	return 0;
}
