// SPDX-License-Identifier: Apache-2.0
/*
 * The pass itself is an adapter's: it holds whatever the kernel makes it wait for. Here is when
 * one begins, and what becomes of its report.
 */
#include "ctl/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

/* A group that appears raises no event. Where no group has our list, nobody waits for one. */
#define RESCAN_NS      (10ULL * 1000000000ULL)
#define IDLE_RESCAN_NS (60ULL * 1000000000ULL)

/* --- when ---------------------------------------------------------------------------------------- */

/*
 * While the workload root is a partition, the kernel keeps the host off it, and a list that has its
 * CPUs would make it invalid up to Linux 6.12. Where no CPU is taken there is nothing to keep it off,
 * and a list would only be in the way of other programs. Without a reserved or shared CPU the host
 * would be left with those that were isolated on the kernel's command line, or with none.
 */
static enum host_mode wanted_mode(const struct controller *controller,
				  const struct cpu_states *states, const struct cpuset *taken)
{
	const struct config *config = controller->options.config;

	if (config_host_tasks(config) != HOST_TASKS_SHARED || controller->layout.root_partition ||
	    controller->tier.is_held || cpuset_is_empty(taken) ||
	    (cpuset_is_empty(&states->reserved) && cpuset_is_empty(&states->shared)))
		return HOST_RESTORE;
	return HOST_CONFINE;
}

/*
 * What no pod holds stays the host's, whether pools may use it or not: CPUs that are isolated, that
 * are offline, or that came after the agent's start. The kernel leaves out those that are offline
 * until they are back, without another write.
 */
static void fill_request(const struct controller *controller, struct host_request *request)
{
	struct cpu_states states;

	ledger_cpu_states(controller->ledger, &states);
	request->taken = states.exclusive;
	cpuset_union(&request->taken, &states.pod_shared);
	request->exclusive = states.exclusive;
	request->mode = wanted_mode(controller, &states, &request->taken);
	request->rest = controller->layout.root_partition ? states.reserved : CPUSET_EMPTY;
	request->has_runtime = config_has_runtime(controller->options.config);
}

static bool is_due(const struct host_groups *host, const struct host_request *request,
		   uint64_t now_ns)
{
	const uint64_t pause_ns = request->mode == HOST_CONFINE ? RESCAN_NS : IDLE_RESCAN_NS;

	if (host->since_ns)
		return false;
	if (!host->begun_ns || host->mode != request->mode ||
	    !cpuset_equal(&host->rest, &request->rest))
		return true;
	/* Nothing is left to be undone. */
	if (request->mode == HOST_RESTORE && !host->result && !host->report.nr_held)
		return false;
	return now_ns - host->begun_ns >= pause_ns ||
	       (request->mode == HOST_CONFINE &&
		(!cpuset_equal(&host->taken, &request->taken) ||
		 !cpuset_equal(&host->exclusive, &request->exclusive)));
}

void ctl_confine_host(struct controller *controller)
{
	const struct host_port *port = controller->ports.host;
	struct host_groups *host = &controller->host;
	struct host_request request;
	uint64_t now_ns;
	int r;

	if (!port || controller->options.config->mode != MODE_ALLOCATE)
		return;
	fill_request(controller, &request);
	now_ns = clock_now_ns(controller->ports.clock);
	if (!is_due(host, &request, now_ns))
		return;
	host->mode = request.mode;
	host->taken = request.taken;
	host->exclusive = request.exclusive;
	host->rest = request.rest;
	host->begun_ns = host->since_ns = now_ns;
	r = port->pass(port->self, &request);
	if (r)
		ctl_end_host_pass(controller, r, NULL);
}

/* --- what an operator is told -------------------------------------------------------------------- */

static void tell_unread(struct controller *controller, int result)
{
	findings_put_if(
		&controller->findings, FINDING_HOST_GROUPS_UNKNOWN, result,
		"see whether /sys/fs/cgroup, and host.json in stateDirectory, can be read",
		"cannot read the cgroups of the host, so their CPU lists stay as they are: %s",
		strerror(-result));
}

static void tell_unsaved(struct controller *controller)
{
	const struct host_report *report = &controller->host.report;

	if (report->error == -EBADMSG)
		findings_put(
			&controller->findings, FINDING_HOST_ORIGINALS_UNUSABLE,
			"restart the machine, or remove the file and start pinfoldd again; then "
			"lists that an earlier agent wrote stay",
			"the host's cgroups are left alone: %.240s", report->problem);
	else
		findings_put_if(&controller->findings, FINDING_HOST_ORIGINALS_UNUSABLE,
				report->error, "see whether stateDirectory can be written",
				"cannot save which cgroups of the host have a CPU list, so none is "
				"written: %s",
				strerror(-report->error));
}

static void tell_failed(struct controller *controller)
{
	const struct host_report *report = &controller->host.report;

	findings_put_if(
		&controller->findings, FINDING_HOST_GROUPS_NOT_HELD, report->nr_failed,
		"remove the cause; the agent tries again every 10 s, and until then tasks of this "
		"group may run on exclusive CPUs",
		"%s", report->failure);
}

static void tell_foreign(struct controller *controller)
{
	const struct host_report *report = &controller->host.report;
	char cpus[64], others[32] = "";

	cpuset_format(&controller->host.exclusive, cpus, sizeof(cpus));
	if (report->nr_foreign > 1)
		snprintf(others, sizeof(others), " (and %u more)", report->nr_foreign - 1);
	findings_put_if(
		&controller->findings, FINDING_HOST_GROUPS_FOREIGN, report->nr_foreign,
		"restrict its cpuset.cpus (AllowedCPUs= of a unit) to other CPUs, or empty it",
		"tasks of the cgroup %.95s%s may run on the exclusive CPUs %.60s: %s, so pinfold "
		"leaves it alone",
		report->foreign, others, cpus, report->why_foreign);
}

static void tell_root_tasks(struct controller *controller)
{
	const struct host_report *report = &controller->host.report;
	char cpus[64];

	/* Unknown is not none. */
	if (report->count_error)
		return;
	cpuset_format(&controller->host.exclusive, cpus, sizeof(cpus));
	findings_put_if(
		&controller->findings, FINDING_HOST_TASKS_UNCONFINED,
		report->nr_processes || report->nr_kthreads,
		"set 'enforcement: {strangers: enforce}', which moves them, or give each process "
		"a cgroup of its own",
		"%u process%s and %u kernel thread%s of the root cgroup, which cannot have a cpuset, "
		"may run on the exclusive CPUs %.60s",
		report->nr_processes, report->nr_processes == 1 ? "" : "es", report->nr_kthreads,
		report->nr_kthreads == 1 ? "" : "s", cpus);
}

void ctl_end_host_pass(struct controller *controller, int result, const struct host_report *report)
{
	struct host_groups *host = &controller->host;
	const uint32_t nr_held = host->report.nr_held;

	host->since_ns = 0;
	host->result = result;
	host->report = report && !result
			       ? *report
			       : (struct host_report){.nr_held = nr_held, .count_error = result};
	if (host->mode == HOST_CONFINE && host->report.nr_held != nr_held)
		log_info("ctl: %u cgroup%s of the host share%s the CPUs that no pod holds",
			 host->report.nr_held, host->report.nr_held == 1 ? "" : "s",
			 host->report.nr_held == 1 ? "s" : "");
	tell_unread(controller, result);
	tell_unsaved(controller);
	tell_failed(controller);
	tell_foreign(controller);
	tell_root_tasks(controller);
}
