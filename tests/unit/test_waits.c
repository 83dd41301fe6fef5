// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What an operator reads about calls that do not return: who waits, for what, how long, where. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "ctl/ready.h"
#include "lib/log.h"
#include "node_scene.h"

/* The place in the kernel depends on the cgroup, so that none is taken for another. */
static void path_waits_in(void *self, const char *path, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "at %s", *path ? path : "the look");
}

static struct pod_spec *pods[2];
static struct controller *controller;

static int start_scene(void **state)
{
	int r = set_up_node(state);

	if (r)
		return r;
	groups.waits_in = path_waits_in;
	pods[0] = fake_pod("a", "exclusive", 4000, true);
	pods[1] = fake_pod("w", "web", 500, false);
	controller = start_node(&fake_side_port);
	return 0;
}

static int end_scene(void **state)
{
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
	return tear_down(state);
}

static void be_slow_with(const char *path, enum group_file file)
{
	snprintf(fake->slow_path, sizeof(fake->slow_path), "%s", path);
	fake->slow_file = file;
}

static void expect_wait(const char *wanted)
{
	struct waiting waiting;
	char text[512];

	ctl_longest_wait(controller, &waiting);
	ctl_wait_sentence(controller, &waiting, text, sizeof(text));
	assert_string_equal(text, wanted);
}

/* The remedy of the finding operation_waiting; "" = there is no such finding. */
static const char *remedy(void)
{
	for (uint32_t i = 0; i < controller->findings.nr; i++)
		if (controller->findings.rows[i].kind == FINDING_OPERATION_WAITING)
			return controller->findings.rows[i].remedy;
	return "";
}

static void pass(uint64_t ns)
{
	fake->now_ns += ns;
	controller_tick(controller);
}

static void a_process_joins_web(void)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *body = json_object_new_object(), *answer = NULL;
	unsigned int status;

	fake->slow_join = true;
	json_object_object_add(body, "pod", json_object_new_string("default/w"));
	json_object_object_add(body, "container", json_object_new_string("web"));
	assert_int_equal(faces->command(faces->self, 1, "run", "", body, getpid(), &answer,
					&status),
			 -EINPROGRESS);
	json_object_put(body);
}

/* --- operations ------------------------------------------------------------------------------- */

