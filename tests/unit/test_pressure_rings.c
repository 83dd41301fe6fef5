// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Which pods and containers have a ring for their history, and what rings cost. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_scene.h"

static void pods_come_and_go(void **state)
{
	struct controller *controller = start_counting();
	struct pod_spec *only_b[] = {pods[1]};

	scan(controller, pods, 2);
	pass_times(controller, 5);
	assert_int_equal(controller->samples.nr, 4);
	assert_non_null(pressure_samples_find(&controller->samples, "uid-a", ""));
	scan(controller, only_b, 1);
	pass_times(controller, 5);
	assert_int_equal(controller->samples.nr, 2);
	assert_null(pressure_samples_find(&controller->samples, "uid-a", ""));
	assert_null(pressure_samples_find(&controller->samples, "uid-a", "exclusive"));
	/* The others keep what they have. */
	read_fine(controller, "b", "web");
	assert_int_equal(nr_samples, 9);
	assert_int_equal(nr_gaps, 0);
	/* A pod that comes again begins anew. */
	scan(controller, pods, 2);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 2);
	read_fine(controller, "b", "web");
	assert_int_equal(nr_samples, 12);
	controller_free(controller);
}

/* 0 where a sanitizer has replaced the allocator, which then counts nothing. */
static size_t nr_allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* 250 pods of one container each: what a ring costs, and that passes add nothing to it. */
static void memory_is_bounded(void **state)
{
	enum { NR = 250 };
	struct pressure_samples *all;
	struct controller *controller = start_counting();
	struct group_tree before = controller->measured.tree;
	size_t begin, full, expected = 2 * NR * sizeof(struct sampled_group);

	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	for (int i = 0; i < 2 * NR; i++) {
		struct group *group = group_tree_add(&controller->measured.tree,
						     i % 2 ? GROUP_CONTAINER : GROUP_POD, "x");

		assert_non_null(group);
		snprintf(group->uid, sizeof(group->uid), "uid-%d", i / 2);
		snprintf(group->container, sizeof(group->container), "%s", i % 2 ? "main" : "");
	}
	/* Each pass looks at the counters, whose buffers change places once. */
	for (int i = 0; i < 2; i++)
		ctl_count_node_waits(controller);
	begin = nr_allocated();
	ctl_add_pressure_samples(controller);
	full = nr_allocated();
	all = &controller->samples;
	assert_int_equal(all->nr, 2 * NR);
	if (begin)
		assert_in_range(full - begin, expected, expected + expected / 100);
	print_message("# %d rings take %zu bytes, %zu each\n", 2 * NR, full - begin,
		      (full - begin) / (2 * NR));
	for (int i = 0; i < 100; i++) {
		fake->now_ns += 2 * S;
		ctl_add_pressure_samples(controller);
	}
	/* A buffer may find a place that is some bytes larger; a leak of each pass would be 3,200. */
	assert_true(nr_allocated() <= full + 1000);
	group_tree_fini(&controller->measured.tree);
	fake->now_ns += 2 * S;
	ctl_add_pressure_samples(controller);
	assert_int_equal(all->nr, 0);
	assert_true(nr_allocated() <= begin + 1000);
	controller->measured.tree = before;
	controller_free(controller);
}

/*
 * The tree of the tests below has only the root and what they add. Of a pod only its
 * number matters.
 */
static void want_nothing(struct controller *controller)
{
	group_tree_fini(&controller->measured.tree);
	assert_non_null(group_tree_add(&controller->measured.tree, GROUP_ROOT, "root"));
}

static void want(struct controller *controller, enum group_role role, const char *path,
		 uint32_t pod, const char *container)
{
	struct group *group = group_tree_add(&controller->measured.tree, role, path);

	assert_non_null(group);
	snprintf(group->uid, sizeof(group->uid), "uid-%u", pod);
	snprintf(group->container, sizeof(group->container), "%s", container);
}

static void want_pod(struct controller *controller, uint32_t pod)
{
	want(controller, GROUP_POD, "x", pod, "");
}

static void sample(struct controller *controller)
{
	fake->now_ns += 2 * S;
	ctl_add_pressure_samples(controller);
}

static void want_pods(struct controller *controller, uint32_t first, uint32_t end)
{
	want_nothing(controller);
	for (uint32_t i = first; i < end; i++)
		want_pod(controller, i);
	sample(controller);
}

