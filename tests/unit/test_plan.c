// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/* The order of the steps that lead from an observed tree to the desired one, by examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan_play.h"

static struct group *add_observed(struct group_tree *tree, enum group_role role, const char *path,
				  const char *cpus)
{
	struct group *group = group_tree_add(tree, role, path);

	assert_non_null(group);
	group->files[GROUP_CPUSET_CPUS] = copy_text(cpus);
	group->populated = role == GROUP_CONTAINER;
	return group;
}

static struct plan plan_of(const struct group_tree *desired, const struct group_tree *observed)
{
	struct plan plan = {0};

	assert_int_equal(plan_make(desired, observed, &plan), 0);
	return plan;
}

static void assert_write(const struct plan *plan, uint32_t index, const char *path,
			 const char *value)
{
	assert_true(index < plan->nr_steps);
	assert_int_equal(plan->steps[index].kind, STEP_WRITE);
	assert_string_equal(plan->steps[index].path, path);
	assert_string_equal(plan->steps[index].value, value);
}

static void others_leave_before_the_owner_arrives(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&observed, GROUP_CONTAINER, "owner", "2");
	add_observed(&observed, GROUP_CONTAINER, "shared", "0-1,3-7");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "shared", "3-7");
	assert_write(&plan, 1, "owner", "0-1");
	assert_write(&plan, 2, "shared", "2-7");
}

static void cycles_are_broken(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};

	add_observed(&desired, GROUP_ROOT, "pinfold.slice", "0-7");
	add_observed(&desired, GROUP_CONTAINER, "a", "0");
	add_observed(&desired, GROUP_CONTAINER, "b", "1");
	add_observed(&desired, GROUP_CONTAINER, "c", "2");
	add_observed(&desired, GROUP_CONTAINER, "shared", "3-7");
	add_observed(&desired, GROUP_CONTAINER, "shared2", "3-7");
	add_observed(&observed, GROUP_ROOT, "pinfold.slice", "0-7");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "2");
	add_observed(&observed, GROUP_CONTAINER, "c", "0");
	add_observed(&observed, GROUP_CONTAINER, "shared", "3-7");
	add_observed(&observed, GROUP_CONTAINER, "shared2", "3-7");
	/* out and back for both shared containers, one parked, three arrivals */
	assert_int_equal(play_plan(&observed, &desired), 8);
}

/* No CPU is free, but a has one that no other container waits for. */
static void owner_with_two_cpus_needs_no_spare_cpu(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "b", "0");
	add_observed(&observed, GROUP_CONTAINER, "a", "0,2");
	add_observed(&observed, GROUP_CONTAINER, "b", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "a", "2");
	assert_write(&plan, 1, "b", "0");
	assert_write(&plan, 2, "a", "1");
}

/* A container can be parked on CPUs of the root that no container has or gets. */
static void free_root_cpus_are_used_for_parking(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "2")->is_exclusive = true;
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "2");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "1");
	/* A container cannot be parked on a CPU whose owner cannot leave it. */
	add_observed(&desired, GROUP_CONTAINER, "r/owner", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "r/stuck", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 5);
	assert_int_equal(plan.steps[0].kind, STEP_CREATE);
	assert_write(&plan, 1, "r/a", "3");
	assert_write(&plan, 2, "r/b", "2");
	assert_write(&plan, 3, "r/a", "1");
	assert_write(&plan, 4, "r/owner", "0");
}

/*
 * The kernel applies the part of a list that the parent has, or the parent's whole set if
 * that is empty.
 */
static void a_list_beyond_the_root_counts_as_the_kernel_takes_it(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "2-3");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "0,9");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "8");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "r/b", "2-3");
	assert_write(&plan, 1, "r/a", "1");
}

/* Only the part within the root is in force, but the rest would be if the root grew. */
static void a_list_beyond_the_root_is_rewritten(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "1,9");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_write(&plan, 0, "r/a", "1");
	assert_string_equal(plan.steps[0].old, "1,9");
}

