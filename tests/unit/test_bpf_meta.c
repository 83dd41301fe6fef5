// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Whose pins an agent may take over; no kernel needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/meta.h"

/* Entry of an agent of ABI `version` that allows agents down to `oldest`. */
static bool is_compatible(uint32_t version, uint16_t oldest)
{
	const struct bpf_object_meta meta = {.abi_version = version, .abi_oldest = oldest};

	return meta_is_compatible(&meta);
}

static void nothing_and_earlier_versions_are_taken_over(void **state)
{
	assert_true(is_compatible(0, 0));
	for (uint32_t version = 1; version <= ABI_VERSION; version++) {
		assert_true(is_compatible(version, 0));
		assert_true(is_compatible(version, (uint16_t)version));
	}
}

static void a_newer_version_says_whether_it_is(void **state)
{
	assert_true(is_compatible(ABI_VERSION + 1, ABI_VERSION));
	assert_true(is_compatible(ABI_VERSION + 7, 1));
	assert_false(is_compatible(ABI_VERSION + 1, ABI_VERSION + 1));
	/* written by an agent that did not know the member */
	assert_false(is_compatible(ABI_VERSION + 1, 0));
}

/* What an agent writes must let the same version adopt it. */
static void the_oldest_is_not_above_the_version(void **state)
{
	assert_in_range(ABI_OLDEST, 1, ABI_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_and_earlier_versions_are_taken_over),
		cmocka_unit_test(a_newer_version_says_whether_it_is),
		cmocka_unit_test(the_oldest_is_not_above_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
