// SPDX-License-Identifier: Apache-2.0
/*
 * What the watch does without memory to follow an operation (bpf/watch_subject.bpf.h), compiled for
 * this machine.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fake_bpf.h"

/* --- what the kernel gives to a program, as far as the header asks for it --------------------- */

struct task_struct {
	int unused;
};

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags);
static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags);
static void bpf_ringbuf_submit(void *data, uint64_t flags);
static uint64_t bpf_ktime_get_boot_ns(void);
static uint64_t bpf_get_current_pid_tgid(void);
static long bpf_get_current_comm(void *buf, uint32_t size);
static struct task_struct *bpf_get_current_task_btf(void);
static void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, uint64_t flags);

#include "../../bpf/watch_subject.bpf.h"

static struct event_subject storage;
static __u64 counted[EVENTS_NR];
static bool has_no_memory;

static void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, uint64_t flags)
{
	assert_ptr_equal(map, &subjects);
	assert_int_equal(flags, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return has_no_memory ? NULL : &storage;
}

static struct task_struct *bpf_get_current_task_btf(void)
{
	return NULL;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return map == &event_counters ? &counted[*(const __u32 *)key] : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
	return 0;
}

static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	return NULL;
}

static void bpf_ringbuf_submit(void *data, uint64_t flags)
{
}

static uint64_t bpf_ktime_get_boot_ns(void)
{
	return 0;
}

static uint64_t bpf_get_current_pid_tgid(void)
{
	return 0;
}

static long bpf_get_current_comm(void *buf, uint32_t size)
{
	return 0;
}

static void what_cannot_be_followed_is_counted(void **state)
{
	assert_ptr_equal(make_subject(), &storage);
	assert_int_equal(counted[EVENTS_NO_SUBJECT], 0);
	has_no_memory = true;
	assert_null(make_subject());
	assert_null(make_subject());
	assert_int_equal(counted[EVENTS_NO_SUBJECT], 2);
	assert_int_equal(counted[EVENTS_LOST], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_followed_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
