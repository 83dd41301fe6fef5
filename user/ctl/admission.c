// SPDX-License-Identifier: Apache-2.0
/*
 * Turns what the sources report into changes of the ledger: admit, refuse, change, end and
 * release pods. A scan is complete for its moment: a pod that it no longer names ends, but
 * keeps its CPUs while one of its processes is alive.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

static void record_event(struct controller *controller, const struct event_record *event,
			 const char *pod, const char *container)
{
	struct event_row row = {.record = *event};

	text_copy(row.pod, sizeof(row.pod), pod);
	text_copy(row.container, sizeof(row.container), container);
	event_log_add(&controller->events, &row);
}

static void record_admission(struct controller *controller, const char *pod,
			     enum admit_reason reason)
{
	struct event_record event = EVENT_RECORD(EVENT_ADMIT);

	event.admit_reason = reason;
	record_event(controller, &event, pod, "");
}

static void record_refusal(struct controller *controller, const char *pod,
			   const struct decision *decision)
{
	struct event_record event = EVENT_RECORD(EVENT_REFUSE);

	text_copy(event.refusal.reason, sizeof(event.refusal.reason), decision->reason);
	text_copy(event.refusal.message, sizeof(event.refusal.message), decision->message);
	text_copy(event.refusal.suggestion, sizeof(event.refusal.suggestion), decision->suggestion);
	record_event(controller, &event, pod, decision->container);
}

/* --- refused pods -------------------------------------------------------------------------------- */

/* Remember the refusal; log and count it only if the answer has changed, and say whether it has. */
static bool refuse(struct controller *controller, const struct source_pod *source, const char *name,
		   const struct decision *decision)
{
	struct admission *admission = &controller->admission;

	if (!refusals_note(&admission->refusals, source, name, decision))
		return false;
	allocations_count_refusal(&admission->allocations, controller->ledger, source->spec,
				  decision);
	record_refusal(controller, name, decision);
	return true;
}

static void refuse_document(struct controller *controller, const struct source_pod *source)
{
	struct decision decision = {
		.refusal = REFUSAL_SPEC,
		.wanted = -1,
		.available = -1,
	};

	snprintf(decision.reason, sizeof(decision.reason), "InvalidPod");
	snprintf(decision.message, sizeof(decision.message), "%s: %s", source->file, source->error);
	refuse(controller, source, source->name, &decision);
}

/* --- admission ----------------------------------------------------------------------------------- */

int admission_init(struct admission *admission)
{
	*admission = (struct admission){0};
	return refusals_init(&admission->refusals);
}

void admission_fini(struct admission *admission)
{
	refusals_fini(&admission->refusals);
	pod_spec_free(admission->deferred.spec);
}

enum assignment_type admission_assignment_type(const struct ledger_pod *pod,
					       const struct grant *grant)
{
	if (grant->isolation == ISOLATION_CONTAINER)
		return pod->has_bubble ? ASSIGNMENT_POD_EXCLUSIVE : ASSIGNMENT_NODE_EXCLUSIVE;
	return grant->isolation == ISOLATION_POD ? ASSIGNMENT_POD_SHARED : ASSIGNMENT_NODE_SHARED;
}

const char *admission_assignment_name(enum assignment_type type)
{
	static const char *const names[ASSIGNMENT_NR] = {
		[ASSIGNMENT_NODE_EXCLUSIVE] = "node_exclusive",
		[ASSIGNMENT_POD_EXCLUSIVE] = "pod_exclusive",
		[ASSIGNMENT_POD_SHARED] = "pod_shared",
		[ASSIGNMENT_NODE_SHARED] = "node_shared",
	};

	return names[type];
}

static void count_assignments(struct controller *controller, const struct ledger_pod *pod)
{
	struct admission *admission = &controller->admission;

	for (uint32_t i = 0; i < pod->nr_grants; i++)
		admission->nr_assigned[admission_assignment_type(pod, &pod->grants[i])]++;
	allocations_count_pod(&admission->allocations, controller->ledger, pod);
}

