// SPDX-License-Identifier: Apache-2.0
#include "irq/mask.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/file.h"
#include "lib/text.h"

#define WORD_BITS 32
#define NR_WORDS  (CPUSET_MAX / WORD_BITS)

static int parse_hex(const char *text, struct cpuset *ret_set)
{
	struct cpuset set = CPUSET_EMPTY;
	unsigned int cpu = 0, digits = 0;

	/* From the last digit, which has the lowest CPUs. */
	for (size_t i = strlen(text); i-- > 0;) {
		const char c = (char)tolower((unsigned char)text[i]);
		unsigned int digit;

		if (c == ',' && digits == WORD_BITS / 4) {
			digits = 0;
			continue;
		}
		if (!isxdigit((unsigned char)c) || digits == WORD_BITS / 4)
			return -EINVAL;
		digit = (unsigned int)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
		for (unsigned int bit = 0; bit < 4; bit++) {
			if (!(digit >> bit & 1))
				continue;
			if (cpu + bit >= CPUSET_MAX)
				return -ERANGE;
			cpuset_add(&set, cpu + bit);
		}
		cpu += 4;
		digits++;
	}
	if (!digits)
		return -EINVAL;
	*ret_set = set;
	return 0;
}

int mask_parse(enum mask_form form, const char *text, struct cpuset *ret_set)
{
	return form == MASK_HEX ? parse_hex(text, ret_set)
				: cpuset_parse(text, strlen(text), ret_set);
}

static char *hex_text(const struct cpuset *set)
{
	struct text text cleanup_text = {0};
	uint32_t words[NR_WORDS] = {0};
	unsigned int last = 0;
	char *string = NULL;

	cpuset_for_each (cpu, set) {
		last = cpu / WORD_BITS;
		words[last] |= 1U << cpu % WORD_BITS;
	}
	text_printf(&text, "%x", words[last]);
	for (unsigned int i = last; i-- > 0;)
		text_printf(&text, ",%08x", words[i]);
	return text_take(&text, &string) ? NULL : string;
}

char *mask_text(enum mask_form form, const struct cpuset *set)
{
	char *text;

	if (form == MASK_HEX)
		return hex_text(set);
	text = malloc(cpuset_format(set, NULL, 0) + 1);
	if (text)
		cpuset_format(set, text, cpuset_format(set, NULL, 0) + 1);
	return text;
}

int mask_read(int dir_fd, const char *file, enum mask_form form, struct cpuset *ret_set)
{
	char *text cleanup_free = NULL;
	int r;

	r = file_read_line(dir_fd, file, &text);
	if (r)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return mask_parse(form, text, ret_set);
}

int mask_write(int dir_fd, const char *file, enum mask_form form, const struct cpuset *set)
{
	char *text cleanup_free = mask_text(form, set);
	struct text line cleanup_text = {0};

	if (!text)
		return -ENOMEM;
	text_printf(&line, "%s\n", text);
	return line.error ? line.error : file_write_text(dir_fd, file, line.data);
}
