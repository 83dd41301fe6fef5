// SPDX-License-Identifier: Apache-2.0
/*
 * In-place resize of one pod: the order of its steps, their alignment, and the nearest size that
 * fits. cpu_resize.c chooses the CPUs, and refuse.c writes the message of a refusal.
 */
#include "core/admit/resize.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/admit/change.h"
#include "core/admit/refuse.h"

#define TRIES 10

/* --- is it a resize? -------------------------------------------------------------------------- */

static bool has_same_memory(const struct pod_spec *a, const struct pod_spec *b)
{
	if (!resources_same_memory(&a->request, &b->request) ||
	    !resources_same_memory(&a->limit, &b->limit))
		return false;
	for (uint32_t i = 0; i < a->nr_containers; i++) {
		if (!resources_same_memory(&a->containers[i].request, &b->containers[i].request) ||
		    !resources_same_memory(&a->containers[i].limit, &b->containers[i].limit))
			return false;
	}
	return true;
}

static bool has_same_containers(const struct pod_spec *a, const struct pod_spec *b)
{
	if (a->nr_containers != b->nr_containers || a->has_pod_resources != b->has_pod_resources)
		return false;
	for (uint32_t i = 0; i < a->nr_containers; i++) {
		if (strcmp(a->containers[i].name, b->containers[i].name) ||
		    a->containers[i].kind != b->containers[i].kind)
			return false;
	}
	return true;
}

/* Would admission still give each container, and the pod, the kind of CPUs that it has? */
static bool keeps_isolation(const struct ledger *ledger, const struct ledger_pod *pod,
			    const struct pod_spec *spec)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	bool is_gated_off = spec->has_pod_resources && !manager->policy->pod_level_managers;
	bool has_bubble = cpu_is_bubble_pod(manager, spec, pod->qos) &&
			  cpu_bubble_count(spec, pod->qos);

	if (has_bubble != pod->has_bubble)
		return false;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		bool is_exclusive = !is_gated_off &&
				    cpu_exclusive_count(manager, spec, pod->qos, i);

		if (is_exclusive != (pod->grants[i].isolation == ISOLATION_CONTAINER))
			return false;
	}
	return true;
}

bool resize_is_wanted(const struct ledger *ledger, const struct ledger_pod *pod,
		      const struct pod_spec *spec)
{
	return !cpuset_is_empty(pod->held) && !spec->is_of_runtime && !pod->spec->is_of_runtime &&
	       has_same_containers(pod->spec, spec) && pod_qos(spec) == pod->qos &&
	       keeps_isolation(ledger, pod, spec) &&
	       (!pod->memory || has_same_memory(pod->spec, spec));
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint32_t wanted_of(const struct assignment *assignment, uint32_t container)
{
	const struct ledger_pod *pod = assignment->pod;

	return cpu_exclusive_count(ledger_cpu_manager(assignment->ledger), pod->spec, pod->qos,
				   container);
}

/* How many exclusive CPUs the container is to get in addition; below 0, it gives some back. */
static int64_t growth_of(const struct assignment *assignment, uint32_t container)
{
	const struct grant *grant = &assignment->pod->grants[container];
	bool is_other = assignment->resized != UINT32_MAX && assignment->resized != container;

	if (is_other || grant->isolation != ISOLATION_CONTAINER)
		return 0;
	return (int64_t)wanted_of(assignment, container) - cpuset_count(grant->cpus);
}

/*
 * Pinned memory stays where it is, so its nodes are the only hint. The memory manager's own offer
 * does not say so of each pod: the kubelet's compares the request of a pod with the blocks of its
 * first container.
 */
static void keep_memory(const struct ledger_pod *pod, uint32_t container,
			struct memory_offer *offer)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; pod->memory && i < pod->nr_grants; i++) {
		if (container == UINT32_MAX || container == i)
			nodes |= pod->grants[i].mems;
	}
	if (!nodes)
		return;
	offer->opinion = MEMORY_KEEPS;
	offer->kept = (struct hint){.nodes = nodes, .preferred = true};
}

