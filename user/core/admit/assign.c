// SPDX-License-Identifier: Apache-2.0
/*
 * Runs one pod through alignment and the managers. As in the kubelet, a container gets
 * its CPUs and its memory before the next container gets anything, so a refused pod is
 * given the same reason. Callers are responsible for transactions.
 *
 * Cost: one alignment (offers.c) and one allocation per container, or per pod with pod
 * scope.
 */
#include "core/admit/assign.h"

#include <errno.h>

/* --- beginning -------------------------------------------------------------------------------- */

void assign_begin(struct assignment *assignment, struct ledger *ledger, struct ledger_pod *pod,
		  struct cpu_reuse *reuse)
{
	const struct policy *policy = ledger_policy(ledger);

	assignment->ledger = ledger;
	assignment->pod = pod;
	assignment->reuse = reuse;
	/* Do not clear the sets: the array is large, and entries from nr on are ignored. */
	assignment->memory_reuse.uid[0] = '\0';
	assignment->memory_reuse.nr = 0;
	assignment->is_whole = policy->align != ALIGN_NONE && policy->scope == ALIGN_SCOPE_POD;
	assignment->nr_steps = assignment->is_whole ? 1 : pod->nr_grants;
	assignment->is_joining = false;
	assignment->first = UINT32_MAX;
	assignment->is_resize = false;
	assignment->nr_done = 0;
	assignment->outcome = ASSIGN_OK;
	assignment->cpu_result = CPU_OK;
	assignment->memory_result = MEMORY_OK;
}

int assign_new(struct assignment *assignment, struct ledger *ledger, const struct pod_spec *spec,
	       struct cpu_reuse *reuse)
{
	struct ledger_pod *pod;
	int r;

	if (ledger_find(ledger, spec->uid)) {
		r = ledger_remove(ledger, spec->uid);
		if (r)
			return r;
	}
	pod = ledger_new_pod(ledger, spec);
	if (!pod)
		return -ENOMEM;
	assign_begin(assignment, ledger, pod, reuse);
	return 0;
}

/* --- alignment -------------------------------------------------------------------------------- */

static void set_affinity(struct assignment *assignment, const struct cpu_affinity *affinity)
{
	struct ledger_pod *pod = assignment->pod;

	if (!assignment->is_whole)
		pod->grants[assignment->container].affinity = *affinity;
	for (uint32_t i = 0; assignment->is_whole && i < pod->nr_grants; i++)
		pod->grants[i].affinity = *affinity;
}

int assign_align(struct assignment *assignment)
{
	struct ledger *ledger = assignment->ledger;
	const struct topology *topology = ledger_topology(ledger);
	struct cpu_affinity affinity = {.known = false};
	int r;

	assignment->container = assignment->is_whole ? UINT32_MAX : assignment->nr_done;
	assignment->is_aligned = ledger_policy(ledger)->align != ALIGN_NONE;
	assignment->alignment = (struct alignment){.hint = {.any = true}, .admitted = true};
	if (assignment->is_aligned) {
		offers_make(ledger, assignment->pod, assignment->container, assignment->reuse,
			    &assignment->memory_reuse, &assignment->offers);
		if (assignment->is_joining)
			offers_join(ledger, assignment->pod, assignment->reuse,
				    &assignment->offers);
		r = offers_align(ledger, &assignment->offers, &assignment->alignment);
		if (r)
			return r;
	}
	if (!assignment->alignment.admitted) {
		/* It is the pod, with what it holds, that does not fit. */
		if (assignment->is_joining)
			assignment->container = UINT32_MAX;
		assignment->outcome = ASSIGN_UNALIGNED;
		return 0;
	}
	if (!assignment->alignment.hint.any) {
		affinity.known = true;
		affinity.nodes = topology_to_cpu_mask(topology, assignment->alignment.hint.nodes);
	}
	set_affinity(assignment, &affinity);
	return 0;
}

/* --- allocation: false = refused -------------------------------------------------------------- */

static bool note_cpus(struct assignment *assignment, enum cpu_result result)
{
	if (result)
		assignment->outcome = ASSIGN_NO_CPUS;
	assignment->cpu_result = result;
	return !result;
}

static bool note_memory(struct assignment *assignment, enum memory_result result)
{
	if (result)
		assignment->outcome = ASSIGN_NO_MEMORY;
	assignment->memory_result = result;
	return !result;
}

