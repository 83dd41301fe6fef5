// SPDX-License-Identifier: Apache-2.0
/*
 * From what the sources say to what the ledger holds: admit, refuse, change,
 * end, release. A scan is the whole truth of its moment; what it does not name
 * any more ends, but keeps its CPUs while a process of it lives.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

static void record(struct controller *controller, const char *kind, const char *pod,
		   const char *container, const char *detail)
{
	struct event_row event = {0};

	snprintf(event.kind, sizeof(event.kind), "%s", kind);
	snprintf(event.action, sizeof(event.action), "none");
	snprintf(event.pod, sizeof(event.pod), "%s", pod);
	snprintf(event.container, sizeof(event.container), "%s", container);
	snprintf(event.detail, sizeof(event.detail), "%s", detail);
	audit_event(&controller->audit, &event);
}

/* --- refused pods -------------------------------------------------------------------------------- */

static struct refused_pod *find_refused(struct controller *controller, const char *name,
					const char *file, unsigned int line)
{
	for (uint32_t i = 0; i < controller->nr_refused; i++) {
		struct refused_pod *refused = &controller->refused[i];

		if (*name ? !strcmp(refused->name, name)
			  : !*refused->name && refused->line == line &&
				    !strcmp(refused->file, file))
			return refused;
	}
	return NULL;
}

static void drop_refused(struct controller *controller, struct refused_pod *refused)
{
	pod_spec_free(refused->spec);
	*refused = controller->refused[--controller->nr_refused];
}

static bool same_answer(const struct refused_pod *refused, const struct decision *decision)
{
	return refused->decision.refusal == decision->refusal &&
	       !strcmp(refused->decision.message, decision->message);
}

static bool same_spec(const struct refused_pod *refused, const struct pod_spec *spec)
{
	if (!refused->spec || !spec)
		return refused->spec == spec;
	return pod_spec_equal(refused->spec, spec);
}

