// SPDX-License-Identifier: Apache-2.0
/*
 * Names the culprit of an event. Each event is reported once and in order; drift is compared
 * without waiting for a name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/culprits.h"
#include "ctl/internal.h"
#include "format/group_path.h"

#define NAME_UNKNOWN "name not known"

void culprits_fini(struct culprits *culprits)
{
	free(culprits->rows);
}

/* -EINPROGRESS: the name is still being looked up; otherwise 0. */
static int name_cgroup(struct controller *controller, uint64_t id, char *ret_path, size_t size,
		       bool *ret_is_known)
{
	const struct groups_port *groups = controller->ports.groups;
	int r = groups->path_of(groups->self, id, ret_path, size);

	if (r == -EINPROGRESS)
		return r;
	if (r)
		snprintf(ret_path, size, "(%s, id %llu)", r == -ENOENT ? "gone" : NAME_UNKNOWN,
			 (unsigned long long)id);
	else if (!*ret_path)
		snprintf(ret_path, size, "/");
	*ret_is_known = !r;
	return 0;
}

/*
 * Is it a life-cycle event of a cgroup below the workload root? What a workload creates or
 * joins below its own container is not reported.
 */
static bool is_life_cycle(const struct event_record *event)
{
	switch (event->kind) {
	case EVENT_MKDIR:
	case EVENT_ATTACH:
	case EVENT_RELEASE:
	case EVENT_RMDIR:
	case EVENT_POPULATED:
		return true;
	default:
		return false;
	}
}

/* A pod has ended when its cgroups were removed or have no processes. */
static bool may_end_a_pod(const struct event_record *event)
{
	return event->kind == EVENT_RMDIR ||
	       (event->kind == EVENT_POPULATED && !event->life.is_populated);
}

static uint64_t id_of_name(const struct unnamed *unnamed, enum event_name name)
{
	const uint64_t ids[] = {
		[NAME_CULPRIT] = unnamed->event.culprit_id,
		[NAME_CLIENT] = unnamed->event.client.cgroup_id,
		[NAME_TARGET] = unnamed->event.target_id,
	};

	return ids[name];
}

static int find_names(struct controller *controller, struct unnamed *unnamed)
{
	for (; unnamed->nr_named < NAME_NR; unnamed->nr_named++) {
		const uint64_t id = id_of_name(unnamed, unnamed->nr_named);

		if (id && name_cgroup(controller, id, unnamed->names[unnamed->nr_named],
				      ROW_PATH_MAX, &unnamed->is_known[unnamed->nr_named]))
			return -EINPROGRESS;
	}
	return 0;
}

/* Give up names that can no longer be waited for. */
static void give_up_names(struct unnamed *unnamed)
{
	for (; unnamed->nr_named < NAME_NR; unnamed->nr_named++) {
		uint64_t id = id_of_name(unnamed, unnamed->nr_named);

		if (id)
			snprintf(unnamed->names[unnamed->nr_named], ROW_PATH_MAX, "(%s, id %llu)",
				 NAME_UNKNOWN, (unsigned long long)id);
	}
}

/* May process 1 have done it for a kubelet or for itself? A client is only known if there is just one. */
static bool is_for_a_kubelet(const struct unnamed *unnamed)
{
	return !unnamed->event.client.cgroup_id ||
	       kubelet_drift_is_kubelets(
		       drift_cause_of(unnamed->event.client.pid, unnamed->names[NAME_CLIENT]));
}

/* A cgroup whose name is not known may be one of ours. */
static bool is_outside(const struct controller *controller, const struct unnamed *unnamed)
{
	return unnamed->is_known[NAME_TARGET] &&
	       !group_path_is_in(unnamed->names[NAME_TARGET], controller->layout.root);
}

/*
 * When a unit gets its first list of CPUs, as kubepods.slice at each start of a kubelet, systemd writes
 * the lists that it does not have to the units around it, and which controllers it needs to those above.
 * Outside the workload root that is nobody's attack: an empty list restricts nobody, and the kernel keeps
 * a controller that a child uses. With hostTasks: shared, lists are emptied that are ours.
 */
