// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The file of original values: encoding, decoding, and what is rejected. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cgroup/originals.h"
#include "format/error.h"
#include "lib/text.h"

static void encoding_is_reversible(void **state)
{
	struct original items[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"cpu memory"},
		{.path = "pinfold.slice", .file = "cpuset.cpus", .value = (char *)""},
	};
	const struct originals before = {2, items};
	struct originals after cleanup_originals = {0};
	struct text text cleanup_text = {0};
	struct format_error error;

	originals_encode(&before, &text);
	assert_int_equal(text.error, 0);
	assert_int_equal(originals_decode(text.data, text.len, &error, &after), 0);
	assert_int_equal(after.nr, 2);
	assert_string_equal(after.items[0].file, "cgroup.subtree_control");
	assert_string_equal(after.items[0].value, "cpu memory");
	assert_string_equal(after.items[1].path, "pinfold.slice");
	assert_string_equal(after.items[1].value, "");
}

static void refuses_what_leaves_the_mount(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"version\":2,\"files\":[]}",
		"{\"version\":1}",
		"{\"version\":1,\"files\":[{\"group\":\"../etc\",\"file\":\"x\",\"value\":\"\"}]}",
		"{\"version\":1,\"files\":[{\"group\":\"/etc\",\"file\":\"x\",\"value\":\"\"}]}",
		"{\"version\":1,\"files\":[{\"group\":\"a\",\"file\":\"b/c\",\"value\":\"\"}]}",
		"{\"version\":1,\"files\":[{\"group\":\"a\",\"file\":\"b\"}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct originals originals cleanup_originals = {0};
		struct format_error error = {0};

		assert_int_equal(originals_decode(texts[i], strlen(texts[i]), &error, &originals),
				 -EBADMSG);
		assert_true(*error.message);
		assert_int_equal(originals.nr, 0);
	}
}

/* The first error is reported with its position. */
static void first_error_is_reported(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "expected a mapping, not a list"},
		{"{\"files\":[]}", "version and files are needed"},
		{"{\"version\":0,\"files\":[]}", "'0' is not a whole number from 1 to 1"},
		{"{\"version\":1,\"files\":{}}", "expected a list, not a mapping"},
		{"{\"version\":1,\"files\":[{\"group\":\"../a\",\"value\":\"\"}]}",
		 "it is missing"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct originals originals cleanup_originals = {0};
		struct format_error error = {0};

		assert_int_equal(originals_decode(rows[i][0], strlen(rows[i][0]), &error,
						  &originals),
				 -EBADMSG);
		if (!strstr(error.message, rows[i][1]))
			fail_msg("%s: '%s' does not say '%s'", rows[i][0], error.message,
				 rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoding_is_reversible),
		cmocka_unit_test(refuses_what_leaves_the_mount),
		cmocka_unit_test(first_error_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
