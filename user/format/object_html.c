// SPDX-License-Identifier: Apache-2.0
/*
 * The HTML of an object, from its JSON and its table: a table or a list of terms. Constant attribute
 * values are not quoted, because a node has thousands of cells; what comes from the JSON always is.
 */
#include "format/object_html.h"

#include <errno.h>
#include <string.h>

#include "format/object_private.h"

/*
 * A cell keeps its text on one line, so that many rows are seen at once, unless it is a sentence or
 * a list longer than the first, or anything longer than the second.
 */
#define SENTENCE_BYTES_MAX 40
#define LINE_BYTES_MAX	   160

void html_append(struct text *text, const char *string)
{
	static const char *const references[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	const unsigned char *c = (const unsigned char *)string, *begin = c;

	for (; *c; c++) {
		const char *reference = references[*c];

		if ((*c < 0x20 && *c != '\n') || *c == 0x7f)
			reference = "\xef\xbf\xbd";
		if (!reference)
			continue;
		text_append_len(text, (const char *)begin, (size_t)(c - begin));
		text_append(text, reference);
		begin = c + 1;
	}
	text_append_len(text, (const char *)begin, (size_t)(c - begin));
}

/* --- columns ---------------------------------------------------------------------------------- */

/* A field, with those that are joined to it. A part's fields are columns like the object's own. */
struct html_column {
	const struct object_desc *desc;
	size_t field;
	bool is_used; /* a row has a value for it */
};

static const struct field_desc *field_of(const struct html_column *column)
{
	return &column->desc->fields[column->field];
}

static size_t count_fields(const struct object_desc *desc)
{
	size_t nr = desc->nr_fields;

	for (size_t i = 0; i < desc->nr_fields; i++)
		if (desc->fields[i].type == FIELD_PART)
			nr += count_fields(desc->fields[i].object);
	return nr;
}

static size_t list_columns(const struct object_desc *desc, struct html_column *columns)
{
	size_t nr = 0;

	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		if (field->type == FIELD_PART)
			nr += list_columns(field->object, columns + nr);
		else if (object_field_is_column(field) && (!i || !(field->flags & FIELD_SLASH)))
			columns[nr++] = (struct html_column){desc, i, false};
	}
	return nr;
}

/* The caller frees it; NULL = no memory, which `text` then says. */
static struct html_column *columns_of(const struct object_desc *desc, struct text *text,
				      size_t *ret_nr)
{
	struct html_column *columns = calloc(count_fields(desc) + 1, sizeof(*columns));

	if (columns)
		*ret_nr = list_columns(desc, columns);
	else
		text->error = -ENOMEM;
	return columns;
}

static bool has_value(const struct html_column *column, struct json_object *row)
{
	size_t i = column->field;

	do {
		if (object_field_value(row, &column->desc->fields[i]))
			return true;
		i++;
	} while (i < column->desc->nr_fields && (column->desc->fields[i].flags & FIELD_SLASH));
	return false;
}

/* The words of a cell, or of the column's head if `row` is NULL, not escaped yet. */
static void make_words(const struct html_column *column, struct json_object *row,
		       struct text *words)
{
	size_t next;

	object_append_cell(column->desc, row, column->field, words, &next);
}

static void append_words(const struct text *words, struct text *text)
{
	if (words->error)
		text->error = words->error;
	else
		html_append(text, words->data);
}

static void append_head(const struct html_column *column, struct text *text)
{
	struct text words cleanup_text = {0};

	make_words(column, NULL, &words);
	append_words(&words, text);
}

/* Shares of time are coloured in steps, so that the few that matter stand out among hundreds. */
static unsigned int heat_of(double percent)
{
	static const double bounds[] = {1, 5, 20, 50};
	unsigned int heat = 0;

	while (heat < ARRAY_SIZE(bounds) && percent >= bounds[heat])
		heat++;
	return heat;
}

static bool is_long(const struct field_desc *field, const struct text *words)
{
	if (words->len <= SENTENCE_BYTES_MAX)
		return false;
	return words->len > LINE_BYTES_MAX || field->type == FIELD_CPULIST ||
	       strchr(words->data, ' ');
}

/* The class and the words of a cell, which end its start tag. */
static void append_cell(const struct html_column *column, struct json_object *row,
			struct text *text)
{
	const struct field_desc *field = field_of(column);
	struct json_object *value = object_field_value(row, field);
	struct text words cleanup_text = {0};

	make_words(column, row, &words);
	if (value && field->type == FIELD_PERCENT) {
		text_printf(text, " class=\"n heat%u\"", heat_of(json_object_get_double(value)));
	} else if (value && field->type == FIELD_ENUM) {
		text_append(text, " class=\"is-");
		html_append(text, json_object_get_string(value));
		text_append(text, "\"");
	} else if (object_field_is_number(field)) {
		text_append(text, " class=n");
	} else if (is_long(field, &words)) {
		text_append(text, " class=long");
	}
	text_append(text, ">");
	append_words(&words, text);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void append_heads(const struct html_column *columns, size_t nr, struct text *text)
{
	text_append(text, "<thead><tr>");
	for (size_t i = 0; i < nr; i++) {
		const struct field_desc *field = field_of(&columns[i]);

		if (!columns[i].is_used)
			continue;
		text_append(text, object_field_is_number(field) ? "<th scope=col class=n title=\""
								: "<th scope=col title=\"");
		html_append(text, field->help);
		text_append(text, "\">");
		append_head(&columns[i], text);
	}
	text_append(text, "</thead>\n");
}

/* End tags that HTML lets us omit are a fifth of a large page. */
static void append_row(const struct html_column *columns, size_t nr, struct json_object *row,
		       struct text *text)
{
	bool first = true;

	text_append(text, "<tr>");
	for (size_t i = 0; i < nr; i++) {
		if (!columns[i].is_used)
			continue;
		text_append(text, first ? "<th scope=row" : "<td");
		append_cell(&columns[i], row, text);
		first = false;
	}
	text_append(text, "\n");
}

void object_html_table(const struct object_desc *desc, struct json_object *rows, struct text *text)
{
	size_t nr, nr_rows = rows ? json_object_array_length(rows) : 0;
	struct html_column *columns cleanup_free = columns_of(desc, text, &nr);

	if (!columns || !nr_rows)
		return;
	for (size_t i = 0; i < nr; i++)
		for (size_t r = 0; r < nr_rows && !columns[i].is_used; r++)
			columns[i].is_used =
				has_value(&columns[i], json_object_array_get_idx(rows, r));
	text_append(text, "<div class=wide><table>");
	append_heads(columns, nr, text);
	text_append(text, "<tbody>\n");
	for (size_t r = 0; r < nr_rows; r++)
		append_row(columns, nr, json_object_array_get_idx(rows, r), text);
	text_append(text, "</tbody></table></div>\n");
}

/* --- facts ------------------------------------------------------------------------------------ */

void object_html_facts(const struct object_desc *desc, struct json_object *object,
		       struct text *text)
{
	size_t nr;
	struct html_column *columns cleanup_free = columns_of(desc, text, &nr);

	if (!columns)
		return;
	text_append(text, "<dl>\n");
	for (size_t i = 0; i < nr; i++) {
		const struct field_desc *field = field_of(&columns[i]);

		if (!has_value(&columns[i], object))
			continue;
		text_append(text, "<div><dt title=\"");
		html_append(text, field->help);
		text_append(text, "\">");
		append_head(&columns[i], text);
		text_append(text, "</dt><dd");
		append_cell(&columns[i], object, text);
		text_append(text, "</dd></div>\n");
	}
	text_append(text, "</dl>\n");
}
