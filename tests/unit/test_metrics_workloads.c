// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What the page of metrics says of pods and containers, and of those it cannot read or that have ended. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/text.h"
#include "metrics_scene.h"
#include "mixed_pod.h"

#define CPU_SERIES	 "pinfold_pod_cpu_seconds_total{"
#define WAIT_SERIES	 "pinfold_cpu_wait_seconds_total{"
#define THROTTLED_SERIES "pinfold_throttled_seconds_total{"
#define LATENCY_SERIES	 "pinfold_runqueue_latency_seconds_bucket{"
#define INFO_SERIES	 "pinfold_container_info{"

static void check_series(struct controller *controller, bool cpu, bool throttled)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_int_equal(!!strstr(page.data, CPU_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, WAIT_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, LATENCY_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, THROTTLED_SERIES), throttled);
}

static void expect_throttled(struct controller *controller, const char *seconds,
			     unsigned int nr_files)
{
	char line[128];

	nr_files_read = 0;
	snprintf(line, sizeof(line),
		 THROTTLED_SERIES "namespace=\"default\",pod=\"a\",container=\"exclusive\"} %s\n",
		 seconds);
	expect_metric(controller, line);
	assert_int_equal(nr_files_read, nr_files);
}

/* Reading files of hundreds of containers would take longer than the whole page. */
static void the_throttled_time_is_that_of_the_last_pass(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	scan(controller, pods, 1);
	expect_throttled(controller, "1.250000000", 1);
	controller_tick(controller);
	expect_throttled(controller, "2.500000000", 0);
	/* Too old, then of a kernel that does not tell. */
	fake_pressure.error = -EBUSY;
	fake->now_ns += 60000 * MS;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 1);
	fake_pressure.error = 0;
	fake_pressure.all.throttled_ns = PRESSURE_THROTTLED_UNKNOWN;
	fake->now_ns += 5000 * MS;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A counter that fell by less than a microsecond would begin anew for Prometheus. */
static void the_throttled_time_does_not_fall_when_a_file_says_it(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	scan(controller, pods, 1);
	fake_pressure.all.throttled_ns = 1250000999;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 0);
	fake_pressure.error = -EBUSY;
	fake->now_ns += 60000 * MS;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* What so many containers of pod a have counted, as tests/lib/fake_kernel.h has it of each. */
static void expect_counted(struct controller *controller, unsigned int nr_containers)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "pinfold_pod_preemptions_total{namespace=\"default\",pod=\"a\"} %u\n",
		 nr_containers * 24);
	expect_metric(controller, line);
	snprintf(line, sizeof(line),
		 "pinfold_runqueue_latency_seconds_count{namespace=\"default\",pod=\"a\"} %u\n",
		 nr_containers * 354321);
	expect_metric(controller, line);
}

