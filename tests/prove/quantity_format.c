// SPDX-License-Identifier: Apache-2.0
// CBMC: user/core/quantity.c --unwind 8
// FAULT: user/core/quantity.c s/bytes && bytes % 1024 == 0/bytes \&\& bytes % 512 == 0/
/*
 * The binary form of every byte count there is: the number and suffix that are printed
 * are worth exactly that many bytes, and no larger suffix would do. CBMC has no snprintf,
 * so ours keeps what it is given.
 */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "core/quantity.h"

#define BUFFER_SIZE 24

uint64_t nondet_bytes(void);

static uint64_t printed_number;
static const char *printed_suffix;

int snprintf(char *buffer, size_t size, const char *format, ...)
{
	va_list arguments;

	assert(strcmp(format, "%llu%s") == 0 && size == BUFFER_SIZE);
	va_start(arguments, format);
	printed_number = va_arg(arguments, unsigned long long);
	printed_suffix = va_arg(arguments, const char *);
	va_end(arguments);
	return 0;
}

int main(void)
{
	static const struct {
		const char *suffix;
		unsigned int bits;
	} suffixes[] = {{"", 0},    {"Ki", 10}, {"Mi", 20}, {"Gi", 30},
			{"Ti", 40}, {"Pi", 50}, {"Ei", 60}};
	uint64_t bytes = nondet_bytes();
	char buffer[BUFFER_SIZE];
	unsigned int bits = 64;

	quantity_format_binary(bytes, buffer, sizeof(buffer));
	for (unsigned int i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(suffixes[i].suffix, printed_suffix) == 0)
			bits = suffixes[i].bits;
	}
	assert(bits < 64);
	assert(printed_number <= UINT64_MAX >> bits && printed_number << bits == bytes);
	assert(bits == 60 || !bytes || bytes & ((1ULL << (bits + 10)) - 1));
	return 0;
}
