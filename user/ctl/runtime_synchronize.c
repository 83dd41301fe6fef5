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

/* The memory nodes that the runtime has recorded for it; 0 = none, or it is not a list of nodes. */
static node_mask_t recorded_nodes(const struct controller *controller,
				  const struct runtime_container *container)
{
	struct cpuset ids;

	if (!container->mems || cpuset_parse(container->mems, strlen(container->mems), &ids))
		return 0;
	return topology_mask_of_mems(controller->topology, &ids);
}

/*
 * Has a container of another pod CPUs of this one? What was found in a cgroup may be the shared pool, which
 * has as many CPUs as the container asks for by chance. A record of the runtime is what it was told.
 */
static bool is_shared(const struct controller *controller, const struct runtime_snapshot *snapshot,
		      const struct runtime_container *container, const struct cpuset *cpus)
{
	const struct runtime_port *port = controller->ports.runtime;

	if (!port || !port->cannot_refuse ||
	    container->spec->request.cpu_mcpu != (int64_t)cpuset_count(cpus) * 1000)
		return false;
	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *other = &snapshot->containers[i];
		struct cpuset has = cpuset_of_text(other->cpus);

		if (strcmp(other->pod->id, container->pod->id) != 0 &&
		    cpuset_intersects(&has, cpus))
			return true;
	}
	return false;
}

/*
 * What the runtime has recorded for all containers of the pod that are in its bubble. One with more than
 * the budget was refused: it has what the whole node shares.
 */
static struct cpuset recorded_of_pod(const struct runtime_snapshot *snapshot,
				     const struct runtime_pod *pod)
{
	const uint32_t budget = cpu_bubble_count(pod->spec, pod_qos(pod->spec));
	struct cpuset all = CPUSET_EMPTY;

	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *container = &snapshot->containers[i];
		struct cpuset cpus = cpuset_of_text(container->cpus);

		if (!strcmp(container->pod->id, pod->id) && cpuset_count(&cpus) <= budget)
			cpuset_union(&all, &cpus);
	}
	return all;
}

/*
 * CPUs that the runtime has recorded for it stay as they are, if it is entitled to so many, and so do
 * the nodes of pinned memory.
 */
static void adopt(struct controller *controller, const struct runtime_snapshot *snapshot,
		  const struct runtime_container *container)
{
	const struct pod_spec *pod = container->pod->spec;
	struct container_found found = {.nodes = recorded_nodes(controller, container)};

	if (ctl_runtime_grant(controller, pod->uid, container->spec->name))
		return;
	if (cpuset_parse(container->cpus, strlen(container->cpus), &found.cpus) ||
	    cpuset_is_empty(&found.cpus) || is_shared(controller, snapshot, container, &found.cpus))
		return;
	if (container_wants_bubble(controller->ledger, pod))
		found.pod_cpus = recorded_of_pod(snapshot, container->pod);
	if (container_prepare_as(controller->ledger, pod, container->spec, &found))
		return;
	/* Not yet durable, but the runtime has recorded the same. */
	ledger_commit(controller->ledger);
}

/*
 * Has it exclusive CPUs, and has the runtime a record of any? Then it is the container that the ledger
 * has, which keeps them. Without a record it is a new one, made while nobody listened.
 */
static bool has_cpus(const struct controller *controller, const struct runtime_container *container)
{
	return ctl_runtime_is_exclusive(controller, container->pod->spec->uid,
					container->spec->name) &&
	       *container->cpus;
}

/*
 * It may have been resized while nobody listened. If it cannot be, it keeps what it has. Returns whether
 * it was refused.
 */
static bool resize(struct controller *controller, const struct runtime_container *container,
		   struct decision *decision)
{
	const struct pod_spec *pod = container->pod->spec;
	const char *name = container->spec->name;
	const struct cpuset before = *ctl_runtime_grant(controller, pod->uid, name)->cpus;
	int r;

	if (!ctl_runtime_can_resize(controller, container))
		return false;
	r = container_prepare_resize(controller->ledger, pod->uid, container->spec, decision);
	if (!r && decision->admitted)
		ledger_commit(controller->ledger);
	ctl_runtime_note_running(controller, pod->uid);
	if (!r && decision->admitted)
		ctl_runtime_note_resize(controller, pod, name, &before);
	else if (!r)
		ctl_runtime_record_refusal(controller, pod, name, decision,
					   "it keeps the CPUs that it has");
	return !r && !decision->admitted;
}

/*
 * A container that runs is not denied anything any more: it shares if it cannot have its CPUs. Returns
 * whether it was refused.
 */
static bool take_over(struct controller *controller, const struct runtime_container *container)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	const struct pod_spec *pod = container->pod->spec;
	int r;

	if (!decision || ctl_runtime_is_others(controller, pod->uid, container->spec->name))
		return false;
	if (has_cpus(controller, container))
		return resize(controller, container, decision);
	r = container_prepare(controller->ledger, pod, container->spec, decision);
	if (!r && decision->admitted) {
		r = ctl_runtime_note_running(controller, pod->uid);
		ledger_commit(controller->ledger);
	}
	if (r || decision->admitted)
		return false;
	ctl_runtime_record_refusal(controller, pod, container->spec->name, decision,
				   "it runs on the shared pool instead");
	ctl_runtime_share(controller, pod, container->spec);
	return true;
}

static bool gives_up(const struct cpuset *cpus, const struct cpuset *left)
{
	return cpuset_is_subset(left, cpus) && !cpuset_equal(left, cpus);
}

