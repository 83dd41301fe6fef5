// SPDX-License-Identifier: Apache-2.0
/*
 * Requests with a body: join a container, repair drift now, show the history of one pod, or where
 * it ran and waited. The kernel identifies the peer; the body of its request only names the target.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl/command.h"
#include "ctl/history_report.h"
#include "ctl/placement_report.h"
#include "ctl/internal.h"
#include "ctl/pressure_cpu_report.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/file.h"

struct command_request {
	uint64_t id;
	struct json_object *body; /* borrowed; may be NULL */
	pid_t peer_pid;
};

void ctl_listen(void *self, const struct answer_sink *sink)
{
	struct controller *controller = self;

	runs_listen(&controller->runs, sink);
}

void ctl_withdraw(void *self, uint64_t request, char *ret_why, size_t size)
{
	struct controller *controller = self;
	struct run_request *run = runs_find(&controller->runs, request);
	const struct operation *operation;
	const struct retry *retry;
	struct waiting waiting;

	snprintf(ret_why, size, "the agent is busy; try again");
	if (!run)
		return;
	operation = operations_find(&controller->operations, run->uid);
	retry = chains_find(&controller->chains, run->uid);
	if (operation) {
		ctl_describe_wait(controller, operation, &waiting);
		ctl_wait_sentence(controller, &waiting, ret_why, size);
	} else if (retry && retry->progress == CHAIN_HELD) {
		snprintf(ret_why, size, "%s", retry->error);
	} else {
		ctl_is_overdue(controller, 0, ret_why, size);
	}
	runs_drop(&controller->runs, run);
}

static int run(struct controller *controller, const struct command_request *request,
	       struct answer *answer)
{
	struct view_run_request wanted;
	struct run_request run;
	int pidfd cleanup_close = -1;
	int r;

	object_read(&view_run_request_desc, request->body, &wanted);
	if (!wanted.pod || !wanted.container)
		return answer_error(answer, STATUS_REJECTED,
				    /* key: shown to the client that omitted it */
				    "run: the body must be {\"pod\": \"NAMESPACE/NAME\", "
				    "\"container\": \"NAME\"}");
	/* A name cut to the size of the field might be the name of another container. */
	if (strlen(wanted.container) >= sizeof(run.container))
		return answer_error(answer, STATUS_UNKNOWN,
				    "invalid container name '%.80s': it is too long",
				    wanted.container);
	if (controller->runs.nr == MAX_RUNS)
		return answer_error(
			answer, STATUS_NOT_READY,
			"%d processes are already waiting to join a container; try again",
			MAX_RUNS);
	/* From here on the pidfd identifies the process: a recycled pid must not be moved. */
	pidfd = (int)syscall(SYS_pidfd_open, request->peer_pid, 0);
	if (pidfd < 0)
		return answer_error(answer, STATUS_FAILED, "cannot open a pidfd for process %d: %s",
				    request->peer_pid, strerror(errno));
	run = (struct run_request){.id = request->id, .pid = request->peer_pid, .pidfd = pidfd};
	snprintf(run.pod, sizeof(run.pod), "%s", wanted.pod);
	snprintf(run.container, sizeof(run.container), "%s", wanted.container);
	/* A pod that has just been admitted may not have its cgroups yet. */
	if (controller->dirty.ledger)
		ctl_reconcile(controller);
	r = ctl_advance_run(controller, &run, answer);
	if (r == -EINPROGRESS) {
		(void)TAKE_FD(pidfd);
		runs_add(&controller->runs, &run);
	} else if (controller->dirty.groups) {
		/* Guard a new scope now: the process runs as soon as it has its answer. */
		ctl_reconcile(controller);
	}
	return r;
}

static int repair(struct controller *controller, const struct command_request *request,
		  struct answer *answer)
{
	/* An operator asked for it: this round repairs even if the policy only audits. */
	drift_request_repair(&controller->drift);
	ctl_reconcile(controller);
	return answer_object(answer, view_drifts(controller->drift.list.rows,
						 controller->drift.list.nr_rows));
}

