// SPDX-License-Identifier: Apache-2.0
/* Filling and printing of struct format_error. */
#include "format/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void format_error_set(struct format_error *error, unsigned int line, unsigned int column,
		      const char *field, const char *format, ...)
{
	va_list args;

	error->line = line;
	error->column = column;
	snprintf(error->field, sizeof(error->field), "%s", field ? field : "");
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
}

const char *format_error_text(const struct format_error *error, const char *file, char *buffer,
			      size_t size)
{
	char place[48] = "";

	if (error->line)
		snprintf(place, sizeof(place), "%s%u:%u", file ? ":" : "line ", error->line,
			 error->column);
	snprintf(buffer, size, "%s%s%s%s%s%s", file ? file : "", place, file || *place ? ": " : "",
		 error->field, *error->field ? ": " : "", error->message);
	return buffer;
}

const char *format_show(const char *value, size_t len, char *buffer, size_t size)
{
	size_t shown = len < size ? len : size - 1;

	for (size_t i = 0; i < shown; i++)
		buffer[i] = value[i] >= 0x20 && value[i] < 0x7f ? value[i] : '?';
	buffer[shown] = '\0';
	if (shown < len && shown > 3)
		memcpy(buffer + shown - 3, "...", 3);
	return buffer;
}

const char *format_field(char buffer[FORMAT_FIELD_MAX], const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(buffer, FORMAT_FIELD_MAX, format, args);
	va_end(args);
	if (len >= FORMAT_FIELD_MAX)
		memcpy(buffer + FORMAT_FIELD_MAX - 4, "...", 4);
	return buffer;
}

const char *format_member(char buffer[FORMAT_FIELD_MAX], const char *parent, const char *key)
{
	char shown[FORMAT_SHOW_MAX];

	return format_field(buffer, "%s%s%s", parent, *parent ? "." : "",
			    format_show(key, strlen(key), shown, sizeof(shown)));
}

#define LONGEST_KEY 40

unsigned int format_slips(const char *a, const char *b)
{
	unsigned int row[LONGEST_KEY + 1];
	size_t len_a = strlen(a), len_b = strlen(b);

	if (len_a > LONGEST_KEY || len_b > LONGEST_KEY)
		return LONGEST_KEY;
	for (size_t j = 0; j <= len_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[len_b];
}
