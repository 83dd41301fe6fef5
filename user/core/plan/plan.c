// SPDX-License-Identifier: Apache-2.0
/*
 * Orders the steps between two trees, so that no two owners share a CPU at any time.
 * plan.h defines the order and the terms.
 */
#include "core/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void plan_fini(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nr_steps; i++) {
		free(plan->steps[i].value);
		free(plan->steps[i].old);
	}
	free(plan->steps);
	*plan = (struct plan){0};
}

/* The migration of a container from its current to its desired CPUs. */
struct migration {
	const struct group *group; /* whose path and owner the steps name */
	const char *old;	   /* the kernel's list, NULL = none */
	struct cpuset now, target; /* now: its CPUs after the steps so far */
	bool is_unlisted;	   /* its file differs from `now`, so the target must be written */
	bool is_unbounded;	   /* has tasks and no list */
	bool is_astray;		   /* runs on a CPU outside its target */
};

struct planner {
	const struct group_tree *desired, *observed;
	struct plan plan;
	uint32_t capacity;
	uint32_t nr_migrations;
	struct migration *migrations;
	struct cpuset exclusive; /* of all desired exclusive containers */
	struct cpuset bound;	 /* the root's list while containers move */
	struct cpuset home;	 /* CPUs for containers in the final state */
	struct cpuset room;	 /* CPUs that containers may use in between; includes `home` */
	char text[CPUSET_TEXT_MAX];
	int error;
};

static struct step *add_step(struct planner *planner, enum step_kind kind,
			     const struct group *group)
{
	struct plan *plan = &planner->plan;
	struct step *step;

	if (planner->error)
		return NULL;
	if (plan->nr_steps == planner->capacity) {
		uint32_t capacity = planner->capacity ? planner->capacity * 2 : 32;
		struct step *grown = realloc(plan->steps, capacity * sizeof(*grown));

		if (!grown) {
			planner->error = -ENOMEM;
			return NULL;
		}
		plan->steps = grown;
		planner->capacity = capacity;
	}
	step = &plan->steps[plan->nr_steps++];
	*step = (struct step){.kind = kind, .role = group->role};
	memcpy(step->path, group->path, sizeof(step->path));
	memcpy(step->uid, group->uid, sizeof(step->uid));
	memcpy(step->container, group->container, sizeof(step->container));
	return step;
}

static void write_file(struct planner *planner, const struct group *group, enum group_file file,
		       const char *value, const char *old)
{
	struct step *step = add_step(planner, STEP_WRITE, group);

	if (!step)
		return;
	step->file = file;
	step->value = strdup(value);
	step->old = old ? strdup(old) : NULL;
	if (!step->value || (old && !step->old))
		planner->error = -ENOMEM;
}

static void write_set(struct planner *planner, const struct group *group, enum group_file file,
		      const struct cpuset *set, const char *old)
{
	cpuset_format(set, planner->text, sizeof(planner->text));
	write_file(planner, group, file, planner->text, old);
}

/* The kernel's value. Text that is not a list counts as none and is overwritten. */
static const char *old_value(const struct group *observed, enum group_file file)
{
	return observed ? observed->files[file] : NULL;
}

/*
 * Groups of both trees are paired by sorted path instead of linear search, because a tree
 * may be as large as maxContainers allows.
 */
struct pairing {
	uint32_t nr;
	const struct group **sorted;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int compare_path(const void *path, const void *group)
{
	return strcmp(path, (*(const struct group *const *)group)->path);
}

static const struct group *find_pair(const struct pairing *pairing, const char *path)
{
	const struct group **found;

	if (!pairing->nr)
		return NULL;
	found = bsearch(path, pairing->sorted, pairing->nr, sizeof(pairing->sorted[0]),
			compare_path);
	return found ? *found : NULL;
}

static int pair_groups(const struct group_tree *tree, struct pairing *ret_pairing)
{
	struct pairing pairing = {.nr = tree->nr_groups};

	pairing.sorted = calloc(tree->nr_groups + 1, sizeof(pairing.sorted[0]));
	if (!pairing.sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		pairing.sorted[i] = &tree->groups[i];
	qsort(pairing.sorted, pairing.nr, sizeof(pairing.sorted[0]), compare_groups);
	*ret_pairing = pairing;
	return 0;
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
	const struct group_tree *desired = planner->desired, *observed = planner->observed;

	if (group->role == GROUP_ROOT || group->populated || find_pair(desired_pairs, group->path))
		return true;
	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		if (is_below(desired->groups[i].path, group->path))
			return true;
	}
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
		if (!is_kept(planner, desired_pairs, &planner->observed->groups[i]))
			add_step(planner, STEP_REMOVE, &planner->observed->groups[i]);
	}
}