/* While containers move, the root has its old CPUs as well, and a can make room on one. */
static void cpus_that_the_root_loses_are_used_to_move(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_ROOT, "r", "0-2");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "0,2");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 4);
	assert_write(&plan, 0, "r/a", "2");
	assert_write(&plan, 1, "r/b", "0");
	assert_write(&plan, 2, "r/a", "1");
	assert_write(&plan, 3, "r", "0-1");
}

/* d waits for the free CPUs: after a was parked on one, b or c is next. */
static void nobody_is_parked_twice(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};

	add_observed(&desired, GROUP_ROOT, "pinfold.slice", "0-12");
	add_observed(&desired, GROUP_CONTAINER, "a", "8");
	add_observed(&desired, GROUP_CONTAINER, "b", "12");
	add_observed(&desired, GROUP_CONTAINER, "c", "9");
	add_observed(&desired, GROUP_CONTAINER, "d", "0-5");
	add_observed(&observed, GROUP_ROOT, "pinfold.slice", "0-12");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "8-9");
	add_observed(&observed, GROUP_CONTAINER, "c", "12");
	add_observed(&observed, GROUP_CONTAINER, "d", "4-5");
	assert_true(play_plan(&observed, &desired) <= 6);
}

static void without_a_free_cpu_the_ledger_wins(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "0");
	add_observed(&desired, GROUP_CONTAINER, "b", "1");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
}

static void memory_nodes_grow_before_and_shrink_after(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "8-9")->files[GROUP_CPUSET_MEMS] =
		copy_text("1");
	add_observed(&observed, GROUP_CONTAINER, "a", "0-1")->files[GROUP_CPUSET_MEMS] =
		copy_text("0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "a", "0-1");
	assert_int_equal(plan.steps[0].file, GROUP_CPUSET_MEMS);
	assert_write(&plan, 1, "a", "8-9");
	assert_write(&plan, 2, "a", "1");
}

/* As many as there is room for, so that none behind the last is looked at; no root. */
static void all_that_is_unwanted_is_removed(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	for (int i = 0; i < 8; i++) {
		char path[16];

		snprintf(path, sizeof(path), "p%d", i);
		add_observed(&observed, GROUP_POD, path, NULL);
		snprintf(path, sizeof(path), "p%d/c", i);
		add_observed(&observed, GROUP_CONTAINER, path, "1")->populated = i == 7;
	}
	assert_int_equal(observed.capacity, observed.nr_groups);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 14);
	assert_string_equal(plan.steps[0].path, "p6/c");
	assert_string_equal(plan.steps[13].path, "p0");
}

/* Neither is the root, nor do tasks keep a group whose name only begins like theirs. */
static void the_root_and_tasks_are_kept(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0}, without_tasks cleanup_plan = {0};

	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_POD, "r/p", NULL);
	without_tasks = plan_of(&desired, &observed);
	assert_int_equal(without_tasks.nr_steps, 1);
	assert_string_equal(without_tasks.steps[0].path, "r/p");
	add_observed(&observed, GROUP_POD, "r/pq", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/pq/c", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_int_equal(plan.steps[0].kind, STEP_REMOVE);
	assert_string_equal(plan.steps[0].path, "r/p");
}

/* An empty list would mean all of the parent's, so it is not written, whatever is there. */
static void no_list_is_emptied(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", NULL);
	add_observed(&desired, GROUP_CONTAINER, "r/a", "")->files[GROUP_CPUSET_MEMS] =
		copy_text("");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "1")->files[GROUP_CPUSET_MEMS] =
		copy_text("0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 0);
}

/* Only containers and the root have lists; a list elsewhere is somebody else's. */
static void unwanted_pods_keep_their_lists(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "owner", "0");
	add_observed(&observed, GROUP_POD, "pod", "0-1")->populated = true;
	add_observed(&observed, GROUP_CONTAINER, "pod/c", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 0);
}