static void note_found(struct controller *controller, const struct runtime_container *container,
		       bool is_known)
{
	struct runtime_row *row = runtime_rows_note(&controller->runtimes, container->id,
						    container->pod->id,
						    is_known ? container->pod->spec->uid : "",
						    is_known ? container->spec->name : "");
	const struct grant *grant;
	struct cpuset told;
	bool is_owner;

	if (!row)
		return;
	grant = ctl_runtime_grant(controller, row->uid, row->name);
	is_owner = grant && grant->isolation != ISOLATION_HOST;
	runtime_rows_set_cgroup(&controller->runtimes, container->id, container->cgroup);
	/*
	 * Somebody may have written the cgroup behind the runtime's back. An owner's CPUs are
	 * therefore stated again; for the others the record will do, since each change costs the
	 * runtime a process. It will do as well for an owner that became smaller meanwhile, which
	 * leaves its CPUs before others get them.
	 */
	if (cpuset_parse(container->cpus, strlen(container->cpus), &told) ||
	    (is_owner && !gives_up(&told, grant->cpus)))
		told = CPUSET_EMPTY;
	ctl_runtime_note_told(controller, row, &told, recorded_nodes(controller, container));
}

static bool has_container(const struct runtime_snapshot *snapshot, const char *pod_id)
{
	for (uint32_t i = 0; i < snapshot->nr_containers; i++)
		if (!strcmp(snapshot->containers[i].pod->id, pod_id))
			return true;
	return false;
}

/* A sandbox that has stopped holds nothing: its pod has ended, or gets a new one. */
static void note_sandboxes(struct controller *controller, const struct runtime_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->nr_pods; i++) {
		const struct runtime_pod *pod = &snapshot->pods[i];

		if (pod->spec && strlen(pod->id) < RUNTIME_ID_MAX &&
		    (!pod->is_stopped || has_container(snapshot, pod->id)))
			runtime_rows_note_sandbox(&controller->runtimes, pod->id, pod->spec->uid);
	}
}

/*
 * Which pods have ended? A runtime that has lost sight of a sandbox does not list it, but its
 * containers run on: whose they are is unknown then, so no pod is taken for ended.
 */
static void end_unlisted(struct controller *controller, const struct runtime_snapshot *snapshot)
{
	if (has_container(snapshot, "")) {
		log_warn(
			0,
			"runtime: containers run whose sandboxes are not listed; all pods keep their "
			"CPUs until the next session");
		return;
	}
	for (uint32_t i = ledger_nr_pods(controller->ledger); i-- > 0;) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);
		char uid[POD_UID_MAX];

		memcpy(uid, pod->spec->uid, sizeof(uid));
		if (pod->spec->is_of_runtime &&
		    !runtime_rows_has_sandbox(&controller->runtimes, uid))
			ctl_runtime_end_pod(controller, uid);
	}
}

/*
 * Whose a container without its sandbox is, is unknown. CPUs that nobody shares may be its own, so it
 * keeps them; otherwise it shares, and leaves the CPUs that others get.
 */
static bool keeps_cpus(const struct controller *controller,
		       const struct runtime_container *container)
{
	struct cpuset cpus;

	return !cpuset_parse(container->cpus, strlen(container->cpus), &cpus) &&
	       !cpuset_is_empty(&cpus) &&
	       !cpuset_intersects(&cpus, ledger_shared_pool(controller->ledger));
}

static void share(struct controller *controller, const struct runtime_container *container,
		  const char *error)
{
	log_warn(0, "runtime: container %.64s runs on the shared pool: %s", container->id, error);
	if (strlen(container->id) < RUNTIME_ID_MAX)
		note_found(controller, container, false);
}

/* To be called before anybody else gets CPUs that they share. */
static void share_unlisted(struct controller *controller, const struct runtime_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *container = &snapshot->containers[i];

		if (!*container->pod->id && !keeps_cpus(controller, container))
			share(controller, container, container->pod->error);
	}
}

/* Who is there must be known before anybody is taken for one that has ended. */
static void end_predecessors(struct controller *controller, const struct runtime_snapshot *snapshot)
{
	const char *error;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
			const struct runtime_container *container = &snapshot->containers[i];
			const struct runtime_pod *pod = container->pod;

			if (!runtime_decide_is_valid(container, &error))
				continue;
			if (pass)
				ctl_runtime_end_predecessor(controller, pod->spec, container->spec);
			else if (!runtime_rows_note(&controller->runtimes, container->id, pod->id,
						    pod->spec->uid, container->spec->name))
				return;
		}
}

static void take_in(struct controller *controller, const struct runtime_container *container)
{
	const bool had_cpus = has_cpus(controller, container);
	const bool is_short = take_over(controller, container);
	struct runtime_row *row;

	note_found(controller, container, true);
	row = runtime_rows_find(&controller->runtimes, container->id);
	if (!row)
		return;
	row->is_told_own = had_cpus;
	row->is_short = is_short;
}

void ctl_runtime_synchronized(void *self, uint32_t request, const struct runtime_snapshot *snapshot)
{
	struct controller *controller = self;
	struct runtimes *runtimes = &controller->runtimes;
	const char *error;

	ctl_runtime_ended(controller);
	runtimes->nr_rows = runtimes->nr_sandboxes = 0;
	note_sandboxes(controller, snapshot);
	/* What is gone makes room, and what has its CPUs already comes before the others. */
	end_unlisted(controller, snapshot);
	if (controller->ports.runtime && controller->ports.runtime->has_no_kinds)
		end_predecessors(controller, snapshot);
	share_unlisted(controller, snapshot);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++)
		if (runtime_decide_is_valid(&snapshot->containers[i], &error))
			adopt(controller, snapshot, &snapshot->containers[i]);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++) {
		const struct runtime_container *container = &snapshot->containers[i];

		if (!*container->pod->id)
			continue;
		if (!runtime_decide_is_valid(container, &error)) {
			share(controller, container, error);
			continue;
		}
		take_in(controller, container);
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
