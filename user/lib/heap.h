/* SPDX-License-Identifier: Apache-2.0 */
/* What the allocator keeps of memory that was freed. */
#ifndef LIB_HEAP_H
#define LIB_HEAP_H

/* Call this once, at start, before the first thread. */
void heap_set_up(void);

#endif
