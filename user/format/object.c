// SPDX-License-Identifier: Apache-2.0
/*
 * Schema, check and plain rendering of an object from its one description.
 * Pure: json-c objects in, text or json-c objects out.
 */
#include "format/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/cpuset.h"
#include "core/quantity.h"

/* Detail lines are broken before this column where a field allows it. */
#define PLAIN_COLUMNS 100
#define PATH_MAX_TEXT 96

static inline void put_json(struct json_object **json)
{
	json_object_put(*json);
}
#define cleanup_json cleanup(put_json)

/* --- schema ----------------------------------------------------------------------------------- */

/* Add and, where memory ran out, drop `value` and remember it in *failed. */
static void add(struct json_object *object, const char *key, struct json_object *value,
		bool *failed)
{
	if (!object || !value || json_object_object_add(object, key, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static void append(struct json_object *array, struct json_object *value, bool *failed)
{
	if (!array || !value || json_object_array_add(array, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static const char *type_word(enum field_type type)
{
	static const char *const names[FIELD_TYPE_NR] = {
		[FIELD_TEXT] = "string",     [FIELD_CPULIST] = "string", [FIELD_COUNT] = "integer",
		[FIELD_INTEGER] = "integer", [FIELD_BYTES] = "integer",	 [FIELD_SECONDS] = "number",
		[FIELD_TIME] = "integer",    [FIELD_BOOL] = "boolean",	 [FIELD_ENUM] = "string",
		[FIELD_TEXTS] = "array",     [FIELD_OBJECT] = "object",	 [FIELD_LIST] = "array",
	};

	return names[type];
}

static struct json_object *object_type_schema(const struct object_desc *desc);

static struct json_object *type_name_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *types;

	if (!(field->flags & FIELD_NULL))
		return json_object_new_string(type_word(field->type));
	types = json_object_new_array();
	append(types, json_object_new_string(type_word(field->type)), failed);
	append(types, json_object_new_string("null"), failed);
	return types;
}

static struct json_object *enum_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *values = json_object_new_array();

	for (const char *const *value = field->values; *value; value++)
		append(values, json_object_new_string(*value), failed);
	if ((field->flags & FIELD_NULL) && values)
		json_object_array_add(values, NULL);
	return values;
}

static struct json_object *text_items_schema(bool *failed)
{
	struct json_object *items = json_object_new_object();

	add(items, "type", json_object_new_string("string"), failed);
	return items;
}

static void add_type_details(struct json_object *schema, const struct field_desc *field,
			     bool *failed)
{
	switch (field->type) {
	case FIELD_CPULIST:
		add(schema, "pattern",
		    json_object_new_string("^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"), failed);
		break;
	case FIELD_COUNT:
	case FIELD_BYTES:
	case FIELD_SECONDS:
		add(schema, "minimum", json_object_new_int(0), failed);
		break;
	case FIELD_ENUM:
		add(schema, "enum", enum_schema(field, failed), failed);
		break;
	case FIELD_TEXTS:
		add(schema, "items", text_items_schema(failed), failed);
		break;
	case FIELD_LIST:
		add(schema, "items", object_type_schema(field->object), failed);
		break;
	default:
		break;
	}
}

static struct json_object *field_schema(const struct field_desc *field)
{
	struct json_object *schema;
	bool failed = false;

	if (field->type == FIELD_OBJECT)
		schema = object_type_schema(field->object);
	else
		schema = json_object_new_object();
	/* replaces the plain "object" of a nested one where null is allowed too */
	add(schema, "type", type_name_schema(field, &failed), &failed);
	add_type_details(schema, field, &failed);
	if (field->help)
		add(schema, "description", json_object_new_string(field->help), &failed);
	if (failed) {
		json_object_put(schema);
		return NULL;
	}
	return schema;
}

/*
 * No "additionalProperties": false: within a schema version fields are only
 * added, and a validator of today must accept what an agent of tomorrow sends.
 */
static struct json_object *object_type_schema(const struct object_desc *desc)
{
	struct json_object *schema = json_object_new_object();
	struct json_object *properties = json_object_new_object();
	struct json_object *required = json_object_new_array();
	bool failed = false;

	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		add(properties, field->key, field_schema(field), &failed);
		append(required, json_object_new_string(field->key), &failed);
	}
	add(schema, "type", json_object_new_string("object"), &failed);
	add(schema, "properties", properties, &failed);
	add(schema, "required", required, &failed);
	if (failed) {
		json_object_put(schema);
		return NULL;
	}
	return schema;
}

struct json_object *object_schema(const struct object_desc *desc)
{
	cleanup_json struct json_object *schema = json_object_new_object();
	bool failed = false;

	add(schema, "$schema",
	    json_object_new_string("https://json-schema.org/draft/2020-12/schema"), &failed);
	add(schema, "title", json_object_new_string(desc->name), &failed);
	add(schema, "description", json_object_new_string(desc->help), &failed);
	add(schema, "schema_version", json_object_new_int64(desc->version), &failed);
	if (desc->is_list) {
		add(schema, "type", json_object_new_string("array"), &failed);
		add(schema, "items", object_type_schema(desc), &failed);
	} else if (!failed) {
		struct json_object *body = object_type_schema(desc);

		failed = !body;
		if (body) {
			json_object_object_foreach (body, key, value)
				add(schema, key, json_object_get(value), &failed);
		}
		json_object_put(body);
	}
	return failed ? NULL : TAKE_PTR(schema);
}

/* --- check ------------------------------------------------------------------------------------ */

struct checker {
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 2, 3))) static int fault(const struct checker *checker,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(checker->error, checker->error_size, format, args);
	va_end(args);
	return -EINVAL;
}

static int check_object(const struct checker *checker, const struct object_desc *desc,
			struct json_object *json, const char *path);

static int check_cpulist(const struct checker *checker, struct json_object *json, const char *path)
{
	const char *list = json_object_get_string(json);
	struct cpuset set;

	if (cpuset_parse(list, strlen(list), &set))
		return fault(checker, "%s: '%.60s' is no CPU list", path, list);
	return 0;
}

static int check_enum(const struct checker *checker, const struct field_desc *field,
		      struct json_object *json, const char *path)
{
	const char *given = json_object_get_string(json);

	for (const char *const *value = field->values; *value; value++) {
		if (!strcmp(*value, given))
			return 0;
	}
	return fault(checker, "%s: '%.60s' is none of the described values", path, given);
}

static int check_texts(const struct checker *checker, struct json_object *json, const char *path)
{
	for (size_t i = 0; i < json_object_array_length(json); i++) {
		struct json_object *item = json_object_array_get_idx(json, i);

		if (!json_object_is_type(item, json_type_string))
			return fault(checker, "%s[%zu]: not a string", path, i);
	}
	return 0;
}

static int check_list(const struct checker *checker, const struct object_desc *desc,
		      struct json_object *json, const char *path)
{
	for (size_t i = 0; i < json_object_array_length(json); i++) {
		char item_path[PATH_MAX_TEXT];
		int r;

		snprintf(item_path, sizeof(item_path), "%.70s[%zu]", path, i);
		r = check_object(checker, desc, json_object_array_get_idx(json, i), item_path);
		if (r)
			return r;
	}
	return 0;
}

static bool type_fits(const struct field_desc *field, struct json_object *json)
{
	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_BYTES:
		return json_object_is_type(json, json_type_int) && json_object_get_int64(json) >= 0;
	case FIELD_INTEGER:
	case FIELD_TIME:
		return json_object_is_type(json, json_type_int);
	case FIELD_SECONDS:
		return (json_object_is_type(json, json_type_double) ||
			json_object_is_type(json, json_type_int)) &&
		       json_object_get_double(json) >= 0;
	case FIELD_BOOL:
		return json_object_is_type(json, json_type_boolean);
	case FIELD_TEXTS:
	case FIELD_LIST:
		return json_object_is_type(json, json_type_array);
	case FIELD_OBJECT:
		return json_object_is_type(json, json_type_object);
	default:
		return json_object_is_type(json, json_type_string);
	}
}