static const struct sampled_group *ring_of(const struct controller *controller, uint32_t pod,
					   const char *container)
{
	char uid[POD_UID_MAX];

	snprintf(uid, sizeof(uid), "uid-%u", pod);
	return pressure_samples_find(&controller->samples, uid, container);
}

static void rings_follow_their_pods(void **state)
{
	struct controller *controller = start_counting();
	const struct pressure_samples *all = &controller->samples;
	struct group_tree before = controller->measured.tree;
	const struct sampled_group *second, *third, *fourth;

	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	want_pods(controller, 0, 3);
	second = ring_of(controller, 1, "");
	third = ring_of(controller, 2, "");
	/* The first one leaves. */
	want_pods(controller, 1, 3);
	assert_int_equal(all->nr, 2);
	assert_null(ring_of(controller, 0, ""));
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 2, ""), third);
	/* Another one comes after them. */
	want_pods(controller, 1, 4);
	assert_int_equal(all->nr, 3);
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 2, ""), third);
	fourth = ring_of(controller, 3, "");
	assert_non_null(fourth);
	/* The one in the middle leaves. */
	want_nothing(controller);
	want_pod(controller, 1);
	want_pod(controller, 3);
	sample(controller);
	assert_int_equal(all->nr, 2);
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 3, ""), fourth);
	/* As many others take their places. */
	want_pods(controller, 4, 6);
	assert_int_equal(all->nr, 2);
	assert_null(ring_of(controller, 1, ""));
	assert_non_null(ring_of(controller, 4, ""));
	assert_non_null(ring_of(controller, 5, ""));
	/* The last one leaves. */
	want_pods(controller, 4, 5);
	assert_int_equal(all->nr, 1);
	want_pods(controller, 5, 5);
	assert_int_equal(all->nr, 0);
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	controller_free(controller);
}

static void rings_follow_their_containers(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before = controller->measured.tree;
	const struct sampled_group *first, *last;

	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	want_nothing(controller);
	want_pod(controller, 0);
	want(controller, GROUP_CONTAINER, "x", 0, "first");
	want(controller, GROUP_CONTAINER, "x", 0, "last");
	sample(controller);
	first = ring_of(controller, 0, "first");
	last = ring_of(controller, 0, "last");
	assert_string_equal(first->container, "first");
	assert_string_equal(last->container, "last");
	/* One between them takes nobody's. */
	want_nothing(controller);
	want_pod(controller, 0);
	want(controller, GROUP_CONTAINER, "x", 0, "first");
	want(controller, GROUP_CONTAINER, "x", 0, "new");
	want(controller, GROUP_CONTAINER, "x", 0, "last");
	sample(controller);
	assert_int_equal(controller->samples.nr, 4);
	assert_ptr_equal(ring_of(controller, 0, "first"), first);
	assert_ptr_equal(ring_of(controller, 0, "last"), last);
	assert_non_null(ring_of(controller, 0, "new"));
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	controller_free(controller);
}

static enum history_state state_of(struct controller *controller, const char *pod)
{
	struct json_object *json = ask(controller, pod, NULL, PRESSURE_SPAN_10M, 200);
	struct view_history row;

	object_read(&view_history_desc, json, &row);
	assert_int_equal(row.histories_max, PRESSURE_SAMPLES_MAX);
	json_object_put(json);
	return row.state;
}

/* A pod without a ring, first because no pass has been made, then because there is none left. */
static void why_there_is_no_history(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before;

	scan(controller, pods, 1);
	assert_int_equal(state_of(controller, "a"), HISTORY_AWAITED);
	before = controller->measured.tree;
	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	want_pods(controller, 0, PRESSURE_SAMPLES_MAX);
	assert_int_equal(state_of(controller, "a"), HISTORY_LEFT_OUT);
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	fake->now_ns += 2 * S;
	ctl_add_pressure_samples(controller);
	assert_int_equal(state_of(controller, "a"), HISTORY_KEPT);
	controller_free(controller);
}

