// SPDX-License-Identifier: Apache-2.0
/*
 * Is what was promised held? One answer for /readyz, for the node's report and for each pod.
 * "Ready" is never assumed: what could not be read or written last time counts as not held
 * until it was read or written again.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

/* Finding while the cgroups can be reached by nobody, or not be written. */
#define OUT_OF_REACH "cgroups_out_of_reach"

void check_reach(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_obstacle obstacle = {0};
	bool was_blocked = *controller->obstacle;

	if (!groups->check(groups->self, &obstacle)) {
		*controller->obstacle = '\0';
		controller_clear_finding(controller, OUT_OF_REACH);
		/* Nobody knows what happened meanwhile. */
		if (was_blocked)
			want_wake(controller, 0);
		return;
	}
	snprintf(controller->obstacle, sizeof(controller->obstacle), "%s", obstacle.message);
	controller_finding(controller, OUT_OF_REACH, obstacle.message, obstacle.remedy);
}

/* --- pods ---------------------------------------------------------------------------------------- */

bool pod_problem(const struct controller *controller, const struct ledger_pod *pod,
		 struct pod_problem *ret_problem)
{
	const char *uid = pod->spec->uid;
	const struct operation *operation = operation_find(controller, uid);
	const struct retry *retry = retry_find(controller, uid);

	if (*controller->look_problem) {
		*ret_problem = (struct pod_problem){uid, "unknown", controller->look_problem};
		return true;
	}
	if (operation && *operation->told) {
		*ret_problem = (struct pod_problem){uid, "waiting", operation->told};
		return true;
	}
	if (retry) {
		bool held = retry->progress == CHAIN_HELD;

		*ret_problem = (struct pod_problem){uid, held ? "waiting" : "failed", retry->error};
		return true;
	}
	/* What we wrote last is what the ledger said at that time. */
	if (!desired_group(controller, uid, "")) {
		*ret_problem =
			(struct pod_problem){uid, "waiting", "its cgroups have not been made yet"};
		return true;
	}
	return false;
}

uint32_t pod_problems(const struct controller *controller, struct pod_problem *ret_problems)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++)
		nr += pod_problem(controller, ledger_pod_at(controller->ledger, i),
				  &ret_problems[nr]);
	return nr;
}

/* Something goes on for it, and for no longer than that may take. */
static bool has_time_left(const struct controller *controller, const char *uid)
{
	const struct operation *operation = operation_find(controller, uid);

	return operation && now_ns(controller) - operation->since_ns < OPERATION_DEADLINE_NS;
}

/* Names the first, counts the others. */
static bool all_pods_held(const struct controller *controller, char *reason, size_t size)
{
	struct pod_problem first = {0}, problem;
	char name[POD_NAME_MAX * 2] = "", others[32] = "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (!pod_problem(controller, pod, &problem) ||
		    has_time_left(controller, pod->spec->uid) || nr++)
			continue;
		first = problem;
		pod_label(pod->spec, name, sizeof(name));
	}
	if (!nr)
		return true;
	if (nr > 1)
		snprintf(others, sizeof(others), " and %u more %s", nr - 1,
			 nr > 2 ? "pods are" : "pod are");
	snprintf(reason, size, "pod %s%s not held: %s", name, *others ? others : " is",
		 first.detail);
	return false;
}

/* --- the node ------------------------------------------------------------------------------------ */

/* The chain of the workload root itself, which belongs to no pod; NULL = it holds. */
static const char *root_problem(const struct controller *controller)
{
	const struct retry *retry = retry_find(controller, "");

	return retry ? retry->error : NULL;
}

bool is_ready(void *self, char *reason, size_t size)
{
	const struct controller *controller = self;
	const char *root = root_problem(controller);
	bool allocates = controller->options.config->mode == MODE_ALLOCATE;

	if (!controller->started)
		snprintf(reason, size, "starting");
	else if (!controller->has_looked)
		snprintf(reason, size, "the cgroups have not been looked at yet");
	else if (operations_overdue(controller, OPERATION_DEADLINE_NS, reason, size))
		return false;
	else if (!controller->source_complete)
		snprintf(reason, size, "the manifests have not been read whole yet");
	else if (!controller->state_writable)
		snprintf(reason, size, "the state file cannot be written: %s",
			 controller->state_problem);
	else if (*controller->obstacle)
		snprintf(reason, size, "%s", controller->obstacle);
	else if (*controller->look_problem)
		snprintf(reason, size, "%s", controller->look_problem);
	else if (root)
		snprintf(reason, size, "the workload root cannot be set up: %s", root);
	else if (allocates && controller->layout.root_partition && !controller->root_partition_held)
		snprintf(reason, size, "%s is not a valid root partition", controller->layout.root);
	else if (!all_pods_held(controller, reason, size))
		return false;
	else if (controller->policy_stale)
		snprintf(reason, size, "the guard could not be told of the last change");
	else if (controller->ledger_changed)
		snprintf(reason, size, "the last change has not been applied yet");
	else
		return true;
	return false;
}
