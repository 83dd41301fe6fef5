// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/bpf_fd.h"
#include "lib/fdinfo.h"
#include "lib/file.h"

bool bpf_fd_is_timed(void)
{
	int fd cleanup_close = open("/proc/sys/kernel/bpf_stats_enabled", O_RDONLY | O_CLOEXEC);
	char digit;

	return fd >= 0 && read(fd, &digit, 1) == 1 && digit == '1';
}

int bpf_fd_time_programs(void)
{
	const int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

/*
 * Before Linux 6.4 the kernel computed the memory of every map from the size and the number of its
 * entries, and got 0 for a ring buffer and for the storage of tasks, which do not say them.
 */
static int64_t memory_of(int fd)
{
	uint64_t bytes;

	return fdinfo_number(fd, "memlock", &bytes) || !bytes ? -1 : (int64_t)bytes;
}

int bpf_fd_read_prog(int fd, bool is_timed, struct bpf_fd_prog *ret_prog)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	struct timespec now;
	bool is_known;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	is_known = is_timed || info.run_cnt;
	clock_gettime(CLOCK_BOOTTIME, &now);
	*ret_prog = (struct bpf_fd_prog){
		.id = info.id,
		.age_ns = now.tv_sec * 1000000000LL + now.tv_nsec - (int64_t)info.load_time,
		.run_ns = is_known ? (int64_t)info.run_time_ns : -1,
		.nr_runs = is_known ? (int64_t)info.run_cnt : -1,
		.recursion_misses = info.recursion_misses,
		.memory_bytes = memory_of(fd),
	};
	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(ret_prog->tag + 2 * i, 3, "%02x", info.tag[i]);
	return 0;
}

int bpf_fd_maps_of(int prog_fd, uint32_t *ret_ids, uint32_t max, uint32_t *ret_nr)
{
	struct bpf_prog_info info = {.nr_map_ids = max, .map_ids = (uintptr_t)ret_ids};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	*ret_nr = info.nr_map_ids < max ? info.nr_map_ids : max;
	return 0;
}

/* If an entry goes away during the walk, the kernel begins again, so the walk needs a limit. */
static int64_t walk_entries(int fd, const struct bpf_map_info *info)
{
	char *keys cleanup_free = calloc(2, info->key_size);
	char *key = NULL;
	uint32_t nr = 0;

	if (!keys)
		return -1;
	while (nr < info->max_entries &&
	       !bpf_map_get_next_key(fd, key, keys + (nr & 1) * info->key_size)) {
		key = keys + (nr & 1) * info->key_size;
		nr++;
	}
	return nr;
}

/* What a batch takes of memory, and how many entries it should have to be quicker than a walk. */
#define BATCH_BYTES (64U << 10)
#define BATCH_MIN   64U

/*
 * The kernel copies whole buckets, with the values, which nobody needs here. It reads each bucket once, so
 * this ends however the map changes; but an entry that goes away behind makes room for another one ahead,
 * so more may be found than there ever were at a time. -1: the values are large, the kernel gives no batches
 * of this map, or a bucket has more entries than a batch (ENOSPC). That never happens in practice: a map has
 * at least as many buckets as entries.
 */
static int64_t count_in_batches(int fd, const struct bpf_map_info *info)
{
	const size_t nr_room = BATCH_BYTES / ((size_t)info->key_size + info->value_size);
	char *keys cleanup_free = malloc(BATCH_BYTES);
	uint32_t next, *from = NULL; /* buckets, in four bytes, whatever the size of a key */
	uint64_t nr_found = 0;
	bool has_more = true;

	if (nr_room < BATCH_MIN || !keys)
		return -1;
	while (has_more) {
		__u32 nr = (__u32)nr_room;

		has_more = !bpf_map_lookup_batch(fd, from, &next, keys,
						 keys + nr_room * info->key_size, &nr, NULL);
		/* The last batch has entries, too. */
		if (!has_more && errno != ENOENT)
			return -1;
		nr_found += nr;
		from = &next;
	}
	return nr_found < info->max_entries ? (int64_t)nr_found : (int64_t)info->max_entries;
}

static int64_t count_entries(int fd, const struct bpf_map_info *info)
{
	int64_t nr;

	switch (info->type) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		nr = count_in_batches(fd, info);
		return nr < 0 ? walk_entries(fd, info) : nr;
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		/* In a batch, each value would have a part for every CPU that the machine may have. */
		return walk_entries(fd, info);
	default:
		return -1;
	}
}

int bpf_fd_read_map(int fd, struct bpf_fd_map *ret_map)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*ret_map = (struct bpf_fd_map){
		.id = info.id,
		.type = libbpf_bpf_map_type_str((enum bpf_map_type)info.type),
		.max_entries = info.max_entries,
		.nr_used = count_entries(fd, &info),
		.memory_bytes = memory_of(fd),
	};
	snprintf(ret_map->name, sizeof(ret_map->name), "%s", info.name);
	return 0;
}
