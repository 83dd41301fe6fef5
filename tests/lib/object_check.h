/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does an object hold exactly the keys that its table has, with values of the
 * types that the table promises? What builds and what shows JSON needs no such
 * check: both are driven by the table.
 */
#ifndef TESTS_OBJECT_CHECK_H
#define TESTS_OBJECT_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/cpuset.h"
#include "format/object.h"

#define PATH_MAX_TEXT 96

struct checker {
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 2, 3))) static inline int fault(const struct checker *checker,
							      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(checker->error, checker->error_size, format, args);
	va_end(args);
	return -EINVAL;
}

static inline int check_object(const struct checker *checker, const struct object_desc *desc,
			       struct json_object *json, const char *path);

static inline int check_cpulist(const struct checker *checker, struct json_object *json,
				const char *path)
{
	const char *list = json_object_get_string(json);
	struct cpuset set;

	if (cpuset_parse(list, strlen(list), &set))
		return fault(checker, "%s: '%.60s' is no CPU list", path, list);
	return 0;
}

static inline int check_enum(const struct checker *checker, const struct field_desc *field,
			     struct json_object *json, const char *path)
{
	const char *given = json_object_get_string(json);

	for (size_t i = 0; i < field->nr_words; i++) {
		if (!strcmp(field_word(field, i), given))
			return 0;
	}
	return fault(checker, "%s: '%.60s' is none of the described values", path, given);
}

static inline int check_texts(const struct checker *checker, struct json_object *json,
			      const char *path)
{
	for (size_t i = 0; i < json_object_array_length(json); i++) {
		struct json_object *item = json_object_array_get_idx(json, i);

		if (!json_object_is_type(item, json_type_string))
			return fault(checker, "%s[%zu]: not a string", path, i);
	}
	return 0;
}

static inline int check_list(const struct checker *checker, const struct object_desc *desc,
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

static inline bool type_fits(const struct field_desc *field, struct json_object *json)
{
	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_BYTES:
		return json_object_is_type(json, json_type_int) && json_object_get_int64(json) >= 0;
	case FIELD_TIME:
		return json_object_is_type(json, json_type_int);
	case FIELD_SECONDS:
	case FIELD_PERCENT:
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

static inline int check_field(const struct checker *checker, const struct field_desc *field,
			      struct json_object *json, const char *path)
{
	if (!json) {
		if (field->flags & FIELD_NULL)
			return 0;
		return fault(checker, "%s: null where a value is promised", path);
	}
	if (!type_fits(field, json))
		return fault(checker, "%s: %s is not what the table promises", path,
			     json_object_to_json_string(json));
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

static inline const struct field_desc *find_field(const struct object_desc *desc, const char *key)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		if (field->type == FIELD_PART)
			field = find_field(field->object, key);
		else if (strcmp(field->key, key))
			field = NULL;
		if (field)
			return field;
	}
	return NULL;
}

static inline int check_fields(const struct checker *checker, const struct object_desc *desc,
			       struct json_object *json, const char *path)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_object *value;
		char field_path[PATH_MAX_TEXT];
		int r;

		if (field->type == FIELD_PART) {
			r = check_fields(checker, field->object, json, path);
			if (r)
				return r;
			continue;
		}
		snprintf(field_path, sizeof(field_path), "%.60s.%.30s", path, field->key);
		if (!json_object_object_get_ex(json, field->key, &value))
			return fault(checker, "%s: missing", field_path);
		r = check_field(checker, field, value, field_path);
		if (r)
			return r;
	}
	return 0;
}

static inline int check_object(const struct checker *checker, const struct object_desc *desc,
			       struct json_object *json, const char *path)
{
	if (!json_object_is_type(json, json_type_object))
		return fault(checker, "%s: not an object", path);
	json_object_object_foreach (json, given, ignored) {
		(void)ignored;
		if (!find_field(desc, given))
			return fault(checker, "%s.%.40s: not described", path, given);
	}
	return check_fields(checker, desc, json, path);
}

/*
 * With desc->is_list an array of such objects is wanted. 0, or -EINVAL with a
 * sentence naming the path and the fault (size >= 160).
 */
static inline int object_check(const struct object_desc *desc, struct json_object *json,
			       char *error, size_t error_size)
{
	const struct checker checker = {.error = error, .error_size = error_size};

	if (!desc->is_list)
		return check_object(&checker, desc, json, desc->name);
	if (!json_object_is_type(json, json_type_array))
		return fault(&checker, "%s: not an array", desc->name);
	return check_list(&checker, desc, json, desc->name);
}

#endif
