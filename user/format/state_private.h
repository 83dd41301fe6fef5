/* SPDX-License-Identifier: Apache-2.0 */
/* Private to state.c and state_read.c: the frame around the content. */
#ifndef FORMAT_STATE_PRIVATE_H
#define FORMAT_STATE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#define STATE_HEAD    "{\"version\":" /* key: of the state file */
#define STATE_SUM     ",\"checksum\":\""
#define STATE_CONTENT "\",\"content\":\n"
#define STATE_TAIL    "\n}\n"

/* FNV-1a, 64 bits, of the content: finds damage, not tampering. */
uint64_t state_checksum(const char *data, size_t len);

#endif
