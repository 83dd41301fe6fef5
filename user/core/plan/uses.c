// SPDX-License-Identifier: Apache-2.0
/*
 * A CPU is in use by migrations apart from `migration` if more of them use it than its peers
 * do: those that are not apart from it, itself included. Exclusive containers have no peer but
 * themselves. A migration with very many of them, which is one of a pool, is compared with each
 * other migration.
 */
#include "core/plan/uses.h"

bool uses_are_apart(const struct migration *a, const struct migration *b)
{
	return !cpuset_intersects(&a->target, &b->target);
}

/* The CPUs that it uses in this way; NULL = none. */
static const struct cpuset *set_of(const struct migration *migration, enum use use)
{
	switch (use) {
	case USE_NOW:
		return &migration->now;
	case USE_ASTRAY:
		return migration->is_astray ? &migration->now : NULL;
	case USE_WANTED:
		return migration->is_astray ? &migration->target : NULL;
	default:
		return &migration->target;
	}
}

static void count(struct planner *planner, const struct migration *migration, enum use use)
{
	const struct cpuset *set = set_of(migration, use);
	struct use_count *uses = &planner->uses[use];

	if (!set)
		return;
	cpuset_for_each (cpu, set)
		uses->nr[cpu]++;
	cpuset_union(&uses->cpus, set);
}

static void uncount(struct planner *planner, const struct migration *migration, enum use use)
{
	const struct cpuset *set = set_of(migration, use);
	struct use_count *uses = &planner->uses[use];

	if (!set)
		return;
	cpuset_for_each (cpu, set) {
		if (!--uses->nr[cpu])
			cpuset_remove(&uses->cpus, cpu);
	}
}

static bool is_alone(const struct planner *planner, const struct migration *migration)
{
	cpuset_for_each (cpu, &migration->target) {
		if (planner->uses[USE_TARGET].nr[cpu] > 1)
			return false;
	}
	return true;
}

static void find_peers(const struct planner *planner, struct migration *migration)
{
	if (is_alone(planner, migration)) {
		migration->peers[migration->nr_peers++] = migration;
		return;
	}
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		if (uses_are_apart(&planner->migrations[i], migration))
			continue;
		if (migration->nr_peers == PEERS_MAX) {
			migration->nr_peers = PEERS_MANY;
			return;
		}
		migration->peers[migration->nr_peers++] = &planner->migrations[i];
	}
}

void uses_init(struct planner *planner)
{
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		for (enum use use = 0; use < USE_NR; use++)
			count(planner, &planner->migrations[i], use);
	}
	for (uint32_t i = 0; i < planner->nr_migrations; i++)
		find_peers(planner, &planner->migrations[i]);
}

void uses_move(struct planner *planner, struct migration *migration, const struct cpuset *cpus)
{
	for (enum use use = 0; use < USE_TARGET; use++)
		uncount(planner, migration, use);
	migration->now = *cpus;
	migration->is_astray = !cpuset_is_subset(&migration->now, &migration->target);
	for (enum use use = 0; use < USE_TARGET; use++)
		count(planner, migration, use);
}

static bool do_others_use(const struct planner *planner, const struct migration *migration,
			  enum use use, unsigned int cpu)
{
	uint32_t nr = planner->uses[use].nr[cpu];

	for (uint32_t i = 0; nr && i < migration->nr_peers; i++) {
		const struct cpuset *set = set_of(migration->peers[i], use);

		nr -= set && cpuset_has(set, cpu);
	}
	return nr;
}

static void compare_with_all(const struct planner *planner, const struct migration *migration,
			     enum use use, struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];
		const struct cpuset *set = set_of(other, use);

		if (set && uses_are_apart(other, migration))
			cpuset_union(ret_cpus, set);
	}
}

void uses_of_others(const struct planner *planner, const struct migration *migration, enum use use,
		    struct cpuset *ret_cpus)
{
	if (migration->nr_peers == PEERS_MANY) {
		compare_with_all(planner, migration, use, ret_cpus);
		return;
	}
	*ret_cpus = planner->uses[use].cpus;
	/* Only what its peers use may be used by nobody else. */
	for (uint32_t i = 0; i < migration->nr_peers; i++) {
		const struct cpuset *set = set_of(migration->peers[i], use);

		if (!set)
			continue;
		cpuset_for_each (cpu, set) {
			if (!do_others_use(planner, migration, use, cpu))
				cpuset_remove(ret_cpus, cpu);
		}
	}
}

bool uses_meet(const struct planner *planner, const struct migration *migration, enum use use,
	       const struct cpuset *within)
{
	struct cpuset others;

	if (migration->nr_peers == PEERS_MANY) {
		compare_with_all(planner, migration, use, &others);
		return cpuset_intersects(&others, within);
	}
	cpuset_for_each (cpu, within) {
		if (do_others_use(planner, migration, use, cpu))
			return true;
	}
	return false;
}

uint32_t uses_count_company(const struct planner *planner, const struct migration *migration)
{
	uint32_t nr = 0;

	if (migration->nr_peers != PEERS_MANY) {
		for (uint32_t i = 0; i < migration->nr_peers; i++)
			nr += migration->peers[i]->is_astray && migration->peers[i] != migration;
		return nr;
	}
	for (uint32_t i = 0; i < planner->nr_migrations; i++) {
		const struct migration *other = &planner->migrations[i];

		nr += other->is_astray && other != migration && !uses_are_apart(other, migration);
	}
	return nr;
}

uint32_t uses_count_on(const struct planner *planner, unsigned int cpu)
{
	return planner->uses[USE_NOW].nr[cpu];
}
