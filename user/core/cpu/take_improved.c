// SPDX-License-Identifier: Apache-2.0
/*
 * The steps of a packed take in which compatibility "improved" chooses better than the
 * kubelet: parts of caches, and spreading over cores. take.h describes the rules.
 *
 * Both first choose a unit: the smallest one that can hold the request and, among these,
 * the one with the lowest cost. A unit is a NUMA node, a socket or the machine, so the
 * cost is computed at most nodes + sockets + 1 times. All other loops are limited by the
 * number of caches, cores, requested CPUs, or threads per core.
 */
#include <string.h>

#include "core/cpu/take_private.h"

typedef uint32_t unit_cost(const struct topology *topology, const struct cpuset *free,
			   uint32_t need);

/* Restrict `free` to the chosen unit. */
static void keep_unit(const struct topology *topology, struct cpuset *free, uint32_t need,
		      unit_cost *cost_of)
{
	struct take_order order;

	for (int inner = 1; inner >= 0; inner--) {
		const struct topology_level *level = take_order_of(topology, free, inner, &order);
		struct cpuset best = CPUSET_EMPTY;
		uint32_t best_cost = UINT32_MAX;

		for (uint32_t i = 0; i < order.nr; i++) {
			struct cpuset unit = level->cpus[order.index[i]];
			uint32_t cost;

			cpuset_intersect(&unit, free);
			if (cpuset_count(&unit) < need)
				continue;
			cost = cost_of(topology, &unit, need);
			if (cost < best_cost) {
				best_cost = cost;
				best = unit;
			}
		}
		if (best_cost != UINT32_MAX) {
			*free = best;
			return;
		}
	}
}

/* --- caches ----------------------------------------------------------------------------------- */

/* Free CPUs per cache. */
struct caches {
	uint32_t nr;
	uint16_t free[CPUSET_MAX];
};

static void count_caches(const struct topology *topology, const struct cpuset *free,
			 struct caches *ret_caches)
{
	ret_caches->nr = topology->uncores.nr;
	memset(ret_caches->free, 0, ret_caches->nr * sizeof(ret_caches->free[0]));
	cpuset_for_each (cpu, free)
		ret_caches->free[topology->uncore_of[cpu]]++;
}

/*
 * The cache with the fewest free CPUs that can hold `need`, otherwise the one with the
 * most; ties go to the lowest id.
 */
static uint32_t best_cache(const struct caches *caches, uint32_t need)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < caches->nr; i++) {
		uint32_t nr = caches->free[i], nr_best = caches->free[best];

		if (nr_best >= need ? nr >= need && nr < nr_best : nr > nr_best)
			best = i;
	}
	return best;
}

/* The number of caches that are needed. */
static uint32_t cost_in_caches(const struct topology *topology, const struct cpuset *free,
			       uint32_t need)
{
	struct caches caches;

	count_caches(topology, free, &caches);
	for (uint32_t nr = 1;; nr++) {
		uint32_t cache = best_cache(&caches, need);

		if (caches.free[cache] >= need)
			return nr;
		need -= caches.free[cache];
		caches.free[cache] = 0;
	}
}

static void keep_whole_cores(const struct topology *topology, struct cpuset *cpus)
{
	struct cpuset all = *cpus;

	cpuset_for_each (cpu, &all) {
		const struct cpuset *core = &topology->cores.cpus[topology->core_of[cpu]];

		if (!cpuset_is_subset(core, &all))
			cpuset_remove(cpus, cpu);
	}
}

bool take_in_caches(const struct topology *topology, const struct cpuset *free, uint32_t need,
		    uint32_t group, struct cpuset *ret_cpus)
{
	struct cpuset unit = *free;
	struct caches caches;

	if (group > 1)
		keep_whole_cores(topology, &unit);
	if (cpuset_count(&unit) < need)
		return false;
	keep_unit(topology, &unit, need, cost_in_caches);
	count_caches(topology, &unit, &caches);
	*ret_cpus = CPUSET_EMPTY;
	while (need) {
		uint32_t cache = best_cache(&caches, need);
		uint32_t nr = caches.free[cache] < need ? caches.free[cache] : need;
		struct cpuset cpus = topology->uncores.cpus[cache], part;

		cpuset_intersect(&cpus, &unit);
		take_inside(topology, &cpus, nr, &part);
		cpuset_union(ret_cpus, &part);
		caches.free[cache] = 0;
		need -= nr;
	}
	return true;
}

/* --- cores ------------------------------------------------------------------------------------ */

static void cores_in(const struct topology *topology, const struct cpuset *cpus,
		     struct cpuset *ret_cores)
{
	*ret_cores = CPUSET_EMPTY;
	cpuset_for_each (cpu, cpus)
		cpuset_add(ret_cores, topology->core_of[cpu]);
}

