// SPDX-License-Identifier: Apache-2.0
/*
 * From a table: the JSON of the rows it is bound to, and the schema of that JSON.
 * Pure. A failed allocation is remembered in *failed while the rest is built,
 * because NULL alone is a value of json-c: JSON null.
 */
#include "format/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "core/cpuset.h"

#define SCHEMA_TYPE "type" /* key: of JSON Schema */

static struct json_object *checked(struct json_object *json, bool *failed)
{
	*failed |= !json;
	return json;
}

/* Both take `value`, also on failure. */
static void add(struct json_object *object, const char *key, struct json_object *value,
		bool *failed)
{
	if (!object || json_object_object_add(object, key, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static void append(struct json_object *array, struct json_object *value, bool *failed)
{
	if (!array || json_object_array_add(array, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static struct json_object *new_object(bool *failed)
{
	return checked(json_object_new_object(), failed);
}

static struct json_object *new_array(bool *failed)
{
	return checked(json_object_new_array(), failed);
}

static struct json_object *new_string(const char *string, bool *failed)
{
	return checked(json_object_new_string(string), failed);
}

/* `json`, or NULL and `json` released when anything failed. */
static struct json_object *finish(struct json_object *json, bool failed)
{
	if (!failed)
		return json;
	json_object_put(json);
	return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at `text`, 0 if there is none. RFC 3629, surrogates let through. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = 4;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	if (text[0] < 0xf0)
		length = text[0] < 0xe0 ? 2 : 3;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/*
 * A process chooses its own name, any bytes but NUL; JSON allows UTF-8 only,
 * and json-c passes on what it gets. Other bytes become U+FFFD.
 */
static struct json_object *text_json(const char *text, bool *failed)
{
	struct text clean cleanup_text = {0};

	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);

		if (length)
			text_append_len(&clean, text, length);
		else
			text_append(&clean, "\xef\xbf\xbd");
		text += length ? length : 1;
	}
	*failed |= clean.error != 0;
	return new_string(clean.data ? clean.data : "", failed);
}

static struct json_object *cpus_json(const struct cpuset *cpus, bool *failed)
{
	size_t size = cpuset_format(cpus, NULL, 0) + 1;
	char *list cleanup_free = malloc(size);

	if (!list)
		return checked(NULL, failed);
	cpuset_format(cpus, list, size);
	return new_string(list, failed);
}

static struct json_object *seconds_json(int64_t ns, bool *failed)
{
	char digits[40];

	/* json-c would print 17 digits of the double, noise after the ninth decimal */
	snprintf(digits, sizeof(digits), "%" PRId64 ".%09" PRId64, ns / 1000000000,
		 ns % 1000000000);
	return checked(json_object_new_double_s((double)ns / 1e9, digits), failed);
}

static struct json_object *percent_json(int64_t hundredths, bool *failed)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%" PRId64 ".%02" PRId64, hundredths / 100,
		 hundredths % 100);
	return checked(json_object_new_double_s((double)hundredths / 100, digits), failed);
}

static const void *pointer_at(const void *member)
{
	const void *pointer;

	/* members point at many types, and none of them is void */
	memcpy(&pointer, member, sizeof(pointer));
	return pointer;
}

static int64_t number_at(const void *member, enum field_form form)
{
	switch (form) {
	case FORM_BOOL:
		return *(const bool *)member;
	case FORM_INT:
		return *(const int *)member;
	case FORM_INT64:
		return *(const int64_t *)member;
	case FORM_UINT:
		return *(const unsigned int *)member;
	default:
		return (int64_t) * (const uint64_t *)member;
	}
}

/* The number that stands for null where null is allowed: -1, or 0 where none can be negative. */
static int64_t null_of(enum field_form form)
{
	return form == FORM_INT || form == FORM_INT64 ? -1 : 0;
}

static bool is_null(const struct field_desc *field, const void *member)
{
	switch (field->form) {
	case FORM_CHARS:
		return !*(const char *)member;
	case FORM_POINTER:
	case FORM_BOOL:
		return false;
	default:
		return number_at(member, field->form) <= null_of(field->form);
	}
}

static struct json_object *rows_json(const struct object_desc *desc, const void *rows, size_t nr,
				     bool *failed);
static struct json_object *row_json(const struct object_desc *desc, const void *row, bool *failed);

static struct json_object *texts_json(const char *const *texts, size_t nr, bool *failed)
{
	struct json_object *array = new_array(failed);

	for (size_t i = 0; i < nr; i++)
		append(array, text_json(texts[i], failed), failed);
	return array;
}

static struct json_object *value_json(const struct field_desc *field, const void *row, bool *failed)
{
	const void *member = (const char *)row + field->offset;
	const void *at = field->form == FORM_POINTER ? pointer_at(member) : member;
	const size_t *nr = (const void *)((const char *)row + field->nr_offset);

	if (field->type == FIELD_LIST)
		return rows_json(field->object, at, *nr, failed);
	if (field->type == FIELD_TEXTS)
		return texts_json(at, *nr, failed);
	if (!at || ((field->flags & FIELD_NULL) && is_null(field, member)))
		return NULL;
	switch (field->type) {
	case FIELD_TEXT:
	case FIELD_ENUM:
		if (field->form == FORM_UINT)
			at = field_word(field, *(const unsigned int *)member);
		return text_json(at, failed);
	case FIELD_CPULIST:
		return cpus_json(at, failed);
	case FIELD_SECONDS:
		return seconds_json(number_at(member, field->form), failed);
	case FIELD_PERCENT:
		return percent_json(number_at(member, field->form), failed);
	case FIELD_BOOL:
		return checked(json_object_new_boolean(number_at(member, field->form) > 0), failed);
	case FIELD_OBJECT:
		return row_json(field->object, at, failed);
	default:
		return checked(json_object_new_int64(number_at(member, field->form)), failed);
	}
}

static void add_fields(struct json_object *object, const struct object_desc *desc, const void *row,
		       bool *failed)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		if (field->type == FIELD_PART)
			add_fields(object, field->object, (const char *)row + field->offset,
				   failed);
		else
			add(object, field->key, value_json(field, row, failed), failed);
	}
}

static struct json_object *row_json(const struct object_desc *desc, const void *row, bool *failed)
{
	struct json_object *object = new_object(failed);

	add_fields(object, desc, row, failed);
	return object;
}

static struct json_object *rows_json(const struct object_desc *desc, const void *rows, size_t nr,
				     bool *failed)
{
	struct json_object *array = new_array(failed);

	for (size_t i = 0; i < nr; i++)
		append(array, row_json(desc, (const char *)rows + i * desc->row_size, failed),
		       failed);
	return array;
}

struct json_object *object_json_of(const struct object_desc *desc, const void *rows, size_t nr,
				   size_t row_size)
{
	bool failed = row_size != desc->row_size;
	struct json_object *json;

	if (failed)
		return NULL;
	json = desc->is_list ? rows_json(desc, rows, nr, &failed) : row_json(desc, rows, &failed);
	return finish(json, failed);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The index of the word, nr_words for one that is not known. */
static unsigned int find_word(const struct field_desc *field, const char *word)
{
	size_t value = 0;

	while (value < field->nr_words && strcmp(field_word(field, value), word))
		value++;
	return (unsigned int)value;
}

static void store_number(enum field_form form, int64_t number, void *ret_member)
{
	if (form == FORM_BOOL)
		*(bool *)ret_member = number != 0;
	else if (form == FORM_INT || form == FORM_UINT)
		*(unsigned int *)ret_member = (unsigned int)number;
	else if (form == FORM_INT64 || form == FORM_UINT64)
		*(int64_t *)ret_member = number;
}

/* Rounded; what no int64_t holds is as unknown as a missing value. */
static int64_t nanoseconds_of(struct json_object *json)
{
	const double nanoseconds = json_object_get_double(json) * 1e9;

	return nanoseconds >= 0 && nanoseconds < 9e18 ? (int64_t)(nanoseconds + 0.5) : -1;
}

static void read_value(const struct field_desc *field, struct json_object *json, char *ret_row)
{
	const bool is_text = json_object_is_type(json, json_type_string);
	const char *text = is_text ? json_object_get_string(json) : NULL;
	void *member = ret_row + field->offset;

	if (field->type == FIELD_LIST && json_object_is_type(json, json_type_array))
		*(size_t *)(void *)(ret_row + field->nr_offset) = json_object_array_length(json);
	else if ((field->type == FIELD_ENUM || field->type == FIELD_TEXT) &&
		 field->form == FORM_UINT)
		store_number(FORM_UINT, find_word(field, text ? text : ""), member);
	else if (field->type == FIELD_SECONDS)
		store_number(field->form, json ? nanoseconds_of(json) : -1, member);
	else if (field->form != FORM_POINTER && field->type != FIELD_PERCENT)
		store_number(field->form, json ? json_object_get_int64(json) : null_of(field->form),
			     member);
	else if (field->type == FIELD_TEXT || field->type == FIELD_ENUM)
		*(const char **)member = text;
}

static void read_fields(const struct object_desc *desc, struct json_object *json, char *ret_row)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value = NULL;

		if (field->type == FIELD_PART) {
			read_fields(field->object, json, ret_row + field->offset);
		} else {
			json_object_object_get_ex(json, field->key, &value);
			read_value(field, value, ret_row);
		}
	}
}