static void creation_and_removal_are_named(void **state)
{
	be_slow_with("poduid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	pass(2 * S);
	expect_wait("pod default/a has waited 2 s for the creation of "
		    "pinfold.slice/poduid-a (in at pinfold.slice/poduid-a)");
	assert_string_equal(remedy(),
			    "the operation cannot be cancelled; other pods remain enforced. If "
			    "pinfoldd(8) lists the function under WAITING, it also gives a remedy");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	assert_string_equal(remedy(), "");
	controller_wake(controller);
	be_slow_with("exclusive", GROUP_FILE_NR);
	scan(controller, NULL, 0);
	expect_wait("pod with uid uid-a has waited 0 s for the removal of "
		    "pinfold.slice/poduid-a/exclusive (in at pinfold.slice/poduid-a/exclusive)");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

static void the_longest_wait_is_named_and_the_others_are_counted(void **state)
{
	scan(controller, pods, 2);
	be_slow_with("exclusive", GROUP_CPU_WEIGHT);
	tamper("exclusive", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	fake->now_ns += S;
	a_process_joins_web();
	expect_wait("pod default/a has waited 1 s for the write of "
		    "pinfold.slice/poduid-a/exclusive/cpu.weight (in at "
		    "pinfold.slice/poduid-a/exclusive); 1 more such operation waits");
	fake->now_ns += S;
	fake->slow_save = true;
	scan(controller, pods, 1);
	expect_wait("pod default/a has waited 2 s for the write of "
		    "pinfold.slice/poduid-a/exclusive/cpu.weight (in at "
		    "pinfold.slice/poduid-a/exclusive); 2 more such operations wait");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	expect_wait("pod with uid uid-w has waited 1 s for a process to join "
		    "pinfold.slice/poduid-w/web (in at pinfold.slice/poduid-w/web); 1 more such "
		    "operation waits");
	fake_end_join(controller, 0);
	expect_wait("every new grant has waited 0 s for the write of the state file "
		    "(in fake_fsync)");
	fake->slow_save = false;
	fake_end_save(controller, 0);
}

/* The row of a later operation may come first. */
static void an_earlier_operation_may_be_listed_later(void **state)
{
	scan(controller, pods, 2);
	a_process_joins_web();
	fake->now_ns += S;
	be_slow_with("exclusive", GROUP_CPU_WEIGHT);
	tamper("exclusive", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	controller->operations.rows[1].since_ns = controller->operations.rows[0].since_ns - S;
	expect_wait("pod default/a has waited 2 s for the write of "
		    "pinfold.slice/poduid-a/exclusive/cpu.weight (in at "
		    "pinfold.slice/poduid-a/exclusive); 1 more such operation waits");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	fake_end_join(controller, 0);
}

static void each_operation_has_a_sentence_after_a_second(void **state)
{
	struct waiting waiting;

	scan(controller, pods, 1);
	be_slow_with("exclusive", GROUP_CPU_WEIGHT);
	tamper("exclusive", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	pass(S - 1);
	assert_string_equal(controller->operations.rows[0].told, "");
	assert_string_equal(remedy(), "");
	pass(1);
	assert_string_equal(controller->operations.rows[0].told,
			    "pod default/a has waited 1 s for the write of "
			    "pinfold.slice/poduid-a/exclusive/cpu.weight (in at "
			    "pinfold.slice/poduid-a/exclusive)");
	assert_string_not_equal(remedy(), "");
	ctl_describe_wait(controller, &controller->operations.rows[0], &waiting);
	assert_int_equal(waiting.nr, 1);
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

/* --- readiness -------------------------------------------------------------------------------- */

static void a_pod_waits_for_a_join_that_takes_long(void **state)
{
	const struct ledger_pod *pod;

	scan(controller, pods, 2);
	a_process_joins_web();
	pod = ledger_find(controller->ledger, "uid-w");
	assert_non_null(pod);
	assert_int_equal(ctl_pod_condition(controller, pod), CONDITION_RUNNING);
	pass(S);
	assert_int_equal(ctl_pod_condition(controller, pod), CONDITION_WAITING);
	fake_end_join(controller, 0);
	assert_int_equal(ctl_pod_condition(controller, pod), CONDITION_RUNNING);
}

/* A step that goes on may end in time, but brings no CPU online. */
static void a_step_under_way_does_not_excuse_an_offline_cpu(void **state)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[256];

	scan(controller, pods, 2);
	be_slow_with("exclusive", GROUP_CPU_WEIGHT);
	tamper("exclusive", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	assert_true(faces->ready(faces->self, reason, sizeof(reason)));
	tell_online(controller, "0-4,6-15");
	controller_wake(controller);
	assert_true(fake->has_step);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	assert_string_equal(reason, "pod default/a is not enforced: CPU 5 of container exclusive "
				    "is offline: bring it online, or restart pinfoldd to move the "
				    "pod");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

/* --- other waits ------------------------------------------------------------------------------ */

static void a_look_is_named(void **state)
{
	scan(controller, pods, 2);
	fake->slow_look = true;
	controller_wake(controller);
	fake->now_ns += 3 * S;
	expect_wait("every pod has waited 3 s for a read of the cgroups below "
		    "pinfold.slice (in at the look)");
	/* What waits longer than a join comes first, whatever it is. */
	a_process_joins_web();
	fake->now_ns += S;
	expect_wait("every pod has waited 4 s for a read of the cgroups below "
		    "pinfold.slice (in at the look); 1 more such operation waits");
	fake_end_join(controller, 0);
	fake->slow_look = false;
	fake_end_look(controller);
}

static void a_save_is_named_with_its_remedy(void **state)
{
	fake->slow_save = true;
	scan(controller, pods, 1);
	pass(S);
	expect_wait("every new grant has waited 1 s for the write of the state file "
		    "(in fake_fsync)");
	assert_string_equal(remedy(),
			    "check the disk of stateDirectory, and whether its file system is "
			    "frozen; running pods remain enforced");
	fake->slow_save = false;
	fake->wake_ns = 0;
	fake_end_save(controller, 0);
	/* It is over, and whoever waited for it goes on at once. */
	assert_string_equal(remedy(), "");
	assert_int_equal(fake->wake_ns, fake->now_ns);
}

/* The names of an event are looked up one after the other; nobody knows where that waits. */
static void the_name_that_is_looked_up_is_told(void **state)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;
	struct event_record event = EVENT_RECORD(EVENT_GUARD);
	struct group_status status;
	struct waiting waiting;
	char text[512], wanted[128];

	scan(controller, pods, 2);
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-w/web", &status), 0);
	event.culprit_id = status.cgroup_id;
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-a/exclusive", &status), 0);
	event.target_id = status.cgroup_id;
	fake->slow_name = true;
	sink->event(sink->self, &event);
	snprintf(wanted, sizeof(wanted), "every event has waited 0 s for the name of cgroup %llu",
		 (unsigned long long)event.culprit_id);
	/* A sentence that has a place before one that has none. */
	be_slow_with("exclusive", GROUP_CPU_WEIGHT);
	tamper("exclusive", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	ctl_describe_wait(controller, &controller->operations.rows[0], &waiting);
	ctl_wait_sentence(controller, &waiting, text, sizeof(text));
	assert_non_null(strstr(text, " (in at "));
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	expect_wait(wanted);
	fake_end_name(controller);
	snprintf(wanted, sizeof(wanted), "every event has waited 0 s for the name of cgroup %llu",
		 (unsigned long long)event.target_id);
	expect_wait(wanted);
	fake_end_name(controller);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void what_is_due_is_overdue(void **state)
{
	char reason[256] = "unchanged";

	scan(controller, pods, 1);
	assert_false(ctl_is_overdue(controller, 0, reason, sizeof(reason)));
	assert_string_equal(reason, "unchanged");
	fake->slow_save = true;
	scan(controller, NULL, 0);
	fake->now_ns += 5 * S - 1;
	assert_false(ctl_is_overdue(controller, 5 * S, reason, sizeof(reason)));
	fake->now_ns += 1;
	assert_true(ctl_is_overdue(controller, 5 * S, reason, sizeof(reason)));
	assert_non_null(strstr(reason, "every new grant has waited 5 s"));
	fake->slow_save = false;
	fake_end_save(controller, 0);
}

/* Each size has its own memory, whose end the sanitizer guards. */
static void a_sentence_is_cut_to_its_buffer(void **state)
{
	const struct waiting waiting = {
		.nr = 3, .longest_ns = S, .who = "it", .what = "that", .kind = WAIT_FOR_NAME};
	const char whole[] = "it has waited 1 s for that; 2 more such operations wait";

	for (size_t size = 1; size <= sizeof(whole) + 4; size++) {
		char *text = malloc(size);

		assert_non_null(text);
		ctl_wait_sentence(controller, &waiting, text, size);
		assert_int_equal(strlen(text), size < sizeof(whole) ? size - 1 : sizeof(whole) - 1);
		assert_memory_equal(text, whole, strlen(text));
		free(text);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(creation_and_removal_are_named),
		TEST(the_longest_wait_is_named_and_the_others_are_counted),
		TEST(an_earlier_operation_may_be_listed_later),
		TEST(each_operation_has_a_sentence_after_a_second),
		TEST(a_pod_waits_for_a_join_that_takes_long),
		TEST(a_step_under_way_does_not_excuse_an_offline_cpu),
		TEST(a_look_is_named),
		TEST(a_save_is_named_with_its_remedy),
		TEST(the_name_that_is_looked_up_is_told),
		TEST(what_is_due_is_overdue),
		TEST(a_sentence_is_cut_to_its_buffer),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
