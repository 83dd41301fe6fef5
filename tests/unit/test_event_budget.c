// SPDX-License-Identifier: Apache-2.0
/*
 * The budget of events as the BPF programs keep it (bpf/event.bpf.h), compiled for this
 * machine and run by two threads at once: every event is told or counted, and no number
 * of refused events is told twice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fake_bpf.h"

/* --- what the kernel gives to a program, as far as the header asks for it --------------------- */

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags);
static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags);
static void bpf_ringbuf_submit(void *data, uint64_t flags);
static uint64_t bpf_ktime_get_boot_ns(void);
static uint64_t bpf_get_current_pid_tgid(void);
static long bpf_get_current_comm(void *buf, uint32_t size);

#include "../../bpf/event.bpf.h"

#define THREADS 2
#define CALLS	4000000
/* so that about half of all events are over the budget of their second */
#define STEP_NS (NS_PER_S / (2 * EVENT_BUDGET_PER_S))

static struct event_budget budget, together;
static bool has_budget, is_full, has_no_room, is_late;
static uint64_t clock_ns;

static __thread struct event slot;
static __thread __u64 counted[EVENTS_NR];

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &event_budgets)
		return __atomic_load_n(&has_budget, __ATOMIC_ACQUIRE) ? &budget : NULL;
	if (map == &shared_budget)
		return &together;
	return map == &event_counters ? &counted[*(const __u32 *)key] : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
	assert_int_equal(flags, BPF_NOEXIST);
	if (has_no_room)
		return -E2BIG;
	if (is_late) {
		has_budget = true;
		return -EEXIST;
	}
	budget = *(const struct event_budget *)value;
	__atomic_store_n(&has_budget, true, __ATOMIC_RELEASE);
	return 0;
}

static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	return is_full ? NULL : &slot;
}

static void bpf_ringbuf_submit(void *data, uint64_t flags)
{
}

static uint64_t bpf_ktime_get_boot_ns(void)
{
	return __atomic_add_fetch(&clock_ns, STEP_NS, __ATOMIC_RELAXED);
}

static uint64_t bpf_get_current_pid_tgid(void)
{
	return 0;
}

static long bpf_get_current_comm(void *buf, uint32_t size)
{
	return 0;
}

/* --- the test --------------------------------------------------------------------------------- */

struct tally {
	uint64_t sent, refused, told;
};

static void *report_in_a_loop(void *arg)
{
	struct tally *tally = arg;

	for (int i = 0; i < CALLS; i++) {
		struct event *event = begin_event(EVENT_GUARD, 1, 1);

		if (!event)
			continue;
		tally->told += event->suppressed;
		send_event(event);
	}
	tally->sent = counted[EVENTS_SENT];
	tally->refused = counted[EVENTS_SUPPRESSED];
	return NULL;
}

static void start_over(void)
{
	has_budget = is_full = has_no_room = false;
	together = (struct event_budget){0};
	clock_ns = 10 * NS_PER_S;
	memset(counted, 0, sizeof(counted));
	assert_non_null(begin_event(EVENT_GUARD, 1, 1));
	memset(counted, 0, sizeof(counted));
}

static void test_each_refusal_is_told_once(void **state)
{
	struct tally tallies[THREADS] = {{0}}, sum = {0};
	pthread_t threads[THREADS];

	start_over();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, report_in_a_loop, &tallies[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		sum.sent += tallies[i].sent;
		sum.refused += tallies[i].refused;
		sum.told += tallies[i].told;
	}
	assert_int_equal(sum.sent + sum.refused, THREADS * CALLS);
	assert_true(sum.refused > 0);
	assert_int_equal(sum.told + budget.suppressed, sum.refused);
}

static void test_a_full_buffer_keeps_the_number(void **state)
{
	start_over();
	budget.suppressed = 7;
	clock_ns += NS_PER_S;
	is_full = true;
	assert_null(begin_event(EVENT_GUARD, 1, 1));
	assert_int_equal(counted[EVENTS_LOST], 1);
	is_full = false;
	assert_non_null(begin_event(EVENT_GUARD, 1, 1));
	assert_int_equal(slot.suppressed, 7);
	assert_int_equal(budget.suppressed, 0);
}

/* Whoever makes more cgroups than there are budgets has one more budget for them all. */
static void test_cgroups_without_room_share_a_budget(void **state)
{
	uint32_t nr_sent = 0;

	start_over();
	has_budget = false;
	has_no_room = true;
	for (uint32_t second = 0; second < 2; second++) {
		clock_ns += NS_PER_S;
		for (uint64_t cgroup = 1; cgroup <= 3ULL * EVENT_BUDGET_PER_S; cgroup++) {
			clock_ns -= STEP_NS; /* all of them in one moment */
			nr_sent += begin_event(EVENT_GUARD, cgroup, cgroup) != NULL;
		}
	}
	assert_int_equal(nr_sent, 2 * EVENT_BUDGET_PER_S);
	assert_int_equal(counted[EVENTS_NO_BUDGET], 4 * EVENT_BUDGET_PER_S);
	assert_int_equal(counted[EVENTS_SUPPRESSED], 0);
}

/* Another CPU has made the entry meanwhile. */
static void test_a_budget_made_meanwhile_is_used(void **state)
{
	start_over();
	is_late = true;
	has_budget = false;
	budget = (struct event_budget){.window_ns = clock_ns, .passed = EVENT_BUDGET_PER_S};
	clock_ns -= STEP_NS;
	assert_null(begin_event(EVENT_GUARD, 1, 1));
	is_late = false;
	assert_int_equal(counted[EVENTS_SUPPRESSED], 1);
	assert_int_equal(counted[EVENTS_NO_BUDGET], 0);
	assert_int_equal(budget.suppressed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_refusal_is_told_once),
		cmocka_unit_test(test_a_full_buffer_keeps_the_number),
		cmocka_unit_test(test_cgroups_without_room_share_a_budget),
		cmocka_unit_test(test_a_budget_made_meanwhile_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
