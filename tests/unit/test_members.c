// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * When a process that somebody moved over the border of a container is moved back, what is told of it,
 * and what is left alone. The pod a has the container `exclusive`, and b the container `other`.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/backoff.h"
#include "ctl/members.h"
#include "node_scene.h"

#define A	"pinfold.slice/poduid-a/exclusive"
#define B	"pinfold.slice/poduid-b/other"
#define OUTSIDE 1500 /* the id of a cgroup of the host */
#define START	4711

/* --- a mover that does what it is told ---------------------------------------------------------- */

static struct {
	unsigned int nr_calls;
	struct member_move last;
	int error;  /* of the call */
	int result; /* of the move */
	uint32_t nr_children;
	bool is_late;
	const struct member_sink *sink;
} port;

static void end_move(void)
{
	struct member_move move = port.last;

	move.result = port.result;
	move.nr_children = port.nr_children;
	snprintf(move.to, sizeof(move.to), "%s", move.home_id ? move.home : "user.slice");
	snprintf(move.error, sizeof(move.error), "%s", port.result ? "no way" : "");
	port.sink->ended(port.sink->self, &move);
}

static int restore(void *self, const struct member_move *move)
{
	port.nr_calls++;
	port.last = *move;
	if (!port.error && !port.is_late)
		end_move();
	return port.error;
}

static void where(void *self, const struct member_move *move, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "cgroup_procs_write of %u", move->pid);
}

static const struct member_port member_port = {NULL, restore, where};

/* --- the scene ---------------------------------------------------------------------------------- */

static struct pod_spec *pods[2];

static struct controller *start_with(enum enforcement moves)
{
	const struct controller_ports ports = {.kernel = &fake_side_port, .members = &member_port};
	struct controller *controller;

	memset(&port, 0, sizeof(port));
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = moves;
	pods[0] = fake_pod("a", "exclusive", 4000, true);
	pods[1] = fake_pod("b", "other", 2000, true);
	controller = make_node_with(ports);
	port.sink = controller_member_sink(controller);
	assert_int_equal(controller_start(controller), 0);
	scan(controller, pods, 2);
	return controller;
}

static void end(struct controller *controller)
{
	controller_free(controller);
	free_pods(pods, 2);
}

static uint64_t id_of(const char *path)
{
	struct group_status status;

	assert_int_equal(fake_status(NULL, path, &status), 0);
	return status.cgroup_id;
}

/* As the watch tells it: between containers, the destination is the target. 0 = outside. */
static struct event_record moved(uint32_t pid, uint64_t from, uint64_t to)
{
	struct event_record event = EVENT_RECORD(EVENT_MOVE);

	event.aspect = ASPECT_CGROUP_MOVES;
	event.action = ACTION_ALLOW;
	event.pid = 77;
	event.culprit_id = id_of("pinfold.slice");
	snprintf(event.comm, sizeof(event.comm), "culprit");
	event.target_id = to ? to : from;
	event.move.target_pid = pid;
	event.move.start_ticks = START;
	event.move.moved_ticks = START + 100;
	event.move.from_id = from ? from : OUTSIDE;
	event.move.to_id = to ? to : OUTSIDE + 1;
	event.move.from_border_id = from;
	event.move.to_border_id = to;
	return event;
}

static void tell(struct controller *controller, const struct event_record *event)
{
	const struct kernel_sink *sink = controller_kernel_sink(controller);

	sink->event(sink->self, event);
}

static void tell_move(struct controller *controller, uint32_t pid, uint64_t from, uint64_t to)
{
	struct event_record event = moved(pid, from, to);

	tell(controller, &event);
}

static void pass(struct controller *controller, uint64_t ns)
{
	fake->now_ns += ns;
	controller_tick(controller);
}

/* The last row of the object has this value. */
static void expect_last(struct controller *controller, const char *object, const char *key,
			const char *wanted)
{
	struct json_object *list = query(controller, object);
	size_t nr = json_object_array_length(list);

	assert_true(nr);
	assert_string_equal(member(json_object_array_get_idx(list, nr - 1), key), wanted);
	json_object_put(list);
}

/* "" = there is no such finding */
static void expect_finding(struct controller *controller, const char *name, const char *part)
{
	struct json_object *node = query(controller, "node"), *findings = NULL;
	const char *message = "";

	assert_true(json_object_object_get_ex(node, "findings", &findings));
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		if (!strcmp(member(row, "name"), name))
			message = member(row, "message");
	}
	if (*part ? !strstr(message, part) : *message)
		fail_msg("%s says '%s' instead of '%s'", name, message, part);
	json_object_put(node);
}

/* --- members and strangers ---------------------------------------------------------------------- */