/* --- the root --------------------------------------------------------------------------------- */

static void write_partition(struct planner *planner, const struct group *root, const char *old)
{
	const char *wanted = root->files[GROUP_CPUSET_PARTITION];

	/* A kernel without the file has no partitions, which is equivalent to "member". */
	if (!wanted || (old ? !strcmp(old, wanted) : !strcmp(wanted, "member")))
		return;
	write_file(planner, root, GROUP_CPUSET_PARTITION, wanted, old);
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
		add_step(planner, STEP_CREATE, root);
	if (wants_member(root))
		write_partition(planner, root, partition);
	both = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	cpuset_union(&both, &now);
	/* An empty list means all CPUs of the parent, so there is nothing to widen. */
	if (!cpuset_is_empty(&both) && !cpuset_equal(&both, &now))
		write_set(planner, root, GROUP_CPUSET_CPUS, &both, old);
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
	write_set(planner, root, GROUP_CPUSET_CPUS, &target, old);
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
	if (!cpuset_is_empty(&both) && !cpuset_equal(&both, &now))
		write_set(planner, group, GROUP_CPUSET_MEMS, &both, old);
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
		write_set(planner, group, GROUP_CPUSET_MEMS, &target, old);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

/*
 * A migration is settled, or astray (on a CPU outside its target), or waiting (it has
 * only CPUs of its target, or none yet). Only astray migrations can block others, because
 * the targets of two containers that are apart are disjoint. The waiting migrations
 * therefore come last, and none leaves its target again except to make room.
 *
 * If no astray migration can reach its target, each one waits for CPUs that other astray
 * migrations occupy. Then one that blocks others is parked, by the first of these methods
 * that works:
 *
 * - on the available part of its target: it is then no longer astray;
 * - on CPUs that no astray migration waits for: it never blocks others again, because the
 *   number of waiting migrations only decreases;
 * - on one CPU: its other CPUs become free;
 * - on a CPU that is released by other migrations with more than one CPU.
 *
 * Each method frees a CPU of another target once all containers on it, which may share
 * it, have left. The first method then applies to the migration that waited for this CPU,
 * so the algorithm terminates. It fails only if no CPU is free, no migration can release
 * one, and none can join a container with which it may share CPUs. Then there are as many
 * CPUs as owners, and every write would add a conflict. From any other state without
 * conflicts every other such state can be reached: shrink all containers to one CPU each,
 * exchange these CPUs through the free CPU, and grow.
 */

static bool is_settled(const struct migration *migration)
{
	return !migration->is_unlisted && !migration->is_unbounded &&
	       cpuset_equal(&migration->now, &migration->target);
}

/* Containers that share CPUs in the final state may share CPUs in between; all others are apart. */
static bool are_apart(const struct migration *a, const struct migration *b)
{
	return a != b && !cpuset_intersects(&a->target, &b->target);
}

static bool are_in_conflict(const struct migration *a, const struct migration *b)
{
	return cpuset_intersects(&a->now, &b->now) && are_apart(a, b);
}

static void move_to(struct planner *planner, struct migration *migration, const struct cpuset *cpus)
{
	write_set(planner, migration->group, GROUP_CPUSET_CPUS, cpus, migration->old);
	migration->now = *cpus;
	migration->is_unlisted = migration->is_unbounded = false;
	migration->is_astray = !cpuset_is_subset(&migration->now, &migration->target);
}

/*
 * The available CPUs of the target: those that are free, or used only by `migration` and
 * by containers with which it may share CPUs. Only astray migrations can occupy others.
 */
static void open_target(const struct planner *planner, const struct migration *migration,
			struct cpuset *ret_cpus)
{
	*ret_cpus = migration->target;
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];

		if (other->is_astray && are_apart(other, migration))
			cpuset_subtract(ret_cpus, &other->now);
	}
}

