// SPDX-License-Identifier: Apache-2.0
/*
 * The order of steps between two trees. The rest of this file exists so that
 * no two owners ever meet on a CPU on the way; plan.h states the order.
 */
#include "core/plan.h"

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

/* A container with a list of CPUs, desired or not. */
struct mover {
	const struct group *group; /* whose path and owner the steps name */
	const char *old;	   /* what the kernel has, NULL = nothing */
	struct cpuset now, target; /* now: where it runs after the steps so far */
	bool is_unlisted;  /* its file does not say `now`, so the target has to be written */
	bool is_unbounded; /* has tasks and no list */
	bool is_astray;	   /* runs on a CPU that is not of its target */
};

struct making {
	const struct group_tree *desired, *observed;
	struct plan plan;
	uint32_t capacity;
	uint32_t nr_movers;
	struct mover *movers;
	struct cpuset exclusive; /* of all desired exclusive containers */
	struct cpuset bound;	 /* what the root's list has while containers move */
	struct cpuset home;	 /* CPUs that are for containers in the end */
	struct cpuset room;	 /* where a container may be on the way, home included */
	char text[CPUSET_TEXT_MAX];
	int error;
};

static struct step *add_step(struct making *making, enum step_kind kind, const struct group *group)
{
	struct plan *plan = &making->plan;
	struct step *step;

	if (making->error)
		return NULL;
	if (plan->nr_steps == making->capacity) {
		uint32_t capacity = making->capacity ? making->capacity * 2 : 32;
		struct step *grown = realloc(plan->steps, capacity * sizeof(*grown));

		if (!grown) {
			making->error = -ENOMEM;
			return NULL;
		}
		plan->steps = grown;
		making->capacity = capacity;
	}
	step = &plan->steps[plan->nr_steps++];
	*step = (struct step){.kind = kind, .role = group->role};
	memcpy(step->path, group->path, sizeof(step->path));
	memcpy(step->uid, group->uid, sizeof(step->uid));
	memcpy(step->container, group->container, sizeof(step->container));
	return step;
}

static void write_file(struct making *making, const struct group *group, enum group_file file,
		       const char *value, const char *old)
{
	struct step *step = add_step(making, STEP_WRITE, group);

	if (!step)
		return;
	step->file = file;
	step->value = strdup(value);
	step->old = old ? strdup(old) : NULL;
	if (!step->value || (old && !step->old))
		making->error = -ENOMEM;
}

static void write_set(struct making *making, const struct group *group, enum group_file file,
		      const struct cpuset *set, const char *old)
{
	cpuset_format(set, making->text, sizeof(making->text));
	write_file(making, group, file, making->text, old);
}

/* What the kernel has. Text that is no list is as good as none: it is written over. */
static const char *old_value(const struct group *observed, enum group_file file)
{
	return observed ? observed->files[file] : NULL;
}

/* The tree may be as large as maxContainers allows: pairing by sorted path, not by search. */
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

/* --- what may go ------------------------------------------------------------------------------ */

static bool is_below(const char *path, const char *parent)
{
	size_t length = strlen(parent);

	return !strncmp(path, parent, length) && path[length] == '/';
}

static bool is_kept(const struct making *making, const struct pairing *desired_pairs,
		    const struct group *group)
{
	const struct group_tree *desired = making->desired, *observed = making->observed;

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

static void remove_unwanted(struct making *making, const struct pairing *desired_pairs)
{
	/* Observed has parents before children: backwards is leaf first. */
	for (uint32_t i = making->observed->nr_groups; i-- > 0;) {
		if (!is_kept(making, desired_pairs, &making->observed->groups[i]))
			add_step(making, STEP_REMOVE, &making->observed->groups[i]);
	}
}

/* --- the root --------------------------------------------------------------------------------- */

static void write_partition(struct making *making, const struct group *root, const char *old)
{
	const char *wanted = root->files[GROUP_CPUSET_PARTITION];

	/* A kernel without the file has no partitions, that is "member". */
	if (!wanted || (old ? !strcmp(old, wanted) : !strcmp(wanted, "member")))
		return;
	write_file(making, root, GROUP_CPUSET_PARTITION, wanted, old);
}

static bool wants_member(const struct group *root)
{
	return root->files[GROUP_CPUSET_PARTITION] &&
	       !strcmp(root->files[GROUP_CPUSET_PARTITION], "member");
}

/* Has the list CPUs that are to go? */
static bool must_shrink(const struct group *root, const struct cpuset *now)
{
	struct cpuset target = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);

	return !cpuset_is_empty(&target) && !cpuset_is_subset(now, &target);
}

