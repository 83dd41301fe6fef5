// SPDX-License-Identifier: Apache-2.0
/*
 * Is everything that was promised in force? One answer for /readyz, the node's report and each
 * pod. Readiness is never assumed: anything that could not be read or written the last time
 * counts as not enforced until it succeeds.
 */
#include <stdio.h>

#include "ctl/internal.h"
#include "ctl/ready.h"

/* --- pods ---------------------------------------------------------------------------------------- */

static void explain_offline(const struct grant *grant, const struct cpuset *offline,
			    char ret_why[ROW_DETAIL_MAX])
{
	bool several = cpuset_count(offline) > 1;
	char list[96];

	cpuset_format(offline, list, sizeof(list));
	if (grant->isolation == ISOLATION_HOST)
		snprintf(
			ret_why, ROW_DETAIL_MAX,
			"the whole shared pool, CPU%s %.95s, is offline: bring at least one online",
			several ? "s" : "", list);
	else
		snprintf(ret_why, ROW_DETAIL_MAX,
			 "CPU%s %.95s of container %.80s %s offline: bring %s online, or restart "
			 "pinfoldd to move the pod",
			 several ? "s" : "", list, grant->container, several ? "are" : "is",
			 several ? "them" : "it");
}

/*
 * Are CPUs of a container's grant offline? The shared pool does not promise a number of CPUs,
 * so any remaining CPU is enough; but if all are offline, the kernel uses the workload root's
 * CPUs.
 */
static bool find_offline(const struct controller *controller, const struct ledger_pod *pod,
			 char ret_why[ROW_DETAIL_MAX])
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		const struct cpuset *cpus = ledger_effective(controller->ledger, grant);
		struct cpuset offline = *cpus;

		cpuset_subtract(&offline, &controller->online);
		if (cpuset_is_empty(&offline) ||
		    (grant->isolation == ISOLATION_HOST && !cpuset_equal(&offline, cpus)))
			continue;
		explain_offline(grant, &offline, ret_why);
		return true;
	}
	return false;
}

/*
 * CONDITION_RUNNING, or the condition that prevents the pod from being enforced, with the
 * reason.
 */
static enum pod_condition find_problem(const struct controller *controller,
				       const struct ledger_pod *pod, char ret_why[ROW_DETAIL_MAX])
{
	const char *uid = pod->spec->uid;
	const struct operation *operation = operations_find(&controller->operations, uid);
	const struct retry *retry = chains_find(&controller->chains, uid);

	if (controller->look.is_in_doubt) {
		snprintf(ret_why, ROW_DETAIL_MAX, "%s", controller->look.problem);
		return CONDITION_UNKNOWN;
	}
	/* Checked before the operations and errors that it causes. */
	if (find_offline(controller, pod, ret_why))
		return CONDITION_FAILED;
	if (operation && (operation->is_told || operation->kind == OPERATION_STEP)) {
		snprintf(ret_why, ROW_DETAIL_MAX, "%s",
			 operation->is_told ? operation->told : "its cgroups are being written");
		return CONDITION_WAITING;
	}
	if (retry) {
		snprintf(ret_why, ROW_DETAIL_MAX, "%s", retry->error);
		return retry->progress == CHAIN_HELD ? CONDITION_WAITING : CONDITION_FAILED;
	}
	/* Whether its cgroups have their CPUs is known only while the runtime answers. */
	if (pod->spec->is_of_runtime) {
		if (controller->runtimes.is_synchronized)
			return CONDITION_RUNNING;
		snprintf(ret_why, ROW_DETAIL_MAX, "its container runtime is not connected");
		return CONDITION_UNKNOWN;
	}
	/* The groups last written are those of the ledger at that time. */
	if (!lookup_group(&controller->desired, uid, "")) {
		snprintf(ret_why, ROW_DETAIL_MAX, "its cgroups have not been made yet");
		return CONDITION_WAITING;
	}
	return CONDITION_RUNNING;
}

enum pod_condition ctl_pod_condition(const struct controller *controller,
				     const struct ledger_pod *pod)
{
	char why[ROW_DETAIL_MAX];

	if (pod->state == POD_ENDING)
		return CONDITION_ENDING;
	return find_problem(controller, pod, why);
}

