// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/inherit.h"
#include "lib/file.h"

_Static_assert(INHERIT_NAME_MAX == BPF_OBJ_NAME_LEN, "names are the kernel's");

/* Is `name` the name that the kernel stores for `whole`? It keeps the first 15 bytes. */
static bool is_cut_of(const char *name, const char *whole)
{
	return *name && !strncmp(name, whole, INHERIT_NAME_MAX - 1);
}

/* --- one program --------------------------------------------------------------------------------- */

struct program {
	char name[INHERIT_NAME_MAX];
	uint32_t nr_maps, map_ids[INHERIT_USES_MAX];
};

static int read_program(uint32_t id, struct program *ret_program)
{
	int fd cleanup_close = bpf_prog_get_fd_by_id(id);
	struct program program = {0};
	struct bpf_prog_info info = {
		.nr_map_ids = INHERIT_USES_MAX,
		.map_ids = (__u64)(unsigned long)program.map_ids,
	};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (info.nr_map_ids > INHERIT_USES_MAX)
		return -E2BIG;
	memcpy(program.name, info.name, sizeof(program.name));
	program.nr_maps = info.nr_map_ids;
	*ret_program = program;
	return 0;
}

/* Add its maps to those in force. A map that disappears at this moment has no other user. */
static void add_maps(struct inherited *inherited, const struct program *program)
{
	for (uint32_t i = 0; i < program->nr_maps; i++) {
		struct inherited_map *map = NULL;
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);

		for (uint32_t j = 0; j < inherited->nr_maps && !map; j++)
			if (inherited->maps[j].id == program->map_ids[i])
				map = &inherited->maps[j];
		if (map) {
			map->nr_users++;
			continue;
		}
		if (inherited->nr_maps == INHERIT_MAPS_MAX)
			return;
		map = &inherited->maps[inherited->nr_maps];
		*map = (struct inherited_map){.id = program->map_ids[i], .nr_users = 1};
		map->fd = bpf_map_get_fd_by_id(map->id);
		if (map->fd < 0)
			continue;
		inherited->nr_maps++;
		if (!bpf_obj_get_info_by_fd(map->fd, &info, &len))
			memcpy(map->name, info.name, sizeof(map->name));
	}
}

static void add_link(struct inherited *inherited, const char *pin, bool pinned, uint32_t id,
		     uint32_t prog_id, int fd, const struct program *program)
{
	struct inherited_link *link = &inherited->links[inherited->nr_links++];

	*link = (struct inherited_link){
		.pinned = pinned,
		.id = id,
		.prog_id = prog_id,
		.fd = fd,
		.nr_maps = program->nr_maps,
	};
	snprintf(link->pin, sizeof(link->pin), "%s", pin);
	memcpy(link->map_ids, program->map_ids, sizeof(link->map_ids));
	add_maps(inherited, program);
}

/* --- links that are pinned ------------------------------------------------------------------------ */

/*
 * Pins of links are named "<object>_<program>" or like the program. A link of another program
 * at such a path is not pinfold's.
 */
static bool is_named_after(const char *pin, const char *program)
{
	const char *name = strchr(pin, '/') + 1, *second = strchr(name, '_');
	size_t len = strlen(program);

	return len &&
	       (!strncmp(name, program, len) || (second && !strncmp(second + 1, program, len)));
}

static void add_pinned(struct inherited *inherited, const char *pin_dir, const char *name)
{
	int fd cleanup_close = -1;
	struct bpf_link_info info = {0};
	struct program program;
	__u32 len = sizeof(info);
	char pin[PIN_NAME_MAX];

	if (snprintf(pin, sizeof(pin), "links/%s", name) >= PIN_NAME_MAX ||
	    inherited->nr_links == INHERIT_LINKS_MAX || pin_open(pin_dir, pin, OBJECT_LINK, &fd) ||
	    bpf_obj_get_info_by_fd(fd, &info, &len) || read_program(info.prog_id, &program) ||
	    !is_named_after(pin, program.name))
		return;
	add_link(inherited, pin, true, info.id, info.prog_id, TAKE_FD(fd), &program);
}

/* If not all can be listed, find_unpinned finds the others by what they use. */
static void find_pinned(struct inherited *inherited, const char *pin_dir)
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	const struct dirent *entry;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) < PIN_PATH_MAX)
		dir = opendir(path);
	while (dir && file_next_entry(dir, &entry) > 0)
		if (entry->d_name[0] != '.')
			add_pinned(inherited, pin_dir, entry->d_name);
}

/* --- links that are not ------------------------------------------------------------------------- */

static bool uses_one_of(const struct program *program, const struct inherit_wanted *wanted)
{
	for (uint32_t i = 0; i < program->nr_maps; i++) {
		int fd cleanup_close = bpf_map_get_fd_by_id(program->map_ids[i]);
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
			continue;
		for (uint32_t j = 0; j < wanted->nr_maps; j++)
			if (is_cut_of(info.name, wanted->maps[j].name))
				return true;
	}
	return false;
}

static bool is_known(const struct inherited *inherited, uint32_t id)
{
	for (uint32_t i = 0; i < inherited->nr_links; i++)
		if (inherited->links[i].id == id)
			return true;
	return false;
}

