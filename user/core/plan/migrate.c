// SPDX-License-Identifier: Apache-2.0
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
#include "core/plan/migrate.h"

#include "core/plan/uses.h"

static bool is_settled(const struct migration *migration)
{
	return !migration->is_unlisted && !migration->is_unbounded &&
	       cpuset_equal(&migration->now, &migration->target);
}

static void move_to(struct planner *planner, struct migration *migration, const struct cpuset *cpus)
{
	planner_write_set(planner, migration->group, GROUP_CPUSET_CPUS, cpus, migration->old);
	uses_move(planner, migration, cpus);
	migration->is_unlisted = migration->is_unbounded = false;
}

/*
 * The available CPUs of the target: those that are free, or used only by `migration` and
 * by containers with which it may share CPUs. Only astray migrations can occupy others.
 */
static void open_target(const struct planner *planner, const struct migration *migration,
			struct cpuset *ret_cpus)
{
	struct cpuset occupied;

	uses_of_others(planner, migration, USE_ASTRAY, &occupied);
	*ret_cpus = migration->target;
	cpuset_subtract(ret_cpus, &occupied);
}

static void open_room(const struct planner *planner, const struct migration *migration,
		      struct cpuset *ret_cpus)
{
	struct cpuset occupied;

	uses_of_others(planner, migration, USE_NOW, &occupied);
	*ret_cpus = planner->room;
	cpuset_subtract(ret_cpus, &occupied);
}

/* Is an astray migration on a CPU that `migration` lacks of its target, and may not share? */
static bool is_blocked(const struct planner *planner, const struct migration *migration)
{
	struct cpuset lacking = migration->target;

	cpuset_subtract(&lacking, &migration->now);
	return uses_meet(planner, migration, USE_ASTRAY, &lacking);
}

/* Move to the target, unless that adds a conflict. */
static bool arrive(struct planner *planner, struct migration *migration)
{
	if (is_settled(migration) || is_blocked(planner, migration))
		return false;
	move_to(planner, migration, &migration->target);
	return true;
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

/* Is it in conflict? */
static bool is_met(const struct planner *planner, const struct migration *migration)
{
	return uses_meet(planner, migration, USE_NOW, &migration->now);
}

/* Is it on a CPU that an astray migration wants that is apart from it? */
static bool is_in_the_way(const struct planner *planner, const struct migration *migration)
{
	return uses_meet(planner, migration, USE_WANTED, &migration->now);
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
	uses_of_others(planner, migration, USE_WANTED, &wanted);
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
	uses_of_others(planner, migration, USE_WANTED, &wanted);
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
 * Of the migrations that block others or are in conflict, park the one with the smallest
 * company: the astray migrations that may share CPUs with it and must be parked with it.
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
		nr = uses_count_company(planner, migration);
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
 * The CPUs that remain for `migration` without `cpu`: its others, and those of containers with
 * which it may share. All free CPUs serve for parking before one is made free. Returns false if
 * none remains.
 */
static bool find_without(const struct planner *planner, const struct migration *migration,
			 unsigned int cpu, struct cpuset *ret_cpus)
{
	open_room(planner, migration, ret_cpus);
	cpuset_remove(ret_cpus, cpu);
	return !cpuset_is_empty(ret_cpus);
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

static bool is_any_astray(const struct planner *planner)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (planner->migrations[i].is_astray)
			return true;
	}
	return false;
}

/*
 * Free the CPU that takes the fewest writes, and park a blocking migration there. All astray
 * migrations are blocked here, and those that block them have no other CPU that they could keep,
 * so this never frees a CPU for which another one waits.
 */
static bool make_room(struct planner *planner)
{
	unsigned int chosen = CPUSET_MAX;
	uint32_t fewest = UINT32_MAX;

	if (!is_any_astray(planner))
		return false;
	cpuset_for_each (cpu, &planner->room) {
		uint32_t nr = uses_count_on(planner, cpu);

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
		nr = migration->is_astray ? uses_count_company(planner, migration)
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
	return arrive_all(planner, true) || park_one(planner, PARK_ON_TARGET) ||
	       park_one(planner, PARK_CLEAR) || park_one(planner, PARK_ON_ONE) ||
	       make_room(planner) || arrive_all(planner, false);
}

void migrate_all(struct planner *planner)
{
	/*
	 * More rounds than the algorithm needs; the limit guarantees termination even
	 * with a bug.
	 */
	uint32_t rounds = planner->nr_migrations * 8 + 8;

	if (is_done(planner))
		return;
	uses_init(planner);
	while (!planner->error && !is_done(planner)) {
		if (rounds && move_one(planner))
			rounds--;
		else
			force(planner);
	}
}