static int check_field(const struct checker *checker, const struct field_desc *field,
		       struct json_object *json, const char *path)
{
	if (!json) {
		if (field->flags & FIELD_NULL)
			return 0;
		return fault(checker, "%s: null where a value is promised", path);
	}
	if (!type_fits(field, json))
		return fault(checker, "%s: %s where %s%s is promised", path,
			     json_object_to_json_string(json), type_word(field->type),
			     field->type == FIELD_COUNT ? " >= 0" : "");
	switch (field->type) {
	case FIELD_CPULIST:
		return check_cpulist(checker, json, path);
	case FIELD_ENUM:
		return check_enum(checker, field, json, path);
	case FIELD_TEXTS:
		return check_texts(checker, json, path);
	case FIELD_OBJECT:
		return check_object(checker, field->object, json, path);
	case FIELD_LIST:
		return check_list(checker, field->object, json, path);
	default:
		return 0;
	}
}

static const struct field_desc *find_field(const struct object_desc *desc, const char *key)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		if (!strcmp(desc->fields[i].key, key))
			return &desc->fields[i];
	}
	return NULL;
}

static int check_object(const struct checker *checker, const struct object_desc *desc,
			struct json_object *json, const char *path)
{
	if (!json_object_is_type(json, json_type_object))
		return fault(checker, "%s: not an object", path);
	json_object_object_foreach (json, given, ignored) {
		(void)ignored;
		if (!find_field(desc, given))
			return fault(checker, "%s.%.40s: not described", path, given);
	}
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value;
		char field_path[PATH_MAX_TEXT];
		int r;

