// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * In-place resize through a changed manifest, against a fake world: what is written to which
 * container, in which order, what outlives a restart, and what becomes of a refused change.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "lib/log.h"

/* The sources name both pods, and the container "exclusive" of pod a gets another number of CPUs. */
static void scan_with(struct controller *controller, int64_t cpus)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", cpus * 1000, true),
				   fake_pod("b", "web", 500, false)};

	scan(controller, pods, 2);
	free_pods(pods, 2);
}

static void expect_cpus(const char *exclusive, const char *web)
{
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), exclusive);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), web);
	assert_false(fake->overlap_seen);
}

/* The detail of pod a. */
static void expect_detail(struct controller *controller, const char *part)
{
	struct json_object *pods = query(controller, "pod"), *detail = NULL;

	json_object_object_get_ex(json_object_array_get_idx(pods, 0), "detail", &detail);
	if (!part)
		assert_null(detail);
	else
		assert_non_null(strstr(json_object_get_string(detail), part));
	json_object_put(pods);
}

static void a_changed_manifest_resizes_in_place(void **state)
{
	struct controller *controller = start_controller();

	(void)state;
	scan_with(controller, 3);
	expect_cpus("2-4", "5-15");
	/* The other half of its core comes first. */
	scan_with(controller, 4);
	expect_cpus("2-5", "6-15");
	scan_with(controller, 6);
	expect_cpus("2-7", "8-15");
	scan_with(controller, 3);
	expect_cpus("2-4", "5-15");
	controller_free(controller);
}

static void the_baseline_outlives_a_restart(void **state)
{
	struct controller *controller = start_controller();

	(void)state;
	scan_with(controller, 3);
	scan_with(controller, 6);
	populate(true);
	controller_free(controller);
	controller = start_controller();
	scan_with(controller, 6);
	expect_cpus("2-7", "8-15");
	scan_with(controller, 2);
	expect_cpus("2-7", "8-15");
	expect_refusal(controller, 0, "reason", "prohibitedCPUAllocationError");
	expect_refusal(controller, 0, "wanted", "2");
	expect_refusal(controller, 0, "available", "3");
	expect_refusal(controller, 0, "suggestion", "fits with 3 CPUs for container exclusive");
	scan_with(controller, 3);
	expect_cpus("2-4", "5-15");
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_free(controller);
}

static void a_refused_resize_changes_nothing(void **state)
{
	struct controller *controller = start_controller();

	(void)state;
	scan_with(controller, 4);
	scan_with(controller, 15);
	expect_cpus("2-5", "6-15");
	assert_int_equal(nr_rows(controller, "pod"), 2);
	expect_refusal(controller, 0, "suggestion", "fits with 13 CPUs for container exclusive");
	expect_detail(controller, "the changed manifest was rejected: container exclusive asks for "
				  "15 exclusive CPUs, but only 14 are free");
	controller_free(controller);
}

/* There is room later, but by then nobody asks for the larger size any more. */
static void a_withdrawn_change_is_not_decided_again(void **state)
{
	struct pod_spec *other[] = {fake_pod("a", "exclusive", 4000, true),
				    fake_pod("b", "web", 500, false),
				    fake_pod("c", "large", 8000, true)};
	struct controller *controller = start_controller();
	struct pod_spec *larger[] = {fake_pod("a", "exclusive", 6000, true), other[1], other[2]};

	(void)state;
	scan(controller, other, 3);
	scan(controller, larger, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	scan(controller, other, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	expect_detail(controller, NULL);
	/* Pod c leaves. */
	scan(controller, other, 2);
	controller_tick(controller);
	controller_wake(controller);
	expect_cpus("2-5", "6-15");
	controller_free(controller);
	pod_spec_free(larger[0]);
	free_pods(other, 3);
}

/* A change that still stands is decided again when there is room. */
static void a_refused_resize_waits_for_room(void **state)
{
	struct pod_spec *large[] = {fake_pod("a", "exclusive", 6000, true),
				    fake_pod("b", "web", 500, false),
				    fake_pod("c", "large", 8000, true)};
	struct controller *controller = start_controller();
	struct pod_spec *small = fake_pod("a", "exclusive", 4000, true);
	struct pod_spec *first[] = {small, large[1], large[2]};

	(void)state;
	scan(controller, first, 3);
	scan(controller, large, 3);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	scan(controller, large, 2);
	expect_cpus("2-7", "8-15");
	controller_free(controller);
	pod_spec_free(small);
	free_pods(large, 3);
}

/* The manifest went back while no agent ran. */
static void a_refusal_does_not_outlive_its_change(void **state)
{
	struct controller *controller = start_controller();
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 15000, true),
				   fake_pod("b", "web", 500, false),
				   fake_pod("c", "new", 1000, true)};

	(void)state;
	scan_with(controller, 4);
	scan_with(controller, 15);
	expect_detail(controller, "the changed manifest was rejected");
	/* The state is saved for another pod. */
	scan(controller, pods, 3);
	expect_detail(controller, "the changed manifest was rejected");
	populate(true);
	controller_free(controller);
	controller = start_controller();
	scan_with(controller, 4);
	expect_detail(controller, NULL);
	/* It is said again as long as the change stands. */
	scan_with(controller, 15);
	expect_detail(controller, "the changed manifest was rejected");
	controller_free(controller);
	free_pods(pods, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_overlap, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_manifest_resizes_in_place),
		TEST(the_baseline_outlives_a_restart),
		TEST(a_refused_resize_changes_nothing),
		TEST(a_withdrawn_change_is_not_decided_again),
		TEST(a_refused_resize_waits_for_room),
		TEST(a_refusal_does_not_outlive_its_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
