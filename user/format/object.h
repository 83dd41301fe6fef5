/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object of the interface consists of, described once. From one
 * description come the JSON Schema, the plain rendering and the check that a
 * JSON object carries exactly the described keys, so that text and JSON
 * cannot drift apart. It knows no object of its own: see views.h.
 */
#ifndef FORMAT_OBJECT_H
#define FORMAT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json.h>

#include "lib/text.h"

enum field_type {
	FIELD_TEXT,    /* string */
	FIELD_CPULIST, /* string in kernel list format; also used for NUMA node lists */
	FIELD_COUNT,   /* integer >= 0 */
	FIELD_INTEGER, /* integer of either sign */
	FIELD_BYTES,   /* integer >= 0; plain text uses Ki, Mi, Gi */
	FIELD_SECONDS, /* number >= 0 */
	FIELD_TIME,    /* integer, nanoseconds since 1970 UTC; plain text is ISO 8601 */
	FIELD_BOOL,
	FIELD_ENUM,   /* string out of `values` */
	FIELD_TEXTS,  /* array of strings */
	FIELD_OBJECT, /* one object of `object` */
	FIELD_LIST,   /* array of objects of `object` */
	FIELD_TYPE_NR
};

enum field_flag {
	FIELD_NULL = 1 << 0,   /* null = not known or does not apply; plain text leaves it out */
	FIELD_HEAD = 1 << 1,   /* stands on the first line of the object */
	FIELD_BARE = 1 << 2,   /* plain text shows the value without its title */
	FIELD_LINE = 1 << 3,   /* begins a new detail line */
	FIELD_SLASH = 1 << 4,  /* joined to the field before it by "/" ("namespace/name") */
	FIELD_HIDDEN = 1 << 5, /* in JSON only */
};

struct object_desc;

struct field_desc {
	const char *key;   /* snake_case JSON key */
	const char *title; /* plain label, column head; NULL = the key */
	enum field_type type;
	unsigned int flags;		  /* of enum field_flag */
	const char *const *values;	  /* FIELD_ENUM: NULL-terminated */
	const struct object_desc *object; /* FIELD_OBJECT, FIELD_LIST */
	const char *help;		  /* one sentence, for the schema and the manual */
};

enum object_layout {
	OBJECT_BLOCK, /* one head line, details indented below it */
	OBJECT_TABLE, /* one line per object under a line of column heads */
};

struct object_desc {
	const char *name; /* the noun: "cpu" */
	const char *help;
	unsigned int version; /* schema version that last changed a meaning */
	bool is_list;	      /* the interface gives an array of these */
	enum object_layout layout;
	size_t nr_fields;
	const struct field_desc *fields;
};

/* JSON Schema (draft 2020-12) of what the interface gives: array or object. NULL = no memory. */
struct json_object *object_schema(const struct object_desc *desc);

/*
 * Does `json` have exactly the described keys, with the described types?
 * With desc->is_list an array of such objects is wanted. 0, or -EINVAL with
 * a sentence naming the path and the fault (size >= 160).
 */
int object_check(const struct object_desc *desc, struct json_object *json, char *error,
		 size_t error_size);

/*
 * Plain text of an object, or of an array of them; ends with a newline unless
 * there is nothing to show. Control bytes in values are written as \xNN: names
 * of processes are chosen by others and must not drive a terminal. Unknown
 * keys are ignored and missing ones count as null, so that an inspector of
 * another version still shows what it knows. Appends to `text`; errors stick there.
 */
void object_render(const struct object_desc *desc, struct json_object *json, struct text *text);

#endif