static void more_groups_than_rings_are_left_out(void **state)
{
	struct controller *controller = start_counting();
	const struct pressure_samples *all = &controller->samples;
	struct group_tree before = controller->measured.tree;

	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	want_pods(controller, 3, 3 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 0);
	expect_metric(controller, "pinfold_not_measured{what=\"history\"} 0\n");
	/* New ones that come last get none. */
	want_pods(controller, 3, 5 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 2);
	expect_metric(controller, "pinfold_not_measured{what=\"history\"} 2\n");
	want_pods(controller, 3, 4 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 1);
	/* New ones that come first take nobody's ring. */
	for (int i = 0; i < 3; i++) {
		want_pods(controller, 0, 3 + PRESSURE_SAMPLES_MAX);
		assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
		assert_int_equal(all->nr_left_out, 3);
		assert_null(pressure_samples_find(all, "uid-2", ""));
		assert_non_null(pressure_samples_find(all, "uid-1026", ""));
	}
	/* When others have left there is room. */
	want_pods(controller, 0, 1 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 1);
	assert_non_null(pressure_samples_find(all, "uid-1", ""));
	assert_null(pressure_samples_find(all, "uid-2", ""));
	assert_null(pressure_samples_find(all, "uid-1026", ""));
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	controller_free(controller);
}

static void only_pods_and_containers_take_a_ring(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before = controller->measured.tree;

	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	want_pods(controller, 0, PRESSURE_SAMPLES_MAX - 1);
	/* Its uid is that of the first pod. */
	want(controller, GROUP_SHARED, "x", 0, "");
	want_pod(controller, PRESSURE_SAMPLES_MAX);
	sample(controller);
	assert_int_equal(controller->samples.nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(controller->samples.nr_left_out, 0);
	assert_non_null(ring_of(controller, PRESSURE_SAMPLES_MAX, ""));
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	controller_free(controller);
}

/* Pod 0 and the second container of pod 1 come too late to have a ring. */
static void those_without_a_ring_change_no_others(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before;
	const char *path;

	scan(controller, pods, 1);
	path = group_of(GROUP_CONTAINER, "exclusive")->path;
	before = controller->measured.tree;
	memset(&controller->measured.tree, 0, sizeof(controller->measured.tree));
	for (int i = 0; i < 3; i++) {
		want_nothing(controller);
		if (i)
			want_pod(controller, 0);
		want_pod(controller, 1);
		want(controller, GROUP_CONTAINER, path, 1, "first");
		if (i)
			want(controller, GROUP_CONTAINER, path, 1, "second");
		for (uint32_t pod = 2; pod < PRESSURE_SAMPLES_MAX; pod++)
			want_pod(controller, pod);
		sample(controller);
		assert_int_equal(controller->samples.nr, PRESSURE_SAMPLES_MAX);
	}
	assert_int_equal(controller->samples.nr_left_out, 2);
	assert_int_equal(ring_of(controller, 1, "first")->last.cgroup_id,
			 id_of(GROUP_CONTAINER, "exclusive"));
	assert_int_equal(ring_of(controller, 1, "first")->ring.newest_ns, fake->now_ns);
	/* What the second one ran is not known, and so the pod's sum is not. */
	assert_int_equal(ring_of(controller, 1, "")->ring.newest_ns, 0);
	group_tree_fini(&controller->measured.tree);
	controller->measured.tree = before;
	controller_free(controller);
}

/* As if there had been no memory for its ring. */
static void who_got_no_memory_gets_a_ring_later(void **state)
{
	struct controller *controller = start_counting();
	struct pressure_samples *all = &controller->samples;
	uint32_t nr;

	scan(controller, pods, 1);
	pass(controller);
	nr = all->nr;
	assert_true(nr > 1);
	free(all->groups[--all->nr]);
	all->nr_left_out++;
	pass(controller);
	assert_int_equal(all->nr, nr);
	assert_int_equal(all->nr_left_out, 0);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTORY_TEST(pods_come_and_go),
		HISTORY_TEST(memory_is_bounded),
		HISTORY_TEST(rings_follow_their_pods),
		HISTORY_TEST(rings_follow_their_containers),
		HISTORY_TEST(more_groups_than_rings_are_left_out),
		HISTORY_TEST(only_pods_and_containers_take_a_ring),
		HISTORY_TEST(those_without_a_ring_change_no_others),
		HISTORY_TEST(who_got_no_memory_gets_a_ring_later),
		HISTORY_TEST(why_there_is_no_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
