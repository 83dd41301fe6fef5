// SPDX-License-Identifier: Apache-2.0
/*
 * Decides on the containers that a runtime names, and composes the answers. Each answer also
 * has the changes of other containers that are due: whoever is on the shared pool shrinks
 * before a new exclusive container starts, because the runtime carries out the changes first.
 */
#include "ctl/runtime.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"
#include "ctl/internal.h"
#include "lib/log.h"

#define DETAIL                                                                                      \
	"the container runtime made its cgroups; pinfold sets their CPUs through NRI, and neither " \
	"the partition nor the guard covers them"

/* --- the tables ------------------------------------------------------------------------------- */

static void drop_waiting(struct runtimes *runtimes, uint32_t index)
{
	pod_spec_free(runtimes->waiting[index].pod);
	runtimes->nr_waiting--;
	memmove(&runtimes->waiting[index], &runtimes->waiting[index + 1],
		(runtimes->nr_waiting - index) * sizeof(runtimes->waiting[0]));
}

void runtime_fini(struct runtimes *runtimes)
{
	while (runtimes->nr_waiting)
		drop_waiting(runtimes, 0);
	free(runtimes->rows);
	free(runtimes->sandboxes);
}

/* NULL = no memory. */
static void *add_row(void **rows, uint32_t *nr, uint32_t *max, size_t size)
{
	void *grown;

	if (*nr == *max) {
		grown = realloc(*rows, (*max + 64) * size);
		if (!grown)
			return NULL;
		*rows = grown;
		*max += 64;
	}
	return memset((char *)*rows + (*nr)++ * size, 0, size);
}

static struct runtime_row *find_row(const struct runtimes *runtimes, const char *id)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (!strcmp(runtimes->rows[i].id, id))
			return &runtimes->rows[i];
	return NULL;
}

static struct runtime_row *note_container(struct runtimes *runtimes, const char *id,
					  const char *pod_id, const char *uid, const char *name)
{
	struct runtime_row *row = find_row(runtimes, id);

	if (!row)
		row = add_row((void **)&runtimes->rows, &runtimes->nr_rows, &runtimes->max_rows,
			      sizeof(*row));
	if (!row)
		return NULL;
	text_copy(row->id, sizeof(row->id), id);
	text_copy(row->pod_id, sizeof(row->pod_id), pod_id);
	text_copy(row->uid, sizeof(row->uid), uid);
	text_copy(row->name, sizeof(row->name), name);
	return row;
}

static void note_sandbox(struct runtimes *runtimes, const char *id, const char *uid)
{
	struct runtime_sandbox *sandbox;

	for (uint32_t i = 0; i < runtimes->nr_sandboxes; i++)
		if (!strcmp(runtimes->sandboxes[i].id, id))
			return;
	sandbox = add_row((void **)&runtimes->sandboxes, &runtimes->nr_sandboxes,
			  &runtimes->max_sandboxes, sizeof(*sandbox));
	if (!sandbox)
		return;
	text_copy(sandbox->id, sizeof(sandbox->id), id);
	text_copy(sandbox->uid, sizeof(sandbox->uid), uid);
}

static bool has_sandbox(const struct runtimes *runtimes, const char *uid)
{
	for (uint32_t i = 0; i < runtimes->nr_sandboxes; i++)
		if (!strcmp(runtimes->sandboxes[i].uid, uid))
			return true;
	return false;
}

static bool has_instance(const struct runtimes *runtimes, const char *uid, const char *name)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (!strcmp(runtimes->rows[i].uid, uid) && !strcmp(runtimes->rows[i].name, name))
			return true;
	return false;
}

/* NULL also if the pod is of another source, whatever its uid. */
static const struct ledger_pod *find_pod(const struct controller *controller, const char *uid)
{
	const struct ledger_pod *pod = *uid ? ledger_find(controller->ledger, uid) : NULL;

	return pod && pod->spec->is_of_runtime ? pod : NULL;
}

static const struct grant *find_grant(const struct controller *controller, const char *uid,
				      const char *name)
{
	const struct ledger_pod *pod = find_pod(controller, uid);

	return pod ? ledger_find_grant(pod, name) : NULL;
}

static bool is_exclusive(const struct controller *controller, const char *uid, const char *name)
{
	const struct grant *grant = find_grant(controller, uid, name);

	return grant && grant->isolation == ISOLATION_CONTAINER;
}

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * The CPUs that a container is to have. A CPU that is offline would make the runtime's write
 * fail. Empty if all are offline: then there is nothing better than what it has.
 */
