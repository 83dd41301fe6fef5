// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Every take on every machine of 4 and 5 CPUs: all ways to group CPUs into cores,
 * these into uncore caches, these into NUMA nodes and these into sockets; every
 * set of free CPUs, every count.
 *
 * Every answer has the exact size and lies in the free set. In compatibility
 * "repaired" it is the answer of the rule stated here a second time, on plain
 * bit masks: at each level what is whole, fewest free CPUs first, then by id.
 * A distributed take is held to what it promises: as few nodes as possible, an
 * even share of each, the most even machine left, packed inside a node.
 *
 * Usage: takes [CPUS], 2 to 6
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/take.h"
#include "verdict.h"

#define MAX_CPUS 6
#define MAX_SETS (1 << MAX_CPUS)

enum level { CORE, UNCORE, NODE, SOCKET, LEVEL_NR };

/* A partition of the CPUs at each level: the group of each CPU, numbered by their lowest CPUs. */
struct machine {
	unsigned int nr_cpus;
	unsigned int group_of[LEVEL_NR][MAX_CPUS];
	unsigned int nr[LEVEL_NR];
	unsigned int cpus[LEVEL_NR][MAX_CPUS]; /* mask of each group */
};

static unsigned int count(unsigned int mask)
{
	return (unsigned int)__builtin_popcount(mask);
}

/* --- the packed rule, once more --------------------------------------------------------------- */

/* The groups of a level as a list of ids, in the order in which a take visits them. */
struct order {
	unsigned int nr, ids[MAX_CPUS * MAX_CPUS];
};

static void append(const struct machine *machine, enum level level, unsigned int free,
		   unsigned int within, struct order *order)
{
	for (unsigned int wanted = 1; wanted <= machine->nr_cpus; wanted++) {
		for (unsigned int id = 0; id < machine->nr[level]; id++) {
			unsigned int cpus = machine->cpus[level][id] & free;

			if (count(cpus) == wanted && cpus & within)
				order->ids[order->nr++] = id;
		}
	}
}

/* Of node and socket, the level with fewer members is the outer one; sockets win a tie. */
static void levels_of(const struct machine *machine, enum level *outer, enum level *inner)
{
	bool nodes_first = machine->nr[SOCKET] >= machine->nr[NODE];

	*outer = nodes_first ? NODE : SOCKET;
	*inner = nodes_first ? SOCKET : NODE;
}

static struct order order_of(const struct machine *machine, enum level level, unsigned int free)
{
	struct order result = {0}, above = {0};
	enum level outer, inner, over;

	levels_of(machine, &outer, &inner);
	if (level == outer) {
		append(machine, level, free, free, &result);
		return result;
	}
	over = level == UNCORE ? NODE : inner;
	if (level == inner)
		over = outer;
	above = order_of(machine, over, free);
	for (unsigned int i = 0; i < above.nr; i++)
		append(machine, level, free, machine->cpus[over][above.ids[i]], &result);
	return result;
}

struct progress {
	unsigned int free, taken, need;
};

static void take_mask(struct progress *progress, unsigned int cpus)
{
	progress->free &= ~cpus;
	progress->taken |= cpus;
	progress->need -= count(cpus);
}

static void take_whole(const struct machine *machine, enum level level, struct progress *progress)
{
	struct order order = order_of(machine, level, progress->free);

	for (unsigned int i = 0; i < order.nr; i++) {
		unsigned int cpus = machine->cpus[level][order.ids[i]];

		if (!(cpus & ~progress->free) && count(cpus) <= progress->need)
			take_mask(progress, cpus);
	}
}

/* The lowest cores of a cache, if they match the need exactly or except for one sibling. */
static bool take_part(const struct machine *machine, unsigned int uncore, struct progress *progress)
{
	unsigned int per_core = machine->nr_cpus / machine->nr[CORE], some = 0, left;

	left = (progress->need + per_core - 1) / per_core;
	for (unsigned int core = 0; core < machine->nr[CORE]; core++) {
		unsigned int cpus = machine->cpus[CORE][core] & progress->free;

		if (left && cpus & machine->cpus[UNCORE][uncore]) {
			some |= cpus;
			left--;
		}
	}
	if (progress->need % 2 && per_core > 1 && count(some) > progress->need)
		some &= ~(1U << (31 - __builtin_clz(some)));
	if (count(some) != progress->need)
		return false;
	take_mask(progress, some);
	return true;
}

