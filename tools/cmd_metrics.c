// SPDX-License-Identifier: Apache-2.0
/* metrics: the page of the running agent. */
#include <errno.h>
#include <string.h>

#include "inspect.h"

/* Lines about metrics that begin with `prefix`; "# HELP name" and "# TYPE name" too. */
static void select_metrics(const char *page, const char *prefix, struct text *text)
{
	size_t len = strlen(prefix);

	while (*page) {
		const char *end = strchrnul(page, '\n'), *name = page;

		if (!strncmp(page, "# HELP ", 7) || !strncmp(page, "# TYPE ", 7))
			name = page + 7;
		if (!strncmp(name, prefix, len)) {
			text_append_len(text, page, (size_t)(end - page));
			text_append(text, "\n");
		}
		page = *end ? end + 1 : end;
	}
}

static int fetch_metrics(struct session *session, struct answer_text *answer)
{
	char *socket cleanup_free = source_socket(session);
	int r;

	if (!socket)
		return out_no_memory(session);
	r = client_ask(socket, "/metrics", NULL, answer);
	if (r == -EACCES || r == -EPERM)
		return out_fail(session, STATUS_PERMISSION,
				"cannot connect to the agent's socket %s: %s; run as root", socket,
				strerror(-r));
	if (r)
		return out_fail(session, STATUS_UNREACHABLE,
				"no agent answers on %s (%s), and only a running agent has "
				"metrics; start pinfoldd",
				socket, strerror(-r));
	if (answer->status >= 300)
		return out_fail(session, client_status(answer->status),
				"the agent answered /metrics with HTTP status %u", answer->status);
	return STATUS_DONE;
}

static int metrics_show(struct session *session, int argc, char **argv)
{
	struct answer_text answer cleanup_answer = {0};
	struct text text cleanup_text = {0};
	int r;

	if (argc && (argc != 2 || !is_prefix(argv[0], "name")))
		return unexpected(session, argv[0], "name PREFIX, or no more arguments");
	r = fetch_metrics(session, &answer);
	if (r)
		return r;
	select_metrics(answer.body.data ? answer.body.data : "", argc ? argv[1] : "", &text);
	if (text.error)
		return out_no_memory(session);
	return out_text(session, "metrics", text.data ? text.data : "");
}

static const struct command metrics_commands[] = {
	{"show", "list", "[name PREFIX]", "Show the agent's metrics in the Prometheus text format.",
	 metrics_show},
	{0},
};

const struct noun noun_metrics = {
	.name = "metrics",
	.help = "The agent's metrics.",
	.commands = metrics_commands,
};
