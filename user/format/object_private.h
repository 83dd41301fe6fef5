/* SPDX-License-Identifier: Apache-2.0 */
/* What the renderers of objects share: the words of a value, and which fields make a column. */
#ifndef FORMAT_OBJECT_PRIVATE_H
#define FORMAT_OBJECT_PRIVATE_H

#include "format/object.h"

/* The value as text, "-" for null. Control bytes are written as \xNN; nothing else is escaped. */
void object_append_value(struct text *text, const struct field_desc *field,
			 struct json_object *json);
const char *object_field_title(const struct field_desc *field);
/* Borrowed from `object`; NULL = null, or the field is not there. */
struct json_object *object_field_value(struct json_object *object, const struct field_desc *field);

/* Objects within objects, which stand below the values. */
bool object_field_is_nested(const struct field_desc *field);
/* Numbers are compared by their last digits, so columns of them are aligned to the right. */
bool object_field_is_number(const struct field_desc *field);
bool object_field_is_column(const struct field_desc *field);

/*
 * The cell of the column that starts at field i, with the fields that are joined to it by "/";
 * of its head if `row` is NULL. *ret_next is the field after it.
 */
void object_append_cell(const struct object_desc *desc, struct json_object *row, size_t i,
			struct text *cell, size_t *ret_next);
/* Columns as a terminal counts them: bytes that begin a UTF-8 character. */
size_t object_width(const struct text *cell);

#endif