static void take_uncores(const struct machine *machine, struct progress *progress)
{
	/* The order is that at the start of the step, also for what follows whole caches. */
	struct order order = order_of(machine, UNCORE, progress->free);

	if (progress->need >= machine->nr_cpus / machine->nr[UNCORE])
		take_whole(machine, UNCORE, progress);
	for (unsigned int i = 0; i < order.nr && progress->need; i++) {
		if (take_part(machine, order.ids[i], progress))
			return;
	}
}

static void take_singles(const struct machine *machine, enum level level, struct progress *progress)
{
	struct order order = order_of(machine, level, progress->free);

	for (unsigned int i = 0; i < order.nr; i++) {
		for (unsigned int cpu = 0; cpu < machine->nr_cpus && progress->need; cpu++) {
			if (machine->cpus[level][order.ids[i]] & progress->free & 1U << cpu)
				take_mask(progress, 1U << cpu);
		}
	}
}

static unsigned int packed_by_rule(const struct machine *machine, unsigned int free,
				   unsigned int need, bool spread, bool uncore)
{
	struct progress progress = {.free = free, .need = need};
	enum level outer, inner;

	levels_of(machine, &outer, &inner);
	take_whole(machine, outer, &progress);
	take_whole(machine, inner, &progress);
	if (uncore && progress.need)
		take_uncores(machine, &progress);
	if (!spread)
		take_whole(machine, CORE, &progress);
	take_singles(machine, spread ? SOCKET : CORE, &progress);
	return progress.taken;
}

/* --- the program under test ------------------------------------------------------------------- */

static struct cpuset sets[MAX_SETS];

static unsigned int mask_of(const struct cpuset *set)
{
	unsigned int mask = 0;

	cpuset_for_each (cpu, set)
		mask |= cpu < 31 ? 1U << cpu : 1U << 31;
	return mask;
}

struct tally {
	uint64_t takes, lawless, unruly, refused, uneven;
};

static void show(const struct machine *machine, unsigned int free, unsigned int need,
		 unsigned int got, unsigned int want, const char *why)
{
	static const char *const names[] = {"cores", "caches", "nodes", "sockets"};
	static unsigned int shown;

	if (shown++ >= 10)
		return;
	printf("# %s: %u of mask %#x gives %#x, not %#x;", why, need, free, got, want);
	for (unsigned int level = 0; level < LEVEL_NR; level++) {
		printf(" %s", names[level]);
		for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++)
			printf(" %u", machine->group_of[level][cpu]);
	}
	printf("\n");
}

/* Exactly this many CPUs, all of them free. */
static bool is_lawful(unsigned int free, unsigned int need, unsigned int got)
{
	return !(got & ~free) && count(got) == need;
}

static void play_packed(const struct machine *machine, const struct topology *topology,
			unsigned int free, unsigned int need, struct tally *tally)
{
	for (unsigned int way = 0; way < 8; way++) {
		struct take_options options = {
			.compatibility = way & 4 ? COMPATIBILITY_IMPROVED : COMPATIBILITY_REPAIRED,
			.sorting = way & 1 ? TAKE_SPREAD : TAKE_PACKED,
			.uncore = way & 2,
		};
		struct cpuset taken;
		unsigned int got, want;

		/* prefer-align-cpus-by-uncorecache is for packed takes. */
		if ((way & 3) == 3)
			continue;
		tally->takes++;
		if (take_packed(topology, &sets[free], need, &options, &taken) != TAKE_OK) {
			tally->refused++;
			continue;
		}
		got = mask_of(&taken);
		tally->lawless += !is_lawful(free, need, got);
		/* Without options "improved" is "repaired". */
		if (way > 4)
			continue;
		want = packed_by_rule(machine, free, need, way & 1, way & 2);
		if (got != want) {
			show(machine, free, need, got, want, "packed");
			tally->unruly++;
		}
	}
}

/* --- distributed ------------------------------------------------------------------------------ */

