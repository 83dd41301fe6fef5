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

/* A container whose CPUs move, desired or a stranger. */
struct mover {
	const struct group *group; /* whose path and owner the steps name */
	const char *old;	   /* what the kernel has, NULL = nothing */
	struct cpuset now, target; /* now: as after the steps so far */
	bool is_unbounded;	   /* has tasks and no list: runs wherever its parent may */
	bool stepped_aside;
};

struct making {
	const struct group_tree *desired, *observed;
	struct plan plan;
	uint32_t capacity;
	uint32_t nr_movers;
	struct mover *movers;
	struct cpuset exclusive; /* of all desired exclusive containers */
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

static struct cpuset parse_set(const char *text)
{
	struct cpuset set;

	/* What is not a list is as good as no list: it will be written over. */
	if (!text || cpuset_parse(text, strlen(text), &set))
		return CPUSET_EMPTY;
	return set;
}

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
	struct cpuset target = parse_set(root->files[GROUP_CPUSET_CPUS]);

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
	struct cpuset now = parse_set(old), both;

	if (!observed)
		add_step(making, STEP_CREATE, root);
	if (wants_member(root))
		write_partition(making, root, partition);
	both = parse_set(root->files[GROUP_CPUSET_CPUS]);
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
	struct cpuset target = parse_set(root->files[GROUP_CPUSET_CPUS]);
	struct cpuset now = parse_set(old);

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
	struct cpuset now = parse_set(old), both;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	both = parse_set(group->files[GROUP_CPUSET_MEMS]);
	cpuset_union(&both, &now);
	if (!cpuset_is_empty(&both) && !cpuset_equal(&both, &now))
		write_set(making, group, GROUP_CPUSET_MEMS, &both, old);
}

static void shrink_mems(struct making *making, const struct group *group,
			const struct group *observed)
{
	const char *old = old_value(observed, GROUP_CPUSET_MEMS);
	struct cpuset now = parse_set(old), target;

	if (!group->files[GROUP_CPUSET_MEMS])
		return;
	target = parse_set(group->files[GROUP_CPUSET_MEMS]);
	if (!cpuset_is_empty(&target) && !cpuset_is_subset(&now, &target))
		write_set(making, group, GROUP_CPUSET_MEMS, &target, old);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static bool is_settled(const struct mover *mover)
{
	return !mover->is_unbounded && cpuset_equal(&mover->now, &mover->target);
}

static void move_to(struct making *making, struct mover *mover, const struct cpuset *cpus)
{
	write_set(making, mover->group, GROUP_CPUSET_CPUS, cpus, mover->old);
	mover->now = *cpus;
	mover->is_unbounded = false;
}

/*
 * CPUs of `mover`'s target on which somebody is who must not be there with it.
 * Who will share CPUs in the end may share them on the way; everybody else may
 * not, which needs no knowledge of who is exclusive.
 */
static void occupied_by_others(const struct making *making, const struct mover *mover,
			       struct cpuset *ret_cpus)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		if (other == mover || !cpuset_intersects(&other->now, &mover->target) ||
		    cpuset_intersects(&other->target, &mover->target))
			continue;
		cpuset_union(&cpus, &other->now);
	}
	cpuset_intersect(&cpus, &mover->target);
	*ret_cpus = cpus;
}

/* To the target when nobody is in the way there. */
static bool move_if_clear(struct making *making, struct mover *mover)
{
	struct cpuset occupied;

	occupied_by_others(making, mover, &occupied);
	if (!cpuset_is_empty(&occupied))
		return false;
	move_to(making, mover, &mover->target);
	return true;
}

