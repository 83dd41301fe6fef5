// SPDX-License-Identifier: Apache-2.0
/* A linked list of allocations, each with its own header. */
#include "lib/arena.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct arena_item {
	struct arena_item *next;
	_Alignas(max_align_t) char bytes[];
};

void arena_fini(struct arena *arena)
{
	while (arena->items) {
		struct arena_item *item = arena->items;

		arena->items = item->next;
		free(item);
	}
	arena->failed = false;
}

void *arena_array(struct arena *arena, size_t nr, size_t size)
{
	struct arena_item *item = NULL;
	size_t bytes;

	if (!__builtin_mul_overflow(nr, size, &bytes) &&
	    !__builtin_add_overflow(bytes, sizeof(*item), &bytes))
		item = calloc(1, bytes);
	if (!item) {
		arena->failed = true;
		return NULL;
	}
	item->next = arena->items;
	arena->items = item;
	return item->bytes;
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
	void *copy = arena_array(arena, 1, size);

	return copy ? memcpy(copy, data, size) : NULL;
}

const char *arena_text(struct arena *arena, struct text *text)
{
	const char *copy = text->data ? arena_copy(arena, text->data, text->len + 1) : NULL;

	arena->failed |= text->error != 0;
	text_fini(text);
	return copy ? copy : "";
}

const char *arena_printf(struct arena *arena, const char *format, ...)
{
	struct text text cleanup_text = {0};
	va_list args;

	va_start(args, format);
	text_vprintf(&text, format, args);
	va_end(args);
	return arena_text(arena, &text);
}
