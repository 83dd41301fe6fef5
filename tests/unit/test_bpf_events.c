// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf core lib
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
#include "bpf/load.h"

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
	struct kernel_event row;

	event_translate(&event, 1, &row);
	assert_string_equal(row.kind, "deny");
	assert_string_equal(row.aspect, "cpuset_files");
	assert_string_equal(row.action, "deny");
	assert_string_equal(row.comm, "taskset");
	assert_string_equal(row.detail, "write cpuset.cpus");
	/* the process, not the thread */
	assert_int_equal(row.pid, 10);
	assert_int_equal(row.cgroup_id, 7);
	assert_int_equal(row.target_id, 9);
	assert_int_equal(row.suppressed, 3);
}

static void test_audited_move(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.aspect = ASPECT_CGROUP_MOVES;
	event.action = ACTION_AUDIT;
	event.hook = HOOK_TASK_SETSCHEDULER;
	event.target_pid = 99;
	event_translate(&event, 1, &row);
	assert_string_equal(row.kind, "audit");
	assert_string_equal(row.aspect, "cgroup_moves");
	assert_string_equal(row.detail, "move of pid 99");
}

static void test_clone_names_its_direction(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.aspect = ASPECT_CGROUP_MOVES;
	event.hook = HOOK_INODE_PERMISSION;
	strcpy(event.file, "cgroup.procs");
	event_translate(&event, 1, &row);
	assert_string_equal(row.detail, "clone3 into the cgroup");
	event.target_cgroup = event.writer_cgroup;
	event_translate(&event, 1, &row);
	assert_string_equal(row.detail, "clone3 out of the cgroup");
}

static void test_attempt(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.kind = EVENT_ATTEMPT;
	event.aspect = ASPECT_AFFINITY;
	event.error = -EINVAL;
	event.target_pid = 10;
	event.value = 3;
	memset(event.text, 0, sizeof(event.text));
	event.mask[0] = 0x30;
	event.mask[1] = 1;
	event_translate(&event, 2, &row);
	assert_string_equal(row.kind, "pin");
	assert_string_equal(row.detail, "pin pid 10 to CPUs 4-5,64 (3 wanted): Invalid argument");
	event.error = 0;
	event.flags = EVENT_CUT;
	event_translate(&event, 1, &row);
	assert_string_equal(row.detail,
			    "pin pid 10 to CPUs 4-5… (3 wanted): trimmed to what is allowed");
}

/* Every second CPU of 2048 is a list far longer than a detail. */
static void test_attempt_of_many(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.kind = EVENT_ATTEMPT;
	for (size_t i = 0; i < EVENT_MASK_WORDS; i++)
		event.mask[i] = 0x5555555555555555ULL;
	event.value = 1024;
	event_translate(&event, ABI_MASK_WORDS_MAX, &row);
	assert_non_null(strstr(row.detail, "… (1024 wanted)"));
}

static void test_life_cycle(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.kind = EVENT_POPULATED;
	snprintf(event.text, sizeof(event.text), "/pinfold.slice/a");
	event_translate(&event, 1, &row);
	assert_string_equal(row.kind, "empty");
	assert_string_equal(row.aspect, "");
	assert_string_equal(row.detail, "/pinfold.slice/a");
	event.value = 1;
	event_translate(&event, 1, &row);
	assert_string_equal(row.kind, "populated");
}

/* The kernel fills fixed arrays: nothing may be read beyond them. */
static void test_full_arrays(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	memset(event.comm, 'c', sizeof(event.comm));
	memset(event.file, 'f', sizeof(event.file));
	memset(event.text, 't', sizeof(event.text));
	event.kind = EVENT_DRIFT;
	event_translate(&event, 1, &row);
	assert_int_equal(strlen(row.comm), sizeof(row.comm) - 1);
	assert_int_equal(strlen(row.detail), EVENT_FILE_LEN + EVENT_TEXT_LEN + strlen(" = ''"));
}

/* Numbers from a pinned buffer that another version may have filled. */
static void test_unknown_numbers(void **state)
{
	struct event event = guard_event();
	struct kernel_event row;

	event.hook = 77;
	event.aspect = 78;
	event.action = 79;
	event_translate(&event, 1, &row);
	assert_string_equal(row.aspect, "");
	assert_string_equal(row.action, "");
	event.kind = 80;
	event_translate(&event, 1, &row);
	assert_string_equal(row.kind, "unknown");
}

static void test_digest(void **state)
{
	uint64_t first = digest_add(DIGEST_START, "ab", 2);

	assert_true(first == digest_add(digest_add(DIGEST_START, "a", 1), "b", 1));
	assert_true(first != digest_add(DIGEST_START, "ba", 2));
	/* published value of 64-bit FNV-1a for "a" */
	assert_true(digest_add(DIGEST_START, "a", 1) == 0xaf63dc4c8601ec8cULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clone_names_its_direction),
		cmocka_unit_test(test_denied_write),
		cmocka_unit_test(test_audited_move),
		cmocka_unit_test(test_attempt),
		cmocka_unit_test(test_attempt_of_many),
		cmocka_unit_test(test_life_cycle),
		cmocka_unit_test(test_full_arrays),
		cmocka_unit_test(test_unknown_numbers),
		cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
