/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that share the lifetime of one task and are freed together, so rows may
 * point to data that was computed for them. The first allocation failure sets `failed`,
 * so a caller can check once at the end.
 */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"

struct arena_item;

struct arena {
	struct arena_item *items; /* most recent allocation first */
	bool failed;
};

/* Free all allocations; the arena may be used again. */
void arena_fini(struct arena *arena);

/* Allocate `nr` zeroed elements; also returns a pointer if nr is 0. NULL = no memory. */
void *arena_array(struct arena *arena, size_t nr, size_t size);
void *arena_copy(struct arena *arena, const void *data, size_t size);
/* Never NULL: returns "" if there is no memory. */
const char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Take the string out of `text` and leave it empty; "" if nothing was appended. */
const char *arena_text(struct arena *arena, struct text *text);

#define cleanup_arena cleanup(arena_fini)

#endif
