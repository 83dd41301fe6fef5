// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl format core lib
/* What is refused: listed with its reason, tried again, forgotten with its document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "lib/log.h"

static void refusals_are_listed_until_they_are_none(void **state)
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
	const struct source_sink *sink = controller_source_sink(controller);
	const struct source_pod wrong[] = {
		{.file = "pods.yaml", .line = 3, .error = "line 5: no", .name = "default/a"},
		{.file = "pods.yaml", .line = 9, .error = "line 9: no name", .name = ""},
	};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};

	sink->scanned(sink->self, wrong, 2, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	expect_refusal(controller, 0, "name", "a");
	expect_refusal(controller, 0, "reason", "InvalidPod");
	expect_refusal(controller, 0, "uid", "null");
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
	const struct source_sink *sink = controller_source_sink(controller);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(refusals_are_listed_until_they_are_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refused_pod_goes_with_its_document_or_for_room,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_document_is_a_refusal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_document_forgets_what_it_said, set_up,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
