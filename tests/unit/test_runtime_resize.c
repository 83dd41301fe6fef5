// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Resize in place of a runtime's containers: who is told what and when, what is refused, and what
 * is durable. The machine has CPUs 0 to 15, of which 0 and 1 are reserved.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_scene.h"

static void expect_held(struct controller *controller, const char *uid, const char *cpus)
{
	assert_string_equal(pod_member(controller, uid, "held"), cpus);
}

/* --- CPUs --------------------------------------------------------------------------------------- */

static void who_grows_keeps_its_cpus_and_others_leave_first(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "b", "main", "excl-2", 2000);
	create(controller, "c", "main", "shared-1", 500);
	assert_true(resize(controller, "a", "main", "excl-1", 6000));
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5,8-9");
	assert_string_equal(cpus_at("excl-2"), "6-7");
	assert_string_equal(cpus_at("shared-1"), "10-15");
	end_update(controller);
	expect_held(controller, "a", "2-5,8-9");
	assert_string_equal(pod_member(controller, "a", "state"), "running");
	assert_non_null(strstr(pod_member(controller, "a", "detail"),
			       "the container runtime made its cgroups"));
	controller_free(controller);
}

/* The runtime changes it last, so nobody gets its CPUs in the same answer. */
static void what_is_given_up_is_given_with_the_next_answer(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 2000);
	create(controller, "c", "main", "shared-1", 500);
	resize(controller, "a", "main", "excl-1", 6000);
	end_update(controller);
	assert_string_equal(cpus_at("excl-1"), "2-7");
	resize(controller, "a", "main", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(cpus_at("shared-1"), "8-15");
	end_update(controller);
	expect_held(controller, "a", "2-5");
	stop(controller, "unknown");
	assert_string_equal(cpus_at("shared-1"), "6-15");
	controller_free(controller);
}

/* A limit that the kernel refuses, for example; the next answer repeats what is due. */
static void what_the_runtime_could_not_do_is_repeated(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 2000);
	create(controller, "c", "main", "shared-1", 500);
	node.cannot_update = true;
	resize(controller, "a", "main", "excl-1", 6000);
	assert_string_equal(cpus_at("excl-1"), "2-3");
	end_update(controller);
	stop(controller, "unknown");
	assert_string_equal(cpus_at("excl-1"), "2-7");
	assert_string_equal(cpus_at("shared-1"), "8-15");
	node.cannot_update = true;
	resize(controller, "a", "main", "excl-1", 2000);
	assert_string_equal(cpus_at("excl-1"), "2-7");
	end_update(controller);
	/* A creation takes them away before somebody else gets them. */
	create(controller, "b", "main", "excl-2", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-3");
	assert_string_equal(cpus_at("excl-2"), "4-7");
	controller_free(controller);
}

/* It may still run there, and a pod of a manifest has got the CPUs. */
static void who_was_not_changed_yet_is_behind(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 12000);

	create(controller, "a", "main", "excl-1", 2000);
	resize(controller, "a", "main", "excl-1", 6000);
	end_update(controller);
	resize(controller, "a", "main", "excl-1", 2000);
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	scan(controller, &spec, 1);
	expect_held(controller, "m", "4-15");
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"), 1);
	end_update(controller);
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	pod_spec_free(spec);
	controller_free(controller);
}

/* It is on CPUs that a pod of a manifest has got, whatever the update was about. */
static void who_shares_and_could_not_be_changed_is_still_behind(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 4000);

	create(controller, "c", "main", "shared-1", 500);
	scan(controller, &spec, 1);
	expect_held(controller, "m", "2-5");
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"), 1);
	node.cannot_update = true;
	resize(controller, "c", "main", "shared-1", 700);
	end_update(controller);
	assert_string_equal(cpus_at("shared-1"), "2-15");
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"), 1);
	resize(controller, "c", "main", "shared-1", 700);
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"), 1);
	end_update(controller);
	assert_string_equal(cpus_at("shared-1"), "6-15");
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	pod_spec_free(spec);
	controller_free(controller);
}

/* A manifest's pod is refused; a container gives up enough, but its runtime has not said so yet. */
static struct controller *start_with_cpus_given_up(struct pod_spec **spec)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 2000);
	resize(controller, "a", "main", "excl-1", 6000);
	end_update(controller);
	scan(controller, spec, 1);
	expect_held(controller, "m", "");
	resize(controller, "a", "main", "excl-1", 4000);
	expect_held(controller, "m", "");
	return controller;
}

static void a_refused_pod_of_a_manifest_gets_what_was_given_up(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 10000);
	struct controller *controller = start_with_cpus_given_up(&spec);

	end_update(controller);
	expect_held(controller, "m", "6-15");
	pod_spec_free(spec);
	controller_free(controller);
}

