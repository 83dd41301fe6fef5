// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What is kept of containers that ended: all of them, once, and for pods that are still there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "started_node_scene.h"

/* Of a container in tests/lib/fake_kernel.h. */
#define OF_ONE	     24 /* preemptions */
#define WAITS_OF_ONE 20 /* of the second length */

static void expect_kept(const struct pod_spec *pod, unsigned int nr_containers)
{
	const struct ended_pod *ended = ctl_ended(controller, pod->uid);

	assert_non_null(ended);
	assert_int_equal(ended->usage.preemptions, nr_containers * OF_ONE);
	assert_int_equal(ended->latency.counts[1], nr_containers * WAITS_OF_ONE);
}

/* One after the other; and what is published again at once is not kept again. */
static void each_container_that_ends_is_kept_once(void **state)
{
	static const char *const paths[] = {"pinfold.slice/poduid-a/one",
					    "pinfold.slice/poduid-a/two"};
	struct pod_spec *pod = fake_pod("a", "one", 1000, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	assert_non_null(containers);
	containers[0] = containers[1] = pod->containers[0];
	strcpy(containers[1].name, "two");
	free(pod->containers);
	pod->containers = containers;
	pod->nr_containers = 2;
	scan(controller, &pod, 1);
	controller_tick(controller);
	assert_null(ctl_ended(controller, pod->uid));
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++) {
		fake_remove(paths[i]);
		for (int j = 0; j < 2; j++) {
			ctl_publish(controller);
			expect_kept(pod, i + 1);
		}
	}
	assert_int_equal(controller->ended.nr, 1);
	scan(controller, NULL, 0);
	ctl_publish(controller);
	assert_null(ctl_ended(controller, pod->uid));
	pod_spec_free(pod);
}

static void many_pods_keep_what_their_containers_counted(void **state)
{
	struct pod_spec *pods[20];
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		snprintf(text, sizeof(text), "p%zu", i);
		pods[i] = fake_pod(text, "main", 100, false);
	}
	scan(controller, pods, ARRAY_SIZE(pods));
	controller_tick(controller);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		snprintf(text, sizeof(text), "pinfold.slice/poduid-p%zu/main", i);
		fake_remove(text);
	}
	ctl_publish(controller);
	assert_int_equal(controller->ended.nr, ARRAY_SIZE(pods));
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		expect_kept(pods[i], 1);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* The observer's counters ended before the agent had read them. */
static void what_could_not_be_read_is_not_kept(void **state)
{
	struct pod_spec *pod = fake_pod("a", "one", 1000, true);

	scan(controller, &pod, 1);
	controller_tick(controller);
	fake_remove("pinfold.slice/poduid-a/one");
	fake_side.usage_error = -ENOENT;
	ctl_publish(controller);
	assert_null(ctl_ended(controller, pod->uid));
	pod_spec_free(pod);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_container_that_ends_is_kept_once, start, stop),
		cmocka_unit_test_setup_teardown(many_pods_keep_what_their_containers_counted, start,
						stop),
		cmocka_unit_test_setup_teardown(what_could_not_be_read_is_not_kept, start, stop),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
