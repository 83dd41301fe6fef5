/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the guard's configuration in the kernel with the one that was set. Pure:
 * backend_revert.c reads, writes and reports.
 */
#ifndef BPF_IN_FORCE_H
#define BPF_IN_FORCE_H

#include <stdbool.h>
#include <stddef.h>

#include <pinfold/release.h>

/*
 * The configuration expected in the kernel after `set` was set: the same, released if `found`
 * is.
 */
struct guard_config guard_config_expected(const struct guard_config *set,
					  const struct guard_config *found);

/*
 * Describe the differences for a finding: "cpusetFiles off instead of enforce, expiry 0
 * instead of 1000000000". Returns whether there is one. `text` is cut to `size`; "" if there
 * is none.
 */
bool guard_config_differs(const struct guard_config *expected, const struct guard_config *found,
			  char *text, size_t size);

#endif