static void open_room(const struct planner *planner, const struct migration *migration,
		      struct cpuset *ret_cpus)
{
	*ret_cpus = planner->room;
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];

		if (are_apart(other, migration))
			cpuset_subtract(ret_cpus, &other->now);
	}
}

/* Move to the target, unless that adds a conflict. */
static bool arrive(struct planner *planner, struct migration *migration)
{
	struct cpuset cpus;

	if (is_settled(migration))
		return false;
	if (!cpuset_is_subset(&migration->target, &migration->now)) {
		open_target(planner, migration, &cpus);
		cpuset_union(&cpus, &migration->now);
		if (!cpuset_is_subset(&migration->target, &cpus))
			return false;
	}
	move_to(planner, migration, &migration->target);
	return true;
}

static bool shrink_all(struct planner *planner)
{
	bool progress = false;

	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		struct migration *migration = &planner->migrations[i];

		if (cpuset_is_subset(&migration->target, &migration->now))
			progress |= arrive(planner, migration);
	}
	return progress;
}

static bool arrive_all(struct planner *planner, bool astray)
{
	bool progress = false;

	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (planner->migrations[i].is_astray == astray)
			progress |= arrive(planner, &planner->migrations[i]);
	}
	return progress;
}

static bool is_met(const struct planner *planner, const struct migration *migration)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (are_in_conflict(migration, &planner->migrations[i]))
			return true;
	}
	return false;
}

/*
 * The targets of astray migrations that are apart from `migration`. On these CPUs it
 * blocks them.
 */
static void wanted_by_others(const struct planner *planner, const struct migration *migration,
			     struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];

		if (other->is_astray && are_apart(other, migration))
			cpuset_union(ret_cpus, &other->target);
	}
}

static bool is_in_the_way(const struct planner *planner, const struct migration *migration)
{
	struct cpuset wanted;

	wanted_by_others(planner, migration, &wanted);
	return cpuset_intersects(&migration->now, &wanted);
}

/* Keep at most `nr` CPUs, so that others find room too. */
static void keep_first(struct cpuset *cpus, unsigned int nr)
{
	cpuset_for_each (cpu, cpus) {
		if (nr)
			nr--;
		else
			cpuset_remove(cpus, cpu);
	}
}

static bool keep_common(struct cpuset *cpus, const struct cpuset *preferred)
{
	if (!cpuset_intersects(cpus, preferred))
		return false;
	cpuset_intersect(cpus, preferred);
	return true;
}

enum parking {
	PARK_ON_TARGET, /* on the available part of its target */
	PARK_CLEAR,	/* on available CPUs that no astray migration waits for */
	PARK_ON_ONE,	/* on one CPU */
};

/* Prefer CPUs that it has, then CPUs that containers use in the final state. */
static void find_clear(const struct planner *planner, const struct migration *migration,
		       struct cpuset *ret_cpus)
{
	struct cpuset wanted;

	open_room(planner, migration, ret_cpus);
	wanted_by_others(planner, migration, &wanted);
	cpuset_subtract(ret_cpus, &wanted);
	if (keep_common(ret_cpus, &migration->now))
		return;
	keep_common(ret_cpus, &planner->home);
	keep_first(ret_cpus, cpuset_count(&migration->target));
}

/* If it already shares a CPU in conflict, stay there and leave the CPUs that others wait for. */
static void find_one_cpu(const struct planner *planner, const struct migration *migration,
			 struct cpuset *ret_cpus)
{
	struct cpuset wanted;

	*ret_cpus = migration->now;
	wanted_by_others(planner, migration, &wanted);
	cpuset_subtract(ret_cpus, &wanted);
	if (cpuset_is_empty(ret_cpus))
		open_room(planner, migration, ret_cpus);
	if (cpuset_is_empty(ret_cpus))
		*ret_cpus = migration->now;
	keep_first(ret_cpus, 1);
}

/*
 * Find CPUs where `migration` blocks fewer others. Returns false if there are none or if
 * it is already there.
 */
static bool find_parking(const struct planner *planner, const struct migration *migration,
			 enum parking parking, struct cpuset *ret_cpus)
{
	if (parking == PARK_ON_TARGET)
		open_target(planner, migration, ret_cpus);
	else if (parking == PARK_CLEAR)
		find_clear(planner, migration, ret_cpus);
	else
		find_one_cpu(planner, migration, ret_cpus);
	return !cpuset_is_empty(ret_cpus) && !cpuset_equal(ret_cpus, &migration->now);
}