static bool is_systemds_reset(struct controller *controller, const struct unnamed *unnamed)
{
	const struct event_record *record = &unnamed->event;

	if (record->kind != EVENT_DRIFT || record->pid != 1 || !is_outside(controller, unnamed) ||
	    !is_for_a_kubelet(unnamed))
		return false;
	if (record->write.is_controllers)
		return true;
	return (record->attribute == GROUP_CPUSET_CPUS || record->attribute == GROUP_CPUSET_MEMS) &&
	       !*record->write.text &&
	       config_host_tasks(controller->options.config) != HOST_TASKS_SHARED;
}

static void tell_event(struct controller *controller, const struct unnamed *unnamed)
{
	struct event_row row = {.record = unnamed->event, .time_ns = unnamed->wall_ns};

	memcpy(row.cgroup, unnamed->names[NAME_CULPRIT], sizeof(row.cgroup));
	memcpy(row.client, unnamed->names[NAME_CLIENT], sizeof(row.client));
	memcpy(row.target, unnamed->names[NAME_TARGET], sizeof(row.target));
	if (ctl_hear_kubelet_drift(controller, &row) || is_systemds_reset(controller, unnamed))
		return;
	lookup_name_event(controller->ledger, &controller->desired, row.target, &row);
	if (row.record.kind == EVENT_DRIFT) {
		drift_name_culprit(&controller->drift, &row, unnamed->since_ns);
		dirty_mark_path(&controller->dirty, row.target);
		wakes_request_resync(&controller->wakes);
	}
	event_log_add(&controller->events, &row);
	ctl_hear_move(controller, &row, unnamed->is_known[NAME_TARGET]);
}

static void drop_first(struct culprits *culprits)
{
	culprits->nr--;
	memmove(culprits->rows, culprits->rows + 1, culprits->nr * sizeof(*culprits->rows));
}

/* Append behind earlier events. If the queue is full, the oldest is reported without its names. */
static void append_unnamed(struct controller *controller, struct unnamed *unnamed)
{
	if (!controller->culprits.rows)
		controller->culprits.rows = calloc(MAX_UNNAMED, sizeof(*controller->culprits.rows));
	if (!controller->culprits.rows) {
		give_up_names(unnamed);
		tell_event(controller, unnamed);
		return;
	}
	if (controller->culprits.nr == MAX_UNNAMED) {
		give_up_names(controller->culprits.rows);
		tell_event(controller, controller->culprits.rows);
		drop_first(&controller->culprits);
	}
	controller->culprits.rows[controller->culprits.nr++] = *unnamed;
}

void ctl_hear_event(struct controller *controller, const struct event_record *event)
{
	struct unnamed unnamed = {
		.event = *event,
		.since_ns = clock_now_ns(controller->ports.clock),
		.wall_ns = clock_wall_ns(controller->ports.clock),
	};

	if (is_life_cycle(event)) {
		if (may_end_a_pod(event))
			wakes_request_resync(&controller->wakes);
		return;
	}
	/* Drift is detected without the culprit's name. */
	if (event->kind == EVENT_DRIFT || event->kind == EVENT_UNJUDGED)
		wakes_request_resync(&controller->wakes);
	if (controller->culprits.nr || find_names(controller, &unnamed))
		append_unnamed(controller, &unnamed);
	else
		tell_event(controller, &unnamed);
}

void ctl_name_culprits(struct controller *controller)
{
	while (controller->culprits.nr && !find_names(controller, controller->culprits.rows)) {
		tell_event(controller, controller->culprits.rows);
		drop_first(&controller->culprits);
	}
}

void ctl_give_up_culprits(struct controller *controller)
{
	for (uint32_t i = 0; i < controller->culprits.nr; i++) {
		give_up_names(&controller->culprits.rows[i]);
		tell_event(controller, &controller->culprits.rows[i]);
	}
}