static void unwanted_groups_are_removed_leaves_first(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-7");
	add_observed(&observed, GROUP_ROOT, "r", "0-7");
	add_observed(&observed, GROUP_POD, "r/p", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/p/c", "1")->populated = false;
	add_observed(&observed, GROUP_POD, "r/q", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/q/c", "2");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_int_equal(plan.steps[0].kind, STEP_REMOVE);
	assert_string_equal(plan.steps[0].path, "r/p/c");
	assert_string_equal(plan.steps[1].path, "r/p");
}

static void unwanted_but_populated_groups_lose_exclusive_cpus(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "left", "1-3");
	add_observed(&observed, GROUP_CONTAINER, "stuck", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_int_equal(plan.steps[0].kind, STEP_CREATE);
	assert_write(&plan, 1, "left", "2-3");
	assert_write(&plan, 2, "owner", "0-1");
}

static void tasks_without_a_list_are_bounded_first(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&observed, GROUP_CONTAINER, "owner", "")->populated = false;
	add_observed(&observed, GROUP_CONTAINER, "shared", "");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "shared", "2-7");
	assert_write(&plan, 1, "owner", "0-1");
}

/* All of the parent's CPUs are in force without a list too, but not for ever. */
static void tasks_without_a_list_get_one(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "0-3");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", NULL);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_write(&plan, 0, "r/a", "0-3");
	assert_null(plan.steps[0].old);
}

/* Wherever it is in the tree; and no group of one tree is in the other. */
static void tasks_without_a_list_are_bounded_first_in_any_order(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0}, unpaired cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "shared", "");
	add_observed(&observed, GROUP_CONTAINER, "owner", "2");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "shared", "2-7");
	assert_write(&plan, 1, "owner", "0-1");
	group_tree_fini(&observed);
	add_observed(&observed, GROUP_CONTAINER, "left", "0-3");
	unpaired = plan_of(&desired, &observed);
	assert_int_equal(unpaired.nr_steps, 5);
	assert_write(&unpaired, 2, "left", "2-3");
}

static void root_widens_before_and_narrows_after(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "2-5")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root");
	add_observed(&desired, GROUP_CONTAINER, "r/c", "4-5");
	add_observed(&observed, GROUP_ROOT, "r", "0-3")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root invalid (Cpu list in cpuset.cpus not exclusive)");
	add_observed(&observed, GROUP_CONTAINER, "r/c", "0-1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 5);
	assert_write(&plan, 0, "r", "member");
	assert_write(&plan, 1, "r", "0-5");
	assert_write(&plan, 2, "r/c", "4-5");
	assert_write(&plan, 3, "r", "2-5");
	assert_write(&plan, 4, "r", "root");
}

static void member_comes_before_the_list_changes(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-7")->files[GROUP_CPUSET_PARTITION] =
		copy_text("member");
	add_observed(&observed, GROUP_ROOT, "r", "1-7")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "r", "member");
	assert_write(&plan, 1, "r", "0-7");
}

/* The kernel rounds down to a page of at most 64 KiB. */
static void memory_limits_are_compared_in_pages(void **state)
{
	static const struct {
		const char *wanted, *old;
		bool same;
	} rows[] = {
		{"999997440", "999948288", true},
		{"999997440", "999931905", true},
		{"999997440", "999931904", false},
		{"999997440", "999997441", false},
		{"999997440", "max", false},
		{"max", "999997440", false},
		{"max", "max", true},
		{"max", "0", false},
		{"4096", "max", false},
		{"4096", "0", true},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
		struct plan plan cleanup_plan = {0};

		add_observed(&desired, GROUP_CONTAINER, "a", "0")->files[GROUP_MEMORY_MAX] =
			copy_text(rows[row].wanted);
		add_observed(&observed, GROUP_CONTAINER, "a", "0")->files[GROUP_MEMORY_MAX] =
			copy_text(rows[row].old);
		plan = plan_of(&desired, &observed);
		assert_int_equal(plan.nr_steps, !rows[row].same);
		if (plan.nr_steps)
			assert_write(&plan, 0, "a", rows[row].wanted);
	}
}

/*
 * What an uninstall left to live processes may hold all CPUs. A partition of all of
 * them would leave the host none, and the kernel says it is invalid.
 */