static uint32_t nr_free_in(const struct topology *topology, const struct cpuset *free,
			   uint32_t core)
{
	return cpuset_count_common(&topology->cores.cpus[core], free);
}

/* The number of busy threads, afterwards, on the busiest core that supplies a CPU. */
static uint32_t cost_across_cores(const struct topology *topology, const struct cpuset *free,
				  uint32_t need)
{
	/* [n]: the CPUs that leave their core with n busy threads if they are taken in turn. */
	uint16_t nr_by_busy[CPUSET_MAX + 1];
	uint32_t busy, sum = 0;
	struct cpuset cores;

	memset(nr_by_busy, 0, (cpuset_count(&topology->all) + 1) * sizeof(nr_by_busy[0]));
	cores_in(topology, free, &cores);
	cpuset_for_each (core, &cores) {
		uint32_t size = topology->cores.nr_cpus[core];

		for (uint32_t i = 0, nr = nr_free_in(topology, free, core); i < nr; i++)
			nr_by_busy[size - i]++;
	}
	for (busy = 0; sum < need; busy++)
		sum += nr_by_busy[busy + 1];
	return busy;
}

struct spreading {
	const struct topology *topology;
	struct cpuset free;
	struct cpuset *result;
	uint16_t given[CPUSET_MAX]; /* CPUs taken so far, per cache */
};

/* The cores of a level that may still supply a CPU, per cache, ascending. */
struct waiting_cores {
	struct cpuset caches;
	uint16_t first[CPUSET_MAX],
		next[CPUSET_MAX]; /* first core per cache, next core per core; NO_CORE = none */
};
#define NO_CORE UINT16_MAX

static void fill_waiting(const struct spreading *spreading, uint32_t busy,
			 struct waiting_cores *ret_waiting)
{
	const struct topology *topology = spreading->topology;
	struct cpuset cores;

	cores_in(topology, &spreading->free, &cores);
	ret_waiting->caches = CPUSET_EMPTY;
	memset(ret_waiting->first, 0xff, topology->uncores.nr * sizeof(ret_waiting->first[0]));
	/* Start at the highest core, so that each list is in ascending order. */
	for (uint32_t core = topology->cores.nr; core-- > 0;) {
		uint32_t nr_busy, cache;

		if (!cpuset_has(&cores, core))
			continue;
		nr_busy = topology->cores.nr_cpus[core] -
			  nr_free_in(topology, &spreading->free, core);
		if (nr_busy != busy)
			continue;
		cache = topology->uncore_of[cpuset_next(&topology->cores.cpus[core], 0)];
		ret_waiting->next[core] = ret_waiting->first[cache];
		ret_waiting->first[cache] = (uint16_t)core;
		cpuset_add(&ret_waiting->caches, cache);
	}
}

/* The next core: the lowest one of the cache that has supplied the fewest CPUs. */
static uint32_t next_core(const struct spreading *spreading, struct waiting_cores *waiting)
{
	const uint16_t *given = spreading->given, *first = waiting->first;
	uint32_t best = cpuset_next(&waiting->caches, 0), core;

	cpuset_for_each (cache, &waiting->caches) {
		if (given[cache] < given[best] ||
		    (given[cache] == given[best] && first[cache] < first[best]))
			best = cache;
	}
	core = first[best];
	waiting->first[best] = waiting->next[core];
	if (waiting->first[best] == NO_CORE)
		cpuset_remove(&waiting->caches, best);
	return core;
}

/*
 * Take one CPU from each core that has `busy` busy threads. Returns the number of CPUs
 * still needed.
 */
static uint32_t spread_level(struct spreading *spreading, uint32_t busy, uint32_t need)
{
	const struct topology *topology = spreading->topology;
	struct waiting_cores waiting;

	fill_waiting(spreading, busy, &waiting);
	for (; need && !cpuset_is_empty(&waiting.caches); need--) {
		uint32_t core = next_core(spreading, &waiting);
		struct cpuset cpus = topology->cores.cpus[core];
		unsigned int cpu;

		cpuset_intersect(&cpus, &spreading->free);
		cpu = cpuset_next(&cpus, 0);
		cpuset_remove(&spreading->free, cpu);
		cpuset_add(spreading->result, cpu);
		spreading->given[topology->uncore_of[cpu]]++;
	}
	return need;
}

void take_across_cores(const struct topology *topology, const struct cpuset *free, uint32_t need,
		       struct cpuset *ret_cpus)
{
	struct spreading spreading = {.topology = topology, .free = *free, .result = ret_cpus};

	keep_unit(topology, &spreading.free, need, cost_across_cores);
	*ret_cpus = CPUSET_EMPTY;
	/*
	 * A core that supplied a CPU has one more busy thread, so the next level visits
	 * it again.
	 */
	for (uint32_t busy = 0; need; busy++)
		need = spread_level(&spreading, busy, need);
}
