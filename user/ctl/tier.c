// SPDX-License-Identifier: Apache-2.0
/*
 * A root partition keeps the host's tasks off the CPUs of pods and pushes them onto the
 * reserved CPUs. If that is not wanted or not possible, tier 0 remains in force and a finding
 * says so. The same holds for the isolated partitions below it, without which tier 1 remains.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/tier.h"
#include "lib/log.h"

/*
 * Without the source, pods that a runtime named earlier keep their CPUs, because they may still
 * run, but nobody would say when they end.
 */
static uint32_t count_remaining(struct controller *controller)
{
	const bool has_source = config_has_runtime(controller->options.config);
	uint32_t nr = 0;

	for (uint32_t i = 0; !has_source && i < ledger_nr_pods(controller->ledger); i++)
		nr += ledger_pod_at(controller->ledger, i)->spec->is_of_runtime;
	findings_put_if(
		&controller->findings, FINDING_RUNTIME_PODS_REMAIN, nr,
		"set the source again until these pods are gone, or reboot the node",
		"%u pod%s of the container runtime still hold%s CPUs, but neither sources.nri nor "
		"sources.kubepods is set, so the agent does not learn when they end",
		nr, nr == 1 ? "" : "s", nr == 1 ? "s" : "");
	return nr;
}

/*
 * Did an earlier agent leave the workload root a mere member? Before the first start there is none,
 * and of one that is unknown the safer side is taken: pods are better protected with the partition
 * than without. An invalid partition is to be one.
 */
static bool was_left_member(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;

	return !groups->status(groups->self, controller->layout.root, &status) && status.is_member;
}

/* Is the workload root to be a partition? If not, a finding says why. */
static bool wants_root_partition(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct config *config = controller->options.config;
	char scope[GROUP_PATH_MAX] = "";
	uint32_t nr_tasks = 0;
	const uint32_t nr_remaining = count_remaining(controller);
	int r;

	controller->tier.is_undecided = false;

	/* Nothing is enforced, so nothing is missing. */
	if (!run_mode_writes(config->mode)) {
		findings_clear(&controller->findings, FINDING_TIER1_NOT_IN_USE);
		return false;
	}
	/* A partition takes its CPUs from everybody outside the workload root. */
	if (config_has_runtime(config) || nr_remaining) {
		findings_put(
			&controller->findings, FINDING_TIER1_NOT_IN_USE,
			nr_remaining
				? "see the finding runtime_pods_remain"
				: "remove sources.nri and sources.kubepods if the node has no container runtime",
			"the workload root is not a partition, because pods of the container runtime run "
			"outside it; tasks of the host may run on CPUs of pods");
		return false;
	}
	if (config->partitions == PARTITIONS_OFF ||
	    config_host_tasks(config) != HOST_TASKS_RESERVED) {
		findings_put(
			&controller->findings, FINDING_TIER1_NOT_IN_USE,
			"set strict-cpu-reservation, hostTasks: reserved and partitions: "
			"auto to keep them off",
			"the workload root is not a partition, because the configuration does not ask for "
			"one; user tasks of the host may run on CPUs of pods");
		return false;
	}
	r = groups->outsiders(groups->self, &nr_tasks, scope, sizeof(scope));
	/*
	 * If this is unknown, nothing that is in force changes, also at a restart unless the operator
	 * accepts whoever it is, and the next tick asks again.
	 */
	controller->tier.is_undecided = r;
	if (r && controller->started)
		return controller->layout.root_partition;
	if (r && config->host_tasks == HOST_TASKS_AUTO && was_left_member(controller)) {
		findings_put(
			&controller->findings, FINDING_TIER1_NOT_IN_USE,
			"wait until the agent has asked again, which takes seconds",
			"the agent does not know yet which tasks run outside the workload root, so it "
			"does not make it a partition, which the earlier agent had not done either");
		return false;
	}
	if (*scope && config->host_tasks == HOST_TASKS_AUTO) {
		findings_put(
			&controller->findings, FINDING_TIER1_NOT_IN_USE,
			"set hostTasks: reserved to accept that, or stop what runs there",
			"the workload root is not a partition, because it would push %.180s, which runs "
			"outside it, onto the reserved CPUs",
			scope);
		return false;
	}
	if (!r)
		log_info("ctl: %u user tasks outside %s will share the reserved CPUs", nr_tasks,
			 controller->layout.root);
	findings_clear(&controller->findings, FINDING_TIER1_NOT_IN_USE);
	return true;
}

