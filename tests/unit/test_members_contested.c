// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Processes that are moved over the border of a container again and again, or that cannot be moved
 * back: when it is tried again, what is told of it, and what is remembered.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "members_scene.h"

/* --- waits, fights, failures -------------------------------------------------------------------- */

static void a_busy_pod_is_asked_again(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	expect_last(controller, "drift", "open", "true");
	expect_metric(controller, "pinfold_drift_open{attribute=\"members\"} 1\n");
	pass(controller, S / 2);
	assert_int_equal(port.nr_calls, 1);
	/* That is no failure. */
	assert_string_equal(journal_of_a_second(controller), "");
	assert_int_equal(port.nr_calls, 2);
	port.error = -EIO;
	assert_non_null(strstr(journal_of_a_second(controller), "cannot move process 5 back"));
	port.nr_calls = 1;
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 2);
	expect_last(controller, "drift", "action", "repair");
	end(controller);
}

static void a_move_that_waits_in_the_kernel_is_told(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.is_late = true;
	tell_move(controller, 5, id_of_path(A), 0);
	pass(controller, 3 * S);
	assert_int_equal(port.nr_calls, 1);
	expect_finding(controller, "operation_waiting", "cgroup_procs_write of 5");
	/* Somebody moved it on meanwhile: it is looked at once more. */
	tell_move(controller, 5, id_of_path(A), id_of_path(B));
	assert_int_equal(port.nr_calls, 1);
	port.is_late = false;
	end_move();
	pass(controller, 2 * S);
	assert_int_equal(port.nr_calls, 2);
	assert_int_equal(port.last.inside_id, id_of_path(B));
	assert_int_equal(port.last.home_id, id_of_path(A));
	expect_last(controller, "drift", "open", "false");
	end(controller);
}

static void of_several_moves_that_wait_the_oldest_is_told(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 9, id_of_path(B), 0);
	port.error = 0;
	port.is_late = true;
	tell_move(controller, 5, id_of_path(A), 0);
	tell_move(controller, 6, id_of_path(A), 0);
	pass(controller, S);
	port.is_late = false;
	port.error = -EBUSY;
	tell_move(controller, 10, id_of_path(B), 0);
	assert_int_equal(port.nr_calls, 5);
	pass(controller, 3 * S);
	/* The first and the last of them have no call that goes on for longer. */
	expect_finding(controller, "operation_waiting", "cgroup_procs_write of 5");
	end(controller);
}

/* Nobody waits for the end of a call as long as other repairs are remembered. */
static void a_move_that_waits_for_very_long_is_not_forgotten(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.is_late = true;
	tell_move(controller, 5, id_of_path(A), 0);
	pass(controller, 2 * BACKOFF_QUIET_NS);
	expect_last(controller, "drift", "open", "true");
	end_move();
	expect_last(controller, "event", "kind", "repair");
	expect_last(controller, "drift", "open", "false");
	end(controller);
}

/* Both may happen if a process ends, or the configuration changes, while the port works. */
static void the_end_of_a_move_that_nobody_waits_for_changes_nothing(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	size_t nr_events;

	port.last = (struct member_move){.pid = 99, .start_ticks = START};
	end_move();
	tell_move(controller, 5, id_of_path(A), 0);
	nr_events = nr_rows(controller, "event");
	end_move();
	assert_int_equal(nr_rows(controller, "event"), nr_events);
	end(controller);
}

static void a_process_that_ends_is_not_remembered(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 7, id_of_path(B), 0);
	port.error = 0;
	fight(controller, 5, id_of_path(A), 0);
	port.error = -EBUSY;
	tell_move(controller, 8, id_of_path(B), 0);
	port.error = 0;
	/* It is moved again, and ends, while it is being moved. */
	port.is_late = true;
	tell_move(controller, 5, id_of_path(A), 0);
	tell_move(controller, 5, id_of_path(A), 0);
	expect_finding(controller, "members_contested", "pid 5");
	port.is_late = false;
	port.result = -ESRCH;
	end_move();
	expect_finding(controller, "members_contested", "");
	expect_open(controller, A, false);
	/* Those that were heard of before and after it are. */
	port.result = 0;
	port.nr_calls = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.pid, 8);
	end(controller);
}

