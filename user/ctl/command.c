// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that change something: join a container, repair drift now. The peer
 * is who the kernel says it is; its request's body only names the target.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl/internal.h"
#include "format/views.h"
#include "lib/file.h"
#include "lib/log.h"

/* HTTP statuses of the answers; their meaning for the inspector stands in format/views.h. */
enum {
	STATUS_OK = 200,
	STATUS_REJECTED = 400,
	STATUS_UNKNOWN = 404,
	STATUS_CONFLICT = 409,
	STATUS_FAILED = 500,
	STATUS_NOT_READY = 503,
};

static int answer_error(struct json_object **ret_json, unsigned int *ret_status,
			unsigned int status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int answer_error(struct json_object **ret_json, unsigned int *ret_status,
			unsigned int status, const char *format, ...)
{
	char sentence[ROW_DETAIL_MAX * 2];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	*ret_json = view_error(sentence);
	*ret_status = status;
	return *ret_json ? 0 : -ENOMEM;
}

static const char *text_member(struct json_object *body, const char *key)
{
	struct json_object *member;

	if (!body || !json_object_object_get_ex(body, key, &member) ||
	    !json_object_is_type(member, json_type_string))
		return NULL;
	return json_object_get_string(member);
}

/* "namespace/name", "name" (namespace default) or a uid. */
static const struct ledger_pod *find_pod(const struct controller *controller, const char *text)
{
	const char *slash = strchr(text, '/');
	char namespace[POD_NAME_MAX];

	if (!slash) {
		const struct ledger_pod *pod = ledger_find(controller->ledger, text);

		return pod ? pod : ledger_find_name(controller->ledger, "default", text);
	}
	snprintf(namespace, sizeof(namespace), "%.*s", (int)(slash - text), text);
	return ledger_find_name(controller->ledger, namespace, slash + 1);
}

static bool is_populated(const struct controller *controller, const char *path)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;

	return !groups->status(groups->self, path, &status) && status.populated;
}

/*
 * Init containers run one after another and before the others: another one that
 * still runs refuses an init container; an ordinary container's start ends them.
 * *ret_running names the obstacle.
 */
static bool may_start(const struct controller *controller, const struct ledger_pod *pod,
		      const struct grant *grant, const char **ret_running)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *other = &pod->grants[i];
		const struct group *group;

		if (other == grant || other->kind == CONTAINER_SIDECAR ||
		    grant->kind != CONTAINER_INIT)
			continue;
		group = desired_group(controller, pod->spec->uid, other->container);
		if (group && is_populated(controller, group->path)) {
			*ret_running = other->container;
			return false;
		}
	}
	return true;
}

/* What is done to a container outside a plan, as a step that an operation can carry. */
static struct step step_at(const struct group *group)
{
	struct step step = {.role = group->role};

	memcpy(step.path, group->path, sizeof(step.path));
	memcpy(step.uid, group->uid, sizeof(step.uid));
	return step;
}

/* -EINPROGRESS: one of them takes its time, and the others' turn comes after it. */
static int end_init_containers(struct controller *controller, const struct ledger_pod *pod)
{
	const struct groups_port *groups = controller->ports.groups;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct group *group;
		struct step step;
		int r;

		if (pod->grants[i].kind != CONTAINER_INIT)
			continue;
		group = desired_group(controller, pod->spec->uid, pod->grants[i].container);
		if (!group || !is_populated(controller, group->path))
			continue;
		r = operations_reserve(controller);
		if (!r)
			r = groups->kill(groups->self, group->path);
		if (r != -EINPROGRESS)
			continue;
		step = step_at(group);
		operation_begin(controller, OPERATION_KILL, &step);
		return r;
	}
	return 0;
}

static int answer_refused(const struct controller *controller, const char *pod_name,
			  struct json_object **ret_json, unsigned int *ret_status)
{
	const char *slash = strchr(pod_name, '/');
	char name[POD_NAME_MAX * 2];

	snprintf(name, sizeof(name), "%s%s", slash ? "" : "default/", pod_name);
	for (uint32_t i = 0; i < controller->nr_refused; i++) {
		const struct refused_pod *refused = &controller->refused[i];

		if (!strcmp(refused->name, name))
			return answer_error(ret_json, ret_status, STATUS_CONFLICT,
					    "pod %s was refused: %s: %s", name,
					    refused->decision.reason, refused->decision.message);
	}
	return answer_error(ret_json, ret_status, STATUS_UNKNOWN,
			    "there is no pod '%.200s'; `pinfold pod show` lists those there are, "
			    "and a manifest in the manifests directory makes one",
			    pod_name);
}

