// SPDX-License-Identifier: Apache-2.0
/* An arena that counts, and its face as protobuf-c's allocator. */
#include "nri/memory.h"

/* What an allocation costs beyond its size: the headers of the arena and of malloc. */
#define OVERHEAD 48

static void *allocate(void *data, size_t size)
{
	return nri_memory_array(data, 1, size);
}

/* protobuf-c gives back little before the end of the message, and the limit bounds that. */
static void keep(void *data, void *pointer)
{
}

void nri_memory_init(struct nri_memory *memory, size_t limit)
{
	*memory = (struct nri_memory){.limit = limit};
	memory->allocator = (ProtobufCAllocator){
		.alloc = allocate,
		.free = keep,
		.allocator_data = memory,
	};
}

void nri_memory_clear(struct nri_memory *memory)
{
	arena_fini(&memory->arena);
	memory->used = 0;
}

void *nri_memory_array(struct nri_memory *memory, size_t nr, size_t size)
{
	void *array;
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes) ||
	    __builtin_add_overflow(bytes, OVERHEAD, &bytes) || bytes > memory->limit - memory->used)
		return NULL;
	array = arena_array(&memory->arena, nr, size);
	if (array)
		memory->used += bytes;
	return array;
}