/*
 * The runtime asks something else before it says that it has changed the container, or it never
 * says so: then it carries out the change with the next answer.
 */
static void what_was_given_up_is_not_forgotten_without_its_event(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 10000);
	struct controller *controller = start_with_cpus_given_up(&spec);

	stop(controller, "unknown");
	expect_held(controller, "m", "6-15");
	end_update(controller);
	expect_held(controller, "m", "6-15");
	pod_spec_free(spec);
	controller_free(controller);
}

/* It was resized while the agent was not connected. */
static void what_a_session_begins_with_leaves_cpus_too(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 10000);
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec container = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container running = {
		.id = "excl-1", .pod = &sandbox, .spec = &container, .cpus = "2-7"};

	create(controller, "a", "main", "excl-1", 4000);
	resize(controller, "a", "main", "excl-1", 6000);
	end_update(controller);
	scan(controller, &spec, 1);
	expect_held(controller, "m", "");
	synchronize(controller, &sandbox, 1, &running, 1);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	expect_held(controller, "m", "6-15");
	pod_spec_free(spec);
	controller_free(controller);
}

/* Nobody has to shrink or grow, and nothing is granted. */
static void amounts_of_a_shared_container_change_nothing(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "shared-1", 500);
	resize(controller, "a", "main", "shared-1", 700);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("shared-1"), "2-15");
	assert_int_equal(nr_events(controller, "admit"), 1);
	controller_free(controller);
}

static void the_other_containers_of_a_pod_keep_what_they_have(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "one", "excl-1", 2000);
	create(controller, "a", "two", "excl-2", 2000);
	resize(controller, "a", "one", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-3,6-7");
	assert_string_equal(cpus_at("excl-2"), "4-5");
	expect_held(controller, "a", "2-7");
	controller_free(controller);
}

/* --- refusals ----------------------------------------------------------------------------------- */

static void a_size_that_cannot_be_had_is_denied_with_the_nearest_one(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "b", "main", "excl-2", 8000);
	resize(controller, "a", "main", "excl-1", 8000);
	assert_string_equal(node.refusal,
			    "pinfold: UnexpectedAdmissionError: container main asks for 8 "
			    "exclusive CPUs, but only 6 are free (of 16 CPUs: 2 reserved, 8 held "
			    "by other pods); fits with 6 CPUs for container main");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	expect_metric(controller,
		      "\npinfold_admissions_total{result=\"rejected\",reason=\"cpus\"} 1\n");
	/* Below the CPUs of its admission. */
	resize(controller, "a", "main", "excl-1", 3000);
	assert_non_null(strstr(node.refusal,
			       "prohibitedCPUAllocationError: container main asks for 3 exclusive "
			       "CPUs, but a resize in place keeps 4: those of the admission; fits "
			       "with 4 CPUs"));
	/* To the shared pool. */
	resize(controller, "a", "main", "excl-1", 3500);
	assert_non_null(strstr(node.refusal,
			       "inconsistentCPUAllocationError: container main asks for 3500m CPU, "
			       "which would put it on the shared pool, but a resize in place keeps "
			       "its 4 exclusive CPUs; fits with 4 CPUs"));
	expect_held(controller, "a", "2-5");
	assert_int_equal(nr_events(controller, "refuse"), 3);
	controller_free(controller);
}

static void a_shared_container_does_not_become_exclusive(void **state)
{
	struct controller *controller = start();
	struct container_spec spec = container_of("log", 500);
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "c", .pod = &sandbox, .spec = &spec, .cpus = ""};

	strcpy(node.creating, "c");
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	assert_string_equal(cpus_at("c"), "2-15");
	resize(controller, "a", "log", "c", 2000);
	assert_non_null(strstr(node.refusal,
			       "inconsistentCPUAllocationError: container log asks for 2000m CPU, "
			       "which would be exclusive, but it shares, and a resize in place "
			       "keeps it on the shared pool"));
	expect_held(controller, "a", "");
	controller_free(controller);
}

/* The runtime changes weight and limits; the CPUs stay. */
static void it_keeps_its_cpus_if_the_operator_prefers_that(void **state)
{
	struct controller *controller;
	unsigned int nr;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	create(controller, "a", "main", "excl-1", 4000);
	resize(controller, "a", "main", "excl-1", 2000);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	nr = nr_events(controller, "refuse");
	assert_int_equal(nr, 1);
	/* Another update that says nothing of amounts is not decided. */
	update_otherwise(controller, ++node.request, "excl-1");
	assert_int_equal(nr_events(controller, "refuse"), nr);
	controller_free(controller);
}

