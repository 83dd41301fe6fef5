// SPDX-License-Identifier: Apache-2.0
/*
 * A process joins its container as soon as the container's cgroup is ready. Until then a pidfd
 * refers to the process, so that its pid cannot be recycled for another.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/internal.h"
#include "ctl/runs.h"
#include "format/views.h"
#include "lib/log.h"

/* Fails if that is unknown, with -EINPROGRESS for the present. */
static int find_populated(const struct controller *controller, const char *path,
			  bool *ret_populated)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;
	int r = groups->status(groups->self, path, &status);

	if (r && r != -ENOENT)
		return r;
	*ret_populated = !r && status.populated;
	return 0;
}

/*
 * Init containers run one after another and before the others: an init container cannot start
 * while another one runs, and the start of an ordinary container ends them. *ret_running names
 * the one that runs, or of which that is unknown; NULL = none.
 */
static int find_running(const struct controller *controller, const struct ledger_pod *pod,
			const struct grant *grant, const char **ret_running)
{
	*ret_running = NULL;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *other = &pod->grants[i];
		const struct group *group;
		bool populated = false;
		int r;

		if (other == grant || other->kind == CONTAINER_SIDECAR ||
		    grant->kind != CONTAINER_INIT)
			continue;
		group = lookup_group(&controller->desired, pod->spec->uid, other->container);
		r = group ? find_populated(controller, group->path, &populated) : 0;
		if (r || populated) {
			*ret_running = other->container;
			return r;
		}
	}
	return 0;
}

/* An action on a container outside a plan, as a step that an operation can carry. */
static struct step step_at(const struct group *group)
{
	struct step step = {.role = group->role};

	text_copy(step.path, sizeof(step.path), group->path);
	memcpy(step.uid, group->uid, sizeof(step.uid));
	return step;
}

/*
 * -EINPROGRESS: one of them takes long, and the others follow afterwards. Other errors: whether one of
 * them runs is unknown.
 */
static int end_init_containers(struct controller *controller, const struct ledger_pod *pod,
			       struct run_request *run)
{
	const struct groups_port *groups = controller->ports.groups;

	/* Each of them once: a kill that failed is not tried again and again. */
	while (run->nr_ended < pod->nr_grants) {
		const struct grant *grant = &pod->grants[run->nr_ended];
		const struct group *group = NULL;
		bool populated = false;
		struct step step;
		int r;

		if (grant->kind == CONTAINER_INIT)
			group = lookup_group(&controller->desired, pod->spec->uid,
					     grant->container);
		r = group ? find_populated(controller, group->path, &populated) : 0;
		if (r)
			return r;
		run->nr_ended++;
		if (!populated)
			continue;
		r = operations_reserve(&controller->operations);
		if (!r)
			r = groups->kill(groups->self, group->path);
		if (r != -EINPROGRESS)
			continue;
		step = step_at(group);
		operations_begin(&controller->operations, OPERATION_KILL, &step,
				 clock_now_ns(controller->ports.clock));
		return r;
	}
	return 0;
}

int ctl_answer_no_pod(const struct controller *controller, const char *pod_name,
		      struct answer *answer)
{
	char namespace[POD_NAME_MAX], name[POD_NAME_MAX];
	const bool is_name = lookup_split_name(pod_name, namespace, name);

	for (uint32_t i = 0; is_name && i < controller->admission.refusals.nr; i++) {
		const struct refused_pod *refused = &controller->admission.refusals.rows[i];

		if (!strcmp(refused->namespace, namespace) && !strcmp(refused->pod, name))
			return answer_error(answer, STATUS_CONFLICT, "pod %s was refused: %s: %s",
					    refused->name, refused->decision.reason,
					    refused->decision.message);
	}
	return answer_error(
		answer, STATUS_UNKNOWN,
		"unknown pod '%.200s': see `pinfold pod show` for the existing pods, or "
		"add a manifest to the manifests directory",
		pod_name);
}

static int answer_joined(struct controller *controller, const struct ledger_pod *pod,
			 const char *container, const char *path, struct answer *answer)
{
	/*
	 * The scope was created with its first process: the guard and the watch must learn of
	 * it.
	 */
	if (controller->layout.systemd) {
		dirty_mark_groups(&controller->dirty);
		wakes_schedule(&controller->wakes, 0);
	}
	return answer_object(answer,
			     view_run(pod->spec->namespace, pod->spec->name, container, path));
}

static int answer_unknown(struct answer *answer, const char *who, int error)
{
	return answer_error(answer, STATUS_NOT_READY,
			    "whether %s of the pod still run is unknown (%s); try again", who,
			    strerror(-error));
}

static int join(struct controller *controller, struct run_request *run,
		const struct ledger_pod *pod, const struct grant *grant, struct answer *answer)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group *group =
		lookup_group(&controller->desired, pod->spec->uid, grant->container);
	char error[GROUP_ERROR_MAX] = "";
	struct operation *operation;
	struct step step;
	int r;

	if (!group)
		return answer_error(answer, STATUS_NOT_READY,
				    "container %s has no cgroup yet; try again", grant->container);
	if (grant->kind == CONTAINER_APP) {
		r = end_init_containers(controller, pod, run);
		if (r == -EINPROGRESS)
			return r;
		if (r)
			return answer_unknown(answer, "the init containers", r);
	}
	r = operations_reserve(&controller->operations);
	if (!r)
		r = groups->join(groups->self, group->path, run->pid, run->pidfd, error);
	if (r == -EINPROGRESS) {
		step = step_at(group);
		operation = operations_begin(&controller->operations, OPERATION_JOIN, &step,
					     clock_now_ns(controller->ports.clock));
		operation->run = run->id;
		run->is_joining = true;
		return r;
	}
	if (r)
		return answer_error(answer, STATUS_FAILED, "%s", *error ? error : strerror(-r));
	return answer_joined(controller, pod, grant->container, group->path, answer);
}