static int answer_joined(struct controller *controller, const struct ledger_pod *pod,
			 const char *container, const char *path, struct json_object **ret_json,
			 unsigned int *ret_status)
{
	/* A scope came to be with its first process: the guard and the watch must know it. */
	if (controller->layout.systemd) {
		controller->groups_changed = true;
		want_wake(controller, 0);
	}
	*ret_json = view_run(pod->spec->namespace, pod->spec->name, container, path);
	*ret_status = STATUS_OK;
	return *ret_json ? 0 : -ENOMEM;
}

static int join(struct controller *controller, struct run_request *run,
		const struct ledger_pod *pod, const struct grant *grant,
		struct json_object **ret_json, unsigned int *ret_status)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group *group = desired_group(controller, pod->spec->uid, grant->container);
	char error[GROUP_ERROR_MAX] = "";
	struct operation *operation;
	struct step step;
	int r;

	if (!group)
		return answer_error(ret_json, ret_status, STATUS_NOT_READY,
				    "container %s has no cgroup yet; try again", grant->container);
	if (grant->kind == CONTAINER_APP && !run->has_ended_init) {
		r = end_init_containers(controller, pod);
		if (r == -EINPROGRESS)
			return r;
		run->has_ended_init = true;
	}
	r = operations_reserve(controller);
	if (!r)
		r = groups->join(groups->self, group->path, run->pid, run->pidfd, error);
	if (r == -EINPROGRESS) {
		step = step_at(group);
		operation = operation_begin(controller, OPERATION_JOIN, &step);
		operation->run = run->id;
		run->is_joining = true;
		return r;
	}
	if (r)
		return answer_error(ret_json, ret_status, STATUS_FAILED, "%s",
				    *error ? error : strerror(-r));
	return answer_joined(controller, pod, grant->container, group->path, ret_json, ret_status);
}

/*
 * As far as it goes now; everything is asked anew each time. -EINPROGRESS: the pod's
 * chain waits in the kernel, or the cgroups have not been looked at since it was admitted.
 */
static int advance(struct controller *controller, struct run_request *run,
		   struct json_object **ret_json, unsigned int *ret_status)
{
	const struct ledger_pod *pod = find_pod(controller, run->pod);
	const struct grant *grant;
	const char *running;

	if (!pod)
		return answer_refused(controller, run->pod, ret_json, ret_status);
	snprintf(run->uid, sizeof(run->uid), "%s", pod->spec->uid);
	grant = ledger_find_grant(pod, run->container);
	if (!grant)
		return answer_error(ret_json, ret_status, STATUS_UNKNOWN,
				    "pod %s/%s has no container '%.63s'", pod->spec->namespace,
				    pod->spec->name, run->container);
	if (pod->state == POD_ENDING)
		return answer_error(ret_json, ret_status, STATUS_CONFLICT,
				    "pod %s/%s is ending: %s", pod->spec->namespace,
				    pod->spec->name, pod->detail);
	if (!may_start(controller, pod, grant, &running))
		return answer_error(ret_json, ret_status, STATUS_CONFLICT,
				    "init container %s cannot start while %s runs: init containers "
				    "run one after another and before the others",
				    run->container, running);
	if (operation_find(controller, pod->spec->uid) ||
	    (controller->ledger_changed && controller->looking_since_ns))
		return -EINPROGRESS;
	return join(controller, run, pod, grant, ret_json, ret_status);
}

/* --- requests that have no answer yet ------------------------------------------------------------- */

static struct run_request *find_run(struct controller *controller, uint64_t id)
{
	for (uint32_t i = 0; i < controller->nr_runs; i++)
		if (controller->runs[i].id == id)
			return &controller->runs[i];
	return NULL;
}

static void drop_run(struct controller *controller, struct run_request *run)
{
	close(run->pidfd);
	*run = controller->runs[--controller->nr_runs];
}

void runs_free(struct controller *controller)
{
	while (controller->nr_runs)
		drop_run(controller, &controller->runs[0]);
}

static void answer(struct controller *controller, struct run_request *run, unsigned int status,
		   struct json_object *json)
{
	const struct answer_sink *sink = controller->answers;
	uint64_t id = run->id;

	drop_run(controller, run);
	if (sink)
		sink->answered(sink->self, id, status, json);
	else
		json_object_put(json);
}

void runs_advance(struct controller *controller)
{
	for (uint32_t i = controller->nr_runs; i-- > 0;) {
		struct run_request *run = &controller->runs[i];
		struct json_object *json = NULL;
		unsigned int status = STATUS_FAILED;

		if (!run->is_joining && advance(controller, run, &json, &status) != -EINPROGRESS)
			answer(controller, run, status, json);
	}
}

