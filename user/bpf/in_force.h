/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard's configuration in the kernel compared with the one that was set. Pure:
 * who reads, writes and reports is kernel_side.c.
 */
#ifndef BPF_IN_FORCE_H
#define BPF_IN_FORCE_H

#include <stdbool.h>
#include <stddef.h>

#include <pinfold/release.h>

/* What must be in the kernel when `set` was set: the same, released if `found` is. */
struct guard_config guard_config_expected(const struct guard_config *set,
					  const struct guard_config *found);

/*
 * What differs, in words for a finding: "cpusetFiles off instead of enforce, expiry 0
 * instead of 1000000000". Whether anything does. `text` is cut to `size`; "" if nothing.
 */
bool guard_config_differs(const struct guard_config *expected, const struct guard_config *found,
			  char *text, size_t size);

#endif
