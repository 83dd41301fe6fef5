// SPDX-License-Identifier: Apache-2.0
/*
 * A root partition keeps the host's tasks off the CPUs of pods and pushes them onto the
 * reserved CPUs. If that is not wanted or not possible, tier 0 remains in force and a finding
 * says so.
 */
#include <errno.h>
#include <stdio.h>
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
	const bool has_source = *controller->options.config->sources.nri;
	char message[ROW_DETAIL_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; !has_source && i < ledger_nr_pods(controller->ledger); i++)
		nr += ledger_pod_at(controller->ledger, i)->spec->is_of_runtime;
	if (!nr) {
		findings_clear(&controller->findings, "runtime_pods_remain");
		return 0;
	}
	snprintf(
		message, sizeof(message),
		"%u pod%s of the container runtime still hold%s CPUs, but sources.nri is not set, so "
		"the agent does not learn when they end",
		nr, nr == 1 ? "" : "s", nr == 1 ? "s" : "");
	findings_put(&controller->findings, "runtime_pods_remain", message,
		     "set sources.nri again until these pods are gone, or reboot the node");
	return nr;
}

void ctl_choose_tier(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct config *config = controller->options.config;
	char scope[GROUP_PATH_MAX] = "", message[ROW_DETAIL_MAX];
	uint32_t nr_tasks = 0;
	const uint32_t nr_remaining = count_remaining(controller);
	int r;

	/* Nothing is enforced, so nothing is missing. */
	if (!run_mode_writes(config->mode)) {
		findings_clear(&controller->findings, "tier1_not_in_use");
		controller->layout.root_partition = false;
		return;
	}
	/* A partition takes its CPUs from everybody outside the workload root. */
	if (*config->sources.nri || nr_remaining) {
		findings_put(
			&controller->findings, "tier1_not_in_use",
			"pods of the container runtime run outside the workload root, so it is "
			"not a partition; tasks of the host may run on CPUs of pods",
			nr_remaining ? "see the finding runtime_pods_remain"
				     : "remove sources.nri if the node has no container runtime");
		controller->layout.root_partition = false;
		return;
	}
	if (config->partitions == PARTITIONS_OFF ||
	    config_host_tasks(config) != HOST_TASKS_RESERVED) {
		findings_put(&controller->findings, "tier1_not_in_use",
			     "user tasks of the host may run on CPUs of pods",
			     "set strict-cpu-reservation, hostTasks: reserved and partitions: "
			     "auto to keep them off");
		controller->layout.root_partition = false;
		return;
	}
	r = groups->outsiders(groups->self, &nr_tasks, scope, sizeof(scope));
	/* If this is unknown at present, nothing that is in force changes. */
	if (r == -EINPROGRESS && controller->started)
		return;
	if (!r && *scope && config->host_tasks == HOST_TASKS_AUTO) {
		snprintf(
			message, sizeof(message),
			"%.180s runs outside the workload root; a partition would push it onto the "
			"reserved CPUs",
			scope);
		findings_put(&controller->findings, "tier1_not_in_use", message,
			     "set hostTasks: reserved to accept that");
		controller->layout.root_partition = false;
		return;
	}
	log_info("ctl: %u user tasks outside %s will share the reserved CPUs", nr_tasks,
		 controller->layout.root);
	findings_clear(&controller->findings, "tier1_not_in_use");
	controller->layout.root_partition = true;
}

void ctl_check_tier(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;
	char message[ROW_DETAIL_MAX];
	int r;

	/* A reload may give the partition up, whether it is valid or not. */
	if (!controller->layout.root_partition) {
		controller->tier.is_held = false;
		findings_clear(&controller->findings, "tier1_not_held");
		return;
	}
	r = groups->status(groups->self, controller->layout.root, &status);
	/* A step of the root itself is blocked in the kernel: keep the last known state. */
	if (r == -EINPROGRESS)
		return;
	controller->tier.is_held = !r && status.is_root_partition;
	if (controller->tier.is_held) {
		findings_clear(&controller->findings, "tier1_not_held");
		return;
	}
	snprintf(message, sizeof(message), "%s is not a valid root partition: '%.120s'",
		 controller->layout.root, r ? strerror(-r) : status.partition);
	findings_put(&controller->findings, "tier1_not_held", message,
		     "remove overlapping cpuset.cpus of its siblings (AllowedCPUs= of units); "
		     "until then host tasks may run on pods' CPUs");
}
