// SPDX-License-Identifier: Apache-2.0
/*
 * What the inspector says: one object, text or failure per command, in plain
 * text at once, in JSON collected so that stdout is exactly one document.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect.h"

int out_no_memory(struct session *session)
{
	return out_fail(session, STATUS_FAILED, "out of memory");
}

static int keep_result(struct session *session, struct json_object *json)
{
	json_object_put(session->result);
	session->result = json;
	session->has_result = true;
	return STATUS_DONE;
}

int out_object(struct session *session, const struct object_desc *desc, struct json_object *json)
{
	struct text text cleanup_text = {0};
	struct json_object *owned cleanup_json = json;

	if (!json)
		return out_no_memory(session);
	if (session->options.json)
		return keep_result(session, TAKE_PTR(owned));
	object_render(desc, json, &text);
	if (text.error)
		return out_no_memory(session);
	fputs(text.data ? text.data : "", stdout);
	return STATUS_DONE;
}

int out_text(struct session *session, const char *key, const char *string)
{
	struct json_object *object, *value;

	if (!session->options.json) {
		fputs(string, stdout);
		return STATUS_DONE;
	}
	object = json_object_new_object();
	value = json_object_new_string(string);
	if (!object || !value || json_object_object_add(object, key, value)) {
		json_object_put(value);
		json_object_put(object);
		return out_no_memory(session);
	}
	return keep_result(session, object);
}

bool out_has_colours(const struct session *session)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !session->options.json && !(no_color && *no_color) && term && strcmp(term, "dumb") &&
	       isatty(STDOUT_FILENO);
}

int out_null(struct session *session)
{
	return keep_result(session, NULL);
}

int out_fail(struct session *session, enum status status, const char *format, ...)
{
	char sentence[1024];
	size_t at = 0;
	va_list args;

	if (session->place)
		at = (size_t)snprintf(sentence, sizeof(sentence), "%.512s: ", session->place);
	va_start(args, format);
	vsnprintf(sentence + at, sizeof(sentence) - at, format, args);
	va_end(args);
	if (session->options.json)
		keep_result(session, view_error(sentence));
	else
		fprintf(stderr, "Error: %s\n", sentence);
	return (int)status;
}

int unexpected(struct session *session, const char *word, const char *expected)
{
	if (!*word)
		return out_fail(session, STATUS_USAGE, "missing argument: expected %s", expected);
	return out_fail(session, STATUS_USAGE, "unexpected argument '%.60s': expected %s", word,
			expected);
}

void out_note(const char *format, ...)
{
	va_list args;

	fputs("Note: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int out_finish(struct session *session, int status)
{
	if (session->options.json && session->has_result) {
		int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
		const char *string;

		if (session->options.pretty)
			flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
		string = json_object_to_json_string_ext(session->result, flags);
		if (string)
			puts(string);
		else
			puts("{\"error\":\"out of memory\"}"); /* key: no memory to build it */
	}
	json_object_put(session->result);
	session->result = NULL;
	/* a full disk or a closed pipe must not look like success */
	if (fflush(stdout) || ferror(stdout)) {
		fputs("Error: writing to stdout failed\n", stderr);
		return status ? status : STATUS_FAILED;
	}
	return status;
}