/* Everybody leaves what is not theirs, as far as something remains. */
static void shrink_all(struct making *making)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];
		struct cpuset cpus = mover->target;

		if (is_settled(mover))
			continue;
		if (!mover->is_unbounded) {
			if (cpuset_is_subset(&mover->now, &mover->target))
				continue;
			cpuset_intersect(&cpus, &mover->now);
		}
		if (move_if_clear(making, mover))
			continue;
		if (mover->is_unbounded) {
			struct cpuset occupied;

			occupied_by_others(making, mover, &occupied);
			cpuset_subtract(&cpus, &occupied);
		}
		if (!cpuset_is_empty(&cpus))
			move_to(making, mover, &cpus);
	}
}

/* One round over those who are not there yet; true = somebody arrived. */
static bool grow_round(struct making *making)
{
	bool progress = false;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];

		if (!is_settled(mover) && move_if_clear(making, mover))
			progress = true;
	}
	return progress;
}

/* A waiting mover off its old CPUs, onto what is clear of its target: others wait for these. */
static bool move_partly(struct making *making)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];
		struct cpuset cpus = mover->target, occupied;

		if (is_settled(mover) || cpuset_is_subset(&mover->now, &mover->target))
			continue;
		occupied_by_others(making, mover, &occupied);
		cpuset_subtract(&cpus, &occupied);
		if (!cpuset_is_empty(&cpus)) {
			move_to(making, mover, &cpus);
			return true;
		}
	}
	return false;
}

/* CPUs that any container is, or will be, allowed on but nobody is now. */
static void find_refuge(const struct making *making, struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < making->nr_movers; i++)
		cpuset_union(ret_cpus, &making->movers[i].target);
	for (uint32_t i = 0; i < making->nr_movers; i++)
		cpuset_subtract(ret_cpus, &making->movers[i].now);
}

/* Make one CPU free that only containers with more than one are on. */
static bool vacate_one_cpu(struct making *making, struct cpuset *ret_cpus)
{
	struct cpuset candidates = CPUSET_EMPTY;
	unsigned int cpu;

	for (uint32_t i = 0; i < making->nr_movers; i++)
		cpuset_union(&candidates, &making->movers[i].now);
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (cpuset_count(&making->movers[i].now) == 1)
			cpuset_subtract(&candidates, &making->movers[i].now);
	}
	cpu = cpuset_next(&candidates, 0);
	if (cpu >= CPUSET_MAX)
		return false;
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];
		struct cpuset rest = mover->now;

		if (!cpuset_has(&mover->now, cpu))
			continue;
		cpuset_remove(&rest, cpu);
		move_to(making, mover, &rest);
	}
	*ret_cpus = CPUSET_EMPTY;
	cpuset_add(ret_cpus, cpu);
	return true;
}

static bool end_together(const struct mover *a, const struct mover *b)
{
	return cpuset_intersects(&a->target, &b->target);
}

static bool is_waiting(const struct mover *mover)
{
	return !is_settled(mover) && !cpuset_is_subset(&mover->now, &mover->target);
}

/* Does somebody wait for CPUs that `mover` is on? */
static bool is_in_the_way(const struct making *making, const struct mover *mover)
{
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *other = &making->movers[i];

		if (other != mover && !is_settled(other) && !end_together(other, mover) &&
		    cpuset_intersects(&other->target, &mover->now))
			return true;
	}
	return false;
}

/*
 * Of those who wait and are waited for, the one with the fewest who must go
 * along. Nobody goes twice: a refuge may be in a third one's way, and then it is
 * somebody else's turn.
 */
static const struct mover *choose_who_steps_aside(const struct making *making)
{
	const struct mover *chosen = NULL;
	uint32_t fewest = UINT32_MAX;

	for (uint32_t i = 0; i < making->nr_movers; i++) {
		const struct mover *mover = &making->movers[i];
		uint32_t nr = 0;

		if (mover->stepped_aside || !is_waiting(mover) || !is_in_the_way(making, mover))
			continue;
		for (uint32_t j = 0; j < making->nr_movers; j++)
			nr += is_waiting(&making->movers[j]) &&
			      end_together(&making->movers[j], mover);
		if (nr < fewest) {
			fewest = nr;
			chosen = mover;
		}
	}
	return chosen;
}