/*
 * The root's list bounds all below it, so while containers move it is the old
 * and the new one together; a partition needs its list first and loses its
 * state before its list changes. With CPUs in the list that are to go it would
 * take them from the host, or have none left for it and be invalid: then it is
 * made once they are gone.
 */
static void open_root(struct making *making, const struct group *root, const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	const char *partition = old_value(observed, GROUP_CPUSET_PARTITION);
	struct cpuset now = cpuset_of_text(old), both;

	if (!observed)
		add_step(making, STEP_CREATE, root);
	if (wants_member(root))
		write_partition(making, root, partition);
	both = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	cpuset_union(&both, &now);
	/* An empty list means all of the parent's CPUs: nothing to widen. */
	if (!cpuset_is_empty(&both) && !cpuset_equal(&both, &now))
		write_set(making, root, GROUP_CPUSET_CPUS, &both, old);
	if (!wants_member(root) && !must_shrink(root, &now))
		write_partition(making, root, partition);
}

static void close_root(struct making *making, const struct group *root,
		       const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	struct cpuset target = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	struct cpuset now = cpuset_of_text(old);

	if (!must_shrink(root, &now))
		return;
	write_set(making, root, GROUP_CPUSET_CPUS, &target, old);
	if (!wants_member(root))
		write_partition(making, root, old_value(observed, GROUP_CPUSET_PARTITION));
}

/* --- memory nodes ----------------------------------------------------------------------------- */

/* Before the CPUs move, a container may use the old and the new nodes. */
static void grow_mems(struct making *making, const struct group *group,
		      const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_MEMS);
	struct cpuset now = cpuset_of_text(old), both;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	both = cpuset_of_text(group->files[GROUP_CPUSET_MEMS]);
	cpuset_union(&both, &now);
	if (!cpuset_is_empty(&both) && !cpuset_equal(&both, &now))
		write_set(making, group, GROUP_CPUSET_MEMS, &both, old);
}

static void shrink_mems(struct making *making, const struct group *group,
			const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_MEMS);
	struct cpuset now = cpuset_of_text(old), target;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	target = cpuset_of_text(group->files[GROUP_CPUSET_MEMS]);
	if (!cpuset_is_empty(&target) && !cpuset_is_subset(&now, &target))
		write_set(making, group, GROUP_CPUSET_MEMS, &target, old);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

/*
 * A mover is settled, or astray (on a CPU that is not of its target), or waits
 * with nothing but CPUs of its target, or none yet. Only those astray can be in
 * the way: the target of one is apart from the CPUs that others have of theirs.
 * So those who wait come last, and nobody leaves its target again except to make
 * room.
 *
 * When none of those astray can arrive, each waits for CPUs that others astray
 * are on. Somebody in the way steps aside, by the first of these that helps:
 *
 * - to the part of its target that is open to it: it is not astray any more;
 * - to CPUs that nobody astray waits for: it is never in the way again, because
 *   fewer and fewer wait;
 * - to one CPU: others go;
 * - to a CPU that others give up who have more than one.
 *
 * Each frees a CPU of somebody's target once all on it have gone, which are
 * containers that may be together, and the first rule then applies to who waited
 * for it. So this ends. It fails only when no CPU is free, nobody can give one up
 * and nobody can join one it may be with: there are as many CPUs as owners, and
 * no container can be written at all without a meeting. Any other state without
 * meetings reaches any other: shrink all to one CPU each, exchange these over
 * the CPU that is free, grow.
 */