static struct cpuset wanted_cpus(const struct controller *controller, const struct runtime_row *row)
{
	const struct grant *grant = find_grant(controller, row->uid, row->name);
	struct cpuset cpus = grant ? *ledger_effective(controller->ledger, grant)
				   : *ledger_shared_pool(controller->ledger);

	cpuset_intersect(&cpus, &controller->online);
	return cpus;
}

/* An answer that is being composed. The lists are owned; text is allocated at its full size. */
struct composition {
	struct runtime_change *changes;
	uint32_t nr_changes;
	char *own; /* of the container that is created; NULL = none */
};

static void composition_fini(struct composition *composition)
{
	for (uint32_t i = 0; i < composition->nr_changes; i++)
		free((char *)(uintptr_t)composition->changes[i].cpus);
	free(composition->changes);
	free(composition->own);
}

static char *format_cpus(const struct cpuset *cpus)
{
	char text[CPUSET_TEXT_MAX];

	cpuset_format(cpus, text, sizeof(text));
	return strdup(text);
}

static int add_change(struct composition *composition, const struct runtime_row *row,
		      const struct cpuset *cpus)
{
	char *text = format_cpus(cpus);

	if (!text)
		return -ENOMEM;
	composition->changes[composition->nr_changes++] = (struct runtime_change){row->id, text};
	return 0;
}

/*
 * All changes that are due, those that take CPUs away first: an owner's set has to be free of
 * others before it grows. `always_id` is included in any case, `created_id` is not a change.
 */
static int compose_changes(const struct controller *controller, const char *created_id,
			   const char *always_id, struct composition *composition)
{
	const struct runtimes *runtimes = &controller->runtimes;
	int r = 0;

	composition->changes = calloc(runtimes->nr_rows + 1, sizeof(*composition->changes));
	if (!composition->changes)
		return -ENOMEM;
	for (int grows = 0; grows < 2; grows++) {
		for (uint32_t i = 0; !r && i < runtimes->nr_rows; i++) {
			const struct runtime_row *row = &runtimes->rows[i];
			struct cpuset cpus = wanted_cpus(controller, row);
			bool is_owner = is_exclusive(controller, row->uid, row->name);
			bool is_growth = is_owner || (!cpuset_is_empty(&row->told) &&
						      cpuset_is_subset(&row->told, &cpus));

			if (is_growth != grows || cpuset_is_empty(&cpus) ||
			    (created_id && !strcmp(row->id, created_id)))
				continue;
			if (!cpuset_equal(&cpus, &row->told) ||
			    (always_id && !strcmp(row->id, always_id)))
				r = add_change(composition, row, &cpus);
		}
	}
	return r;
}

/* Of its own pod's CPUs init containers and others may have the same ones. */
static bool is_behind(const struct controller *controller, const struct runtime_row *row,
		      const struct cpuset *exclusive)
{
	const struct ledger_pod *pod = find_pod(controller, row->uid);
	struct cpuset cpus = row->told;

	if (pod)
		cpuset_subtract(&cpus, &pod->held);
	return cpuset_intersects(&cpus, exclusive);
}

void ctl_runtime_check(struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;
	char message[ROW_DETAIL_MAX];
	struct cpu_states states;
	uint32_t nr = 0;

	ledger_cpu_states(controller->ledger, &states);
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		nr += is_behind(controller, &runtimes->rows[i], &states.exclusive);
	if (!nr) {
		findings_clear(&controller->findings, "runtime_behind");
		return;
	}
	snprintf(message, sizeof(message),
		 "%u container%s of the runtime may run on exclusive CPUs of other pods until the "
		 "runtime asks about any container again",
		 nr, nr == 1 ? "" : "s");
	findings_update(&controller->findings, "runtime_behind", message,
			"update or restart any container of the runtime");
}

/* The runtime carries them out now. */
static void note_told(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		struct cpuset cpus = wanted_cpus(controller, &runtimes->rows[i]);

		if (!cpuset_is_empty(&cpus))
			runtimes->rows[i].told = cpus;
	}
	ctl_runtime_check(controller);
}

static int send_answer(struct controller *controller, uint32_t request,
		       const struct runtime_answer *answer)
{
	const struct runtime_port *port = controller->ports.runtime;
	int r = port ? port->answer(port->self, request, answer) : -ENOTCONN;

	if (r)
		log_warn(r, "runtime: an answer could not be given; the next session repeats it");
	return r;
}