static void a_member_goes_back_where_it_was(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 5, id_of(A), 0);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.pid, 5);
	assert_int_equal(port.last.start_ticks, START);
	assert_int_equal(port.last.moved_ticks, START + 100);
	assert_int_equal(port.last.from_id, id_of(A));
	assert_int_equal(port.last.home_id, id_of(A));
	assert_string_equal(port.last.home, A);
	assert_int_equal(port.last.inside_id, 0);
	expect_last(controller, "event", "kind", "repair");
	expect_last(controller, "event", "target", A "/cgroup.procs");
	expect_last(controller, "event", "detail", "restored to 'pid 5 in " A "'");
	expect_last(controller, "event", "container", "exclusive");
	expect_last(controller, "drift", "cgroup", A);
	expect_last(controller, "drift", "attribute", "members");
	expect_last(controller, "drift", "action", "repair");
	expect_last(controller, "drift", "open", "false");
	expect_last(controller, "drift", "comm", "culprit");
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
	tell_move(controller, 6, 0, id_of(A));
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.last.from_id, OUTSIDE);
	assert_int_equal(port.last.home_id, 0);
	assert_int_equal(port.last.inside_id, id_of(A));
	assert_string_equal(port.last.inside, A);
	expect_last(controller, "event", "detail",
		    "restored to 'pid 6 and 2 children in user.slice'");
	expect_last(controller, "drift", "cgroup", A);
	expect_last(controller, "drift", "wanted", "pid 6 in cgroup 1500");
	expect_last(controller, "drift", "found", "pid 6 in " A);
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

/* It is a member of the one and a stranger in the other. */
static void from_one_container_into_another_is_back_in_the_first(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	tell_move(controller, 5, id_of(A), id_of(B));
	assert_int_equal(port.last.home_id, id_of(A));
	assert_int_equal(port.last.inside_id, id_of(B));
	assert_string_equal(port.last.inside, B);
	expect_last(controller, "drift", "cgroup", A);
	end(controller);
}

/* Otherwise a stranger would be a member of the container that it was in for a moment. */
static void of_several_moves_the_first_place_counts(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 6, 0, id_of(A));
	tell_move(controller, 6, id_of(A), id_of(B));
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.last.home_id, 0);
	assert_int_equal(port.last.from_id, OUTSIDE);
	assert_int_equal(port.last.inside_id, id_of(B));
	/* Once it was put right, where it is counts again. */
	pass(controller, 400 * S);
	tell_move(controller, 6, id_of(B), 0);
	assert_int_equal(port.last.home_id, id_of(B));
	end(controller);
}

/* --- what is left alone ------------------------------------------------------------------------- */

static void auditing_leaves_it_and_reports(void **state)
{
	const enum enforcement modes[] = {ENFORCEMENT_AUDIT, ENFORCEMENT_OFF};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct controller *controller = start_with(modes[i]);

		tell_move(controller, 5, id_of(A), 0);
		tell_move(controller, 6, 0, id_of(A));
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
	struct event_record event = moved(5, id_of(A), 0);

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
		tell_move(controller, 5, id_of(A), 0);
		pass(controller, 10 * S);
		assert_int_equal(port.nr_calls, 1);
		expect_last(controller, "drift", "open", "false");
		expect_last(controller, "drift", "action", "none");
		expect_last(controller, "event", "kind", "move");
		expect_finding(controller, "members_not_repaired", "");
		end(controller);
	}
}

/* Both moves were over before the first was heard of, so the process is at home when it is looked for. */
static void a_member_that_was_put_back_is_no_stranger(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	const uint64_t home = id_of(A);

	port.result = -EALREADY;
	tell_move(controller, 42, home, 0);
	assert_int_equal(port.nr_calls, 1);
	tell_move(controller, 42, 0, home);
	pass(controller, 10 * S);
	assert_int_equal(port.nr_calls, 1);
	/* And again: it still is a member, whoever comes first. */
	tell_move(controller, 42, home, 0);
	assert_int_equal(port.nr_calls, 2);
	assert_int_equal(port.last.home_id, home);
	tell_move(controller, 42, 0, home);
	assert_int_equal(port.nr_calls, 2);
	end(controller);
}

/* Earlier moves of the same writer were only counted: it may be a member that comes home. */
static void after_moves_that_were_only_counted_nobody_is_driven_out(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	struct event_record event = moved(42, 0, id_of(A));

	event.suppressed = 3;
	tell(controller, &event);
	assert_int_equal(port.nr_calls, 0);
	end(controller);
}

/* Its move there has an event of its own, unless the agent did it: then it stays. */
static void in_another_container_it_is_looked_for_a_few_times(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.result = -EAGAIN;
	tell_move(controller, 5, id_of(A), 0);
	for (unsigned int i = 0; i < 10; i++)
		pass(controller, S);
	assert_int_equal(port.nr_calls, 3);
	expect_last(controller, "drift", "open", "false");
	end(controller);
}

