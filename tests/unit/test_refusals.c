// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What is refused: listed with its reason, tried again, forgotten with its document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "ctl/internal.h"
#include "lib/log.h"
#include "lib/text.h"

/* How many CPUs are free is not in the sentence about whole cores. */
static void a_refusal_that_says_the_same_counts_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "odd", 3000, true)};
	struct controller *controller;

	policy.cpu_options.full_pcpus_only = true;
	controller = start_controller();
	scan(controller, pods, 2);
	scan(controller, pods + 1, 1);
	controller_wake(controller);
	assert_int_equal(controller->admission.refusals.nr_ever[REFUSAL_SMT], 1);
	controller_free(controller);
	free_pods(pods, 2);
}

/* The document that was refused has no name. */
static void a_name_of_two_empty_parts_is_no_pod(void **state)
{
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod wrong = {
		.file = "pods.yaml", .line = 9, .error = "line 9: no name", .name = ""};
	struct answer answer = {0};

	sink->scanned(sink->self, &wrong, 1, true);
	controller_wake(controller);
	ctl_answer_no_pod(controller, "/", &answer);
	assert_int_equal(answer.status, STATUS_UNKNOWN);
	json_object_put(answer.json);
	controller_free(controller);
}

static void refusals_are_listed_until_they_are_resolved(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "namespace", "default");
	expect_refusal(controller, 0, "name", "b");
	expect_refusal(controller, 0, "uid", "uid-b");
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	expect_refusal(controller, 0, "line", "2");
	expect_refusal(controller, 0, "refusal", "cpus");
	expect_refusal(controller, 0, "container", "big");
	expect_refusal(controller, 0, "wanted", "12");
	expect_refusal(controller, 0, "available", "10");
	expect_refusal(controller, 0, "suggestion", "fits with 10 CPUs for container big");
	assert_int_equal(nr_rows(controller, "explain"), 2);
	/* What is suggested is done: admitted, and no longer among the refused. */
	pods[1]->containers->request.cpu_mcpu = 10000;
	pods[1]->containers->limit = pods[1]->containers->request;
	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_refused_pod_goes_with_its_document_or_for_room(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true),
				   fake_pod("c", "huge", 99000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "name", "b");
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 3);
}

static void a_wrong_document_is_a_refusal(void **state)
{
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod wrong[] = {
		{.file = "pods.yaml",
		 .line = 3,
		 .error = "line 5: no",
		 .name = "default/a",
		 .namespace = "default",
		 .pod = "a"},
		{.file = "pods.yaml", .line = 9, .error = "line 9: no name", .name = ""},
	};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};

	sink->scanned(sink->self, wrong, 2, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	expect_refusal(controller, 0, "name", "a");
	expect_refusal(controller, 0, "reason", "InvalidPod");
	expect_refusal(controller, 0, "uid", "null");
	expect_refusal(controller, 0, "wanted", "null");
	expect_refusal(controller, 0, "available", "null");
	expect_refusal(controller, 1, "name", "null");
	expect_refusal(controller, 1, "line", "9");
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Once the document is damaged, what it said before is not tried again. */
static void a_damaged_document_forgets_what_it_said(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod damaged = {
		.file = "pods.yaml", .line = 2, .error = "line 2: no", .name = "default/b"};

	scan(controller, pods, 2);
	populate(true);
	sink->scanned(sink->self, &damaged, 1, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	/* the last process of the other pod ends: there is room now */
	populate(false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "reason", "InvalidPod");
	controller_free(controller);
	free_pods(pods, 2);
}

/* A scan that is not complete forgets nobody, and a document without a name is another one. */
static void a_document_without_a_name_takes_no_others_place(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod nameless = {
		.file = "pods.yaml", .line = 2, .error = "line 2: no", .name = ""};

	scan(controller, pods, 2);
	sink->scanned(sink->self, &nameless, 1, false);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	expect_refusal(controller, 0, "name", "b");
	expect_refusal(controller, 1, "name", "null");
	controller_free(controller);
	free_pods(pods, 2);
}

static void documents_of_two_files_are_two(void **state)
{
	struct source_pod nameless = {
		.file = "a.yaml", .line = 3, .error = "line 3: no", .name = ""};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;

	sink->scanned(sink->self, &nameless, 1, true);
	nameless.file = "b.yaml";
	sink->scanned(sink->self, &nameless, 1, true);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/b.yaml");
	controller_free(controller);
}

/* A scan that finds the same documents, be they the first or the last, is no news. */
static void the_same_refusal_is_told_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("b", "big", 99000, true),
				   fake_pod("c", "huge", 99000, true)};
	struct controller *controller = start_controller();
	size_t nr;

	scan(controller, pods, 2);
	nr = nr_rows(controller, "event");
	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "event"), nr);
	controller_free(controller);
	free_pods(pods, 2);
}

/* The admitted pod is found as it was, which withdraws nothing that somebody else asks for. */
static void another_document_of_an_admitted_pods_name_is_refused_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("a", "exclusive", 99000, true),
				   fake_pod("a", "exclusive", 99000, true)};
	const struct source_pod others[] = {
		{.spec = pods[1], .file = "pods.yaml", .line = 2, .name = ""},
		{.spec = pods[2], .file = "more.yaml", .line = 1, .name = ""},
		{.file = "more.yaml", .line = 1, .error = "line 1: no", .name = "default/a"},
	};

	snprintf(pods[1]->uid, sizeof(pods[1]->uid), "uid-other");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct source_pod both[] = {
			{.spec = pods[0], .file = "pods.yaml", .line = 1, .name = ""}, others[i]};
		struct controller *controller = start_controller();
		const struct source_sink *sink = &controller_sinks(controller)->source;
		size_t nr;

		sink->scanned(sink->self, both, 2, true);
		nr = nr_rows(controller, "event");
		sink->scanned(sink->self, both, 2, true);
		assert_int_equal(nr_rows(controller, "event"), nr);
		assert_int_equal(nr_rows(controller, "refusal"), 1);
		assert_int_equal(nr_rows(controller, "pod"), 1);
		controller_free(controller);
	}
	free_pods(pods, ARRAY_SIZE(pods));
}