/* At most `nr` of them, so that others find a refuge too. */
static void keep_first(struct cpuset *cpus, unsigned int nr)
{
	cpuset_for_each (cpu, cpus) {
		if (nr)
			nr--;
		else
			cpuset_remove(cpus, cpu);
	}
}

/*
 * Owners who each wait for the next one's CPUs: one of them steps aside, and
 * with it those it will share CPUs with. False = nobody to step aside, or no
 * CPU to step aside to.
 */
static bool break_circle(struct making *making)
{
	const struct mover *chosen = choose_who_steps_aside(making);
	struct cpuset refuge, target;

	if (!chosen)
		return false;
	find_refuge(making, &refuge);
	if (cpuset_is_empty(&refuge) && !vacate_one_cpu(making, &refuge))
		return false;
	target = chosen->target;
	keep_first(&refuge, cpuset_count(&target));
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		struct mover *mover = &making->movers[i];

		if (!is_waiting(mover) || !cpuset_intersects(&mover->target, &target))
			continue;
		move_to(making, mover, &refuge);
		mover->stepped_aside = true;
	}
	return true;
}

static void move_all(struct making *making)
{
	/*
	 * Each circle costs two steps for one owner that then arrives, so this
	 * many rounds are enough; the bound is there so that a mistake here ends.
	 */
	uint32_t rounds = making->nr_movers * 4 + 4;

	shrink_all(making);
	while (rounds-- && !making->error) {
		if (grow_round(making) || move_partly(making))
			continue;
		if (!break_circle(making))
			break;
	}
	/* Not one free CPU to turn on: the ledger's word comes before a moment of overlap. */
	for (uint32_t i = 0; i < making->nr_movers; i++) {
		if (!is_settled(&making->movers[i]))
			move_to(making, &making->movers[i], &making->movers[i].target);
	}
}

static void add_desired_mover(struct making *making, const struct group *group,
			      const struct group *observed)
{
	struct mover *mover = &making->movers[making->nr_movers];

	if (!group->files[GROUP_CPUSET_CPUS] || group->role == GROUP_ROOT)
		return;
	mover->group = group;
	mover->old = old_value(observed, GROUP_CPUSET_CPUS);
	mover->now = parse_set(mover->old);
	mover->target = parse_set(group->files[GROUP_CPUSET_CPUS]);
	if (cpuset_is_empty(&mover->target))
		return;
	mover->is_unbounded = cpuset_is_empty(&mover->now) && observed && observed->populated;
	making->nr_movers++;
}

/* A populated group that nobody wants keeps its CPUs, except those that are exclusive. */
static void add_stranger(struct making *making, const struct group *observed)
{
	struct mover *mover = &making->movers[making->nr_movers];

	if (!observed->populated || observed->role != GROUP_CONTAINER)
		return;
	mover->group = observed;
	mover->old = observed->files[GROUP_CPUSET_CPUS];
	mover->now = parse_set(mover->old);
	mover->target = mover->now;
	cpuset_subtract(&mover->target, &making->exclusive);
	mover->is_unbounded = false;
	if (!cpuset_is_empty(&mover->target))
		making->nr_movers++;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void collect_movers(struct making *making, const struct pairing *desired,
			   const struct pairing *observed)
{
	for (uint32_t i = 0; i < making->desired->nr_groups; i++) {
		const struct group *group = &making->desired->groups[i];

		add_desired_mover(making, group, find_pair(observed, group->path));
		if (group->is_exclusive) {
			struct cpuset cpus = parse_set(group->files[GROUP_CPUSET_CPUS]);

			cpuset_union(&making->exclusive, &cpus);
		}
	}
	for (uint32_t i = 0; i < making->observed->nr_groups; i++) {
		if (!find_pair(desired, making->observed->groups[i].path))
			add_stranger(making, &making->observed->groups[i]);
	}
}

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
