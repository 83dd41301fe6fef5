// SPDX-License-Identifier: Apache-2.0
#include "ctl/map_space.h"

#include <string.h>

#include "ctl/internal.h"
#include "format/bpf_inventory.h"
#include "lib/text.h"

#define PERIOD_NS 10000000000ULL

static struct map_space_row *row_of(struct map_space *space, const char *name)
{
	struct map_space_row *row;

	for (uint32_t i = 0; i < space->nr; i++)
		if (!strcmp(space->rows[i].name, name))
			return &space->rows[i];
	if (space->nr == MAP_SPACE_ROWS)
		return NULL;
	row = &space->rows[space->nr++];
	*row = (struct map_space_row){0};
	text_copy(row->name, sizeof(row->name), name);
	return row;
}

/* Arrays have all their entries always; what is in a ring or a task's storage nobody counts. */
static void add(struct map_space *space, const struct bpf_inventory *inventory)
{
	for (uint32_t i = 0; i < inventory->nr_maps; i++) {
		const struct map_row *map = &inventory->maps[i];
		struct map_space_row *row = map->used < 0 ? NULL : row_of(space, map->name);

		if (!row)
			continue;
		row->nr_used += (uint64_t)map->used;
		row->max_entries += map->max_entries;
	}
}

const struct map_space *ctl_map_space(struct controller *controller)
{
	const struct controller_ports *ports = &controller->ports;
	struct map_space *space = &controller->map_space;
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};
	const uint64_t now_ns = clock_now_ns(ports->clock);

	if (!ports->kernel || (space->counted_ns && now_ns - space->counted_ns < PERIOD_NS))
		return space;
	ports->kernel->list(ports->kernel->self, &inventory);
	if (ports->pressure)
		ports->pressure->list(ports->pressure->self, &inventory);
	if (ports->noise)
		ports->noise->list(ports->noise->self, &inventory);
	space->nr = 0;
	space->counted_ns = now_ns;
	add(space, &inventory);
	return space;
}
