// SPDX-License-Identifier: Apache-2.0
/*
 * A container is known by the id of its cgroup, so one that was made anew begins anew. The state
 * lives in memory only: after a restart of the agent nothing has matched yet, and what differs waits
 * for the grace.
 */
#include "ctl/kubelet_drift.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/backoff.h"
#include "ctl/internal.h"
#include "format/group_path.h"
#include "lib/hash.h"
#include "lib/log.h"
#include "lib/text.h"

#define SECOND_NS 1000000000ULL
/* A writer is told before or after the scan that sees the change. */
#define WRITER_FRESH_NS (10 * SECOND_NS)
/* In one pass; the others follow with the next scan. */
#define WRITES_MAX 64

static const enum group_file group_files[KUBELET_FILE_NR] = {
	[KUBELET_CPUS] = GROUP_CPUSET_CPUS,
	[KUBELET_MEMS] = GROUP_CPUSET_MEMS,
};

/* What one judgement has found so far. */
struct kubelet_round {
	uint64_t now_ns, due_ns;     /* due_ns: UINT64_MAX = nothing will be */
	struct cpuset_write *writes; /* owned, [WRITES_MAX]; NULL = none yet */
	uint32_t nr_writes;
	bool has_new_plan;
	uint32_t nr_fights, nr_given_up;
	char fight[ROW_DETAIL_MAX], given_up[ROW_DETAIL_MAX]; /* the first of each */
};

/* A file, with what is known of it. */
struct kubelet_subject {
	const struct discovered_cgroup *row;
	struct kubelet_file_state *state;
	enum group_file file;
	const struct cpuset *planned;
	const char *text; /* what the file has */
};

void kubelet_drift_fini(struct kubelet_drift *drift)
{
	free(drift->containers);
}