/*
 * Is this pod not enforced, or is that unknown? The row gives the reason and borrows the pod's
 * uid.
 */
static bool find_pod_problem(const struct controller *controller, const struct ledger_pod *pod,
			     struct pod_problem *ret_problem)
{
	enum pod_condition condition = find_problem(controller, pod, ret_problem->detail);

	if (condition == CONDITION_RUNNING)
		return false;
	ret_problem->uid = pod->spec->uid;
	ret_problem->condition = condition;
	return true;
}

uint32_t ctl_pod_problems(const struct controller *controller, struct pod_problem *ret_problems)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++)
		nr += find_pod_problem(controller, ledger_pod_at(controller->ledger, i),
				       &ret_problems[nr]);
	return nr;
}

/*
 * A running operation on a pod may still end in time: ctl_is_ready() has already checked
 * whether any operation is overdue. But it does not bring CPUs online.
 */
static bool may_end_in_time(const struct controller *controller, const struct ledger_pod *pod)
{
	char why[ROW_DETAIL_MAX];

	return operations_find(&controller->operations, pod->spec->uid) &&
	       !find_offline(controller, pod, why);
}

/* Names the first pod that is not enforced and counts the others. */
static bool all_pods_held(const struct controller *controller, char *reason, size_t size)
{
	struct pod_problem first = {0}, problem;
	char name[POD_NAME_MAX * 2] = "", others[32] = "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (!find_pod_problem(controller, pod, &problem) ||
		    may_end_in_time(controller, pod) || nr++)
			continue;
		first = problem;
		lookup_pod_label(pod->spec, name, sizeof(name));
	}
	if (!nr)
		return true;
	if (nr > 1)
		snprintf(others, sizeof(others), " and %u more %s", nr - 1,
			 nr > 2 ? "pods are" : "pod are");
	snprintf(reason, size, "pod %s%s not enforced: %s", name, nr > 1 ? others : " is",
		 first.detail);
	return false;
}

/* --- the node ------------------------------------------------------------------------------------ */

/* The error of the workload root's own chain, which belongs to no pod; NULL = none. */
static const char *root_problem(const struct controller *controller)
{
	const struct retry *retry = chains_find(&controller->chains, "");

	return retry ? retry->error : NULL;
}

bool ctl_is_ready(void *self, char *reason, size_t size)
{
	const struct controller *controller = self;
	const char *root = root_problem(controller);
	bool allocates = controller->options.config->mode == MODE_ALLOCATE;

	if (!controller->started)
		snprintf(reason, size, "starting");
	else if (!controller->look.has_ended)
		snprintf(reason, size, "the cgroups have not been read yet");
	else if (ctl_is_overdue(controller, WAIT_DEADLINE_NS, reason, size))
		return false;
	else if (*controller->options.config->sources.manifest_directory &&
		 !controller->options.discovers && !controller->admission.is_source_complete)
		snprintf(reason, size, "the manifests have not been read completely yet");
	else if (!controller->record.is_writable)
		snprintf(reason, size, "the state file cannot be written: %s",
			 controller->record.problem);
	else if (controller->look.is_blocked)
		snprintf(reason, size, "%s", controller->look.obstacle);
	else if (controller->look.is_in_doubt)
		snprintf(reason, size, "%s", controller->look.problem);
	else if (root)
		snprintf(reason, size, "the workload root cannot be set up: %s", root);
	else if (allocates && controller->layout.root_partition && !controller->tier.is_held)
		snprintf(reason, size, "%s is not a valid root partition", controller->layout.root);
	else if (!all_pods_held(controller, reason, size))
		return false;
	else if (ctl_lacks_discovery(controller, reason, size))
		return false;
	else if (ctl_lacks_guard(controller, reason, size))
		return false;
	else if (controller->publisher.is_stale)
		snprintf(reason, size, "the last change could not be published to the guard");
	else if (controller->dirty.ledger)
		snprintf(reason, size, "the last change has not been applied yet");
	else
		return true;
	return false;
}
