// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Which budgets the agent frees, and what it reports of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/events.h"
#include "lib/clock.h"

#define SECOND_NS 1000000000ULL

enum { BUDGETS_FD = 7, NR_BUDGETS = 200 };

static struct {
	bool is_there;
	struct event_budget budget;
} entries[NR_BUDGETS + 1]; /* by cgroup id; 0 is nobody's */

static struct {
	uint32_t nr, sum;
	uint64_t culprit_id;
} told;

struct ring_buffer *ring_buffer__new(int map_fd, ring_buffer_sample_fn sample_cb, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	return (struct ring_buffer *)entries;
}

void ring_buffer__free(struct ring_buffer *rb)
{
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	for (__u64 id = key ? *(const __u64 *)key + 1 : 1; id <= NR_BUDGETS; id++) {
		if (!entries[id].is_there)
			continue;
		memcpy(next_key, &id, sizeof(id));
		return 0;
	}
	errno = ENOENT;
	return -1;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const __u64 id = *(const __u64 *)key;

	assert_int_equal(fd, BUDGETS_FD);
	assert_true(entries[id].is_there);
	memcpy(value, &entries[id].budget, sizeof(entries[id].budget));
	return 0;
}

int bpf_map_lookup_and_delete_elem(int fd, const void *key, void *value)
{
	const int r = bpf_map_lookup_elem(fd, key, value);

	entries[*(const __u64 *)key].is_there = false;
	return r;
}

static void hear(void *self, const struct event_record *event)
{
	assert_int_equal(event->kind, EVENT_SUPPRESSED);
	told.nr++;
	told.sum += event->nr_suppressed;
	told.culprit_id = event->culprit_id;
}

static void enter(uint32_t id, uint64_t window_ns, uint32_t suppressed)
{
	entries[id].is_there = true;
	entries[id].budget = (struct event_budget){
		.window_ns = window_ns, .passed = 1, .suppressed = suppressed};
}

static void sweep(void)
{
	const struct event_setup setup = {.budgets_fd = BUDGETS_FD, .sink = {.event = hear}};
	struct event_reader *reader = NULL;

	memset(&told, 0, sizeof(told));
	assert_int_equal(events_open(&setup, &reader), 0);
	events_sweep(reader);
	events_close(reader);
}

static int set_up(void **state)
{
	memset(entries, 0, sizeof(entries));
	return 0;
}

/* So that budgets of cgroups that are gone do not leave others without one. */
static void what_nobody_used_this_second_is_freed(void **state)
{
	enter(3, clock_read_ns(CLOCK_BOOTTIME) - 2 * SECOND_NS, 0);
	enter(5, clock_read_ns(CLOCK_BOOTTIME) - 2 * SECOND_NS, 0);
	sweep();
	assert_int_equal(told.nr, 0);
	assert_false(entries[3].is_there);
	assert_false(entries[5].is_there);
}

static void what_was_suppressed_is_reported_then(void **state)
{
	enter(4, clock_read_ns(CLOCK_BOOTTIME) - 2 * SECOND_NS, 12);
	sweep();
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.sum, 12);
	assert_int_equal(told.culprit_id, 4);
	assert_false(entries[4].is_there);
}

/* Of one whose second has begun since the agent read the clock, too. */
static void a_budget_in_use_stays(void **state)
{
	enter(3, clock_read_ns(CLOCK_BOOTTIME), 12);
	enter(4, clock_read_ns(CLOCK_BOOTTIME) + SECOND_NS / 2, 12);
	sweep();
	assert_int_equal(told.nr, 0);
	assert_true(entries[3].is_there);
	assert_true(entries[4].is_there);
}

/* A sweep reports only so many, and the next ones the rest. */
static void many_are_reported_by_and_by(void **state)
{
	uint32_t sum = 0;

	for (uint32_t id = 1; id <= NR_BUDGETS; id++)
		enter(id, clock_read_ns(CLOCK_BOOTTIME) - 2 * SECOND_NS, 1);
	sweep();
	assert_in_range(told.sum, 1, NR_BUDGETS - 1);
	for (int i = 0; i < 10; i++) {
		sum += told.sum;
		sweep();
	}
	assert_int_equal(sum, NR_BUDGETS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_nobody_used_this_second_is_freed, set_up),
		cmocka_unit_test_setup(what_was_suppressed_is_reported_then, set_up),
		cmocka_unit_test_setup(a_budget_in_use_stays, set_up),
		cmocka_unit_test_setup(many_are_reported_by_and_by, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