/* A sum that goes back looks as if all that is left had happened just now. */
static void what_a_container_counted_stays_with_its_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 1000, true),
				   fake_pod("b", "other", 1000, true)};
	struct container_spec *containers = calloc(2, sizeof(*containers));
	struct controller *controller = start_metrics_node(true);

	assert_non_null(containers);
	containers[0] = containers[1] = pods[0]->containers[0];
	strcpy(containers[1].name, "two");
	free(pods[0]->containers);
	pods[0]->containers = containers;
	pods[0]->nr_containers = 2;
	scan(controller, pods, 2);
	controller_tick(controller);
	expect_counted(controller, 2);
	/* Before anybody has noticed, and afterwards. */
	fake_remove("pinfold.slice/poduid-a/one");
	expect_counted(controller, 2);
	for (int i = 0; i < 3; i++) {
		fake->now_ns += 2000 * MS;
		ctl_publish(controller);
		expect_counted(controller, 2);
	}
	assert_int_equal(controller->ended.nr, 1);
	/* A pod that was released leaves nothing behind. */
	scan(controller, &pods[1], 1);
	ctl_publish(controller);
	assert_int_equal(controller->ended.nr, 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* 0 would look like a container that began again. */
static void unreadable_values_are_left_out(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	scan(controller, pods, 1);
	check_series(controller, true, true);
	fake_side.usage_error = -ENOENT;
	check_series(controller, false, true);
	fake_side.usage_error = 0;
	/*
	 * A pod has all of its series or none; its containers have what is known. The page reads
	 * the counters itself, and then finds those of a look.
	 */
	fake_side.latency_error = -ENOENT;
	for (int nr_looks = 0; nr_looks < 2; nr_looks++) {
		assert_int_equal(nr_series(controller, CPU_SERIES), 0);
		assert_int_equal(nr_series(controller, LATENCY_SERIES), 0);
		assert_true(nr_series(controller, WAIT_SERIES) > 0);
		assert_int_equal(ctl_look_counters(controller), 0);
	}
	fake_side.latency_error = 0;
	/* What it counted belongs to its pod. */
	assert_int_equal(nr_series(controller, INFO_SERIES), 1);
	fake_remove("pinfold.slice/poduid-a/exclusive");
	assert_int_equal(nr_series(controller, INFO_SERIES), 0);
	assert_int_equal(nr_series(controller, WAIT_SERIES), 0);
	assert_int_equal(nr_series(controller, THROTTLED_SERIES), 0);
	assert_true(nr_series(controller, CPU_SERIES) > 0);
	fake_side.usage_error = -ENOENT;
	check_series(controller, false, false);
	controller_free(controller);
	free_pods(pods, 1);
}

/* 0 would say that nobody waited. */
static void pressure_that_is_not_measured_has_no_series(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	scan(controller, pods, 1);
	for (int i = 0; i < PRESSURE_STATE_NR; i++) {
		fake_pressure.all.state = (uint32_t)i;
		fake->now_ns += 2000 * MS;
		controller_tick(controller);
		assert_int_equal(nr_series(controller, PRESSURE_SERIES "\"exclusive\"}"),
				 i == PRESSURE_MEASURED);
	}
	controller_free(controller);
	free_pods(pods, 1);
}

/* `pinfold container show` of the only container */
static void check_container(struct controller *controller, bool has_time, bool has_files)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *rows = NULL, *row;

	assert_int_equal(faces->query(faces->self, "container", &rows), 0);
	row = json_object_array_get_idx(rows, 0);
	assert_int_equal(json_object_object_get(row, "run_seconds") != NULL, has_time);
	assert_int_equal(json_object_object_get(row, "wait_seconds") != NULL, has_time);
	assert_int_equal(json_object_object_get(row, "effective_cpus") != NULL, has_files);
	json_object_put(rows);
}

/* The observer counts on, whoever keeps us from the cgroup's files. */
static void a_blocked_cgroup_keeps_its_cpu_time(void **state)
{
	static const int errors[] = {-EINPROGRESS, -EIO};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	scan(controller, pods, 1);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		status_error = errors[i];
		check_series(controller, true, false);
		check_container(controller, true, false);
	}
	status_error = -ENOENT;
	check_container(controller, false, false);
	status_error = 0;
	check_series(controller, true, true);
	check_container(controller, true, true);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The sum of its other containers would look like a counter that went back. */
static void a_pod_with_an_unknown_container_has_no_sum(void **state)
{
	struct pod_spec *pods[] = {bubble_pod(4000), fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	struct group_status two;

	scan(controller, pods, 2);
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-bubble/two", &two), 0);
	fake_side.uncounted = two.cgroup_id;
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_null(strstr(page.data, CPU_SERIES "namespace=\"default\",pod=\"bubble\""));
	assert_non_null(strstr(page.data, CPU_SERIES "namespace=\"default\",pod=\"a\""));
	assert_non_null(strstr(page.data, WAIT_SERIES "namespace=\"default\",pod=\"bubble\","
						      "container=\"one\""));
	assert_null(strstr(page.data, WAIT_SERIES "namespace=\"default\",pod=\"bubble\","
						  "container=\"two\""));
	controller_free(controller);
	free_pods(pods, 2);
}

/* Under no id, and not under that of another cgroup. */
static void a_cgroup_that_was_never_read_is_not_counted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);

	/* This kernel side would count anything. */
	fake_side.uncounted = UINT64_MAX;
	status_error = -EIO;
	scan(controller, pods, 1);
	check_series(controller, false, false);
	check_container(controller, false, false);
	/* The page does not wait for the next publication. */
	status_error = 0;
	check_series(controller, true, true);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Its cgroups are removed by the next look; until then nobody knows whose they are. */
