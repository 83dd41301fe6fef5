// SPDX-License-Identifier: Apache-2.0
// LIBS: core
// COVERS: user/core/quantity.c
/* Quantities: never negative, thousandths agree with units, canonical form parses back. */
#include <string.h>

#include "core/quantity.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	int64_t value = -1, milli = -1, again = -1;
	char canonical[24];
	int whole = quantity_parse(text, size, &value);
	int thousandths = quantity_parse_milli(text, size, &milli);

	if (whole < 0) {
		/* What is out of range in units is so in thousandths. */
		FUZZ_CHECK(thousandths == whole);
		return 0;
	}
	FUZZ_CHECK(value >= 0);
	quantity_format_binary((uint64_t)value, canonical, sizeof(canonical));
	FUZZ_CHECK(quantity_parse(canonical, strlen(canonical), &again) == 0 && again == value);
	/* Both are rounded up: value = ceil(milli / 1000). */
	if (thousandths == 0)
		FUZZ_CHECK(milli >= 0 && value == milli / 1000 + (milli % 1000 != 0));
	else
		FUZZ_CHECK(value >= INT64_MAX / 1000);
	return 0;
}