static void a_partition_waits_for_its_list(void **state)
{
	static const struct {
		const char *old_cpus, *old_partition;
		unsigned int nr_steps;
	} rows[] = {
		{"0-7", "member", 2},
		{"0-7", "root invalid (Parent unable to distribute cpu downstream)", 3},
		{"2-5", "member", 2},
		{"1-7", "member", 1},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
		struct group *group = group_tree_add(&desired, GROUP_ROOT, "pinfold.slice");
		struct plan plan cleanup_plan = {0};
		const struct step *last;

		group->files[GROUP_CPUSET_CPUS] = strdup("1-7");
		group->files[GROUP_CPUSET_PARTITION] = strdup("root");
		group = group_tree_add(&observed, GROUP_ROOT, "pinfold.slice");
		group->files[GROUP_CPUSET_CPUS] = strdup(rows[row].old_cpus);
		group->files[GROUP_CPUSET_PARTITION] = strdup(rows[row].old_partition);
		assert_int_equal(plan_make(&desired, &observed, &plan), 0);
		assert_int_equal(plan.nr_steps, rows[row].nr_steps);
		last = &plan.steps[plan.nr_steps - 1];
		assert_int_equal(last->file, GROUP_CPUSET_PARTITION);
		assert_string_equal(last->value, "root");
		if (plan.nr_steps >= 2)
			assert_string_equal(plan.steps[plan.nr_steps - 2].value, "1-7");
	}
}

/* A frozen container has its CPUs and nodes again before it runs, and a pod is thawed first. */
static void frozen_groups_are_thawed_last(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_POD, "pod", NULL)->files[GROUP_FREEZE] = copy_text("0");
	add_observed(&desired, GROUP_CONTAINER, "pod/a", "0-1")->files[GROUP_FREEZE] =
		copy_text("0");
	add_observed(&desired, GROUP_CONTAINER, "pod/new", "2-7")->files[GROUP_FREEZE] =
		copy_text("0");
	add_observed(&observed, GROUP_POD, "pod", NULL)->files[GROUP_FREEZE] = copy_text("1");
	add_observed(&observed, GROUP_CONTAINER, "pod/a", "0-7")->files[GROUP_FREEZE] =
		copy_text("1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 5);
	assert_int_equal(plan.steps[0].kind, STEP_CREATE);
	assert_write(&plan, 1, "pod/a", "0-1");
	assert_write(&plan, 2, "pod/new", "2-7");
	assert_write(&plan, 3, "pod", "0");
	assert_int_equal(plan.steps[3].file, GROUP_FREEZE);
	assert_string_equal(plan.steps[3].old, "1");
	assert_write(&plan, 4, "pod/a", "0");
	assert_int_equal(plan.steps[4].file, GROUP_FREEZE);
}

/* --- partitions below the root ---------------------------------------------------------------- */

static struct group *add_pod_group(struct group_tree *tree, const char *path, const char *cpus,
				   const char *partition)
{
	struct group *group = add_observed(tree, GROUP_POD, path, cpus);

	group->files[GROUP_CPUSET_PARTITION] = copy_text(partition);
	return group;
}

static struct group *add_part(struct group_tree *tree, const char *path, const char *cpus,
			      const char *partition)
{
	struct group *group = add_observed(tree, GROUP_CONTAINER, path, cpus);

	group->files[GROUP_CPUSET_PARTITION] = copy_text(partition);
	group->is_exclusive = partition && !strcmp(partition, "isolated");
	return group;
}

static void add_root(struct group_tree *tree, const char *partition)
{
	add_observed(tree, GROUP_ROOT, "r", "2-15")->files[GROUP_CPUSET_PARTITION] =
		copy_text(partition);
}

static void add_isolated(struct group_tree *tree)
{
	add_root(tree, "root");
	add_pod_group(tree, "r/p", "2-4", "root");
	add_part(tree, "r/p/x", "2-3", "isolated");
	add_part(tree, "r/p/y", "4", "member");
}

