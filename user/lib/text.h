/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string. The first allocation failure sets `error` and later appends do
 * nothing, so a writer can check once at the end.
 */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"

struct text {
	char *data; /* NUL-terminated; NULL until something is appended */
	size_t len;
	size_t capacity;
	int error; /* 0 or -ENOMEM */
};

/* Free the string and leave an empty text, which may be used again. */
void text_fini(struct text *text);
/* Append; does nothing after the first failure (see `error`). */
void text_append(struct text *text, const char *string);
void text_append_len(struct text *text, const char *bytes, size_t len);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/*
 * Room for `max` bytes behind the string, for a writer to whom a call for each piece is too dear;
 * text_end() says where it ended, and nothing else may be appended in between. NULL after a failure.
 */
char *text_begin(struct text *text, size_t max);
void text_end(struct text *text, char *end);
/* Transfer the string to the caller ("" if nothing was appended), or return the error. */
int text_take(struct text *text, char **ret_string);

#define cleanup_text cleanup(text_fini)

/* Copy as much of `string` as fits into a buffer of fixed size; always NUL-terminated. */
void text_copy(char *buffer, size_t size, const char *string);
/* Replace what is not printable ASCII by '?', in a message that quotes somebody else. */
void text_make_printable(char *string);

/* Bytes of the UTF-8 character that `string` begins with; 0 = it does not begin with one. */
unsigned int text_decode(const char *string, uint32_t *ret_character);
/*
 * Does a terminal act on it: C0, DEL, C1, the ends of lines and paragraphs of Unicode, or a change of
 * the direction of text, which would show a name with its letters in another order?
 */
bool text_is_control(uint32_t character);
/*
 * Append text of others for a terminal: control characters become \xNN, and so do bytes that are not
 * UTF-8, because a terminal without UTF-8 takes those from 0x80 to 0x9f for C1.
 */
void text_append_shown(struct text *text, const char *string);
/* Replace the same by '?', byte by byte. */
void text_hide_controls(char *string);

/* Does `sentence` differ from `told`, the last reported sentence of its kind? */
bool text_is_news(const char *told, const char *sentence);

#endif
