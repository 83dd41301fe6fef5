// SPDX-License-Identifier: Apache-2.0
/*
 * One pod through the managers in one transaction: all of it, or nothing.
 *
 * Placing is the only way in; suggestions in explain.c use the same function
 * on the same ledger and abort, so what they promise has been tried.
 */
#include "core/admit.h"

#include "core/admit_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *refusal_name(enum refusal refusal)
{
	static const char *const names[] = {
		[REFUSAL_NONE] = "none",
		[REFUSAL_CPUS] = "cpus",
		[REFUSAL_SMT] = "smt",
		[REFUSAL_TOPOLOGY] = "topology",
		[REFUSAL_MEMORY] = "memory",
		[REFUSAL_HUGEPAGES] = "hugepages",
		[REFUSAL_EMPTY_SHARED_POOL] = "empty_shared_pool",
		[REFUSAL_POD_BUDGET] = "pod_budget",
		[REFUSAL_LAST_SHARED_CPU] = "last_shared_cpu",
		[REFUSAL_STATE] = "state",
		[REFUSAL_SPEC] = "spec",
	};

	_Static_assert(ARRAY_SIZE(names) == REFUSAL_NR, "a name for each refusal");
	return names[refusal];
}

/* The status reason the kubelet would put on the pod. */
static const char *kubelet_reason(enum refusal refusal)
{
	switch (refusal) {
	case REFUSAL_SMT:
		return "SMTAlignmentError";
	case REFUSAL_TOPOLOGY:
		return "TopologyAffinityError";
	case REFUSAL_EMPTY_SHARED_POOL:
		return "EmptyPodSharedPoolError";
	default:
		return "UnexpectedAdmissionError";
	}
}

__attribute__((format(printf, 4, 5))) static void refuse(struct decision *decision,
							 enum refusal refusal,
							 const char *container, const char *format,
							 ...)
{
	va_list args;

	decision->admitted = false;
	decision->refusal = refusal;
	snprintf(decision->reason, sizeof(decision->reason), "%s", kubelet_reason(refusal));
	snprintf(decision->container, sizeof(decision->container), "%s", container);
	va_start(args, format);
	vsnprintf(decision->message, sizeof(decision->message), format, args);
	va_end(args);
}

/* "container db" or "the pod": who asked. */
static void name_asker(const struct ledger_pod *pod, uint32_t container, char *buffer, size_t size)
{
	if (container < pod->nr_grants)
		snprintf(buffer, size, "container %s", pod->grants[container].container);
	else
		snprintf(buffer, size, "the pod");
}

static void refuse_count(const struct ledger *ledger, const struct ledger_pod *pod,
			 const char *asker, const char *container, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset held;

	ledger_exclusive(ledger, &held);
	cpuset_subtract(&held, &pod->held);
	refuse(decision, REFUSAL_CPUS, container,
	       "%s asks for %lld exclusive CPUs, %lld are free: of %u CPUs %u are reserved and %u "
	       "held by other pods",
	       asker, (long long)decision->wanted, (long long)decision->available,
	       cpuset_count(&manager->usable), cpuset_count(&manager->reserved),
	       cpuset_count(&held));
}

static void refuse_result(const struct ledger *ledger, const struct ledger_pod *pod,
			  enum cpu_result result, const struct cpu_shortage *shortage,
			  struct decision *decision)
{
	const struct topology *topology = ledger_topology(ledger);
	bool is_container = shortage->container < pod->nr_grants;
	const char *container = is_container ? pod->grants[shortage->container].container : "";
	char asker[POD_CONTAINER_NAME + 16];

	name_asker(pod, shortage->container, asker, sizeof(asker));
	decision->wanted = shortage->wanted;
	decision->available = shortage->available;
	switch (result) {
	case CPU_SMT_NOT_MULTIPLE:
		return refuse(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %u exclusive CPUs, which is no multiple "
			"of %u, the threads of a core",
			asker, shortage->wanted, topology->cpus_per_core);
	case CPU_SMT_NO_FREE_CORES:
		return refuse(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %u exclusive CPUs, %u are free on cores "
			"without a reserved thread",
			asker, shortage->wanted, shortage->available);
	case CPU_EMPTY_POD_POOL:
		return refuse(decision, REFUSAL_EMPTY_SHARED_POOL, container,
			      "the pod's budget of %u CPUs goes to its exclusive containers whole; "
			      "its other containers would have none",
			      shortage->wanted);
	case CPU_NOT_ENOUGH:
		if (is_container && pod->has_bubble)
			return refuse(decision, REFUSAL_POD_BUDGET, container,
				      "%s asks for %u exclusive CPUs, but the pod's budget of %u "
				      "has %u left for it",
				      asker, shortage->wanted, cpuset_count(&pod->bubble),
				      shortage->available);
		return refuse_count(ledger, pod, asker, container, decision);
	default:
		return refuse(
			decision, REFUSAL_CPUS, container,
			"%s asks for %u exclusive CPUs and %u are free, but the kubelet's own "
			"algorithm fails here (%s); compatibility: repaired does not",
			asker, shortage->wanted, shortage->available, cpu_result_name(result));
	}
}

