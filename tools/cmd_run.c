// SPDX-License-Identifier: Apache-2.0
/*
 * run: put this very process into a container, then become the command.
 *
 * The agent moves the peer of the connection, as the kernel names it, so the
 * request is made by the process (and thread) that calls execvp: same
 * terminal, environment, signals and status as without pinfold.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect.h"

/* As env(1), nohup(1) and others have them; else the status is the command's. */
enum { RUN_OURS = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

static int build_request(const struct pod_ref *ref, const char *container, char **ret_body)
{
	char pod[2 * POD_NAME_MAX + 8];
	/* a word without a slash is a uid to the agent */
	const struct view_run_request row = {ref->uid ? ref->uid : pod, container};
	struct json_object *body cleanup_json = NULL;
	const char *text;

	snprintf(pod, sizeof(pod), "%s/%s", ref->namespace, ref->name);
	body = object_json(&view_run_request_desc, &row, 1);
	if (!body)
		return -ENOMEM;
	text = json_object_to_json_string_ext(body, JSON_C_TO_STRING_NOSLASHESCAPE);
	*ret_body = text ? strdup(text) : NULL;
	return *ret_body ? 0 : -ENOMEM;
}

/* Longer than a move of a process has been seen to wait. */
#define WAIT_DEFAULT_S 60
#define WAIT_MAX_S     86400

static int parse_wait(struct session *session, unsigned int *ret_seconds)
{
	const char *word = session->options.wait;
	unsigned long value;
	char *end;

	*ret_seconds = WAIT_DEFAULT_S;
	if (!word)
		return 0;
	errno = 0;
	value = strtoul(word, &end, 10);
	if (errno || !isdigit((unsigned char)*word) || *end || value > WAIT_MAX_S)
		return out_fail(session, STATUS_USAGE,
				"invalid --wait '%.60s': expected a number of seconds from 0 to %d",
				word, WAIT_MAX_S);
	*ret_seconds = (unsigned int)value;
	return 0;
}

static int run_run(struct session *session, int argc, char **argv)
{
	struct json_object *answer cleanup_json = NULL;
	char *body cleanup_free = NULL;
	unsigned int wait_s;
	struct pod_ref ref;
	int error;

	if (parse_wait(session, &wait_s))
		return RUN_OURS;
	if (ref_parse_pod(session, &argc, &argv, &ref))
		return RUN_OURS;
	if (argc < 2) {
		out_fail(session, STATUS_USAGE,
			 "%s is missing; write 'pinfold run POD CONTAINER "
			 "-- CMD'",
			 argc ? "the command" : "the container's name");
		return RUN_OURS;
	}
	if (build_request(&ref, argv[0], &body)) {
		out_no_memory(session);
		return RUN_OURS;
	}
	if (source_ask_until(session, "/v1/run", body, wait_s, &answer))
		return RUN_OURS;
	fflush(stdout);
	execvp(argv[1], argv + 1);
	error = errno;
	out_fail(session, STATUS_FAILED, "cannot execute '%s': %s", argv[1], strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

static const struct command run_commands[] = {
	{"run", NULL, "POD CONTAINER -- CMD",
	 "Run CMD inside the container. The exit status is that of CMD, "
	 "or 125 if CMD was not started, 126 if it cannot be executed, "
	 "and 127 if it was not found. While the agent waits for the "
	 "kernel, pinfold asks it again for up to --wait seconds (60 by "
	 "default).",
	 run_run},
	{0},
};

const struct noun noun_run = {
	.name = "run",
	.help = "Run a command inside a container.",
	.commands = run_commands,
	.bare = true,
	.options = OPTION_WAIT,
	.changing = {"run"},
};