/* Choose nodes for `request` CPUs that include `held`; `container` as in struct assignment. */
static int align(struct assignment *assignment, uint32_t container, const struct cpuset *held,
		 uint32_t request, struct cpu_affinity *ret_affinity)
{
	struct ledger *ledger = assignment->ledger;
	struct offers *offers = &assignment->offers;
	struct cpuset available;
	int r;

	*ret_affinity = (struct cpu_affinity){.known = false};
	assignment->container = container;
	if (ledger_policy(ledger)->align == ALIGN_NONE)
		return 0;
	offers_make(ledger, assignment->pod, container, assignment->reuse,
		    &assignment->memory_reuse, offers);
	cpu_growable(ledger_cpu_manager(ledger), ledger_shared_pool(ledger), assignment->pod,
		     container, &available);
	cpu_offer_resize(ledger_cpu_manager(ledger), &available, held, request, &offers->cpu);
	keep_memory(assignment->pod, container, &offers->memory);
	r = offers_align(ledger, offers, &assignment->alignment);
	if (r)
		return r;
	if (!assignment->alignment.admitted) {
		assignment->outcome = ASSIGN_UNALIGNED;
	} else if (!assignment->alignment.hint.any) {
		ret_affinity->known = true;
		ret_affinity->nodes = topology_to_cpu_mask(ledger_topology(ledger),
							   assignment->alignment.hint.nodes);
	}
	return 0;
}

static void note_result(struct assignment *assignment, enum cpu_result result)
{
	assignment->cpu_result = result;
	if (result)
		assignment->outcome = ASSIGN_NO_CPUS;
}

static void resize_container(struct assignment *assignment, uint32_t container,
			     const struct cpu_affinity *affinity)
{
	struct ledger *ledger = assignment->ledger;
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct ledger_pod *pod = assignment->pod;

	if (pod->has_bubble)
		note_result(assignment,
			    cpu_resize_slice(manager, pod, container, &assignment->cpu_shortage));
	else
		note_result(assignment, cpu_resize(manager, ledger_edit_shared_pool(ledger), pod,
						   container, affinity, &assignment->cpu_shortage));
}

static void shrink_containers(struct assignment *assignment)
{
	for (uint32_t i = 0; i < assignment->pod->nr_grants && !assignment->outcome; i++) {
		if (growth_of(assignment, i) < 0)
			resize_container(assignment, i, NULL);
	}
}

/* How many CPUs all containers of this kind that still have to grow get in addition. */
static uint32_t growth_of_kind(const struct assignment *assignment, enum container_kind kind)
{
	const struct ledger_pod *pod = assignment->pod;
	int64_t growth = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].kind == kind && growth_of(assignment, i) > 0)
			growth += growth_of(assignment, i);
	}
	return (uint32_t)growth;
}

/* The CPUs that only init containers of the pod have: each of its app containers may get them. */
static uint32_t count_left(const struct ledger_pod *pod)
{
	struct cpuset left = *pod->held;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].kind != CONTAINER_INIT)
			cpuset_subtract(&left, pod->grants[i].cpus);
	}
	return cpuset_count(&left);
}

/* How many CPUs the pod will have at most; as many as now if nothing grows. */
static uint32_t count_grown(const struct assignment *assignment)
{
	const uint32_t left = count_left(assignment->pod);
	const uint32_t of_apps = growth_of_kind(assignment, CONTAINER_APP);

	return cpuset_count(assignment->pod->held) + growth_of_kind(assignment, CONTAINER_INIT) +
	       growth_of_kind(assignment, CONTAINER_SIDECAR) +
	       (of_apps > left ? of_apps - left : 0);
}

static bool has_to_grow(const struct assignment *assignment)
{
	for (uint32_t i = 0; i < assignment->pod->nr_grants; i++) {
		if (growth_of(assignment, i) > 0)
			return true;
	}
	return false;
}

