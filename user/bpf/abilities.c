// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "bpf/abilities.h"
#include "bpf/probe_cache.h"
#include "lib/log.h"

void abilities_begin(struct abilities *abilities, const char *identity, int dir_fd)
{
	*abilities = (struct abilities){.identity = identity, .dir_fd = dir_fd};
	probe_begin(abilities->rows);
}

void abilities_load(struct abilities *abilities)
{
	char key[PROBE_CACHE_KEY_MAX];

	if (abilities->identity && !probe_cache_key(abilities->identity, key))
		probe_cache_load(abilities->dir_fd, key, abilities->rows, &abilities->nr_known);
}

/* If the results cannot be saved, the next start only has to probe again. */
static void save(const struct abilities *abilities)
{
	char key[PROBE_CACHE_KEY_MAX];
	int r;

	if (!abilities->identity)
		return;
	r = probe_cache_key(abilities->identity, key);
	if (!r)
		r = probe_cache_save(abilities->dir_fd, key, abilities->rows, abilities->nr_known);
	if (r)
		log_debug("bpf: the results of the probes cannot be saved: %s", strerror(-r));
}

void abilities_probe(struct abilities *abilities, uint32_t end)
{
	if (abilities->nr_known >= end)
		return;
	probe_abilities(abilities->rows, abilities->nr_known, end);
	abilities->nr_known = end;
	save(abilities);
}

void abilities_reprobe(struct abilities *abilities)
{
	if (abilities->identity)
		probe_cache_forget(abilities->dir_fd);
	probe_begin(abilities->rows);
	abilities->nr_known = 0;
	abilities_probe(abilities, ABILITY_NR);
}
