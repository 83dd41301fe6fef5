// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* How many entries a hash map has, by a map that answers as the kernel's do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "lib/bpf_fd.h"
#include "lib/cleanup.h"

#define BUCKETS 4096
#define ENTRIES 4096
/* What counting may hold of a map at a time. */
#define ROOM_BYTES (64U << 10)

static struct {
	struct bpf_map_info info;
	uint32_t in_bucket[BUCKETS];
	int refusal;	     /* of batches; 0 = they are known */
	uint32_t refused_at; /* from which bucket on */
	uint32_t nr_growing; /* entries that each call adds to the last bucket */
	uint32_t nr_batches, nr_steps;
} map;

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	memcpy(info, &map.info, sizeof(map.info));
	return 0;
}

static uint32_t nr_entries(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BUCKETS; i++)
		nr += map.in_bucket[i];
	return nr;
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	uint32_t next = 0;

	map.nr_steps++;
	if (key)
		memcpy(&next, key, sizeof(next));
	if (next++ == nr_entries()) {
		errno = ENOENT;
		return -ENOENT;
	}
	memset(next_key, 0, map.info.key_size);
	memcpy(next_key, &next, sizeof(next));
	return 0;
}

static int answer(int error)
{
	errno = error;
	return -error;
}

/* As __htab_map_lookup_and_delete_batch(): whole buckets, and the next one's number. */
int bpf_map_lookup_batch(int fd, void *in_batch, void *out_batch, void *keys, void *values,
			 __u32 *count, const struct bpf_map_batch_opts *opts)
{
	const uint32_t room = *count;
	uint32_t bucket = 0, total = 0;
	int error = 0;

	map.nr_batches++;
	map.in_bucket[BUCKETS - 1] += map.nr_growing;
	if (in_batch)
		memcpy(&bucket, in_batch, sizeof(bucket));
	if (map.refusal && bucket >= map.refused_at)
		return answer(map.refusal);
	assert_true((uint64_t)room * (map.info.key_size + map.info.value_size) <= ROOM_BYTES);
	while (!error && bucket < BUCKETS && map.in_bucket[bucket] <= room - total) {
		const uint32_t nr = map.in_bucket[bucket++];

		memset((char *)keys + (size_t)total * map.info.key_size, 1,
		       (size_t)nr * map.info.key_size);
		memset((char *)values + (size_t)total * map.info.value_size, 1,
		       (size_t)nr * map.info.value_size);
		total += nr;
	}
	if (bucket == BUCKETS)
		error = ENOENT;
	else if (!total)
		error = ENOSPC;
	memcpy(out_batch, &bucket, sizeof(bucket));
	*count = total;
	return error ? answer(error) : 0;
}

static int64_t count(void)
{
	struct bpf_fd_map found = {.nr_used = -2};

	map.nr_batches = map.nr_steps = 0;
	assert_int_equal(bpf_fd_read_map(-1, &found), 0);
	return found.nr_used;
}

static int set_up(void **state)
{
	memset(&map, 0, sizeof(map));
	map.info = (struct bpf_map_info){
		.type = BPF_MAP_TYPE_HASH,
		.key_size = 16,
		.value_size = 64,
		.max_entries = ENTRIES,
	};
	return 0;
}

/* `nr` entries, three in a bucket. */
static void fill(uint32_t nr)
{
	for (uint32_t i = 0; nr; i++) {
		map.in_bucket[i] = nr < 3 ? nr : 3;
		nr -= map.in_bucket[i];
	}
}

static void entries_are_counted_with_few_calls(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 1000, ENTRIES - 1, ENTRIES};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		set_up(state);
		fill(sizes[i]);
		assert_int_equal(count(), sizes[i]);
		assert_in_range(map.nr_batches + map.nr_steps, 1, 16);
		map.info.type = BPF_MAP_TYPE_LRU_HASH;
		assert_int_equal(count(), sizes[i]);
		assert_in_range(map.nr_batches + map.nr_steps, 1, 16);
	}
}

/* Their values have as many parts as the machine may have CPUs. */
static void a_hash_of_each_cpu_is_walked(void **state)
{
	fill(1000);
	map.info.type = BPF_MAP_TYPE_PERCPU_HASH;
	assert_int_equal(count(), 1000);
	map.info.type = BPF_MAP_TYPE_LRU_PERCPU_HASH;
	assert_int_equal(count(), 1000);
	assert_int_equal(map.nr_batches, 0);
}

static void what_is_no_hash_is_not_counted(void **state)
{
	static const uint32_t types[] = {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_RINGBUF,
					 BPF_MAP_TYPE_TASK_STORAGE};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		map.info.type = types[i];
		assert_int_equal(count(), -1);
		assert_int_equal(map.nr_batches + map.nr_steps, 0);
	}
}

/* Also one that refuses in the middle: nothing is counted twice. */
static void a_kernel_without_batches_is_asked_for_each_key(void **state)
{
	static const int refusals[] = {EINVAL, EOPNOTSUPP, 524, ENOMEM, EBUSY};

	fill(3000);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		map.refusal = refusals[i];
		map.refused_at = i & 1 ? 500 : 0;
		assert_int_equal(count(), 3000);
		assert_in_range(map.nr_steps, 3000, 3001);
	}
}

/* As a batch is copied with all its values. */
static void what_has_no_room_in_a_batch_is_walked(void **state)
{
	static const uint32_t sizes[] = {20000, 200000, 2 << 20, UINT32_MAX};

	fill(1000);
	map.in_bucket[1000] = 2000;
	assert_int_equal(count(), 3000);
	assert_in_range(map.nr_steps, 3000, 3001);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		map.info.value_size = sizes[i];
		assert_int_equal(count(), 3000);
		assert_int_equal(map.nr_batches, 0);
	}
}

/* More may be found than it ever had at once: what is deleted makes room behind. */
static void a_map_that_changes_has_at_most_its_entries(void **state)
{
	fill(ENTRIES);
	map.nr_growing = 10;
	assert_int_equal(count(), ENTRIES);
	assert_int_equal(map.nr_steps, 0);
	map.refusal = EINVAL;
	assert_int_equal(count(), ENTRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(entries_are_counted_with_few_calls, set_up),
		cmocka_unit_test_setup(a_hash_of_each_cpu_is_walked, set_up),
		cmocka_unit_test_setup(what_is_no_hash_is_not_counted, set_up),
		cmocka_unit_test_setup(a_kernel_without_batches_is_asked_for_each_key, set_up),
		cmocka_unit_test_setup(what_has_no_room_in_a_batch_is_walked, set_up),
		cmocka_unit_test_setup(a_map_that_changes_has_at_most_its_entries, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