static void count_container(struct admission *admission, const struct ledger *ledger,
			    const struct ledger_pod *pod, const char *container)
{
	const struct grant *grant = ledger_find_grant(pod, container);

	admission->nr_assigned[admission_assignment_type(pod, grant)]++;
	allocations_count_container(&admission->allocations, ledger, pod, grant);
}

void admission_count_grant(struct admission *admission, const struct ledger *ledger,
			   const struct ledger_pod *pod, const char *container)
{
	count_container(admission, ledger, pod, container);
	admission->nr_admitted += pod->nr_grants == 1;
}

void admission_count_resize(struct admission *admission, const struct ledger *ledger,
			    const struct ledger_pod *pod, const char *container)
{
	count_container(admission, ledger, pod, container);
	allocations_count_resize(&admission->allocations, true);
	admission->nr_admitted++;
}

/* Huge pages are granted only out of those that the kernel has free at this moment. */
static void learn_free_pages(struct controller *controller)
{
	const struct machine_port *machine = controller->ports.machine;
	struct topology_node nodes[TOPOLOGY_MAX_NODES];

	if (machine && controller->policy->memory == MEMORY_POLICY_STATIC)
		ledger_set_kernel_free(controller->ledger, nodes,
				       machine->free_pages(machine->self, nodes));
}

void admission_count_duration(struct admission *admission, uint64_t duration_ns)
{
	uint32_t bucket = 0;

	for (uint64_t bound = 50000; bucket < ADMISSION_BUCKETS - 1 && duration_ns > bound;
	     bound *= 2)
		bucket++;
	admission->duration_ns[bucket]++;
	admission->duration_sum_ns += duration_ns;
}

/*
 * A decision takes effect only once the state file contains it: after a crash in between, the
 * agent must find either no pod or the whole pod. A failed save reverts the decision.
 */
static int keep_or_take_back(struct controller *controller, struct decision *decision)
{
	int r = controller->options.dry_run ? 0 : ctl_save_state(controller);

	if (!r) {
		ledger_commit(controller->ledger);
		return 0;
	}
	ledger_abort(controller->ledger);
	if (r != -EINPROGRESS)
		refusals_say_unsaved(decision, r);
	return r;
}

/*
 * Nothing is granted while the file is being written. When the write has ended, the pod whose
 * grant it contains is decided first: on an unchanged ledger the result is the same, and it is
 * already durable. If the ledger has changed meanwhile, the only cost is another write.
 */
static void defer(struct controller *controller, const struct source_pod *source, bool is_ours,
		  uint64_t since_ns)
{
	struct deferred_pod *deferred = &controller->admission.deferred;

	if (!is_ours) {
		controller->admission.wants_scan = true;
		return;
	}
	pod_spec_free(deferred->spec);
	deferred->spec = pod_spec_copy(source->spec);
	snprintf(deferred->file, sizeof(deferred->file), "%s", source->file);
	deferred->line = source->line;
	deferred->since_ns = since_ns;
	if (!deferred->spec)
		controller->admission.wants_scan = true;
}

static void revive(struct controller *controller, const struct ledger_pod *pod, const char *name)
{
	int r = ledger_set_state(controller->ledger, pod->spec->uid, POD_RUNNING, "");

	if (r) {
		log_err(r, "admit: %s cannot be changed from ending to running", name);
		return;
	}
	ctl_save_state(controller);
	record_admission(controller, name, ADMIT_MANIFEST_BACK);
}

/*
 * The document is again what the pod has. A change that was refused before must not be decided
 * again when there is room for it, because nobody asks for it any more.
 */
