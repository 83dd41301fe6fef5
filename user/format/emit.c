// SPDX-License-Identifier: Apache-2.0
/*
 * The writer. Empty YAML containers need their brackets, so a container's
 * opening is written only with its first member or at its end.
 */
#include "format/emit.h"

#include <inttypes.h>

static void indent(struct emitter *emitter, unsigned int steps)
{
	static const char blanks[] =
		"                                                                ";

	_Static_assert(sizeof(blanks) > 2 * EMIT_MAX_DEPTH, "the deepest line can be indented");
	text_append_len(emitter->out, blanks, 2 * (size_t)steps);
}

/* Bytes from here on that are written as they are. Nearly all are, and the state file has many. */
static size_t plain_len(const char *value)
{
	size_t len = 0;

	while (value[len] >= ' ' && value[len] < 0x7f && value[len] != '"' && value[len] != '\\')
		len++;
	return len;
}

/* Names of files and processes may hold any byte; what we write must stay readable to us. */
static void append_quoted(struct text *out, const char *value)
{
	text_append(out, "\"");
	while (*value) {
		const size_t plain = plain_len(value);
		uint32_t character;
		unsigned int len;

		if (plain) {
			text_append_len(out, value, plain);
			value += plain;
			continue;
		}
		len = text_decode(value, &character);
		if (len == 0)
			text_append(out, "\\ufffd");
		else if (character == '"' || character == '\\')
			text_printf(out, "\\%c", (char)character);
		else if (text_is_control(character) || (character & ~1U) == 0xfffe)
			text_printf(out, "\\u%04x", character);
		else
			text_append_len(out, value, len);
		value += len ? len : 1;
	}
	text_append(out, "\"");
}

/* YAML: line start of a member: newline, indentation and the list's dash where one waits. */
static void begin_yaml_member(struct emitter *emitter, const char *key)
{
	struct text *out = emitter->out;
	bool list = emitter->level[emitter->depth - 1].list;

	if (emitter->dashed && !list) {
		emitter->dashed = false; /* continues the line of the dash */
	} else {
		if (out->len)
			text_append(out, "\n");
		indent(emitter, emitter->depth - 1);
	}
	if (list)
		text_append(out, "- ");
	else
		text_printf(out, "%s:", key);
}

static void begin_json_member(struct emitter *emitter, const char *key)
{
	struct text *out = emitter->out;

	if (emitter->level[emitter->depth - 1].nr)
		text_append(out, ",");
	if (emitter->style == EMIT_JSON_PRETTY) {
		text_append(out, "\n");
		indent(emitter, emitter->depth);
	}
	if (!emitter->level[emitter->depth - 1].list) {
		append_quoted(out, key);
		text_append(out, emitter->style == EMIT_JSON_PRETTY ? ": " : ":");
	}
}

static void begin_member(struct emitter *emitter, const char *key)
{
	if (emitter->style == EMIT_YAML)
		begin_yaml_member(emitter, key);
	else
		begin_json_member(emitter, key);
	emitter->level[emitter->depth - 1].nr++;
}

/* Between "key:" and a value on the same line. */
static void begin_value(struct emitter *emitter, const char *key)
{
	begin_member(emitter, key);
	if (emitter->style == EMIT_YAML && !emitter->level[emitter->depth - 1].list)
		text_append(emitter->out, " ");
}

static void open_level(struct emitter *emitter, bool list)
{
	emitter->level[emitter->depth].list = list;
	emitter->level[emitter->depth].nr = 0;
	emitter->depth++;
	if (emitter->style != EMIT_YAML)
		text_append(emitter->out, list ? "[" : "{");
}

void emit_begin(struct emitter *emitter, struct text *out, enum emit_style style)
{
	*emitter = (struct emitter){.out = out, .style = style};
	open_level(emitter, false);
}

static void open_member(struct emitter *emitter, const char *key, bool list)
{
	bool in_list = emitter->level[emitter->depth - 1].list;

	begin_member(emitter, key);
	emitter->dashed = emitter->style == EMIT_YAML && in_list && !list;
	open_level(emitter, list);
}

void emit_map(struct emitter *emitter, const char *key)
{
	open_member(emitter, key, false);
}

void emit_list(struct emitter *emitter, const char *key)
{
	open_member(emitter, key, true);
}

void emit_close(struct emitter *emitter)
{
	bool list, empty;

	emitter->depth--;
	list = emitter->level[emitter->depth].list;
	empty = emitter->level[emitter->depth].nr == 0;
	if (emitter->style == EMIT_YAML) {
		if (empty && !emitter->dashed)
			text_append(emitter->out, " ");
		if (empty)
			text_append(emitter->out, list && !emitter->dashed ? "[]" : "{}");
		emitter->dashed = false;
		return;
	}
	if (emitter->style == EMIT_JSON_PRETTY && !empty) {
		text_append(emitter->out, "\n");
		indent(emitter, emitter->depth);
	}
	text_append(emitter->out, list ? "]" : "}");
}

void emit_end(struct emitter *emitter)
{
	if (emitter->style == EMIT_YAML && emitter->level[0].nr == 0)
		text_append(emitter->out, "{}");
	else if (emitter->style != EMIT_YAML)
		emit_close(emitter);
	if (emitter->style != EMIT_JSON)
		text_append(emitter->out, "\n");
}

void emit_text(struct emitter *emitter, const char *key, const char *value)
{
	begin_value(emitter, key);
	append_quoted(emitter->out, value);
}

void emit_number(struct emitter *emitter, const char *key, int64_t value)
{
	begin_value(emitter, key);
	text_printf(emitter->out, "%" PRId64, value);
}

void emit_bool(struct emitter *emitter, const char *key, bool value)
{
	begin_value(emitter, key);
	text_append(emitter->out, value ? "true" : "false");
}

void emit_cpuset(struct emitter *emitter, const char *key, const struct cpuset *set)
{
	char list[CPUSET_TEXT_MAX];

	cpuset_format(set, list, sizeof(list));
	emit_text(emitter, key, list);
}

void emit_row(struct emitter *emitter, const char *key, const uint64_t *values, size_t nr_values)
{
	begin_value(emitter, key);
	text_append(emitter->out, "[");
	for (size_t i = 0; i < nr_values; i++)
		text_printf(emitter->out, "%s%" PRIu64, i ? "," : "", values[i]);
	text_append(emitter->out, "]");
}