		snprintf(field_path, sizeof(field_path), "%.60s.%.30s", path, field->key);
		if (!json_object_object_get_ex(json, field->key, &value))
			return fault(checker, "%s: missing", field_path);
		r = check_field(checker, field, value, field_path);
		if (r)
			return r;
	}
	return 0;
}

int object_check(const struct object_desc *desc, struct json_object *json, char *error,
		 size_t error_size)
{
	const struct checker checker = {.error = error, .error_size = error_size};

	if (!desc->is_list)
		return check_object(&checker, desc, json, desc->name);
	if (!json_object_is_type(json, json_type_array))
		return fault(&checker, "%s: not an array", desc->name);
	return check_list(&checker, desc, json, desc->name);
}

/* --- plain: single values --------------------------------------------------------------------- */

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

static void append_seconds(struct text *text, double seconds)
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
		append_seconds(text, json_object_get_double(json));
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

static const char *title_of(const struct field_desc *field)
{
	return field->title ? field->title : field->key;
}

static struct json_object *value_of(struct json_object *object, const struct field_desc *field)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, field->key, &value);
	return value;
}

/* --- plain: blocks ---------------------------------------------------------------------------- */

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
	cleanup_text struct text word = {0};

	if (!(field->flags & FIELD_BARE))
		text_printf(&word, "%s ", title_of(field));
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
	return field->type == FIELD_OBJECT || field->type == FIELD_LIST;
}

/* The fields of an object on one indent, `with` or without the head ones. */
static void render_fields(const struct object_desc *desc, struct json_object *json, bool head,
			  struct line *line)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = value_of(json, field);

		if (!!(field->flags & FIELD_HEAD) != head || (field->flags & FIELD_HIDDEN) ||
		    is_nested(field) || !value)
			continue;
		if (field->flags & FIELD_LINE)
			line_end(line);
		line_add(line, field, value);
	}
	line_end(line);
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
		text_printf(text, "%s:\n", title_of(field));
		indent++;
	}
	render_any(field->object, value, indent, text);
}

static void render_block(const struct object_desc *desc, struct json_object *json,
			 unsigned int indent, struct text *text)
{
	struct line line = {.text = text, .indent = indent};
	size_t before = text->len;

	render_fields(desc, json, true, &line);
	/* an object without head fields shows its details at its own indent */
	if (text->len != before)
		line.indent = indent + 1;
	render_fields(desc, json, false, &line);
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = value_of(json, field);

		if (is_nested(field) && value && !(field->flags & FIELD_HIDDEN))
			render_nested(field, value, line.indent, text);
	}
}

/* --- plain: tables ---------------------------------------------------------------------------- */

static bool is_number(const struct field_desc *field)
{
	return field->type == FIELD_COUNT || field->type == FIELD_INTEGER ||
	       field->type == FIELD_BYTES || field->type == FIELD_SECONDS;
}

/* The column starting at field i; *ret_next is the field after it. */
static void build_cell(const struct object_desc *desc, struct json_object *row, size_t i,
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
			text_append(cell, title_of(field));
	}
	if (!cell->len)
		text_append(cell, "-");
	*ret_next = last + 1;
}

/* Columns as a terminal counts them: bytes that begin a UTF-8 character. */
static size_t width_of(const struct text *cell)
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
		cleanup_text struct text cell = {0};

		build_cell(desc, row, i, &cell, &next);
		if (width_of(&cell) > widths[i])
			widths[i] = width_of(&cell);
	}
}

static bool column_shown(const struct field_desc *field)
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
		cleanup_text struct text cell = {0};
		size_t fill;

		build_cell(desc, row, i, &cell, &next);
		if (!column_shown(&desc->fields[i]))
			continue;
		fill = widths[i] - width_of(&cell);
		/* blanks are held back, so that no line ends in them */
		text_printf(text, "%*s", (int)(pending + (first ? 0 : 2)), "");
		if (is_number(&desc->fields[i])) {
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
	cleanup_free size_t *widths = calloc(desc->nr_fields, sizeof(*widths));
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