void ctl_choose_tier(struct controller *controller)
{
	const struct config *config = controller->options.config;
	const bool is_wanted = config->partitions == PARTITIONS_ISOLATED &&
			       run_mode_writes(config->mode);

	controller->layout.root_partition = wants_root_partition(controller);
	controller->layout.isolated = is_wanted && controller->layout.root_partition;
	if (is_wanted && !controller->layout.isolated)
		findings_put(&controller->findings, FINDING_TIER1I_NOT_IN_USE,
			     "see the finding tier1_not_in_use",
			     "exclusive CPUs are not isolated, because the workload root is not a "
			     "partition");
	else if (!is_wanted)
		findings_clear(&controller->findings, FINDING_TIER1I_NOT_IN_USE);
}

bool ctl_decide_tier(struct controller *controller)
{
	const bool before = controller->layout.root_partition;

	if (!controller->tier.is_undecided)
		return false;
	ctl_choose_tier(controller);
	if (controller->layout.root_partition == before)
		return false;
	dirty_mark_ledger(&controller->dirty);
	return true;
}

/* --- what is in force ------------------------------------------------------------------------- */

/*
 * When the kernel rejects a partition, the group becomes a member again, so the kernel's reason is
 * in the error of the chain that tried.
 */
static void check_root(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct retry *retry = chains_find(&controller->chains, "");
	struct group_status status;
	char message[ROW_DETAIL_MAX];
	int r;

	/* A reload may give the partition up, whether it is valid or not. */
	if (!controller->layout.root_partition) {
		controller->tier.is_held = false;
		findings_clear(&controller->findings, FINDING_TIER1_NOT_HELD);
		return;
	}
	r = groups->status(groups->self, controller->layout.root, &status);
	/* A step of the root itself is blocked in the kernel: keep the last known state. */
	if (r == -EINPROGRESS)
		return;
	controller->tier.is_held = !r && status.is_root_partition;
	if (controller->tier.is_held) {
		findings_clear(&controller->findings, FINDING_TIER1_NOT_HELD);
		return;
	}
	if (retry)
		snprintf(message, sizeof(message), "%s", retry->error);
	else
		snprintf(message, sizeof(message),
			 "%s is not a valid root partition: cpuset.cpus.partition %s '%.120s'",
			 controller->layout.root, r ? "cannot be read:" : "has",
			 r ? strerror(-r) : status.partition);
	findings_put(&controller->findings, FINDING_TIER1_NOT_HELD,
		     "remove overlapping cpuset.cpus of its siblings (AllowedCPUs= of units); "
		     "until then host tasks may run on pods' CPUs",
		     "%s", message);
}

static const char *gap_text(enum isolation_gap gap)
{
	static const char *const texts[ISOLATION_GAP_NR] = {
		[ISOLATION_GAP_NONE] = "",
		[ISOLATION_GAP_POOL] = "another container of its pod uses the shared pool",
		[ISOLATION_GAP_REUSED] = "another container of its pod may use some of these CPUs",
		[ISOLATION_GAP_OFFLINE] = "some of its CPUs are offline",
	};

	return texts[gap];
}

/* Containers that cannot be isolated, because of their pod. No promise is broken. */
static void tell_gaps(struct controller *controller)
{
	const struct group *first = NULL;
	char others[32] = "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];

		if (group->gap != ISOLATION_GAP_NONE && !nr++)
			first = group;
	}
	if (!first) {
		findings_clear(&controller->findings, FINDING_TIER1I_NOT_IN_USE);
		return;
	}
	if (nr > 1)
		snprintf(others, sizeof(others), " (and %u more)", nr - 1);
	findings_put(&controller->findings, FINDING_TIER1I_NOT_IN_USE,
		     first->gap == ISOLATION_GAP_OFFLINE
			     ? "bring the CPUs online"
			     : "give each container of the pod whole CPUs, or the pod resources of "
			       "its own (pod scope); the kernel isolates no CPUs that others share",
		     "the CPUs of %.180s%s are not isolated: %s", first->path, others,
		     gap_text(first->gap));
}