void object_read_to(const struct object_desc *desc, struct json_object *json, void *ret_row,
		    size_t row_size)
{
	memset(ret_row, 0, row_size);
	if (row_size == desc->row_size)
		read_fields(desc, json, ret_row);
}

struct json_object *object_list(const struct object_desc *desc, struct json_object *json,
				const struct object_desc *item)
{
	struct json_object *list = NULL;

	for (size_t i = 0; i < desc->nr_fields; i++)
		if (desc->fields[i].type == FIELD_LIST && desc->fields[i].object == item)
			json_object_object_get_ex(json, desc->fields[i].key, &list);
	return json_object_is_type(list, json_type_array) ? list : NULL;
}

/* --- schema ----------------------------------------------------------------------------------- */

static const char *type_word(enum field_type type)
{
	static const char *const names[FIELD_TYPE_NR] = {
		[FIELD_TEXT] = "string",    [FIELD_CPULIST] = "string", [FIELD_COUNT] = "integer",
		[FIELD_BYTES] = "integer",  [FIELD_SECONDS] = "number", [FIELD_TIME] = "integer",
		[FIELD_PERCENT] = "number", [FIELD_BOOL] = "boolean",	[FIELD_ENUM] = "string",
		[FIELD_TEXTS] = "array",    [FIELD_OBJECT] = "object",	[FIELD_LIST] = "array",
	};

	return names[type];
}