/* Remember the refusal; the log hears of it when the answer is new. */
static void refuse(struct controller *controller, const struct source_pod *source, const char *name,
		   const struct decision *decision)
{
	struct refused_pod *refused = find_refused(controller, name, source->file, source->line);
	char detail[ROW_DETAIL_MAX];

	if (refused && same_answer(refused, decision) && same_spec(refused, source->spec)) {
		/* No news, but the suggestion was tried on the ledger of today. */
		refused->decision = *decision;
		refused->line = source->line;
		return;
	}
	if (!refused) {
		if (controller->nr_refused == MAX_REFUSED) {
			controller->nr_unlisted++;
			return;
		}
		refused = &controller->refused[controller->nr_refused++];
		*refused = (struct refused_pod){0};
	}
	snprintf(refused->name, sizeof(refused->name), "%s", name);
	snprintf(refused->file, sizeof(refused->file), "%s", source->file);
	refused->line = source->line;
	refused->decision = *decision;
	/* What the document said before must not be tried again once it says something else. */
	pod_spec_free(refused->spec);
	refused->spec = source->spec ? pod_spec_copy(source->spec) : NULL;
	controller->counters.refused[decision->refusal]++;
	snprintf(detail, sizeof(detail), "%.39s: %.200s%s%.60s", decision->reason,
		 decision->message, *decision->suggestion ? "; " : "", decision->suggestion);
	record(controller, "refuse", name, decision->container, detail);
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

enum assignment assignment_of(const struct ledger_pod *pod, const struct grant *grant)
{
	if (grant->isolation == ISOLATION_CONTAINER)
		return pod->has_bubble ? ASSIGNMENT_POD_EXCLUSIVE : ASSIGNMENT_NODE_EXCLUSIVE;
	return grant->isolation == ISOLATION_POD ? ASSIGNMENT_POD_SHARED : ASSIGNMENT_NODE_SHARED;
}

static void count_assignments(struct controller *controller, const struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		controller->counters.assignments[assignment_of(pod, &pod->grants[i])]++;
}

/* Huge pages are promised out of what the kernel has at this moment, or not at all. */
static void learn_free_pages(struct controller *controller)
{
	const struct machine_port *machine = controller->ports.machine;
	struct topology_node nodes[TOPOLOGY_MAX_NODES];

	if (machine && controller->policy->memory == MEMORY_POLICY_STATIC)
		ledger_set_kernel_free(controller->ledger, nodes,
				       machine->free_pages(machine->self, nodes));
}

static void observe_admission(struct controller *controller, uint64_t duration_ns)
{
	uint32_t bucket = 0;

	/* Bounds of 50 us doubled, as the kubelet's own histogram has them. */
	for (uint64_t bound = 50000; bucket < 14 && duration_ns > bound; bound *= 2)
		bucket++;
	controller->counters.admission_ns[bucket]++;
	controller->counters.admission_sum_ns += duration_ns;
}

static void refuse_unsaved(struct decision *decision, int r)
{
	*decision = (struct decision){.refusal = REFUSAL_STATE, .wanted = -1, .available = -1};
	snprintf(decision->reason, sizeof(decision->reason), "UnexpectedAdmissionError");
	snprintf(decision->message, sizeof(decision->message),
		 "the state file cannot be written: %s; no new pod is admitted until it can",
		 strerror(-r));
	snprintf(decision->suggestion, sizeof(decision->suggestion),
		 "make stateDirectory writable and give it free space");
}

/*
 * The decision is in force only once the state file has it: a crash in between
 * must find either no pod or the whole pod. A save that fails takes it back.
 */
static int keep_or_take_back(struct controller *controller, struct decision *decision)
{
	int r = controller->options.dry_run ? 0 : state_save(controller);

	if (!r) {
		ledger_commit(controller->ledger);
		return 0;
	}
	ledger_abort(controller->ledger);
	if (r != -EINPROGRESS)
		refuse_unsaved(decision, r);
	return r;
}

/*
 * While the file is being written nothing is granted. The pod whose grant is in what is
 * written comes first then: decided again on the same ledger, it gets just that, and
 * finds it durable. A ledger that changed meanwhile is no harm, only another write.
 */
static void defer(struct controller *controller, const struct source_pod *source, bool is_ours,
		  uint64_t since_ns)
{
	struct deferred_pod *deferred = &controller->deferred;

	if (!is_ours) {
		controller->wants_scan = true;
		return;
	}
	pod_spec_free(deferred->spec);
	deferred->spec = pod_spec_copy(source->spec);
	snprintf(deferred->file, sizeof(deferred->file), "%s", source->file);
	deferred->line = source->line;
	deferred->since_ns = since_ns;
	if (!deferred->spec)
		controller->wants_scan = true;
}

static void revive(struct controller *controller, const struct ledger_pod *pod, const char *name)
{
	if (ledger_begin(controller->ledger))
		return;
	ledger_set_state(controller->ledger, pod->spec->uid, POD_RUNNING, "");
	ledger_commit(controller->ledger);
	controller->ledger_changed = true;
	state_save(controller);
	record(controller, "admit", name, "", "its manifest is back");
}

/* A changed spec that does not fit leaves the old grant in force, and says so on the pod. */
static void note_unchanged(struct controller *controller, const char *uid,
			   const struct decision *decision)
{
	char detail[160];

	snprintf(detail, sizeof(detail), "changed manifest not taken: %.120s", decision->message);
	if (ledger_begin(controller->ledger))
		return;
	ledger_set_state(controller->ledger, uid, POD_RUNNING, detail);
	ledger_commit(controller->ledger);
}

/* `started` is when the decision was first asked for. */
static void admit(struct controller *controller, const struct source_pod *source, uint64_t started)
{
	const struct ledger_pod *pod = ledger_find(controller->ledger, source->spec->uid);
	bool was_saving = controller->saving_since_ns;
	struct refused_pod *refused;
	struct decision decision;
	bool changed = pod;
	char name[POD_NAME_MAX * 2];
	int r;

	pod_label(source->spec, name, sizeof(name));
	if (pod && pod_spec_equal(pod->spec, source->spec)) {
		if (pod->state == POD_ENDING)
			revive(controller, pod, name);
		return;
	}
	learn_free_pages(controller);
	r = pod && is_without_manifest(pod) ? adopt_prepare(controller, pod, source->spec)
					    : -ENOTSUP;
	if (!r)
		decision = (struct decision){.admitted = true};
	else
		r = admit_prepare(controller->ledger, source->spec, &decision);
	if (r) {
		log_err(r, "admit: %s", name);
		return;
	}
	if (decision.admitted)
		r = keep_or_take_back(controller, &decision);
	if (r == -EINPROGRESS) {
		defer(controller, source, !was_saving, started);
		return;
	}
	observe_admission(controller, now_ns(controller) - started);
	if (!decision.admitted) {
		if (changed)
			note_unchanged(controller, source->spec->uid, &decision);
		refuse(controller, source, name, &decision);
		return;
	}
	refused = find_refused(controller, name, source->file, source->line);
	if (refused)
		drop_refused(controller, refused);
	pod = ledger_find(controller->ledger, source->spec->uid);
	count_assignments(controller, pod);
	controller->counters.admitted++;
	controller->ledger_changed = true;
	record(controller, "admit", name, "", changed ? "changed manifest taken" : "granted");
}

void admission_resume(struct controller *controller, int result)
{
	struct deferred_pod deferred = controller->deferred;
	const struct source_pod source = {
		.spec = deferred.spec,
		.file = deferred.file,
		.line = deferred.line,
	};
	struct decision decision;
	char name[POD_NAME_MAX * 2];

	controller->deferred = (struct deferred_pod){0};
	if (!deferred.spec)
		return;
	if (!result) {
		admit(controller, &source, deferred.since_ns);
	} else {
		refuse_unsaved(&decision, result);
		pod_label(deferred.spec, name, sizeof(name));
		refuse(controller, &source, name, &decision);
	}
	pod_spec_free(deferred.spec);
}

/* --- ending -------------------------------------------------------------------------------------- */

/* Does a process of the pod live? "Could not tell" counts as yes: nothing is freed on a guess. */
static bool is_populated(struct controller *controller, const struct ledger_pod *pod)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group *group = desired_group(controller, pod->spec->uid, "");
	struct group_status status;
	int r;

	if (!group)
		return false;
	r = groups->status(groups->self, group->path, &status);
	if (r == -ENOENT)
		return false;
	return r || status.populated;
}