static void a_container_is_isolated_when_all_lists_are_right(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_isolated(&desired);
	add_part(&desired, "r/q/z", "5-15", "member");
	add_root(&observed, "root");
	add_pod_group(&observed, "r/p", NULL, "member");
	add_part(&observed, "r/p/x", "2", "member");
	add_part(&observed, "r/p/y", "4", "member");
	add_part(&observed, "r/q/z", "3,5-15", "member");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 5);
	assert_write(&plan, 0, "r/q/z", "5-15");
	assert_write(&plan, 1, "r/p/x", "2-3");
	assert_write(&plan, 2, "r/p", "2-4");
	assert_write(&plan, 3, "r/p", "root");
	assert_write(&plan, 4, "r/p/x", "isolated");
}

/* x grows onto a CPU of the pool; the other isolated pod keeps what it has. */
static void a_pod_that_changes_is_no_partition_meanwhile(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_root(&desired, "root");
	add_pod_group(&desired, "r/p", "2-5", "root");
	add_part(&desired, "r/p/x", "2-3,5", "isolated");
	add_part(&desired, "r/p/y", "4", "member");
	add_pod_group(&desired, "r/o", "14-15", "root");
	add_part(&desired, "r/o/x", "14-15", "isolated");
	add_part(&desired, "r/q/z", "6-13", "member");
	add_isolated(&observed);
	add_pod_group(&observed, "r/o", "14-15", "root");
	add_part(&observed, "r/o/x", "14-15", "isolated");
	add_part(&observed, "r/q/z", "5-13", "member");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 7);
	assert_write(&plan, 0, "r/p/x", "member");
	assert_write(&plan, 1, "r/p", "member");
	assert_write(&plan, 2, "r/p", "2-5");
	assert_write(&plan, 3, "r/q/z", "6-13");
	assert_write(&plan, 4, "r/p/x", "2-3,5");
	assert_write(&plan, 5, "r/p", "root");
	assert_write(&plan, 6, "r/p/x", "isolated");
	for (uint32_t i = 0; i < plan.nr_steps; i++)
		if (plan.steps[i].file == GROUP_CPUSET_PARTITION && i < 2)
			assert_string_equal(plan.steps[i].old, i ? "root" : "isolated");
}

/* Its containers cannot do without a list that they have had, and it must overlap with no other. */
static void a_pod_that_is_isolated_no_more_keeps_a_list(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_root(&desired, "root");
	add_pod_group(&desired, "r/p", NULL, NULL);
	add_part(&desired, "r/p/x", "2-3", NULL);
	add_part(&desired, "r/p/y", "4-15", NULL);
	add_isolated(&observed);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 4);
	assert_write(&plan, 0, "r/p/x", "member");
	assert_write(&plan, 1, "r/p", "member");
	assert_write(&plan, 2, "r/p", "2-15");
	assert_write(&plan, 3, "r/p/y", "4-15");
	plan_fini(&plan);
	group_tree_fini(&observed);
	group_tree_fini(&desired);
	add_root(&desired, "root");
	add_pod_group(&desired, "r/p", NULL, NULL);
	add_part(&desired, "r/p/y", "4-15", NULL);
	add_root(&observed, "root");
	add_pod_group(&observed, "r/p", "2-15", "member");
	add_part(&observed, "r/p/y", "4-15", "member");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 0);
	/* Unless another pod is to be a partition. */
	add_pod_group(&desired, "r/q", "2-3", "root");
	add_part(&desired, "r/q/x", "2-3", "isolated");
	plan_fini(&plan);
	plan = plan_of(&desired, &observed);
	for (uint32_t i = 0; i < plan.nr_steps; i++)
		if (plan.steps[i].file == GROUP_CPUSET_CPUS && !strcmp(plan.steps[i].path, "r/p")) {
			assert_write(&plan, i, "r/p", "4-15");
			return;
		}
	fail_msg("the list is not narrowed");
}

/* See partitions.h for what 6.12 and 7.2 do otherwise. */
static void nested_partitions_end_before_the_root_becomes_one_again(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_isolated(&desired);
	add_isolated(&observed);
	free(observed.groups[0].files[GROUP_CPUSET_PARTITION]);
	observed.groups[0].files[GROUP_CPUSET_PARTITION] =
		copy_text("root invalid (Cpu list in cpuset.cpus not exclusive)");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 6);
	assert_write(&plan, 0, "r", "member");
	assert_write(&plan, 1, "r/p/x", "member");
	assert_write(&plan, 2, "r/p", "member");
	assert_write(&plan, 3, "r", "root");
	assert_write(&plan, 4, "r/p", "root");
	assert_write(&plan, 5, "r/p/x", "isolated");
}