static void withdraw_change(struct controller *controller, const struct source_pod *source,
			    const struct ledger_pod *pod, const char *name)
{
	struct refusals *refusals = &controller->admission.refusals;
	struct refused_pod *refused = refusals_find(refusals, name, source->file, source->line);
	int r;

	/* Another document of this name may be refused as well. */
	if (refused && (!refused->spec || strcmp(refused->spec->uid, source->spec->uid) ||
			strcmp(refused->file, source->file)))
		return;
	/* The list may have had no room for it. */
	if (refused)
		refusals_drop(refusals, refused);
	if (!pod->is_change_refused)
		return;
	r = ledger_set_state(controller->ledger, source->spec->uid, POD_RUNNING, NULL);
	if (r)
		log_err(r, "admit: cannot record that the change of %s was withdrawn", name);
}

/* If a changed spec does not fit, the old grant remains in force, and the pod's detail says so. */
static void note_unchanged(struct controller *controller, const char *uid,
			   const struct decision *decision)
{
	char detail[160];
	int r;

	snprintf(detail, sizeof(detail), "the changed manifest was rejected: %.120s",
		 decision->message);
	r = ledger_note_refused_change(controller->ledger, uid, detail);
	if (r)
		log_err(r, "admit: cannot record for the pod with uid %s that %s", uid, detail);
}

static void refuse_uid_of_runtime(struct controller *controller, const struct source_pod *source,
				  const char *name)
{
	struct decision decision = {.refusal = REFUSAL_SPEC, .wanted = -1, .available = -1};

	snprintf(decision.reason, sizeof(decision.reason), "InvalidPod");
	snprintf(decision.message, sizeof(decision.message),
		 "metadata.uid is that of a pod of the container runtime");
	refuse(controller, source, name, &decision);
}

static void note_admitted(struct controller *controller, const struct source_pod *source,
			  const char *name, enum admit_reason reason)
{
	struct refused_pod *refused =
		refusals_find(&controller->admission.refusals, name, source->file, source->line);

	if (refused)
		refusals_drop(&controller->admission.refusals, refused);
	count_assignments(controller, ledger_find(controller->ledger, source->spec->uid));
	controller->admission.nr_admitted++;
	dirty_mark_ledger(&controller->dirty);
	record_admission(controller, name, reason);
}

/* `started` is the time at which the decision was first requested. */
static void admit(struct controller *controller, const struct source_pod *source, uint64_t started)
{
	const struct ledger_pod *pod = ledger_find(controller->ledger, source->spec->uid);
	bool was_saving = controller->record.saving_since_ns, is_resize = false;
	struct decision decision;
	bool changed = pod;
	char name[POD_NAME_MAX * 2];
	int r;

	lookup_pod_label(source->spec, name, sizeof(name));
	if (pod && pod_spec_equal(pod->spec, source->spec)) {
		if (pod->state == POD_ENDING)
			revive(controller, pod, name);
		else
			withdraw_change(controller, source, pod, name);
		return;
	}
	if (pod && pod->spec->is_of_runtime) {
		refuse_uid_of_runtime(controller, source, name);
		return;
	}
	learn_free_pages(controller);
	r = pod && adopt_is_wanted(pod) ? adopt_prepare(controller->ledger, pod, source->spec)
					: -ENOTSUP;
	if (!r) {
		decision = (struct decision){.admitted = true};
	} else {
		r = admit_prepare(controller->ledger, source->spec, &decision);
		is_resize = !r && decision.is_resize;
	}
	if (r) {
		log_err(r, "admit: cannot decide pod %s", name);
		return;
	}
	if (decision.admitted)
		r = keep_or_take_back(controller, &decision);
	if (r == -EINPROGRESS) {
		defer(controller, source, !was_saving, started);
		return;
	}
	admission_count_duration(&controller->admission,
				 clock_now_ns(controller->ports.clock) - started);
	if (!decision.admitted) {
		if (changed)
			note_unchanged(controller, source->spec->uid, &decision);
		if (refuse(controller, source, name, &decision) && is_resize)
			allocations_count_resize(&controller->admission.allocations, false);
		return;
	}
	if (is_resize)
		allocations_count_resize(&controller->admission.allocations, true);
	note_admitted(controller, source, name, changed ? ADMIT_CHANGED : ADMIT_NEW);
}