/* It shares since there was no room for it, and there is now. */
static void who_had_to_share_is_decided_anew(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	create(controller, "b", "main", "excl-2", 12000);
	create(controller, "a", "main", "c", 4000);
	assert_string_equal(cpus_at("c"), "6-7");
	remove_container(controller, "excl-2");
	resize(controller, "a", "main", "c", 6000);
	assert_string_equal(cpus_at("c"), "2-7");
	expect_held(controller, "a", "2-7");
	controller_free(controller);
}

/* What it leaves is the pool that it shared, so the others lose only what it gets. */
static void others_leave_the_cpus_of_one_that_had_to_share(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	create(controller, "a", "main", "excl-1", 12000);
	create(controller, "c", "main", "shared-2", 500);
	create(controller, "b", "main", "shared-1", 4000);
	remove_container(controller, "excl-1");
	forget("excl-1");
	stop(controller, "unknown");
	assert_string_equal(cpus_at("shared-2"), "2-15");
	resize(controller, "b", "main", "shared-1", 4000);
	end_update(controller);
	assert_string_equal(cpus_at("shared-1"), "2-5");
	assert_string_equal(cpus_at("shared-2"), "6-15");
	controller_free(controller);
}

/* Amounts from which no kubelet could have made a Guaranteed pod are somebody else's. */
static void amounts_that_no_kubelet_states_are_not_decided(void **state)
{
	struct controller *controller = start();
	struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 500);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = "2-5"};

	create(controller, "a", "main", "excl-1", 4000);
	pod.has_pod_resources = true;
	node.request++;
	sink_of(controller)->resized(controller, node.request, &container, true);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	/* An agent that has restarted meets it as it is. */
	controller_free(controller);
	controller = start_controller();
	synchronize(controller, &sandbox, 1, &container, 1);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_int_equal(nr_events(controller, "refuse"), 0);
	assert_non_null(strstr(pod_member(controller, "a", "detail"),
			       "the container runtime made its cgroups"));
	controller_free(controller);
}

static void a_container_that_nobody_knows_is_not_decided(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	assert_true(resize(controller, "a", "main", "unknown", 6000));
	assert_true(resize(controller, "a", "other", "excl-1", 6000));
	assert_true(resize(controller, "b", "main", "excl-1", 6000));
	assert_string_equal(node.refusal, "");
	expect_held(controller, "a", "2-5");
	sink_of(controller)->updated(controller, "unknown");
	controller_free(controller);
}

/* --- what is told ------------------------------------------------------------------------------- */

static void a_resize_is_counted_and_told(void **state)
{
	struct controller *controller = start();
	struct json_object *events;
	const char *detail = "";

	create(controller, "a", "main", "excl-1", 4000);
	fake->slow_save = true;
	resize(controller, "a", "main", "excl-1", 6000);
	fake->now_ns += 1000000;
	fake_end_save(controller, 0);
	events = query(controller, "event");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "kind")), "admit"))
			detail = json_object_get_string(json_object_object_get(row, "detail"));
	}
	assert_string_equal(detail, "resized in place");
	json_object_put(events);
	expect_metric(controller,
		      "\npinfold_admissions_total{result=\"admitted\",reason=\"none\"} 2\n");
	expect_metric(controller, "\npinfold_container_assignments_total{resource_name=\"cpu\","
				  "assignment_type=\"node_exclusive\"} 2\n");
	expect_metric(controller, "\nresource_manager_allocations_total{resource_name=\"cpu\","
				  "source=\"node\"} 2\n");
	expect_metric(controller, "\npinfold_resizes_total{result=\"admitted\"} 1\n");
	expect_metric(controller, "\npinfold_admission_duration_seconds_count 2\n");
	expect_metric(controller, "\npinfold_admission_duration_seconds_sum 0.001");
	controller_free(controller);
}

/* --- the state file ----------------------------------------------------------------------------- */

static void it_waits_for_the_state_file(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	fake->slow_save = true;
	assert_false(resize(controller, "a", "main", "excl-1", 6000));
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	fake_end_save(controller, 0);
	assert_string_equal(cpus_at("excl-1"), "2-7");
	fake->slow_save = false;
	/* An agent that starts now knows the size, and the CPUs of the admission. */
	controller_free(controller);
	controller = start_controller();
	expect_held(controller, "a", "2-7");
	controller_free(controller);
}

static void without_a_state_file_it_is_denied(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	fake->save_error = -ENOSPC;
	resize(controller, "a", "main", "excl-1", 6000);
	assert_non_null(strstr(node.refusal, "the state file cannot be written"));
	expect_held(controller, "a", "2-5");
	fake->save_error = 0;
	fake->slow_save = true;
	resize(controller, "a", "main", "excl-1", 7000);
	fake_end_save(controller, -EIO);
	assert_non_null(strstr(node.refusal, "Input/output error"));
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	controller_free(controller);
}

