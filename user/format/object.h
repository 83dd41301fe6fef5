/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object of the interface consists of, described once: a table has one
 * line per field, which binds a key to the member of the struct that holds its
 * value. From one table come the JSON object, its plain text, its JSON Schema
 * and the reference page, so that they cannot differ. A member that is not
 * there, or has another type than its line says, does not compile. It knows no
 * object of its own: see views.h.
 */
#ifndef FORMAT_OBJECT_H
#define FORMAT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "core/cpuset.h"
#include "lib/text.h"

enum field_type {
	FIELD_TEXT,    /* string */
	FIELD_CPULIST, /* string in kernel list format; also used for NUMA node lists */
	FIELD_COUNT,   /* integer >= 0 */
	FIELD_BYTES,   /* integer >= 0; plain text uses Ki, Mi, Gi */
	FIELD_SECONDS, /* number >= 0 */
	FIELD_PERCENT, /* number >= 0, with two decimals */
	FIELD_TIME,    /* integer, nanoseconds since 1970 UTC; plain text is ISO 8601 */
	FIELD_BOOL,
	FIELD_ENUM,   /* string, one of the words */
	FIELD_TEXTS,  /* array of strings */
	FIELD_OBJECT, /* one object of `object` */
	FIELD_LIST,   /* array of objects of `object` */
	FIELD_PART,   /* the fields of `object`, as if they were the object's own */
	FIELD_TYPE_NR
};

enum field_flag {
	FIELD_NULL = 1 << 0,   /* null = not known or does not apply; plain text leaves it out */
	FIELD_HEAD = 1 << 1,   /* stands on the first line of the object */
	FIELD_BARE = 1 << 2,   /* plain text shows the value without its title */
	FIELD_LINE = 1 << 3,   /* begins a new detail line */
	FIELD_SLASH = 1 << 4,  /* joined to the field before it by "/" ("namespace/name") */
	FIELD_HIDDEN = 1 << 5, /* in JSON only */
	/* For a table that is refreshed (object_top.h): */
	FIELD_IDENTITY = 1 << 6, /* rows that agree in all of these are the same row */
	FIELD_TOTAL = 1 << 7,	 /* only grows while the row exists, so that it has a rate */
	FIELD_RANK = 1 << 8,	 /* rows are ordered by it unless another field is asked for */
};

/* The C type of the member that holds the value. */
enum field_form {
	FORM_NONE,
	FORM_CHARS,   /* char [N]; "" = null */
	FORM_POINTER, /* const char *, const struct cpuset *, or another struct; NULL = null */
	FORM_BOOL,
	FORM_INT, /* int, int64_t: < 0 = null */
	FORM_INT64,
	FORM_UINT, /* unsigned int, an enum, uint64_t: 0 = null, for an enum it is a value */
	FORM_UINT64,
	FORM_INLINE, /* the struct of a part */
};

struct object_desc;

struct field_desc {
	const char *key;   /* snake_case JSON key */
	const char *title; /* plain label, column head; NULL = the key */
	enum field_type type;
	unsigned int flags; /* of enum field_flag */
	/*
	 * FIELD_ENUM, and FIELD_TEXT of an enum: how many words, and the words or else the function
	 * that gives them
	 */
	size_t nr_words;
	const char *const *words;
	const char *(*word)(unsigned int value);
	const struct object_desc *object; /* FIELD_OBJECT, FIELD_LIST, FIELD_PART */
	const char *help;		  /* one sentence, for the schema and the manual */
	enum field_form form;
	size_t offset;	  /* of the member in its struct */
	size_t nr_offset; /* FIELD_LIST, FIELD_TEXTS: of the size_t that counts them */
};

enum object_layout {
	OBJECT_BLOCK, /* one head line, details indented below it */
	OBJECT_TABLE, /* one line per object under a line of column heads */
};

struct object_desc {
	const char *name; /* the noun: "cpu" */
	const char *help;
	bool is_list; /* the interface gives an array of these */
	enum object_layout layout;
	size_t row_size; /* of the struct whose members the fields are */
	size_t nr_fields;
	const struct field_desc *fields;
};

/*
 * The JSON of `nr` rows of the described struct: an array where the interface gives
 * one, else the object of the first. For the caller to put; NULL = no memory.
 */
#define object_json(desc, rows, nr) object_json_of((desc), (rows), (nr), sizeof(*(rows)))
struct json_object *object_json_of(const struct object_desc *desc, const void *rows, size_t nr,
				   size_t row_size);

/*
 * The values of a JSON object into a row of the described struct. Text is borrowed from
 * `json`; sets, objects, percentages, texts and text of fixed size are left out, and of a list
 * only its number is read (see object_list). A key that is missing is null: an agent of another
 * version may have sent it. An enum whose word is missing or unknown becomes the number of its words.
 */
#define object_read(desc, json, ret_row) \
	object_read_to((desc), (json), (ret_row), sizeof(*(ret_row)))
void object_read_to(const struct object_desc *desc, struct json_object *json, void *ret_row,
		    size_t row_size);

/*
 * The array behind the field whose items `item` describes, borrowed from `json`; NULL = there is
 * none.
 */
struct json_object *object_list(const struct object_desc *desc, struct json_object *json,
				const struct object_desc *item);

/* The word of an enum's value; value < nr_words. */
static inline const char *field_word(const struct field_desc *field, size_t value)
{
	return field->words ? field->words[value] : field->word((unsigned int)value);
}

/* JSON Schema (draft 2020-12) of what the interface gives: array or object. NULL = no memory. */
struct json_object *object_schema(const struct object_desc *desc);

/*
 * Plain text of an object, or of an array of them; ends with a newline unless
 * there is nothing to show. Control bytes in values are written as \xNN: names
 * of processes are chosen by others and must not drive a terminal. Unknown
 * keys are ignored and missing ones count as null, so that an inspector of
 * another version still shows what it knows. Appends to `text`; errors stick there.
 */
void object_render(const struct object_desc *desc, struct json_object *json, struct text *text);

/*
 * The same of one object as a single line: a row of a table without its heads and without
 * columns, for objects that come one by one.
 */
void object_render_line(const struct object_desc *desc, struct json_object *json,
			struct text *text);

/* A duration as plain text shows it: three digits and a unit. */
void object_append_seconds(struct text *text, double seconds);

#endif
