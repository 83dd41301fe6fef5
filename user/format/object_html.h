/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTML of objects, from their JSON and their tables as plain text is. Every text that comes from the
 * JSON is escaped: names of pods, processes and cgroups are chosen by others. What is written needs
 * no script, and has classes but no style.
 */
#ifndef FORMAT_OBJECT_HTML_H
#define FORMAT_OBJECT_HTML_H

#include "format/object.h"

/*
 * The string as text or as a quoted attribute of HTML: &, <, > and both quotes are written as
 * character references. Control bytes other than the newline become U+FFFD.
 */
void html_append(struct text *text, const char *string);

/*
 * A table with one row for each object of the array `rows`, whatever layout plain text has. Fields
 * that are null in all rows have no column, nor have hidden ones and objects within objects.
 * Nothing is written if there are no rows. Errors stick to `text`.
 */
void object_html_table(const struct object_desc *desc, struct json_object *rows, struct text *text);

/* The values of one object as a list of terms and descriptions, without its objects and nulls. */
void object_html_facts(const struct object_desc *desc, struct json_object *object,
		       struct text *text);

#endif