static struct json_object *type_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *types;

	if (!(field->flags & FIELD_NULL))
		return new_string(type_word(field->type), failed);
	types = new_array(failed);
	append(types, new_string(type_word(field->type), failed), failed);
	append(types, new_string("null", failed), failed);
	return types;
}

static struct json_object *enum_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *values = new_array(failed);

	for (size_t i = 0; i < field->nr_words; i++)
		append(values, new_string(field_word(field, i), failed), failed);
	if (field->flags & FIELD_NULL)
		append(values, NULL, failed);
	return values;
}

static void add_object_schema(struct json_object *schema, const struct object_desc *desc,
			      bool *failed);

static struct json_object *items_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *items = new_object(failed);

	if (field->type == FIELD_LIST)
		add_object_schema(items, field->object, failed);
	else
		add(items, SCHEMA_TYPE, new_string("string", failed), failed);
	return items;
}

static struct json_object *field_schema(const struct field_desc *field, bool *failed)
{
	struct json_object *schema = new_object(failed);

	if (field->type == FIELD_OBJECT)
		add_object_schema(schema, field->object, failed);
	/* replaces the plain "object" of a nested one where null is allowed too */
	add(schema, SCHEMA_TYPE, type_schema(field, failed), failed);
	if (field->type == FIELD_CPULIST)
		add(schema, "pattern",
		    new_string("^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$", failed), failed);
	else if (field->type == FIELD_COUNT || field->type == FIELD_BYTES ||
		 field->type == FIELD_SECONDS || field->type == FIELD_PERCENT)
		add(schema, "minimum", checked(json_object_new_int(0), failed), failed);
	else if (field->type == FIELD_ENUM)
		add(schema, "enum", enum_schema(field, failed), failed);
	else if (field->type == FIELD_TEXTS || field->type == FIELD_LIST)
		add(schema, "items", items_schema(field, failed), failed);
	if (field->help)
		add(schema, "description", new_string(field->help, failed), failed);
	return schema;
}

static void add_properties(const struct object_desc *desc, struct json_object *properties,
			   struct json_object *required, bool *failed)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		if (field->type == FIELD_PART) {
			add_properties(field->object, properties, required, failed);
			continue;
		}
		add(properties, field->key, field_schema(field, failed), failed);
		append(required, new_string(field->key, failed), failed);
	}
}

/*
 * No "additionalProperties": false: within a schema version fields are only
 * added, and a validator of today must accept what an agent of tomorrow sends.
 */
static void add_object_schema(struct json_object *schema, const struct object_desc *desc,
			      bool *failed)
{
	struct json_object *properties = new_object(failed), *required = new_array(failed);

	add_properties(desc, properties, required, failed);
	add(schema, SCHEMA_TYPE, new_string("object", failed), failed);
	add(schema, "properties", properties, failed);
	add(schema, "required", required, failed);
}

struct json_object *object_schema(const struct object_desc *desc)
{
	bool failed = false;
	struct json_object *schema = new_object(&failed), *items;

	add(schema, "$schema", new_string("https://json-schema.org/draft/2020-12/schema", &failed),
	    &failed);
	add(schema, "title", new_string(desc->name, &failed), &failed);
	add(schema, "description", new_string(desc->help, &failed), &failed);
	add(schema, "schema_version", /* key: of the schema, as for the object "version" */
	    checked(json_object_new_int64(PINFOLD_SCHEMA_VERSION), &failed), &failed);
	if (desc->is_list) {
		items = new_object(&failed);
		add_object_schema(items, desc, &failed);
		add(schema, SCHEMA_TYPE, new_string("array", &failed), &failed);
		add(schema, "items", items, &failed);
	} else {
		add_object_schema(schema, desc, &failed);
	}
	return finish(schema, failed);
}
