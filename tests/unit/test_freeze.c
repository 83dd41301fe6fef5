// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The agent freezes nothing, so a frozen cgroup is drift at any time: who is named, what undoes it,
 * and which option leaves it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "node_scene.h"

#define ROOT	  "pinfold.slice"
#define POD	  ROOT "/poduid-a"
#define CONTAINER POD "/exclusive"

static struct pod_spec *pods[1];

static int set_up_pod(void **state)
{
	int r = set_up_node(state);

	pods[0] = fake_pod("a", "exclusive", 4000, true);
	return r;
}

static int tear_down_pod(void **state)
{
	free_pods(pods, 1);
	return tear_down(state);
}

static void freeze(const char *path)
{
	struct fake_group *group = fake_find(path);

	assert_non_null(group);
	strcpy(group->files[GROUP_FREEZE], "1");
}

static bool is_frozen(const char *path)
{
	const struct fake_group *group = fake_find(path);

	assert_non_null(group);
	return strcmp(group->files[GROUP_FREEZE], "0");
}

/* The only row of drift. */
static void expect_row(struct controller *controller, const char *path, const char *action,
		       const char *is_open)
{
	struct json_object *list = query(controller, "drift"), *row;

	assert_int_equal(json_object_array_length(list), 1);
	row = json_object_array_get_idx(list, 0);
	assert_string_equal(member(row, "cgroup"), path);
	assert_string_equal(member(row, "attribute"), "freeze");
	assert_string_equal(member(row, "wanted"), "0");
	assert_string_equal(member(row, "found"), "1");
	assert_string_equal(member(row, "action"), action);
	assert_string_equal(member(row, "open"), is_open);
	json_object_put(list);
}

static uint32_t nr_thaws;

static void count_thaw(const struct step *step)
{
	nr_thaws += step->kind == STEP_WRITE && step->file == GROUP_FREEZE;
}

static void no_cgroup_is_written_that_is_not_frozen(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	nr_thaws = 0;
	fake->on_step = count_thaw;
	scan(controller, pods, 1);
	controller_wake(controller);
	assert_int_equal(nr_thaws, 0);
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
}

static void undone(const char *path)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	freeze(path);
	controller_wake(controller);
	assert_false(is_frozen(path));
	expect_row(controller, path, "repair", "false");
	controller_free(controller);
}

static void a_container_is_thawed(void **state)
{
	undone(CONTAINER);
}

static void a_pod_is_thawed(void **state)
{
	undone(POD);
}

static void the_workload_root_is_thawed(void **state)
{
	undone(ROOT);
}

/* No other step of the pod is left to do, and nobody has told of the change. */
static void a_freeze_found_at_the_start_is_undone(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	controller_free(controller);
	freeze(CONTAINER);
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	assert_false(is_frozen(CONTAINER));
	expect_row(controller, CONTAINER, "repair", "false");
	controller_free(controller);
}

/* Whoever may freeze a container, because the guard lets it, need not fear the agent. */
static void what_the_guard_does_not_deny_is_not_undone(void **state)
{
	static const enum enforcement modes[] = {ENFORCEMENT_AUDIT, ENFORCEMENT_OFF};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct controller *controller;

		config.enforcement.guard[ASPECT_CGROUP_MOVES] = modes[i];
		controller = start_node(&fake_side_port);
		scan(controller, pods, 1);
		freeze(CONTAINER);
		tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
		controller_wake(controller);
		assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
		assert_true(is_frozen(CONTAINER));
		controller_free(controller);
		/* Nor is what was there before the start. */
		controller = start_node(&fake_side_port);
		scan(controller, pods, 1);
		controller_wake(controller);
		assert_true(is_frozen(CONTAINER));
		expect_row(controller, CONTAINER, "audit", "true");
		/* Somebody ends it. */
		strcpy(fake_find(CONTAINER)->files[GROUP_FREEZE], "0");
		controller_wake(controller);
		expect_row(controller, CONTAINER, "none", "false");
		controller_free(controller);
	}
}

static void the_option_of_the_cpusets_does_not_matter(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	undone(CONTAINER);
}

static void the_event_names_the_option(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct json_object *list;
	bool is_told = false;

	scan(controller, pods, 1);
	freeze(CONTAINER);
	controller_wake(controller);
	list = query(controller, "event");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (strcmp(member(row, "kind"), "drift"))
			continue;
		assert_string_equal(member(row, "aspect"), "cgroup_moves");
		assert_string_equal(member(row, "target"), CONTAINER "/cgroup.freeze");
		is_told = true;
	}
	json_object_put(list);
	assert_true(is_told);
	controller_free(controller);
}

static bool refuses_thaw(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_FREEZE;
}

static void a_thaw_that_fails_is_tried_again(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	freeze(CONTAINER);
	fake->refuses = refuses_thaw;
	controller_wake(controller);
	assert_true(is_frozen(CONTAINER));
	expect_row(controller, CONTAINER, "none", "true");
	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_false(is_frozen(CONTAINER));
	expect_row(controller, CONTAINER, "repair", "false");
	controller_free(controller);
}

/* The thread that wrote has ended, and a look has seen what it wrote, before the agent is told. */
static void a_thaw_that_is_seen_before_it_is_told_is_a_repair(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	freeze(CONTAINER);
	snprintf(fake->slow_path, sizeof(fake->slow_path), CONTAINER);
	fake->slow_file = GROUP_FREEZE;
	controller_wake(controller);
	assert_true(fake->has_step);
	fake->has_step = false;
	strcpy(fake_find(CONTAINER)->files[GROUP_FREEZE], "0");
	controller_wake(controller);
	expect_row(controller, CONTAINER, "none", "true");
	fake_tell_end(controller, fake->going.path, 0);
	expect_row(controller, CONTAINER, "repair", "false");
	controller_free(controller);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_pod, tear_down_pod)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_cgroup_is_written_that_is_not_frozen),
		TEST(a_container_is_thawed),
		TEST(a_pod_is_thawed),
		TEST(the_workload_root_is_thawed),
		TEST(a_freeze_found_at_the_start_is_undone),
		TEST(what_the_guard_does_not_deny_is_not_undone),
		TEST(the_option_of_the_cpusets_does_not_matter),
		TEST(the_event_names_the_option),
		TEST(a_thaw_that_fails_is_tried_again),
		TEST(a_thaw_that_is_seen_before_it_is_told_is_a_repair),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
