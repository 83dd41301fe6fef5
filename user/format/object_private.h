/* SPDX-License-Identifier: Apache-2.0 */
/* What the two forms of a table share: the one that is printed once and the one that is refreshed. */
#ifndef FORMAT_OBJECT_PRIVATE_H
#define FORMAT_OBJECT_PRIVATE_H

#include "format/object.h"

/* The column head of a field. */
const char *object_title(const struct field_desc *field);
/* Is it a column of numbers, which are aligned at the right? */
bool object_is_number(const struct field_desc *field);
/* Is it a column of its table? Also true for those that are joined to the one before them. */
bool object_column_shown(const struct field_desc *field);
/*
 * The cell of `row`, or of the heads if it is NULL, in the column that begins with field i; "-" =
 * it has no value. *ret_next is the field after the column, set also where `cell` fails.
 */
void object_append_cell(const struct object_desc *desc, struct json_object *row, size_t i,
			struct text *cell, size_t *ret_next);
/* Columns as a terminal counts them: bytes that begin a UTF-8 character. */
size_t object_width(const struct text *cell);

#endif