static void a_pod_that_was_released_is_left_out(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);
	const struct source_sink *sink = &controller_sinks(controller)->source;

	scan(controller, pods, 1);
	sink->scanned(sink->self, NULL, 0, true);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	check_series(controller, false, false);
	controller_free(controller);
	free_pods(pods, 1);
}

/*
 * The pod that ends keeps its CPUs while its processes run. Each name has one set of series. Pods of
 * other names have theirs, in whatever order all of them came.
 */
static void of_pods_with_one_name_the_newer_is_shown(void **state)
{
	static const struct {
		const char *family, *labels;
	} series[] = {
		{CPU_SERIES, "placement=\"local_numa\""},
		{INFO_SERIES, ""},
		{"pinfold_pressure_io_stalled_seconds_total{", "container=\"exclusive\""},
		{"pinfold_pod_memory_bytes{", "placement=\"local_numa\""},
		{"pinfold_noise_seconds_total{", "source=\"hardirq\""},
	};
	static const char *const names[] = {"a", "b"};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "exclusive", 2000, true),
				   fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_metrics_node(true);
	char part[256];

	snprintf(pods[2]->uid, sizeof(pods[2]->uid), "uid-newer");
	scan(controller, pods, 2);
	populate(true);
	scan(controller, &pods[1], 2);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	fake->now_ns += 20 * 1000 * MS;
	controller_tick(controller);
	for (size_t i = 0; i < ARRAY_SIZE(series); i++)
		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			snprintf(part, sizeof(part), "%snamespace=\"default\",pod=\"%s\",%s",
				 series[i].family, names[j], series[i].labels);
			assert_int_equal(nr_series(controller, part), 1);
		}
	assert_int_equal(nr_series(controller, INFO_SERIES "namespace=\"default\",pod=\"a\","
							   "container=\"exclusive\","
							   "uid=\"uid-newer\""),
			 1);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Nothing is wanted before the first look; and 16 cgroups fill what the tree has room for. */
static void any_number_of_cgroups_is_measured(void **state)
{
	struct pod_spec *pods[] = {bubble_pod(4000), bubble_pod(4000), bubble_pod(4000)};
	struct controller *controller;

	controller = make_metrics_node(true);
	check_series(controller, false, false);
	assert_int_equal(nr_rows(controller, "container"), 0);
	assert_int_equal(controller_start(controller), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		snprintf(pods[i]->uid, sizeof(pods[i]->uid), "uid-%zu", i);
	for (uint32_t i = 0; i < ARRAY_SIZE(pods); i++)
		snprintf(pods[i]->name, sizeof(pods[i]->name), "bubble-%u", i);
	scan(controller, pods, ARRAY_SIZE(pods));
	assert_int_equal(fake->nr_groups, 16);
	assert_int_equal(nr_rows(controller, "container"), 9);
	check_series(controller, true, true);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_throttled_time_is_that_of_the_last_pass,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(
			the_throttled_time_does_not_fall_when_a_file_says_it, set_up_page,
			tear_down),
		cmocka_unit_test_setup_teardown(what_a_container_counted_stays_with_its_pod,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(unreadable_values_are_left_out, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(pressure_that_is_not_measured_has_no_series,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(a_blocked_cgroup_keeps_its_cpu_time, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(a_pod_with_an_unknown_container_has_no_sum,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(a_cgroup_that_was_never_read_is_not_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(a_pod_that_was_released_is_left_out, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(of_pods_with_one_name_the_newer_is_shown,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(any_number_of_cgroups_is_measured, set_up_page,
						tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