static enum cpu_result allocate_containers(struct ledger *ledger, struct ledger_pod *pod,
					   struct cpu_shortage *ret_shortage)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpu_reuse reuse = {.uid = ""};

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		enum cpu_result result = cpu_allocate(manager, ledger_edit_shared_pool(ledger), pod,
						      i, NULL, &reuse, ret_shortage);

		if (result)
			return result;
	}
	return CPU_OK;
}

/*
 * Containers on the shared pool must have a CPU. The kubelet would let them
 * run nowhere in particular; an empty cpuset cannot be written to a cgroup.
 */
static bool keeps_a_shared_cpu(const struct ledger *ledger, const struct ledger_pod *pod,
			       struct decision *decision)
{
	const struct policy *policy = ledger_policy(ledger);
	uint32_t nr;

	if (policy->may_empty_shared_pool || policy->compatibility == COMPATIBILITY_KUBELET_1_36 ||
	    !cpuset_is_empty(ledger_shared_pool(ledger)))
		return true;
	nr = ledger_nr_host_containers(ledger);
	if (!nr)
		return true;
	decision->wanted = cpuset_count(&pod->held);
	decision->available = decision->wanted ? decision->wanted - 1 : 0;
	if (decision->wanted)
		refuse(decision, REFUSAL_LAST_SHARED_CPU, "",
		       "the pod's %lld exclusive CPUs are all that is left of the shared pool, on "
		       "which %u containers run",
		       (long long)decision->wanted, nr);
	else
		refuse(decision, REFUSAL_LAST_SHARED_CPU, "",
		       "the pod's containers need the shared pool, but every CPU of it is granted "
		       "exclusively");
	return false;
}

int admit_place(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpu_shortage shortage;
	struct ledger_pod *pod;
	enum cpu_result result;

	if (ledger_find(ledger, spec->uid)) {
		int r = ledger_remove(ledger, spec->uid);

		if (r)
			return r;
	}
	pod = ledger_new_pod(ledger, spec);
	if (!pod)
		return -ENOMEM;
	if (cpu_is_bubble_pod(manager, spec, pod->qos))
		result = cpu_allocate_pod(manager, ledger_edit_shared_pool(ledger), pod, NULL,
					  &shortage);
	else
		result = allocate_containers(ledger, pod, &shortage);
	if (result) {
		refuse_result(ledger, pod, result, &shortage, decision);
		return 0;
	}
	if (!keeps_a_shared_cpu(ledger, pod, decision))
		return 0;
	decision->admitted = true;
	snprintf(decision->message, sizeof(decision->message),
		 "%s pod holds %u exclusive CPUs; %u CPUs stay in the shared pool",
		 qos_class_name(pod->qos), cpuset_count(&pod->held),
		 cpuset_count(ledger_shared_pool(ledger)));
	return 0;
}

/* Names are compared and printed; an array that is not terminated is not a spec. */
static bool is_bounded(const struct pod_spec *spec)
{
	if (!spec->nr_containers || spec->nr_containers > POD_MAX_CONTAINERS || !spec->uid[0] ||
	    !memchr(spec->uid, 0, sizeof(spec->uid)) ||
	    !memchr(spec->name, 0, sizeof(spec->name)) ||
	    !memchr(spec->namespace, 0, sizeof(spec->namespace)))
		return false;
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		if (!container->name[0] || !memchr(container->name, 0, sizeof(container->name)) ||
		    container->kind >= CONTAINER_KIND_NR)
			return false;
	}
	return true;
}

/* Known with the same spec: nothing to decide, whatever the node looks like today. */
static int place_again(struct ledger *ledger, const struct ledger_pod *pod,
		       struct decision *decision)
{
	decision->admitted = true;
	snprintf(decision->message, sizeof(decision->message),
		 "pod is admitted already and holds %u exclusive CPUs", cpuset_count(&pod->held));
	if (pod->state == POD_RUNNING && !pod->detail[0])
		return 0;
	return ledger_set_state(ledger, pod->spec->uid, POD_RUNNING, NULL);
}

int admit_prepare(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision)
{
	struct decision decision = {.wanted = -1, .available = -1};
	const struct ledger_pod *known;
	int r;

	if (!is_bounded(spec))
		return -EINVAL;
	r = ledger_begin(ledger);
	if (r)
		return r;
	known = ledger_find(ledger, spec->uid);
	if (known && pod_spec_equal(known->spec, spec))
		r = place_again(ledger, known, &decision);
	else
		r = admit_place(ledger, spec, &decision);
	if (r || !decision.admitted)
		ledger_abort(ledger);
	if (!r && !decision.admitted)
		r = explain_refusal(ledger, spec, &decision);
	if (r)
		return r;
	*ret_decision = decision;
	return 0;
}

int admit_pod(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision)
{
	int r = admit_prepare(ledger, spec, ret_decision);

	if (!r && ret_decision->admitted)
		ledger_commit(ledger);
	return r;
}