/* The answer is the same, but what is tried again is what the document says now. */
static void a_changed_document_is_tried_as_it_is_now(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	populate(true);
	pods[1]->containers->request.memory_bytes = 128 << 20;
	pods[1]->containers->limit = pods[1]->containers->request;
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	populate(false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_string_equal(file_of("big", GROUP_MEMORY_MAX), "134217728");
	controller_free(controller);
	free_pods(pods, 2);
}

/* --- more refused pods than are listed ------------------------------------------------------------ */

#define NR_LISTED 256
#define NR_FLOOD  (NR_LISTED + 44)

/* The finding's message, for the caller to put; NULL when there is none of that name. */
static const char *finding(struct json_object *node, const char *name)
{
	struct json_object *findings = json_object_object_get(node, "findings");

	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "name")), name))
			return json_object_get_string(json_object_object_get(row, "message"));
	}
	return NULL;
}

static void expect_unlisted(struct controller *controller, unsigned int listed,
			    unsigned int unlisted)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *node = query(controller, "node");
	const char *message = finding(node, "refusals_not_listed");
	struct text page cleanup_text = {0};
	char line[96];

	assert_int_equal(nr_rows(controller, "refusal"), listed);
	assert_int_equal(message != NULL, unlisted > 0);
	snprintf(line, sizeof(line), "%u more pod%s refused;", unlisted,
		 unlisted == 1 ? " is" : "s are");
	if (unlisted)
		assert_ptr_equal(strstr(message, line), message);
	json_object_put(node);
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	snprintf(line, sizeof(line), "\npinfold_refused_pods{listed=\"no\"} %u\n", unlisted);
	assert_non_null(strstr(page.data, line));
	snprintf(line, sizeof(line), "\npinfold_refused_pods{listed=\"yes\"} %u\n", listed);
	assert_non_null(strstr(page.data, line));
}

static void expect_last_event_about(struct controller *controller, const char *pod)
{
	struct json_object *events = query(controller, "event"), *last;

	last = json_object_array_get_idx(events, json_object_array_length(events) - 1);
	assert_string_equal(json_object_get_string(json_object_object_get(last, "pod")), pod);
	json_object_put(events);
}

static void a_flood_of_refusals_is_counted(void **state)
{
	static struct pod_spec *pods[NR_FLOOD + 1];
	static char names[NR_FLOOD][16];
	struct controller *controller = start_controller();

	/* All CPUs go to the first, so none of the others fits; small ones come last. */
	pods[0] = fake_pod("first", "exclusive", 13000, true);
	for (int i = 0; i < NR_FLOOD; i++) {
		snprintf(names[i], sizeof(names[i]), "pod-%03d", i);
		pods[i + 1] = fake_pod(names[i], "main", i < NR_LISTED ? 99000 : 2000, true);
	}
	scan(controller, pods, NR_FLOOD + 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	expect_unlisted(controller, NR_LISTED, NR_FLOOD - NR_LISTED);
	assert_false(controller_wants_scan(controller));
	/* Who is only counted has no event either: it would be one with each scan. */
	expect_last_event_about(controller, "default/pod-255");
	/* The same again changes nothing. */
	scan(controller, pods, NR_FLOOD + 1);
	expect_unlisted(controller, NR_LISTED, NR_FLOOD - NR_LISTED);
	/* Its last process ends later than its document: who is not listed must have a turn too. */
	populate(true);
	scan(controller, pods + 1, NR_FLOOD);
	assert_false(controller_wants_scan(controller));
	populate(false);
	controller_wake(controller);
	assert_true(controller_wants_scan(controller));
	scan(controller, pods + 1, NR_FLOOD);
	assert_false(controller_wants_scan(controller));
	assert_int_equal(nr_rows(controller, "pod"), 7);
	expect_unlisted(controller, NR_LISTED, NR_FLOOD - NR_LISTED - 7);
	/* Fewer documents: all are listed again. */
	scan(controller, pods + 1, 8);
	expect_unlisted(controller, 8, 0);
	/* A single one that is not listed is reason enough for another scan, and none is not. */
	for (int unlisted = 1; unlisted >= 0; unlisted--) {
		uint32_t nr = NR_LISTED + (uint32_t)unlisted;

		scan(controller, pods, nr + 1);
		expect_unlisted(controller, NR_LISTED, (unsigned int)unlisted);
		populate(true);
		scan(controller, pods + 1, nr);
		populate(false);
		assert_false(controller_wants_scan(controller));
		controller_wake(controller);
		assert_int_equal(controller_wants_scan(controller), unlisted);
	}
	/* Decided again, they are still known by their document. */
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	controller_free(controller);
	free_pods(pods, NR_FLOOD + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_refusal_that_says_the_same_counts_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_name_of_two_empty_parts_is_no_pod, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(refusals_are_listed_until_they_are_resolved, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refused_pod_goes_with_its_document_or_for_room,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_document_is_a_refusal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_document_forgets_what_it_said, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_document_without_a_name_takes_no_others_place,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(documents_of_two_files_are_two, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_same_refusal_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			another_document_of_an_admitted_pods_name_is_refused_once, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_changed_document_is_tried_as_it_is_now, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_flood_of_refusals_is_counted, set_up, tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
