// SPDX-License-Identifier: Apache-2.0
#include "format/bpf_inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The rows with room for one more, or NULL. They are full at each power of two. */
static void *grow(void *rows, uint32_t nr, size_t row_bytes)
{
	if (nr & (nr - 1))
		return rows;
	return realloc(rows, (nr ? 2 * (size_t)nr : 1) * row_bytes);
}

struct prog_row *bpf_inventory_add_prog(struct bpf_inventory *inventory)
{
	struct prog_row *rows = grow(inventory->progs, inventory->nr_progs, sizeof(*rows));
	struct prog_row *row;

	if (!rows) {
		inventory->error = -ENOMEM;
		return NULL;
	}
	inventory->progs = rows;
	row = &rows[inventory->nr_progs++];
	*row = (struct prog_row){
		.run_time_ns = -1, .run_count = -1, .recursion_misses = -1, .memory_bytes = -1};
	return row;
}

struct map_row *bpf_inventory_add_map(struct bpf_inventory *inventory)
{
	struct map_row *rows = grow(inventory->maps, inventory->nr_maps, sizeof(*rows));
	struct map_row *row;

	if (!rows) {
		inventory->error = -ENOMEM;
		return NULL;
	}
	inventory->maps = rows;
	row = &rows[inventory->nr_maps++];
	*row = (struct map_row){.used = -1, .memory_bytes = -1};
	return row;
}

void bpf_inventory_add_missing(struct bpf_inventory *inventory, const char *object,
			       const char *reason)
{
	struct prog_row *row = bpf_inventory_add_prog(inventory);

	if (!row)
		return;
	snprintf(row->object, sizeof(row->object), "%s", object);
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
}

void bpf_inventory_fini(struct bpf_inventory *inventory)
{
	free(inventory->progs);
	free(inventory->maps);
	*inventory = (struct bpf_inventory){0};
}
