/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan, applied step by step to a tree in memory: no container may share a CPU with an
 * exclusive owner, no list is ever empty, and the final state is the desired one. Include
 * after cmocka.h.
 */
#ifndef PLAN_PLAY_H
#define PLAN_PLAY_H

#include "plan_scene.h"

/* What the kernel shows of a group that nobody has written to. */
static inline void fill_defaults(struct group *group)
{
	if (!group->files[GROUP_CPUSET_PARTITION])
		group->files[GROUP_CPUSET_PARTITION] = copy_text("member");
	if (!group->files[GROUP_FREEZE])
		group->files[GROUP_FREEZE] = copy_text("0");
}

static inline void copy_tree(const struct group_tree *from, bool populated,
			     struct group_tree *ret_tree)
{
	struct group_tree tree = {0};

	for (uint32_t i = 0; i < from->nr_groups; i++) {
		const struct group *source = &from->groups[i];
		struct group *group = group_tree_add(&tree, source->role, source->path);

		assert_non_null(group);
		memcpy(group->uid, source->uid, sizeof(group->uid));
		memcpy(group->container, source->container, sizeof(group->container));
		group->populated = populated && source->role == GROUP_CONTAINER;
		for (int file = 0; file < GROUP_FILE_NR; file++)
			group->files[file] = copy_text(source->files[file]);
		fill_defaults(group);
	}
	*ret_tree = tree;
}

static inline struct cpuset list_of(const struct group *group)
{
	return cpus_of(group && group->files[GROUP_CPUSET_CPUS] ? group->files[GROUP_CPUSET_CPUS]
								: "");
}

struct stage {
	struct group_tree now, before;
	const struct group_tree *desired;
};

/* Over all plans: the number of CPU list writes, and of those that had to add a conflict. */
static uint64_t nr_moves, nr_forced;

/* Lists that may share CPUs in between: those that share CPUs in the final state. */
static inline bool end_together(const struct stage *stage, const struct group *a,
				const struct group *b)
{
	struct cpuset x = list_of(group_tree_find(stage->desired, a->path));
	struct cpuset y = list_of(group_tree_find(stage->desired, b->path));

	return cpuset_intersects(&x, &y);
}

/*
 * Has the root no more CPUs than there are owners, those with CPUs in common
 * counted as one? Then each has one CPU and none can move without a conflict with the
 * next. tests/exhaustive searches all orders to see that this is the only case.
 */
static inline bool is_full(const struct stage *stage)
{
	const struct group_tree *desired = stage->desired;
	struct cpuset *owners = calloc(desired->nr_groups + 1, sizeof(*owners));
	struct cpuset bound = list_of(group_tree_find(&stage->now, "pinfold.slice"));
	uint32_t nr_owners = 0;

	assert_non_null(owners);
	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		struct cpuset cpus = list_of(&desired->groups[i]);
		uint32_t kept = 0;

		if (desired->groups[i].role != GROUP_CONTAINER)
			continue;
		for (uint32_t j = 0; j < nr_owners; j++) {
			if (cpuset_intersects(&owners[j], &cpus))
				cpuset_union(&cpus, &owners[j]);
			else
				owners[kept++] = owners[j];
		}
		owners[kept++] = cpus;
		nr_owners = kept;
	}
	free(owners);
	return cpuset_count(&bound) <= nr_owners;
}

static inline void show(const struct stage *stage)
{
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *group = &stage->now.groups[i];
		const struct group *wanted = group_tree_find(stage->desired, group->path);

		if (group->role == GROUP_CONTAINER)
			printf("  %s: %s -> %s%s\n", group->path,
			       group->files[GROUP_CPUSET_CPUS] ?: "(none)",
			       wanted ? wanted->files[GROUP_CPUSET_CPUS] : "(unwanted)",
			       group->populated ? "" : ", no tasks");
	}
}

static inline void assert_apart(const struct stage *stage, const struct group *group,
				const struct cpuset *added)
{
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *other = &stage->now.groups[i];
		struct cpuset cpus = list_of(other);

		if (other == group || other->role != GROUP_CONTAINER ||
		    !group_tree_find(stage->desired, other->path) ||
		    end_together(stage, group, other) ||
		    (!group_tree_find(stage->desired, group->path) &&
		     !group_tree_find(stage->desired, other->path)->is_exclusive))
			continue;
		if (!cpuset_intersects(&cpus, added))
			continue;
		nr_forced++;
		if (is_full(stage))
			continue;
		show(stage);
		fail_msg("%s moves onto CPUs of %s", group->path, other->path);
	}
}

static inline bool is_child(const char *path, const char *parent)
{
	size_t length = strlen(parent);

	return !strncmp(path, parent, length) && path[length] == '/' &&
	       !strchr(path + length + 1, '/');
}

static inline struct group *parent_of(struct group_tree *tree, const struct group *group)
{
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		if (is_child(group->path, tree->groups[i].path))
			return &tree->groups[i];
	return NULL;
}

static inline bool is_valid(const struct group *group)
{
	const char *state = group->files[GROUP_CPUSET_PARTITION];

	return state && (!strcmp(state, "root") || !strcmp(state, "isolated"));
}

/* With all below it? Tasks that are not desired may have no CPU but another's to go to. */
static inline bool is_desired(const struct stage *stage, const char *path)
{
	size_t length = strlen(path);

	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const char *below = stage->now.groups[i].path;

		if (!strncmp(below, path, length) && (below[length] == '/' || !below[length]) &&
		    !group_tree_find(stage->desired, below))
			return false;
	}
	return true;
}

/*
 * The kernel's rules for a nested partition, after each step: below a valid one, with no more
 * than that has, and no sibling's list overlaps. A group that has a list has all that its
 * children list.
 */
