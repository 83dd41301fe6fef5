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

void refuse_pod(struct decision *decision, enum refusal refusal, const char *container,
		const char *format, ...)
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
		refuse_pod(
			decision, REFUSAL_LAST_SHARED_CPU, "",
			"the pod's %lld exclusive CPUs are all that is left of the shared pool, on "
			"which %u containers run",
			(long long)decision->wanted, nr);
	else
		refuse_pod(
			decision, REFUSAL_LAST_SHARED_CPU, "",
			"the pod's containers need the shared pool, but every CPU of it is granted "
			"exclusively");
	return false;
}

int admit_place(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	return admit_place_accounted(ledger, spec, decision, NULL, 0);
}

int admit_place_accounted(struct ledger *ledger, const struct pod_spec *spec,
			  struct decision *decision, struct account *accounts, uint32_t stride)
{
	struct cpu_reuse reuse = {.uid = ""};
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
	r = place_pod_accounted(ledger, pod, &reuse, decision, accounts, stride);
	if (r || !decision->admitted)
		return r;
	if (!keeps_a_shared_cpu(ledger, pod, decision))
		return 0;
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