static bool is_settled(const struct mover *mover)
{
	return !mover->is_unlisted && !mover->is_unbounded &&
	       cpuset_equal(&mover->now, &mover->target);
}

/* Who will share CPUs in the end may share them on the way; all others are apart. */
static bool are_apart(const struct mover *a, const struct mover *b)
{
	return a != b && !cpuset_intersects(&a->target, &b->target);
}

static bool do_meet(const struct mover *a, const struct mover *b)
{
	return cpuset_intersects(&a->now, &b->now) && are_apart(a, b);
}

static void move_to(struct making *making, struct mover *mover, const struct cpuset *cpus)
{
	write_set(making, mover->group, GROUP_CPUSET_CPUS, cpus, mover->old);
	mover->now = *cpus;
	mover->is_unlisted = mover->is_unbounded = false;
	mover->is_astray = !cpuset_is_subset(&mover->now, &mover->target);
}

/*
 * CPUs that `mover` has to itself and those it may share them with, or that
 * nobody is on. Of its target only those astray can hold some.
 */
static void open_target(const struct making *making, const struct mover *mover,
			struct cpuset *ret_cpus)
{
	*ret_cpus = mover->target;
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		if (other->is_astray && are_apart(other, mover))
			cpuset_subtract(ret_cpus, &other->now);
	}
}

static void open_room(const struct making *making, const struct mover *mover,
		      struct cpuset *ret_cpus)
{
	*ret_cpus = making->room;
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		if (are_apart(other, mover))
			cpuset_subtract(ret_cpus, &other->now);
	}
}

/* To the target, unless that adds a meeting. */
static bool arrive(struct making *making, struct mover *mover)
{
	struct cpuset cpus;

	if (is_settled(mover))
		return false;
	if (!cpuset_is_subset(&mover->target, &mover->now)) {
		open_target(making, mover, &cpus);
		cpuset_union(&cpus, &mover->now);
		if (!cpuset_is_subset(&mover->target, &cpus))
			return false;
	}
	move_to(making, mover, &mover->target);
	return true;
}

static bool shrink_all(struct making *making)
{
	bool progress = false;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];

		if (cpuset_is_subset(&mover->target, &mover->now))
			progress |= arrive(making, mover);
	}
	return progress;
}

static bool arrive_all(struct making *making, bool astray)
{
	bool progress = false;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (making->movers[i].is_astray == astray)
			progress |= arrive(making, &making->movers[i]);
	}
	return progress;
}

static bool is_met(const struct making *making, const struct mover *mover)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (do_meet(mover, &making->movers[i]))
			return true;
	}
	return false;
}

/* CPUs of those who are astray and apart from `mover`: where it is in the way. */
static void wanted_by_others(const struct making *making, const struct mover *mover,
			     struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		if (other->is_astray && are_apart(other, mover))
			cpuset_union(ret_cpus, &other->target);
	}
}

static bool is_in_the_way(const struct making *making, const struct mover *mover)
{
	struct cpuset wanted;

	wanted_by_others(making, mover, &wanted);
	return cpuset_intersects(&mover->now, &wanted);
}

/* At most `nr` of them, so that others find room too. */
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

enum aside {
	ASIDE_HOME,   /* to the part of its target that is open */
	ASIDE_CLEAR,  /* to open CPUs that nobody astray waits for */
	ASIDE_SINGLE, /* to one CPU */
};

/* Of what it has, else of what the end has anyway: no further than it must. */
static void find_clear(const struct making *making, const struct mover *mover,
		       struct cpuset *ret_cpus)
{
	struct cpuset wanted;

