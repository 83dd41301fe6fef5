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

static bool is_hash(uint32_t type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* If an entry goes away during the walk, the kernel begins again, so the walk needs a limit. */
static int64_t count_entries(int fd, const struct bpf_map_info *info)
{
	char *keys cleanup_free = calloc(2, info->key_size);
	char *key = NULL;
	uint32_t nr = 0;

	if (!is_hash(info->type) || !keys)
		return -1;
	while (nr < info->max_entries &&
	       !bpf_map_get_next_key(fd, key, keys + (nr & 1) * info->key_size)) {
		key = keys + (nr & 1) * info->key_size;
		nr++;
	}
	return nr;
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
