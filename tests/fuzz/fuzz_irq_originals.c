// SPDX-License-Identifier: Apache-2.0
// LIBS: irq format core lib
// COVERS: user/irq/irq_originals.c:read_set,decode_mask,irq_originals_decode,irq_originals_encode
// COVERS: user/format/boot_file.c:boot_file_begin,boot_file_end,boot_file_decode,parse,boot_file_read_cpus
// COVERS: user/irq/mask.c:parse_hex,hex_text,mask_parse,mask_text
/* The original masks of interrupts, and masks in both forms: what is read can be written again. */
#include <errno.h>
#include <string.h>

#include "format/error.h"
#include "fuzz.h"
#include "irq/irq_originals.h"
#include "lib/text.h"

#define BOOT "boot"

static void check_mask(enum mask_form form, const char *text)
{
	struct cpuset set = CPUSET_EMPTY, again = CPUSET_EMPTY;
	char *written cleanup_free = NULL;

	if (mask_parse(form, text, &set))
		return;
	written = mask_text(form, &set);
	FUZZ_CHECK(written && mask_parse(form, written, &again) == 0);
	FUZZ_CHECK(cpuset_equal(&set, &again));
}

static void check_originals(const char *data, size_t size)
{
	struct irq_table table cleanup_irq_table = {0}, again cleanup_irq_table = {0};
	struct text text cleanup_text = {0}, twice cleanup_text = {0};
	struct format_error error = {0};
	int r = irq_originals_decode(data, size, BOOT, &error, &table);

	FUZZ_CHECK(r != -EBADMSG || *error.message);
	if (r) {
		FUZZ_CHECK(!table.nr && !table.entries);
		return;
	}
	irq_originals_encode(&table, BOOT, &text);
	FUZZ_CHECK(!text.error);
	FUZZ_CHECK(irq_originals_decode(text.data, text.len, BOOT, &error, &again) == 0);
	irq_originals_encode(&again, BOOT, &twice);
	FUZZ_CHECK(strcmp(text.data, twice.data) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text cleanup_free = strndup((const char *)data, size);

	FUZZ_CHECK(text);
	check_mask(MASK_HEX, text);
	check_mask(MASK_LIST, text);
	check_originals((const char *)data, size);
	return 0;
}
