// SPDX-License-Identifier: Apache-2.0
/*
 * The plain text of an object, from its JSON and its table: blocks of lines, or
 * columns. The JSON may come from an agent of another version.
 */
#include "format/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/quantity.h"
#include "format/object_private.h"

/* Detail lines are broken before this column where a field allows it. */
#define PLAIN_COLUMNS 100

/* --- single values ---------------------------------------------------------------------------- */

static void append_clean(struct text *text, const char *string)
{
	for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
		/* C1 control codes are two UTF-8 bytes, the first of them 0xc2 */
		if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			text_printf(text, "\\x%02x", *++c);
		else if (*c < 0x20 || *c == 0x7f)
			text_printf(text, "\\x%02x", *c);
		else
			text_append_len(text, (const char *)c, 1);
	}
}

void object_append_seconds(struct text *text, double seconds)
{
	if (seconds >= 100)
		text_printf(text, "%.0fs", seconds);
	else if (seconds >= 1 || seconds <= 0)
		text_printf(text, "%.2fs", seconds);
	else if (seconds >= 1e-3)
		text_printf(text, "%.3gms", seconds * 1e3);
	else
		text_printf(text, "%.3gus", seconds * 1e6);
}

static void append_time(struct text *text, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char buffer[40];
	struct tm utc;

	if (time_ns < 0 || !gmtime_r(&seconds, &utc) ||
	    !strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%S", &utc)) {
		text_printf(text, "%" PRId64 "ns", time_ns);
		return;
	}
	text_printf(text, "%s.%03dZ", buffer, (int)(time_ns / 1000000 % 1000));
}