static void a_valid_root_outlives_its_nested_partitions(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_root(&desired, "member");
	add_pod_group(&desired, "r/p", NULL, NULL);
	add_part(&desired, "r/p/x", "2-3", NULL);
	add_part(&desired, "r/p/y", "4", NULL);
	add_isolated(&observed);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "r/p/x", "member");
	assert_write(&plan, 1, "r/p", "member");
	assert_write(&plan, 2, "r", "member");
}

/* The kernel may leave the child valid, and would give it others' CPUs later. */
static void an_invalid_pod_ends_before_its_containers(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_isolated(&desired);
	add_root(&observed, "root");
	add_pod_group(&observed, "r/p", "2-4", "root invalid");
	add_part(&observed, "r/p/x", "2-3", "isolated");
	add_part(&observed, "r/p/y", "4", "member");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 4);
	assert_write(&plan, 0, "r/p", "member");
	assert_write(&plan, 1, "r/p/x", "member");
	assert_write(&plan, 2, "r/p", "root");
	assert_write(&plan, 3, "r/p/x", "isolated");
}

/* A repair reads and writes the container alone. */
static void a_container_alone_is_isolated_again(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_part(&desired, "r/p/x", "2-3", "isolated");
	add_part(&observed, "r/p/x", "2-4", "isolated");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "r/p/x", "member");
	assert_write(&plan, 1, "r/p/x", "2-3");
	assert_write(&plan, 2, "r/p/x", "isolated");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partition_waits_for_its_list),
		cmocka_unit_test(frozen_groups_are_thawed_last),
		cmocka_unit_test(a_container_is_isolated_when_all_lists_are_right),
		cmocka_unit_test(a_pod_that_changes_is_no_partition_meanwhile),
		cmocka_unit_test(a_pod_that_is_isolated_no_more_keeps_a_list),
		cmocka_unit_test(nested_partitions_end_before_the_root_becomes_one_again),
		cmocka_unit_test(a_valid_root_outlives_its_nested_partitions),
		cmocka_unit_test(an_invalid_pod_ends_before_its_containers),
		cmocka_unit_test(a_container_alone_is_isolated_again),
		cmocka_unit_test(others_leave_before_the_owner_arrives),
		cmocka_unit_test(cycles_are_broken),
		cmocka_unit_test(owner_with_two_cpus_needs_no_spare_cpu),
		cmocka_unit_test(free_root_cpus_are_used_for_parking),
		cmocka_unit_test(a_list_beyond_the_root_counts_as_the_kernel_takes_it),
		cmocka_unit_test(nobody_is_parked_twice),
		cmocka_unit_test(without_a_free_cpu_the_ledger_wins),
		cmocka_unit_test(memory_nodes_grow_before_and_shrink_after),
		cmocka_unit_test(a_list_beyond_the_root_is_rewritten),
		cmocka_unit_test(cpus_that_the_root_loses_are_used_to_move),
		cmocka_unit_test(all_that_is_unwanted_is_removed),
		cmocka_unit_test(the_root_and_tasks_are_kept),
		cmocka_unit_test(no_list_is_emptied),
		cmocka_unit_test(unwanted_pods_keep_their_lists),
		cmocka_unit_test(unwanted_groups_are_removed_leaves_first),
		cmocka_unit_test(unwanted_but_populated_groups_lose_exclusive_cpus),
		cmocka_unit_test(tasks_without_a_list_are_bounded_first),
		cmocka_unit_test(tasks_without_a_list_get_one),
		cmocka_unit_test(tasks_without_a_list_are_bounded_first_in_any_order),
		cmocka_unit_test(root_widens_before_and_narrows_after),
		cmocka_unit_test(member_comes_before_the_list_changes),
		cmocka_unit_test(memory_limits_are_compared_in_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