void join_ended(struct controller *controller, const struct operation *operation, int result,
		const char *error)
{
	const char *path = operation->step.path, *slash = strrchr(path, '/');
	struct run_request *run = find_run(controller, operation->run);
	const struct ledger_pod *pod = ledger_find(controller->ledger, operation->step.uid);
	struct json_object *json = NULL;
	unsigned int status = STATUS_FAILED;

	if (!run) {
		/* Whoever asked has gone; -ESRCH is then the rule. */
		if (result)
			log_info("ctl: a process whose request was withdrawn did not join: %s",
				 error);
		else
			log_info("ctl: a process joined %s after its request was withdrawn", path);
		return;
	}
	if (result)
		answer_error(&json, &status, STATUS_FAILED, "%s", error);
	else if (pod)
		answer_joined(controller, pod, run->container, path, &json, &status);
	else
		answer_error(&json, &status, STATUS_UNKNOWN,
			     "the process is in %s, but its pod ended meanwhile", slash + 1);
	answer(controller, run, status, json);
}

void command_listen(void *self, const struct answer_sink *sink)
{
	struct controller *controller = self;

	controller->answers = sink;
}

void command_withdraw(void *self, uint64_t request, char *ret_why, size_t size)
{
	struct controller *controller = self;
	struct run_request *run = find_run(controller, request);
	const struct operation *operation;
	struct waiting waiting;

	snprintf(ret_why, size, "the agent is busy; try again");
	if (!run)
		return;
	operation = operation_find(controller, run->uid);
	if (operation) {
		operation_describe(controller, operation, &waiting);
		operations_sentence(controller, &waiting, ret_why, size);
	} else {
		operations_overdue(controller, 0, ret_why, size);
	}
	drop_run(controller, run);
}

static int run(struct controller *controller, uint64_t request, struct json_object *body,
	       pid_t peer_pid, struct json_object **ret_json, unsigned int *ret_status)
{
	const char *pod_name = text_member(body, "pod");
	const char *container = text_member(body, "container");
	struct run_request run;
	cleanup_close int pidfd = -1;
	int r;

	if (!pod_name || !container)
		return answer_error(ret_json, ret_status, STATUS_REJECTED,
				    "run: the body must be {\"pod\": \"NAMESPACE/NAME\", "
				    "\"container\": \"NAME\"}");
	/* Cut to what there is room for they might be names of others. */
	if (strlen(pod_name) >= sizeof(run.pod))
		return answer_refused(controller, pod_name, ret_json, ret_status);
	if (strlen(container) >= sizeof(run.container))
		return answer_error(ret_json, ret_status, STATUS_UNKNOWN,
				    "no container has a name as long as '%.80s'", container);
	if (controller->nr_runs == MAX_RUNS)
		return answer_error(ret_json, ret_status, STATUS_NOT_READY,
				    "%d processes wait for their containers already; try again",
				    MAX_RUNS);
	/* Held from here on: a pid that changes hands meanwhile must not be moved. */
	pidfd = (int)syscall(SYS_pidfd_open, peer_pid, 0);
	if (pidfd < 0)
		return answer_error(ret_json, ret_status, STATUS_FAILED,
				    "process %d cannot be held: %s", peer_pid, strerror(errno));
	run = (struct run_request){.id = request, .pid = peer_pid, .pidfd = pidfd};
	snprintf(run.pod, sizeof(run.pod), "%s", pod_name);
	snprintf(run.container, sizeof(run.container), "%s", container);
	/* A pod that was just admitted may not have its cgroups yet. */
	if (controller->ledger_changed)
		reconcile(controller);
	r = advance(controller, &run, ret_json, ret_status);
	if (r == -EINPROGRESS) {
		(void)TAKE_FD(pidfd);
		controller->runs[controller->nr_runs++] = run;
	} else if (controller->layout.systemd && controller->groups_changed) {
		/* Not in a moment: the process runs when it has its answer. */
		reconcile(controller);
	}
	return r;
}

static int repair(struct controller *controller, struct json_object **ret_json,
		  unsigned int *ret_status)
{
	/* An operator's word counts for this round even where the policy only audits. */
	controller->repairs_once = true;
	reconcile(controller);
	*ret_json = view_drifts(controller->audit.drift, controller->audit.nr_drift);
	*ret_status = STATUS_OK;
	return *ret_json ? 0 : -ENOMEM;
}

int command_run(void *self, uint64_t request, const char *object, const char *command,
		struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		unsigned int *ret_status)
{
	struct controller *controller = self;

	if (!controller->started)
		return answer_error(ret_json, ret_status, STATUS_NOT_READY,
				    "the agent is starting; try again");
	if (!strcmp(object, "run") && !*command)
		return run(controller, request, body, peer_pid, ret_json, ret_status);
	if (!strcmp(object, "drift") && !strcmp(command, "repair"))
		return repair(controller, ret_json, ret_status);
	return -ENOENT;
}