/* A program of section tp_btf has a link of the second type, also where others have the first (6.1 to 7.2). */
static bool may_be_ours(const struct bpf_link_info *info)
{
	return info->type == BPF_LINK_TYPE_TRACING || info->type == BPF_LINK_TYPE_RAW_TRACEPOINT;
}

static void add_unpinned(struct inherited *inherited, uint32_t id,
			 const struct inherit_wanted *wanted)
{
	int fd cleanup_close = bpf_link_get_fd_by_id(id);
	struct bpf_link_info info = {0};
	struct program program;
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || !may_be_ours(&info) ||
	    read_program(info.prog_id, &program))
		return;
	for (uint32_t i = 0; i < wanted->nr_programs; i++) {
		const struct inherit_name *want = &wanted->programs[i];

		if (is_cut_of(program.name, want->name) && !inherited_link(inherited, want->pin) &&
		    inherited->nr_links < INHERIT_LINKS_MAX && uses_one_of(&program, wanted)) {
			add_link(inherited, want->pin, false, id, info.prog_id, TAKE_FD(fd),
				 &program);
			return;
		}
	}
}

static void find_unpinned(struct inherited *inherited, const struct inherit_wanted *wanted)
{
	uint32_t nr_missing = 0, id = 0;

	for (uint32_t i = 0; i < wanted->nr_programs; i++)
		nr_missing += !inherited_link(inherited, wanted->programs[i].pin);
	while (nr_missing && !bpf_link_get_next_id(id, &id))
		if (!is_known(inherited, id))
			add_unpinned(inherited, id, wanted);
}

/* --- all objects ----------------------------------------------------------------------------------- */

/* Mark the maps in force that are pinned under their own names. */
static void mark_pinned(struct inherited *inherited, const char *pin_dir,
			const struct inherit_wanted *wanted)
{
	for (uint32_t i = 0; i < wanted->nr_maps; i++) {
		int fd cleanup_close = -1;
		struct object object;

		if (pin_open(pin_dir, wanted->maps[i].pin, OBJECT_MAP, &fd) ||
		    object_of(fd, &object))
			continue;
		for (uint32_t j = 0; j < inherited->nr_maps; j++)
			if (inherited->maps[j].id == object.id &&
			    is_cut_of(inherited->maps[j].name, wanted->maps[i].name))
				inherited->maps[j].pinned = true;
	}
}

int inherit_find(const char *pin_dir, const struct inherit_wanted *wanted,
		 struct inherited **ret_inherited)
{
	struct inherited *inherited = calloc(1, sizeof(*inherited));

	if (!inherited)
		return -ENOMEM;
	find_pinned(inherited, pin_dir);
	find_unpinned(inherited, wanted);
	mark_pinned(inherited, pin_dir, wanted);
	*ret_inherited = inherited;
	return 0;
}

void inherited_free(struct inherited *inherited)
{
	if (!inherited)
		return;
	for (uint32_t i = 0; i < inherited->nr_links; i++)
		cleanup_close_fd(&inherited->links[i].fd);
	for (uint32_t i = 0; i < inherited->nr_maps; i++)
		cleanup_close_fd(&inherited->maps[i].fd);
	free(inherited);
}

const struct inherited_map *inherited_map(const struct inherited *inherited, const char *name)
{
	const struct inherited_map *best = NULL;

	for (uint32_t i = 0; i < inherited->nr_maps; i++) {
		const struct inherited_map *map = &inherited->maps[i];

		if (!is_cut_of(map->name, name))
			continue;
		if (!best || map->pinned > best->pinned ||
		    (map->pinned == best->pinned && map->nr_users > best->nr_users))
			best = map;
	}
	return best;
}

const struct inherited_link *inherited_link(const struct inherited *inherited, const char *pin)
{
	for (uint32_t i = 0; i < inherited->nr_links; i++)
		if (!strcmp(inherited->links[i].pin, pin))
			return &inherited->links[i];
	return NULL;
}

bool inherited_link_fits(const struct inherited *inherited, const struct inherited_link *link)
{
	for (uint32_t i = 0; i < link->nr_maps; i++)
		for (uint32_t j = 0; j < inherited->nr_maps; j++)
			if (inherited->maps[j].id == link->map_ids[i] &&
			    inherited_map(inherited, inherited->maps[j].name) !=
				    &inherited->maps[j])
				return false;
	return true;
}

int inherit_name_map(const char *name, struct inherit_name *ret_name)
{
	snprintf(ret_name->name, sizeof(ret_name->name), "%s", name);
	return pin_of_map(name, ret_name->pin);
}

int inherit_map_fd(const struct inherited *inherited, const char *pin_dir, const char *name,
		   int *ret_fd)
{
	const struct inherited_map *in_force = pin_dir ? inherited_map(inherited, name) : NULL;
	char pin[PIN_NAME_MAX];
	int fd cleanup_close = -1;
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);

	if (in_force) {
		fd = fcntl(in_force->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return -errno;
	} else {
		int r = pin_dir ? pin_of_map(name, pin) : -ENOENT;

		if (!r)
			r = pin_open(pin_dir, pin, OBJECT_MAP, &fd);
		if (r)
			return r == -EEXIST ? -ENOENT : r;
		if (bpf_obj_get_info_by_fd(fd, &info, &len))
			return -errno;
		if (!is_cut_of(info.name, name))
			return -ENOENT;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}
