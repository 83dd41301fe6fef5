// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Where a process that somebody moved over the border of a container is moved back to, what is told of
 * it, and what is left alone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "members_scene.h"

/* --- members and strangers ---------------------------------------------------------------------- */

static void a_member_goes_back_where_it_was(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 5, id_of_path(A), 0);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.pid, 5);
	assert_int_equal(port.last.start_ticks, START);
	assert_int_equal(port.last.moved_ticks, START + 100);
	assert_int_equal(port.last.from_id, id_of_path(A));
	assert_int_equal(port.last.home_id, id_of_path(A));
	assert_string_equal(port.last.home, A);
	assert_int_equal(port.last.inside_id, 0);
	expect_last(controller, "event", "kind", "repair");
	expect_last(controller, "event", "action", "repair");
	expect_last(controller, "event", "aspect", "cgroup_moves");
	expect_last(controller, "event", "target", A "/cgroup.procs");
	expect_last(controller, "event", "detail", "restored to 'pid 5 in " A "'");
	expect_last(controller, "event", "container", "exclusive");
	expect_last(controller, "drift", "cgroup", A);
	expect_last(controller, "drift", "attribute", "members");
	expect_last(controller, "drift", "action", "repair");
	expect_last(controller, "drift", "open", "false");
	expect_last(controller, "drift", "comm", "culprit");
	expect_last(controller, "drift", "writer_cgroup", "pinfold.slice");
	expect_last(controller, "drift", "wanted", "pid 5 in " A);
	expect_last(controller, "drift", "found", "pid 5 in cgroup 1501");
	expect_metric(controller,
		      "pinfold_drift_detected_total{attribute=\"members\",cause=\"user\"} 1\n");
	expect_metric(controller,
		      "pinfold_drift_repaired_total{attribute=\"members\",result=\"ok\"} 1\n");
	expect_metric(controller, "pinfold_drift_open{attribute=\"members\"} 0\n");
	end(controller);
}

static void a_stranger_leaves(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.nr_children = 2;
	tell_move(controller, 6, 0, id_of_path(A));
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.from_id, OUTSIDE);
	assert_int_equal(port.last.home_id, 0);
	assert_int_equal(port.last.inside_id, id_of_path(A));
	assert_string_equal(port.last.inside, A);
	expect_last(controller, "event", "detail",
		    "restored to 'pid 6 and 2 children in user.slice'");
	expect_last(controller, "drift", "cgroup", A);
	expect_last(controller, "drift", "wanted", "pid 6 in cgroup 1500");
	expect_last(controller, "drift", "found", "pid 6 in " A);
	port.nr_children = 1;
	tell_move(controller, 7, 0, id_of_path(A));
	expect_last(controller, "event", "detail", "restored to 'pid 7 and 1 child in user.slice'");
	end(controller);
}

/* What the event says instead of a name is not a path in which a process can be looked for. */
static void a_place_without_a_name_has_no_path(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 6, 0, 1999);
	assert_int_equal(port.last.inside_id, 1999);
	assert_string_equal(port.last.inside, "");
	expect_last(controller, "event", "target", "(gone, id 1999)/cgroup.procs");
	end(controller);
}

/* What is below a container belongs to it. */
static void below_a_container_a_stranger_is_looked_for_in_all_of_it(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	const struct step inner = {.path = A "/inner"};
	char error[GROUP_ERROR_MAX];
	struct event_record event;

	assert_int_equal(fake_create(&inner, error), 0);
	event = moved(6, 0, id_of_path(A "/inner"));
	event.move.to_border_id = id_of_path(A);
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.inside_id, id_of_path(A));
	assert_string_equal(port.last.inside, A);
	end(controller);
}

/* Its own container is not known, so the drift is told of the cgroup that it came into. */
static void a_member_of_a_container_without_a_name_drifts_where_it_came(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	const struct step inner = {.path = A "/inner"};
	char error[GROUP_ERROR_MAX];
	struct event_record event;

	assert_int_equal(fake_create(&inner, error), 0);
	event = moved(6, 1999, id_of_path(A "/inner"));
	event.move.to_border_id = id_of_path(A);
	tell(controller, &event);
	assert_int_equal(port.last.home_id, 1999);
	assert_string_equal(port.last.home, "");
	expect_last(controller, "drift", "cgroup", A "/inner");
	end(controller);
}

/* It belongs to no container, but the pods' cgroups are no place for it either. */
static void from_a_pods_own_cgroup_a_stranger_leaves_as_well(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	const uint64_t pod = id_of_path("pinfold.slice/poduid-a");
	struct event_record event = moved(6, 0, pod);

	event.move.to_border_id = 0;
	/* Only of a container it may be a member that comes home. */
	event.suppressed = 3;
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.home_id, 0);
	assert_int_equal(port.last.inside_id, pod);
	assert_string_equal(port.last.inside, "pinfold.slice/poduid-a");
	expect_last(controller, "drift", "cgroup", "pinfold.slice/poduid-a");
	end(controller);
}

