// SPDX-License-Identifier: Apache-2.0
/*
 * glibc raises the size from which it maps memory to that of the largest block that was ever freed, and
 * keeps twice as much at the top of its heap. After one page of metrics the agent would hold some
 * MiB that it needs for milliseconds every half a minute. Setting a limit ends that.
 */
#include "lib/heap.h"

#include <malloc.h>

/* Below a tree of the cgroups of 250 pods: three of them are made anew in each round. */
#define MAPPED_BYTES (128 * 1024)
#define KEPT_BYTES   (512 * 1024)
/* Each arena keeps what was freed in it; a thread of the pool allocates little, and seldom. */
#define ARENAS_MAX 2

void heap_set_up(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_ARENA_MAX, ARENAS_MAX);
}