/*
 * The number of astray migrations that may share CPUs with `migration` and must be parked
 * with it.
 */
static uint32_t count_company(const struct planner *planner, const struct migration *migration)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];

		nr += other->is_astray && other != migration && !are_apart(other, migration);
	}
	return nr;
}

/*
 * Of the migrations that block others or are in conflict, park the one with the smallest
 * company.
 */
static bool park_one(struct planner *planner, enum parking parking)
{
	struct migration *chosen = NULL;
	uint32_t fewest = UINT32_MAX;
	struct cpuset cpus;

	for (uint32_t i = 0; i < planner->nr_migrations && fewest; i++) {
		struct migration *migration = &planner->migrations[i];
		struct cpuset found;
		uint32_t nr;

		if (!migration->is_astray ||
		    !(is_met(planner, migration) || is_in_the_way(planner, migration)))
			continue;
		nr = count_company(planner, migration);
		if (nr >= fewest || !find_parking(planner, migration, parking, &found))
			continue;
		fewest = nr;
		chosen = migration;
		cpus = found;
	}
	if (!chosen)
		return false;
	move_to(planner, chosen, &cpus);
	return true;
}

/*
 * The CPUs that remain for `migration` without `cpu`, preferably from its target. Returns
 * false if there are none.
 */
static bool find_without(const struct planner *planner, const struct migration *migration,
			 unsigned int cpu, struct cpuset *ret_cpus)
{
	struct cpuset cpus;

	open_room(planner, migration, &cpus);
	cpuset_remove(&cpus, cpu);
	if (!keep_common(&cpus, &migration->target) && !keep_common(&cpus, &migration->now))
		keep_first(&cpus, 1);
	*ret_cpus = cpus;
	return !cpuset_is_empty(&cpus);
}

static uint32_t count_on(const struct planner *planner, unsigned int cpu)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < planner->nr_migrations; i++)
		nr += cpuset_has(&planner->migrations[i].now, cpu);
	return nr;
}

static bool can_all_leave(const struct planner *planner, unsigned int cpu)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *migration = &planner->migrations[i];
		struct cpuset cpus;

		if (cpuset_has(&migration->now, cpu) &&
		    !find_without(planner, migration, cpu, &cpus))
			return false;
	}
	return true;
}

static bool is_any_in_the_way(const struct planner *planner)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *migration = &planner->migrations[i];

		if (migration->is_astray && is_in_the_way(planner, migration))
			return true;
	}
	return false;
}

/* Free the CPU that takes the fewest writes, and park a blocking migration there. */
static bool make_room(struct planner *planner)
{
	struct cpuset candidates = planner->room;
	unsigned int chosen = CPUSET_MAX;
	uint32_t fewest = UINT32_MAX;

	if (!is_any_in_the_way(planner))
		return false;
	/* Do not park on CPUs that others wait for. */
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (planner->migrations[i].is_astray)
			cpuset_subtract(&candidates, &planner->migrations[i].target);
	}
	cpuset_for_each (cpu, &candidates) {
		uint32_t nr = count_on(planner, cpu);

		if (nr < fewest && can_all_leave(planner, cpu)) {
			fewest = nr;
			chosen = cpu;
		}
	}
	if (chosen == CPUSET_MAX)
		return false;
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		struct migration *migration = &planner->migrations[i];
		struct cpuset cpus;

		if (cpuset_has(&migration->now, chosen) &&
		    find_without(planner, migration, chosen, &cpus))
			move_to(planner, migration, &cpus);
	}
	return park_one(planner, PARK_CLEAR);
}

/*
 * There is no safe order. Reaching the state of the ledger takes precedence over avoiding
 * a temporary conflict. Migrations that are not astray come last, because moving them
 * first would add conflicts without unblocking any other.
 */
