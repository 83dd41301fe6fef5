// SPDX-License-Identifier: Apache-2.0
/* What the last scan of the node found, and what that means for events, findings and readiness. */
#include "ctl/discovered.h"

#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "kubelet/compare.h"
#include "lib/log.h"
#include "lib/text.h"

/* A scan is made every 10 s. After this long one is blocked in the kernel, or its thread is. */
#define OUTDATED_NS (30ULL * 1000000000ULL)
/* Of one scan. More are a restart of the kubelet or of its runtime, not news of a pod. */
#define MAX_EVENTS 64

void discovered_fini(struct discovered *discovered)
{
	discovery_fini(&discovered->last);
	discovery_fini(&discovered->complete);
}

/* --- events ----------------------------------------------------------------------------------- */

static void record_event(struct controller *controller, enum agent_event kind,
			 const struct discovered_cgroup *row, uint32_t *nr_events)
{
	struct event_row event = {.record = EVENT_RECORD(kind)};

	if ((*nr_events)++ >= MAX_EVENTS)
		return;
	event.record.discovery.kind = row->name.kind;
	snprintf(event.record.discovery.path, sizeof(event.record.discovery.path), "%s", row->path);
	if (row->pod)
		snprintf(event.pod, sizeof(event.pod), "%s/%s", row->namespace, row->pod);
	if (row->container)
		text_copy(event.container, sizeof(event.container), row->container);
	event_log_add(&controller->events, &event);
}

static int compare_rows(const struct discovered_cgroup *a, const struct discovered_cgroup *b)
{
	return strcmp(a->path, b->path);
}

/*
 * Both lists ascend by path. A cgroup of the same path with another id is another one, which
 * was made between the two scans.
 */
static void tell_changes(struct controller *controller, const struct discovery *before,
			 const struct discovery *now)
{
	uint32_t i = 0, j = 0, nr_events = 0;

	while (i < before->nr || j < now->nr) {
		int order;

		if (i == before->nr)
			order = 1;
		else if (j == now->nr)
			order = -1;
		else
			order = compare_rows(&before->rows[i], &now->rows[j]);
		if (!order && before->rows[i].cgroup_id == now->rows[j].cgroup_id) {
			i++;
			j++;
			continue;
		}
		if (order <= 0)
			record_event(controller, EVENT_VANISH, &before->rows[i++], &nr_events);
		if (order >= 0)
			record_event(controller, EVENT_DISCOVER, &now->rows[j++], &nr_events);
	}
	if (nr_events > MAX_EVENTS)
		log_warn(0, "ctl: %u more pods and containers appeared or disappeared at once",
			 nr_events - MAX_EVENTS);
}

/* --- findings --------------------------------------------------------------------------------- */

static void tell_findings(struct controller *controller)
{
	struct discovery_verdict verdict;
	int r = discovery_compare(&controller->discovered.last, &verdict);

	if (r) {
		log_err(r,
			"ctl: cannot compare the scan with the kubelet's plan, so the findings of the previous scan remain");
		return;
	}
	for (uint32_t i = 0; i < FOUND_NR; i++) {
		const struct finding_row *row = &verdict.rows[i];

		/* How many there are may change with each scan; the journal gets the first. */
		findings_update_if(&controller->findings, row->kind, verdict.is_found[i],
				   row->remedy, "%s", row->message);
	}
}

/*
 * Mode guard has nobody's plan but the kubelet's. A file that cannot be used is another finding,
 * and leaves it open whether there is a plan.
 */
static void tell_plan(struct controller *controller)
{
	static const char remedy[] =
		"set cpuManagerPolicy: static in the kubelet's configuration and "
		"sources.kubeletDirectory to its root directory, or use another mode";
	const enum finding kind = FINDING_GUARD_WITHOUT_PLAN;
	const struct discovery *last = &controller->discovered.last;

	if (controller->options.config->mode != MODE_GUARD || discovery_is_static(last) ||
	    last->cpu_file.presence == KUBELET_STATE_UNUSABLE)
		findings_clear(&controller->findings, kind);
	else if (last->cpu_file.presence == KUBELET_STATE_ABSENT)
		findings_put(&controller->findings, kind, remedy,
			     "%.200s does not exist, so there is nothing to compare with",
			     last->cpu_file.path);
	else
		findings_put(&controller->findings, kind, remedy,
			     "the kubelet's policy in %.180s is %.16s: it gives no container "
			     "exclusive CPUs, so there is nothing to compare with",
			     last->cpu_file.path, last->state.policy);
}

void ctl_take_discovery(struct controller *controller, struct discovery *found)
{
	struct discovered *discovered = &controller->discovered;

	if (discovered->found_ns && !discovered->last.is_incomplete) {
		discovery_fini(&discovered->complete);
		discovered->complete = discovered->last;
		discovered->last = (struct discovery){0};
		discovered->has_complete = true;
	}
	/* At the start everything is new, which is not an event; and what was not read did not vanish. */
	if (discovered->has_complete && !found->is_incomplete)
		tell_changes(controller, &discovered->complete, found);
	discovery_fini(&discovered->last);
	discovered->last = *found;
	*found = (struct discovery){0};
	discovered->found_ns = clock_now_ns(controller->ports.clock);
	tell_findings(controller);
	tell_plan(controller);
}

bool ctl_lacks_discovery(const struct controller *controller, char *reason, size_t size)
{
	const struct discovered *discovered = &controller->discovered;
	uint64_t age_ns = clock_now_ns(controller->ports.clock) - discovered->found_ns;

	if (!controller->options.discovers)
		return false;
	if (!discovered->found_ns)
		snprintf(reason, size, "the cgroups of pods have not been read yet");
	else if (age_ns >= OUTDATED_NS)
		snprintf(reason, size, "the cgroups of pods were last read %llu s ago",
			 (unsigned long long)(age_ns / 1000000000));
	else if (discovered->last.is_incomplete)
		snprintf(reason, size, "not all cgroups of pods could be read: %s",
			 discovered->last.problem);
	else if (controller->options.config->mode == MODE_GUARD &&
		 discovered->last.cpu_file.presence == KUBELET_STATE_UNUSABLE &&
		 !discovery_has_state(&discovered->last))
		snprintf(reason, size, "the kubelet's state file cannot be used: %s",
			 discovered->last.cpu_file.problem);
	else
		return false;
	return true;
}