static void a_fight_slows_down_and_names_the_opponent(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	unsigned int nr_calls;

	for (unsigned int i = 0; i < BACKOFF_FIGHT; i++) {
		expect_finding(controller, "members_contested", "");
		tell_move(controller, 5, id_of_path(A), 0);
		pass(controller, 10 * S);
	}
	assert_int_equal(port.nr_calls, BACKOFF_FIGHT);
	expect_finding(
		controller, "members_contested",
		"the agent moved pid 5 of container exclusive of pod default/a back 3 times, and "
		"each time it was moved again, last by culprit (pid 77) of pinfold.slice");
	/* The next one is due 4 s after the last, which was 10 s ago; and then 8 s. */
	tell_move(controller, 5, id_of_path(A), 0);
	nr_calls = port.nr_calls;
	assert_int_equal(nr_calls, BACKOFF_FIGHT + 1);
	tell_move(controller, 5, id_of_path(A), 0);
	pass(controller, 7 * S);
	assert_int_equal(port.nr_calls, nr_calls);
	expect_last(controller, "drift", "open", "true");
	/* That is no matter of other processes. */
	tell_move(controller, 8, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, nr_calls + 1);
	assert_int_equal(port.last.pid, 8);
	expect_last(controller, "drift", "open", "true");
	pass(controller, S);
	assert_int_equal(port.nr_calls, nr_calls + 2);
	expect_last(controller, "drift", "open", "false");
	pass(controller, BACKOFF_QUIET_NS);
	expect_finding(controller, "members_contested", "");
	end(controller);
}

/* Who fights is told as soon as it is moved again. */
static void the_last_opponent_and_the_number_of_fights_are_told(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = moved(5, id_of_path(A), 0);

	fight(controller, 5, id_of_path(A), 0);
	expect_said(controller, "members_contested",
		    "last by culprit (pid 77) of pinfold.slice; it is moved back at longer "
		    "intervals",
		    true);
	snprintf(event.comm, sizeof(event.comm), "another");
	port.error = -EBUSY;
	tell(controller, &event);
	expect_finding(controller, "members_contested", "last by another (pid 77)");
	port.error = 0;
	pass(controller, S);
	fight(controller, 8, id_of_path(B), 0);
	expect_said(controller, "members_contested", "intervals; and 1 more", true);
	end(controller);
}

static void a_stranger_that_comes_again_is_told_as_one(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	pass(controller, BACKOFF_QUIET_NS);
	fight(controller, 6, 0, id_of_path(A));
	expect_finding(controller, "members_contested",
		       "the agent moved pid 6, a stranger in " A ", back 3 times");
	end(controller);
}

static void a_member_of_a_container_without_a_name_is_told_by_its_cgroup(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	fight(controller, 5, 1999, 0);
	expect_finding(controller, "members_contested",
		       "the agent moved pid 5 of (gone, id 1999) back 3 times");
	end(controller);
}

static void a_member_whose_container_has_gone_is_not_told_as_one_of_another(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	fight(controller, 5, 1999, id_of_path(A));
	expect_finding(controller, "members_contested",
		       "the agent moved pid 5 of a container that has gone, in " A
		       ", back 3 times");
	end(controller);
}

/* Only attempts count, and only those of the same process. */
static void the_next_repair_waits_from_the_last_attempt(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 5, id_of_path(A), 0);
	tell_move(controller, 8, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, 2);
	pass(controller, S / 2);
	tell_move(controller, 5, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, 2);
	/* It is at home by then: that was no attempt. */
	port.result = -EALREADY;
	pass(controller, S / 2);
	assert_int_equal(port.nr_calls, 3);
	tell_move(controller, 5, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, 4);
	end(controller);
}

