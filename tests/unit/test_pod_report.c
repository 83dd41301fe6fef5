// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What the agent says of each container of a pod: what it ran and waited, or why nobody knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_scene.h"

static struct json_object *answer;

/* The container of pod `i`, as the agent tells it now. */
static const char *said(struct controller *controller, size_t i, const char *key)
{
	struct json_object *containers;

	json_object_put(answer);
	answer = query(controller, "pod");
	containers = json_object_object_get(json_object_array_get_idx(answer, i), "containers");
	return member(json_object_array_get_idx(containers, 0), key);
}

static int tear_down_answer(void **state)
{
	json_object_put(answer);
	answer = NULL;
	return tear_down_pods(state);
}

static void the_line_is_of_the_last_minute(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 2);
	pass_times(controller, 100);
	/* Half a CPU, a quarter of it elsewhere; 30 ms of waiting beside each second. */
	assert_string_equal(said(controller, 0, "measured"), "yes");
	assert_string_equal(said(controller, 0, "window_seconds"), "60.000000000");
	assert_string_equal(said(controller, 0, "window_run_seconds"), "30.000000000");
	assert_string_equal(said(controller, 0, "window_outside_seconds"), "7.500000000");
	assert_string_equal(said(controller, 0, "window_wait_seconds"), "0.900000000");
	assert_string_equal(said(controller, 0, "window_wait_host_seconds"), "0.600000000");
	assert_string_equal(said(controller, 0, "summary"),
			    "granted 4 CPUs, ran 0.38 on them, 0.12 elsewhere, waited 2.91% in "
			    "60 s: host 1.94%, unattributed 0.97%");
	assert_memory_equal(said(controller, 1, "summary"), "shares ", 7);
	/* What is older does not count any more: a minute in which it did not run. */
	counted.of = id_of(GROUP_CONTAINER, "exclusive");
	counted.of_run_ns = counted.run_ns;
	for (int i = 0; i < 30; i++) {
		counted.of_run_ns -= S;
		counted.wait_ns -= 20 * MS;
		pass(controller);
	}
	assert_string_equal(said(controller, 0, "summary"), "granted 4 CPUs, did not run in 60 s");
	controller_free(controller);
}

static void a_container_is_measured_after_a_second(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	assert_string_equal(said(controller, 0, "measured"), "awaited");
	assert_string_equal(said(controller, 0, "window_run_seconds"), "null");
	pass_times(controller, 2);
	assert_string_equal(said(controller, 0, "measured"), "yes");
	assert_string_equal(said(controller, 0, "window_seconds"), "2.000000000");
	controller_free(controller);
}

/* What was measured remains until it is a minute old. */
static void without_a_slot_nobody_knows(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 11);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 10);
	assert_string_equal(said(controller, 0, "measured"), "yes");
	assert_string_equal(said(controller, 0, "window_seconds"), "20.000000000");
	pass_times(controller, 21);
	assert_string_equal(said(controller, 0, "measured"), "no_slot");
	assert_string_equal(said(controller, 0, "summary"),
			    "granted 4 CPUs, not measured: no slot of the observer is free; raise "
			    "maxContainers");
	controller_free(controller);
}

static int no_space(void *self, struct observer_space *ret_space)
{
	(void)self;
	(void)ret_space;
	return -EAGAIN;
}

static int no_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	(void)self;
	(void)cgroup_id;
	(void)ret_usage;
	return -ENOENT;
}

static void without_the_observer_nobody_knows(void **state)
{
	struct controller *controller = start_counting_with(no_usage, no_space);

	scan(controller, pods, 1);
	pass_times(controller, 3);
	assert_string_equal(said(controller, 0, "measured"), "no_observer");
	assert_string_equal(said(controller, 0, "window_wait_seconds"), "null");
	controller_free(controller);
}

static void without_bpf_nobody_knows(void **state)
{
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	assert_string_equal(said(controller, 0, "measured"), "no_bpf");
	controller_free(controller);
}

static void without_a_cgroup_there_is_nothing_to_know(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	/* With another first character its path is that of no cgroup. */
	for (uint32_t i = 0; i < controller->publisher.nr; i++)
		controller->publisher.rows[i].path[0] = 'x';
	assert_string_equal(said(controller, 0, "measured"), "no_cgroup");
	controller_free(controller);
}

/* More pods and containers than histories: only the number of rings is made up. */
static void without_a_history_nobody_knows(void **state)
{
	struct controller *controller = start_counting();
	static struct sampled_group others;
	static struct sampled_group *rings[PRESSURE_SAMPLES_MAX];
	struct sampled_group **kept;
	uint32_t nr;

	scan(controller, pods, 1);
	kept = controller->samples.groups;
	nr = controller->samples.nr;
	for (size_t i = 0; i < PRESSURE_SAMPLES_MAX; i++)
		rings[i] = &others;
	controller->samples.groups = rings;
	controller->samples.nr = PRESSURE_SAMPLES_MAX;
	assert_string_equal(said(controller, 0, "measured"), "left_out");
	controller->samples.groups = kept;
	controller->samples.nr = nr;
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define REPORT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_history, tear_down_answer)
		REPORT_TEST(the_line_is_of_the_last_minute),
		REPORT_TEST(a_container_is_measured_after_a_second),
		REPORT_TEST(without_a_slot_nobody_knows),
		REPORT_TEST(without_the_observer_nobody_knows),
		REPORT_TEST(without_bpf_nobody_knows),
		REPORT_TEST(without_a_cgroup_there_is_nothing_to_know),
		REPORT_TEST(without_a_history_nobody_knows),
	};

	return cmocka_run_group_tests_name("pod_report", tests, NULL, NULL);
}
