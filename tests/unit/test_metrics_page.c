// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The whole page of metrics, to the byte, in both formats, of a node where
 * something of everything has happened: tests/data/metrics. A change there is a
 * change for users and belongs into docs/metrics.md as well; UPDATE_GOLDEN=1
 * writes the files anew, to be read before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <pinfold/names.h>

#include "../lib/golden.h"
#include "lib/log.h"
#include "lib/text.h"
#include "metrics_scene.h"
#include "mixed_pod.h"

/* --- what happens ---------------------------------------------------------------------------------- */

static void tell(struct controller *controller, struct pod_spec **specs, uint32_t nr,
		 const struct source_pod *wrong)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct source_pod pods[16];

	for (uint32_t i = 0; i < nr; i++)
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = i + 1, .name = ""};
	if (wrong)
		pods[nr++] = *wrong;
	sink->scanned(sink->self, pods, nr, true);
	controller_wake(controller);
}

/*
 * Admitted at once, and after the state was slow; one refused for want of CPUs, one
 * document that is wrong; one released; drift mended, mended in vain, and left open.
 */
static void play(struct controller *controller, struct pod_spec **pods)
{
	const struct source_pod wrong = {
		.file = "wrong.yaml", .line = 3, .error = "line 3: no", .name = "default/wrong"};

	/* Just within the first bucket, between two, and behind the last. */
	save_ns = 50000;
	tell(controller, pods, 3, &wrong);
	save_ns = 3 * MS;
	tell(controller, pods, 4, &wrong);
	save_ns = 500 * MS;
	tell(controller, pods, 5, &wrong);
	save_ns = 0;
	tell(controller, pods, 6, &wrong);
	/* The fourth leaves, and what it held is free. */
	pods[3] = pods[4];
	pods[4] = pods[5];
	pods[5] = pods[6];
	tell(controller, pods, 5, &wrong);
	/* Somebody writes a file; it is put back. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	tamper("web", GROUP_MEMORY_MAX, "4096");
	controller_wake(controller);
	/* And another one, which resists. */
	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "exclusive")->path);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	controller_wake(controller);
	/* The state cannot be written any more. */
	fake->save_error = -ENOSPC;
	tell(controller, pods, 6, &wrong);
}

/* --- the page -------------------------------------------------------------------------------------- */

/* The version changes with each release and is not what this is about. */
static char *without_version(const char *page)
{
	static const char label[] = "{version=\"" PINFOLD_VERSION "\"";
	const char *at = strstr(page, label);
	char *shown;

	assert_non_null(at);
	if (asprintf(&shown, "%.*s{version=\"VERSION\"%s", (int)(at - page), page,
		     at + sizeof(label) - 1) < 0)
		abort();
	return shown;
}

static void check_page(struct controller *controller, bool openmetrics, const char *path)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	char *shown;

	assert_int_equal(faces->metrics(faces->self, openmetrics, &page), 0);
	shown = without_version(page.data);
	golden_compare(path, shown);
	free(shown);
}

static void the_page_is_as_recorded(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "web", 500, false),
				   bubble_pod(4000),
				   fake_pod("c", "exclusive-too", 2000, true),
				   fake_pod("f", "tiny", 50, false),
				   fake_pod("d", "big", 12000, true),
				   fake_pod("e", "late", 100, false)};
	struct pod_spec *all[ARRAY_SIZE(pods)];
	struct controller *controller;

	memcpy(all, pods, sizeof(pods));
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	cpuset_add(&policy.excluded, 15);
	controller = start_metrics_node(true);
	play(controller, pods);
	controller_tick(controller);
	read_ns = 2 * MS;
	check_page(controller, false, "tests/data/metrics/page.prom");
	check_page(controller, true, "tests/data/metrics/page.openmetrics");
	controller_free(controller);
	free_pods(all, ARRAY_SIZE(all));
}

/* Without BPF nothing is said about it, and nothing is said to be in force. */
static void without_bpf_its_families_are_absent(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	config.metrics.level = METRICS_POD;
	controller = start_metrics_node(false);
	scan(controller, pods, 1);
	check_page(controller, false, "tests/data/metrics/no-bpf.prom");
	controller_free(controller);
	free_pods(pods, 1);
}

