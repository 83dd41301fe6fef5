/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit FNV-1a: detects accidental changes. It is not collision resistant against an
 * attacker.
 */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ULL

/* `hash` is HASH_START or the hash of the preceding bytes. */
static inline uint64_t hash_add(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

#endif
