// SPDX-License-Identifier: Apache-2.0
/*
 * What the inspector says: one object, text or failure per command, in plain
 * text at once, in JSON collected so that stdout is exactly one document.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

/* Where text goes instead of stdout and stderr; NULL = to them. A process has only one of each. */
static struct text *redirected, *redirected_errors;

void out_redirect(struct text *text, struct text *errors)
{
	redirected = text;
	redirected_errors = errors;
}

static void say(const char *string)
{
	if (redirected)
		text_append(redirected, string);
	else
		fputs(string, stdout);
}

/* A line to stderr. */
static void say_error(const char *kind, const char *sentence)
{
	struct text line cleanup_text = {0};

	text_printf(&line, "%s: ", kind);
	text_append_shown(&line, sentence);
	text_append(&line, "\n");
	if (line.error)
		fputs("Error: out of memory\n", stderr);
	else if (redirected_errors)
		text_append(redirected_errors, line.data);
	else
		fputs(line.data, stderr);
}

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
	say(text.data ? text.data : "");
	return STATUS_DONE;
}

int out_text(struct session *session, const char *key, const char *string)
{
	struct json_object *object, *value;

	if (!session->options.json) {
		say(string);
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
		say_error("Error", sentence);
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
	struct text sentence cleanup_text = {0};
	va_list args;

	va_start(args, format);
	text_vprintf(&sentence, format, args);
	va_end(args);
	say_error("Note", sentence.data ? sentence.data : "out of memory");
}

void out_append_json(struct json_object *json, bool is_pretty, struct text *text)
{
	const int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
			  (is_pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : 0);
	const char *string = json_object_to_json_string_ext(json, flags), *begin = string;
	uint32_t character;

	if (!string) {
		text->error = -ENOMEM;
		return;
	}
	while (*string) {
		const unsigned int len = text_decode(string, &character);

		if (!len || character < 0x7f || !text_is_control(character)) {
			string += len ? len : 1;
			continue;
		}
		text_append_len(text, begin, (size_t)(string - begin));
		text_printf(text, "\\u%04x", character);
		string += len;
		begin = string;
	}
	text_append_len(text, begin, (size_t)(string - begin));
	text_append(text, "\n");
}

void out_result(struct session *session)
{
	if (session->options.json && session->has_result) {
		struct text text cleanup_text = {0};

		out_append_json(session->result, session->options.pretty, &text);
		if (text.error)
			say("{\"error\":\"out of memory\"}\n"); /* key: no memory to build it */
		else
			say(text.data);
	}
	json_object_put(session->result);
	session->result = NULL;
	session->has_result = false;
}

int out_finish(struct session *session, int status)
{
	out_result(session);
	/* a full disk or a closed pipe must not look like success */
	if (fflush(stdout) || ferror(stdout)) {
		fputs("Error: writing to stdout failed\n", stderr);
		return status ? status : STATUS_FAILED;
	}
	return status;
}