/* With pod scope one alignment is for all containers of the pod. */
static int grow_containers(struct assignment *assignment)
{
	struct ledger_pod *pod = assignment->pod;
	struct cpu_affinity affinity = {.known = false};
	int r = 0;

	if (assignment->is_whole && has_to_grow(assignment))
		r = align(assignment, UINT32_MAX, pod->held, count_grown(assignment), &affinity);
	for (uint32_t i = 0; i < pod->nr_grants && !r && !assignment->outcome; i++) {
		if (growth_of(assignment, i) <= 0)
			continue;
		if (!assignment->is_whole)
			r = align(assignment, i, pod->grants[i].cpus, wanted_of(assignment, i),
				  &affinity);
		if (r || assignment->outcome)
			return r;
		resize_container(assignment, i, &affinity);
		pod->grants[i].affinity = affinity;
	}
	return r;
}

/* The slices of the containers that shrink are free before the bubble changes. */
static int resize_bubble(struct assignment *assignment)
{
	struct ledger *ledger = assignment->ledger;
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct ledger_pod *pod = assignment->pod;
	const uint32_t nr = cpu_bubble_count(pod->spec, pod->qos);
	struct cpu_affinity affinity = {.known = false};
	int r = 0;

	if (nr > cpuset_count(pod->bubble))
		r = align(assignment, UINT32_MAX, pod->bubble, nr, &affinity);
	if (r || assignment->outcome)
		return r;
	note_result(assignment, cpu_resize_bubble(manager, ledger_edit_shared_pool(ledger), pod,
						  &affinity, &assignment->cpu_shortage));
	for (uint32_t i = 0; i < pod->nr_grants && !assignment->outcome; i++) {
		if (growth_of(assignment, i) > 0)
			resize_container(assignment, i, NULL);
	}
	if (!assignment->outcome)
		cpu_resize_finish(pod);
	return 0;
}

/* The pod's record with the new spec, still with its old grants. NULL = no memory. */
static struct ledger_pod *edit_pod(struct ledger *ledger, const struct pod_spec *spec)
{
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);
	struct ledger_pod *pod = copy ? ledger_edit_pod(ledger, spec->uid) : NULL;

	if (!pod)
		return NULL;
	pod_spec_free(pod->spec);
	pod->spec = TAKE_PTR(copy);
	pod->state = POD_RUNNING;
	pod->detail[0] = '\0';
	pod->is_change_refused = false;
	return pod;
}

/* The containers that share the pod's budget must keep a CPU of it. */
static void check_pod_pool(struct assignment *assignment)
{
	const struct cpu_manager *manager = ledger_cpu_manager(assignment->ledger);
	const struct ledger_pod *pod = assignment->pod;

	if (!pod->has_bubble || cpu_bubble_is_enough(manager, pod))
		return;
	assignment->cpu_shortage = (struct cpu_shortage){
		.wanted = cpu_bubble_count(pod->spec, pod->qos),
		.container = UINT32_MAX,
	};
	note_result(assignment, CPU_EMPTY_POD_POOL);
}

/* On 0 the outcome says whether the pod has its new size. */
static int run(struct assignment *assignment, struct ledger *ledger, const struct pod_spec *spec,
	       uint32_t container, struct cpu_reuse *reuse)
{
	struct ledger_pod *pod = edit_pod(ledger, spec);
	uint32_t nr_held;
	int r;

	if (!pod)
		return -ENOMEM;
	nr_held = cpuset_count(pod->held);
	assign_begin(assignment, ledger, pod, reuse);
	assignment->is_resize = true;
	assignment->resized = container;
	check_pod_pool(assignment);
	shrink_containers(assignment);
	if (assignment->outcome)
		return 0;
	r = pod->has_bubble ? resize_bubble(assignment) : grow_containers(assignment);
	if (r || assignment->outcome)
		return r;
	if (cpuset_count(pod->held) > nr_held && assign_leaves_no_shared_cpu(assignment))
		assignment->outcome = ASSIGN_LAST_SHARED_CPU;
	return 0;
}

int resize_decide(struct ledger *ledger, const struct pod_spec *spec, uint32_t container,
		  struct decision *decision)
{
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r = run(&assignment, ledger, spec, container, &reuse);

