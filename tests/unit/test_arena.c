// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/* Allocations stay valid until the end, and a failure persists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/arena.h"

static void allocations_stay_valid(void **state)
{
	struct arena arena = {0};
	const uint64_t number = 7;
	struct text text = {0};
	const char *first, *second;
	uint32_t *zeros;

	(void)state;
	first = arena_printf(&arena, "%s %d", "node", 3);
	zeros = arena_array(&arena, 1000, sizeof(*zeros));
	text_append(&text, "given away");
	second = arena_text(&arena, &text);
	assert_null(text.data);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(zeros[i], 0);
	assert_int_equal(*(uint64_t *)arena_copy(&arena, &number, sizeof(number)), 7);
	assert_string_equal(first, "node 3");
	assert_string_equal(second, "given away");
	assert_string_equal(arena_text(&arena, &text), "");
	assert_non_null(arena_array(&arena, 0, 8));
	assert_false(arena.failed);
	arena_fini(&arena);
	assert_null(arena.items);
}

static void failure_persists(void **state)
{
	struct arena arena = {0};
	struct text text = {.error = -12};

	(void)state;
	assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
	assert_true(arena.failed);
	assert_non_null(arena_array(&arena, 1, 1));
	assert_true(arena.failed);
	arena_fini(&arena);
	assert_false(arena.failed);
	arena_text(&arena, &text);
	assert_true(arena.failed);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_stay_valid),
		cmocka_unit_test(failure_persists),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