	open_room(making, mover, ret_cpus);
	wanted_by_others(making, mover, &wanted);
	cpuset_subtract(ret_cpus, &wanted);
	if (keep_common(ret_cpus, &mover->now))
		return;
	keep_common(ret_cpus, &making->home);
	keep_first(ret_cpus, cpuset_count(&mover->target));
}

/* Who meets somebody stays there rather than on a CPU that is waited for. */
static void find_single(const struct making *making, const struct mover *mover,
			struct cpuset *ret_cpus)
{
	struct cpuset wanted;

	*ret_cpus = mover->now;
	wanted_by_others(making, mover, &wanted);
	cpuset_subtract(ret_cpus, &wanted);
	if (cpuset_is_empty(ret_cpus))
		open_room(making, mover, ret_cpus);
	if (cpuset_is_empty(ret_cpus))
		*ret_cpus = mover->now;
	keep_first(ret_cpus, 1);
}

/* Where `mover` goes to be less in the way; false = nowhere, or it is there. */
static bool find_aside(const struct making *making, const struct mover *mover, enum aside aside,
		       struct cpuset *ret_cpus)
{
	if (aside == ASIDE_HOME)
		open_target(making, mover, ret_cpus);
	else if (aside == ASIDE_CLEAR)
		find_clear(making, mover, ret_cpus);
	else
		find_single(making, mover, ret_cpus);
	return !cpuset_is_empty(ret_cpus) && !cpuset_equal(ret_cpus, &mover->now);
}

/* How many astray go along when `mover` makes way: those it may be with. */
static uint32_t count_company(const struct making *making, const struct mover *mover)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		nr += other->is_astray && other != mover && !are_apart(other, mover);
	}
	return nr;
}

/* One who is in the way, or who meets somebody, makes way: the one with least company. */
static bool step_aside(struct making *making, enum aside aside)
{
	struct mover *chosen = NULL;
	uint32_t fewest = UINT32_MAX;
	struct cpuset cpus;

	for (uint32_t i = 0; i < making->nr_movers && fewest; i++) {
		struct mover *mover = &making->movers[i];
		struct cpuset found;
		uint32_t nr;

		if (!mover->is_astray || !(is_met(making, mover) || is_in_the_way(making, mover)))
			continue;
		nr = count_company(making, mover);
		if (nr >= fewest || !find_aside(making, mover, aside, &found))
			continue;
		fewest = nr;
		chosen = mover;
		cpus = found;
	}
	if (!chosen)
		return false;
	move_to(making, chosen, &cpus);
	return true;
}

/* What `mover` has left without `cpu`, its target first; false = nothing. */
static bool find_without(const struct making *making, const struct mover *mover, unsigned int cpu,
			 struct cpuset *ret_cpus)
{
	struct cpuset cpus;

	open_room(making, mover, &cpus);
	cpuset_remove(&cpus, cpu);
	if (!keep_common(&cpus, &mover->target) && !keep_common(&cpus, &mover->now))
		keep_first(&cpus, 1);
	*ret_cpus = cpus;
	return !cpuset_is_empty(&cpus);
}

static uint32_t count_on(const struct making *making, unsigned int cpu)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < making->nr_movers; i++)
		nr += cpuset_has(&making->movers[i].now, cpu);
	return nr;
}

static bool can_all_leave(const struct making *making, unsigned int cpu)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *mover = &making->movers[i];
		struct cpuset cpus;

		if (cpuset_has(&mover->now, cpu) && !find_without(making, mover, cpu, &cpus))
			return false;
	}
	return true;
}

static bool is_anybody_in_the_way(const struct making *making)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *mover = &making->movers[i];

		if (mover->is_astray && is_in_the_way(making, mover))
			return true;
	}
	return false;
}

