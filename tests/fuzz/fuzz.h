/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fuzz target is: one function. Linked with libFuzzer by `make fuzz`, and
 * with driver.c, which replays the corpus, by `make check`.
 *
 * A target names what it is about in its first lines:
 *   // LIBS: core                          archives (rooms) it needs
 *   // COVERS: user/core/cpuset.c:cpuset_parse,parse_id   functions, or the whole file
 * tests/fuzz/run wants 70 % of the lines named by COVERS executed. Seeds are in
 * corpus/<name>/, a dictionary, where useful, in <name>.dict.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold is a crash in both ways of running. */
#define FUZZ_CHECK(condition)     \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#endif
