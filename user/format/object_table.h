/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a table that describes an object: X(STRUCT, MEMBER, TITLE, FLAGS,
 * HELP). The key is the member's name; a line ending in _AS has another one behind
 * the member. Which form a value has is chosen by the member's type, and each line
 * names the types it takes: others do not compile.
 */
#ifndef FORMAT_OBJECT_TABLE_H
#define FORMAT_OBJECT_TABLE_H

#include "core/cpuset.h"
#include "format/object.h"

/* The flags of object.h, as they stand in the lines. */
enum {
	OR_NULL = FIELD_NULL,
	HEAD = FIELD_HEAD,
	BARE = FIELD_BARE,
	LINE = FIELD_LINE,
	SLASH = FIELD_SLASH,
	HIDDEN = FIELD_HIDDEN,
	IDENTITY = FIELD_IDENTITY,
	TOTAL = FIELD_TOTAL,
	RANK = FIELD_RANK,
};

#define TABLE_MEMBER(row, member) (&((struct row *)NULL)->member)
#define TABLE_LINE(row, member, key_, title_, type_, form_, flags_, help_, ...)       \
	{                                                                             \
		.key = (key_), .title = (title_), .type = (type_), .flags = (flags_), \
		.help = (help_), .form = form_(TABLE_MEMBER(row, member)),            \
		.offset = offsetof(struct row, member), __VA_ARGS__                   \
	}

/* clang-format off */
#define FORM_OF_TEXT(at) \
	_Generic((at), const char **: FORM_POINTER, char (*)[sizeof(*(at))]: FORM_CHARS)
#define FORM_OF_NUMBER(at)                                               \
	_Generic((at), int *: FORM_INT, int64_t *: FORM_INT64,           \
		 unsigned int *: FORM_UINT, uint64_t *: FORM_UINT64)
#define FORM_OF_ANSWER(at) _Generic((at), bool *: FORM_BOOL, int *: FORM_INT)
#define FORM_OF_WORD(at)   _Generic((at), const char **: FORM_POINTER, unsigned int *: FORM_UINT)
#define FORM_OF_ENUM(at)   _Generic((at), unsigned int *: FORM_UINT)
#define FORM_OF_CPUS(at)   _Generic((at), const struct cpuset **: FORM_POINTER)
#define FORM_OF_TEXTS(at)  _Generic((at), const char *const **: FORM_POINTER)
#define FORM_OF_NS(at)     _Generic((at), int64_t *: FORM_INT64)
#define FORM_OF_HUNDREDTHS(at) _Generic((at), int *: FORM_INT)
#define FORM_OF_STRUCT(at) FORM_POINTER
#define FORM_OF_PART(at)   FORM_INLINE
/* The type of a function that names the values of the member's enum, and of no other. */
#define TABLE_NAMES_OF(row, member) const char *(*)(__typeof__(((row *)NULL)->member))
/* 0, where the member has this type. */
#define TABLE_IS_SIZE(at)       (_Generic((at), size_t *: 0))
#define TABLE_IS_PART(at, part) (_Generic((at), struct part *: 0))
#define TABLE_IS_ROWS(at, part) \
	(_Generic((at), struct part **: 0, const struct part **: 0))
/* clang-format on */

