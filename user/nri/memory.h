/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one request: everything that is made of its bytes is freed together, and
 * together it has a limit. protobuf-c allocates here too, so a message of a few bytes cannot
 * become any amount of memory, and unknown fields cost what they weigh and no more.
 */
#ifndef NRI_MEMORY_H
#define NRI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/arena.h"

struct nri_memory {
	struct arena arena;
	size_t used, limit; /* bytes; `used` counts the overhead of an allocation too */
	ProtobufCAllocator allocator;
};

/* `memory` must not move afterwards: the allocator points to it. */
void nri_memory_init(struct nri_memory *memory, size_t limit);
/* Free everything; the memory may be used again, with its limit. */
void nri_memory_clear(struct nri_memory *memory);
/* `nr` zeroed elements, not NULL if nr is 0; NULL = no memory, or above the limit. */
void *nri_memory_array(struct nri_memory *memory, size_t nr, size_t size);

#define cleanup_nri_memory cleanup(nri_memory_clear)

#endif
