// SPDX-License-Identifier: Apache-2.0
/* schema: the JSON Schema of each object. */
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "inspect.h"

static int print_schema(struct session *session, struct json_object *schema)
{
	struct text text cleanup_text = {0};
	const char *string;

	if (!schema)
		return out_no_memory(session);
	if (session->options.json) {
		session->result = schema;
		session->has_result = true;
		return STATUS_DONE;
	}
	/* a schema has no other form than JSON */
	string = json_object_to_json_string_ext(schema, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_SPACED |
								JSON_C_TO_STRING_NOSLASHESCAPE);
	text_printf(&text, "%s\n", string ? string : "null");
	json_object_put(schema);
	return text.error ? out_no_memory(session) : out_text(session, "schema", text.data);
}

static struct json_object *all_schemas(void)
{
	struct json_object *all cleanup_json = json_object_new_object();
	struct json_object *version = json_object_new_int(PINFOLD_SCHEMA_VERSION);
	struct json_object *objects = json_object_new_object();

	if (!all || !version || !objects ||
	    json_object_object_add(all, "schema_version", version) || /* key: of no object */
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
	struct text names cleanup_text = {0};

	if (!argc)
		return print_schema(session, all_schemas());
	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	desc = !strcmp(argv[0], "error") ? &view_error_desc : view_find(argv[0]);
	if (desc)
		return print_schema(session, object_schema(desc));
	for (const struct object_desc *const *each = view_descs; *each; each++)
		text_printf(&names, "%s, ", (*each)->name);
	text_append(&names, "error");
	return unexpected(session, argv[0], names.data ? names.data : "an object");
}

static const struct command schema_commands[] = {
	{"show", NULL, "[OBJECT]", "Print the JSON Schema of an object, or of all objects.",
	 schema_show},
	{0},
};

const struct noun noun_schema = {
	.name = "schema",
	.help = "The JSON Schema of the output of -j.",
	.commands = schema_commands,
	.bare = true,
};
