// SPDX-License-Identifier: Apache-2.0
/*
 * Containers of a runtime that are created, resized, stopped and removed, and the pods that
 * end with them.
 */
#include "ctl/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/admit/admit.h"
#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/log.h"

void runtime_fini(struct runtimes *runtimes)
{
	while (runtimes->nr_waiting)
		runtime_rows_drop_waiting(runtimes, 0);
	free(runtimes->rows);
	free(runtimes->sandboxes);
}

/* --- releases --------------------------------------------------------------------------------- */

/* Whoever was refused may fit now. */
static void note_release(struct controller *controller)
{
	ctl_save_state(controller);
	ctl_runtime_follow_up(controller);
	ctl_offer_room(controller);
	ctl_runtime_offer(controller);
}

void ctl_runtime_end_pod(struct controller *controller, const char *uid)
{
	const struct ledger_pod *pod = ctl_runtime_pod(controller, uid);
	struct pod_spec *spec cleanup_pod_spec = NULL;

	if (!pod)
		return;
	spec = pod_spec_copy(pod->spec);
	if (ledger_remove(controller->ledger, uid))
		return;
	note_release(controller);
	if (spec)
		ctl_runtime_record(controller, EVENT_RECORD(EVENT_POD_RELEASE), spec, "");
}

/* The pod may be gone afterwards. */
static void end_container(struct controller *controller, const struct ledger_pod *pod,
			  const char *name)
{
	char uid[POD_UID_MAX], ended[POD_CONTAINER_NAME];

	memcpy(uid, pod->spec->uid, sizeof(uid));
	text_copy(ended, sizeof(ended), name);
	if (pod->nr_grants == 1)
		ctl_runtime_end_pod(controller, uid);
	else if (!container_release(controller->ledger, uid, ended))
		note_release(controller);
}

static bool has_no_kinds(const struct controller *controller)
{
	const struct runtime_port *port = controller->ports.runtime;

	return port && port->has_no_kinds;
}

/*
 * Who has run together is in the ledger, also after a restart: an init container leaves it before the next
 * container of the pod gets in. Ephemeral containers have no company, and are none.
 */
static bool has_company(const struct ledger_pod *pod, const char *name)
{
	bool counts = false, has_others = false;

	for (uint32_t i = 0; i < pod->spec->nr_containers; i++) {
		const struct container_spec *container = &pod->spec->containers[i];

		if (!container_has_amounts(container))
			continue;
		if (!strcmp(container->name, name))
			counts = true;
		else
			has_others = true;
	}
	return counts && has_others;
}

void ctl_runtime_end_predecessor(struct controller *controller, const struct pod_spec *pod,
				 const struct container_spec *container)
{
	const struct ledger_pod *known = ctl_runtime_pod(controller, pod->uid);

	if (!has_no_kinds(controller) || !known || !container_has_amounts(container) ||
	    ledger_find_grant(known, container->name))
		return;
	for (uint32_t i = 0; i < known->spec->nr_containers; i++) {
		const struct container_spec *ended = &known->spec->containers[i];

		if (!container_has_amounts(ended) || has_company(known, ended->name) ||
		    runtime_rows_has_instance(&controller->runtimes, pod->uid, ended->name))
			continue;
		end_container(controller, known, ended->name);
		return;
	}
}

/* --- creation --------------------------------------------------------------------------------- */

static void deny(struct controller *controller, uint32_t request, const struct decision *decision)
{
	char refusal[sizeof(decision->reason) + sizeof(decision->message) +
		     sizeof(decision->suggestion) + 16];

	snprintf(refusal, sizeof(refusal), "pinfold: %s: %s%s%s", decision->reason,
		 decision->message, *decision->suggestion ? "; " : "", decision->suggestion);
	ctl_runtime_send(controller, request,
			 &(struct runtime_answer){.cpus = "", .refusal = refusal});
}

/* False: it was denied. */
static bool refuse(struct controller *controller, uint32_t request, const struct pod_spec *pod,
		   const struct container_spec *container, const struct decision *decision)
{
	bool shares = ctl_runtime_shares_refused(controller);

	ctl_runtime_record_refusal(controller, pod, container ? container->name : "", decision,
				   shares ? "it runs on the shared pool instead" : "");
	if (!shares) {
		deny(controller, request, decision);
		return false;
	}
	if (container && decision->refusal != REFUSAL_SPEC)
		ctl_runtime_share(controller, pod, container);
	return true;
}

/* It is in the ledger, or shares: follow it, and let the runtime go on. */
static void finish(struct controller *controller, const struct runtime_waiting *creation)
{
	struct runtimes *runtimes = &controller->runtimes;
	const char *uid = creation->pod->uid;

	runtime_rows_note_sandbox(runtimes, creation->pod_id, uid);
	if (!runtime_rows_note(runtimes, creation->id, creation->pod_id, uid,
			       creation->container.name))
		log_err(-ENOMEM,
			"runtime: cannot follow a container, so its CPUs do not change with the pool");
	runtime_rows_set_cgroup(runtimes, creation->id, creation->cgroup);
	ctl_runtime_answer(controller, creation->request, creation->id, NULL);
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
		ctl_runtime_answer(controller, waiting->request, NULL,
				   waiting->is_resize ? waiting->id : NULL);
}

