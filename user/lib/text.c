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

char *text_begin(struct text *text, size_t max)
{
	return reserve(text, max) ? NULL : text->data + text->len;
}

void text_end(struct text *text, char *end)
{
	*end = '\0';
	text->len = (size_t)(end - text->data);
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

unsigned int text_decode(const char *string, uint32_t *ret_character)
{
	const unsigned char *text = (const unsigned char *)string;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int len = 2;
	uint32_t character;

	if (text[0] < 0x80)
		len = 1;
	else if (text[0] >= 0xf0)
		len = 4;
	else if (text[0] >= 0xe0)
		len = 3;
	character = len == 1 ? text[0] : text[0] & (0x7f >> len);
	if ((text[0] >= 0x80 && text[0] < 0xc0) || text[0] >= 0xf8)
		return 0;
	for (unsigned int i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	if (character < least[len] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return 0;
	*ret_character = character;
	return len;
}

bool text_is_control(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	    {0x61c, 0x61c},
		{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}

void text_append_shown(struct text *text, const char *string)
{
	const char *begin = string;

	while (*string) {
		uint32_t character = (unsigned char)*string;
		const unsigned int len = text_decode(string, &character);

		if (len && !text_is_control(character)) {
			string += len;
			continue;
		}
		text_append_len(text, begin, (size_t)(string - begin));
		text_printf(text, "\\x%02x", character);
		string += len ? len : 1;
		begin = string;
	}
	text_append_len(text, begin, (size_t)(string - begin));
}

void text_hide_controls(char *string)
{
	while (*string) {
		uint32_t character;
		unsigned int len = text_decode(string, &character);

		if (len && !text_is_control(character)) {
			string += len;
			continue;
		}
		for (len = len ? len : 1; len; len--)
			*string++ = '?';
	}
}

bool text_is_news(const char *told, const char *sentence)
{
	return strcmp(told, sentence) != 0;
}
