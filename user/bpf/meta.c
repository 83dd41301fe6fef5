// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/meta.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

#define META_NAME "pinfold_meta"

static bool is_meta(int fd)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, META_NAME) &&
	       info.type == BPF_MAP_TYPE_ARRAY && info.key_size == sizeof(__u32) &&
	       info.value_size == sizeof(struct bpf_object_meta) &&
	       info.max_entries == BPF_OBJECT_NR;
}

/*
 * No program uses the map, so if its pin was moved, only its name leads to it. Fails if
 * several maps have that name.
 */
static int find_meta(int *ret_fd)
{
	int found cleanup_close = -1;
	__u32 id = 0;

	while (!bpf_map_get_next_id(id, &id)) {
		int fd cleanup_close = bpf_map_get_fd_by_id(id);

		if (fd < 0 || !is_meta(fd))
			continue;
		if (found >= 0)
			return -ENOENT;
		found = TAKE_FD(fd);
	}
	if (found < 0)
		return -ENOENT;
	*ret_fd = TAKE_FD(found);
	return 0;
}

static int make_meta(int *ret_fd)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, META_NAME, sizeof(__u32),
				sizeof(struct bpf_object_meta), BPF_OBJECT_NR, NULL);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Create a writable map with the same content. */
static int replace_frozen(const char *pin_dir, int frozen_fd, int *ret_fd)
{
	int fd cleanup_close = -1;
	int r = make_meta(&fd);

	for (enum bpf_object_id id = 0; !r && id < BPF_OBJECT_NR; id++) {
		struct bpf_object_meta meta;

		r = meta_read(frozen_fd, id, &meta);
		if (!r && bpf_map_update_elem(fd, &(__u32){id}, &meta, BPF_ANY))
			r = -errno;
	}
	if (!r)
		r = pin_put(pin_dir, PIN_META, fd);
	if (r)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int meta_open(const char *pin_dir, const struct inherited *inherited, struct pins_report *report,
	      int *ret_fd)
{
	int fd cleanup_close = -1;
	int r = pin_open(pin_dir, PIN_META, OBJECT_MAP, &fd);

	if (!r && is_meta(fd) && fdinfo_is(fd, "frozen", "1")) {
		pins_report_wrong(report, PIN_META, "frozen");
		return replace_frozen(pin_dir, fd, ret_fd);
	}
	if (!r && is_meta(fd)) {
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (r && r != -ENOENT && r != -EEXIST)
		return r;
	cleanup_close_fd(&fd);
	fd = -1;
	if (inherited->nr_links)
		pins_report_wrong(report, PIN_META, r == -ENOENT ? "lost" : "replaced");
	r = inherited->nr_links ? find_meta(&fd) : -ENOENT;
	if (r)
		r = make_meta(&fd);
	if (!r)
		r = pin_put(pin_dir, PIN_META, fd);
	if (r)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int meta_read(int meta_fd, enum bpf_object_id id, struct bpf_object_meta *ret_meta)
{
	__u32 key = id;

	return bpf_map_lookup_elem(meta_fd, &key, ret_meta) ? -errno : 0;
}

int meta_write(int meta_fd, enum bpf_object_id id, enum mechanism mechanism, uint64_t digest)
{
	const struct bpf_object_meta meta = {
		.abi_version = ABI_VERSION,
		.mechanism = (__u16)mechanism,
		.abi_oldest = ABI_OLDEST,
		.digest = digest,
	};
	__u32 key = id;

	if (meta_fd < 0)
		return 0;
	return bpf_map_update_elem(meta_fd, &key, &meta, BPF_ANY) ? -errno : 0;
}

bool meta_is_compatible(const struct bpf_object_meta *meta)
{
	if (meta->abi_version <= ABI_VERSION)
		return true;
	return meta->abi_oldest && meta->abi_oldest <= ABI_VERSION;
}

int meta_check_version(int meta_fd)
{
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		struct bpf_object_meta meta;
		int r = meta_read(meta_fd, id, &meta);

		if (r)
			return r;
		if (!meta_is_compatible(&meta))
			return -ESTALE;
	}
	return 0;
}

int meta_open_pinned(const char *pin_dir, int *ret_fd)
{
	int fd cleanup_close = -1;
	int r = pin_open(pin_dir, PIN_META, OBJECT_MAP, &fd);

	if (r == -EEXIST || (!r && !is_meta(fd)))
		return -ENOENT;
	if (r)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int meta_check_pinned(const char *pin_dir)
{
	int fd cleanup_close = -1;
	int r = meta_open_pinned(pin_dir, &fd);

	if (r)
		return r == -ENOENT ? 0 : r;
	return meta_check_version(fd);
}

int meta_clear(int meta_fd, enum bpf_object_id id)
{
	const struct bpf_object_meta none = {0};
	__u32 key = id;

	return bpf_map_update_elem(meta_fd, &key, &none, BPF_ANY) ? -errno : 0;
}
