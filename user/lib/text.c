// SPDX-License-Identifier: Apache-2.0
/* The growing string: its buffer doubles in size, and an error persists. */
#include "lib/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAPACITY 256

void text_fini(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

/* Ensure room for `more` bytes and the NUL. */
static int reserve(struct text *text, size_t more)
{
	size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
	char *data;

	if (text->error)
		return text->error;
	if (more < text->capacity - text->len)
		return 0;
	if (more > SIZE_MAX / 4 - text->len)
		return text->error = -ENOMEM;
	while (capacity <= text->len + more)
		capacity *= 2;
	data = realloc(text->data, capacity);
	if (!data)
		return text->error = -ENOMEM;
	text->data = data;
	text->capacity = capacity;
	return 0;
}

void text_append_len(struct text *text, const char *bytes, size_t len)
{
	if (reserve(text, len))
		return;
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
	text->data[text->len] = '\0';
}

void text_append(struct text *text, const char *string)
{
	text_append_len(text, string, strlen(string));
}

void text_vprintf(struct text *text, const char *format, va_list args)
{
	va_list again;
	int len;

	if (reserve(text, 0))
		return;
	va_copy(again, args);
	len = vsnprintf(text->data + text->len, text->capacity - text->len, format, args);
	if (len < 0) {
		text->error = -ENOMEM;
	} else if ((size_t)len >= text->capacity - text->len) {
		/* Cut off the partial text, so that a failure leaves only complete pieces. */
		text->data[text->len] = '\0';
		if (!reserve(text, len))
			vsnprintf(text->data + text->len, text->capacity - text->len, format,
				  again);
	}
	va_end(again);
	if (!text->error)
		text->len += len;
}

void text_printf(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vprintf(text, format, args);
	va_end(args);
}

int text_take(struct text *text, char **ret_string)
{
	if (!text->error && !text->data)
		text_append_len(text, "", 0);
	if (text->error)
		return text->error;
	*ret_string = TAKE_PTR(text->data);
	*text = (struct text){0};
	return 0;
}

void text_copy(char *buffer, size_t size, const char *string)
{
	const size_t len = strnlen(string, size - 1);

	memcpy(buffer, string, len);
	buffer[len] = '\0';
}

void text_make_printable(char *string)
{
	for (; *string; string++)
		if (*string < ' ' || *string > '~')
			*string = '?';
}

bool text_is_news(const char *told, const char *sentence)
{
	return strcmp(told, sentence) != 0;
}
