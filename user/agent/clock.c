// SPDX-License-Identifier: Apache-2.0
/* The clock port: the kernel's clocks. */
#include "agent/agent.h"
#include "lib/clock.h"

uint64_t clock_now(void *self)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall(void *self)
{
	return clock_read_ns(CLOCK_REALTIME);
}

uint64_t clock_cpu(void *self)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}
