// SPDX-License-Identifier: Apache-2.0
/*
 * Orders the steps between two trees, so that no two owners share a CPU at any time.
 * plan.h defines the order and the terms; migrate.c orders the moves between CPUs.
 */
#include "core/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/migrate.h"
#include "core/plan/partitions.h"

void plan_fini(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nr_steps; i++) {
		free(plan->steps[i].value);
		free(plan->steps[i].old);
	}
	free(plan->steps);
	*plan = (struct plan){0};
}

/* The kernel's value. Text that is not a list counts as none and is overwritten. */
static const char *old_value(const struct group *observed, enum group_file file)
{
	return observed ? observed->files[file] : NULL;
}

/* --- removal ---------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *parent)
{
	size_t length = strlen(parent);

	return !strncmp(path, parent, length) && path[length] == '/';
}

static bool is_kept(const struct planner *planner, const struct pairing *desired_pairs,
		    const struct group *group)
{
	const struct group_tree *observed = planner->observed;

	if (group->role == GROUP_ROOT || group->populated ||
	    pairing_find(desired_pairs, group->path))
		return true;
	for (uint32_t i = 0; i < observed->nr_groups; i++) {
		if (observed->groups[i].populated &&
		    is_below(observed->groups[i].path, group->path))
			return true;
	}
	return false;
}

static void remove_unwanted(struct planner *planner, const struct pairing *desired_pairs)
{
	/*
	 * The observed tree lists parents before children, so the reverse order starts at
	 * the leaves.
	 */
	for (uint32_t i = planner->observed->nr_groups; i-- > 0;) {
		if (is_kept(planner, desired_pairs, &planner->observed->groups[i]))
			continue;
		planner_add_step(planner, STEP_REMOVE, &planner->observed->groups[i]);
		planner->fates[i] = FATE_REMOVED;
	}
}

/* --- the root --------------------------------------------------------------------------------- */

static void write_partition(struct planner *planner, const struct group *root, const char *old)
{
	const char *wanted = root->files[GROUP_CPUSET_PARTITION];

	/* A kernel without the file has no partitions, which is equivalent to "member". */
	if (!wanted || (old ? !strcmp(old, wanted) : !strcmp(wanted, "member")))
		return;
	planner_write(planner, root, GROUP_CPUSET_PARTITION, wanted, old);
}

static bool wants_member(const struct group *root)
{
	return root->files[GROUP_CPUSET_PARTITION] &&
	       !strcmp(root->files[GROUP_CPUSET_PARTITION], "member");
}

/* Does the list contain CPUs that must be removed? */
static bool must_shrink(const struct group *root, const struct cpuset *now)
{
	struct cpuset target = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);

	return !cpuset_is_empty(&target) && !cpuset_is_subset(now, &target);
}

/*
 * The root's list limits all groups below it, so while containers move it is the union of
 * the old and the new list. A partition is created after its list is written and becomes
 * a member before its list changes. If the list still contains CPUs that must be removed,
 * a partition would take them from the host, or leave the host none and be invalid. In
 * that case it is created after their removal.
 */
static void open_root(struct planner *planner, const struct group *root,
		      const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	const char *partition = old_value(observed, GROUP_CPUSET_PARTITION);
	struct cpuset now = cpuset_of_text(old), both;

	if (!observed)
		planner_add_step(planner, STEP_CREATE, root);
	if (wants_member(root) && !planner->is_root_ended)
		write_partition(planner, root, partition);
	both = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	cpuset_union(&both, &now);
	if (!cpuset_equal(&both, &now))
		planner_write_set(planner, root, GROUP_CPUSET_CPUS, &both, old);
	if (!wants_member(root) && !must_shrink(root, &now))
		write_partition(planner, root, partition);
}

static void close_root(struct planner *planner, const struct group *root,
		       const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	struct cpuset target = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	struct cpuset now = cpuset_of_text(old);

	if (!must_shrink(root, &now))
		return;
	planner_write_set(planner, root, GROUP_CPUSET_CPUS, &target, old);
	if (!wants_member(root))
		write_partition(planner, root, old_value(observed, GROUP_CPUSET_PARTITION));
}

/* --- memory nodes ----------------------------------------------------------------------------- */