/* `created_id` is the container that is being created, or NULL. */
static void answer_changes(struct controller *controller, uint32_t request, const char *created_id,
			   const char *always_id)
{
	struct composition composition cleanup(composition_fini) = {0};
	/* Whoever has no row, for lack of memory or since its id is too long, shares. */
	const struct runtime_row nobody = {.uid = ""}, *row = NULL;
	struct runtime_answer answer = {.cpus = ""};
	struct cpuset cpus;
	int r = compose_changes(controller, created_id, always_id, &composition);

	if (created_id)
		row = find_row(&controller->runtimes, created_id);
	if (!r && created_id) {
		cpus = wanted_cpus(controller, row ? row : &nobody);
		composition.own = format_cpus(&cpus);
		r = composition.own ? 0 : -ENOMEM;
	}
	/* The runtime goes on without an answer. An empty one at least does not cost the session. */
	if (r) {
		log_err(r, "runtime: a container goes without its CPUs until the next answer");
		send_answer(controller, request, &answer);
		return;
	}
	answer.cpus = composition.own ? composition.own : "";
	answer.changes = composition.changes;
	answer.nr_changes = composition.nr_changes;
	if (!send_answer(controller, request, &answer))
		note_told(controller);
}

/* --- events ----------------------------------------------------------------------------------- */

static void record_event(struct controller *controller, struct event_record event,
			 const struct pod_spec *pod, const char *container)
{
	struct event_row row = {.record = event};

	lookup_pod_label(pod, row.pod, sizeof(row.pod));
	text_copy(row.container, sizeof(row.container), container);
	event_log_add(&controller->events, &row);
}

static void record_refusal(struct controller *controller, const struct pod_spec *pod,
			   const char *container, const struct decision *decision, const char *then)
{
	struct event_record event = EVENT_RECORD(EVENT_REFUSE);

	text_copy(event.refusal.reason, sizeof(event.refusal.reason), decision->reason);
	text_copy(event.refusal.message, sizeof(event.refusal.message), decision->message);
	text_copy(event.refusal.suggestion, sizeof(event.refusal.suggestion), then);
	record_event(controller, event, pod, container);
	refusals_count(&controller->admission.refusals, decision->refusal);
}

/* --- decisions -------------------------------------------------------------------------------- */

static void decide_invalid(struct decision *decision, const char *error)
{
	*decision = (struct decision){.refusal = REFUSAL_SPEC, .wanted = -1, .available = -1};
	snprintf(decision->reason, sizeof(decision->reason), "InvalidPod");
	text_copy(decision->message, sizeof(decision->message), error);
}

/* Neither admitted nor refused by the ledger: an error came between. */
static void decide_failed(struct decision *decision, int error)
{
	refusals_say_unsaved(decision, error);
	if (error != -ENOMEM)
		return;
	text_copy(decision->message, sizeof(decision->message),
		  "the agent has no memory to decide it");
	*decision->suggestion = '\0';
}

/* What has changed in the ledger is to be saved, published and applied to the other pods. */
static void follow_up(struct controller *controller)
{
	dirty_mark_ledger(&controller->dirty);
	wakes_schedule(&controller->wakes, 0);
}

/*
 * End the open transaction. 0 = the grant is in the ledger. -EINPROGRESS: it is not, and is
 * decided again when the save has ended. Another errno: it cannot be saved.
 */
static int keep(struct controller *controller, const struct pod_spec *pod, const char *name)
{
	bool must_last = is_exclusive(controller, pod->uid, name);
	int r = ledger_set_state(controller->ledger, pod->uid, POD_RUNNING, DETAIL);

	if (!r)
		r = ctl_save_state(controller);
	if (r && must_last) {
		ledger_abort(controller->ledger);
		return r;
	}
	ledger_commit(controller->ledger);
	follow_up(controller);
	return 0;
}

