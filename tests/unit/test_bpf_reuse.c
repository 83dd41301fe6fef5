// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* What a map of another size gets of its predecessor's content. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/reuse.h"

enum { NEW_FD = 1000, ENTRIES = 3 };

static enum bpf_map_type type, earlier_type;
static bool is_restless; /* somebody deletes each key that is asked about */
static uint32_t nr_copied;

int inherit_map_fd(const struct inherited *inherited, const char *pin_dir, const char *name,
		   int *ret_fd)
{
	*ret_fd = memfd_create(name, MFD_CLOEXEC);
	return 0;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	*(struct bpf_map_info *)info = (struct bpf_map_info){
		.id = fd == NEW_FD ? 2 : 1,
		.type = fd == NEW_FD ? type : earlier_type,
		.key_size = sizeof(__u64),
		.value_size = sizeof(__u64),
		.max_entries = fd == NEW_FD ? 2 * ENTRIES : ENTRIES,
	};
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	__u64 next = key && !is_restless ? *(const __u64 *)key + 1 : 0;

	if (next == ENTRIES) {
		errno = ENOENT;
		return -1;
	}
	memcpy(next_key, &next, sizeof(next));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	memcpy(value, key, sizeof(__u64));
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	assert_int_equal(fd, NEW_FD);
	nr_copied++;
	return 0;
}

static uint32_t copy_to(enum bpf_map_type before, enum bpf_map_type now)
{
	const struct inherited inherited = {0};

	earlier_type = before;
	type = now;
	nr_copied = 0;
	assert_int_equal(reuse_content("/pins", &inherited, "map", NEW_FD), 0);
	return nr_copied;
}

static uint32_t copy(enum bpf_map_type map_type)
{
	return copy_to(map_type, map_type);
}

static void a_hash_keeps_its_content(void **state)
{
	is_restless = false;
	assert_int_equal(copy(BPF_MAP_TYPE_HASH), ENTRIES);
	assert_int_equal(copy(BPF_MAP_TYPE_LRU_HASH), ENTRIES);
}

/* As event_budgets and what the guard notes of writes have become. */
static void a_hash_may_become_one_that_forgets_nothing(void **state)
{
	is_restless = false;
	assert_int_equal(copy_to(BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_HASH), ENTRIES);
	assert_int_equal(copy_to(BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH), ENTRIES);
	assert_int_equal(copy_to(BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH), 0);
	assert_int_equal(copy_to(BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY), 0);
}

static void others_begin_empty(void **state)
{
	assert_int_equal(copy(BPF_MAP_TYPE_RINGBUF), 0);
	assert_int_equal(copy(BPF_MAP_TYPE_TASK_STORAGE), 0);
}

/* The kernel begins again where the key is gone. */
static void changes_meanwhile_do_not_keep_it_busy(void **state)
{
	is_restless = true;
	assert_in_range(copy(BPF_MAP_TYPE_LRU_HASH), 0, ENTRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hash_keeps_its_content),
		cmocka_unit_test(a_hash_may_become_one_that_forgets_nothing),
		cmocka_unit_test(others_begin_empty),
		cmocka_unit_test(changes_meanwhile_do_not_keep_it_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
