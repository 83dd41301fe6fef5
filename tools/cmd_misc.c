// SPDX-License-Identifier: Apache-2.0
/* metrics, schema, version: small nouns without state of their own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include <pinfold/names.h>

#include "inspect.h"

/* --- metrics ---------------------------------------------------------------------------------- */

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
	cleanup_free char *socket = source_socket(session);
	int r;

	if (!socket)
		return out_no_memory(session);
	r = client_ask(socket, "/metrics", NULL, answer);
	if (r == -EACCES || r == -EPERM)
		return out_fail(session, STATUS_PERMISSION,
				"the agent's socket %s: %s; it answers root only", socket,
				strerror(-r));
	if (r)
		return out_fail(session, STATUS_UNREACHABLE,
				"no agent answers on %s (%s); metrics are the agent's only", socket,
				strerror(-r));
	if (answer->status >= 300)
		return out_fail(session, client_status(answer->status),
				"the agent answered /metrics with status %u", answer->status);
	return STATUS_DONE;
}

static int metrics_show(struct session *session, int argc, char **argv)
{
	cleanup_answer struct answer_text answer = {0};
	cleanup_text struct text text = {0};
	int r;

	if (argc && (argc != 2 || !is_prefix(argv[0], "name")))
		return unexpected(session, argv[0], "name PREFIX, or nothing more");
	r = fetch_metrics(session, &answer);
	if (r)
		return r;
	select_metrics(answer.body.data ? answer.body.data : "", argc ? argv[1] : "", &text);
	if (text.error)
		return out_no_memory(session);
	return out_text(session, "metrics", text.data ? text.data : "");
}

static const struct command metrics_commands[] = {
	{"show", "list", "[name PREFIX]",
	 "The agent's page of metrics, in Prometheus' text format.", metrics_show},
	{0},
};

const struct noun noun_metrics = {
	.name = "metrics",
	.help = "The agent's metrics.",
	.commands = metrics_commands,
};

/* --- schema ----------------------------------------------------------------------------------- */

static int print_schema(struct session *session, struct json_object *schema)
{
	const char *text;

	if (!schema)
		return out_no_memory(session);
	if (session->options.json) {
		session->result = schema;
		session->has_result = true;
		return STATUS_DONE;
	}
	/* a schema has no other form than JSON */
	text = json_object_to_json_string_ext(schema, JSON_C_TO_STRING_PRETTY |
							      JSON_C_TO_STRING_SPACED |
							      JSON_C_TO_STRING_NOSLASHESCAPE);
	puts(text ? text : "null");
	json_object_put(schema);
	return STATUS_DONE;
}

static struct json_object *all_schemas(void)
{
	cleanup_json struct json_object *all = json_object_new_object();
	struct json_object *version = json_object_new_int(PINFOLD_SCHEMA_VERSION);
	struct json_object *objects = json_object_new_object();

	if (!all || !version || !objects ||
	    json_object_object_add(all, "schema_version", version) ||
	    json_object_object_add(all, "objects", objects))
		return NULL;
	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		struct json_object *schema = object_schema(*desc);

		if (!schema || json_object_object_add(objects, (*desc)->name, schema))
			return NULL;
	}
	return TAKE_PTR(all);
}

static int schema_show(struct session *session, int argc, char **argv)
{
	const struct object_desc *desc;
	cleanup_text struct text names = {0};

	if (!argc)
		return print_schema(session, all_schemas());
	if (argc > 1)
		return unexpected(session, argv[1], "nothing more");
	desc = !strcmp(argv[0], "error") ? &view_error_desc : view_find(argv[0]);
	if (desc)
		return print_schema(session, object_schema(desc));
	for (const struct object_desc *const *each = view_descs; *each; each++)
		text_printf(&names, "%s, ", (*each)->name);
	text_append(&names, "error");
	return unexpected(session, argv[0], names.data ? names.data : "an object");
}

static const struct command schema_commands[] = {
	{"show", NULL, "[OBJECT]", "JSON Schema of an object, or of all of them.", schema_show},
	{0},
};

const struct noun noun_schema = {
	.name = "schema",
	.help = "JSON Schema of what -j prints.",
	.commands = schema_commands,
	.bare = true,
};

/* --- version ---------------------------------------------------------------------------------- */

static int version_show(struct session *session, int argc, char **argv)
{
	char libbpf[32];

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	snprintf(libbpf, sizeof(libbpf), "%u.%u", libbpf_major_version(), libbpf_minor_version());
	return out_object(session, &view_version_desc,
			  view_version("pinfold", program_revision, libbpf));
}

static const struct command version_commands[] = {
	{"show", NULL, "", "Versions of the program, of libbpf and of the JSON contract.",
	 version_show},
	{0},
};

const struct noun noun_version = {
	.name = "version",
	.help = "Versions of program and JSON.",
	.commands = version_commands,
};
