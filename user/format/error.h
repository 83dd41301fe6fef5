/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a document from outside, for people: where, which field,
 * which value, why, and what to do. Shared by all parsers of this room.
 */
#ifndef FORMAT_ERROR_H
#define FORMAT_ERROR_H

#include <stddef.h>

#define FORMAT_FIELD_MAX   160
#define FORMAT_MESSAGE_MAX 320
/* "FILE:LINE:COLUMN: FIELD: MESSAGE" with a file name of usual length. */
#define FORMAT_ERROR_TEXT_MAX (FORMAT_FIELD_MAX + FORMAT_MESSAGE_MAX + 320)

struct format_error {
	unsigned int line, column;	  /* from 1; 0 = no place, the whole document */
	char field[FORMAT_FIELD_MAX];	  /* "spec.containers[0].name", "" when none */
	char message[FORMAT_MESSAGE_MAX]; /* value, cause and remedy, one sentence each */
};

/* Fill all of it; a message that is too long is cut. `field` may be NULL. */
void format_error_set(struct format_error *error, unsigned int line, unsigned int column,
		      const char *field, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* "pods/db.yaml:12:9: spec.containers[0].name: …"; `file` may be NULL. Returns buffer. */
const char *format_error_text(const struct format_error *error, const char *file, char *buffer,
			      size_t size);

/* Compose a field path; one that is too long is cut and ends in "...". Returns buffer. */
const char *format_field(char buffer[FORMAT_FIELD_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "parent.key", or key alone below an empty parent; the key comes from outside. */
const char *format_member(char buffer[FORMAT_FIELD_MAX], const char *parent, const char *key);

/*
 * A value of `len` bytes made fit to stand inside a sentence: control and
 * non-ASCII bytes become "?", what exceeds the buffer ends in "...". Returns
 * buffer. Never trust a document to be short, or to be free of escapes.
 */
const char *format_show(const char *value, size_t len, char *buffer, size_t size);

#define FORMAT_SHOW_MAX 64

/*
 * How many letters to change, add or drop to make `b` of `a`, for "did you
 * mean"; more than FORMAT_SLIPS_MAX is another word. Keys are short: beyond 40
 * letters the answer is 40.
 */
unsigned int format_slips(const char *a, const char *b);

#define FORMAT_SLIPS_MAX 3

#endif