	if (r)
		return r;
	if (assignment.outcome)
		return refuse_assignment(&assignment, decision);
	decision->admitted = true;
	snprintf(decision->message, sizeof(decision->message),
		 "%s pod is resized in place and holds %u exclusive CPUs; %u CPUs stay in the "
		 "shared pool",
		 qos_class_name(assignment.pod->qos), cpuset_count(assignment.pod->held),
		 cpuset_count(ledger_shared_pool(ledger)));
	return 0;
}

/* --- the nearest size ------------------------------------------------------------------------- */

static int try_size(struct ledger *ledger, const struct pod_spec *spec, uint32_t container,
		    const struct change *change, bool *ret_fits)
{
	struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(spec);
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r;

	if (!changed)
		return -ENOMEM;
	change_apply(change, changed);
	r = ledger_begin(ledger);
	if (r)
		return r;
	r = run(&assignment, ledger, changed, container, &reuse);
	ledger_abort(ledger);
	if (!r)
		*ret_fits = !assignment.outcome;
	return r;
}

/*
 * The container whose size was refused. If the pod was refused as a whole, it is the first
 * exclusive one that grows, or UINT32_MAX for the pod's budget.
 */
static uint32_t find_container(const struct ledger_pod *pod, const struct pod_spec *spec,
			       const char *name)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		int64_t present = pod->spec->containers[i].request.cpu_mcpu;
		bool grows = pod->grants[i].isolation == ISOLATION_CONTAINER &&
			     spec->containers[i].request.cpu_mcpu > present;

		if (*name ? !strcmp(spec->containers[i].name, name) : !pod->has_bubble && grows)
			return i;
	}
	return UINT32_MAX;
}

static int64_t cpus_of(const struct pod_spec *spec, uint32_t container)
{
	const struct resources *request =
		container == UINT32_MAX ? &spec->request : &spec->containers[container].request;

	return request->cpu_mcpu / 1000;
}

/* The first size to try between the refused one and the present one, and the distance of sizes. */
static int64_t first_size(const struct ledger *ledger, const struct decision *decision,
			  int64_t refused, int64_t present, int64_t *ret_step)
{
	const bool whole_cores = ledger_policy(ledger)->cpu_options.full_pcpus_only;
	const int64_t step = whole_cores ? ledger_topology(ledger)->cpus_per_core : 1;
	int64_t first = decision->available;

	if (refused < present) {
		*ret_step = step;
		if (first <= refused || first >= present)
			first = refused + 1;
		return (first + step - 1) / step * step;
	}
	*ret_step = -step;
	if (first >= refused)
		first = refused - 1;
	return first / step * step;
}

static void keep_change(const struct ledger *ledger, struct change *change,
			struct decision *decision)
{
	change_say(ledger, false, change, change->text, sizeof(change->text));
	snprintf(decision->suggestion, sizeof(decision->suggestion), "%s", change->text);
	decision->change = *change;
}

int resize_suggest(struct ledger *ledger, const struct pod_spec *spec, uint32_t resized,
		   struct decision *decision)
{
	const struct ledger_pod *pod = ledger_find(ledger, spec->uid);
	const uint32_t container = find_container(pod, spec, decision->container);
	const int64_t refused = cpus_of(spec, container), present = cpus_of(pod->spec, container);
	struct change change = {
		.kind = container == UINT32_MAX ? CHANGE_POD_CPUS : CHANGE_CONTAINER_CPUS,
	};
	bool fits = false, is_last = false;
	int64_t step, size = first_size(ledger, decision, refused, present, &step);

	if (container != UINT32_MAX)
		memcpy(change.container, spec->containers[container].name,
		       sizeof(change.container));
	for (uint32_t nr_tried = 0; !fits && !is_last; nr_tried++, size += step) {
		int r;

		is_last = nr_tried == TRIES || (step > 0 ? size >= present : size <= present);
		change.cpus = (uint32_t)(is_last ? present : size);
		r = try_size(ledger, spec, resized, &change, &fits);
		if (r)
			return r;
	}
	if (fits)
		keep_change(ledger, &change, decision);
	return 0;
}
