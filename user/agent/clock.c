// SPDX-License-Identifier: Apache-2.0
/* The clock port: the kernel's clocks. */
#include <time.h>

#include "agent/agent.h"

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t clock_now(void *self)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall(void *self)
{
	return read_clock(CLOCK_REALTIME);
}
