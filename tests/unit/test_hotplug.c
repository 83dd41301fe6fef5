// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What the controller does with new pods while CPUs are offline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controller_scene.h"

static struct pod_spec *pods[2];

static int set_up_pods(void **state)
{
	pods[0] = fake_pod("a", "db", 8000, true);
	pods[1] = fake_pod("b", "db", 4000, true);
	return set_up(state);
}

static int tear_down_pods(void **state)
{
	free_pods(pods, 2);
	return tear_down(state);
}

static void expect_cpus(struct controller *controller, size_t row, const char *wanted)
{
	struct json_object *rows = query(controller, "container");
	struct json_object *item = json_object_array_get_idx(rows, row);

	assert_non_null(item);
	assert_string_equal(json_object_get_string(json_object_object_get(item, "cpus")), wanted);
	json_object_put(rows);
}

static void a_refused_pod_is_admitted_when_cpus_come_back(void **state)
{
	struct controller *controller = start_controller();

	scan(controller, NULL, 0);
	tell_online(controller, "0-7");
	controller_wake(controller);
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	expect_refusal(controller, 0, "reason", "UnexpectedAdmissionError");
	tell_online(controller, "0-9");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	expect_cpus(controller, 0, "2-9");
	controller_free(controller);
}

static void a_pod_is_not_admitted_because_others_go_away(void **state)
{
	struct controller *controller = start_controller();

	tell_online(controller, "0-8");
	scan(controller, pods, 1);
	tell_online(controller, "0-7");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	/* Nor was it decided again: it can only fit less. */
	expect_metric(controller, "pinfold_admission_duration_seconds_count 1\n");
	controller_free(controller);
}

/* A file that cannot be read says nothing about the pods of the others. */
static void cpus_come_back_while_the_manifests_are_incomplete(void **state)
{
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod known = {.spec = pods[0], .file = "pods.yaml", .name = ""};

	tell_online(controller, "0-7");
	sink->scanned(sink->self, &known, 1, false);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	tell_online(controller, "0-9");
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	expect_cpus(controller, 0, "2-9");
	controller_free(controller);
}

/* A new policy is a new ledger, which has to know it as well. */
static void a_reload_keeps_offline_cpus_from_new_pods(void **state)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "test",
	};
	struct controller *controller = start_controller();
	char error[256] = "";

	scan(controller, NULL, 0);
	tell_online(controller, "0-1,4-15");
	controller_wake(controller);
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	scan(controller, pods + 1, 1);
	expect_cpus(controller, 0, "4-7");
	controller_free(controller);
}

/* The finding of that name has these words, in order. */
static bool finding_says(struct controller *controller, const char *name, const char *message,
			 const char *remedy)
{
	struct json_object *node = query(controller, "node"),
			   *rows = json_object_object_get(node, "findings");
	bool found = false;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "name")), name))
			found = strstr(json_object_get_string(
					       json_object_object_get(row, "message")),
				       message) &&
				strstr(json_object_get_string(
					       json_object_object_get(row, "remedy")),
				       remedy);
	}
	json_object_put(node);
	return found;
}

/* The host's CPUs are no pod's: grants stay, but the operator learns that the host has fewer. */
static void reserved_cpus_that_go_are_named(void **state)
{
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	expect_cpus(controller, 0, "8-15");
	tell_online(controller, "0,2-15");
	controller_wake(controller);
	assert_true(finding_says(controller, "cpus_changed",
				 "CPU 1 of the reserved CPUs 0-1 is offline",
				 "bring the reserved CPUs online"));
	expect_cpus(controller, 0, "8-15");
	tell_online(controller, "2-15");
	controller_wake(controller);
	assert_true(finding_says(controller, "cpus_changed", "all reserved CPUs, 0-1, are offline",
				 "bring the reserved CPUs online"));
	expect_cpus(controller, 0, "8-15");
	/* none of them */
	tell_online(controller, "0-6,8-15");
	controller_wake(controller);
	assert_true(finding_says(controller, "cpus_changed", "now CPUs 0-6,8-15 are",
				 "restart pinfoldd"));
	assert_false(finding_says(controller, "cpus_changed", "reserved", ""));
	tell_online(controller, "0-15");
	controller_wake(controller);
	assert_false(finding_says(controller, "cpus_changed", "", ""));
	controller_free(controller);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_pods, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_refused_pod_is_admitted_when_cpus_come_back),
		TEST(a_pod_is_not_admitted_because_others_go_away),
		TEST(cpus_come_back_while_the_manifests_are_incomplete),
		TEST(a_reload_keeps_offline_cpus_from_new_pods),
		TEST(reserved_cpus_that_go_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