static int by_id(const void *left, const void *right)
{
	const struct kubelet_container *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static struct kubelet_container *find_container(const struct kubelet_drift *drift, uint64_t id)
{
	const struct kubelet_container key = {.cgroup_id = id};

	return drift->nr ? bsearch(&key, drift->containers, drift->nr, sizeof(key), by_id) : NULL;
}

static const struct discovered_cgroup *find_row(const struct controller *controller, uint64_t id)
{
	const struct discovery *last = &controller->discovered.last;

	for (uint32_t i = 0; i < last->nr; i++)
		if (last->rows[i].cgroup_id == id)
			return &last->rows[i];
	return NULL;
}

bool kubelet_drift_is_kubelets(enum drift_cause cause)
{
	return cause == CAUSE_KUBELET || cause == CAUSE_RUNTIME || cause == CAUSE_SYSTEMD;
}

/* --- words ------------------------------------------------------------------------------------ */

static void name_container(const struct discovered_cgroup *row, char *text, size_t size)
{
	snprintf(text, size, "container %.40s of pod %.40s/%.40s", row->container, row->namespace,
		 row->pod);
}

static void name_writer(const struct kubelet_writer *writer, char *text, size_t size)
{
	if (writer->ns)
		snprintf(text, size, "%.16s (pid %u) of %.100s", writer->comm, writer->pid,
			 writer->cgroup);
	else
		snprintf(text, size, "an unknown process");
}

static void fill_names(const struct discovered_cgroup *row, struct event_row *event)
{
	if (row->pod)
		snprintf(event->pod, sizeof(event->pod), "%s/%s", row->namespace, row->pod);
	if (row->container)
		text_copy(event->container, sizeof(event->container), row->container);
}

static struct event_row event_about(uint32_t kind, const struct discovered_cgroup *row,
				    enum group_file file)
{
	struct event_row event = {.record = EVENT_RECORD(kind)};

	event.record.attribute = file;
	event.record.target_id = row->cgroup_id;
	text_copy(event.target, sizeof(event.target), row->path);
	fill_names(row, &event);
	return event;
}

/* --- drift ------------------------------------------------------------------------------------ */

static void note_difference(struct controller *controller, const struct kubelet_subject *subject)
{
	const struct kubelet_writer *writer = &subject->state->writer;
	struct drift_row *row =
		drift_open_kubelets(&controller->drift, subject->row->path, subject->file);
	struct event_row event;
	struct event_record *record = &event.record;

	if (!row)
		return;
	event = event_about(EVENT_DIFFERENCE, subject->row, subject->file);
	record->aspect = ASPECT_CPUSET_FILES;
	if (cpuset_format(subject->planned, row->wanted, sizeof(row->wanted)) >=
	    sizeof(row->wanted))
		memcpy(row->wanted + sizeof(row->wanted) - 4, "...", 4);
	text_copy(row->found, sizeof(row->found), subject->text);
	if (writer->ns) {
		row->cause = writer->cause;
		row->pid = writer->pid;
		memcpy(row->comm, writer->comm, sizeof(row->comm));
		text_copy(row->cgroup, sizeof(row->cgroup), writer->cgroup);
	}
	record->pid = row->pid;
	memcpy(record->comm, row->comm, sizeof(record->comm));
	memcpy(event.cgroup, row->cgroup, sizeof(event.cgroup));
	text_copy(record->difference.wanted, sizeof(record->difference.wanted), row->wanted);
	text_copy(record->difference.found, sizeof(record->difference.found), row->found);
	event_log_add(&controller->events, &event);
}

static bool is_newer_write(const struct kubelet_file_state *state)
{
	return state->writer.ns && state->writer.ns > state->repaired_ns;
}

/*
 * May the kubelet or the runtime still be at work on the value? If nobody saw the write, they may while it
 * never was what the plan says.
 */
static bool may_be_at_work(const struct kubelet_file_state *state)
{
	return state->writer.ns ? kubelet_drift_is_kubelets(state->writer.cause)
				: !state->has_matched;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* When it may be put back; UINT64_MAX = never. */
static uint64_t find_due(const struct kubelet_file_state *state)
{
	uint64_t due_ns = 0;

	/* Nothing says that the kubelet ever meant this value for it. */
	if (!state->has_matched && !state->is_own)
		return UINT64_MAX;
	if (may_be_at_work(state))
		due_ns = later(later(state->planned_ns, state->differed_ns), state->writer.ns) +
			 KUBELET_GRACE_NS;
	if (state->nr_repairs)
		due_ns = later(due_ns, state->repaired_ns + backoff_ns(state->nr_repairs));
	return due_ns;
}

static void tell_fight(struct kubelet_round *round, const struct kubelet_subject *subject)
{
	char name[160], writer[160];

	if (round->nr_fights++)
		return;
	name_container(subject->row, name, sizeof(name));
	name_writer(&subject->state->opponent, writer, sizeof(writer));
	snprintf(
		round->fight, sizeof(round->fight),
		"the agent put %s of %.100s back %u times, and each time it was changed again, last "
		"by %.90s; it repairs it at longer intervals",
		group_file_name(subject->file), name, subject->state->nr_repairs, writer);
}

static void tell_given_up(struct kubelet_round *round, const struct kubelet_subject *subject)
{
	char name[160], writer[160];

	if (round->nr_given_up++)
		return;
	name_container(subject->row, name, sizeof(name));
	name_writer(&subject->state->writer, writer, sizeof(writer));
	snprintf(round->given_up, sizeof(round->given_up),
		 "the agent put %s of %.100s back, and %.90s changed it again, so the agent leaves "
		 "it until the kubelet's state file changes",
		 group_file_name(subject->file), name, writer);
}

static void add_write(struct kubelet_round *round, const struct kubelet_subject *subject)
{
	struct cpuset_write *write;

	if (!round->writes)
		round->writes = calloc(WRITES_MAX, sizeof(*round->writes));
	if (!round->writes || round->nr_writes == WRITES_MAX) {
		round->due_ns = round->now_ns;
		return;
	}
	write = &round->writes[round->nr_writes++];
	text_copy(write->path, sizeof(write->path), subject->row->path);
	write->cgroup_id = subject->row->cgroup_id;
	write->file = subject->file;
	write->value = *subject->planned;
}

/* It was written for the runtime once, and the runtime came back with another value. */
static bool is_runtimes_answer(const struct kubelet_file_state *state)
{
	return state->nr_repairs && is_newer_write(state) &&
	       kubelet_drift_is_kubelets(state->writer.cause) && state->opponent.ns &&
	       kubelet_drift_is_kubelets(state->opponent.cause);
}

static void put_back_when_due(struct controller *controller, struct kubelet_round *round,
			      const struct kubelet_subject *subject)
{
	const struct kubelet_file_state *state = subject->state;
	const uint64_t due_ns = find_due(state);

	if (due_ns == UINT64_MAX)
		return;
	/* Within the grace period the kubelet may be at work, so this is not drift yet. */
	if (due_ns <= round->now_ns || state->nr_repairs)
		note_difference(controller, subject);
	if (due_ns > round->now_ns)
		round->due_ns = earlier(round->due_ns, due_ns);
	/* The end of a pass that goes on is followed by a scan. */
	else if (!controller->kubelet_drift.writing_since_ns)
		add_write(round, subject);
}

static void judge_difference(struct controller *controller, struct kubelet_round *round,
			     const struct kubelet_subject *subject)
{
	struct kubelet_file_state *state = subject->state;

	if (!state->differed_ns)
		state->differed_ns = round->now_ns;
	if (state->nr_repairs >= BACKOFF_FIGHT && !state->is_given_up)
		tell_fight(round, subject);
	/* The first scan may have read an old plan and a new value. */
	if (!state->nr_differed++) {
		round->due_ns = round->now_ns;
		return;
	}
	state->is_given_up = state->is_given_up || is_runtimes_answer(state);
	if (state->is_given_up)
		tell_given_up(round, subject);
	else
		put_back_when_due(controller, round, subject);
}

static void judge_match(struct controller *controller, struct kubelet_round *round,
			const struct kubelet_subject *subject)
{
	struct kubelet_file_state *state = subject->state;

	state->has_matched = true;
	state->is_given_up = false;
	state->is_failed = false;
	state->differed_ns = 0;
	state->nr_differed = 0;
	if (round->now_ns - state->writer.ns >= WRITER_FRESH_NS)
		state->writer.ns = 0;
	drift_close_kubelets(&controller->drift, subject->row->path, subject->file, ACTION_NONE);
	if (state->nr_repairs && round->now_ns - state->repaired_ns >= BACKOFF_QUIET_NS) {
		state->nr_repairs = 0;
		state->opponent.ns = 0;
	}
	if (state->nr_repairs >= BACKOFF_FIGHT)
		tell_fight(round, subject);
}

/* --- plans ------------------------------------------------------------------------------------ */

static uint64_t hash_plan(const struct cpuset *planned)
{
	uint64_t hash = HASH_START;

	cpuset_for_each (cpu, planned)
		hash = hash_add(hash, &cpu, sizeof(cpu));
	return hash ? hash : 1;
}

static void judge_file(struct controller *controller, struct kubelet_round *round,
		       const struct kubelet_subject *subject, bool is_own)
{
	struct kubelet_file_state *state = subject->state;
	const uint64_t plan = hash_plan(subject->planned);
	struct cpuset has;

	/* What was fought about under another plan is over. */
	if (state->plan != plan) {
		*state = (struct kubelet_file_state){.plan = plan, .planned_ns = round->now_ns};
		round->has_new_plan = true;
	}
	state->is_own = is_own;
	has = cpuset_of_text(subject->text);
	if (cpuset_equal(&has, subject->planned))
		judge_match(controller, round, subject);
	else
		judge_difference(controller, round, subject);
}

/* Whoever decides about it now, it is not known to be the kubelet. */
static void forget_plan(struct controller *controller, const struct discovered_cgroup *row,
			struct kubelet_file_state *state, enum group_file file)
{
	*state = (struct kubelet_file_state){0};
	drift_close_kubelets(&controller->drift, row->path, file, ACTION_NONE);
}

static void judge_container(struct controller *controller, struct kubelet_round *round,
			    const struct discovered_cgroup *row,
			    struct kubelet_container *container)
{
	const struct discovery *last = &controller->discovered.last;
	const char *const texts[] = {[KUBELET_CPUS] = row->cpus, [KUBELET_MEMS] = row->mems};
	struct cpuset planned[KUBELET_FILE_NR];
	bool is_own = true, has_plan[KUBELET_FILE_NR];

	has_plan[KUBELET_CPUS] = discovery_planned_cpus(last, row, &planned[KUBELET_CPUS], &is_own);
	has_plan[KUBELET_MEMS] = discovery_planned_nodes(last, row, &planned[KUBELET_MEMS]);
	for (enum kubelet_file file = 0; file < KUBELET_FILE_NR; file++) {
		const struct kubelet_subject subject = {row, &container->files[file],
							group_files[file], &planned[file],
							texts[file]};

		if (has_plan[file] && texts[file])
			judge_file(controller, round, &subject,
				   file == KUBELET_CPUS ? is_own : true);
		else
			forget_plan(controller, row, &container->files[file], group_files[file]);
	}
}

/* --- one scan --------------------------------------------------------------------------------- */

/* The rows of containers that are gone would be open for ever. */
static void close_gone(struct controller *controller)
{
	struct drift_list *list = &controller->drift.list;

	for (uint32_t i = 0; i < list->nr_rows; i++) {
		const struct drift_row *row = &list->rows[i];
		bool is_there = row->repaired_ns || !row->is_kubelets;

		for (uint32_t j = 0; j < controller->discovered.last.nr && !is_there; j++)
			is_there = !strcmp(controller->discovered.last.rows[j].path, row->path);
		if (!is_there)
			drift_close_kubelets(&controller->drift, row->path, row->attribute,
					     ACTION_NONE);
	}
}

static bool follows(const struct discovered_cgroup *row)
{
	return row->name.kind == KUBEPODS_CONTAINER && row->name.has_qos && row->cgroup_id;
}

/* The containers of the scan, with what is known of them. -ENOMEM. */
static int follow_containers(struct controller *controller, struct kubelet_drift *ret_drift)
{
	const struct discovery *last = &controller->discovered.last;
	struct kubelet_container *containers = calloc(last->nr + 1, sizeof(*containers));
	uint32_t nr = 0;

	if (!containers)
		return -ENOMEM;
	for (uint32_t i = 0; i < last->nr; i++) {
		const struct kubelet_container *before;

		if (!follows(&last->rows[i]))
			continue;
		before = find_container(&controller->kubelet_drift, last->rows[i].cgroup_id);
		if (before)
			containers[nr] = *before;
		containers[nr].cgroup_id = last->rows[i].cgroup_id;
		containers[nr++].level = group_path_depth(last->rows[i].path);
	}
	qsort(containers, nr, sizeof(*containers), by_id);
	ret_drift->containers = containers;
	ret_drift->nr = nr;
	return 0;
}

static bool has_other_ids(const struct kubelet_drift *a, const struct kubelet_drift *b)
{
	if (a->nr != b->nr)
		return true;
	for (uint32_t i = 0; i < a->nr; i++)
		if (a->containers[i].cgroup_id != b->containers[i].cgroup_id)
			return true;
	return false;
}

static void tell_or_clear(struct controller *controller, enum finding kind, uint32_t nr,
			  const char *message, const char *remedy)
{
	if (nr > 1)
		findings_update(&controller->findings, kind, remedy, "%.240s; and %u more", message,
				nr - 1);
	else
		findings_update_if(&controller->findings, kind, nr, remedy, "%s", message);
}

static void tell_findings(struct controller *controller, const struct kubelet_round *round)
{
	tell_or_clear(controller, FINDING_KUBELET_CPUSET_CONTESTED, round->nr_fights, round->fight,
		      "find out why it writes the cpuset of a kubelet's container, and end that, "
		      "or set enforcement.kubelet: report");
	tell_or_clear(controller, FINDING_KUBELET_CPUSET_LEFT, round->nr_given_up, round->given_up,
		      "compare the kubelet's log with its state file; drain the node and remove "
		      "the file if the two stay different");
}

/* It stands as long as one file differs whose last write failed. */
static void tell_failed(struct controller *controller)
{
	struct kubelet_drift *drift = &controller->kubelet_drift;
	bool is_failed = false;

	for (uint32_t i = 0; i < drift->nr; i++)
		for (enum kubelet_file file = 0; file < KUBELET_FILE_NR; file++)
			is_failed |= drift->containers[i].files[file].is_failed;
	findings_update_if(&controller->findings, FINDING_KUBELET_CPUSET_NOT_REPAIRED, is_failed,
			   "see the error; the agent tries again at longer intervals", "%s",
			   drift->error);
	if (!is_failed)
		*drift->error = '\0';
}

/* Memory that moves to other nodes takes long, so the CPUs of all containers come first. */
static int by_cost(const void *left, const void *right)
{
	const struct cpuset_write *a = left, *b = right;

	return (a->file == GROUP_CPUSET_MEMS) - (b->file == GROUP_CPUSET_MEMS);
}

static void begin_writes(struct controller *controller, struct kubelet_round *round)
{
	const struct cpuset_port *port = controller->ports.cpusets;
	struct kubelet_drift *drift = &controller->kubelet_drift;
	int r;

	/* What the kubelet decides now may be at odds with the rest of a pass that began before. */
	if (drift->writing_since_ns && round->has_new_plan)
		port->cancel(port->self);
	if (!round->nr_writes)
		return;
	qsort(round->writes, round->nr_writes, sizeof(*round->writes), by_cost);
	drift->writing_since_ns = round->now_ns;
	r = port->write(port->self, TAKE_PTR(round->writes), round->nr_writes);
	if (!r)
		return;
	log_err(r, "ctl: cannot put cpusets back; waiting for the next scan");
	drift->writing_since_ns = 0;
}

bool ctl_judge_kubelet_drift(struct controller *controller)
{
	const struct discovery *last = &controller->discovered.last;
	struct kubelet_drift *drift = &controller->kubelet_drift;
	struct kubelet_drift next = {0};
	struct kubelet_round round = {.now_ns = clock_now_ns(controller->ports.clock),
				      .due_ns = UINT64_MAX};
	bool is_other;

	if (!controller->ports.cpusets || !config_repairs_kubelet(controller->options.config))
		return false;
	/* What was not read is not gone. */
	if (last->is_incomplete)
		return false;
	if (follow_containers(controller, &next)) {
		log_err(-ENOMEM,
			"ctl: cannot compare the cpusets of containers before the next scan");
		return false;
	}
	is_other = has_other_ids(drift, &next);
	free(drift->containers);
	drift->containers = next.containers;
	drift->nr = next.nr;
	for (uint32_t i = 0; i < last->nr; i++)
		if (follows(&last->rows[i]))
			judge_container(controller, &round, &last->rows[i],
					find_container(drift, last->rows[i].cgroup_id));
	close_gone(controller);
	tell_findings(controller, &round);
	tell_failed(controller);
	drift->due_ns = round.due_ns == UINT64_MAX ? 0 : round.due_ns;
	/* The second look at what differs should follow soon. */
	if (drift->due_ns && drift->due_ns <= round.now_ns)
		controller->ports.discovery->scan_soon(controller->ports.discovery->self);
	begin_writes(controller, &round);
	free(round.writes);
	return is_other;
}

/* --- what others say -------------------------------------------------------------------------- */

static void end_write(struct controller *controller, const struct cpuset_write *write,
		      struct kubelet_file_state *state)
{
	const struct discovered_cgroup *row = find_row(controller, write->cgroup_id);
	struct event_row event;

	/* Of a plan that holds no more, or left alone: the scan that follows sees what is there. */
	if (write->result == -ECANCELED || state->plan != hash_plan(&write->value))
		return;
	state->nr_repairs++;
	state->repaired_ns = clock_now_ns(controller->ports.clock);
	state->differed_ns = 0;
	state->nr_differed = 0;
	state->is_failed = write->result && write->result != -ENOENT;
	if (write->result) {
		drift_fail_kubelets(&controller->drift, write->file);
		if (text_is_news(controller->kubelet_drift.error, write->error))
			log_err(0, "ctl: %s", write->error);
		text_copy(controller->kubelet_drift.error, sizeof(controller->kubelet_drift.error),
			  write->error);
		return;
	}
	state->opponent = state->writer;
	state->writer.ns = 0;
	drift_close_kubelets(&controller->drift, write->path, write->file, ACTION_REPAIR);
	if (!row)
		return;
	event = event_about(EVENT_REPAIR, row, write->file);
	event.record.action = ACTION_REPAIR;
	if (cpuset_format(&write->value, event.record.value, sizeof(event.record.value)) >=
	    sizeof(event.record.value))
		memcpy(event.record.value + sizeof(event.record.value) - 4, "...", 4);
	event_log_add(&controller->events, &event);
}

void ctl_end_kubelet_repair(struct controller *controller, const struct cpuset_write *rows,
			    uint32_t nr)
{
	controller->kubelet_drift.writing_since_ns = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct kubelet_container *container =
			find_container(&controller->kubelet_drift, rows[i].cgroup_id);

		if (container)
			end_write(controller, &rows[i],
				  &container->files[rows[i].file == GROUP_CPUSET_CPUS
							    ? KUBELET_CPUS
							    : KUBELET_MEMS]);
	}
	tell_failed(controller);
	/* Whoever wrote meanwhile is seen by the next look. */
	controller->ports.discovery->scan_soon(controller->ports.discovery->self);
}

bool ctl_hear_kubelet_drift(struct controller *controller, const struct event_row *event)
{
	const struct event_record *record = &event->record;
	struct kubelet_container *container =
		record->kind == EVENT_DRIFT
			? find_container(&controller->kubelet_drift, record->target_id)
			: NULL;
	const struct discovered_cgroup *row;
	const enum drift_cause cause = drift_cause_of(record->pid, event->cgroup);
	/*
	 * runc freezes a container to kill or update it. systemd does so only if somebody asks, and no scan
	 * compares a freeze.
	 */
	const bool is_silent = kubelet_drift_is_kubelets(cause) &&
			       !(cause == CAUSE_SYSTEMD && record->attribute == GROUP_FREEZE);
	struct event_row named = *event;

	/* In this mode only these are watched: one that no scan has seen yet, or that has gone. */
	if (!container)
		return record->kind == EVENT_DRIFT && is_silent &&
		       config_repairs_kubelet(controller->options.config);
	for (enum kubelet_file file = 0; file < KUBELET_FILE_NR; file++) {
		struct kubelet_writer *writer = &container->files[file].writer;

		if (group_files[file] != record->attribute)
			continue;
		writer->ns = clock_now_ns(controller->ports.clock);
		writer->cause = cause;
		writer->pid = record->pid;
		memcpy(writer->comm, record->comm, sizeof(writer->comm));
		text_copy(writer->cgroup, sizeof(writer->cgroup), event->cgroup);
	}
	if (is_silent)
		return true;
	row = find_row(controller, record->target_id);
	if (row) {
		text_copy(named.target, sizeof(named.target), row->path);
		fill_names(row, &named);
	}
	event_log_add(&controller->events, &named);
	controller->ports.discovery->scan_soon(controller->ports.discovery->self);
	return true;
}

void ctl_follow_kubelet_drift(struct controller *controller)
{
	struct kubelet_drift *drift = &controller->kubelet_drift;

	if (!drift->due_ns || clock_now_ns(controller->ports.clock) < drift->due_ns)
		return;
	drift->due_ns = 0;
	controller->ports.discovery->scan_soon(controller->ports.discovery->self);
}
