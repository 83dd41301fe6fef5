/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's clocks as plain numbers. Not for the core, which knows no time, nor for user/ctl,
 * whose time comes through its clock port.
 */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S 1000000000ULL

/* Cannot fail: every clock that pinfold reads exists since Linux 2.6.39. */
static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_monotonic_usec(void)
{
	return clock_monotonic_ns() / 1000;
}

#endif
