// SPDX-License-Identifier: Apache-2.0
/*
 * Decides on one container that a runtime names, and makes the grant durable before the
 * runtime learns of it, if it is exclusive.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"
#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/log.h"

#define DETAIL                                                                              \
	"the container runtime made its cgroups; pinfold sets their CPUs, and neither the " \
	"partition nor the guard covers them"

void ctl_runtime_record(struct controller *controller, struct event_record event,
			const struct pod_spec *pod, const char *container)
{
	struct event_row row = {.record = event};

	lookup_pod_label(pod, row.pod, sizeof(row.pod));
	text_copy(row.container, sizeof(row.container), container);
	event_log_add(&controller->events, &row);
}

void ctl_runtime_record_refusal(struct controller *controller, const struct pod_spec *pod,
				const char *container, const struct decision *decision,
				const char *then)
{
	struct event_record event = EVENT_RECORD(EVENT_REFUSE);

	text_copy(event.refusal.reason, sizeof(event.refusal.reason), decision->reason);
	text_copy(event.refusal.message, sizeof(event.refusal.message), decision->message);
	text_copy(event.refusal.suggestion, sizeof(event.refusal.suggestion), then);
	ctl_runtime_record(controller, event, pod, container);
	refusals_count(&controller->admission.refusals, decision->refusal);
	allocations_count_refusal(&controller->admission.allocations, controller->ledger, pod,
				  decision);
}

void runtime_decide_invalid(struct decision *decision, const char *error)
{
	*decision = (struct decision){.refusal = REFUSAL_SPEC, .wanted = -1, .available = -1};
	snprintf(decision->reason, sizeof(decision->reason), "InvalidPod");
	text_copy(decision->message, sizeof(decision->message), error);
}

/* Neither admitted nor refused by the ledger: an error came between. */
void runtime_decide_failed(struct decision *decision, int error)
{
	refusals_say_unsaved(decision, error);
	if (error != -ENOMEM)
		return;
	text_copy(decision->message, sizeof(decision->message),
		  "the agent has no memory to decide it");
	*decision->suggestion = '\0';
}

void ctl_runtime_follow_up(struct controller *controller)
{
	dirty_mark_ledger(&controller->dirty);
	wakes_schedule(&controller->wakes, 0);
}

int ctl_runtime_note_running(struct controller *controller, const char *uid)
{
	return ledger_set_state(controller->ledger, uid, POD_RUNNING, DETAIL);
}

/*
 * End the open transaction. 0 = the grant is in the ledger. -EINPROGRESS: it is not, and is
 * decided again when the save has ended. Another errno: it cannot be saved.
 */
static int keep(struct controller *controller, const struct pod_spec *pod, const char *name)
{
	const struct grant *grant = ctl_runtime_grant(controller, pod->uid, name);
	/* What the runtime is told of it, others must never get. */
	bool must_last = grant && (grant->isolation != ISOLATION_HOST || grant->mems);
	int r = ctl_runtime_note_running(controller, pod->uid);

	if (!r)
		r = ctl_save_state(controller);
	if (r && must_last) {
		ledger_abort(controller->ledger);
		return r;
	}
	ledger_commit(controller->ledger);
	ctl_runtime_follow_up(controller);
	return 0;
}

int ctl_runtime_decide(struct controller *controller, const struct pod_spec *pod,
		       const struct container_spec *container, struct decision *decision)
{
	bool is_new = !ctl_runtime_grant(controller, pod->uid, container->name);
	struct event_record event = EVENT_RECORD(EVENT_ADMIT);
	int r = container_prepare(controller->ledger, pod, container, decision);

	if (r == -EINVAL) {
		runtime_decide_invalid(decision,
				       "its uid is that of a pod of another source, or it has "
				       "too many containers");
		return 0;
	}
	if (!r && decision->admitted)
		r = keep(controller, pod, container->name);
	if (r == -EINPROGRESS)
		return r;
	if (r) {
		runtime_decide_failed(decision, r);
	} else if (decision->admitted && is_new) {
		admission_count_grant(&controller->admission, controller->ledger,
				      ledger_find(controller->ledger, pod->uid), container->name);
		event.admit_reason = ADMIT_NEW;
		ctl_runtime_record(controller, event, pod, container->name);
	}
	return 0;
}

static struct cpuset cpus_of(const struct controller *controller, const struct pod_spec *pod,
			     const char *container)
{
	const struct grant *grant = ctl_runtime_grant(controller, pod->uid, container);

	return grant ? *grant->cpus : CPUSET_EMPTY;
}

void ctl_runtime_note_resize(struct controller *controller, const struct pod_spec *pod,
			     const char *container, const struct cpuset *before)
{
	struct event_record event = EVENT_RECORD(EVENT_ADMIT);
	struct cpuset cpus = cpus_of(controller, pod, container);

	if (cpuset_equal(&cpus, before))
		return;
	admission_count_resize(&controller->admission, controller->ledger,
			       ledger_find(controller->ledger, pod->uid), container);
	event.admit_reason = ADMIT_RESIZED;
	ctl_runtime_record(controller, event, pod, container);
}

bool ctl_runtime_can_resize(const struct controller *controller,
			    const struct runtime_container *container)
{
	const struct pod_spec *spec = container->pod->spec;
	const struct ledger_pod *pod = ctl_runtime_pod(controller, spec->uid);

	return pod && ledger_find_grant(pod, container->spec->name) &&
	       (pod->spec->has_pod_resources || !spec->has_pod_resources);
}

int ctl_runtime_decide_resize(struct controller *controller, const struct pod_spec *pod,
			      const struct container_spec *container, struct decision *decision)
{
	struct cpuset before = cpus_of(controller, pod, container->name);
	int r = container_prepare_resize(controller->ledger, pod->uid, container, decision);

	if (!r && decision->admitted)
		r = keep(controller, pod, container->name);
	if (r == -EINPROGRESS)
		return r;
	if (r)
		runtime_decide_failed(decision, r);
	else if (decision->admitted)
		ctl_runtime_note_resize(controller, pod, container->name, &before);
	return 0;
}

void ctl_runtime_share(struct controller *controller, const struct pod_spec *pod,
		       const struct container_spec *container)
{
	int r = container_prepare_shared(controller->ledger, pod, container);

	if (!r)
		r = keep(controller, pod, container->name);
	if (r)
		log_err(r, "runtime: cannot record container %s, which shares the pool",
			container->name);
}

bool runtime_decide_is_valid(const struct runtime_container *container, const char **ret_error)
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