/* Exact where that is short ("64Gi"), else with one decimal: JSON has the exact number. */
static void append_bytes(struct text *text, int64_t bytes)
{
	static const char *const units[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	double value = (double)bytes;
	size_t unit = 0;
	char exact[32];

	if (bytes < 1024) {
		text_printf(text, "%" PRId64, bytes);
		return;
	}
	quantity_format_binary((uint64_t)bytes, exact, sizeof(exact));
	if (strlen(exact) <= 6) {
		text_append(text, exact);
		return;
	}
	for (value /= 1024; value >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	text_printf(text, "%.1f%s", value, units[unit]);
}

static void append_texts(struct text *text, struct json_object *json)
{
	size_t length = json_object_is_type(json, json_type_array) ? json_object_array_length(json)
								   : 0;

	if (!length)
		text_append(text, "-");
	for (size_t i = 0; i < length; i++) {
		const char *item = json_object_get_string(json_object_array_get_idx(json, i));

		text_append(text, i ? "; " : "");
		append_clean(text, item ? item : "");
	}
}

static void append_string(struct text *text, struct json_object *json)
{
	const char *string = json_object_get_string(json);

	append_clean(text, string && *string ? string : "-");
}

static void append_value(struct text *text, const struct field_desc *field,
			 struct json_object *json)
{
	if (!json) {
		text_append(text, "-");
		return;
	}
	switch (field->type) {
	case FIELD_BOOL:
		text_append(text, json_object_get_boolean(json) ? "yes" : "no");
		break;
	case FIELD_SECONDS:
		object_append_seconds(text, json_object_get_double(json));
		break;
	case FIELD_PERCENT:
		text_printf(text, "%.2f%%", json_object_get_double(json));
		break;
	case FIELD_TIME:
		append_time(text, json_object_get_int64(json));
		break;
	case FIELD_BYTES:
		append_bytes(text, json_object_get_int64(json));
		break;
	case FIELD_TEXTS:
		append_texts(text, json);
		break;
	case FIELD_OBJECT:
	case FIELD_LIST:
		text_append(text, "…");
		break;
	default:
		append_string(text, json);
	}
}

const char *object_title(const struct field_desc *field)
{
	return field->title ? field->title : field->key;
}

static struct json_object *value_of(struct json_object *object, const struct field_desc *field)
{
	struct json_object *value = NULL;

	if (field->key)
		json_object_object_get_ex(object, field->key, &value);
	return value;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void render_any(const struct object_desc *desc, struct json_object *json,
		       unsigned int indent, struct text *text);

/* The line being written: where it started and what stands between fields. */
struct line {
	struct text *text;
	unsigned int indent;
	size_t start;
	bool open;
};

static void line_end(struct line *line)
{
	if (line->open)
		text_append(line->text, "\n");
	line->open = false;
}

static void line_add(struct line *line, const struct field_desc *field, struct json_object *value)
{
	struct text word cleanup_text = {0};

	if (!(field->flags & FIELD_BARE))
		text_printf(&word, "%s ", object_title(field));
	append_value(&word, field, value);
	if (word.error) {
		line->text->error = word.error;
		return;
	}
	/* a head stays on one line, so that grep finds the whole of it */
	if (line->open && !(field->flags & FIELD_HEAD) &&
	    line->text->len - line->start + word.len > PLAIN_COLUMNS)
		line_end(line);
	if (!line->open) {
		line->start = line->text->len;
		for (unsigned int i = 0; i < line->indent; i++)
			text_append(line->text, "\t");
	} else {
		text_append(line->text, field->flags & FIELD_SLASH ? "/" : "  ");
	}
	line->open = true;
	text_append_len(line->text, word.data, word.len);
}

static bool is_nested(const struct field_desc *field)
{
	return field->type == FIELD_OBJECT || field->type == FIELD_LIST ||
	       field->type == FIELD_PART;
}

/* The fields of an object on one indent, `with` or without the head ones. */
static void add_fields(const struct object_desc *desc, struct json_object *json, bool head,
		       struct line *line)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = value_of(json, field);

		if (field->type == FIELD_PART)
			add_fields(field->object, json, head, line);
		if (!!(field->flags & FIELD_HEAD) != head || (field->flags & FIELD_HIDDEN) ||
		    is_nested(field) || !value)
			continue;
		if (field->flags & FIELD_LINE)
			line_end(line);
		line_add(line, field, value);
	}
}

static void render_nested(const struct field_desc *field, struct json_object *value,
			  unsigned int indent, struct text *text)
{
	if (field->type == FIELD_LIST &&
	    (!json_object_is_type(value, json_type_array) || !json_object_array_length(value)))
		return;
	if (!(field->flags & FIELD_BARE)) {
		for (unsigned int i = 0; i < indent; i++)
			text_append(text, "\t");
		text_printf(text, "%s:\n", object_title(field));
		indent++;
	}
	render_any(field->object, value, indent, text);
}

static void render_parts(const struct object_desc *desc, struct json_object *json,
			 unsigned int indent, struct text *text)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = value_of(json, field);

		if (field->type == FIELD_PART)
			render_parts(field->object, json, indent, text);
		else if (is_nested(field) && value && !(field->flags & FIELD_HIDDEN))
			render_nested(field, value, indent, text);
	}
}

static void render_block(const struct object_desc *desc, struct json_object *json,
			 unsigned int indent, struct text *text)
{
	struct line line = {.text = text, .indent = indent};
	size_t before = text->len;

	add_fields(desc, json, true, &line);
	line_end(&line);
	/* an object without head fields shows its details at its own indent */
	if (text->len != before)
		line.indent = indent + 1;
	add_fields(desc, json, false, &line);
	line_end(&line);
	render_parts(desc, json, line.indent, text);
}

/* --- tables ----------------------------------------------------------------------------------- */

bool object_is_number(const struct field_desc *field)
{
	return field->type == FIELD_COUNT || field->type == FIELD_BYTES ||
	       field->type == FIELD_SECONDS || field->type == FIELD_PERCENT;
}

void object_append_cell(const struct object_desc *desc, struct json_object *row, size_t i,
			struct text *cell, size_t *ret_next)
{
	size_t last = i;