/* It is a member of the one and a stranger in the other. */
static void from_one_container_into_another_is_back_in_the_first(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 5, id_of_path(A), id_of_path(B));
	assert_int_equal(port.last.home_id, id_of_path(A));
	assert_int_equal(port.last.inside_id, id_of_path(B));
	assert_string_equal(port.last.inside, B);
	expect_last(controller, "drift", "cgroup", A);
	end(controller);
}

/* Otherwise a stranger would be a member of the container that it was in for a moment. */
static void of_several_moves_the_first_place_counts(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 6, 0, id_of_path(A));
	tell_move(controller, 6, id_of_path(A), id_of_path(B));
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.last.home_id, 0);
	assert_int_equal(port.last.from_id, OUTSIDE);
	assert_int_equal(port.last.inside_id, id_of_path(B));
	/* Once it was put right, where it is counts again. */
	pass(controller, 400 * S);
	tell_move(controller, 6, id_of_path(B), 0);
	assert_int_equal(port.last.home_id, id_of_path(B));
	/* And after each single repair, although its next one waits. */
	tell_move(controller, 8, 0, id_of_path(A));
	pass(controller, S);
	tell_move(controller, 8, id_of_path(B), 0);
	assert_int_equal(port.last.pid, 8);
	assert_int_equal(port.last.home_id, id_of_path(B));
	end(controller);
}

/* The port finds out whether it is there. */
static void a_member_that_comes_home_while_it_waits_is_looked_for(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	tell_move(controller, 5, 0, id_of_path(A));
	expect_last(controller, "drift", "found", "pid 5 in " A);
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.last.home_id, id_of_path(A));
	assert_int_equal(port.last.inside_id, id_of_path(A));
	end(controller);
}

/* Its start time tells it from the one that had the number before. */
static void another_process_with_the_number_is_followed_as_well(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = moved(5, id_of_path(B), 0);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	event.move.start_ticks = START + 1;
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 2);
	assert_int_equal(port.last.start_ticks, START + 1);
	assert_int_equal(port.last.home_id, id_of_path(B));
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 4);
	assert_int_equal(port.last.start_ticks, START);
	end(controller);
}

/* A row is for all processes of a cgroup, but only of that one. */
static void what_is_back_closes_the_drift_of_its_own_container(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of_path(A), 0);
	port.error = 0;
	tell_move(controller, 8, id_of_path(B), 0);
	expect_open(controller, A, true);
	expect_open(controller, B, false);
	end(controller);
}

/* --- what is left alone ------------------------------------------------------------------------- */

static void auditing_leaves_it_and_reports(void **state)
{
	const enum enforcement modes[] = {ENFORCEMENT_AUDIT, ENFORCEMENT_OFF};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct controller *controller = start_with(modes[i]);

		tell_move(controller, 5, id_of_path(A), 0);
		tell_move(controller, 6, 0, id_of_path(A));
		pass(controller, S);
		assert_int_equal(port.nr_calls, 0);
		assert_int_equal(nr_rows(controller, "drift"), 0);
		expect_last(controller, "event", "kind", "move");
		end(controller);
	}
}

/* A thread, or an event that an earlier version left in the ring: nobody knows which process it was. */
static void without_a_start_time_nothing_is_moved(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = moved(5, id_of_path(A), 0);

	event.move.start_ticks = 0;
	tell(controller, &event);
	pass(controller, S);
	assert_int_equal(port.nr_calls, 0);
	expect_last(controller, "event", "kind", "move");
	end(controller);
}

static void what_has_ended_or_gone_back_is_closed_without_a_repair(void **state)
{
	const int results[] = {-ESRCH, -EALREADY, -ENOENT};

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

		port.result = results[i];
		tell_move(controller, 5, id_of_path(A), 0);
		pass(controller, 10 * S);
		assert_int_equal(port.nr_calls, 1);
		expect_last(controller, "drift", "open", "false");
		expect_last(controller, "drift", "action", "none");
		expect_last(controller, "event", "kind", "move");
		expect_finding(controller, "members_not_repaired", "");
		end(controller);
	}
}

/* Bytes of other events mean something else. */
static void only_a_move_is_undone(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = EVENT_RECORD(EVENT_DRIFT);

	event.pid = 77;
	event.culprit_id = id_of_path("pinfold.slice");
	event.target_id = id_of_path(A);
	event.attribute = GROUP_CPUSET_PARTITION;
	snprintf(event.write.file, sizeof(event.write.file), "cpuset.cpus.partition");
	snprintf(event.write.text, sizeof(event.write.text), "member");
	assert_int_not_equal(event.move.start_ticks, 0);
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 0);
	end(controller);
}

