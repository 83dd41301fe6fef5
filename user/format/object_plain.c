// SPDX-License-Identifier: Apache-2.0
/*
 * The plain text of an object, from its JSON and its table: blocks of lines, or
 * columns. The JSON may come from an agent of another version.
 */
#include "format/object_private.h"

#include <errno.h>

/* Detail lines are broken before this column where a field allows it. */
#define PLAIN_COLUMNS 100

/* --- blocks ----------------------------------------------------------------------------------- */

static void render_any(const struct object_desc *desc, struct json_object *json,
		       unsigned int indent, struct text *text);

/* The line being written: where it started and what stands between fields. */
struct plain_line {
	struct text *text;
	unsigned int indent;
	size_t start;
	bool open;
};

static void line_end(struct plain_line *line)
{
	if (line->open)
		text_append(line->text, "\n");
	line->open = false;
}

static void line_add(struct plain_line *line, const struct field_desc *field,
		     struct json_object *value)
{
	struct text word cleanup_text = {0};

	if (!(field->flags & FIELD_BARE))
		text_printf(&word, "%s ", object_field_title(field));
	object_append_value(&word, field, value);
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

/* The fields of an object on one indent, `with` or without the head ones. */
static void add_fields(const struct object_desc *desc, struct json_object *json, bool head,
		       struct plain_line *line)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = object_field_value(json, field);

		if (field->type == FIELD_PART)
			add_fields(field->object, json, head, line);
		if (!!(field->flags & FIELD_HEAD) != head || (field->flags & FIELD_HIDDEN) ||
		    object_field_is_nested(field) || !value)
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
		text_printf(text, "%s:\n", object_field_title(field));
		indent++;
	}
	render_any(field->object, value, indent, text);
}

static void render_parts(const struct object_desc *desc, struct json_object *json,
			 unsigned int indent, struct text *text)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = object_field_value(json, field);

		if (field->type == FIELD_PART)
			render_parts(field->object, json, indent, text);
		else if (object_field_is_nested(field) && value && !(field->flags & FIELD_HIDDEN))
			render_nested(field, value, indent, text);
	}
}

static void render_block(const struct object_desc *desc, struct json_object *json,
			 unsigned int indent, struct text *text)
{
	struct plain_line line = {.text = text, .indent = indent};
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
		if (!object_field_is_column(&desc->fields[i]))
			continue;
		fill = widths[i] - object_width(&cell);
		/* blanks are held back, so that no line ends in them */
		text_printf(text, "%*s", (int)(pending + (first ? 0 : 2)), "");
		if (object_field_is_number(&desc->fields[i])) {
			text_printf(text, "%*s", (int)fill, "");
			fill = 0;
		}
		text_append_len(text, cell.data ? cell.data : "", cell.len);
		pending = fill;
		first = false;
	}
	text_append(text, "\n");
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

void object_render(const struct object_desc *desc, struct json_object *json, struct text *text)
{
	if (json)
		render_any(desc, json, 0, text);
}
