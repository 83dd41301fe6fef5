// SPDX-License-Identifier: Apache-2.0
/* Lookup of grants, where their sets are, and names. */
#include "core/grant/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct grant *ledger_find_grant(const struct ledger_pod *pod, const char *container)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (!strcmp(pod->grants[i].container, container))
			return &pod->grants[i];
	return NULL;
}

/* --- sets ---------------------------------------------------------------------------------------- */

/* Of the pod, and of each grant. */
#define POD_SETS   3
#define GRANT_SETS 2

static uint32_t count_sets(const struct ledger_pod *pod)
{
	return POD_SETS + GRANT_SETS * pod->nr_grants;
}

/* Each set of the record by a number. */
static const struct cpuset **set_at(struct ledger_pod *pod, uint32_t at)
{
	const struct cpuset **const own[POD_SETS] = {&pod->bubble, &pod->bubble_baseline,
						     &pod->held};
	struct grant *grant;

	if (at < POD_SETS)
		return own[at];
	grant = &pod->grants[(at - POD_SETS) / GRANT_SETS];
	return (at - POD_SETS) % GRANT_SETS ? &grant->baseline : &grant->cpus;
}

int ledger_pod_allocate(struct ledger_pod *pod, uint32_t nr)
{
	pod->spec = calloc(1, sizeof(*pod->spec));
	pod->grants = calloc(nr, sizeof(*pod->grants));
	if (!pod->spec || !pod->grants)
		return -ENOMEM;
	pod->spec->containers = calloc(nr, sizeof(*pod->spec->containers));
	return pod->spec->containers ? 0 : -ENOMEM;
}

int ledger_pod_own_sets(struct ledger_pod *pod)
{
	const uint32_t nr = count_sets(pod);
	struct cpuset *sets = calloc(nr, sizeof(*sets));

	if (!sets)
		return -ENOMEM;
	for (uint32_t at = 0; at < nr; at++) {
		const struct cpuset **set = set_at(pod, at);

		if (*set && !cpuset_is_empty(*set))
			sets[at] = **set;
		*set = &sets[at];
	}
	free(pod->sets);
	pod->sets = sets;
	return 0;
}

/* The place of an equal set among the first ones of the block; nr = there is none. */
static uint32_t find_set(const struct cpuset *sets, uint32_t nr, const struct cpuset *set)
{
	uint32_t at = 0;

	while (at < nr && !cpuset_equal(&sets[at], set))
		at++;
	return at;
}

/*
 * The sets move to the front of their block, which then shrinks, so no memory is asked for. They come in
 * the order of their places, so none is overwritten before it was moved.
 */
void ledger_pod_share_sets(struct ledger_pod *pod)
{
	uint32_t places[POD_SETS + GRANT_SETS * POD_MAX_CONTAINERS], nr = 0;
	const uint32_t nr_sets = count_sets(pod);
	struct cpuset *shrunk;

	if (nr_sets > ARRAY_SIZE(places))
		return;
	for (uint32_t at = 0; at < nr_sets; at++) {
		const struct cpuset *set = *set_at(pod, at);

		places[at] = cpuset_is_empty(set) ? UINT32_MAX : find_set(pod->sets, nr, set);
		if (places[at] == nr)
			pod->sets[nr++] = *set;
	}
	if (!nr)
		free(TAKE_PTR(pod->sets));
	shrunk = nr ? realloc(pod->sets, nr * sizeof(*shrunk)) : NULL;
	if (shrunk)
		pod->sets = shrunk;
	for (uint32_t at = 0; at < nr_sets; at++)
		*set_at(pod, at) = places[at] == UINT32_MAX ? &cpuset_none : &pod->sets[places[at]];
}

struct cpuset *ledger_pod_edit(struct ledger_pod *pod, const struct cpuset *set)
{
	return &pod->sets[set - pod->sets];
}

/* --- names --------------------------------------------------------------------------------------- */

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