/* Before its CPUs move, let a container use both the old and the new nodes. */
static void grow_mems(struct planner *planner, const struct group *group,
		      const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_MEMS);
	struct cpuset now = cpuset_of_text(old), both;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	both = cpuset_of_text(group->files[GROUP_CPUSET_MEMS]);
	cpuset_union(&both, &now);
	if (!cpuset_equal(&both, &now))
		planner_write_set(planner, group, GROUP_CPUSET_MEMS, &both, old);
}

static void shrink_mems(struct planner *planner, const struct group *group,
			const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_MEMS);
	struct cpuset now = cpuset_of_text(old), target;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	target = cpuset_of_text(group->files[GROUP_CPUSET_MEMS]);
	if (!cpuset_is_empty(&target) && !cpuset_is_subset(&now, &target))
		planner_write_set(planner, group, GROUP_CPUSET_MEMS, &target, old);
}

/* --- CPUs --------------------------------------------------------------------------------------- */

static struct migration *add_migration(struct planner *planner, const struct group *group,
				       const char *old, const struct cpuset *now,
				       const struct cpuset *target)
{
	struct migration *migration = &planner->migrations[planner->nr_migrations++];

	migration->group = group;
	migration->old = old;
	migration->now = *now;
	migration->target = *target;
	migration->is_astray = !cpuset_is_subset(now, target);
	cpuset_union(&planner->room, now);
	cpuset_union(&planner->home, target);
	return migration;
}

/* The kernel applies only the part of a list that the parent has. */
static struct cpuset within_bound(const struct planner *planner, struct cpuset cpus)
{
	if (!cpuset_is_empty(&planner->bound))
		cpuset_intersect(&cpus, &planner->bound);
	return cpus;
}

static void add_desired_migration(struct planner *planner, const struct group *group,
				  const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	struct cpuset target = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);
	struct cpuset listed = cpuset_of_text(old), now = within_bound(planner, listed);
	struct migration *migration;

	/* The lists of the root and of pods follow those of the containers. */
	if (group->role != GROUP_CONTAINER || cpuset_is_empty(&target))
		return;
	migration = add_migration(planner, group, old, &now, &target);
	migration->is_unlisted = !cpuset_equal(&now, &listed);
	migration->is_unbounded = cpuset_is_empty(&now) && observed && observed->populated;
}

/*
 * A populated group that is not desired keeps its CPUs, except those that are granted
 * exclusively. If it has no others it keeps these as well, and no container is moved
 * there.
 */
static void add_undesired(struct planner *planner, const struct group *observed,
			  struct cpuset *unavailable)
{
	const char *old = observed->files[GROUP_CPUSET_CPUS];
	struct cpuset now = within_bound(planner, cpuset_of_text(old)), target = now;

	if (!observed->populated || observed->role != GROUP_CONTAINER)
		return;
	cpuset_subtract(&target, &planner->exclusive);
	if (cpuset_is_empty(&target))
		cpuset_union(unavailable, &now);
	else
		add_migration(planner, observed, old, &now, &target);
}

/*
 * While containers move, the root has its old and its new CPUs, but only the new ones are
 * `home`.
 */
static void find_bound(struct planner *planner, const struct group *root,
		       const struct group *observed)
{
	struct cpuset before = cpuset_of_text(old_value(observed, GROUP_CPUSET_CPUS));

	planner->home = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	planner->bound = planner->home;
	if (!cpuset_is_empty(&planner->bound))
		cpuset_union(&planner->bound, &before);
}

static void collect_migrations(struct planner *planner, const struct pairing *desired,
			       const struct pairing *observed)
{
	struct cpuset unavailable = CPUSET_EMPTY;

	for (uint32_t i = 0; i < planner->desired->nr_groups; i++) {
		const struct group *group = &planner->desired->groups[i];

		add_desired_migration(planner, group, pairing_find(observed, group->path));
		if (group->is_exclusive) {
			struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

			cpuset_union(&planner->exclusive, &cpus);
		}
	}
	for (uint32_t i = 0; i < planner->observed->nr_groups; i++) {
		if (!pairing_find(desired, planner->observed->groups[i].path))
			add_undesired(planner, &planner->observed->groups[i], &unavailable);
	}
	cpuset_union(&planner->room, &planner->home);
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		struct migration *migration = &planner->migrations[i];

		/* Tasks of a group without a list run on all CPUs of the parent. */
		if (migration->is_unbounded) {
			migration->now = planner->room;
			migration->is_astray =
				!cpuset_is_subset(&migration->now, &migration->target);
		}
	}
	cpuset_subtract(&planner->room, &unavailable);
}