	while (last + 1 < desc->nr_fields && (desc->fields[last + 1].flags & FIELD_SLASH))
		last++;
	for (size_t f = i; f <= last; f++) {
		const struct field_desc *field = &desc->fields[f];
		struct json_object *value = row ? value_of(row, field) : NULL;

		if (row && !value && (f > i || last > i))
			continue;
		text_append(cell, f > i && cell->len ? "/" : "");
		if (row)
			append_value(cell, field, value);
		else
			text_append(cell, object_title(field));
	}
	if (!cell->len)
		text_append(cell, "-");
	*ret_next = last + 1;
}

size_t object_width(const struct text *cell)
{
	size_t width = 0;

	for (size_t i = 0; i < cell->len; i++)
		width += ((unsigned char)cell->data[i] & 0xc0) != 0x80;
	return width;
}

static void measure_row(const struct object_desc *desc, struct json_object *row, size_t *widths)
{
	size_t next;

	for (size_t i = 0; i < desc->nr_fields; i = next) {
		struct text cell cleanup_text = {0};

		object_append_cell(desc, row, i, &cell, &next);
		if (object_width(&cell) > widths[i])
			widths[i] = object_width(&cell);
	}
}

bool object_column_shown(const struct field_desc *field)
{
	return !(field->flags & FIELD_HIDDEN) && !is_nested(field);
}

static void render_row(const struct object_desc *desc, struct json_object *row,
		       const size_t *widths, unsigned int indent, struct text *text)
{
	size_t next, pending = 0;
	bool first = true;

	for (unsigned int i = 0; i < indent; i++)
		text_append(text, "\t");
	for (size_t i = 0; i < desc->nr_fields; i = next) {
		struct text cell cleanup_text = {0};
		size_t fill;

		object_append_cell(desc, row, i, &cell, &next);
		if (!object_column_shown(&desc->fields[i]))
			continue;
		fill = widths[i] - object_width(&cell);
		/* blanks are held back, so that no line ends in them */
		text_printf(text, "%*s", (int)(pending + (first ? 0 : 2)), "");
		if (object_is_number(&desc->fields[i])) {
			text_printf(text, "%*s", (int)fill, "");
			fill = 0;
		}
		text_append_len(text, cell.data ? cell.data : "", cell.len);
		pending = fill;
		first = false;
	}
	text_append(text, "\n");
}

static void render_table(const struct object_desc *desc, struct json_object *rows,
			 unsigned int indent, struct text *text)
{
	size_t *widths cleanup_free = calloc(desc->nr_fields, sizeof(*widths));
	size_t length = json_object_array_length(rows);

	if (!widths) {
		text->error = -ENOMEM;
		return;
	}
	if (!length)
		return;
	measure_row(desc, NULL, widths);
	for (size_t i = 0; i < length; i++)
		measure_row(desc, json_object_array_get_idx(rows, i), widths);
	render_row(desc, NULL, widths, indent, text);
	for (size_t i = 0; i < length; i++)
		render_row(desc, json_object_array_get_idx(rows, i), widths, indent, text);
}

static void render_any(const struct object_desc *desc, struct json_object *json,
		       unsigned int indent, struct text *text)
{
	if (!json_object_is_type(json, json_type_array)) {
		render_block(desc, json, indent, text);
		return;
	}
	if (desc->layout == OBJECT_TABLE) {
		render_table(desc, json, indent, text);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(json); i++)
		render_block(desc, json_object_array_get_idx(json, i), indent, text);
}

void object_render_line(const struct object_desc *desc, struct json_object *json, struct text *text)
{
	size_t *widths cleanup_free = calloc(desc->nr_fields, sizeof(*widths));

	if (!widths) {
		text->error = -ENOMEM;
		return;
	}
	measure_row(desc, json, widths);
	render_row(desc, json, widths, 0, text);
}

void object_render(const struct object_desc *desc, struct json_object *json, struct text *text)
{
	if (json)
		render_any(desc, json, 0, text);
}