/* More room may help it, unless what it asks for is not valid. */
static void note_shortage(struct controller *controller, const char *id, int r,
			  const struct decision *decision)
{
	struct runtime_row *row = runtime_rows_find(&controller->runtimes, id);

	if (row)
		row->is_short = !r && !decision->admitted && decision->refusal != REFUSAL_SPEC;
}

static void create(struct controller *controller, const struct runtime_waiting *creation)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	const struct pod_spec *pod = creation->pod;
	int r;

	if (ctl_runtime_is_others(controller, pod->uid, creation->container.name))
		return finish(controller, creation);
	r = decision ? ctl_runtime_decide(controller, pod, &creation->container, decision)
		     : -ENOMEM;

	if (r == -EINPROGRESS)
		return wait_for_save(controller, creation);
	admission_count_duration(&controller->admission,
				 clock_now_ns(controller->ports.clock) - creation->since_ns);
	if (!r && !decision->admitted &&
	    !refuse(controller, creation->request, pod, &creation->container, decision))
		return;
	finish(controller, creation);
	note_shortage(controller, creation->id, r, decision);
}

void ctl_runtime_created(void *self, uint32_t request, const struct runtime_container *container)
{
	struct controller *controller = self;
	struct runtime_waiting creation = {.request = request};
	const struct pod_spec nobody = {.uid = ""};
	struct decision decision;
	const char *error;

	if (runtime_decide_is_valid(container, &error)) {
		ctl_runtime_end_predecessor(controller, container->pod->spec, container->spec);
		creation.since_ns = clock_now_ns(controller->ports.clock);
		creation.pod = (struct pod_spec *)(uintptr_t)container->pod->spec;
		creation.container = *container->spec;
		text_copy(creation.id, sizeof(creation.id), container->id);
		text_copy(creation.pod_id, sizeof(creation.pod_id), container->pod->id);
		if (container->cgroup && strlen(container->cgroup) < sizeof(creation.cgroup))
			text_copy(creation.cgroup, sizeof(creation.cgroup), container->cgroup);
		create(controller, &creation);
		return;
	}
	runtime_decide_invalid(&decision, error);
	if (!refuse(controller, request, container->pod->spec ? container->pod->spec : &nobody,
		    NULL, &decision))
		return;
	if (strlen(container->id) < RUNTIME_ID_MAX)
		runtime_rows_note(&controller->runtimes, container->id, container->pod->id, "", "");
	runtime_rows_set_cgroup(&controller->runtimes, container->id, container->cgroup);
	ctl_runtime_answer(controller, request, container->id, NULL);
}

/* --- resize in place -------------------------------------------------------------------------- */

/* False: it was denied. */
static bool refuse_resize(struct controller *controller, const struct runtime_waiting *resize,
			  const struct decision *decision)
{
	bool goes_on = ctl_runtime_shares_refused(controller);

	allocations_count_resize(&controller->admission.allocations, false);
	ctl_runtime_record_refusal(controller, resize->pod, resize->container.name, decision,
				   goes_on ? "it keeps the CPUs that it has"
					   : decision->suggestion);
	if (!goes_on)
		deny(controller, resize->request, decision);
	return goes_on;
}

static void answer_resize(struct controller *controller, const struct runtime_waiting *resize)
{
	ctl_runtime_answer(controller, resize->request, NULL, resize->id);
}

/* Only what is due to others. */
static void answer_nothing(struct controller *controller, const struct runtime_waiting *resize)
{
	ctl_runtime_answer(controller, resize->request, NULL, NULL);
}

static void resize(struct controller *controller, const struct runtime_waiting *resize)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	int r;

	/* It may have ended while this waited. */
	if (!ctl_runtime_grant(controller, resize->pod->uid, resize->container.name))
		return answer_resize(controller, resize);
	r = decision ? ctl_runtime_decide_resize(controller, resize->pod, &resize->container,
						 decision)
		     : -ENOMEM;
	if (r == -EINPROGRESS)
		return wait_for_save(controller, resize);
	note_shortage(controller, resize->id, r, decision);
	if (resize->is_retry && (r || !decision->admitted))
		return answer_nothing(controller, resize);
	admission_count_duration(&controller->admission,
				 clock_now_ns(controller->ports.clock) - resize->since_ns);
	if (r || decision->admitted || refuse_resize(controller, resize, decision))
		answer_resize(controller, resize);
}

static bool is_resize(const struct controller *controller,
		      const struct runtime_container *container)
{
	const char *error;

	return runtime_decide_is_valid(container, &error) &&
	       runtime_rows_find(&controller->runtimes, container->id) &&
	       ctl_runtime_can_resize(controller, container);
}

