// SPDX-License-Identifier: Apache-2.0
#include "core/plan/partitions.h"

#include <string.h>

static const char *state_of(const struct group *group)
{
	const char *state = group ? group->files[GROUP_CPUSET_PARTITION] : NULL;

	/* Without the file there are no partitions, which is equivalent to "member". */
	return state ? state : "member";
}

/* Valid or not: an invalid one may become valid at any time. */
static bool is_partition(const char *state)
{
	return strcmp(state, "member");
}

static bool is_invalid(const char *state)
{
	return strstr(state, " invalid");
}

static struct cpuset list_of(const struct group *group)
{
	return cpuset_of_text(group ? group->files[GROUP_CPUSET_CPUS] : NULL);
}

static bool is_below(const char *path, const struct group *parent)
{
	size_t length = strlen(parent->path);

	return !strncmp(path, parent->path, length) && path[length] == '/';
}

/* Steps name a group as the ledger does, which the observed name need not. */
static const struct group *named(const struct pairing *desired, const struct group *observed)
{
	const struct group *group = pairing_find(desired, observed->path);

	return group ? group : observed;
}

static void write_state(struct planner *planner, const struct group *group, const char *state,
			const struct group *observed)
{
	planner_write(planner, group, GROUP_CPUSET_PARTITION, state,
		      observed ? observed->files[GROUP_CPUSET_PARTITION] : NULL);
}

bool step_ends_partition(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPUSET_PARTITION &&
	       !is_partition(step->value);
}

bool step_makes_partition(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPUSET_PARTITION &&
	       is_partition(step->value);
}

bool group_is_invalid(const struct group *group)
{
	return is_invalid(state_of(group));
}

bool group_is_isolated(const struct group *group)
{
	return !strcmp(state_of(group), "isolated");
}

/* --- ends ------------------------------------------------------------------------------------- */

static void end_one(struct planner *planner, const struct pairing *desired, uint32_t index)
{
	const struct group *group = &planner->observed->groups[index];

	if (planner->fates[index] != FATE_KEPT || !is_partition(state_of(group)))
		return;
	planner->fates[index] = FATE_ENDED;
	write_state(planner, named(desired, group), "member", group);
}

static void end_pod(struct planner *planner, const struct pairing *desired, uint32_t index)
{
	const struct group_tree *observed = planner->observed;
	const struct group *pod = &observed->groups[index];

	if (is_invalid(state_of(pod)))
		end_one(planner, desired, index);
	for (uint32_t i = 0; i < observed->nr_groups; i++)
		if (is_below(observed->groups[i].path, pod))
			end_one(planner, desired, i);
	end_one(planner, desired, index);
}

bool partitions_root_changes(const struct group *root, const struct group *observed)
{
	return root->files[GROUP_CPUSET_PARTITION] && strcmp(state_of(observed), state_of(root));
}

void partitions_end_below(struct planner *planner, const struct pairing *desired,
			  const struct group *root, const struct group *observed)
{
	const struct group_tree *tree = planner->observed;

	if (!observed || !partitions_root_changes(root, observed))
		return;
	/* Linux 6.1 keeps an invalid partition invalid unless it is a member in between. */
	if (is_invalid(state_of(observed))) {
		write_state(planner, root, "member", observed);
		planner->is_root_ended = true;
	}
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		if (tree->groups[i].role == GROUP_POD)
			end_pod(planner, desired, i);
}

/* --- lists of pods ---------------------------------------------------------------------------- */

/* The CPUs that the moves give the containers of a pod. */
static struct cpuset find_moves(const struct planner *planner, uint32_t moves, uint32_t end,
				const struct group *pod)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = moves; i < end; i++) {
		const struct step *step = &planner->plan.steps[i];
		struct cpuset given;

		if (!is_below(step->path, pod))
			continue;
		given = cpuset_of_text(step->value);
		cpuset_union(&cpus, &given);
	}
	return cpus;
}