/* Free the CPU that takes fewest writes, and put somebody in the way there. */
static bool make_room(struct making *making)
{
	struct cpuset candidates = making->room;
	unsigned int chosen = CPUSET_MAX;
	uint32_t fewest = UINT32_MAX;

	if (!is_anybody_in_the_way(making))
		return false;
	/* Who leaves a CPU of its own could return; what is waited for is not for refuge. */
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (making->movers[i].is_astray)
			cpuset_subtract(&candidates, &making->movers[i].target);
	}
	cpuset_for_each (cpu, &candidates) {
		uint32_t nr = count_on(making, cpu);

		if (nr < fewest && can_all_leave(making, cpu)) {
			fewest = nr;
			chosen = cpu;
		}
	}
	if (chosen == CPUSET_MAX)
		return false;
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];
		struct cpuset cpus;

		if (cpuset_has(&mover->now, chosen) && find_without(making, mover, chosen, &cpus))
			move_to(making, mover, &cpus);
	}
	return step_aside(making, ASIDE_CLEAR);
}

/*
 * There is no safe order, and the ledger's word comes before a moment together.
 * Who is not astray would only come too early.
 */
static void force(struct making *making)
{
	struct mover *chosen = NULL;
	uint32_t fewest = UINT32_MAX;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];
		uint32_t nr;

		if (is_settled(mover))
			continue;
		nr = mover->is_astray ? count_company(making, mover) : making->nr_movers;
		if (nr < fewest) {
			fewest = nr;
			chosen = mover;
		}
	}
	if (chosen)
		move_to(making, chosen, &chosen->target);
}

static bool is_done(const struct making *making)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (!is_settled(&making->movers[i]))
			return false;
	}
	return true;
}

static bool move_somebody(struct making *making)
{
	return shrink_all(making) || arrive_all(making, true) || step_aside(making, ASIDE_HOME) ||
	       step_aside(making, ASIDE_CLEAR) || step_aside(making, ASIDE_SINGLE) ||
	       make_room(making) || arrive_all(making, false);
}

static void move_all(struct making *making)
{
	/* More than the model needs; the bound is there so that a mistake here ends. */
	uint32_t rounds = making->nr_movers * 8 + 8;

	while (!making->error && !is_done(making)) {
		if (rounds && move_somebody(making))
			rounds--;
		else
			force(making);
	}
}

static struct mover *add_mover(struct making *making, const struct group *group, const char *old,
			       const struct cpuset *now, const struct cpuset *target)
{
	struct mover *mover = &making->movers[making->nr_movers++];

	mover->group = group;
	mover->old = old;
	mover->now = *now;
	mover->target = *target;
	mover->is_astray = !cpuset_is_subset(now, target);
	cpuset_union(&making->room, now);
	cpuset_union(&making->home, target);
	return mover;
}

/* Of a list the kernel takes what the parent has. */
static struct cpuset within_bound(const struct making *making, struct cpuset cpus)
{
	if (!cpuset_is_empty(&making->bound))
		cpuset_intersect(&cpus, &making->bound);
	return cpus;
}

static void add_desired_mover(struct making *making, const struct group *group,
			      const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_CPUS);
	struct cpuset target = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);
	struct cpuset listed = cpuset_of_text(old), now = within_bound(making, listed);
	struct mover *mover;

	if (group->role == GROUP_ROOT || cpuset_is_empty(&target))
		return;
	mover = add_mover(making, group, old, &now, &target);
	mover->is_unlisted = !cpuset_equal(&now, &listed);
	mover->is_unbounded = cpuset_is_empty(&now) && observed && observed->populated;
}

/*
 * A populated group that nobody wants keeps its CPUs, except those that are
 * exclusive. Where it has no other it keeps them too, and nobody is sent there.
 */
static void add_stranger(struct making *making, const struct group *observed,
			 struct cpuset *squatted)
{
	const char *old = observed->files[GROUP_CPUSET_CPUS];
	struct cpuset now = within_bound(making, cpuset_of_text(old)), target = now;

