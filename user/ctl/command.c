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

static const struct grant *find_grant(const struct ledger_pod *pod, const char *container)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (!strcmp(pod->grants[i].container, container))
			return &pod->grants[i];
	return NULL;
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

static void end_init_containers(const struct controller *controller, const struct ledger_pod *pod)
{
	const struct groups_port *groups = controller->ports.groups;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct group *group;

		if (pod->grants[i].kind != CONTAINER_INIT)
			continue;
		group = desired_group(controller, pod->spec->uid, pod->grants[i].container);
		if (group && is_populated(controller, group->path))
			groups->kill(groups->self, group->path);
	}
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

static int join(struct controller *controller, const struct ledger_pod *pod,
		const struct grant *grant, pid_t peer_pid, struct json_object **ret_json,
		unsigned int *ret_status)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group *group = desired_group(controller, pod->spec->uid, grant->container);
	char error[GROUP_ERROR_MAX] = "", path[GROUP_PATH_MAX];
	cleanup_close int pidfd = -1;
	int r;

	if (!group)
		return answer_error(ret_json, ret_status, STATUS_NOT_READY,
				    "container %s has no cgroup yet; try again", grant->container);
	pidfd = (int)syscall(SYS_pidfd_open, peer_pid, 0);
	if (pidfd < 0)
		return answer_error(ret_json, ret_status, STATUS_FAILED,
				    "process %d cannot be held: %s", peer_pid, strerror(errno));
	if (grant->kind == CONTAINER_APP)
		end_init_containers(controller, pod);
	r = groups->join(groups->self, group->path, peer_pid, pidfd, error);
	if (r)
		return answer_error(ret_json, ret_status, STATUS_FAILED, "%s",
				    *error ? error : strerror(-r));
	/* The tree that the group is in does not outlive a look. */
	memcpy(path, group->path, sizeof(path));
	/* A scope came to be with its first process: the guard and the watch must know it. */
	if (controller->layout.systemd) {
		controller->groups_changed = true;
		reconcile(controller);
	}
	*ret_json = view_run(pod->spec->namespace, pod->spec->name, grant->container, path);
	*ret_status = STATUS_OK;
	return *ret_json ? 0 : -ENOMEM;
}

static int run(struct controller *controller, struct json_object *body, pid_t peer_pid,
	       struct json_object **ret_json, unsigned int *ret_status)
{
	const char *pod_name = text_member(body, "pod");
	const char *container = text_member(body, "container");
	const struct ledger_pod *pod;
	const struct grant *grant;
	const char *running;

	if (!pod_name || !container)
		return answer_error(ret_json, ret_status, STATUS_REJECTED,
				    "run: the body must be {\"pod\": \"NAMESPACE/NAME\", "
				    "\"container\": \"NAME\"}");
	/* A pod that was just admitted may not have its cgroups yet. */
	if (controller->ledger_changed)
		reconcile(controller);
	pod = find_pod(controller, pod_name);
	if (!pod)
		return answer_refused(controller, pod_name, ret_json, ret_status);
	grant = find_grant(pod, container);
	if (!grant)
		return answer_error(ret_json, ret_status, STATUS_UNKNOWN,
				    "pod %s/%s has no container '%.63s'", pod->spec->namespace,
				    pod->spec->name, container);
	if (pod->state == POD_ENDING)
		return answer_error(ret_json, ret_status, STATUS_CONFLICT,
				    "pod %s/%s is ending: %s", pod->spec->namespace,
				    pod->spec->name, pod->detail);
	if (!may_start(controller, pod, grant, &running))
		return answer_error(ret_json, ret_status, STATUS_CONFLICT,
				    "init container %s cannot start while %s runs: init containers "
				    "run one after another and before the others",
				    container, running);
	return join(controller, pod, grant, peer_pid, ret_json, ret_status);
}

static int repair(struct controller *controller, struct json_object **ret_json,
		  unsigned int *ret_status)
{
	enum enforcement before = controller->cpuset_files;

	/* An operator's word counts for this round even where the policy only audits. */
	controller->cpuset_files = ENFORCEMENT_ENFORCE;
	reconcile(controller);
	controller->cpuset_files = before;
	*ret_json = view_drifts(controller->audit.drift, controller->audit.nr_drift);
	*ret_status = STATUS_OK;
	return *ret_json ? 0 : -ENOMEM;
}

int command_run(void *self, const char *object, const char *command, struct json_object *body,
		pid_t peer_pid, struct json_object **ret_json, unsigned int *ret_status)
{
	struct controller *controller = self;

	if (!controller->started)
		return answer_error(ret_json, ret_status, STATUS_NOT_READY,
				    "the agent is starting; try again");
	if (!strcmp(object, "run") && !*command)
		return run(controller, body, peer_pid, ret_json, ret_status);
	if (!strcmp(object, "drift") && !strcmp(command, "repair"))
		return repair(controller, ret_json, ret_status);
	return -ENOENT;
}