static const struct step *find_last_move(const struct planner *planner, uint32_t moves,
					 uint32_t end, const char *path)
{
	for (uint32_t i = end; i-- > moves;)
		if (!strcmp(planner->plan.steps[i].path, path))
			return &planner->plan.steps[i];
	return NULL;
}

/* The CPUs that the containers of a pod have in the end. */
static struct cpuset find_final(const struct planner *planner, uint32_t moves, uint32_t end,
				const struct group *pod)
{
	const struct group_tree *observed = planner->observed, *desired = planner->desired;
	struct cpuset cpus = CPUSET_EMPTY, own;

	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		const struct group *group = &desired->groups[i];

		if (group->role != GROUP_CONTAINER || !is_below(group->path, pod))
			continue;
		own = list_of(group);
		cpuset_union(&cpus, &own);
	}
	/* Those that are not desired, but have processes. */
	for (uint32_t i = 0; i < observed->nr_groups; i++) {
		const struct group *group = &observed->groups[i];
		const struct step *move;

		if (group->role != GROUP_CONTAINER || planner->fates[i] == FATE_REMOVED ||
		    !is_below(group->path, pod) || group_tree_find(desired, group->path))
			continue;
		move = find_last_move(planner, moves, end, group->path);
		own = move ? cpuset_of_text(move->value) : list_of(group);
		cpuset_union(&cpus, &own);
	}
	return cpus;
}

/* Is anything below the root to be a partition? */
static bool wants_partitions(const struct group_tree *desired)
{
	for (uint32_t i = 0; i < desired->nr_groups; i++)
		if (desired->groups[i].role != GROUP_ROOT &&
		    is_partition(state_of(&desired->groups[i])))
			return true;
	return false;
}

/*
 * The list that a pod ends with although none is desired: Linux up to 6.12 lets no cgroup with
 * processes go without a list that it has had. It may be another process's, and one that has all CPUs
 * of the containers takes nothing from them, so it is narrowed only where it could overlap with a
 * partition beside it.
 */
static struct cpuset find_leftover(const struct planner *planner, uint32_t moves, uint32_t end,
				   const struct group *pod, const struct cpuset *between)
{
	struct cpuset cpus = find_final(planner, moves, end, pod);

	if (cpuset_is_empty(&cpus) || !wants_partitions(planner->desired))
		cpuset_union(&cpus, between);
	return cpus;
}

/* The lists of a pod: as it is, while containers move, and in the end. Empty = none. */
struct pod_lists {
	struct cpuset now, between, final;
};

/* `wanted` or `observed` may be NULL, but not both. */
static struct pod_lists find_lists(const struct planner *planner, uint32_t moves, uint32_t end,
				   const struct group *wanted, const struct group *observed)
{
	const struct group *pod = wanted ? wanted : observed;
	struct pod_lists lists = {.now = list_of(observed), .final = list_of(wanted)};
	struct cpuset moved;

	lists.between = lists.now;
	if (cpuset_is_empty(&lists.now))
		return lists;
	moved = find_moves(planner, moves, end, pod);
	cpuset_union(&lists.between, &moved);
	if (cpuset_is_empty(&lists.final))
		lists.final = find_leftover(planner, moves, end, pod, &lists.between);
	return lists;
}

static void end_changed(struct planner *planner, const struct pairing *desired, uint32_t moves,
			uint32_t end, uint32_t index)
{
	const struct group *observed = &planner->observed->groups[index];
	const struct group *wanted = pairing_find(desired, observed->path);
	const bool changes = strcmp(state_of(observed), state_of(wanted));
	struct pod_lists lists;

	if (observed->role == GROUP_POD) {
		lists = find_lists(planner, moves, end, wanted, observed);
		if (changes || !cpuset_equal(&lists.now, &lists.between) ||
		    !cpuset_equal(&lists.now, &lists.final))
			end_pod(planner, desired, index);
	} else if (changes || find_last_move(planner, moves, end, observed->path)) {
		end_one(planner, desired, index);
	}
}

