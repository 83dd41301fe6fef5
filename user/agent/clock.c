// SPDX-License-Identifier: Apache-2.0
/* The clock port: the kernel's clocks. */
#include <time.h>

#include "agent/agent.h"

uint64_t clock_read(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t clock_now(void *self)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_wall(void *self)
{
	return clock_read(CLOCK_REALTIME);
}

uint64_t clock_cpu(void *self)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}
