// SPDX-License-Identifier: Apache-2.0
/*
 * Where compatibility "improved" chooses better than the kubelet inside a packed
 * take: parts of caches, and spreading over cores. The rules are in take.h.
 *
 * Both first choose a unit: the smallest that can hold the request, and of these
 * the one of least cost, whatever cost means. Bounds: a unit is a NUMA node, a
 * socket or the machine, so its cost is asked at most nodes + sockets + 1 times;
 * every other loop ends after as many rounds as there are caches, cores, CPUs
 * wanted, or threads of a core.
 */
#include <string.h>

#include "core/take_private.h"

typedef uint32_t unit_cost(const struct topology *topology, const struct cpuset *free,
			   uint32_t need);

/* `free` without what lies outside the chosen unit. */
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

/* Free CPUs by cache. */
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

/* The one with fewest that holds `need`, or else the one with most; the lowest id among equals. */
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

/* How many caches it takes. */
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
	const struct take_options inside = {.compatibility = COMPATIBILITY_IMPROVED};
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
		take_packed(topology, &cpus, nr, &inside, &part);
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

/* Busy threads of the busiest core that gives a CPU, afterwards. */
static uint32_t cost_across_cores(const struct topology *topology, const struct cpuset *free,
				  uint32_t need)
{
	/* CPUs that leave their core with so many busy threads when they are given in turn. */
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
	uint16_t given[CPUSET_MAX]; /* CPUs so far, by cache */
};

/* The cores of a level that still have to give, by cache, ascending. */
struct waiting {
	struct cpuset caches;
	uint16_t first[CPUSET_MAX], next[CPUSET_MAX]; /* core by cache, by core; NO_CORE = none */
};
#define NO_CORE UINT16_MAX

static void fill_waiting(const struct spreading *spreading, uint32_t busy,
			 struct waiting *ret_waiting)
{
	const struct topology *topology = spreading->topology;
	struct cpuset cores;

	cores_in(topology, &spreading->free, &cores);
	ret_waiting->caches = CPUSET_EMPTY;
	memset(ret_waiting->first, 0xff, topology->uncores.nr * sizeof(ret_waiting->first[0]));
	/* From the highest core down, so that each list ascends. */
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

/* The core whose turn it is: of the cache that gave fewest, the lowest. */
static uint32_t next_core(const struct spreading *spreading, struct waiting *waiting)
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

/* One CPU each from the cores that have `busy` busy threads; returns what is needed yet. */
static uint32_t spread_level(struct spreading *spreading, uint32_t busy, uint32_t need)
{
	const struct topology *topology = spreading->topology;
	struct waiting waiting;

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
	/* A core that gave is one busier, so the next level finds it again. */
	for (uint32_t busy = 0; need; busy++)
		need = spread_level(&spreading, busy, need);
}