/* --- waits, fights, failures -------------------------------------------------------------------- */

static void a_busy_pod_is_asked_again(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of(A), 0);
	expect_last(controller, "drift", "open", "true");
	expect_metric(controller, "pinfold_drift_open{attribute=\"members\"} 1\n");
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
	tell_move(controller, 5, id_of(A), 0);
	pass(controller, 3 * S);
	assert_int_equal(port.nr_calls, 1);
	expect_finding(controller, "operation_waiting", "cgroup_procs_write of 5");
	/* Somebody moved it on meanwhile: it is looked at once more. */
	tell_move(controller, 5, id_of(A), id_of(B));
	port.is_late = false;
	end_move();
	pass(controller, 2 * S);
	assert_int_equal(port.nr_calls, 2);
	assert_int_equal(port.last.inside_id, id_of(B));
	assert_int_equal(port.last.home_id, id_of(A));
	expect_last(controller, "drift", "open", "false");
	end(controller);
}

static void a_fight_slows_down_and_names_the_opponent(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);
	unsigned int nr_calls;

	for (unsigned int i = 0; i < BACKOFF_FIGHT; i++) {
		expect_finding(controller, "members_contested", "");
		tell_move(controller, 5, id_of(A), 0);
		pass(controller, 10 * S);
	}
	assert_int_equal(port.nr_calls, BACKOFF_FIGHT);
	expect_finding(
		controller, "members_contested",
		"the agent moved pid 5 of container exclusive of pod default/a back 3 times, and "
		"each time it was moved again, last by culprit (pid 77) of pinfold.slice");
	/* The next one is due 4 s after the last, which was 10 s ago; and then 8 s. */
	tell_move(controller, 5, id_of(A), 0);
	nr_calls = port.nr_calls;
	assert_int_equal(nr_calls, BACKOFF_FIGHT + 1);
	tell_move(controller, 5, id_of(A), 0);
	pass(controller, 7 * S);
	assert_int_equal(port.nr_calls, nr_calls);
	expect_last(controller, "drift", "open", "true");
	/* That is no matter of other processes. */
	tell_move(controller, 8, id_of(A), 0);
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

static void a_failed_move_is_told_and_tried_again(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.result = -EBUSY;
	tell_move(controller, 5, id_of(A), 0);
	expect_finding(controller, "members_not_repaired", "no way");
	expect_metric(controller,
		      "pinfold_drift_repaired_total{attribute=\"members\",result=\"failed\"} 1\n");
	expect_last(controller, "drift", "open", "true");
	port.result = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 2);
	expect_finding(controller, "members_not_repaired", "");
	expect_finding(controller, "members_contested", "");
	expect_last(controller, "drift", "action", "repair");
	end(controller);
}

static void a_reload_that_only_audits_ends_what_waits(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	tell_move(controller, 5, id_of(A), 0);
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = ENFORCEMENT_AUDIT;
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 1);
	expect_last(controller, "drift", "open", "false");
	expect_last(controller, "drift", "action", "audit");
	end(controller);
}

static void more_processes_than_are_followed_are_only_reported(void **state)
{
	struct controller *controller = start_with(ENFORCEMENT_ENFORCE);

	port.error = -EBUSY;
	for (uint32_t i = 0; i < MEMBERS_MAX + 1; i++)
		tell_move(controller, 100 + i, id_of(A), 0);
	assert_int_equal(port.nr_calls, MEMBERS_MAX);
	port.error = 0;
	pass(controller, S);
	assert_int_equal(port.nr_calls, 2 * MEMBERS_MAX);
	/* Those that are back make room. */
	tell_move(controller, 50, id_of(A), 0);
	assert_int_equal(port.last.pid, 50);
	end(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)
		TEST(a_member_goes_back_where_it_was),
		TEST(a_stranger_leaves),
		TEST(a_place_without_a_name_has_no_path),
		TEST(from_one_container_into_another_is_back_in_the_first),
		TEST(of_several_moves_the_first_place_counts),
		TEST(auditing_leaves_it_and_reports),
		TEST(without_a_start_time_nothing_is_moved),
		TEST(what_has_ended_or_gone_back_is_closed_without_a_repair),
		TEST(a_member_that_was_put_back_is_no_stranger),
		TEST(after_moves_that_were_only_counted_nobody_is_driven_out),
		TEST(in_another_container_it_is_looked_for_a_few_times),
		TEST(a_busy_pod_is_asked_again),
		TEST(a_move_that_waits_in_the_kernel_is_told),
		TEST(a_fight_slows_down_and_names_the_opponent),
		TEST(a_failed_move_is_told_and_tried_again),
		TEST(a_reload_that_only_audits_ends_what_waits),
		TEST(more_processes_than_are_followed_are_only_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