/* The sum of squares of the CPUs left on each node; minimal if they are balanced best. */
static unsigned int unevenness(const struct machine *machine, unsigned int left)
{
	unsigned int sum = 0;

	for (unsigned int node = 0; node < machine->nr[NODE]; node++) {
		unsigned int nr = count(machine->cpus[NODE][node] & left);

		sum += nr * nr;
	}
	return sum;
}

/* Does each node of `nodes` supply `share` CPUs or one more group, and no other node any? */
static bool is_even(const struct machine *machine, unsigned int nodes, unsigned int share,
		    unsigned int group, unsigned int cpus)
{
	for (unsigned int node = 0; node < machine->nr[NODE]; node++) {
		unsigned int nr = count(machine->cpus[NODE][node] & cpus);

		if (nodes >> node & 1 ? nr < share || nr % group : nr != 0)
			return false;
	}
	return true;
}

/*
 * Of all sets of CPUs that a fair division over `size` nodes may give, the least
 * uneven rest; UINT32_MAX when there is none.
 */
static unsigned int best_of_size(const struct machine *machine, unsigned int free,
				 unsigned int need, unsigned int group, unsigned int size)
{
	unsigned int share = need / size / group * group, best = UINT32_MAX;

	for (unsigned int nodes = 1; nodes < 1U << machine->nr[NODE]; nodes++) {
		if (count(nodes) != size)
			continue;
		for (unsigned int cpus = free; cpus; cpus = (cpus - 1) & free) {
			unsigned int left;

			if (count(cpus) != need || !is_even(machine, nodes, share, group, cpus))
				continue;
			left = unevenness(machine, free & ~cpus);
			best = left < best ? left : best;
		}
	}
	return best;
}

static bool is_packed_inside(const struct machine *machine, unsigned int free, unsigned int got,
			     unsigned int group)
{
	for (unsigned int node = 0; node < machine->nr[NODE]; node++) {
		unsigned int cpus = machine->cpus[NODE][node], nr = count(got & cpus);

		/* Group by group, which is not always the same as taking all at once. */
		if (nr && group >= nr &&
		    packed_by_rule(machine, free & cpus, nr, false, false) != (got & cpus))
			return false;
	}
	return true;
}

/* A request that cannot be distributed is packed. */
static void judge_packed(const struct machine *machine, unsigned int free, unsigned int need,
			 unsigned int got, struct tally *tally)
{
	unsigned int want = packed_by_rule(machine, free, need, false, false);

	if (got != want) {
		show(machine, free, need, got, want, "not distributed");
		tally->unruly++;
	}
}

static void judge_distributed(const struct machine *machine, unsigned int free, unsigned int need,
			      unsigned int group, unsigned int got, struct tally *tally)
{
	unsigned int nr_groups = need / group;
	/* The smallest number of nodes that would suffice if all were alike, as in the kubelet. */
	unsigned int all_groups = (machine->nr_cpus + group - 1) / group;
	unsigned int per_node = (all_groups + machine->nr[NODE] - 1) / machine->nr[NODE];

	if (need % group) {
		judge_packed(machine, free, need, got, tally);
		return;
	}
	for (unsigned int size = (nr_groups + per_node - 1) / per_node;
	     size <= nr_groups && size <= machine->nr[NODE]; size++) {
		unsigned int best = best_of_size(machine, free, need, group, size), nodes = 0;

		if (best == UINT32_MAX)
			continue;
		for (unsigned int node = 0; node < machine->nr[NODE]; node++)
			nodes += (machine->cpus[NODE][node] & got) != 0;
		if (nodes != size || unevenness(machine, free & ~got) != best ||
		    !is_packed_inside(machine, free, got, group)) {
			show(machine, free, need, got, 0, "distributed");
			tally->uneven++;
		}
		return;
	}
	judge_packed(machine, free, need, got, tally);
}

static void play_distributed(const struct machine *machine, const struct topology *topology,
			     unsigned int free, unsigned int need, struct tally *tally)
{
	for (unsigned int group = 1; group <= 2; group++) {
		struct take_options options = {.compatibility = COMPATIBILITY_REPAIRED,
					       .group = group};
		struct cpuset taken;
		unsigned int got;

		tally->takes++;
		if (take_distributed(topology, &sets[free], need, &options, &taken) != TAKE_OK) {
			tally->refused++;
			continue;
		}
		got = mask_of(&taken);
		tally->lawless += !is_lawful(free, need, got);
		judge_distributed(machine, free, need, group, got, tally);
	}
}