/*
 * The pod that a question names, and whether it has the container if that is named, too. On 0 an
 * absent pod has been answered already, with an error that begins with `what`.
 */
static int find_asked(const struct controller *controller, const char *what, const char *name,
		      const char *container, struct answer *answer,
		      const struct ledger_pod **ret_pod)
{
	const struct ledger_pod *pod = name ? lookup_pod(controller->ledger, name) : NULL;

	*ret_pod = NULL;
	if (!name)
		return answer_error(answer, STATUS_REJECTED,
				    /* key: shown to the client that omitted it */
				    "%s: the body must name a pod: {\"pod\": \"NAMESPACE/NAME\"}",
				    what);
	if (!pod)
		return ctl_answer_no_pod(controller, name, answer);
	if (container && !ledger_find_grant(pod, container))
		return answer_error(answer, STATUS_UNKNOWN, "pod %s/%s has no container '%.63s'",
				    pod->spec->namespace, pod->spec->name, container);
	*ret_pod = pod;
	return 0;
}

/* One pod only: those of all pods together would be some ten megabytes. */
static int history(struct controller *controller, const struct command_request *request,
		   struct answer *answer)
{
	struct view_history_request wanted;
	const struct ledger_pod *pod;
	int r;

	object_read(&view_history_request_desc, request->body, &wanted);
	r = find_asked(controller, "pressure history", wanted.pod, wanted.container, answer, &pod);
	if (r || !pod)
		return r;
	if (wanted.span >= PRESSURE_SPAN_NR)
		return answer_error(answer, STATUS_REJECTED,
				    /* key: shown to the client that omitted it */
				    "pressure history: \"span\" must be \"10m\" or \"24h\"");
	return answer_object(answer, ctl_report_history(controller, pod,
							wanted.container ? wanted.container : "",
							wanted.span));
}

/* All rows, which the answer about all containers may not have room for. */
static int placement(struct controller *controller, const struct command_request *request,
		     struct answer *answer)
{
	struct view_placement_request wanted;
	const struct ledger_pod *pod;
	int r;

	object_read(&view_placement_request_desc, request->body, &wanted);
	r = find_asked(controller, "container placement", wanted.pod, wanted.container, answer,
		       &pod);
	if (r || !pod)
		return r;
	return answer_object(answer, ctl_report_placement_of(controller, pod, wanted.container));
}

/* One pod only, as for the history: a container has a row for each of its CPUs and resources. */
static int pressure_cpu(struct controller *controller, const struct command_request *request,
			struct answer *answer)
{
	struct view_pressure_cpu_request wanted;
	const struct ledger_pod *pod;
	int r;

	object_read(&view_pressure_cpu_request_desc, request->body, &wanted);
	r = find_asked(controller, "pressure cpu", wanted.pod, wanted.container, answer, &pod);
	if (r || !pod)
		return r;
	return answer_object(answer,
			     ctl_report_pressure_cpus_of(controller, pod, wanted.container));
}

static const struct {
	const char *object, *command;
	int (*run)(struct controller *controller, const struct command_request *request,
		   struct answer *answer);
} commands[] = {
	{"run", "", run},
	{"drift", "repair", repair},
	{"pressure", "history", history},
	{"pressure", "cpu", pressure_cpu},
	{"container", "placement", placement},
};

static int run_command(struct controller *controller, const char *object, const char *command,
		       const struct command_request *request, struct answer *answer)
{
	if (!controller->started)
		return answer_error(answer, STATUS_NOT_READY, "the agent is starting; try again");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(object, commands[i].object) && !strcmp(command, commands[i].command))
			return commands[i].run(controller, request, answer);
	return -ENOENT;
}

int ctl_command(void *self, uint64_t request, const char *object, const char *command,
		struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		unsigned int *ret_status)
{
	const struct command_request received = {request, body, peer_pid};
	struct answer answer;
	int r = run_command(self, object, command, &received, &answer);

	if (r)
		return r;
	*ret_json = answer.json;
	*ret_status = answer.status;
	return 0;
}
