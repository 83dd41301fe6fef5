/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that is refreshed: the rows of an object that is a list of flat rows, ordered, with the
 * rates of its totals since the refresh before. It has the columns of the object's table
 * (FIELD_TOTAL, FIELD_IDENTITY, FIELD_RANK); hidden totals have one, too. No clock and no terminal.
 */
#ifndef FORMAT_OBJECT_TOP_H
#define FORMAT_OBJECT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/object.h"

struct object_top {
	const struct object_desc *desc;
	size_t sort;	  /* index of the field by which rows are ordered */
	bool is_reversed; /* smallest numbers first, texts from the end of the alphabet */
	struct json_object *rows;
	double *rates; /* per second, at [row * nr_fields + field]; < 0 = not known */
	size_t *order; /* row numbers in the order in which they are shown */
	int64_t time_ns;
};

/* Ordered by the field of FIELD_RANK; no rows. `desc` is borrowed. */
void object_top_init(struct object_top *top, const struct object_desc *desc);
void object_top_fini(struct object_top *top);

/* Order by the field with this key. -ENOENT: no column has it. */
int object_top_sort_by(struct object_top *top, const char *key);
/* Order by the first field of the next column, or of the one before; the last is followed by the first. */
void object_top_sort_by_next(struct object_top *top, bool is_forward);
void object_top_reverse(struct object_top *top);
/* Keys that object_top_sort_by() takes, separated by ", ". */
void object_top_append_keys(const struct object_top *top, struct text *text);
/* The head of the field by which rows are ordered, as its column has it. */
void object_top_append_sort(const struct object_top *top, struct text *text);

/*
 * Replace the rows by new ones, taken at `time_ns` of a clock that does not jump. A rate is the
 * growth of a total since the rows before divided by the time between; it is not known of a row
 * that is new, and of a total that became smaller because it began anew. `rows` is borrowed and
 * must remain unchanged. Returns 0 or -ENOMEM, and then the rows before remain.
 */
int object_top_take(struct object_top *top, struct json_object *rows, int64_t time_ns);

/*
 * Append the column heads and the rows, for lines of `columns`; 0 = any length, with all columns.
 * To fit, columns in which no row has a value are left out, texts are cut in their middle, first
 * to 32 characters, and other columns are left out from the right. The first column, the rates and
 * the one by which rows are ordered remain; if they do not fit, texts are cut to as little as 8
 * characters, and the line may still be too long.
 */
void object_top_render(const struct object_top *top, size_t columns, struct text *text);

#endif
