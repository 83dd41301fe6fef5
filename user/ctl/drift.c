// SPDX-License-Identifier: Apache-2.0
/*
 * Distinguishes drift from the agent's own changes, and reports it. culprits.c finds out who
 * caused it; the step that repairs it is an ordinary step.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/drift.h"
#include "ctl/internal.h"

void drift_request_repair(struct drift *drift)
{
	drift->repairs_once = true;
}

void drift_begin_round(struct drift *drift)
{
	drift->is_repairing = drift->repairs_once;
}

void drift_end_round(struct drift *drift)
{
	drift->is_repairing = drift->repairs_once = false;
}

/* --- figures -------------------------------------------------------------------------------------- */

/* For how long the cause of a drift may become known after it was detected. */
#define NAME_NS 5000000000ULL

static void count(struct drift *drift, struct drift_row *row)
{
	drift->nr_detected[row->attribute][row->cause] += row->nr_uncounted;
	row->nr_uncounted = 0;
}

void drift_count_named(struct drift *drift)
{
	const uint64_t now_ns = clock_now_ns(drift->list.clock);

	for (uint32_t i = 0; i < drift->list.nr_rows; i++) {
		struct drift_row *row = &drift->list.rows[i];

		if (row->pid || now_ns - row->detected_ns >= NAME_NS)
			count(drift, row);
	}
}

void drift_count_rewritten(struct drift *drift, enum group_file file)
{
	drift->nr_detected[file][CAUSE_UNKNOWN]++;
	drift->nr_repaired[file]++;
}

static void detect(struct drift *drift, struct drift_row *row)
{
	row->nr_uncounted++;
	row->detected_ns = clock_now_ns(drift->list.clock);
}

/* A full list drops a row, whose cause will not become known. */
static struct drift_row *open_row(struct drift *drift, const char *path, enum group_file file)
{
	struct drift_row *victim = drift_list_victim(&drift->list, path, file);

	if (victim)
		count(drift, victim);
	return drift_list_open(&drift->list, path, file);
}

static void close_row(struct drift *drift, struct drift_row *row, uint32_t action)
{
	const uint64_t ns = clock_now_ns(drift->list.clock) - row->opened_ns;
	uint32_t bucket = 0;

	drift_list_close(&drift->list, row, action);
	if (action != ACTION_REPAIR)
		return;
	while (bucket + 1 < DRIFT_BUCKETS && ns > DRIFT_FIRST_BUCKET_NS << 2 * bucket)
		bucket++;
	drift->nr_exposed[bucket]++;
	drift->exposed_ns += ns;
}

/* --- what is drift -------------------------------------------------------------------------------- */

static enum aspect aspect_of(enum group_file file)
{
	return file == GROUP_FREEZE || file == GROUP_MEMBERS ? ASPECT_CGROUP_MOVES
							     : ASPECT_CPUSET_FILES;
}

bool ctl_may_repair(const struct controller *controller, enum group_file file)
{
	return controller->options.config->enforcement.guard[aspect_of(file)] ==
		       ENFORCEMENT_ENFORCE ||
	       controller->drift.is_repairing;
}

/*
 * Did the file have this value when it was last read? A chain that waited or failed may never
 * have written it, and must do so, even where drift is not repaired. There, a difference that
 * lasts is known by its open row. Once the list had to drop such a row, the desired value alone
 * counts, because what is not drift would be written.
 */
static bool had_value(struct controller *controller, const struct round *round,
		      const struct step *step, const char *value)
{
	const struct group *group = group_tree_find(round->known, step->path);
	const struct drift_row *row =
		drift_list_find_open(&controller->drift.list, step->path, step->file);

	if (row && !strcmp(row->wanted, value))
		return true;
	if (group && group->files[step->file] && !strcmp(group->files[step->file], value))
		return true;
	return controller->drift.list.has_dropped_open && !ctl_may_repair(controller, step->file) &&
	       !chains_find(&controller->chains, step->uid);
}

/*
 * A file has drifted if its desired value is the one that the agent wrote before: the ledger
 * has not changed, so another process has. Only a write has an old value. The agent freezes
 * nothing, so a frozen cgroup has drifted, whatever the agent wrote before.
 */
bool ctl_is_drift(struct controller *controller, const struct round *round, const struct step *step)
{
	const struct group *before;
	const char *value;

	if (!step->old)
		return false;
	if (step->file == GROUP_FREEZE)
		return true;
	before = group_tree_find(&controller->desired, step->path);
	value = round_final_value(round, step);
	if (step_is_on_the_way(step, value))
		return false;
	return before && value && before->files[step->file] &&
	       !strcmp(before->files[step->file], value) &&
	       had_value(controller, round, step, value);
}

/* An event of this kind about the file that `step` writes. */
static struct event_row event_about(struct controller *controller, uint32_t kind,
				    const struct step *step)
{
	struct event_row event = {.record = EVENT_RECORD(kind)};

	event.record.attribute = step->file;
	text_copy(event.target, sizeof(event.target), step->path);
	lookup_name_event(controller->ledger, &controller->desired, step->path, &event);
	return event;
}