	if (!observed->populated || observed->role != GROUP_CONTAINER)
		return;
	cpuset_subtract(&target, &making->exclusive);
	if (cpuset_is_empty(&target))
		cpuset_union(squatted, &now);
	else
		add_mover(making, observed, old, &now, &target);
}

/* While containers move the root has its old and its new CPUs, but only the new ones are home. */
static void find_bound(struct making *making, const struct group *root,
		       const struct group *observed)
{
	struct cpuset before = cpuset_of_text(old_value(observed, GROUP_CPUSET_CPUS));

	making->home = cpuset_of_text(root->files[GROUP_CPUSET_CPUS]);
	making->bound = making->home;
	if (!cpuset_is_empty(&making->bound))
		cpuset_union(&making->bound, &before);
}

static void collect_movers(struct making *making, const struct pairing *desired,
			   const struct pairing *observed)
{
	struct cpuset squatted = CPUSET_EMPTY;

	for (uint32_t i = 0; i < making->desired->nr_groups; i++) {
		const struct group *group = &making->desired->groups[i];

		add_desired_mover(making, group, find_pair(observed, group->path));
		if (group->is_exclusive) {
			struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

			cpuset_union(&making->exclusive, &cpus);
		}
	}
	for (uint32_t i = 0; i < making->observed->nr_groups; i++) {
		if (!find_pair(desired, making->observed->groups[i].path))
			add_stranger(making, &making->observed->groups[i], &squatted);
	}
	cpuset_union(&making->room, &making->home);
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];

		/* Tasks without a list run wherever the parent may. */
		if (mover->is_unbounded) {
			mover->now = making->room;
			mover->is_astray = !cpuset_is_subset(&mover->now, &mover->target);
		}
	}
	cpuset_subtract(&making->room, &squatted);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The kernel keeps memory limits in whole pages, 64 KiB at most on what we run on. */
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

static void write_limits(struct making *making, const struct group *group,
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
		write_file(making, group, files[i], wanted, old);
	}
}

static void make_steps(struct making *making, const struct pairing *desired,
		       const struct pairing *observed)
{
	const struct group_tree *tree = making->desired;
	const struct group *root =
		tree->nr_groups && tree->groups[0].role == GROUP_ROOT ? &tree->groups[0] : NULL;

	remove_unwanted(making, desired);
	if (root)
		open_root(making, root, find_pair(observed, root->path));
	for (uint32_t i = root ? 1 : 0; i < tree->nr_groups; i++) {
		if (!find_pair(observed, tree->groups[i].path))
			add_step(making, STEP_CREATE, &tree->groups[i]);
	}
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		grow_mems(making, &tree->groups[i], find_pair(observed, tree->groups[i].path));
	if (root)
		find_bound(making, root, find_pair(observed, root->path));
	collect_movers(making, desired, observed);
	move_all(making);
	if (root)
		close_root(making, root, find_pair(observed, root->path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		shrink_mems(making, &tree->groups[i], find_pair(observed, tree->groups[i].path));
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		write_limits(making, &tree->groups[i], find_pair(observed, tree->groups[i].path));
}

int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan)
{
	struct making *making cleanup_free = calloc(1, sizeof(*making));
	struct mover *movers cleanup_free =
		calloc((size_t)desired->nr_groups + observed->nr_groups + 1, sizeof(*movers));
	struct pairing desired_pairs = {0}, observed_pairs = {0};
	int r = making && movers ? 0 : -ENOMEM;

	if (!r)
		r = pair_groups(desired, &desired_pairs);
	if (!r)
		r = pair_groups(observed, &observed_pairs);
	if (!r) {
		making->desired = desired;
		making->observed = observed;
		making->movers = movers;
		make_steps(making, &desired_pairs, &observed_pairs);
		r = making->error;
	}
	free(desired_pairs.sorted);
	free(observed_pairs.sorted);
	if (r) {
		if (making)
			plan_fini(&making->plan);
		return r;
	}
	*ret_plan = making->plan;
	return 0;
}
