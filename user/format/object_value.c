// SPDX-License-Identifier: Apache-2.0
/*
 * A value of an object's JSON as people read it, and a cell of a table. What these words are put
 * into, lines of text or a page of HTML, is up to the caller.
 */
#include "format/object_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/quantity.h"

/* --- single values ---------------------------------------------------------------------------- */

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
		text_append_shown(text, item ? item : "");
	}
}

static void append_string(struct text *text, struct json_object *json)
{
	const char *string = json_object_get_string(json);

	text_append_shown(text, string && *string ? string : "-");
}

void object_append_value(struct text *text, const struct field_desc *field,
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

const char *object_field_title(const struct field_desc *field)
{
	return field->title ? field->title : field->key;
}

struct json_object *object_field_value(struct json_object *object, const struct field_desc *field)
{
	struct json_object *value = NULL;

	if (field->key)
		json_object_object_get_ex(object, field->key, &value);
	return value;
}

bool object_field_is_nested(const struct field_desc *field)
{
	return field->type == FIELD_OBJECT || field->type == FIELD_LIST ||
	       field->type == FIELD_PART;
}

bool object_field_is_number(const struct field_desc *field)
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
		struct json_object *value = row ? object_field_value(row, field) : NULL;

		if (row ? !value && last > i : f > i && (field->flags & FIELD_BARE))
			continue;
		text_append(cell, f > i && cell->len ? "/" : "");
		if (row)
			object_append_value(cell, field, value);
		else
			text_append(cell, object_field_title(field));
	}
	if (!cell->len)
		text_append(cell, "-");
	*ret_next = last + 1;
}

bool object_field_is_column(const struct field_desc *field)
{
	return !(field->flags & FIELD_HIDDEN) && !object_field_is_nested(field);
}