static void a_failed_move_is_told_and_tried_again(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.result = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	expect_finding(controller, "members_not_repaired", "no way");
	expect_metric(controller,
		      "pinfold_drift_repaired_total{attribute=\"members\",result=\"failed\"} 1\n");
	expect_last(controller, "drift", "open", "true");
	/* The same error is no news. */
	assert_string_equal(journal_of_a_second(controller), "");
	assert_int_equal(port.nr_calls, 2);
	port.result = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 2);
	pass(controller, S);
	assert_int_equal(port.nr_calls, 3);
	expect_finding(controller, "members_not_repaired", "");
	expect_finding(controller, "members_contested", "");
	expect_last(controller, "drift", "action", "repair");
	/* After a success it is. */
	port.error = -EBUSY;
	tell_move(controller, 8, id_of_path(A), 0);
	port.error = 0;
	port.result = -EBUSY;
	assert_non_null(strstr(journal_of_a_second(controller), "ctl: no way"));
	end(controller);
}

static void a_reload_that_only_audits_ends_what_waits(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = ENFORCEMENT_AUDIT;
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 1);
	expect_last(controller, "drift", "open", "false");
	expect_last(controller, "drift", "action", "audit");
	end(controller);
}

static void a_reload_that_only_audits_ends_a_fight(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	fight(controller, 5, id_of_path(A), 0);
	expect_finding(controller, "members_contested", "pid 5");
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = ENFORCEMENT_AUDIT;
	pass(controller, S);
	expect_finding(controller, "members_contested", "");
	end(controller);
}

static void more_processes_than_are_followed_are_only_reported(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	for (uint32_t i = 0; i < MEMBERS_MAX + 1; i++) {
		/* Those that are back make room, wherever they are in the list: here two of them. */
		port.error = i == 0 || i == MEMBERS_MAX - 1 ? 0 : -EBUSY;
		tell_move(controller, 100 + i, id_of_path(A), 0);
	}
	assert_int_equal(port.nr_calls, MEMBERS_MAX + 1);
	port.error = -EBUSY;
	tell_move(controller, 50, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, MEMBERS_MAX + 2);
	tell_move(controller, 51, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, MEMBERS_MAX + 2);
	expect_metric(controller,
		      "pinfold_drift_repaired_total{attribute=\"members\",result=\"failed\"} 1\n");
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 2 * MEMBERS_MAX + 2);
	tell_move(controller, 52, id_of_path(A), 0);
	assert_int_equal(port.last.pid, 52);
	end(controller);
}

static void each_delay_is_twice_the_one_before_up_to_two_minutes(void **state)
{
	static const uint64_t delays_s[] = {0, 1, 2, 4, 8, 16, 32, 64, 120, 120};

	for (uint32_t i = 0; i < ARRAY_SIZE(delays_s); i++)
		assert_int_equal(backoff_ns(i), delays_s[i] * S);
	assert_int_equal(backoff_ns(100), 120 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)
		TEST(a_busy_pod_is_asked_again),
		TEST(a_move_that_waits_in_the_kernel_is_told),
		TEST(of_several_moves_that_wait_the_oldest_is_told),
		TEST(a_move_that_waits_for_very_long_is_not_forgotten),
		TEST(the_end_of_a_move_that_nobody_waits_for_changes_nothing),
		TEST(a_process_that_ends_is_not_remembered),
		TEST(a_fight_slows_down_and_names_the_opponent),
		TEST(the_last_opponent_and_the_number_of_fights_are_told),
		TEST(a_stranger_that_comes_again_is_told_as_one),
		TEST(a_member_of_a_container_without_a_name_is_told_by_its_cgroup),
		TEST(a_member_whose_container_has_gone_is_not_told_as_one_of_another),
		TEST(the_next_repair_waits_from_the_last_attempt),
		TEST(a_failed_move_is_told_and_tried_again),
		TEST(a_reload_that_only_audits_ends_what_waits),
		TEST(a_reload_that_only_audits_ends_a_fight),
		TEST(more_processes_than_are_followed_are_only_reported),
		TEST(each_delay_is_twice_the_one_before_up_to_two_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
