// SPDX-License-Identifier: Apache-2.0
/* The table of an object as a view that is refreshed: rates, order, and columns that fit. */
#include "format/object_top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/object_private.h"
#include "lib/json.h"

#define UNKNOWN	   (-1.0)
#define TEXT_MAX   32 /* characters of a text, as long as other columns can be left out */
#define TEXT_LEAST 8
#define GAP	   2 /* columns between columns */

void object_top_init(struct object_top *top, const struct object_desc *desc)
{
	*top = (struct object_top){.desc = desc};
	for (size_t i = 0; i < desc->nr_fields; i++) {
		if (desc->fields[i].flags & FIELD_RANK)
			top->sort = i;
	}
}

void object_top_fini(struct object_top *top)
{
	json_object_put(top->rows);
	free(top->rates);
	free(top->order);
	*top = (struct object_top){.desc = top->desc, .sort = top->sort};
}

static size_t count_rows(const struct object_top *top)
{
	return top->rows ? json_object_array_length(top->rows) : 0;
}

static bool is_total(const struct field_desc *field)
{
	return field->flags & FIELD_TOTAL;
}

static bool is_column_field(const struct field_desc *field)
{
	return object_field_is_column(field) || is_total(field);
}

static bool begins_column(const struct field_desc *field)
{
	return is_column_field(field) && !(field->flags & FIELD_SLASH);
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_numbers(double one, double other)
{
	return (one > other) - (one < other);
}

/* Of two values that are not null. Numbers are ordered from the largest on, as top(1) does. */
static int compare_values(const struct field_desc *field, struct json_object *one,
			  struct json_object *other)
{
	if (object_field_is_number(field) || field->type == FIELD_TIME || field->type == FIELD_BOOL)
		return compare_numbers(json_object_get_double(other), json_object_get_double(one));
	return strcmp(json_object_get_string(one), json_object_get_string(other));
}

/* Values that are not known come last in either order, and equal rows keep the agent's order. */
static int compare_rows(const void *one, const void *other, void *data)
{
	const struct object_top *top = data;
	const size_t rows[] = {*(const size_t *)one, *(const size_t *)other};
	const struct field_desc *field = &top->desc->fields[top->sort];
	struct json_object *values[2];
	bool is_known[2];
	double rates[2];
	int r;

	for (int i = 0; i < 2; i++) {
		values[i] =
			object_field_value(json_object_array_get_idx(top->rows, rows[i]), field);
		rates[i] = top->rates[rows[i] * top->desc->nr_fields + top->sort];
		is_known[i] = is_total(field) ? rates[i] >= 0 : values[i] != NULL;
	}
	if (is_known[0] != is_known[1])
		return is_known[0] ? -1 : 1;
	if (!is_known[0])
		r = 0;
	else if (is_total(field))
		r = compare_numbers(rates[1], rates[0]);
	else
		r = compare_values(field, values[0], values[1]);
	if (r)
		return top->is_reversed ? -r : r;
	return rows[0] < rows[1] ? -1 : 1;
}

static void order_rows(struct object_top *top)
{
	const size_t nr = count_rows(top);

	/* before the first rows there is no array, and qsort_r() takes no null pointer */
	if (!nr)
		return;
	for (size_t i = 0; i < nr; i++)
		top->order[i] = i;
	qsort_r(top->order, nr, sizeof(*top->order), compare_rows, top);
}

/* --- what rows are ordered by ----------------------------------------------------------------- */

int object_top_sort_by(struct object_top *top, const char *key)
{
	for (size_t i = 0; i < top->desc->nr_fields; i++) {
		const struct field_desc *field = &top->desc->fields[i];

		if (is_column_field(field) && !strcmp(field->key, key)) {
			top->sort = i;
			order_rows(top);
			return 0;
		}
	}
	return -ENOENT;
}

void object_top_sort_by_next(struct object_top *top, bool is_forward)
{
	const size_t nr = top->desc->nr_fields;
	size_t next = top->sort;

	/* the field by which rows are ordered may stand in the middle of its column */
	if (!is_forward) {
		while (top->desc->fields[next].flags & FIELD_SLASH)
			next--;
	}
	do
		next = (next + (is_forward ? 1 : nr - 1)) % nr;
	while (!begins_column(&top->desc->fields[next]));
	top->sort = next;
	order_rows(top);
}

void object_top_append_keys(const struct object_top *top, struct text *text)
{
	const char *separator = "";

	for (size_t i = 0; i < top->desc->nr_fields; i++) {
		if (!is_column_field(&top->desc->fields[i]))
			continue;
		text_printf(text, "%s%s", separator, top->desc->fields[i].key);
		separator = ", ";
	}
}

void object_top_append_sort(const struct object_top *top, struct text *text)
{
	const struct field_desc *field = &top->desc->fields[top->sort];

	text_printf(text, "%s%s", object_field_title(field), is_total(field) ? "/s" : "");
}

/* --- rates ------------------------------------------------------------------------------------ */

/* What a row has in the fields that identify it; no value contains the separator as it is. */
static int build_identity(const struct object_desc *desc, struct json_object *row,
			  struct text *identity)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		struct json_object *value;

		if (!(desc->fields[i].flags & FIELD_IDENTITY))
			continue;
		value = object_field_value(row, &desc->fields[i]);
		text_append(identity,
			    value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN)
				  : "null");
		text_append(identity, "\n");
	}
	return identity->error;
}

