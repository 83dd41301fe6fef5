// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Containers that are found below kubepods, the real controller, and a node whose cpuset files can be
 * written: who gets CPUs, in which order the files are written, and what becomes of what others write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

static void who_is_there_gets_its_cpus_and_others_leave_first(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 4000);

	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	assert_string_equal(cpus_of(shared), "6-15");
	assert_int_equal(node.nr_passes, 1);
}

static void a_container_that_comes_gets_cpus_and_gives_them_back(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	uint64_t owner;

	settle();
	owner = start_in(B, QOS_GUARANTEED, "excl", 2000);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
	remove_pod(B);
	settle();
	assert_string_equal(cpus_of(shared), "2-15");
	assert_int_equal(nr_rows(controller, "pod"), 1);
}

static void a_container_that_restarts_keeps_its_cpus(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t other, second;

	settle();
	assert_string_equal(cpus_of(first), "2-3");
	stop(first);
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	second = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(second), "2-3");
}

static void an_init_container_leaves_its_cpus_to_the_next(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app;

	settle();
	assert_string_equal(cpus_of(init), "2-5,8-15");
	stop(init);
	settle();
	app = start_in(A, QOS_GUARANTEED, "excl-app", 12000);
	settle();
	assert_string_equal(cpus_of(app), "2-5,8-15");
}

static void one_of_two_that_crashed_keeps_its_cpus(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t second, third;

	start_in(A, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	assert_string_equal(cpus_of(first), "2-3");
	stop(first);
	second = start_in(A, QOS_GUARANTEED, "excl-c", 2000);
	settle();
	third = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(second), "6-7");
	assert_string_equal(cpus_of(third), "2-3");
}

static void who_cannot_have_its_cpus_shares(void **state)
{
	const uint64_t big = start_in(A, QOS_GUARANTEED, "excl", 10000);
	uint64_t more;

	settle();
	more = start_in(B, QOS_GUARANTEED, "too-big", 10000);
	settle();
	assert_string_equal(cpus_of(big), "2-3,8-15");
	assert_string_equal(cpus_of(more), "4-7");
}

static void what_others_write_is_put_back(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	snprintf(container_with(owner)->cpus, sizeof(container_with(owner)->cpus), "0-15");
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 2); /* start, repair */
}

/* A scan that began before a write ended shows what was there before. */
static void an_old_scan_is_no_difference(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	scan_node();
	end_writes();
	snprintf(container_with(owner)->cpus, sizeof(container_with(owner)->cpus), "%s", "");
	scan_node();
	assert_null(node.rows);
	assert_true(node.nr_scans_wanted);
	scan_node();
	assert_non_null(node.rows);
	end_writes();
	assert_string_equal(cpus_of(owner), "2-3");
}

static void a_resize_is_followed(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);

	settle();
	resize(owner, 4);
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	assert_string_equal(cpus_of(shared), "6-15");
	resize(owner, 2);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
}

/* Its record is being written when the next one comes. */
static void a_resize_during_another_one_is_not_lost(void **state)
{
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);

	settle();
	fake->slow_save = true;
	resize(owner, 4);
	scan_node();
	resize(owner, 6);
	scan_node();
	end_saves();
	settle();
	assert_string_equal(cpus_of(owner), "2-7");
}

/* The answer comes from the end of a save, and is written before the controller has noted it. */
static void who_was_told_to_grow_is_told_to_leave(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);
	uint64_t other;

	node.writes_at_once = true;
	settle();
	resize(owner, 4);
	settle();
	assert_string_equal(cpus_of(shared), "6-15");
	fake->slow_save = true;
	resize(owner, 2);
	scan_node();
	end_saves();
	other = start_in(C, QOS_GUARANTEED, "excl-c", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(shared), "6-15");
}

static void end_during_its_save(bool writes_at_once)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);

	node.writes_at_once = writes_at_once;
	settle();
	start_in(B, QOS_GUARANTEED, "late", 4000);
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

static void a_pod_that_ends_during_its_save_holds_nothing(void **state)
{
	end_during_its_save(false);
}

static void nor_if_writes_are_fast(void **state)
{
	end_during_its_save(true);
}

