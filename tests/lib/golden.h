/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that users or programs rely on, compared to the byte with a file of
 * tests/data. UPDATE_GOLDEN=1 writes the file anew, to be read before it is
 * committed. Include after cmocka.h.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdlib.h>

#include "data.h"

/* The first line that differs fails the test, told with what stands there instead. */
static inline void golden_compare(const char *path, const char *text)
{
	size_t len, line = 1;
	char *golden;
	FILE *file;

	if (getenv("UPDATE_GOLDEN")) {
		file = fopen(path, "we");
		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
		print_message("# %s was written anew; read what changed\n", path);
	}
	golden = data_read(path, &len);
	for (size_t i = 0, begins = 0; i <= len; i++) {
		if (golden[i] != text[i])
			fail_msg("%s:%zu: '%.*s' is expected, not '%.*s'; UPDATE_GOLDEN=1 writes "
				 "the file anew",
				 path, line, (int)strcspn(golden + begins, "\n"), golden + begins,
				 (int)strcspn(text + begins, "\n"), text + begins);
		if (golden[i] == '\n') {
			line++;
			begins = i + 1;
		}
	}
	assert_int_equal(strlen(text), len);
	free(golden);
}

#endif
