// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* What the kernel's events become for the controller; no kernel needed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pinfold/abi.h>

#include "bpf/events.h"
#include "bpf/bpf_object.h"
#include "lib/hash.h"

static struct event guard_event(void)
{
	struct event event = {
		.kind = EVENT_GUARD,
		.aspect = ASPECT_CPUSET_FILES,
		.action = ACTION_DENY,
		.hook = HOOK_FILE_PERMISSION,
		.pid = 12,
		.tgid = 10,
		.writer_cgroup = 7,
		.target_cgroup = 9,
		.suppressed = 3,
		.comm = "taskset",
		.file = "cpuset.cpus",
	};

	return event;
}

static void test_denied_write(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_GUARD);
	assert_int_equal(record.aspect, ASPECT_CPUSET_FILES);
	assert_int_equal(record.action, ACTION_DENY);
	assert_int_equal(record.attribute, GROUP_ATTRIBUTE_NR);
	assert_string_equal(record.comm, "taskset");
	assert_int_equal(record.guard.hook, HOOK_FILE_PERMISSION);
	assert_string_equal(record.guard.file, "cpuset.cpus");
	/* the process, not the thread */
	assert_int_equal(record.pid, 10);
	assert_int_equal(record.culprit_id, 7);
	assert_int_equal(record.target_id, 9);
	assert_int_equal(record.suppressed, 3);
}

static void test_audited_move(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.aspect = ASPECT_CGROUP_MOVES;
	event.action = ACTION_AUDIT;
	event.hook = HOOK_TASK_SETSCHEDULER;
	event.target_pid = 99;
	event_read(&event, &record);
	assert_int_equal(record.aspect, ASPECT_CGROUP_MOVES);
	assert_int_equal(record.action, ACTION_AUDIT);
	assert_int_equal(record.guard.hook, HOOK_TASK_SETSCHEDULER);
	assert_int_equal(record.guard.target_pid, 99);
}

static void test_move(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.kind = EVENT_MOVE;
	event.aspect = ASPECT_CGROUP_MOVES;
	event.action = ACTION_ALLOW;
	event.target_pid = 99;
	event.from_cgroup = 8;
	event.time_ns = 120019999999;
	memset(event.text, 0, sizeof(event.text));
	event.move.start_ticks = 4711;
	event.move.to_cgroup = 31;
	event.move.from_border = 7;
	event.move.to_border = 30;
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_MOVE);
	assert_int_equal(record.action, ACTION_ALLOW);
	assert_int_equal(record.move.target_pid, 99);
	assert_int_equal(record.move.from_id, 8);
	assert_int_equal(record.move.start_ticks, 4711);
	assert_int_equal(record.move.moved_ticks, 12001);
	assert_int_equal(record.move.to_id, 31);
	assert_int_equal(record.move.from_border_id, 7);
	assert_int_equal(record.move.to_border_id, 30);
}

/* The ring buffer is pinned: programs of an earlier version told no more than who left what. */
static void test_move_of_an_earlier_version(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.kind = EVENT_MOVE;
	event.aspect = ASPECT_CGROUP_MOVES;
	event.target_pid = 99;
	event.from_cgroup = 8;
	memset(event.text, 0, sizeof(event.text));
	event_read(&event, &record);
	assert_int_equal(record.move.target_pid, 99);
	assert_int_equal(record.move.from_id, 8);
	assert_int_equal(record.move.start_ticks, 0);
	assert_int_equal(record.move.to_id, 0);
}

static void test_attempt(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.kind = EVENT_ATTEMPT;
	event.aspect = ASPECT_AFFINITY;
	event.error = -EINVAL;
	event.target_pid = 10;
	event.value = 3;
	memset(event.text, 0, sizeof(event.text));
	event.mask[0] = 0x30;
	event.mask[EVENT_MASK_WORDS - 1] = 1;
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_ATTEMPT);
	assert_int_equal(record.aspect, ASPECT_AFFINITY);
	assert_int_equal(record.attempt.target_pid, 10);
	assert_int_equal(record.attempt.nr_wanted, 3);
	assert_int_equal(record.attempt.error, -EINVAL);
	assert_int_equal(record.attempt.wanted[0], 0x30);
	assert_int_equal(record.attempt.wanted[EVENT_MASK_WORDS - 1], 1);
	assert_false(record.attempt.is_cut);
	event.flags = EVENT_CUT;
	event_read(&event, &record);
	assert_true(record.attempt.is_cut);
}

static void test_life_cycle(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.kind = EVENT_POPULATED;
	snprintf(event.text, sizeof(event.text), "/pinfold.slice/a");
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_POPULATED);
	assert_int_equal(record.aspect, ASPECT_NR);
	assert_false(record.life.is_populated);
	assert_string_equal(record.life.path, "/pinfold.slice/a");
	event.value = 1;
	event_read(&event, &record);
	assert_true(record.life.is_populated);
	event.kind = EVENT_SUPPRESSED;
	event.value = 12;
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_SUPPRESSED);
	assert_int_equal(record.nr_suppressed, 12);
}

