// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Containers that are found below kubepods and could not have what they ask for: they are decided again
 * when CPUs become free, and only then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

#define D "dddddddd-0000-0000-0000-000000000000"

static size_t nr_events(const char *kind)
{
	struct json_object *json = query(controller, "event"), *value;
	size_t nr = 0;

	for (size_t i = 0; i < json_object_array_length(json); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(json, i), "kind", &value))
			nr += !strcmp(json_object_get_string(value), kind);
	json_object_put(json);
	return nr;
}

static void who_shares_gets_its_cpus_when_there_is_room(void **state)
{
	uint64_t refused, shared;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 10000);
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	assert_string_equal(cpus_of(refused), "4-7");
	remove_pod(A);
	settle();
	assert_string_equal(cpus_of(refused), "2-3,8-15");
	assert_string_equal(cpus_of(shared), "4-7");
	assert_int_equal(nr_events("refuse"), 1);
	assert_int_equal(nr_events("admit"), 2);
}

/* The others leave before it has CPUs alone. */
static void nobody_else_is_on_its_cpus_then(void **state)
{
	uint64_t refused;

	start_in(A, QOS_GUARANTEED, "excl-a", 10000);
	start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 4000);
	settle();
	remove_pod(A);
	/* Writes are judged one by one from here on, and it had none of its CPUs before. */
	scan_node();
	for (uint32_t i = 0; i < node.nr_rows; i++)
		if (node.rows[i].cgroup_id == refused && node.rows[i].file == GROUP_CPUSET_CPUS)
			for (uint32_t j = i + 1; j < node.nr_rows; j++)
				assert_false(cpuset_intersects(&node.rows[i].value,
							       &node.rows[j].value));
	settle();
	assert_string_equal(cpus_of(refused), "2-5");
}

static void who_waits_longest_comes_first(void **state)
{
	uint64_t first, second;

	start_in(A, QOS_GUARANTEED, "excl", 12000);
	settle();
	first = start_in(B, QOS_GUARANTEED, "late-b", 8000);
	settle();
	second = start_in(C, QOS_GUARANTEED, "late-c", 8000);
	settle();
	remove_pod(A);
	settle();
	assert_string_equal(cpus_of(first), "8-15");
	assert_string_equal(cpus_of(second), "2-7");
	remove_pod(B);
	settle();
	assert_string_equal(cpus_of(second), "8-15");
	assert_int_equal(nr_events("refuse"), 2);
}

static void who_still_has_no_room_holds_up_nobody(void **state)
{
	uint64_t first, second;

	start_in(A, QOS_GUARANTEED, "excl-a", 4000);
	start_in(D, QOS_GUARANTEED, "excl-d", 8000);
	settle();
	first = start_in(B, QOS_GUARANTEED, "late-b", 10000);
	second = start_in(C, QOS_GUARANTEED, "late-c", 4000);
	settle();
	remove_pod(A);
	settle();
	assert_string_equal(cpus_of(second), "2-5");
	assert_string_equal(cpus_of(first), "6-7");
}

/* The pod whose container has ended needs its CPUs for the next one. */
static void an_init_container_leaves_nothing_to_other_pods(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app, refused;

	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 8000);
	settle();
	stop(init);
	app = start_in(A, QOS_GUARANTEED, "excl-app", 12000);
	settle();
	assert_string_equal(cpus_of(app), "2-5,8-15");
	assert_string_equal(cpus_of(refused), "6-7");
}

static void a_resize_that_was_refused_is_tried_again(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl-a", 4000);
	const uint64_t other = start_in(C, QOS_GUARANTEED, "excl-c", 2000);
	const struct cpuset kept = cpuset_of_text("2-5");
	struct cpuset cpus;
	char cpus_of_other[64];

	start_in(B, QOS_GUARANTEED, "excl-b", 6000);
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	strcpy(cpus_of_other, cpus_of(other));
	resize(owner, 8);
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	remove_pod(B);
	settle();
	cpus = cpuset_of_text(cpus_of(owner));
	assert_int_equal(cpuset_count(&cpus), 8);
	assert_true(cpuset_is_subset(&kept, &cpus));
	assert_string_equal(cpus_of(other), cpus_of_other);
	assert_int_equal(nr_events("refuse"), 1);
}

static void without_a_release_nobody_is_tried_again(void **state)
{
	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	start_in(B, QOS_GUARANTEED, "late", 10000);
	settle();
	node.nr_retries = 0;
	start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	assert_int_equal(node.nr_retries, 0);
	/* It leaves CPUs, but not enough; and is tried once. */
	start_in(D, QOS_GUARANTEED, "excl-d", 2000);
	settle();
	remove_pod(D);
	settle();
	assert_int_equal(node.nr_retries, 1);
	assert_int_equal(nr_events("refuse"), 1);
}

