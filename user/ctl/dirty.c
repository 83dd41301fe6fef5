// SPDX-License-Identifier: Apache-2.0
/* Marks are only hints: a lost one costs time, because the next resync compares everything. */
#include <stdio.h>
#include <string.h>

#include "ctl/dirty.h"

void dirty_mark_ledger(struct dirty *dirty)
{
	dirty->ledger = true;
}

void dirty_mark_groups(struct dirty *dirty)
{
	dirty->groups = true;
}

void dirty_mark_chains(struct dirty *dirty)
{
	dirty->chains = true;
}

void dirty_clear_chains(struct dirty *dirty)
{
	dirty->chains = false;
}

void dirty_clear(struct dirty *dirty)
{
	dirty->ledger = false;
	dirty->groups = false;
}

uint32_t dirty_take_paths(struct dirty *dirty)
{
	uint32_t nr = dirty->nr_paths;

	dirty->nr_paths = 0;
	return nr;
}

void dirty_mark_path(struct dirty *dirty, const char *path)
{
	if (dirty->nr_paths == MAX_DIRTY)
		return;
	for (uint32_t i = 0; i < dirty->nr_paths; i++)
		if (!strcmp(dirty->paths[i], path))
			return;
	snprintf(dirty->paths[dirty->nr_paths++], GROUP_PATH_MAX, "%s", path);
}