static void a_restart_of_the_agent_changes_nothing(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	const uint64_t second = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	const uint64_t shared = start_in(C, QOS_BURSTABLE, "web", 500);

	settle();
	node.nr_passes = 0;
	restart_agent();
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(second), "4-5");
	assert_string_equal(cpus_of(shared), "6-15");
}

/* The runtime makes the cgroup, and writes its files a moment later. */
static void a_cgroup_that_is_not_filled_yet_is_no_resize(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);
	const struct node_container written = *container_with(owner);

	snprintf(container_with(owner)->cpu_max, sizeof(written.cpu_max), "max 100000");
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	memcpy(container_with(owner)->cpu_max, written.cpu_max, sizeof(written.cpu_max));
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 1); /* start */
}

/* Nothing is known to have ended, and an agent that begins waits. */
static void what_was_not_visited_has_not_ended(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);
	const struct node_container kept = *container_with(owner);
	uint64_t other;

	node.is_incomplete = true;
	scan_node();
	assert_null(node.rows);
	node.is_incomplete = false;
	settle();
	node.is_incomplete = true;
	remove_pod(A);
	settle();
	node.is_incomplete = false;
	node.containers[node.nr++] = kept;
	snprintf(node.pods[node.nr_pods++], sizeof(node.pods[0]), A);
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(other), "4-5");
}

/* A scan reads some hundred bundles; who has CPUs must not lose them until the next one. */
static void an_agent_begins_when_all_bundles_are_read(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	node.nr_unread = 1;
	scan_node();
	assert_null(node.rows);
	assert_true(node.nr_scans_wanted);
	node.nr_unread = 0;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
}

/* Who it is, is not known: it may be the one that ended. */
static void a_successor_without_its_bundle_ends_nobody(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t second, other;

	settle();
	stop(first);
	settle();
	second = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	container_with(second)->has_bundle = false;
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	container_with(second)->has_bundle = true;
	settle();
	assert_string_equal(cpus_of(second), "2-3");
	assert_string_equal(cpus_of(other), "4-5");
}

static void without_its_bundle_a_container_shares(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	container_with(owner)->has_bundle = false;
	settle();
	assert_string_equal(cpus_of(owner), "2-15");
	container_with(owner)->has_bundle = true;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
}

/* Written or not, it is told once; and it is written when that works again. */
static void a_write_that_fails_is_repeated(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	node.write_error = -EBUSY;
	settle();
	assert_string_equal(cpus_of(owner), "");
	node.nr_scans_wanted = 0;
	scan_node();
	scan_node();
	end_writes();
	/* Not as fast as scans can be. */
	assert_true(node.nr_scans_wanted <= 1);
	node.write_error = 0;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 1); /* start */
}

/* Pods of manifests get CPUs, too: the containers that share leave them at the next scan. */
static void a_pod_of_a_manifest_moves_containers(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	struct pod_spec *pods[] = {fake_pod("m", "main", 4000, true)};

	settle();
	scan(controller, pods, 1);
	settle();
	assert_string_equal(cpus_of(shared), "6-15");
	free_pods(pods, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(who_is_there_gets_its_cpus_and_others_leave_first),
		TEST(a_container_that_comes_gets_cpus_and_gives_them_back),
		TEST(a_container_that_restarts_keeps_its_cpus),
		TEST(an_init_container_leaves_its_cpus_to_the_next),
		TEST(one_of_two_that_crashed_keeps_its_cpus),
		TEST(who_cannot_have_its_cpus_shares),
		TEST(what_others_write_is_put_back),
		TEST(an_old_scan_is_no_difference),
		TEST(a_resize_is_followed),
		TEST(a_resize_during_another_one_is_not_lost),
		TEST(who_was_told_to_grow_is_told_to_leave),
		TEST(a_pod_that_ends_during_its_save_holds_nothing),
		TEST(nor_if_writes_are_fast),
		TEST(a_restart_of_the_agent_changes_nothing),
		TEST(a_cgroup_that_is_not_filled_yet_is_no_resize),
		TEST(what_was_not_visited_has_not_ended),
		TEST(an_agent_begins_when_all_bundles_are_read),
		TEST(a_successor_without_its_bundle_ends_nobody),
		TEST(without_its_bundle_a_container_shares),
		TEST(a_write_that_fails_is_repeated),
		TEST(a_pod_of_a_manifest_moves_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