static void release(struct controller *controller, const char *uid, const char *name)
{
	if (ledger_begin(controller->ledger))
		return;
	if (ledger_remove(controller->ledger, uid)) {
		ledger_abort(controller->ledger);
		return;
	}
	ledger_commit(controller->ledger);
	controller->ledger_changed = true;
	controller->counters.released++;
	state_save(controller);
	record(controller, "release", name, "", "its CPUs are back in the shared pool");
}

static void end(struct controller *controller, const struct ledger_pod *pod)
{
	char name[POD_NAME_MAX * 2], uid[POD_UID_MAX];

	pod_label(pod->spec, name, sizeof(name));
	snprintf(uid, sizeof(uid), "%s", pod->spec->uid);
	if (!is_populated(controller, pod)) {
		release(controller, uid, name);
		return;
	}
	if (pod->state == POD_ENDING || ledger_begin(controller->ledger))
		return;
	ledger_set_state(controller->ledger, uid, POD_ENDING,
			 "no source names it; processes of it still live");
	ledger_commit(controller->ledger);
	controller->ledger_changed = true;
	state_save(controller);
	record(controller, "ending", name, "", "no source names it; its CPUs stay held");
}

static bool is_named(const struct source_pod *pods, uint32_t nr_pods, const char *uid)
{
	for (uint32_t i = 0; i < nr_pods; i++)
		if (pods[i].spec && !strcmp(pods[i].spec->uid, uid))
			return true;
	return false;
}

/*
 * Would ending this pod be a guess? A document that is wrong now may be the one
 * that named it: while a refused document carries its name, the pod stays.
 */
static bool is_obscured(const struct source_pod *pods, uint32_t nr_pods,
			const struct pod_spec *spec)
{
	char name[POD_NAME_MAX * 2];

	pod_label(spec, name, sizeof(name));
	for (uint32_t i = 0; i < nr_pods; i++)
		if (!pods[i].spec && (!*pods[i].name || !strcmp(pods[i].name, name)))
			return true;
	return false;
}

