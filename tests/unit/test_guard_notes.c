// SPDX-License-Identifier: Apache-2.0
/*
 * What the guard notes of writes (bpf/guard_notes.bpf.h), compiled for this machine: a full map lets
 * nothing through, and what has no room is counted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fake_bpf.h"

/* --- what the kernel gives to a program, as far as the header asks for it --------------------- */

#define FILE_NAME_LEN 24

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags);
static long bpf_map_delete_elem(void *map, const void *key);
static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags);
static void bpf_ringbuf_submit(void *data, uint64_t flags);
static uint64_t bpf_ktime_get_boot_ns(void);
static uint64_t bpf_get_current_pid_tgid(void);
static long bpf_get_current_comm(void *buf, uint32_t size);
static long bpf_probe_read_kernel(void *to, uint32_t size, const void *from);

#include "../../bpf/guard_notes.bpf.h"

#define ROOM 8

static struct {
	uint32_t nr;
	struct {
		struct written_file key;
		struct written_text value;
	} rows[ROOM];
} texts;
static __u64 counted[EVENTS_NR];
static bool is_busy; /* as if another program on this CPU had the bucket's lock */

static uint32_t find(const void *map, const void *key)
{
	uint32_t i = 0;

	assert_ptr_equal(map, &pid1_writes);
	while (i < texts.nr && memcmp(&texts.rows[i].key, key, sizeof(texts.rows[i].key)))
		i++;
	return i;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	uint32_t i;

	if (map == &event_counters)
		return &counted[*(const __u32 *)key];
	i = find(map, key);
	return i < texts.nr ? &texts.rows[i].value : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
	const uint32_t i = find(map, key);

	if (is_busy)
		return -EBUSY;
	if (i == ROOM)
		return -E2BIG;
	memcpy(&texts.rows[i].key, key, sizeof(texts.rows[i].key));
	memcpy(&texts.rows[i].value, value, sizeof(texts.rows[i].value));
	texts.nr += i == texts.nr;
	return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	const uint32_t i = find(map, key);

	if (i == texts.nr)
		return -ENOENT;
	texts.rows[i] = texts.rows[--texts.nr];
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

static long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	return -EFAULT;
}

/* --- the tests ------------------------------------------------------------------------------- */

static struct written_file file_of(__u64 cgroup)
{
	return (struct written_file){.cgroup = cgroup, .name = "cpuset.cpus"};
}

static void write_text(__u64 cgroup, char character)
{
	const struct written_file file = file_of(cgroup);
	struct written_text text = {0};

	memset(&text, character, 4);
	note_written(&file, &text);
}

static bool has_text(__u64 cgroup, char character)
{
	const struct written_file file = file_of(cgroup);
	const char *text = bpf_map_lookup_elem(&pid1_writes, &file);

	return text && *text == character;
}

static void forget(__u64 cgroup)
{
	const struct written_file file = file_of(cgroup);

	assert_int_equal(bpf_map_delete_elem(&pid1_writes, &file), 0);
}

static int set_up(void **state)
{
	texts.nr = 0;
	is_busy = false;
	memset(counted, 0, sizeof(counted));
	return 0;
}

static void a_text_without_room_is_counted(void **state)
{
	for (__u64 cgroup = 1; cgroup <= ROOM + 2; cgroup++)
		write_text(cgroup, 'a');
	assert_int_equal(counted[EVENTS_NO_TEXT], 2);
	assert_true(has_text(1, 'a') && has_text(ROOM, 'a'));
	assert_false(has_text(ROOM + 1, 'a'));
	/* what is there can be replaced */
	write_text(1, 'b');
	assert_true(has_text(1, 'b'));
	assert_int_equal(counted[EVENTS_NO_TEXT], 2);
	forget(3);
	write_text(ROOM + 1, 'c');
	assert_true(has_text(ROOM + 1, 'c'));
}

/* Process 1 may then not write the text that was there before. */
static void a_text_that_could_not_be_replaced_is_gone(void **state)
{
	write_text(1, 'a');
	is_busy = true;
	write_text(1, 'b');
	assert_false(has_text(1, 'a'));
	assert_int_equal(counted[EVENTS_NO_TEXT], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_text_without_room_is_counted, set_up),
		cmocka_unit_test_setup(a_text_that_could_not_be_replaced_is_gone, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