#define TABLE_COUNTED(row, member) \
	.nr_offset =               \
		offsetof(struct row, nr_##member) + TABLE_IS_SIZE(TABLE_MEMBER(row, nr_##member))

#define TEXT(row, member, title, flags, help) TEXT_AS(row, member, #member, title, flags, help)
#define TEXT_AS(row, member, key, title, flags, help) \
	TABLE_LINE(row, member, key, title, FIELD_TEXT, FORM_OF_TEXT, flags, help, )
#define COUNT(row, member, title, flags, help) COUNT_AS(row, member, #member, title, flags, help)
#define COUNT_AS(row, member, key, title, flags, help) \
	TABLE_LINE(row, member, key, title, FIELD_COUNT, FORM_OF_NUMBER, flags, help, )
#define BYTES(row, member, title, flags, help) \
	TABLE_LINE(row, member, #member, title, FIELD_BYTES, FORM_OF_NUMBER, flags, help, )
/* Nanoseconds since 1970. */
#define TIME(row, member, title, flags, help) \
	TABLE_LINE(row, member, #member, title, FIELD_TIME, FORM_OF_NUMBER, flags, help, )
/* A duration, in nanoseconds in the struct and in seconds for everybody else. */
#define SECONDS(row, member, key, title, flags, help) \
	TABLE_LINE(row, member, key, title, FIELD_SECONDS, FORM_OF_NS, flags, help, )
/* In hundredths of a percent in the struct and in percent for everybody else. */
#define PERCENT(row, member, title, flags, help) \
	TABLE_LINE(row, member, #member, title, FIELD_PERCENT, FORM_OF_HUNDREDTHS, flags, help, )
/* bool; or int, where a negative one is not known. */
#define ANSWER(row, member, title, flags, help) \
	TABLE_LINE(row, member, #member, title, FIELD_BOOL, FORM_OF_ANSWER, flags, help, )
#define CPUS(row, member, title, flags, help) \
	TABLE_LINE(row, member, #member, title, FIELD_CPULIST, FORM_OF_CPUS, flags, help, )
/* An enum that begins with 0, by the function that names its `nr` values. */
#define ENUM(row, member, title, flags, help, name, nr)                                \
	TABLE_LINE(row, member, #member, title, FIELD_ENUM, FORM_OF_ENUM, flags, help, \
		   .word = _Generic((name), TABLE_NAMES_OF(struct row, member)         \
				    : (name)),                                         \
		   .nr_words = (nr))
/* The same for an enum whose names are added to: the schema promises a text, and lists none. */
#define NAME_AS(row, member, key, title, flags, help, name, nr)                    \
	TABLE_LINE(row, member, key, title, FIELD_TEXT, FORM_OF_ENUM, flags, help, \
		   .word = _Generic((name), TABLE_NAMES_OF(struct row, member)     \
				    : (name)),                                     \
		   .nr_words = (nr))
/* One of the words behind HELP, as text or as an enum that begins with 0. */
#define WORD(row, member, title, flags, help, ...)                                     \
	TABLE_LINE(row, member, #member, title, FIELD_ENUM, FORM_OF_WORD, flags, help, \
		   .words = (const char *const[]){__VA_ARGS__},                        \
		   .nr_words = ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))
/* Lists are counted by a size_t nr_MEMBER. */
#define TEXTS(row, member, title, flags, help)                                           \
	TABLE_LINE(row, member, #member, title, FIELD_TEXTS, FORM_OF_TEXTS, flags, help, \
		   TABLE_COUNTED(row, member))
/* The member points at, or is, a struct `part`, which part_desc describes. */
#define LIST(row, member, part, title, flags, help)                                         \
	TABLE_LINE(row, member, #member, title, FIELD_LIST, FORM_OF_STRUCT, flags, help,    \
		   .object = &part##_desc + TABLE_IS_ROWS(TABLE_MEMBER(row, member), part), \
		   TABLE_COUNTED(row, member))
#define OBJECT(row, member, part, title, flags, help)                                      \
	TABLE_LINE(row, member, #member, title, FIELD_OBJECT, FORM_OF_STRUCT, flags, help, \
		   .object = &part##_desc + TABLE_IS_ROWS(TABLE_MEMBER(row, member), part))
#define PART(row, member, part)                                                \
	TABLE_LINE(row, member, NULL, NULL, FIELD_PART, FORM_OF_PART, 0, NULL, \
		   .object = &part##_desc + TABLE_IS_PART(TABLE_MEMBER(row, member), part))

/* The lines of an object, and the struct they are bound to. */
#define TABLE(row, lines) \
	.row_size = sizeof(struct row), .nr_fields = ARRAY_SIZE(lines), .fields = (lines)

/* Defines row_desc: what the lines describe, by the noun that users know; then other members. */
#define DESCRIBE(row, lines, noun, sentence, ...) \
	const struct object_desc row##_desc = {   \
		.name = (noun), .help = (sentence), TABLE(row, lines), ##__VA_ARGS__}
/* The same of a part or an item of other objects. */
#define DESCRIBE_PART(row, lines, ...) \
	const struct object_desc row##_desc = {TABLE(row, lines), ##__VA_ARGS__}

#endif