static void end_unnamed(struct controller *controller, const struct source_pod *pods,
			uint32_t nr_pods)
{
	/* Backwards: a release removes the pod at this index. */
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (!is_named(pods, nr_pods, pod->spec->uid) &&
		    !is_obscured(pods, nr_pods, pod->spec))
			end(controller, pod);
	}
}

/* A pod that is gone before its grant was durable: the file is written again without it. */
static void forget_deferred(struct controller *controller, const struct source_pod *pods,
			    uint32_t nr_pods)
{
	if (!controller->deferred.spec || is_named(pods, nr_pods, controller->deferred.spec->uid))
		return;
	pod_spec_free(controller->deferred.spec);
	controller->deferred = (struct deferred_pod){0};
}

static void forget_refused(struct controller *controller, const struct source_pod *pods,
			   uint32_t nr_pods)
{
	for (uint32_t i = controller->nr_refused; i-- > 0;) {
		struct refused_pod *refused = &controller->refused[i];
		bool named = false;

		for (uint32_t j = 0; j < nr_pods && !named; j++) {
			char name[POD_NAME_MAX * 2];

			if (pods[j].spec)
				pod_label(pods[j].spec, name, sizeof(name));
			else
				snprintf(name, sizeof(name), "%s", pods[j].name);
			named = *name ? !strcmp(name, refused->name)
				      : pods[j].line == refused->line &&
						!strcmp(pods[j].file, refused->file);
		}
		if (!named)
			drop_refused(controller, refused);
	}
}

/* The list is bounded, what a directory may ask for is not: the rest is a number. */
static void tell_unlisted(struct controller *controller)
{
	char message[ROW_DETAIL_MAX];

	if (!controller->nr_unlisted) {
		controller_clear_finding(controller, "refusals_not_listed");
		return;
	}
	snprintf(message, sizeof(message),
		 "%u more pods are refused than the %d that are listed with their reason",
		 controller->nr_unlisted, MAX_REFUSED);
	controller_finding(controller, "refusals_not_listed", message,
			   "remove the manifests that `pinfold pod refused` lists and that cannot "
			   "fit; the others are decided again when a pod leaves");
}

void admission_scanned(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete)
{
	struct controller *controller = self;

	controller->nr_unlisted = 0;
	controller->wants_scan = false;
	if (complete) {
		forget_deferred(controller, pods, nr_pods);
		forget_refused(controller, pods, nr_pods);
		/* What ends makes room for what comes. */
		end_unnamed(controller, pods, nr_pods);
		controller->source_complete = true;
	}
	for (uint32_t i = 0; i < nr_pods; i++) {
		if (pods[i].spec)
			admit(controller, &pods[i], now_ns(controller));
		else
			refuse_document(controller, &pods[i]);
	}
	tell_unlisted(controller);
	want_wake(controller, 0);
}

bool controller_wants_scan(const struct controller *controller)
{
	/* While the state is being written another scan would grant nothing. */
	return controller->wants_scan && !controller->saving_since_ns;
}

void admission_sweep(struct controller *controller)
{
	uint64_t released = controller->counters.released;
	bool was_writable = controller->state_writable && !controller->retries_refused;

	/* What a full disk kept from the file goes there as soon as there is room. */
	if (!controller->saving_since_ns &&
	    (!controller->state_writable || controller->state_is_behind))
		state_save(controller);
	controller->retries_refused = false;
	if (!controller->source_complete)
		return;
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (pod->state == POD_ENDING)
			end(controller, pod);
	}
	if (controller->counters.released == released && was_writable)
		return;
	/* Room was made, or the state may be writable again: the refused get another answer. */
	controller->wants_scan |= controller->nr_unlisted > 0;
	for (uint32_t i = controller->nr_refused; i-- > 0;) {
		struct refused_pod *refused = &controller->refused[i];
		struct pod_spec *spec cleanup(pod_spec_freep) =
			refused->spec ? pod_spec_copy(refused->spec) : NULL;
		char file[ROW_PATH_MAX];
		struct source_pod source = {.spec = spec, .file = file, .line = refused->line};

		snprintf(file, sizeof(file), "%s", refused->file);
		if (spec)
			admit(controller, &source, now_ns(controller));
	}
}
