/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers to read the clock port. */
#ifndef CTL_CLOCK_H
#define CTL_CLOCK_H

#include "ctl/ports.h"

/* CLOCK_MONOTONIC: for durations and deadlines. */
static inline uint64_t clock_now_ns(const struct clock_port *clock)
{
	return clock->now_ns(clock->self);
}

/* CLOCK_REALTIME: for times that people read. */
static inline uint64_t clock_wall_ns(const struct clock_port *clock)
{
	return clock->wall_ns(clock->self);
}

/* CLOCK_THREAD_CPUTIME_ID: what the event loop itself has used. */
static inline uint64_t clock_cpu_ns(const struct clock_port *clock)
{
	return clock->cpu_ns(clock->self);
}

#endif