static void a_retry_waits_for_its_save(void **state)
{
	uint64_t refused;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 10000);
	settle();
	remove_pod(A);
	fake->slow_save = true;
	settle();
	assert_string_not_equal(cpus_of(refused), "2-3,8-15");
	end_saves();
	settle();
	assert_string_equal(cpus_of(refused), "2-3,8-15");
}

static void a_retry_that_cannot_be_saved_changes_nothing(void **state)
{
	uint64_t refused;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 10000);
	settle();
	fake->save_error = -EIO;
	remove_pod(A);
	settle();
	assert_string_equal(cpus_of(refused), "2-15");
	assert_int_equal(nr_events("refuse"), 1);
	/* The state can be written again, which is as good as a release. */
	fake->save_error = 0;
	controller_wake(controller);
	controller_tick(controller);
	settle();
	assert_string_equal(cpus_of(refused), "2-3,8-15");
}

/* The disk takes its time, and then refuses what is decided next. */
static void fail_saves(void)
{
	scan_node();
	assert_true(fake->is_saving);
	while (fake->is_saving) {
		fake_end_save(controller, -EIO);
		end_writes();
	}
	fake->slow_save = false;
}

/* As good as a release. */
static void let_saves_succeed(void)
{
	for (int i = 0; i < 120; i++) {
		fake->now_ns += 1000000000;
		controller_wake(controller);
		controller_tick(controller);
	}
	settle();
}

static void a_retry_whose_save_fails_late_is_tried_again(void **state)
{
	uint64_t refused;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 10000);
	settle();
	remove_pod(A);
	fake->slow_save = true;
	fail_saves();
	settle();
	assert_string_equal(cpus_of(refused), "2-15");
	let_saves_succeed();
	assert_string_equal(cpus_of(refused), "2-3,8-15");
}

static void a_container_whose_save_fails_late_is_tried_again(void **state)
{
	uint64_t refused;

	settle();
	refused = start_in(A, QOS_GUARANTEED, "excl", 4000);
	fake->slow_save = true;
	fail_saves();
	settle();
	assert_string_equal(cpus_of(refused), "2-15");
	let_saves_succeed();
	assert_string_equal(cpus_of(refused), "2-5");
}

static void a_resize_whose_save_fails_late_is_tried_again(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 4000);

	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	resize(owner, 6);
	fake->slow_save = true;
	fail_saves();
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	let_saves_succeed();
	assert_string_equal(cpus_of(owner), "2-7");
}

/* It ends while its decision is being saved. */
static void a_retried_container_may_end(void **state)
{
	uint64_t shared;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	start_in(B, QOS_GUARANTEED, "late", 10000);
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	remove_pod(A);
	fake->slow_save = true;
	scan_node();
	remove_pod(B);
	scan_node();
	while (fake->is_saving) {
		fake_end_save(controller, 0);
		end_writes();
	}
	fake->slow_save = false;
	settle();
	assert_string_equal(cpus_of(shared), "2-15");
	assert_int_equal(nr_rows(controller, "pod"), 1);
}

static void after_a_restart_it_is_still_tried_again(void **state)
{
	uint64_t refused;

	start_in(A, QOS_GUARANTEED, "excl", 10000);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 10000);
	settle();
	restart_agent();
	settle();
	assert_string_equal(cpus_of(refused), "4-7");
	remove_pod(A);
	settle();
	assert_string_equal(cpus_of(refused), "2-3,8-15");
}

static void a_pod_of_a_manifest_makes_room_when_it_ends(void **state)
{
	struct pod_spec *pods[] = {fake_pod("m", "main", 8000, true)};
	uint64_t refused;

	scan(controller, pods, 1);
	settle();
	refused = start_in(B, QOS_GUARANTEED, "late", 8000);
	settle();
	assert_string_equal(cpus_of(refused), "2-7");
	scan(controller, NULL, 0);
	for (int i = 0; i < 5; i++) {
		fake->now_ns += 1000000000;
		controller_wake(controller);
		controller_tick(controller);
	}
	settle();
	assert_string_equal(cpus_of(refused), "8-15");
	free_pods(pods, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(who_shares_gets_its_cpus_when_there_is_room),
		TEST(nobody_else_is_on_its_cpus_then),
		TEST(who_waits_longest_comes_first),
		TEST(who_still_has_no_room_holds_up_nobody),
		TEST(an_init_container_leaves_nothing_to_other_pods),
		TEST(a_resize_that_was_refused_is_tried_again),
		TEST(without_a_release_nobody_is_tried_again),
		TEST(a_retry_waits_for_its_save),
		TEST(a_retry_that_cannot_be_saved_changes_nothing),
		TEST(a_retry_whose_save_fails_late_is_tried_again),
		TEST(a_container_whose_save_fails_late_is_tried_again),
		TEST(a_resize_whose_save_fails_late_is_tried_again),
		TEST(a_retried_container_may_end),
		TEST(after_a_restart_it_is_still_tried_again),
		TEST(a_pod_of_a_manifest_makes_room_when_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
