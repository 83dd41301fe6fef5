// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/reuse.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

static bool is_equal(const struct bpf_map_info *a, const struct bpf_map_info *b)
{
	return a->type == b->type && a->key_size == b->key_size && a->value_size == b->value_size &&
	       a->max_entries == b->max_entries && a->map_flags == b->map_flags;
}

static struct bpf_map_info describe(const struct bpf_map *map)
{
	return (struct bpf_map_info){
		.type = bpf_map__type(map),
		.key_size = bpf_map__key_size(map),
		.value_size = bpf_map__value_size(map),
		.max_entries = bpf_map__max_entries(map),
		.map_flags = bpf_map__map_flags(map),
	};
}

/*
 * Another process froze the map (BPF_MAP_FREEZE): the kernel refuses writes, and this cannot
 * be undone.
 */
static void say_frozen(const char *map, struct pins_report *report)
{
	char pin[PIN_NAME_MAX];

	if (!pin_of_map(map, pin))
		pins_report_wrong(report, pin, "frozen");
}

/* The map in force that is as `wanted`, and may be written; -1 in ret_fd: there is none. */
static int find_equal(const struct bpf_map_info *wanted, const char *name, const char *pin_dir,
		      const struct inherited *inherited, struct pins_report *report, int *ret_fd)
{
	int fd cleanup_close = -1;
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	int r = inherit_map_fd(inherited, pin_dir, name, &fd);

	*ret_fd = -1;
	if (r)
		return r == -ENOENT ? 0 : r;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (!is_equal(wanted, &info))
		return 0;
	if (fdinfo_is(fd, "frozen", "1")) {
		say_frozen(name, report);
		return 0;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int reuse_maps(struct bpf_object *object, const char *pin_dir, const struct inherited *inherited,
	       struct pins_report *report)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		const struct bpf_map_info wanted = describe(map);
		int fd cleanup_close = -1;
		int r;

		if (bpf_map__is_internal(map))
			continue;
		r = find_equal(&wanted, bpf_map__name(map), pin_dir, inherited, report, &fd);
		if (!r && fd >= 0)
			r = bpf_map__reuse_fd(map, fd);
		if (r)
			return r;
	}
	return 0;
}

int reuse_memory(const struct bpf_object_memory *memory, const char *pin_dir,
		 const struct inherited *inherited, struct pins_report *report)
{
	const struct bpf_map_info wanted = {
		.type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = memory->bytes,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = wanted.map_flags);
	int fd cleanup_close = -1;
	int r;

	if (memory->bytes > bpf_map__value_size(memory->map))
		return -E2BIG;
	r = find_equal(&wanted, memory->name, pin_dir, inherited, report, &fd);
	if (r)
		return r;
	if (fd < 0)
		fd = bpf_map_create(wanted.type, memory->name, wanted.key_size, wanted.value_size,
				    wanted.max_entries, &options);
	/* libbpf writes a section's first content only into a map that it made itself */
	return fd < 0 ? -errno : bpf_map__reuse_fd(memory->map, fd);
}

static void copy_entries(int old_fd, int new_fd, const struct bpf_map_info *info)
{
	char key[128], next[128], value[256];
	__u32 i = 0;

	if (info->key_size > sizeof(key) || info->value_size > sizeof(value))
		return;
	/* somebody may delete a key meanwhile, with which the kernel begins again */
	while (i < info->max_entries && !bpf_map_get_next_key(old_fd, i++ ? key : NULL, next)) {
		memcpy(key, next, info->key_size);
		if (!bpf_map_lookup_elem(old_fd, key, value))
			bpf_map_update_elem(new_fd, key, value, BPF_ANY);
	}
}

static bool is_hash(__u32 type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH;
}

/* A hash that forgets what was not used for long has become one that does not, or the other way round. */
static bool is_copied(__u32 before, __u32 now)
{
	return (is_hash(before) && is_hash(now)) ||
	       (before == BPF_MAP_TYPE_ARRAY && now == BPF_MAP_TYPE_ARRAY);
}

int reuse_content(const char *pin_dir, const struct inherited *inherited, const char *name, int fd)
{
	struct bpf_map_info before = {0}, now = {0};
	__u32 before_len = sizeof(before), now_len = sizeof(now);
	int before_fd cleanup_close = -1;
	int r = inherit_map_fd(inherited, pin_dir, name, &before_fd);

	if (r)
		return r == -ENOENT ? 0 : r;
	if (bpf_obj_get_info_by_fd(before_fd, &before, &before_len) ||
	    bpf_obj_get_info_by_fd(fd, &now, &now_len))
		return -errno;
	if (before.id != now.id && before.key_size == now.key_size &&
	    before.value_size == now.value_size && is_copied(before.type, now.type))
		copy_entries(before_fd, fd, &before);
	return 0;
}
