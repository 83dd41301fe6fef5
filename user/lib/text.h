/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string that grows. The first allocation failure sticks in `error` and all
 * later appends do nothing, so a writer checks once, at the end.
 */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/cleanup.h"

struct text {
	char *data; /* NUL-terminated once anything was appended, else NULL */
	size_t len;
	size_t capacity;
	int error; /* 0 or -ENOMEM */
};

void text_fini(struct text *text);
void text_append(struct text *text, const char *string);
void text_append_len(struct text *text, const char *bytes, size_t len);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Give the string away (owned by the caller, "" if nothing was appended) or return the error. */
int text_take(struct text *text, char **ret_string);

#define cleanup_text cleanup(text_fini)

#endif
