/* SPDX-License-Identifier: Apache-2.0 */
/* Private to state.c and state_read.c: the frame around the content. */
#ifndef FORMAT_STATE_PRIVATE_H
#define FORMAT_STATE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#define STATE_HEAD    "{\"version\":"
#define STATE_SUM     ",\"checksum\":\""
#define STATE_CONTENT "\",\"content\":\n"
#define STATE_TAIL    "\n}\n"

uint64_t state_checksum(const char *data, size_t len);

#endif