static bool allocate_cpus(struct assignment *assignment, uint32_t container)
{
	struct ledger *ledger = assignment->ledger;
	struct ledger_pod *pod = assignment->pod;

	return note_cpus(assignment,
			 cpu_allocate(ledger_cpu_manager(ledger), ledger_edit_shared_pool(ledger),
				      pod, container, &pod->grants[container].affinity,
				      assignment->reuse, &assignment->cpu_shortage));
}

static bool allocate_memory(struct assignment *assignment, uint32_t container)
{
	struct ledger *ledger = assignment->ledger;
	struct ledger_pod *pod = assignment->pod;
	struct memory_pod memory = ledger_memory_pod(pod);

	if (!pod->memory)
		return true;
	if (!note_memory(assignment,
			 memory_allocate(ledger_memory_manager(ledger),
					 ledger_edit_memory_state(ledger), &memory, container,
					 &assignment->alignment.hint, &assignment->memory_reuse,
					 &assignment->memory_shortage)))
		return false;
	pod->grants[container].mems = memory_container_nodes(pod->memory, container);
	return true;
}

static bool allocate_bubble(struct assignment *assignment)
{
	struct ledger *ledger = assignment->ledger;
	struct ledger_pod *pod = assignment->pod;

	if (!cpu_is_bubble_pod(ledger_cpu_manager(ledger), pod->spec, pod->qos))
		return true;
	if (assignment->first != UINT32_MAX)
		return note_cpus(assignment,
				 cpu_begin_bubble(ledger_cpu_manager(ledger),
						  ledger_edit_shared_pool(ledger), pod,
						  assignment->first, &pod->grants[0].affinity,
						  &assignment->cpu_shortage));
	return note_cpus(assignment,
			 cpu_allocate_pod(ledger_cpu_manager(ledger),
					  ledger_edit_shared_pool(ledger), pod,
					  &pod->grants[0].affinity, &assignment->cpu_shortage));
}

static bool allocate_memory_budget(struct assignment *assignment)
{
	struct ledger *ledger = assignment->ledger;
	struct ledger_pod *pod = assignment->pod;
	struct memory_pod memory = ledger_memory_pod(pod);

	if (!pod->memory)
		return true;
	if (!note_memory(assignment, memory_allocate_pod(ledger_memory_manager(ledger),
							 ledger_edit_memory_state(ledger), &memory,
							 &assignment->alignment.hint,
							 &assignment->memory_shortage)))
		return false;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		pod->grants[i].mems = memory_container_nodes(pod->memory, i);
	return true;
}

static bool allocate_container(struct assignment *assignment, uint32_t container)
{
	return allocate_cpus(assignment, container) && allocate_memory(assignment, container);
}

static bool allocate_whole(struct assignment *assignment)
{
	const struct ledger_pod *pod = assignment->pod;

	/* The kubelet asks the CPU manager first. */
	if (memory_is_whole(ledger_memory_manager(assignment->ledger), pod->spec))
		return allocate_bubble(assignment) && allocate_memory_budget(assignment);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!allocate_container(assignment, i))
			return false;
	}
	return true;
}

bool assign_leaves_no_shared_cpu(const struct assignment *assignment)
{
	const struct ledger *ledger = assignment->ledger;
	const struct policy *policy = ledger_policy(ledger);
	struct cpuset pool = *ledger_shared_pool(ledger);

	/* If the whole pool is offline, that is not the doing of a pod that takes none of it. */
	if (!cpuset_is_empty(assignment->pod->held))
		cpuset_subtract(&pool, &ledger_cpu_manager(ledger)->offline);
	return !policy->may_empty_shared_pool && !compatibility_is_kubelet(policy->compatibility) &&
	       cpuset_is_empty(&pool) && ledger_nr_host_containers(ledger);
}

void assign_allocate(struct assignment *assignment)
{
	bool is_allocated;

	if (assignment->outcome)
		return;
	is_allocated = assignment->is_whole ? allocate_whole(assignment)
					    : allocate_container(assignment, assignment->container);
	if (is_allocated && ++assignment->nr_done == assignment->nr_steps &&
	    assign_leaves_no_shared_cpu(assignment))
		assignment->outcome = ASSIGN_LAST_SHARED_CPU;
}

int assign_finish(struct assignment *assignment)
{
	while (assign_is_open(assignment)) {
		int r = assign_align(assignment);

		if (r)
			return r;
		assign_allocate(assignment);
	}
	return 0;
}
