// SPDX-License-Identifier: Apache-2.0
/* Lookup of grants, and names. */
#include "core/grant/grant.h"

#include <string.h>

const struct grant *ledger_find_grant(const struct ledger_pod *pod, const char *container)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (!strcmp(pod->grants[i].container, container))
			return &pod->grants[i];
	return NULL;
}

const char *isolation_name(enum isolation isolation)
{
	static const char *const names[] = {
		[ISOLATION_HOST] = "host",
		[ISOLATION_POD] = "pod",
		[ISOLATION_CONTAINER] = "container",
	};

	_Static_assert(ARRAY_SIZE(names) == ISOLATION_NR, "a name for each isolation");
	return names[isolation];
}

const char *pod_state_name(enum pod_state state)
{
	static const char *const names[] = {
		[POD_RUNNING] = "running",
		[POD_ENDING] = "ending",
	};

	_Static_assert(ARRAY_SIZE(names) == POD_STATE_NR, "a name for each state");
	return names[state];
}