static void without_a_state_file_it_may_keep_its_cpus(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	create(controller, "a", "main", "excl-1", 4000);
	fake->slow_save = true;
	assert_false(resize(controller, "a", "main", "excl-1", 6000));
	fake_end_save(controller, -EIO);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	expect_held(controller, "a", "2-5");
	controller_free(controller);
}

static void it_may_end_while_it_waits(void **state)
{
	struct controller *controller = start();
	uint32_t nr_answers;

	create(controller, "a", "main", "excl-1", 4000);
	fake->slow_save = true;
	resize(controller, "a", "main", "excl-1", 6000);
	nr_answers = node.nr_answers;
	*node.updating = '\0';
	remove_container(controller, "excl-1");
	while (fake->is_saving)
		fake_end_save(controller, 0);
	assert_int_equal(node.nr_answers, nr_answers + 1);
	assert_string_equal(node.refusal, "");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* --- a new session ------------------------------------------------------------------------------ */

static void resynchronize(struct controller *controller, int64_t mcpu, const char *cpus,
			  const char *shared)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), c = pod_of("c", QOS_BURSTABLE);
	const struct container_spec spec = container_of("main", mcpu),
				    part = container_of("main", 500);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "c", .spec = &c}};
	const struct runtime_container rows[] = {
		{.id = "shared-1", .pod = &pods[1], .spec = &part, .cpus = shared},
		{.id = "excl-1", .pod = &pods[0], .spec = &spec, .cpus = cpus},
	};

	*node.updating = '\0';
	synchronize(controller, pods, 2, rows, 2);
}

static void a_resize_that_nobody_heard_is_made_good(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 2000);
	create(controller, "c", "main", "shared-1", 500);
	resynchronize(controller, 6000, "2-3", "4-15");
	assert_string_equal(cpus_at("excl-1"), "2-7");
	assert_string_equal(cpus_at("shared-1"), "8-15");
	/* It leaves its CPUs before others get them. */
	resynchronize(controller, 4000, "2-7", "8-15");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(cpus_at("shared-1"), "6-15");
	expect_held(controller, "a", "2-5");
	assert_int_equal(nr_events(controller, "admit"), 4);
	/* The CPUs of its admission stay, whatever it runs with. */
	resynchronize(controller, 1000, "2-5", "6-15");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_int_equal(nr_events(controller, "refuse"), 1);
	controller_free(controller);
}

/* The agent ended between its record and its answer. */
static void an_answer_that_was_lost_is_repeated(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 2000);
	create(controller, "c", "main", "shared-1", 500);
	node.error = -ENOTCONN;
	resize(controller, "a", "main", "excl-1", 6000);
	assert_string_equal(cpus_at("excl-1"), "2-3");
	node.error = 0;
	/* The runtime went on without it. */
	resynchronize(controller, 6000, "2-3", "4-15");
	assert_string_equal(cpus_at("excl-1"), "2-7");
	assert_string_equal(cpus_at("shared-1"), "8-15");
	controller_free(controller);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(who_grows_keeps_its_cpus_and_others_leave_first),
		TEST(what_is_given_up_is_given_with_the_next_answer),
		TEST(what_the_runtime_could_not_do_is_repeated),
		TEST(who_was_not_changed_yet_is_behind),
		TEST(who_shares_and_could_not_be_changed_is_still_behind),
		TEST(a_refused_pod_of_a_manifest_gets_what_was_given_up),
		TEST(what_was_given_up_is_not_forgotten_without_its_event),
		TEST(what_a_session_begins_with_leaves_cpus_too),
		TEST(amounts_of_a_shared_container_change_nothing),
		TEST(the_other_containers_of_a_pod_keep_what_they_have),
		TEST(a_size_that_cannot_be_had_is_denied_with_the_nearest_one),
		TEST(a_shared_container_does_not_become_exclusive),
		TEST(it_keeps_its_cpus_if_the_operator_prefers_that),
		TEST(who_had_to_share_is_decided_anew),
		TEST(others_leave_the_cpus_of_one_that_had_to_share),
		TEST(amounts_that_no_kubelet_states_are_not_decided),
		TEST(a_container_that_nobody_knows_is_not_decided),
		TEST(a_resize_is_counted_and_told),
		TEST(it_waits_for_the_state_file),
		TEST(without_a_state_file_it_is_denied),
		TEST(without_a_state_file_it_may_keep_its_cpus),
		TEST(it_may_end_while_it_waits),
		TEST(a_resize_that_nobody_heard_is_made_good),
		TEST(an_answer_that_was_lost_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