static struct drift_row *note_drift(struct controller *controller, const struct step *step,
				    const char *wanted)
{
	struct drift_row *row = open_row(&controller->drift, step->path, step->file);
	struct event_row event;
	struct event_record *record = &event.record;

	/* Only a row that an event of the kernel has opened is still without its values. */
	if (*row->wanted)
		return row;
	snprintf(row->wanted, sizeof(row->wanted), "%s", wanted);
	snprintf(row->found, sizeof(row->found), "%s", step->old);
	if (step->file == GROUP_CPUSET_PARTITION && !row->pid)
		row->cause = CAUSE_KERNEL;
	detect(&controller->drift, row);
	event = event_about(controller, EVENT_DIFFERENCE, step);
	record->aspect = aspect_of(step->file);
	record->pid = row->pid;
	memcpy(record->comm, row->comm, sizeof(record->comm));
	memcpy(event.cgroup, row->cgroup, sizeof(event.cgroup));
	text_copy(record->difference.wanted, sizeof(record->difference.wanted), row->wanted);
	text_copy(record->difference.found, sizeof(record->difference.found), row->found);
	event_log_add(&controller->events, &event);
	return row;
}

struct drift_row *ctl_find_drift(struct controller *controller, const struct round *round,
				 const struct step *step)
{
	if (!ctl_is_drift(controller, round, step))
		return NULL;
	return note_drift(controller, step, round_final_value(round, step));
}

void ctl_note_repair(struct controller *controller, const struct step *step, struct drift_row *row)
{
	struct event_row event = event_about(controller, EVENT_REPAIR, step);

	close_row(&controller->drift, row, ACTION_REPAIR);
	controller->drift.nr_repaired[step->file]++;
	event.record.action = ACTION_REPAIR;
	text_copy(event.record.value, sizeof(event.record.value), step->value);
	event_log_add(&controller->events, &event);
}

void drift_close_gone(struct drift *drift, const struct plan *plan, uint64_t began_ns,
		      const struct operations *operations)
{
	struct drift_list *list = &drift->list;

	for (uint32_t i = 0; i < list->nr_rows; i++) {
		struct drift_row *row = &list->rows[i];
		/* The look may have passed the file before; and no step undoes the last two. */
		bool there = row->repaired_ns || row->opened_ns > began_ns ||
			     operations_repairs(operations, row->path, row->attribute) ||
			     row->is_kubelets || row->attribute == GROUP_MEMBERS;

		for (uint32_t j = 0; j < plan->nr_steps && !there; j++)
			there = plan->steps[j].kind == STEP_WRITE &&
				plan->steps[j].file == row->attribute &&
				!strcmp(plan->steps[j].path, row->path);
		if (!there)
			drift_list_close(list, row, ACTION_NONE);
	}
}

/* May the event that was heard then be about the change that this row is about? */
static bool may_explain(const struct drift_row *row, uint64_t heard_ns)
{
	return !row->pid && heard_ns < row->detected_ns + NAME_NS;
}

void drift_name_culprit(struct drift *drift, const struct event_row *event, uint64_t heard_ns)
{
	struct drift_list *list = &drift->list;
	const struct event_record *record = &event->record;
	struct drift_row *row = NULL;

	if (record->attribute == GROUP_ATTRIBUTE_NR)
		return;
	for (uint32_t i = list->nr_rows; i-- > 0 && !row;) {
		struct drift_row *candidate = &list->rows[i];

		if (candidate->attribute == record->attribute &&
		    !strcmp(candidate->path, event->target))
			row = candidate;
	}
	/* The culprit of another write: a new row, unless the file still differs. */
	if (!row || !may_explain(row, heard_ns))
		row = open_row(drift, event->target, record->attribute);
	if (!may_explain(row, heard_ns))
		count(drift, row);
	row->pid = record->pid;
	memcpy(row->comm, record->comm, sizeof(row->comm));
	memcpy(row->cgroup, event->cgroup, sizeof(row->cgroup));
	row->cause = drift_cause_of(record->pid, event->cgroup);
}

/* --- a kubelet's --------------------------------------------------------------------------------- */

struct drift_row *drift_open_kubelets(struct drift *drift, const char *path, enum group_file file)
{
	struct drift_row *row = open_row(drift, path, file);

	/* Otherwise it is new, or an event of the kernel has opened it. */
	if (row->is_kubelets)
		return NULL;
	row->is_kubelets = true;
	detect(drift, row);
	return row;
}

void drift_close_kubelets(struct drift *drift, const char *path, enum group_file file,
			  uint32_t action)
{
	struct drift_row *row = drift_list_find_open(&drift->list, path, file);

	if (row)
		close_row(drift, row, action);
	if (action == ACTION_REPAIR)
		drift->nr_repaired[file]++;
}

void drift_fail_kubelets(struct drift *drift, enum group_file file)
{
	drift->nr_failed[file]++;
}

/* --- members ------------------------------------------------------------------------------------- */

struct drift_row *drift_open_members(struct drift *drift, const char *path)
{
	struct drift_row *row = open_row(drift, path, GROUP_MEMBERS);

	/* The caller names another mover; the one before it counts with its own cause. */
	if (row->pid)
		count(drift, row);
	detect(drift, row);
	return row;
}

void drift_close_members(struct drift *drift, const char *path, uint32_t action)
{
	struct drift_row *row = drift_list_find_open(&drift->list, path, GROUP_MEMBERS);

	if (row)
		close_row(drift, row, action);
}

void drift_count_members(struct drift *drift, bool is_repaired)
{
	if (is_repaired)
		drift->nr_repaired[GROUP_MEMBERS]++;
	else
		drift->nr_failed[GROUP_MEMBERS]++;
}