/* --- all machines ----------------------------------------------------------------------------- */

static void play_machine(struct machine *machine, struct tally *tally)
{
	struct topology_cpu cpus[MAX_CPUS];
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = machine->nr_cpus, TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	char error[256];

	memset(machine->cpus, 0, sizeof(machine->cpus));
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++) {
		for (unsigned int level = 0; level < LEVEL_NR; level++)
			machine->cpus[level][machine->group_of[level][cpu]] |= 1U << cpu;
		cpus[cpu] = (struct topology_cpu){
			.id = cpu,
			.core = machine->group_of[CORE][cpu],
			.uncore = machine->group_of[UNCORE][cpu],
			.node = machine->group_of[NODE][cpu],
			.socket = machine->group_of[SOCKET][cpu],
		};
	}
	if (topology_new(&facts, error, sizeof(error), &topology))
		abort();
	for (unsigned int free = 0; free < 1U << machine->nr_cpus; free++) {
		for (unsigned int need = 1; need <= count(free); need++) {
			play_packed(machine, topology, free, need, tally);
			play_distributed(machine, topology, free, need, tally);
		}
	}
}

/* Try every way to combine the groups of the level below, then continue with the next level. */
static uint64_t group_level(struct machine *machine, enum level level, unsigned int cpu,
			    struct tally *tally)
{
	uint64_t nr = 0;

	if (level == LEVEL_NR) {
		play_machine(machine, tally);
		return 1;
	}
	if (cpu == 0)
		machine->nr[level] = 0;
	if (cpu == machine->nr_cpus)
		return group_level(machine, level + 1, 0, tally);
	/* A group of the level below is not split. */
	for (unsigned int other = 0; level > CORE && other < cpu; other++) {
		if (machine->group_of[level - 1][other] != machine->group_of[level - 1][cpu])
			continue;
		machine->group_of[level][cpu] = machine->group_of[level][other];
		return group_level(machine, level, cpu + 1, tally);
	}
	for (unsigned int group = 0; group <= machine->nr[level]; group++) {
		unsigned int before = machine->nr[level];

		machine->group_of[level][cpu] = group;
		machine->nr[level] += group == before;
		nr += group_level(machine, level, cpu + 1, tally);
		machine->nr[level] = before;
	}
	return nr;
}

static void play(unsigned int nr_cpus)
{
	struct machine machine = {.nr_cpus = nr_cpus};
	struct tally tally = {0};
	uint64_t nr = group_level(&machine, CORE, 0, &tally);

	printf("# %u CPUs: %llu machines, %llu takes\n", nr_cpus, (unsigned long long)nr,
	       (unsigned long long)tally.takes);
	verdict(tally.takes && !tally.lawless && !tally.refused,
		"%u CPUs: %llu answers of a wrong size or not free, %llu refusals", nr_cpus,
		(unsigned long long)tally.lawless, (unsigned long long)tally.refused);
	verdict(!tally.unruly, "%u CPUs: %llu packed answers that are not the rule's", nr_cpus,
		(unsigned long long)tally.unruly);
	verdict(!tally.uneven, "%u CPUs: %llu distributed answers over too many nodes or uneven",
		nr_cpus, (unsigned long long)tally.uneven);
}

int main(int argc, char **argv)
{
	unsigned int first = 4, last = 5;

	if (argc > 1)
		first = last = (unsigned int)atoi(argv[1]);
	if (first < 2 || last > MAX_CPUS) {
		fprintf(stderr, "usage: takes [CPUS], 2 to %d\n", MAX_CPUS);
		return 2;
	}
	for (unsigned int mask = 0; mask < MAX_SETS; mask++) {
		for (unsigned int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (mask >> cpu & 1)
				cpuset_add(&sets[mask], cpu);
		}
	}
	for (unsigned int nr_cpus = first; nr_cpus <= last; nr_cpus++)
		play(nr_cpus);
	return verdicts();
}
