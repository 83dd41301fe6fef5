// SPDX-License-Identifier: Apache-2.0
#include "ctl/backoff.h"

#define FIRST_NS   1000000000ULL
#define LONGEST_NS (120 * FIRST_NS)

uint64_t backoff_ns(uint32_t nr_repairs)
{
	uint64_t delay_ns = FIRST_NS;

	if (!nr_repairs)
		return 0;
	while (--nr_repairs && delay_ns < LONGEST_NS)
		delay_ns *= 2;
	return delay_ns < LONGEST_NS ? delay_ns : LONGEST_NS;
}
