// SPDX-License-Identifier: Apache-2.0
/*
 * run: put this very process into a container, then become the command.
 *
 * The agent moves the peer of the connection, as the kernel names it, so the
 * request is made by the process (and thread) that calls execvp: same
 * terminal, environment, signals and status as without pinfold.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect.h"

/* As env(1), nohup(1) and others have them; else the status is the command's. */
enum { RUN_OURS = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

static int build_request(const struct pod_ref *ref, const char *container, char **ret_body)
{
	cleanup_json struct json_object *body = json_object_new_object();
	char pod[2 * POD_NAME_MAX + 8];
	struct json_object *pod_json, *container_json;
	const char *text;

	snprintf(pod, sizeof(pod), "%s/%s", ref->namespace, ref->name);
	/* a word without a slash is a uid to the agent */
	pod_json = json_object_new_string(ref->uid ? ref->uid : pod);
	container_json = json_object_new_string(container);
	if (!body || !pod_json || !container_json ||
	    json_object_object_add(body, "pod", pod_json) ||
	    json_object_object_add(body, "container", container_json))
		return -ENOMEM;
	text = json_object_to_json_string_ext(body, JSON_C_TO_STRING_NOSLASHESCAPE);
	*ret_body = text ? strdup(text) : NULL;
	return *ret_body ? 0 : -ENOMEM;
}

static int run_run(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *answer = NULL;
	cleanup_free char *body = NULL;
	struct pod_ref ref;
	int error;

	if (ref_parse_pod(session, &argc, &argv, &ref))
		return RUN_OURS;
	if (argc < 2) {
		out_fail(session, STATUS_USAGE, "%s is missing: pinfold run POD CONTAINER -- CMD",
			 argc ? "the command" : "the container's name");
		return RUN_OURS;
	}
	if (build_request(&ref, argv[0], &body)) {
		out_no_memory(session);
		return RUN_OURS;
	}
	if (source_ask(session, "/v1/run", body, &answer))
		return RUN_OURS;
	fflush(stdout);
	execvp(argv[1], argv + 1);
	error = errno;
	out_fail(session, STATUS_FAILED, "cannot execute '%s': %s", argv[1], strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

static const struct command run_commands[] = {
	{"run", NULL, "POD CONTAINER -- CMD",
	 "Start CMD inside the container; the exit status is CMD's, 125 when it was not started, "
	 "126 or 127 when it cannot be executed or found.",
	 run_run},
	{0},
};

const struct noun noun_run = {
	.name = "run",
	.help = "Start a command inside a container.",
	.commands = run_commands,
	.bare = true,
	.changing = {"run"},
};