void ctl_admission_resume(struct controller *controller, int result)
{
	struct deferred_pod deferred = controller->admission.deferred;
	const struct source_pod source = {
		.spec = deferred.spec,
		.file = deferred.file,
		.line = deferred.line,
	};
	struct decision decision;
	char name[POD_NAME_MAX * 2];

	controller->admission.deferred = (struct deferred_pod){0};
	if (!deferred.spec)
		return;
	if (!result) {
		admit(controller, &source, deferred.since_ns);
	} else {
		refusals_say_unsaved(&decision, result);
		lookup_pod_label(deferred.spec, name, sizeof(name));
		refuse(controller, &source, name, &decision);
	}
	pod_spec_free(deferred.spec);
}

/* --- ending -------------------------------------------------------------------------------------- */

/*
 * Is a process of the pod alive? "Unknown" counts as yes, so that no CPU is freed on a guess; so does a
 * container that the runtime has, whose processes are in the runtime's cgroup.
 */
static bool is_populated(struct controller *controller, const struct ledger_pod *pod)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group *group = lookup_group(&controller->desired, pod->spec->uid, "");
	struct group_status status;
	int r;

	if (ctl_runtime_names(controller, pod->spec->uid))
		return true;
	if (!group)
		return !controller->reconciler.has_compared;
	r = groups->status(groups->self, group->path, &status);
	if (r == -ENOENT)
		return false;
	return r || status.populated;
}

/* Nothing is granted while it cannot be recorded, and the end of that is room as well. */
static void note_room(struct controller *controller)
{
	controller->admission.nr_offers += controller->record.is_writable;
}

static void release(struct controller *controller, const char *uid, const char *name)
{
	int r = ledger_remove(controller->ledger, uid);

	if (r) {
		log_err(r, "release: cannot release the CPUs of pod %s", name);
		return;
	}
	dirty_mark_ledger(&controller->dirty);
	controller->admission.nr_released++;
	ctl_save_state(controller);
	note_room(controller);
	record_event(controller, &EVENT_RECORD(EVENT_POD_RELEASE), name, "");
}

static void end(struct controller *controller, const struct ledger_pod *pod)
{
	char name[POD_NAME_MAX * 2], uid[POD_UID_MAX];
	int r;

	lookup_pod_label(pod->spec, name, sizeof(name));
	snprintf(uid, sizeof(uid), "%s", pod->spec->uid);
	if (!is_populated(controller, pod)) {
		release(controller, uid, name);
		return;
	}
	if (pod->state == POD_ENDING)
		return;
	r = ledger_set_state(controller->ledger, uid, POD_ENDING,
			     "no source names it; some of its processes are still alive");
	if (r) {
		log_err(r, "end: cannot record that pod %s ends", name);
		return;
	}
	ctl_save_state(controller);
	record_event(controller, &EVENT_RECORD(EVENT_ENDING), name, "");
}

static bool is_named(const struct source_pod *pods, uint32_t nr_pods, const char *uid)
{
	for (uint32_t i = 0; i < nr_pods; i++)
		if (pods[i].spec && !strcmp(pods[i].spec->uid, uid))
			return true;
	return false;
}

/*
 * Is it uncertain that this pod has ended? A document that is invalid now may be the one that
 * named it: while a refused document carries its name, the pod is kept.
 */
static bool is_obscured(const struct source_pod *pods, uint32_t nr_pods,
			const struct pod_spec *spec)
{
	char name[POD_NAME_MAX * 2];

	lookup_pod_label(spec, name, sizeof(name));
	for (uint32_t i = 0; i < nr_pods; i++)
		if (!pods[i].spec && (!*pods[i].name || !strcmp(pods[i].name, name)))
			return true;
	return false;
}

