// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "bpf/abilities.h"
#include "bpf/remember.h"
#include "lib/log.h"

void abilities_begin(struct abilities *abilities, const char *identity, int dir_fd)
{
	*abilities = (struct abilities){.identity = identity, .dir_fd = dir_fd};
	probe_begin(abilities->rows);
}

void abilities_recall(struct abilities *abilities)
{
	char key[REMEMBER_KEY_MAX];

	if (abilities->identity && !remember_key(abilities->identity, key))
		remember_load(abilities->dir_fd, key, abilities->rows, &abilities->nr_known);
}

/* If the results cannot be saved, the next start only has to probe again. */
static void save(const struct abilities *abilities)
{
	char key[REMEMBER_KEY_MAX];
	int r;

	if (!abilities->identity)
		return;
	r = remember_key(abilities->identity, key);
	if (!r)
		r = remember_save(abilities->dir_fd, key, abilities->rows, abilities->nr_known);
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

void abilities_probe_again(struct abilities *abilities)
{
	if (abilities->identity)
		remember_forget(abilities->dir_fd);
	probe_begin(abilities->rows);
	abilities->nr_known = 0;
	abilities_probe(abilities, ABILITY_NR);
}
