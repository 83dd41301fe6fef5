// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/reuse.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

static bool is_compatible(const struct bpf_map *map, const struct bpf_map_info *info)
{
	return info->type == bpf_map__type(map) && info->key_size == bpf_map__key_size(map) &&
	       info->value_size == bpf_map__value_size(map) &&
	       info->max_entries == bpf_map__max_entries(map) &&
	       info->map_flags == bpf_map__map_flags(map);
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

int reuse_maps(struct bpf_object *object, const char *pin_dir, const struct inherited *inherited,
	       struct pins_report *report)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		int fd cleanup_close = -1;
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);
		int r;

		if (bpf_map__is_internal(map))
			continue;
		r = inherit_map_fd(inherited, pin_dir, bpf_map__name(map), &fd);
		if (r == -ENOENT)
			continue;
		if (r)
			return r;
		if (bpf_obj_get_info_by_fd(fd, &info, &len))
			return -errno;
		if (!is_compatible(map, &info))
			continue;
		if (fdinfo_is(fd, "frozen", "1")) {
			say_frozen(bpf_map__name(map), report);
			continue;
		}
		r = bpf_map__reuse_fd(map, fd);
		if (r)
			return r;
	}
	return 0;
}

static void copy_entries(int old_fd, int new_fd, const struct bpf_map_info *info)
{
	char key[128], next[128], value[256];
	bool first = true;

	if (info->key_size > sizeof(key) || info->value_size > sizeof(value))
		return;
	while (!bpf_map_get_next_key(old_fd, first ? NULL : key, next)) {
		memcpy(key, next, info->key_size);
		first = false;
		if (!bpf_map_lookup_elem(old_fd, key, value))
			bpf_map_update_elem(new_fd, key, value, BPF_ANY);
	}
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
	if (before.id != now.id && before.type == now.type && before.key_size == now.key_size &&
	    before.value_size == now.value_size &&
	    (now.type == BPF_MAP_TYPE_HASH || now.type == BPF_MAP_TYPE_ARRAY))
		copy_entries(before_fd, fd, &now);
	return 0;
}