static void end_unnamed(struct controller *controller, const struct source_pod *pods,
			uint32_t nr_pods)
{
	/* Backwards, because a release removes the pod at this index. */
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (!pod->spec->is_of_runtime && !is_named(pods, nr_pods, pod->spec->uid) &&
		    !is_obscured(pods, nr_pods, pod->spec))
			end(controller, pod);
	}
}

/* If a pod disappears before its grant is durable, the file is written again without it. */
static void forget_deferred(struct controller *controller, const struct source_pod *pods,
			    uint32_t nr_pods)
{
	if (!controller->admission.deferred.spec ||
	    is_named(pods, nr_pods, controller->admission.deferred.spec->uid))
		return;
	pod_spec_free(controller->admission.deferred.spec);
	controller->admission.deferred = (struct deferred_pod){0};
}

/* The list is bounded, but the number of manifests is not: the pods beyond it are only counted. */
static void tell_unlisted(struct controller *controller)
{
	const uint32_t nr = controller->admission.refusals.nr_unlisted;

	findings_put_if(&controller->findings, FINDING_REFUSALS_NOT_LISTED, nr,
			"remove manifests listed by `pinfold pod refused` that cannot fit; the "
			"agent decides the others again when a pod ends",
			"%u more pod%s refused; only the first %d are listed with the reason", nr,
			nr == 1 ? " is" : "s are", MAX_REFUSED);
}

void ctl_admit_scanned(struct controller *controller, const struct source_pod *pods,
		       uint32_t nr_pods, bool complete)
{
	controller->admission.refusals.nr_unlisted = 0;
	controller->admission.wants_scan = false;
	if (complete) {
		forget_deferred(controller, pods, nr_pods);
		refusals_forget(&controller->admission.refusals, pods, nr_pods);
		/* Pods that end make room for new ones. */
		end_unnamed(controller, pods, nr_pods);
		controller->admission.is_source_complete = true;
	}
	for (uint32_t i = 0; i < nr_pods; i++) {
		if (pods[i].spec)
			admit(controller, &pods[i], clock_now_ns(controller->ports.clock));
		else
			refuse_document(controller, &pods[i]);
	}
	tell_unlisted(controller);
	wakes_schedule(&controller->wakes, 0);
}

void ctl_decide_refused(struct controller *controller)
{
	note_room(controller);
	controller->admission.wants_scan |= controller->admission.refusals.nr_unlisted > 0;
	for (uint32_t i = controller->admission.refusals.nr; i-- > 0;) {
		struct refused_pod *refused = &controller->admission.refusals.rows[i];
		struct pod_spec *spec cleanup_pod_spec =
			refused->spec ? pod_spec_copy(refused->spec) : NULL;
		char file[ROW_PATH_MAX];
		struct source_pod source = {.spec = spec, .file = file, .line = refused->line};

		snprintf(file, sizeof(file), "%s", refused->file);
		if (spec)
			admit(controller, &source, clock_now_ns(controller->ports.clock));
	}
}

void ctl_offer_room(struct controller *controller)
{
	if (controller->admission.is_source_complete)
		ctl_decide_refused(controller);
	else
		note_room(controller);
}

void ctl_admission_sweep(struct controller *controller)
{
	uint64_t released = controller->admission.nr_released;
	bool was_mended = record_take_mended(&controller->record);
	bool was_writable = controller->record.is_writable && !was_mended;

	/* Retry a save that failed, for example because the disk was full. */
	if (!controller->record.saving_since_ns &&
	    (!controller->record.is_writable || controller->record.is_behind))
		ctl_save_state(controller);
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (controller->admission.is_source_complete && pod->state == POD_ENDING)
			end(controller, pod);
	}
	if (controller->admission.nr_released == released && was_writable)
		return;
	/* CPUs became free, or the state may be writable again. */
	ctl_offer_room(controller);
}