/* An agent that changes no cgroups has no port for it. */
static void without_a_port_nothing_is_moved(void **state)
{
	struct controller *controller = start_with_port(ENFORCEMENT_ENFORCE, NULL);

	tell_move(controller, 5, id_of_path(A), 0);
	expect_last(controller, "event", "kind", "move");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	end(controller);
}

/* Both moves were over before the first was heard of, so the process is at home when it is looked for. */
static void a_member_that_was_put_back_is_no_stranger(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	const uint64_t home = id_of_path(A);

	pass(controller, 2 * BACKOFF_QUIET_NS);
	port.result = -EALREADY;
	tell_move(controller, 42, home, 0);
	assert_int_equal(port.nr_calls, 1);
	pass(controller, S);
	tell_move(controller, 42, 0, home);
	pass(controller, 10 * S);
	assert_int_equal(port.nr_calls, 1);
	/* And again, which is no reason to wait: it still is a member, whoever comes first. */
	tell_move(controller, 42, home, 0);
	assert_int_equal(port.nr_calls, 2);
	tell_move(controller, 42, home, 0);
	assert_int_equal(port.nr_calls, 3);
	assert_int_equal(port.last.home_id, home);
	tell_move(controller, 42, 0, home);
	assert_int_equal(port.nr_calls, 3);
	end(controller);
}

/* Earlier moves of the same writer were only counted: it may be a member that comes home. */
static void after_moves_that_were_only_counted_nobody_is_driven_out(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = moved(42, 0, id_of_path(A));

	event.suppressed = 3;
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 0);
	/* A stranger that left by itself is not remembered, so that may be another process's number. */
	port.result = -EALREADY;
	tell_move(controller, 42, 0, id_of_path(A));
	assert_int_equal(port.nr_calls, 1);
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 1);
	end(controller);
}

/* These cannot be moves home. */
static void other_moves_are_undone_although_earlier_ones_were_only_counted(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record left = moved(42, id_of_path(A), 0),
			    passed = moved(43, id_of_path(A), id_of_path(B)),
			    stranger = moved(44, 0, id_of_path(A));

	left.suppressed = passed.suppressed = stranger.suppressed = 3;
	tell(controller, &left);
	assert_int_equal(port.nr_calls, 1);
	tell(controller, &passed);
	assert_int_equal(port.nr_calls, 2);
	/* This one is known. */
	tell_move(controller, 44, 0, id_of_path(A));
	pass(controller, S);
	assert_int_equal(port.nr_calls, 3);
	tell(controller, &stranger);
	assert_int_equal(port.nr_calls, 4);
	end(controller);
}

/* Its move there has an event of its own, unless the agent did it: then it stays. */
static void in_another_container_it_is_looked_for_a_few_times(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.result = -EAGAIN;
	tell_move(controller, 5, id_of_path(A), 0);
	pass(controller, S / 2);
	assert_int_equal(port.nr_calls, 1);
	for (unsigned int i = 0; i < 10; i++)
		pass(controller, S);
	assert_int_equal(port.nr_calls, 3);
	expect_last(controller, "drift", "open", "false");
	/* Each move of it is followed as long. */
	tell_move(controller, 8, id_of_path(A), 0);
	pass(controller, S);
	assert_int_equal(port.nr_calls, 5);
	tell_move(controller, 8, 0, id_of_path(B));
	for (unsigned int i = 0; i < 10; i++)
		pass(controller, S);
	assert_int_equal(port.nr_calls, 8);
	end(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)
		TEST(a_member_goes_back_where_it_was),
		TEST(a_stranger_leaves),
		TEST(a_place_without_a_name_has_no_path),
		TEST(below_a_container_a_stranger_is_looked_for_in_all_of_it),
		TEST(a_member_of_a_container_without_a_name_drifts_where_it_came),
		TEST(from_a_pods_own_cgroup_a_stranger_leaves_as_well),
		TEST(from_one_container_into_another_is_back_in_the_first),
		TEST(of_several_moves_the_first_place_counts),
		TEST(a_member_that_comes_home_while_it_waits_is_looked_for),
		TEST(another_process_with_the_number_is_followed_as_well),
		TEST(what_is_back_closes_the_drift_of_its_own_container),
		TEST(auditing_leaves_it_and_reports),
		TEST(without_a_start_time_nothing_is_moved),
		TEST(what_has_ended_or_gone_back_is_closed_without_a_repair),
		TEST(only_a_move_is_undone),
		TEST(without_a_port_nothing_is_moved),
		TEST(a_member_that_was_put_back_is_no_stranger),
		TEST(after_moves_that_were_only_counted_nobody_is_driven_out),
		TEST(other_moves_are_undone_although_earlier_ones_were_only_counted),
		TEST(in_another_container_it_is_looked_for_a_few_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
