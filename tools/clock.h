/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of the inspector. */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include "lib/clock.h"

/* By CLOCK_MONOTONIC; signed, because what is left of a deadline may be negative. */
static inline int64_t clock_ms(void)
{
	return (int64_t)(clock_monotonic_ns() / 1000000);
}

#endif
