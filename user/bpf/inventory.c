// SPDX-License-Identifier: Apache-2.0
#include "bpf/inventory.h"

#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "lib/bpf_fd.h"
#include "lib/file.h"

/* A program uses no more maps than this (the kernel's MAX_USED_MAPS). */
#define PROG_MAPS_MAX 64

/* "fmod_ret/security_file_open": the type, and what it is attached to. */
static void split_section(struct prog_row *row, const char *section)
{
	const size_t len = strcspn(section, "/");

	snprintf(row->type, sizeof(row->type), "%.*s", (int)len, section);
	if (section[len])
		snprintf(row->hook, sizeof(row->hook), "%s", section + len + 1);
}

void inventory_fill_prog(struct prog_row *row, const char *object, const char *name,
			 const char *section, int fd, bool is_timed)
{
	struct bpf_fd_prog found;

	*row = (struct prog_row){
		.run_time_ns = -1, .run_count = -1, .recursion_misses = -1, .memory_bytes = -1};
	snprintf(row->object, sizeof(row->object), "%s", object);
	snprintf(row->name, sizeof(row->name), "%s", name);
	split_section(row, section);
	if (bpf_fd_read_prog(fd, is_timed, &found))
		return;
	row->id = found.id;
	memcpy(row->tag, found.tag, sizeof(row->tag));
	row->age_ns = found.age_ns;
	row->run_time_ns = found.run_ns;
	row->run_count = found.nr_runs;
	row->recursion_misses = (int64_t)found.recursion_misses;
	row->memory_bytes = found.memory_bytes;
}

static struct map_row *find_map(struct bpf_inventory *inventory, uint32_t id)
{
	for (uint32_t i = 0; i < inventory->nr_maps; i++)
		if (inventory->maps[i].id == id)
			return &inventory->maps[i];
	return NULL;
}

/* One object after the other adds its maps, so an object that is there already is the last. */
static void add_user(struct map_row *row, const char *object)
{
	const char *comma = strrchr(row->objects, ',');
	const size_t len = strlen(row->objects);

	if (!strcmp(comma ? comma + 1 : row->objects, object))
		return;
	snprintf(row->objects + len, sizeof(row->objects) - len, "%s%s", len ? "," : "", object);
}

void inventory_add_map(struct bpf_inventory *inventory, const char *object, const char *name,
		       int fd, bool is_pinned)
{
	struct bpf_fd_map found;
	struct map_row *row;

	if (bpf_fd_read_map(fd, &found))
		return;
	row = find_map(inventory, found.id);
	if (row) {
		add_user(row, object);
		return;
	}
	row = bpf_inventory_add_map(inventory);
	if (!row)
		return;
	*row = (struct map_row){
		.id = found.id,
		.pinned = is_pinned,
		.used = found.nr_used,
		.max_entries = found.max_entries,
		.memory_bytes = found.memory_bytes,
	};
	snprintf(row->name, sizeof(row->name), "%s", name ? name : found.name);
	snprintf(row->type, sizeof(row->type), "%s", found.type ? found.type : "");
	add_user(row, object);
}

void inventory_add_maps_of(struct bpf_inventory *inventory, const char *object, int prog_fd,
			   bool is_pinned)
{
	uint32_t ids[PROG_MAPS_MAX], nr = 0;

	if (bpf_fd_maps_of(prog_fd, ids, ARRAY_SIZE(ids), &nr))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		struct map_row *row = find_map(inventory, ids[i]);
		int fd cleanup_close = row ? -1 : bpf_map_get_fd_by_id(ids[i]);

		if (row)
			add_user(row, object);
		else
			inventory_add_map(inventory, object, NULL, fd, is_pinned);
	}
}

void inventory_add_object(struct bpf_inventory *inventory, const char *name,
			  const struct bpf_object *object, const char *why_not_attached)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program (program, object) {
		struct prog_row *row =
			bpf_program__autoload(program) ? bpf_inventory_add_prog(inventory) : NULL;

		if (!row)
			continue;
		inventory_fill_prog(row, name, bpf_program__name(program),
				    bpf_program__section_name(program), bpf_program__fd(program),
				    inventory->is_timed);
		row->attached = !*why_not_attached;
		snprintf(row->reason, sizeof(row->reason), "%s", why_not_attached);
	}
	if (inventory->without_maps)
		return;
	bpf_object__for_each_map (map, object)
		inventory_add_map(inventory, name, bpf_map__name(map), bpf_map__fd(map), false);
}