static void levels_bound_the_series(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	static const struct {
		enum metrics_level level;
		bool pods, containers;
	} rows[] = {
		{METRICS_NODE, false, false},
		{METRICS_POD, true, false},
		{METRICS_CONTAINER, true, true},
	};
	struct controller *controller = start_metrics_node(true);
	const struct faces_port *faces = controller_faces(controller);

	scan(controller, pods, 1);
	controller_tick(controller);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text page cleanup_text = {0};

		config.metrics.level = rows[i].level;
		assert_int_equal(faces->metrics(faces->self, false, &page), 0);
		assert_int_equal(!!strstr(page.data, "pinfold_pod_cpu_seconds_total{"),
				 rows[i].pods);
		assert_int_equal(!!strstr(page.data, "pinfold_runqueue_latency_seconds_count{"),
				 rows[i].pods);
		assert_int_equal(!!strstr(page.data, "pinfold_throttled_seconds_total{"),
				 rows[i].containers);
		assert_int_equal(!!strstr(page.data, PRESSURE_SERIES "\"\"}"), rows[i].pods);
		assert_int_equal(!!strstr(page.data, PRESSURE_SERIES "\"exclusive\"}"),
				 rows[i].containers);
	}
	controller_free(controller);
	free_pods(pods, 1);
}

#define MISSING "pinfold_numa_hugepages_missing_bytes{numa_node=\"0\",type=\"hugepages-2Mi\"}"

/* Up to all of them. */
static void huge_pages_that_others_took_are_counted(void **state)
{
	static const struct {
		uint64_t nr_free;
		const char *line;
	} rows[] = {{64, MISSING " 0\n"}, {63, MISSING " 2097152\n"}, {0, MISSING " 134217728\n"}};
	struct controller *controller = start_metrics_node(true);
	struct json_object *nodes;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nr_free_pages = rows[i].nr_free;
		expect_metric(controller, rows[i].line);
	}
	nodes = query(controller, "numa");
	assert_non_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			       "\"type\":\"hugepages-2Mi\""));
	assert_non_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			       "\"kernel_free_bytes\":0"));
	json_object_put(nodes);
	controller_free(controller);
	/* Without the machine's port nobody knows. */
	controller = start_controller();
	assert_true(nr_series(controller, "pinfold_numa_memory_bytes{") > 0);
	assert_int_equal(nr_series(controller, "pinfold_numa_hugepages_missing_bytes"), 0);
	nodes = query(controller, "numa");
	assert_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			   "\"kernel_free_bytes\":0"));
	json_object_put(nodes);
	controller_free(controller);
}

static void without_huge_pages_none_can_be_missing(void **state)
{
	static const struct topology_node plain[] = {{.id = 0, .memory_bytes = 4096 * MIB},
						     {.id = 1, .memory_bytes = 2048 * MIB}};
	struct controller *controller;

	topology_free(topology);
	topology = fake_machine_with(2, 4, 2, plain);
	controller = start_metrics_node(true);
	assert_true(nr_series(controller, "pinfold_numa_memory_bytes{") > 0);
	assert_int_equal(nr_series(controller, "pinfold_numa_hugepages_missing_bytes"), 0);
	controller_free(controller);
}

static void what_is_not_known_of_the_agent_is_left_out(void **state)
{
	struct controller *controller = start_metrics_node(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	process_error = -EMFILE;
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_null(strstr(page.data, "process_"));
	controller_free(controller);
}

/* Two series with the same labels would make the whole page invalid. */
static void findings_of_one_name_have_one_series(void **state)
{
	static const char line[] = "\npinfold_finding_info{name=\"grant_lost\"} 1\n";
	struct controller *controller = start_metrics_node(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	const char *first;

	findings_add(&controller->findings, FINDING_GRANT_LOST, "one", "do this");
	findings_add(&controller->findings, FINDING_GRANT_LOST, "another", "do this");
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	first = strstr(page.data, line);
	assert_non_null(first);
	assert_null(strstr(first + 1, line));
	controller_free(controller);
}

/* They are not the kernel side's, and noise's are loaded only while a CPU is exclusive. */
static void programs_of_pressure_and_noise_are_counted(void **state)
{
	struct controller *controller = start_metrics_node(true);

	expect_metric(controller, "pinfold_bpf_program_runs_total{program=\"read_pressure\"} 0\n");
	fake_noise.state = NOISE_OFF;
	assert_int_equal(nr_series(controller,
				   "pinfold_bpf_program_runs_total{program=\"noise_switch\"}"),
			 0);
	assert_int_equal(nr_series(controller, "program=\"\""), 0);
	fake_noise.state = NOISE_COUNTING;
	expect_metric(controller, "pinfold_bpf_program_runs_total{program=\"noise_switch\"} 0\n");
	expect_metric(controller,
		      "pinfold_bpf_program_run_seconds_total{program=\"noise_switch\"} 0.0");
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_page_is_as_recorded, set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(without_bpf_its_families_are_absent, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(levels_bound_the_series, set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(huge_pages_that_others_took_are_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(without_huge_pages_none_can_be_missing, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_known_of_the_agent_is_left_out,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(programs_of_pressure_and_noise_are_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(findings_of_one_name_have_one_series, set_up_page,
						tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