static void widen_pod(struct planner *planner, const struct pairing *desired, uint32_t moves,
		      uint32_t end, const struct group *observed)
{
	const struct group *wanted = pairing_find(desired, observed->path);
	struct pod_lists lists = find_lists(planner, moves, end, wanted, observed);

	if (!cpuset_equal(&lists.now, &lists.between))
		planner_write_set(planner, wanted ? wanted : observed, GROUP_CPUSET_CPUS,
				  &lists.between, observed->files[GROUP_CPUSET_CPUS]);
}

static void narrow_pod(struct planner *planner, uint32_t moves, uint32_t end,
		       const struct group *wanted, const struct group *observed)
{
	struct pod_lists lists = find_lists(planner, moves, end, wanted, observed);

	if (!cpuset_is_empty(&lists.final) && !cpuset_equal(&lists.between, &lists.final))
		planner_write_set(planner, wanted ? wanted : observed, GROUP_CPUSET_CPUS,
				  &lists.final,
				  observed ? observed->files[GROUP_CPUSET_CPUS] : NULL);
}

/* Does any pod or container have, or get, a partition, or a pod a list? */
static bool has_any(const struct group_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_groups; i++) {
		const struct group *group = &tree->groups[i];

		if (group->role == GROUP_ROOT)
			continue;
		if (is_partition(state_of(group)) ||
		    (group->role == GROUP_POD && group->files[GROUP_CPUSET_CPUS] &&
		     *group->files[GROUP_CPUSET_CPUS]))
			return true;
	}
	return false;
}

static void reverse(struct step *steps, uint32_t nr)
{
	for (uint32_t i = 0; i < nr / 2; i++) {
		struct step step = steps[i];

		steps[i] = steps[nr - 1 - i];
		steps[nr - 1 - i] = step;
	}
}

/* Put the last `nr_last` of these steps first; the order is kept otherwise. */
static void rotate(struct step *steps, uint32_t nr, uint32_t nr_last)
{
	reverse(steps, nr - nr_last);
	reverse(steps + nr - nr_last, nr_last);
	reverse(steps, nr);
}

void partitions_surround(struct planner *planner, const struct pairing *desired,
			 const struct pairing *observed, uint32_t moves)
{
	const struct group_tree *tree = planner->observed;
	uint32_t end = planner->plan.nr_steps, nr_before;

	if (!has_any(tree) && !has_any(planner->desired))
		return;
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		if (tree->groups[i].role != GROUP_ROOT && planner->fates[i] != FATE_REMOVED)
			end_changed(planner, desired, moves, end, i);
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		if (tree->groups[i].role == GROUP_POD && planner->fates[i] != FATE_REMOVED)
			widen_pod(planner, desired, moves, end, &tree->groups[i]);
	if (planner->error)
		return;
	nr_before = planner->plan.nr_steps - end;
	rotate(planner->plan.steps + moves, planner->plan.nr_steps - moves, nr_before);
	/* The moves are behind these steps now. */
	moves += nr_before;
	end += nr_before;
	for (uint32_t i = 0; i < planner->desired->nr_groups; i++) {
		const struct group *group = &planner->desired->groups[i];

		if (group->role == GROUP_POD)
			narrow_pod(planner, moves, end, group, pairing_find(observed, group->path));
	}
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		if (tree->groups[i].role == GROUP_POD && planner->fates[i] != FATE_REMOVED &&
		    !pairing_find(desired, tree->groups[i].path))
			narrow_pod(planner, moves, end, NULL, &tree->groups[i]);
}

/* --- the end of the plan ---------------------------------------------------------------------- */

void partitions_make(struct planner *planner, const struct pairing *observed)
{
	for (uint32_t i = 0; i < planner->desired->nr_groups; i++) {
		const struct group *group = &planner->desired->groups[i];
		const struct group *now = pairing_find(observed, group->path);
		const char *state = state_of(now);

		if (group->role == GROUP_ROOT || !is_partition(state_of(group)))
			continue;
		if (now && planner->fates[now - planner->observed->groups] != FATE_KEPT)
			state = "member";
		if (strcmp(state, state_of(group)))
			write_state(planner, group, state_of(group), now);
	}
}