/* 0 or -EINPROGRESS; the decision says what became of it. */
static int decide(struct controller *controller, const struct pod_spec *pod,
		  const struct container_spec *container, struct decision *decision)
{
	bool is_new = !find_grant(controller, pod->uid, container->name);
	struct event_record event = EVENT_RECORD(EVENT_ADMIT);
	int r = container_prepare(controller->ledger, pod, container, decision);

	if (r == -EINVAL) {
		decide_invalid(decision, "its uid is that of a pod of another source, or it has "
					 "too many containers");
		return 0;
	}
	if (!r && decision->admitted)
		r = keep(controller, pod, container->name);
	if (r == -EINPROGRESS)
		return r;
	if (r) {
		decide_failed(decision, r);
	} else if (decision->admitted && is_new) {
		admission_count_grant(&controller->admission,
				      ledger_find(controller->ledger, pod->uid), container->name);
		event.admit_reason = ADMIT_NEW;
		record_event(controller, event, pod, container->name);
	}
	return 0;
}

static void put_on_shared_pool(struct controller *controller, const struct pod_spec *pod,
			       const struct container_spec *container)
{
	int r = container_prepare_shared(controller->ledger, pod, container);

	if (!r)
		r = keep(controller, pod, container->name);
	if (r)
		log_err(r, "runtime: container %s is not recorded", container->name);
}

/* --- creation --------------------------------------------------------------------------------- */

static void deny(struct controller *controller, uint32_t request, const struct decision *decision)
{
	char refusal[sizeof(decision->reason) + sizeof(decision->message) + 16];

	snprintf(refusal, sizeof(refusal), "pinfold: %s: %s", decision->reason, decision->message);
	send_answer(controller, request, &(struct runtime_answer){.cpus = "", .refusal = refusal});
}

/* False: it was denied. */
static bool refuse(struct controller *controller, uint32_t request, const struct pod_spec *pod,
		   const struct container_spec *container, const struct decision *decision)
{
	bool shares = controller->options.config->runtime_refusals == RUNTIME_REFUSALS_SHARE;

	record_refusal(controller, pod, container ? container->name : "", decision,
		       shares ? "it runs on the shared pool instead" : "");
	if (!shares) {
		deny(controller, request, decision);
		return false;
	}
	if (container && decision->refusal != REFUSAL_SPEC)
		put_on_shared_pool(controller, pod, container);
	return true;
}

/* It is in the ledger, or shares: follow it, and let the runtime go on. */
static void finish(struct controller *controller, const struct runtime_waiting *creation)
{
	struct runtimes *runtimes = &controller->runtimes;
	const char *uid = creation->pod->uid;

	note_sandbox(runtimes, creation->pod_id, uid);
	if (!note_container(runtimes, creation->id, creation->pod_id, uid,
			    creation->container.name))
		log_err(-ENOMEM, "runtime: a container is not followed");
	answer_changes(controller, creation->request, creation->id, NULL);
}

static void wait_for_save(struct controller *controller, const struct runtime_waiting *waiting)
{
	struct runtimes *runtimes = &controller->runtimes;
	struct decision decision;

	if (runtimes->nr_waiting == RUNTIME_MAX_WAITING) {
		refusals_say_unsaved(&decision, -EBUSY);
		deny(controller, waiting->request, &decision);
		return;
	}
	runtimes->waiting[runtimes->nr_waiting] = *waiting;
	runtimes->waiting[runtimes->nr_waiting].pod = pod_spec_copy(waiting->pod);
	if (runtimes->waiting[runtimes->nr_waiting].pod)
		runtimes->nr_waiting++;
	else
		answer_changes(controller, waiting->request, NULL, NULL);
}

static void create(struct controller *controller, const struct runtime_waiting *creation)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	const struct pod_spec *pod = creation->pod;
	int r = decision ? decide(controller, pod, &creation->container, decision) : -ENOMEM;

	if (r == -EINPROGRESS)
		return wait_for_save(controller, creation);
	if (!r && !decision->admitted &&
	    !refuse(controller, creation->request, pod, &creation->container, decision))
		return;
	finish(controller, creation);
}

static bool is_valid(const struct runtime_container *container, const char **ret_error)
{
	*ret_error = container->error;
	if (!container->pod->spec)
		*ret_error = container->pod->error;
	else if (strlen(container->id) >= RUNTIME_ID_MAX ||
		 strlen(container->pod->id) >= RUNTIME_ID_MAX)
		*ret_error = "the runtime's id of the container or its sandbox is too long";
	else
		return container->spec;
	return false;
}