static void begin_resize(struct controller *controller, struct runtime_waiting *waiting,
			 const struct runtime_container *container)
{
	waiting->is_resize = true;
	waiting->since_ns = clock_now_ns(controller->ports.clock);
	waiting->pod = (struct pod_spec *)(uintptr_t)container->pod->spec;
	waiting->container = *container->spec;
	text_copy(waiting->id, sizeof(waiting->id), container->id);
	resize(controller, waiting);
}

void ctl_runtime_resized(void *self, uint32_t request, const struct runtime_container *container,
			 bool states_amounts)
{
	struct controller *controller = self;
	struct runtime_waiting waiting = {.request = request};

	/* The runtime would write the CPUs that it was asked for: state ours in any case. */
	if (states_amounts && is_resize(controller, container))
		begin_resize(controller, &waiting, container);
	else
		ctl_runtime_answer(controller, request, NULL, container->id);
}

void ctl_runtime_retried(void *self, uint32_t request, const struct runtime_container *container)
{
	struct controller *controller = self;
	struct runtime_waiting waiting = {.request = request, .is_retry = true};

	if (is_resize(controller, container))
		begin_resize(controller, &waiting, container);
	else
		answer_nothing(controller, &waiting);
}

/* Pods of manifests that were refused may get what the container has left now. */
void ctl_runtime_updated(void *self, const char *container_id)
{
	struct controller *controller = self;
	struct runtime_row *row = runtime_rows_find(&controller->runtimes, container_id);
	bool has_left;

	if (!row || cpuset_is_empty(&row->answered))
		return;
	has_left = row->is_told_own && !cpuset_is_subset(&row->told, &row->answered);
	ctl_runtime_note_told(controller, row, &row->answered, row->told_nodes);
	row->is_told_own = row->is_answered_own;
	row->answered = CPUSET_EMPTY;
	ctl_runtime_check(controller);
	if (!has_left)
		return;
	ctl_offer_room(controller);
	ctl_runtime_offer(controller);
}

/* --- after a save ----------------------------------------------------------------------------- */

void ctl_runtime_resume(struct controller *controller, int result)
{
	struct runtimes *runtimes = &controller->runtimes;
	uint32_t nr = runtimes->nr_waiting;

	for (uint32_t i = 0; i < nr && runtimes->nr_waiting; i++) {
		struct runtime_waiting waiting = runtimes->waiting[0];
		struct pod_spec *pod cleanup_pod_spec = TAKE_PTR(runtimes->waiting[0].pod);
		struct decision decision;

		runtime_rows_drop_waiting(runtimes, 0);
		if (!result) {
			(waiting.is_resize ? resize : create)(controller, &waiting);
			continue;
		}
		runtime_decide_failed(&decision, result);
		if (waiting.is_retry)
			answer_nothing(controller, &waiting);
		else if (waiting.is_resize ? refuse_resize(controller, &waiting, &decision)
					   : refuse(controller, waiting.request, pod,
						    &waiting.container, &decision))
			(waiting.is_resize ? answer_resize : finish)(controller, &waiting);
		/* The state that can be written again is as good as more room. */
		note_shortage(controller, waiting.id, 0, &decision);
	}
}

/* --- the end of containers and pods ----------------------------------------------------------- */

void ctl_runtime_removed(void *self, const char *container_id)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	struct runtime_row *found = runtime_rows_find(runtimes, container_id), row;
	const struct ledger_pod *pod;

	if (!found)
		return;
	row = *found;
	runtime_rows_drop(runtimes, found);
	ctl_runtime_check(controller);
	pod = ctl_runtime_pod(controller, row.uid);
	if (!pod || runtime_rows_has_instance(runtimes, row.uid, row.name) ||
	    (has_no_kinds(controller) && has_company(pod, row.name)))
		return;
	end_container(controller, pod, row.name);
}

void ctl_runtime_pod_stopped(void *self, const char *pod_id)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	char uid[POD_UID_MAX] = "";

	for (uint32_t i = runtimes->nr_rows; i-- > 0;)
		if (!strcmp(runtimes->rows[i].pod_id, pod_id))
			runtime_rows_drop(runtimes, &runtimes->rows[i]);
	ctl_runtime_check(controller);
	for (uint32_t i = runtimes->nr_sandboxes; i-- > 0;) {
		if (strcmp(runtimes->sandboxes[i].id, pod_id))
			continue;
		memcpy(uid, runtimes->sandboxes[i].uid, sizeof(uid));
		runtimes->sandboxes[i] = runtimes->sandboxes[--runtimes->nr_sandboxes];
	}
	if (*uid && !runtime_rows_has_sandbox(runtimes, uid))
		ctl_runtime_end_pod(controller, uid);
}

void ctl_runtime_stopped(void *self, uint32_t request, const char *container_id)
{
	ctl_runtime_answer(self, request, NULL, NULL);
}
