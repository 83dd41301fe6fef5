// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * A pod from its manifest to its release: what is recorded, what is held while
 * something fails, and when that is tried again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "node_scene.h"

#define MS 1000000ULL

/* The events of one kind, as "pod container: detail" each, newest last. */
static const char *events_of(struct controller *controller, const char *kind)
{
	static char text[2048];
	struct json_object *list = query(controller, "event");
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (!strcmp(member(row, "kind"), kind))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s: %s\n",
						member(row, "pod"), member(row, "container"),
						member(row, "detail"));
	}
	json_object_put(list);
	return text;
}

static void expect_pod(struct controller *controller, const char *key, const char *wanted)
{
	struct json_object *pods = query(controller, "pod");

	assert_int_equal(json_object_array_length(pods), 1);
	assert_string_equal(member(json_object_array_get_idx(pods, 0), key), wanted);
	json_object_put(pods);
}

/* --- what is recorded ---------------------------------------------------------------------------------- */

static void each_change_of_state_is_an_event(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	assert_string_equal(events_of(controller, "admit"), "default/a null: granted\n");
	assert_string_equal(events_of(controller, "refuse"),
			    "default/b big: UnexpectedAdmissionError: container big asks for 12 "
			    "exclusive CPUs, but only 10 are free (of 16 CPUs: 2 reserved, 4 held "
			    "by other pods); fits with 10 CPUs for container big\n");
	/* The same answer once more is no news. */
	scan(controller, pods, 2);
	assert_null(strchr(strchr(events_of(controller, "refuse"), '\n') + 1, '\n'));
	/* Processes hold what their pod had. */
	populate(true);
	scan(controller, NULL, 0);
	scan(controller, NULL, 0);
	assert_string_equal(
		events_of(controller, "ending"),
		"default/a null: no source names the pod any more; its processes keep their CPUs until they end\n");
	expect_pod(controller, "state", "ending");
	expect_pod(controller, "detail",
		   "no source names it; some of its processes are still alive");
	/* Back again before they ended. */
	scan(controller, pods, 1);
	expect_pod(controller, "state", "running");
	expect_pod(controller, "detail", "null");
	assert_string_equal(events_of(controller, "admit"),
			    "default/a null: granted\ndefault/a null: its manifest has returned\n");
	assert_non_null(strstr(fake->state, "running"));
	populate(false);
	scan(controller, NULL, 0);
	assert_string_equal(events_of(controller, "release"),
			    "default/a null: its CPUs were returned to the shared pool\n");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_change_that_does_not_fit_is_rejected(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	pods[0]->containers->request.cpu_mcpu = 40000;
	pods[0]->containers->limit = pods[0]->containers->request;
	scan(controller, pods, 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	{
		struct json_object *list = query(controller, "pod");

		assert_non_null(strstr(member(json_object_array_get_idx(list, 0), "detail"),
				       "the changed manifest was rejected: "));
		json_object_put(list);
	}
	/* One that fits is. */
	pods[0]->containers->request.cpu_mcpu = 6000;
	pods[0]->containers->limit = pods[0]->containers->request;
	scan(controller, pods, 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-7");
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_non_null(strstr(events_of(controller, "admit"), "changed manifest was accepted"));
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- what cannot be told ----------------------------------------------------------------------------------- */

/* Nothing is freed on a guess. */
static void a_pod_of_unknown_state_keeps_its_cpus(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	fake->status_error = -EIO;
	scan(controller, NULL, 0);
	expect_pod(controller, "state", "ending");
	/* Its group is gone: nobody lives there. */
	fake->status_error = -ENOENT;
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Nothing was written for it yet, so nobody can live there. */
static void a_pod_without_cgroups_is_released_at_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	fake->read_error = -EIO;
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	scan(controller, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Which cgroups there are is not known before the first look, and somebody may live there. */
static void no_pod_is_released_before_the_first_look(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	populate(true);
	controller_free(controller);
	fake->slow_look = fake->stuck_look = true;
	controller = start_node(NULL);
	scan(controller, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(events_of(controller, "release"), "");
	fake->slow_look = fake->stuck_look = false;
	fake_end_look(controller);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	populate(false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void each_pod_that_ends_late_is_named(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	populate(true);
	scan(controller, NULL, 0);
	populate(false);
	controller_wake(controller);
	assert_string_equal(events_of(controller, "release"),
			    "default/b null: its CPUs were returned to the shared pool\n"
			    "default/a null: its CPUs were returned to the shared pool\n");
	controller_free(controller);
	free_pods(pods, 2);
}

static void an_emptied_group_triggers_a_look(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	scan(controller, pods, 1);
	fake->wake_ns = 0;
	sink->populated(sink->self, "pinfold.slice/poduid-a", true);
	assert_int_equal(fake->wake_ns, 0);
	sink->populated(sink->self, "pinfold.slice/poduid-a", false);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- documents that are wrong -------------------------------------------------------------------------------- */

static struct source_pod wrong_document(unsigned int line, const char *name)
{
	return (struct source_pod){
		.file = "pods.yaml", .line = line, .error = "field x: no", .name = name};
}

static void tell(struct controller *controller, const struct source_pod *pods, uint32_t nr)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;

	sink->scanned(sink->self, pods, nr, true);
}

static void a_document_without_a_name_is_known_by_its_place(void **state)
{
	const struct source_pod pods[] = {
		wrong_document(3, ""),
		wrong_document(9, ""),
		{.file = "other.yaml", .line = 9, .error = "z", .name = ""}};
	struct controller *controller = start_node(NULL);

	tell(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 3);
	expect_refusal(controller, 0, "reason", "InvalidPod");
	expect_refusal(controller, 0, "message", "pods.yaml: field x: no");
	expect_refusal(controller, 0, "wanted", "null");
	expect_refusal(controller, 0, "available", "null");
	/* Told again each is the same; the second goes, and only that one. */
	tell(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 3);
	tell(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "line", "3");
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	tell(controller, pods + 1, 2);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	tell(controller, NULL, 0);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_free(controller);
}

/* A document moves within its file as others grow: same answer, new line. */
static void a_refusal_moves_with_its_document(void **state)
{
	struct pod_spec *pods[] = {fake_pod("big", "big", 20000, true),
				   fake_pod("a", "web", 100, false)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	expect_refusal(controller, 0, "line", "1");
	{
		struct pod_spec *turned[] = {pods[1], pods[0]};

		scan(controller, turned, 2);
	}
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "line", "2");
	controller_free(controller);
	free_pods(pods, 2);
}

/* A pod ends only where no damaged document can be the one that named it. */
static void an_invalid_document_ends_no_other_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct source_pod same = wrong_document(1, "default/a"),
				nameless = wrong_document(1, ""),
				other = wrong_document(1, "default/b");
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	tell(controller, &same, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	tell(controller, &nameless, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	fake->wake_ns = 0;
	tell(controller, &other, 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	/* What a scan changed is applied without anybody's asking. */
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_full_disk_refuses_with_a_remedy(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	fake->save_error = -ENOSPC;
	scan(controller, pods, 1);
	expect_refusal(controller, 0, "reason", "UnexpectedAdmissionError");
	expect_refusal(controller, 0, "message",
		       "the state file cannot be written: No space left on device; no new pod is "
		       "admitted until it can be");
	expect_refusal(controller, 0, "suggestion",
		       "make stateDirectory writable and give it free space");
	expect_refusal(controller, 0, "wanted", "null");
	expect_refusal(controller, 0, "available", "null");
	controller_free(controller);
	free_pods(pods, 1);
}

/* A suggestion is what fits today, not what did when the pod was refused first. */
static void a_suggestion_follows_the_ledger(void **state)
{
	struct pod_spec *pods[] = {fake_pod("big", "big", 20000, true),
				   fake_pod("a", "web", 100, false),
				   fake_pod("b", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	expect_refusal(controller, 0, "suggestion", "fits with 14 CPUs for container big");
	/* Decided before the others: it hears of them with the next scan. */
	scan(controller, pods, 3);
	expect_refusal(controller, 0, "suggestion", "fits with 13 CPUs for container big");
	scan(controller, pods, 3);
	expect_refusal(controller, 0, "suggestion", "fits with 11 CPUs for container big");
	controller_free(controller);
	free_pods(pods, 3);
}

/* --- steps that fail ------------------------------------------------------------------------------------------ */

static unsigned int nr_tries;

static int counting_apply(void *self, const struct step *step, char error[GROUP_ERROR_MAX])
{
	nr_tries += fake->apply_error && step->kind == STEP_WRITE &&
		    step->file == GROUP_CPUSET_CPUS && !strcmp(step->path, fake->apply_path);
	return fake_apply(self, step, error);
}

/* The chain fails with this each time and is tried after each of the delays, no earlier. */
static void expect_delays(struct controller *controller, int error, const uint64_t *delays_ms,
			  size_t nr_delays)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};

	nr_tries = 0;
	fake->apply_error = error;
	strcpy(fake->apply_path, "pinfold.slice/poduid-a/exclusive");
	fake->wake_ns = 0;
	scan(controller, pods, 1);
	assert_int_equal(nr_tries, 1);
	for (size_t i = 0; i < nr_delays; i++) {
		/* It is woken for each next try; who looks before that does not try it. */
		if (i)
			assert_int_equal(fake->wake_ns, fake->now_ns + delays_ms[i] * MS);
		fake->now_ns += delays_ms[i] * MS - 1;
		controller_wake(controller);
		assert_int_equal(nr_tries, i + 1);
		fake->wake_ns = 0;
		fake->now_ns += 1;
		controller_wake(controller);
		assert_int_equal(nr_tries, i + 2);
	}
	free_pods(pods, 1);
}

static void a_removal_in_passes_continues_soon(void **state)
{
	static const uint64_t delays_ms[] = {100, 200, 400, 800, 1600, 2000, 2000};
	struct controller *controller;

	groups.apply = counting_apply;
	controller = start_node(NULL);
	expect_delays(controller, -EAGAIN, delays_ms, ARRAY_SIZE(delays_ms));
	controller_free(controller);
}

static void a_chain_that_fails_waits_longer_each_time(void **state)
{
	static const uint64_t delays_ms[] = {100,  200,	  400,	 800,	1600, 3200,
					     6400, 12800, 25600, 30000, 30000};
	struct controller *controller;

	groups.apply = counting_apply;
	controller = start_node(NULL);
	expect_delays(controller, -EIO, delays_ms, ARRAY_SIZE(delays_ms));
	/* What succeeds is forgotten: the next failure begins at the shortest delay. */
	fake->apply_error = 0;
	fake->now_ns += 30000 * MS;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_wake(controller);
	fake->apply_error = -EIO;
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	fake->wake_ns = 0;
	nr_tries = 0;
	controller_wake(controller);
	assert_int_equal(nr_tries, 1);
	assert_int_equal(fake->wake_ns, fake->now_ns + 100 * MS);
	controller_free(controller);
}

/* --- drift ---------------------------------------------------------------------------------------------------- */

static void expect_drift(struct controller *controller, size_t index, const char *key,
			 const char *wanted)
{
	struct json_object *list = query(controller, "drift");

	assert_true(index < json_object_array_length(list));
	assert_string_equal(member(json_object_array_get_idx(list, index), key), wanted);
	json_object_put(list);
}

static void drift_is_reported_with_its_container(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(events_of(controller, "drift"),
			    "default/a exclusive: expected '2-5', found '2-15'\n");
	assert_string_equal(events_of(controller, "repair"),
			    "default/a exclusive: restored to '2-5'\n");
	expect_drift(controller, 0, "open", "false");
	expect_drift(controller, 0, "action", "repair");
	{
		struct json_object *list = query(controller, "event");
		size_t nr = json_object_array_length(list);
		struct json_object *row = json_object_array_get_idx(list, nr - 1);

		assert_string_equal(member(row, "action"), "repair");
		assert_string_equal(member(row, "target"),
				    "pinfold.slice/poduid-a/exclusive/cpuset.cpus");
		json_object_put(list);
	}
	controller_free(controller);
	free_pods(pods, 1);
}

/* The kernel itself takes a partition away; nobody wrote there. */
static void a_lost_partition_is_attributed_to_the_kernel(void **state)
{
	struct controller *controller = start_node(NULL);

	scan(controller, NULL, 0);
	strcpy(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION], "root invalid");
	controller_wake(controller);
	expect_drift(controller, 0, "attribute", "partition");
	expect_drift(controller, 0, "cause", "kernel");
	controller_free(controller);
}

/* Who only audits sees it stay open once, and closed when whoever did it took it back. */
static void drift_may_undo_itself(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 1);
	assert_string_equal(events_of(controller, "drift"),
			    "default/a exclusive: expected '2-5', found '2-15'\n");
	expect_drift(controller, 0, "open", "true");
	expect_drift(controller, 0, "action", "audit");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-5");
	controller_wake(controller);
	expect_drift(controller, 0, "open", "false");
	assert_string_equal(events_of(controller, "repair"), "");
	controller_free(controller);
	free_pods(pods, 1);
}

/* A decision of our own is no drift. */
static void own_changes_are_not_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false),
				   fake_pod("b", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	scan(controller, pods, 2);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_change_of_state_is_an_event),
		TEST(a_change_that_does_not_fit_is_rejected),
		TEST(a_pod_of_unknown_state_keeps_its_cpus),
		TEST(a_pod_without_cgroups_is_released_at_once),
		TEST(no_pod_is_released_before_the_first_look),
		TEST(each_pod_that_ends_late_is_named),
		TEST(an_emptied_group_triggers_a_look),
		TEST(a_document_without_a_name_is_known_by_its_place),
		TEST(a_refusal_moves_with_its_document),
		TEST(an_invalid_document_ends_no_other_pod),
		TEST(a_full_disk_refuses_with_a_remedy),
		TEST(a_suggestion_follows_the_ledger),
		TEST(a_removal_in_passes_continues_soon),
		TEST(a_chain_that_fails_waits_longer_each_time),
		TEST(drift_is_reported_with_its_container),
		TEST(a_lost_partition_is_attributed_to_the_kernel),
		TEST(drift_may_undo_itself),
		TEST(own_changes_are_not_drift),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
