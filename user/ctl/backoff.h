/* SPDX-License-Identifier: Apache-2.0 */
/* How long the next repair waits where another program undoes each one: two writers would never end. */
#ifndef CTL_BACKOFF_H
#define CTL_BACKOFF_H

#include <stdint.h>

/* This many repairs without a quiet time are a fight, which is a finding. */
#define BACKOFF_FIGHT 3
/* How long nobody else must have changed it before earlier repairs are forgotten. */
#define BACKOFF_QUIET_NS (300ULL * 1000000000ULL)

/* From the last of so many repairs to the next one: 0, 1 s, and then twice as long, up to 2 minutes. */
uint64_t backoff_ns(uint32_t nr_repairs);

#endif