/* Has the container's cgroup its CPUs and memory nodes, as far as the agent knows? */
static bool is_set_up(const struct controller *controller, const char *uid, const char *container)
{
	static const enum group_file files[] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};
	const struct group *desired = lookup_group(&controller->desired, uid, container);
	const struct group *observed =
		desired ? group_tree_find(&controller->look.observed, desired->path) : NULL;

	if (!observed)
		return false;
	for (uint32_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *wanted = desired->files[files[i]], *value = observed->files[files[i]];

		if (wanted && (!value || strcmp(value, wanted)))
			return false;
	}
	return true;
}

/*
 * Will the agent take another step for this container without being asked? Until then its cgroup
 * may be missing, or have the CPUs of its parent.
 */
static bool is_under_way(const struct controller *controller, const char *uid,
			 const char *container)
{
	const struct retry *retry = chains_find(&controller->chains, uid);
	const struct dirty *dirty = &controller->dirty;

	if (operations_find(&controller->operations, uid) ||
	    (dirty->ledger && controller->look.since_ns))
		return true;
	return (dirty->chains || (retry && retry->progress == CHAIN_HELD)) &&
	       !is_set_up(controller, uid, container);
}

int ctl_advance_run(struct controller *controller, struct run_request *run, struct answer *answer)
{
	const struct ledger_pod *pod = lookup_pod(controller->ledger, run->pod);
	const struct grant *grant;
	const char *running;
	int r;

	if (!pod)
		return ctl_answer_no_pod(controller, run->pod, answer);
	snprintf(run->uid, sizeof(run->uid), "%s", pod->spec->uid);
	grant = ledger_find_grant(pod, run->container);
	if (!grant)
		return answer_error(answer, STATUS_UNKNOWN, "pod %s/%s has no container '%.63s'",
				    pod->spec->namespace, pod->spec->name, run->container);
	if (pod->spec->is_of_runtime)
		return answer_error(answer, STATUS_CONFLICT,
				    "pod %s/%s is a container runtime's: start processes in it "
				    "with the runtime",
				    pod->spec->namespace, pod->spec->name);
	if (pod->state == POD_ENDING)
		return answer_error(answer, STATUS_CONFLICT, "pod %s/%s is ending: %s",
				    pod->spec->namespace, pod->spec->name, pod->detail);
	r = find_running(controller, pod, grant, &running);
	if (r == -EINPROGRESS)
		return r;
	if (r)
		return answer_unknown(answer, "other containers", r);
	if (running)
		return answer_error(answer, STATUS_CONFLICT,
				    "init container %s cannot start while %s runs: init containers "
				    "run one after another and before the others",
				    run->container, running);
	if (is_under_way(controller, pod->spec->uid, grant->container))
		return -EINPROGRESS;
	return join(controller, run, pod, grant, answer);
}

/* --- requests that have no answer yet --------------------------------------------------------- */

struct run_request *runs_find(struct runs *runs, uint64_t id)
{
	for (uint32_t i = 0; i < runs->nr; i++)
		if (runs->rows[i].id == id)
			return &runs->rows[i];
	return NULL;
}

void runs_listen(struct runs *runs, const struct answer_sink *sink)
{
	runs->answers = sink;
}

void runs_add(struct runs *runs, const struct run_request *run)
{
	runs->rows[runs->nr++] = *run;
}

void runs_drop(struct runs *runs, struct run_request *run)
{
	close(run->pidfd);
	*run = runs->rows[--runs->nr];
}

void runs_fini(struct runs *runs)
{
	while (runs->nr)
		runs_drop(runs, &runs->rows[0]);
}

static void send_answer(struct runs *runs, struct run_request *run, const struct answer *answer)
{
	const struct answer_sink *sink = runs->answers;
	uint64_t id = run->id;

	runs_drop(runs, run);
	if (sink)
		sink->answered(sink->self, id, answer->status, answer->json);
	else
		json_object_put(answer->json);
}

void ctl_advance_runs(struct controller *controller)
{
	struct runs *runs = &controller->runs;

	for (uint32_t i = runs->nr; i-- > 0;) {
		struct run_request *run = &runs->rows[i];
		struct answer answer = {.status = STATUS_FAILED};

		if (!run->is_joining && ctl_advance_run(controller, run, &answer) != -EINPROGRESS)
			send_answer(runs, run, &answer);
	}
}

void ctl_end_join(struct controller *controller, const struct operation *operation, int result,
		  const char *error)
{
	const char *path = operation->step.path, *slash = strrchr(path, '/');
	struct run_request *run = runs_find(&controller->runs, operation->run);
	const struct ledger_pod *pod = ledger_find(controller->ledger, operation->step.uid);
	struct answer answer = {.status = STATUS_FAILED};

	if (!run) {
		/* The client has disconnected; -ESRCH is then normal. */
		if (result)
			log_info("ctl: a process did not join after its request was withdrawn: %s",
				 error);
		else
			log_info("ctl: a process joined %s after its request was withdrawn", path);
		return;
	}
	if (result)
		answer_error(&answer, STATUS_FAILED, "%s", error);
	else if (pod)
		answer_joined(controller, pod, run->container, path, &answer);
	else
		answer_error(&answer, STATUS_UNKNOWN,
			     "the process has joined %s, but its pod ended meanwhile", slash + 1);
	send_answer(&controller->runs, run, &answer);
}