/* Rows by their identity, for the caller to put; NULL = no memory. */
static struct json_object *index_rows(const struct object_desc *desc, struct json_object *rows)
{
	struct json_object *index cleanup_json = json_object_new_object();
	const size_t nr = rows ? json_object_array_length(rows) : 0;

	for (size_t i = 0; index && i < nr; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct text identity cleanup_text = {0};

		if (build_identity(desc, row, &identity) ||
		    json_object_object_add(index, identity.data ? identity.data : "",
					   json_object_get(row)))
			return NULL;
	}
	return TAKE_PTR(index);
}

static double rate_of(const struct field_desc *field, struct json_object *row,
		      struct json_object *before, int64_t elapsed_ns)
{
	struct json_object *total = object_field_value(row, field);
	struct json_object *total_before = before ? object_field_value(before, field) : NULL;
	double growth;

	if (!total || !total_before || elapsed_ns <= 0)
		return UNKNOWN;
	/* a total that became smaller began anew; its rate is negative, which is not known either */
	growth = json_object_get_double(total) - json_object_get_double(total_before);
	return growth * 1e9 / (double)elapsed_ns;
}

static int find_rates(const struct object_top *top, struct json_object *rows, int64_t elapsed_ns,
		      double *ret_rates)
{
	struct json_object *index cleanup_json = index_rows(top->desc, top->rows);
	const size_t nr_fields = top->desc->nr_fields;

	if (!index)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i), *before = NULL;
		struct text identity cleanup_text = {0};

		if (build_identity(top->desc, row, &identity))
			return -ENOMEM;
		json_object_object_get_ex(index, identity.data ? identity.data : "", &before);
		for (size_t f = 0; f < nr_fields; f++)
			ret_rates[i * nr_fields + f] =
				is_total(&top->desc->fields[f])
					? rate_of(&top->desc->fields[f], row, before, elapsed_ns)
					: UNKNOWN;
	}
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

void object_top_reverse(struct object_top *top)
{
	top->is_reversed = !top->is_reversed;
	order_rows(top);
}

int object_top_take(struct object_top *top, struct json_object *rows, int64_t time_ns)
{
	const size_t nr = json_object_array_length(rows);
	double *rates cleanup_free = calloc(nr * top->desc->nr_fields + 1, sizeof(*rates));
	size_t *order cleanup_free = calloc(nr + 1, sizeof(*order));
	int r;

	if (!rates || !order)
		return -ENOMEM;
	r = find_rates(top, rows, time_ns - top->time_ns, rates);
	if (r)
		return r;
	json_object_put(top->rows);
	free(top->rates);
	free(top->order);
	top->rows = json_object_get(rows);
	top->rates = TAKE_PTR(rates);
	top->order = TAKE_PTR(order);
	top->time_ns = time_ns;
	order_rows(top);
	return 0;
}

/* --- columns ---------------------------------------------------------------------------------- */

struct top_column {
	size_t field; /* its first one */
	size_t width;
	bool has_value, must_stay, is_shown;
};

static bool is_text(const struct object_top *top, const struct top_column *column)
{
	return !object_field_is_number(&top->desc->fields[column->field]);
}

static void append_rate(struct text *text, const struct field_desc *field, double rate)
{
	if (rate < 0)
		text_append(text, "-");
	else if (field->type == FIELD_SECONDS)
		object_append_seconds(text, rate);
	else
		text_printf(text, rate < 10 ? "%.1f" : "%.0f", rate);
}

/* The cell of a row number; SIZE_MAX = the column head. */
static void build_cell(const struct object_top *top, size_t row, size_t i, struct text *cell)
{
	const struct field_desc *field = &top->desc->fields[i];
	size_t next;

	if (row == SIZE_MAX)
		object_append_cell(top->desc, NULL, i, cell, &next);
	else if (!is_total(field))
		object_append_cell(top->desc, json_object_array_get_idx(top->rows, row), i, cell,
				   &next);
	else
		append_rate(cell, field, top->rates[row * top->desc->nr_fields + i]);
	if (row == SIZE_MAX && is_total(field))
		text_append(cell, "/s");
}