static int by_path(const void *left, const void *right)
{
	const struct group *const *a = left, *const *b = right;

	return strcmp((*a)->path, (*b)->path);
}

/*
 * The groups as they are after the steps so far, by path: each isolated one of the desired tree is
 * looked for, and their order is another one. NULL = no memory; freed by the caller.
 */
static const struct group **sort_observed(const struct group_tree *observed)
{
	const struct group **sorted = calloc(observed->nr_groups + 1, sizeof(*sorted));

	for (uint32_t i = 0; sorted && i < observed->nr_groups; i++)
		sorted[i] = &observed->groups[i];
	if (sorted)
		qsort(sorted, observed->nr_groups, sizeof(*sorted), by_path);
	return sorted;
}

static bool is_seen_isolated(const struct group *const *sorted, uint32_t nr,
			     const struct group *group)
{
	const struct group *const *found = bsearch(&group, sorted, nr, sizeof(*sorted), by_path);

	return found && group_is_isolated(*found);
}

static void tell_not_isolated(struct controller *controller, const struct group *first, uint32_t nr)
{
	const struct retry *retry = chains_find(&controller->chains, first->uid);
	const struct group *seen = group_tree_find(&controller->look.observed, first->path);
	const char *state = seen ? seen->files[GROUP_CPUSET_PARTITION] : NULL;
	char message[ROW_DETAIL_MAX], others[32] = "";

	if (nr > 1)
		snprintf(others, sizeof(others), " (and %u more)", nr - 1);
	if (retry)
		snprintf(message, sizeof(message), "%s", retry->error);
	else
		snprintf(message, sizeof(message),
			 "the CPUs of %.120s%s are not isolated: cpuset.cpus.partition %s%.120s%s",
			 first->path, others, state ? "has '" : "is missing", state ? state : "",
			 state ? "'" : "");
	findings_put(
		&controller->findings, FINDING_TIER1I_NOT_HELD,
		"remove the overlapping cpuset.cpus; the agent tries again, and until then the "
		"kernel balances load and runs unbound work on these CPUs",
		"%s", message);
}

static void check_isolated(struct controller *controller)
{
	const struct group **sorted cleanup_free = NULL;
	const struct group *first = NULL;
	uint32_t nr = 0, nr_pending = 0;

	controller->tier.is_isolated = false;
	if (!controller->layout.isolated) {
		findings_clear(&controller->findings, FINDING_TIER1I_NOT_HELD);
		return;
	}
	tell_gaps(controller);
	/* Without the root's partition there are no others, and tier1_not_held says why. */
	if (!controller->tier.is_held) {
		findings_clear(&controller->findings, FINDING_TIER1I_NOT_HELD);
		return;
	}
	sorted = sort_observed(&controller->look.observed);
	if (!sorted) {
		log_err(-ENOMEM, "ctl: cannot find out which containers are isolated before the "
				 "next reconcile");
		return;
	}
	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];

		if (!group_is_isolated(group) ||
		    is_seen_isolated(sorted, controller->look.observed.nr_groups, group))
			continue;
		/* Its steps have not ended yet. */
		if (operations_find(&controller->operations, group->uid))
			nr_pending++;
		else if (!nr++)
			first = group;
	}
	controller->tier.is_isolated = !nr && !nr_pending;
	if (!nr) {
		findings_clear(&controller->findings, FINDING_TIER1I_NOT_HELD);
		return;
	}
	tell_not_isolated(controller, first, nr);
}

void ctl_check_tier(struct controller *controller)
{
	check_root(controller);
	check_isolated(controller);
}