static void test_drift_names_the_file_that_changes(void **state)
{
	static const struct {
		const char *file;
		enum group_file attribute;
	} rows[] = {
		{"cgroup.subtree_control", GROUP_ATTRIBUTE_NR},
		{"cpuset.mems", GROUP_CPUSET_MEMS},
		{"cpuset.cpus", GROUP_CPUSET_CPUS},
		{"cpuset.cpus.partition", GROUP_CPUSET_PARTITION},
		{"cpu.weight", GROUP_CPU_WEIGHT},
		{"cpu.weight.nice", GROUP_CPU_WEIGHT},
		{"cpu.max", GROUP_CPU_MAX},
		{"memory.max", GROUP_MEMORY_MAX},
		{"cgroup.freeze", GROUP_FREEZE},
		{"cgroup.kill", GROUP_ATTRIBUTE_NR},
		{"cpu.maximum", GROUP_ATTRIBUTE_NR},
		{"cpu", GROUP_ATTRIBUTE_NR},
		{"", GROUP_ATTRIBUTE_NR},
	};
	struct event event = guard_event();
	struct event_record record;

	event.kind = EVENT_DRIFT;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(event.file, 0, sizeof(event.file));
		strcpy(event.file, rows[i].file);
		snprintf(event.text, sizeof(event.text), "0-15");
		event_read(&event, &record);
		assert_int_equal(record.attribute, rows[i].attribute);
		assert_int_equal(record.write.is_controllers, i == 0);
		assert_string_equal(record.write.file, rows[i].file);
		assert_string_equal(record.write.text, "0-15");
	}
	/* A refused write has changed no file. */
	event.kind = EVENT_GUARD;
	strcpy(event.file, "cpuset.cpus");
	event_read(&event, &record);
	assert_int_equal(record.attribute, GROUP_ATTRIBUTE_NR);
}

/* The kernel fills fixed arrays: nothing may be read beyond them. */
static void test_full_arrays(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	memset(event.comm, 'c', sizeof(event.comm));
	memset(event.file, 'f', sizeof(event.file));
	memset(event.text, 't', sizeof(event.text));
	event.kind = EVENT_DRIFT;
	event_read(&event, &record);
	assert_int_equal(strlen(record.comm), sizeof(event.comm) - 1);
	assert_int_equal(strlen(record.write.file), EVENT_FILE_LEN);
	assert_int_equal(strlen(record.write.text), EVENT_TEXT_LEN);
	event.kind = EVENT_GUARD;
	event_read(&event, &record);
	assert_int_equal(strlen(record.guard.file), EVENT_FILE_LEN);
	event.kind = EVENT_MKDIR;
	event_read(&event, &record);
	assert_int_equal(strlen(record.life.path), EVENT_TEXT_LEN);
}

/* Numbers from a pinned buffer that another version may have filled. */
static void test_unknown_numbers(void **state)
{
	struct event event = guard_event();
	struct event_record record;

	event.hook = 77;
	event.aspect = 78;
	event.action = 79;
	event_read(&event, &record);
	assert_int_equal(record.guard.hook, HOOK_NONE);
	assert_int_equal(record.aspect, ASPECT_NR);
	assert_int_equal(record.action, ACTION_UNKNOWN);
	/* The first number behind the kernel's kinds is one of the agent's. */
	event.kind = EVENT_KIND_NR;
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_NONE);
	event.kind = 0xffffffff;
	event_read(&event, &record);
	assert_int_equal(record.kind, EVENT_NONE);
}

static void test_digest(void **state)
{
	uint64_t first = hash_add(HASH_START, "ab", 2);

	assert_true(first == hash_add(hash_add(HASH_START, "a", 1), "b", 1));
	assert_true(first != hash_add(HASH_START, "ba", 2));
	/* published value of 64-bit FNV-1a for "a" */
	assert_true(hash_add(HASH_START, "a", 1) == 0xaf63dc4c8601ec8cULL);
}

static struct pid1_client client_at(__u64 time_ns, __u32 pid)
{
	return (struct pid1_client){
		.time_ns = time_ns, .cgroup = 100 + pid, .pid = pid, .comm = "systemctl"};
}

static uint32_t client_of(const struct pid1_clients *clients, uint64_t time_ns)
{
	struct event event = guard_event();
	struct event_record record;

	event_read(&event, &record);
	event_name_client(clients, time_ns, &record);
	if (record.client.pid) {
		assert_int_equal(record.client.cgroup_id, 100 + record.client.pid);
		assert_string_equal(record.client.comm, "systemctl");
	}
	return record.client.pid;
}

/* Only the one that can have asked: who came later, long before or beside others is not blamed. */
static void test_client_of_process_1(void **state)
{
	const __u64 now_ns = 50000000000ULL, window_ns = 5000000000ULL;
	struct pid1_clients clients = {0};

	assert_int_equal(client_of(&clients, now_ns), 0);
	clients.rows[3] = client_at(now_ns, 12);
	assert_int_equal(client_of(&clients, now_ns), 12);
	assert_int_equal(client_of(&clients, now_ns - 1), 0);
	assert_int_equal(client_of(&clients, now_ns + window_ns - 1), 12);
	assert_int_equal(client_of(&clients, now_ns + window_ns), 0);
	/* It connects again, and process 1 itself does. */
	clients.rows[4] = client_at(now_ns - 1, 12);
	clients.rows[5] = client_at(now_ns, 1);
	assert_int_equal(client_of(&clients, now_ns), 12);
	clients.rows[0] = client_at(now_ns - 2, 13);
	assert_int_equal(client_of(&clients, now_ns), 0);
	clients.rows[0].time_ns = now_ns - window_ns;
	assert_int_equal(client_of(&clients, now_ns), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denied_write),
		cmocka_unit_test(test_audited_move),
		cmocka_unit_test(test_attempt),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_move_of_an_earlier_version),
		cmocka_unit_test(test_life_cycle),
		cmocka_unit_test(test_drift_names_the_file_that_changes),
		cmocka_unit_test(test_full_arrays),
		cmocka_unit_test(test_unknown_numbers),
		cmocka_unit_test(test_client_of_process_1),
		cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