static void measure(const struct object_top *top, struct top_column *column)
{
	struct text head cleanup_text = {0};

	build_cell(top, SIZE_MAX, column->field, &head);
	column->width = object_width(&head);
	for (size_t row = 0; row < count_rows(top); row++) {
		struct text cell cleanup_text = {0};

		build_cell(top, row, column->field, &cell);
		if (object_width(&cell) > column->width)
			column->width = object_width(&cell);
		column->has_value |= cell.data && strcmp(cell.data, "-") != 0;
	}
}

/* Does the column contain the field by which rows are ordered? */
static bool is_sorted(const struct object_top *top, size_t first)
{
	size_t column = top->sort;

	while (top->desc->fields[column].flags & FIELD_SLASH)
		column--;
	return column == first;
}

static size_t find_columns(const struct object_top *top, struct top_column *ret_columns)
{
	size_t nr = 0;

	for (size_t i = 0; i < top->desc->nr_fields; i++) {
		if (!begins_column(&top->desc->fields[i]))
			continue;
		ret_columns[nr] = (struct top_column){
			.field = i,
			.must_stay = !nr || is_total(&top->desc->fields[i]) || is_sorted(top, i),
			.is_shown = true,
		};
		measure(top, &ret_columns[nr++]);
	}
	return nr;
}

static size_t line_width(const struct top_column *columns, size_t nr)
{
	size_t width = 0;

	for (size_t i = 0; i < nr; i++) {
		if (columns[i].is_shown)
			width += columns[i].width + (width ? GAP : 0);
	}
	return width;
}

/* The widest text that can still be cut; NULL = none. */
static struct top_column *find_widest_text(const struct object_top *top, struct top_column *columns,
					   size_t nr)
{
	struct top_column *widest = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (columns[i].is_shown && is_text(top, &columns[i]) &&
		    columns[i].width > TEXT_LEAST && (!widest || columns[i].width > widest->width))
			widest = &columns[i];
	}
	return widest;
}

/* The rule is in the header. */
static void fit(const struct object_top *top, struct top_column *columns, size_t nr, size_t most)
{
	struct top_column *widest;

	for (size_t i = 0; i < nr; i++)
		columns[i].is_shown = columns[i].has_value || columns[i].must_stay;
	for (size_t i = 0; i < nr && line_width(columns, nr) > most; i++) {
		if (is_text(top, &columns[i]) && columns[i].width > TEXT_MAX)
			columns[i].width = TEXT_MAX;
	}
	for (size_t i = nr; i-- && line_width(columns, nr) > most;)
		columns[i].is_shown = columns[i].must_stay && columns[i].is_shown;
	while (line_width(columns, nr) > most && (widest = find_widest_text(top, columns, nr)))
		widest->width--;
}

/* The bytes of the first `nr` characters. */
static size_t bytes_of(const char *string, size_t nr)
{
	size_t bytes = 0;

	while (string[bytes] && (nr || ((unsigned char)string[bytes] & 0xc0) == 0x80)) {
		nr -= ((unsigned char)string[bytes] & 0xc0) != 0x80;
		bytes++;
	}
	return bytes;
}

/* Names of one deployment differ at their end, so the middle goes; "+" stands for it as in top(1). */
static void append_cut(struct text *text, const struct text *cell, size_t width)
{
	const size_t length = object_width(cell), head = (width - 1) / 2;

	if (length <= width) {
		text_append_len(text, cell->data ? cell->data : "", cell->len);
		return;
	}
	text_append_len(text, cell->data, bytes_of(cell->data, head));
	text_append(text, "+");
	text_append(text, cell->data + bytes_of(cell->data, length - (width - 1 - head)));
}

static void render_line(const struct object_top *top, size_t row, const struct top_column *columns,
			size_t nr, struct text *text)
{
	size_t pending = 0;

	for (size_t i = 0; i < nr; i++) {
		struct text cell cleanup_text = {0}, cut cleanup_text = {0};
		size_t fill;

		if (!columns[i].is_shown)
			continue;
		build_cell(top, row, columns[i].field, &cell);
		append_cut(&cut, &cell, columns[i].width);
		fill = columns[i].width - object_width(&cut);
		/* blanks are held back, so that no line ends in them */
		text_printf(text, "%*s", (int)pending, "");
		if (!is_text(top, &columns[i])) {
			text_printf(text, "%*s", (int)fill, "");
			fill = 0;
		}
		text_append_len(text, cut.data ? cut.data : "", cut.len);
		pending = fill + GAP;
	}
	text_append(text, "\n");
}

void object_top_render(const struct object_top *top, size_t most_columns, struct text *text)
{
	struct top_column *columns cleanup_free = calloc(top->desc->nr_fields, sizeof(*columns));
	size_t nr;

	if (!columns) {
		text->error = -ENOMEM;
		return;
	}
	nr = find_columns(top, columns);
	if (most_columns)
		fit(top, columns, nr, most_columns);
	render_line(top, SIZE_MAX, columns, nr, text);
	for (size_t i = 0; i < count_rows(top); i++)
		render_line(top, top->order[i], columns, nr, text);
}