void ctl_runtime_created(void *self, uint32_t request, const struct runtime_container *container)
{
	struct controller *controller = self;
	struct runtime_waiting creation = {.request = request};
	const struct pod_spec nobody = {.uid = ""};
	struct decision decision;
	const char *error;

	if (is_valid(container, &error)) {
		creation.pod = (struct pod_spec *)(uintptr_t)container->pod->spec;
		creation.container = *container->spec;
		text_copy(creation.id, sizeof(creation.id), container->id);
		text_copy(creation.pod_id, sizeof(creation.pod_id), container->pod->id);
		create(controller, &creation);
		return;
	}
	decide_invalid(&decision, error);
	if (!refuse(controller, request, container->pod->spec ? container->pod->spec : &nobody,
		    NULL, &decision))
		return;
	if (strlen(container->id) < RUNTIME_ID_MAX)
		note_container(&controller->runtimes, container->id, container->pod->id, "", "");
	answer_changes(controller, request, container->id, NULL);
}

void ctl_runtime_resume(struct controller *controller, int result)
{
	struct runtimes *runtimes = &controller->runtimes;
	uint32_t nr = runtimes->nr_waiting;

	for (uint32_t i = 0; i < nr && runtimes->nr_waiting; i++) {
		struct runtime_waiting creation = runtimes->waiting[0];
		struct pod_spec *pod cleanup_pod_spec = TAKE_PTR(runtimes->waiting[0].pod);
		struct decision decision;

		drop_waiting(runtimes, 0);
		if (!result) {
			create(controller, &creation);
			continue;
		}
		decide_failed(&decision, result);
		if (refuse(controller, creation.request, pod, &creation.container, &decision))
			finish(controller, &creation);
	}
}

/* --- the end of containers and pods ----------------------------------------------------------- */

static void drop_row(struct runtimes *runtimes, struct runtime_row *row)
{
	*row = runtimes->rows[--runtimes->nr_rows];
}

/* Pods of manifests that were refused may fit now. */
static void note_release(struct controller *controller)
{
	ctl_save_state(controller);
	follow_up(controller);
	if (controller->admission.is_source_complete)
		ctl_decide_refused(controller);
}

static void end_pod(struct controller *controller, const char *uid)
{
	const struct ledger_pod *pod = find_pod(controller, uid);
	struct pod_spec *spec cleanup_pod_spec = NULL;

	if (!pod)
		return;
	spec = pod_spec_copy(pod->spec);
	if (ledger_remove(controller->ledger, uid))
		return;
	note_release(controller);
	admission_count_release(&controller->admission);
	if (spec)
		record_event(controller, EVENT_RECORD(EVENT_POD_RELEASE), spec, "");
}

void ctl_runtime_removed(void *self, const char *container_id)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	struct runtime_row *found = find_row(runtimes, container_id), row;
	const struct ledger_pod *pod;

	if (!found)
		return;
	row = *found;
	drop_row(runtimes, found);
	ctl_runtime_check(controller);
	pod = find_pod(controller, row.uid);
	if (!pod || has_instance(runtimes, row.uid, row.name))
		return;
	if (pod->nr_grants == 1) {
		end_pod(controller, row.uid);
		return;
	}
	if (!container_release(controller->ledger, row.uid, row.name))
		note_release(controller);
}

void ctl_runtime_pod_stopped(void *self, const char *pod_id)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	char uid[POD_UID_MAX] = "";

	for (uint32_t i = runtimes->nr_rows; i-- > 0;)
		if (!strcmp(runtimes->rows[i].pod_id, pod_id))
			drop_row(runtimes, &runtimes->rows[i]);
	ctl_runtime_check(controller);
	for (uint32_t i = runtimes->nr_sandboxes; i-- > 0;) {
		if (strcmp(runtimes->sandboxes[i].id, pod_id))
			continue;
		memcpy(uid, runtimes->sandboxes[i].uid, sizeof(uid));
		runtimes->sandboxes[i] = runtimes->sandboxes[--runtimes->nr_sandboxes];
	}
	if (*uid && !has_sandbox(runtimes, uid))
		end_pod(controller, uid);
}

void ctl_runtime_stopped(void *self, uint32_t request, const char *container_id)
{
	answer_changes(self, request, NULL, NULL);
}

/* The runtime would write the CPUs that it was asked for: state ours in any case. */
void ctl_runtime_resized(void *self, uint32_t request, const char *container_id)
{
	answer_changes(self, request, NULL, container_id);
}

/* --- a new session ---------------------------------------------------------------------------- */