static inline void assert_nested(struct stage *stage)
{
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *group = &stage->now.groups[i];
		const struct group *parent = parent_of(&stage->now, group);
		struct cpuset cpus = list_of(group), bound = list_of(parent);

		if (!parent || group->role == GROUP_ROOT)
			continue;
		if (parent->role == GROUP_POD && !cpuset_is_empty(&bound) &&
		    !cpuset_is_subset(&cpus, &bound) &&
		    group_tree_find(stage->desired, group->path))
			fail_msg("%s has CPUs that its pod lacks", group->path);
		if (!is_valid(group))
			continue;
		if (!is_valid(parent))
			fail_msg("%s is a partition below none", group->path);
		for (uint32_t j = 0; j < stage->now.nr_groups; j++) {
			const struct group *other = &stage->now.groups[j];
			struct cpuset others = list_of(other);

			if (other != group && is_child(other->path, parent->path) &&
			    is_desired(stage, other->path) && cpuset_intersects(&others, &cpus))
				fail_msg("%s overlaps with the partition %s", other->path,
					 group->path);
		}
	}
}

static inline void play_write(struct stage *stage, const struct step *step)
{
	struct group *group = group_tree_find(&stage->now, step->path);
	const struct group *before_all;
	struct cpuset before, after;

	if (!group)
		fail_msg("write to %s, which is not there", step->path);
	assert_non_null(step->value);
	assert_true(step->value[0]);
	/* What the kernel has at the beginning, also if an earlier step has written the file. */
	before_all = group_tree_find(&stage->before, step->path);
	if (!before_all || !before_all->files[step->file])
		assert_null(step->old);
	else
		assert_string_equal(step->old, before_all->files[step->file]);
	if (step->file == GROUP_CPUSET_CPUS && group->role == GROUP_CONTAINER) {
		const struct group *root = group_tree_find(&stage->now, "pinfold.slice");
		struct cpuset bound = list_of(root);

		before = list_of(group);
		after = cpus_of(step->value);
		if (!cpuset_is_subset(&after, &bound))
			fail_msg("%s gets %s, which its root does not have", step->path,
				 step->value);
		cpuset_subtract(&after, &before);
		nr_moves++;
		assert_apart(stage, group, &after);
	}
	/* Whose list changes is no partition meanwhile. */
	if (step->file == GROUP_CPUSET_CPUS && group->role != GROUP_ROOT)
		assert_false(is_valid(group));
	free(group->files[step->file]);
	group->files[step->file] = copy_text(step->value);
}

static inline void play_create(struct stage *stage, const struct step *step)
{
	char parent[GROUP_PATH_MAX];
	struct group *group;
	char *slash;

	assert_null(group_tree_find(&stage->now, step->path));
	snprintf(parent, sizeof(parent), "%s", step->path);
	slash = strrchr(parent, '/');
	if (slash) {
		*slash = '\0';
		assert_non_null(group_tree_find(&stage->now, parent));
	}
	group = group_tree_add(&stage->now, step->role, step->path);
	assert_non_null(group);
	fill_defaults(group);
}

static inline void play_remove(struct stage *stage, const struct step *step)
{
	struct group *group = group_tree_find(&stage->now, step->path);
	size_t length = strlen(step->path);

	assert_non_null(group);
	assert_false(group->populated);
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *other = &stage->now.groups[i];

		if (!strncmp(other->path, step->path, length) && other->path[length] == '/')
			fail_msg("%s is removed before %s", step->path, other->path);
	}
	group_fini(group);
	*group = stage->now.groups[--stage->now.nr_groups];
	memset(&stage->now.groups[stage->now.nr_groups], 0, sizeof(*group));
}

static inline void assert_arrived(const struct stage *stage)
{
	for (uint32_t i = 0; i < stage->desired->nr_groups; i++) {
		const struct group *wanted = &stage->desired->groups[i];

		for (int file = 0; file < GROUP_FILE_NR; file++) {
			if (wanted->files[file])
				assert_file(&stage->now, wanted->path, file, wanted->files[file]);
		}
	}
}

/* A step stops only the chain of its pod if it fails, so it has to name the right one. */
static inline void assert_owner(const struct stage *stage, const struct step *step)
{
	const struct group *group = group_tree_find(stage->desired, step->path);

	if (!group)
		group = group_tree_find(&stage->now, step->path);
	assert_non_null(group);
	assert_int_equal(step->role, group->role);
	assert_string_equal(step->uid, group->uid);
	assert_string_equal(step->container, group->container);
}

/* Apply the plan from `observed` to `desired`. Returns the number of steps. Takes `observed`. */
static inline uint32_t play_plan(struct group_tree *observed, const struct group_tree *desired)
{
	struct plan plan cleanup_plan = {0};
	struct stage stage = {.desired = desired};
	struct plan again cleanup_plan = {0};

	assert_int_equal(plan_make(desired, observed, &plan), 0);
	copy_tree(observed, false, &stage.before);
	for (uint32_t i = 0; i < observed->nr_groups; i++)
		fill_defaults(&observed->groups[i]);
	stage.now = *observed;
	*observed = (struct group_tree){0};
	for (uint32_t i = 0; i < plan.nr_steps; i++) {
		const struct step *step = &plan.steps[i];

		assert_owner(&stage, step);
		if (step->kind == STEP_CREATE)
			play_create(&stage, step);
		else if (step->kind == STEP_REMOVE)
			play_remove(&stage, step);
		else
			play_write(&stage, step);
		assert_nested(&stage);
	}
	assert_arrived(&stage);
	assert_int_equal(plan_make(desired, &stage.now, &again), 0);
	assert_int_equal(again.nr_steps, 0);
	group_tree_fini(&stage.now);
	group_tree_fini(&stage.before);
	return plan.nr_steps;
}

#endif
