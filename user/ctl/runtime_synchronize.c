// SPDX-License-Identifier: Apache-2.0
/*
 * A new session of a runtime begins with all that it has: what is gone is released, what has
 * its CPUs already keeps them, and what runs is not denied anything any more.
 */
#include <string.h>

#include "core/admit/admit.h"
#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/log.h"

/* CPUs that the runtime has recorded for it stay as they are, if it is entitled to so many. */
static void adopt(struct controller *controller, const struct runtime_container *container)
{
	struct cpuset cpus;

	if (ctl_runtime_grant(controller, container->pod->spec->uid, container->spec->name))
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
		ctl_runtime_grant(controller, container->pod->spec->uid, container->spec->name);
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
		ctl_runtime_note_running(controller, pod->uid);
		return;
	}
	r = container_prepare(controller->ledger, pod, container->spec, decision);
	if (!r && decision->admitted) {
		r = ctl_runtime_note_running(controller, pod->uid);
		ledger_commit(controller->ledger);
	}
	if (r || decision->admitted)
		return;
	ctl_runtime_record_refusal(controller, pod, container->spec->name, decision,
				   "it runs on the shared pool instead");
	ctl_runtime_share(controller, pod, container->spec);
}

static void note_found(struct controller *controller, const struct runtime_container *container,
		       bool is_known)
{
	struct runtime_row *row = runtime_rows_note(&controller->runtimes, container->id,
						    container->pod->id,
						    is_known ? container->pod->spec->uid : "",
						    is_known ? container->spec->name : "");

	if (!row)
		return;
	runtime_rows_place(&controller->runtimes, container->id, container->cgroup);
	/*
	 * Somebody may have written the cgroup behind the runtime's back. An owner's CPUs are
	 * therefore stated again; for the others the record will do, since each change costs the
	 * runtime a process.
	 */
	if (ctl_runtime_is_exclusive(controller, row->uid, row->name) ||
	    cpuset_parse(container->cpus, strlen(container->cpus), &row->told))
		row->told = CPUSET_EMPTY;
}

static void end_unlisted(struct controller *controller)
{
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);
		char uid[POD_UID_MAX];

		memcpy(uid, pod->spec->uid, sizeof(uid));
		if (pod->spec->is_of_runtime &&
		    !runtime_rows_has_sandbox(&controller->runtimes, uid))
			ctl_runtime_end_pod(controller, uid);
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
			runtime_rows_note_sandbox(runtimes, snapshot->pods[i].id,
						  snapshot->pods[i].spec->uid);
	/* What is gone makes room, and what has its CPUs already comes before the others. */
	end_unlisted(controller);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++)
		if (runtime_decide_is_valid(&snapshot->containers[i], &error))
			adopt(controller, &snapshot->containers[i]);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *container = &snapshot->containers[i];
		bool is_known = runtime_decide_is_valid(container, &error);

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
	ctl_runtime_follow_up(controller);
	ctl_runtime_answer(controller, request, NULL, NULL);
}

void ctl_runtime_ended(void *self)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;

	while (runtimes->nr_waiting)
		runtime_rows_drop_waiting(runtimes, 0);
	runtimes->is_synchronized = false;
}