/* --- the whole plan --------------------------------------------------------------------------- */

/*
 * The kernel rounds memory limits down to whole pages, which have at most 64 KiB on supported
 * machines. If its value is the larger one, the difference wraps around and is large.
 */
static bool same_memory(const char *wanted, const char *old)
{
	unsigned long long a, b;
	char *end_a, *end_b;

	a = strtoull(wanted, &end_a, 10);
	b = strtoull(old, &end_b, 10);
	if (end_a == wanted || end_b == old)
		return false;
	return a - b < 65536;
}

static void write_limits(struct planner *planner, const struct group *group,
			 const struct group *observed)
{
	static const enum group_file files[] = {GROUP_CPU_WEIGHT, GROUP_CPU_MAX, GROUP_MEMORY_MAX,
						GROUP_FREEZE};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *wanted = group->files[files[i]];
		const char *old = old_value(observed, files[i]);

		if (!wanted || (old && !strcmp(old, wanted)))
			continue;
		/* No group is frozen when it is made. */
		if (!old && files[i] == GROUP_FREEZE)
			continue;
		if (old && files[i] == GROUP_MEMORY_MAX && same_memory(wanted, old))
			continue;
		planner_write(planner, group, files[i], wanted, old);
	}
}

static void make_steps(struct planner *planner, const struct pairing *desired,
		       const struct pairing *observed)
{
	const struct group_tree *tree = planner->desired;
	const struct group *root =
		tree->nr_groups && tree->groups[0].role == GROUP_ROOT ? &tree->groups[0] : NULL;

	uint32_t moves;

	remove_unwanted(planner, desired);
	if (root) {
		partitions_end_below(planner, desired, root, pairing_find(observed, root->path));
		open_root(planner, root, pairing_find(observed, root->path));
	}
	for (uint32_t i = root ? 1 : 0; i < tree->nr_groups; i++) {
		if (!pairing_find(observed, tree->groups[i].path))
			planner_add_step(planner, STEP_CREATE, &tree->groups[i]);
	}
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		grow_mems(planner, &tree->groups[i], pairing_find(observed, tree->groups[i].path));
	if (root)
		find_bound(planner, root, pairing_find(observed, root->path));
	collect_migrations(planner, desired, observed);
	moves = planner->plan.nr_steps;
	migrate_all(planner);
	partitions_surround(planner, desired, observed, moves);
	if (root)
		close_root(planner, root, pairing_find(observed, root->path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		shrink_mems(planner, &tree->groups[i],
			    pairing_find(observed, tree->groups[i].path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		write_limits(planner, &tree->groups[i],
			     pairing_find(observed, tree->groups[i].path));
	partitions_make(planner, observed);
}

int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan)
{
	struct planner *planner cleanup_free = calloc(1, sizeof(*planner));
	size_t most = (size_t)desired->nr_groups + observed->nr_groups;
	struct migration *migrations cleanup_free = calloc(most ? most : 1, sizeof(*migrations));
	enum fate *fates cleanup_free = calloc(most ? most : 1, sizeof(*fates));
	struct pairing desired_pairs = {0}, observed_pairs = {0};
	int r = planner && migrations && fates ? 0 : -ENOMEM;

	if (!r)
		r = pairing_make(desired, &desired_pairs);
	if (!r)
		r = pairing_make(observed, &observed_pairs);
	if (!r) {
		planner->desired = desired;
		planner->observed = observed;
		planner->migrations = migrations;
		planner->fates = fates;
		make_steps(planner, &desired_pairs, &observed_pairs);
		r = planner->error;
	}
	free(desired_pairs.sorted);
	free(observed_pairs.sorted);
	if (r) {
		if (planner)
			plan_fini(&planner->plan);
		return r;
	}
	*ret_plan = planner->plan;
	return 0;
}