static void force(struct planner *planner)
{
	struct migration *chosen = NULL;
	uint32_t fewest = UINT32_MAX;

	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		struct migration *migration = &planner->migrations[i];
		uint32_t nr;

		if (is_settled(migration))
			continue;
		nr = migration->is_astray ? count_company(planner, migration)
					  : planner->nr_migrations;
		if (nr < fewest) {
			fewest = nr;
			chosen = migration;
		}
	}
	if (chosen)
		move_to(planner, chosen, &chosen->target);
}

static bool is_done(const struct planner *planner)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (!is_settled(&planner->migrations[i]))
			return false;
	}
	return true;
}

static bool move_one(struct planner *planner)
{
	return shrink_all(planner) || arrive_all(planner, true) ||
	       park_one(planner, PARK_ON_TARGET) || park_one(planner, PARK_CLEAR) ||
	       park_one(planner, PARK_ON_ONE) || make_room(planner) || arrive_all(planner, false);
}

static void move_all(struct planner *planner)
{
	/*
	 * More rounds than the algorithm needs; the limit guarantees termination even
	 * with a bug.
	 */
	uint32_t rounds = planner->nr_migrations * 8 + 8;

	while (!planner->error && !is_done(planner)) {
		if (rounds && move_one(planner))
			rounds--;
		else
			force(planner);
	}
}

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

	if (group->role == GROUP_ROOT || cpuset_is_empty(&target))
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

		add_desired_migration(planner, group, find_pair(observed, group->path));
		if (group->is_exclusive) {
			struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

			cpuset_union(&planner->exclusive, &cpus);
		}
	}
	for (uint32_t i = 0; i < planner->observed->nr_groups; i++) {
		if (!find_pair(desired, planner->observed->groups[i].path))
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
 * The kernel rounds memory limits to whole pages, which have at most 64 KiB on supported
 * machines.
 */
static bool same_memory(const char *wanted, const char *old)
{
	unsigned long long a, b;
	char *end_a, *end_b;

	a = strtoull(wanted, &end_a, 10);
	b = strtoull(old, &end_b, 10);
	if (end_a == wanted || end_b == old)
		return false;
	return b <= a && a - b < 65536;
}

static void write_limits(struct planner *planner, const struct group *group,
			 const struct group *observed)
{
	static const enum group_file files[] = {GROUP_CPU_WEIGHT, GROUP_CPU_MAX, GROUP_MEMORY_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *wanted = group->files[files[i]];
		const char *old = old_value(observed, files[i]);

		if (!wanted || (old && !strcmp(old, wanted)))
			continue;
		if (old && files[i] == GROUP_MEMORY_MAX && same_memory(wanted, old))
			continue;
		write_file(planner, group, files[i], wanted, old);
	}
}

static void make_steps(struct planner *planner, const struct pairing *desired,
		       const struct pairing *observed)
{
	const struct group_tree *tree = planner->desired;
	const struct group *root =
		tree->nr_groups && tree->groups[0].role == GROUP_ROOT ? &tree->groups[0] : NULL;

	remove_unwanted(planner, desired);
	if (root)
		open_root(planner, root, find_pair(observed, root->path));
	for (uint32_t i = root ? 1 : 0; i < tree->nr_groups; i++) {
		if (!find_pair(observed, tree->groups[i].path))
			add_step(planner, STEP_CREATE, &tree->groups[i]);
	}
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		grow_mems(planner, &tree->groups[i], find_pair(observed, tree->groups[i].path));
	if (root)
		find_bound(planner, root, find_pair(observed, root->path));
	collect_migrations(planner, desired, observed);
	move_all(planner);
	if (root)
		close_root(planner, root, find_pair(observed, root->path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		shrink_mems(planner, &tree->groups[i], find_pair(observed, tree->groups[i].path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		write_limits(planner, &tree->groups[i], find_pair(observed, tree->groups[i].path));
}

int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan)
{
	struct planner *planner cleanup_free = calloc(1, sizeof(*planner));
	struct migration *migrations cleanup_free =
		calloc((size_t)desired->nr_groups + observed->nr_groups + 1, sizeof(*migrations));
	struct pairing desired_pairs = {0}, observed_pairs = {0};
	int r = planner && migrations ? 0 : -ENOMEM;

	if (!r)
		r = pair_groups(desired, &desired_pairs);
	if (!r)
		r = pair_groups(observed, &observed_pairs);
	if (!r) {
		planner->desired = desired;
		planner->observed = observed;
		planner->migrations = migrations;
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