/* CPUs that the runtime has recorded for it stay as they are, if it is entitled to so many. */
static void adopt(struct controller *controller, const struct runtime_container *container)
{
	struct cpuset cpus;

	if (find_grant(controller, container->pod->spec->uid, container->spec->name))
		return;
	if (cpuset_parse(container->cpus, strlen(container->cpus), &cpus) ||
	    cpuset_is_empty(&cpus) ||
	    container_prepare_as(controller->ledger, container->pod->spec, container->spec, &cpus))
		return;
	/* Not yet durable, but the runtime has recorded the same. */
	ledger_commit(controller->ledger);
}

/* Then it keeps them until it is created anew, although it may have been resized in place. */
static bool has_its_cpus(const struct controller *controller,
			 const struct runtime_container *container)
{
	const struct grant *grant =
		find_grant(controller, container->pod->spec->uid, container->spec->name);
	struct cpuset cpus;

	return grant && grant->isolation == ISOLATION_CONTAINER &&
	       !cpuset_parse(container->cpus, strlen(container->cpus), &cpus) &&
	       cpuset_equal(&cpus, &grant->cpus);
}

/* A container that runs is not denied anything any more: it shares if it cannot have its CPUs. */
static void take_over(struct controller *controller, const struct runtime_container *container)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	const struct pod_spec *pod = container->pod->spec;
	int r;

	if (!decision)
		return;
	if (has_its_cpus(controller, container)) {
		ledger_set_state(controller->ledger, pod->uid, POD_RUNNING, DETAIL);
		return;
	}
	r = container_prepare(controller->ledger, pod, container->spec, decision);
	if (!r && decision->admitted) {
		r = ledger_set_state(controller->ledger, pod->uid, POD_RUNNING, DETAIL);
		ledger_commit(controller->ledger);
	}
	if (r || decision->admitted)
		return;
	record_refusal(controller, pod, container->spec->name, decision,
		       "it runs on the shared pool instead");
	put_on_shared_pool(controller, pod, container->spec);
}

static void note_found(struct controller *controller, const struct runtime_container *container,
		       bool is_known)
{
	struct runtime_row *row = note_container(&controller->runtimes, container->id,
						 container->pod->id,
						 is_known ? container->pod->spec->uid : "",
						 is_known ? container->spec->name : "");

	if (!row)
		return;
	/*
	 * Somebody may have written the cgroup behind the runtime's back. An owner's CPUs are
	 * therefore stated again; for the others the record will do, since each change costs the
	 * runtime a process.
	 */
	if (is_exclusive(controller, row->uid, row->name) ||
	    cpuset_parse(container->cpus, strlen(container->cpus), &row->told))
		row->told = CPUSET_EMPTY;
}

static void end_unlisted(struct controller *controller)
{
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);
		char uid[POD_UID_MAX];

		memcpy(uid, pod->spec->uid, sizeof(uid));
		if (pod->spec->is_of_runtime && !has_sandbox(&controller->runtimes, uid))
			end_pod(controller, uid);
	}
}

void ctl_runtime_synchronized(void *self, uint32_t request, const struct runtime_snapshot *snapshot)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	const char *error;

	ctl_runtime_ended(controller);
	runtimes->nr_rows = runtimes->nr_sandboxes = 0;
	for (uint32_t i = 0; i < snapshot->nr_pods; i++)
		if (snapshot->pods[i].spec && strlen(snapshot->pods[i].id) < RUNTIME_ID_MAX)
			note_sandbox(runtimes, snapshot->pods[i].id, snapshot->pods[i].spec->uid);
	/* What is gone makes room, and what has its CPUs already comes before the others. */
	end_unlisted(controller);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++)
		if (is_valid(&snapshot->containers[i], &error))
			adopt(controller, &snapshot->containers[i]);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *container = &snapshot->containers[i];
		bool is_known = is_valid(container, &error);

		if (is_known)
			take_over(controller, container);
		else
			log_warn(0, "runtime: container %.64s runs on the shared pool: %s",
				 container->id, error);
		if (strlen(container->id) < RUNTIME_ID_MAX)
			note_found(controller, container, is_known);
	}
	runtimes->is_synchronized = true;
	ctl_save_state(controller);
	follow_up(controller);
	answer_changes(controller, request, NULL, NULL);
}

void ctl_runtime_ended(void *self)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;

	while (runtimes->nr_waiting)
		drop_waiting(runtimes, 0);
	runtimes->is_synchronized = false;
}
