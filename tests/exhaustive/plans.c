// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Checks every plan for 3 containers on 4 CPUs, from every state to every valid one. Each
 * plan is applied step by step and compared with a search over all orders of all writes.
 * The search uses only the model in plan.h: a conflict is a CPU that two containers have
 * although they are apart; an order is better if it adds fewer conflicts, and then if it
 * is shorter.
 *
 * Initial states are valid ones, and drifted ones in which any container may have any
 * CPUs or no list. Without a root, only the CPUs of containers exist; below a root with
 * all CPUs, there may be free CPUs that no container has or gets.
 *
 * Usage: plans [CPUS [all]]: 3 to 5 CPUs; "all" also covers drifted states below a root.
 * A build with -DNR_CONTAINERS=4 takes some minutes.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/plan.h"
#include "verdict.h"

#ifndef NR_CONTAINERS
#define NR_CONTAINERS 3
#endif
#define MAX_CPUS   5
#define MAX_SETS   (1 << MAX_CPUS)
#define MAX_STATES (1 << MAX_CPUS * NR_CONTAINERS)
/* The cost of an order: conflicts that it adds, then writes. */
#define ONE_MEETING 64
#define MAX_COST    (16 * ONE_MEETING)

static unsigned int nr_cpus = 4, nr_sets;
static char texts[MAX_SETS][16];

/* The desired state, and which containers are apart. Sets are masks of CPUs, 0 = no list. */
struct world {
	unsigned int target[NR_CONTAINERS];
	bool is_exclusive[NR_CONTAINERS];
	unsigned int room; /* CPUs that a container may use in between */
	bool has_root;
};

struct state {
	unsigned int cpus[NR_CONTAINERS];
};

/* The CPUs on which two containers conflict, MAX_CPUS bits per pair. */
static uint64_t conflicts(const struct world *world, const struct state *state)
{
	uint64_t bits = 0;

	for (unsigned int a = 0; a < NR_CONTAINERS; a++) {
		for (unsigned int b = a + 1; b < NR_CONTAINERS; b++) {
			bits <<= MAX_CPUS;
			if (world->is_exclusive[a] || world->is_exclusive[b])
				bits |= state->cpus[a] & state->cpus[b];
		}
	}
	return bits;
}

static unsigned int nr_added(uint64_t before, uint64_t after)
{
	return (unsigned int)__builtin_popcountll(after & ~before);
}

static unsigned int nr_states(void)
{
	return 1U << (nr_cpus * NR_CONTAINERS);
}

static unsigned int index_of(const struct state *state)
{
	unsigned int index = 0;

	for (unsigned int i = NR_CONTAINERS; i-- > 0;)
		index = index << nr_cpus | state->cpus[i];
	return index;
}

static struct state state_at(unsigned int index)
{
	struct state state;

	for (unsigned int i = 0; i < NR_CONTAINERS; i++)
		state.cpus[i] = index >> (i * nr_cpus) & (nr_sets - 1);
	return state;
}

static unsigned int all_of(const struct state *state)
{
	unsigned int all = 0;

	for (unsigned int i = 0; i < NR_CONTAINERS; i++)
		all |= state->cpus[i];
	return all;
}

/* --- the judge: the cheapest order from every state, searched backwards from the end ----------- */

/* The costs from every state to the final state, and to the first state without a conflict. */
static uint16_t cost[MAX_STATES], relief[MAX_STATES];
static uint32_t *buckets[MAX_COST];
static uint32_t nr_in[MAX_COST], room_in[MAX_COST];

static void reach(uint16_t *reached, unsigned int index, unsigned int at)
{
	assert(at < MAX_COST);
	if (reached[index] <= at)
		return;
	reached[index] = (uint16_t)at;
	if (nr_in[at] == room_in[at]) {
		room_in[at] = room_in[at] ? room_in[at] * 2 : 1024;
		buckets[at] = realloc(buckets[at], room_in[at] * sizeof(*buckets[at]));
		assert(buckets[at]);
	}
	buckets[at][nr_in[at]++] = index;
}

/* Every state from which one write of container `who` leads to `state`. */
static void reach_back(const struct world *world, uint16_t *reached, const struct state *state,
		       unsigned int who, unsigned int at)
{
	uint64_t after = conflicts(world, state);
	struct state before = *state;

	for (before.cpus[who] = 0; before.cpus[who] < nr_sets; before.cpus[who]++) {
		unsigned int added = nr_added(conflicts(world, &before), after);

		if (!(before.cpus[who] & ~world->room))
			reach(reached, index_of(&before), at + added * ONE_MEETING + 1);
	}
}

static void search_back(const struct world *world, uint16_t *reached)
{
	for (unsigned int at = 0; at < MAX_COST; at++) {
		for (uint32_t i = 0; i < nr_in[at]; i++) {
			struct state state = state_at(buckets[at][i]);

			if (reached[buckets[at][i]] != at)
				continue;
			/* No write leaves a container without a list. */
			for (unsigned int who = 0; who < NR_CONTAINERS; who++) {
				if (state.cpus[who])
					reach_back(world, reached, &state, who, at);
			}
		}
		nr_in[at] = 0;
	}
}

static void search_orders(const struct world *world)
{
	struct state end;

	memcpy(end.cpus, world->target, sizeof(end.cpus));
	memset(cost, 0xff, sizeof(cost));
	reach(cost, index_of(&end), 0);
	search_back(world, cost);
}

static void search_relief(const struct world *world)
{
	memset(relief, 0xff, sizeof(relief));
	for (unsigned int index = 0; index < nr_states(); index++) {
		struct state state = state_at(index);

		if (!(all_of(&state) & ~world->room) && !conflicts(world, &state))
			reach(relief, index, 0);
	}
	search_back(world, relief);
}

/* --- playing ---------------------------------------------------------------------------------- */

struct tally {
	uint64_t plans, forced, avoidable, excessive, stray, writes, shortest, drifted, met_steps,
		relief;
	unsigned int longest_detour, latest_relief;
};

static struct group desired_groups[NR_CONTAINERS + 1], observed_groups[NR_CONTAINERS + 1];

static void fill_group(struct group *group, enum group_role role, char *path, unsigned int cpus)
{
	memset(group, 0, sizeof(*group));
	group->role = role;
	group->path = path;
	group->files[GROUP_CPUSET_CPUS] = cpus ? texts[cpus] : NULL;
}

/* The trees borrow the paths and texts, which are never freed. */
static void fill_tree(const struct world *world, const unsigned int *cpus, struct group *groups,
		      struct group_tree *ret_tree)
{
	static char root[] = "r", names[][4] = {"r/a", "r/b", "r/c", "r/d"};
	uint32_t nr = 0;

	if (world->has_root)
		fill_group(&groups[nr++], GROUP_ROOT, root, world->room);
	for (unsigned int i = 0; i < NR_CONTAINERS; i++) {
		fill_group(&groups[nr], GROUP_CONTAINER, names[i], cpus[i]);
		groups[nr].is_exclusive = world->is_exclusive[i];
		groups[nr++].populated = cpus[i] != 0;
	}
	*ret_tree = (struct group_tree){.nr_groups = nr, .groups = groups};
}

static void show(const struct world *world, const struct state *start, const struct plan *plan,
		 const char *why)
{
	printf("# %s:", why);
	for (unsigned int i = 0; i < NR_CONTAINERS; i++)
		printf(" %c%s %s -> %s", 'a' + (int)i, world->is_exclusive[i] ? "*" : "",
		       start->cpus[i] ? texts[start->cpus[i]] : "none", texts[world->target[i]]);
	printf("; on %s; plan", texts[world->room]);
	for (uint32_t i = 0; i < plan->nr_steps; i++)
		printf(" %s=%s", plan->steps[i].path, plan->steps[i].value);
	printf("\n");
}

static void complain(const struct world *world, const struct state *start, const struct plan *plan,
		     const char *why, uint64_t *count)
{
	if ((*count)++ < 5)
		show(world, start, plan, why);
}

static unsigned int mask_of(const char *text)
{
	for (unsigned int mask = 0; mask < nr_sets; mask++) {
		if (!strcmp(texts[mask], text))
			return mask;
	}
	return nr_sets;
}

static void play(const struct world *world, const struct state *start, struct tally *tally)
{
	struct group_tree desired, observed;
	struct plan plan = {0};
	struct state state = *start;
	unsigned int added = 0, best = cost[index_of(start)], free_after = 0;
	bool is_stray = false;

	fill_tree(world, world->target, desired_groups, &desired);
	fill_tree(world, start->cpus, observed_groups, &observed);
	if (plan_make(&desired, &observed, &plan))
		abort();
	for (uint32_t i = 0; i < plan.nr_steps; i++) {
		const struct step *step = &plan.steps[i];
		uint64_t before = conflicts(world, &state);
		unsigned int cpus = step->value ? mask_of(step->value) : nr_sets;

		if (step->kind != STEP_WRITE || step->file != GROUP_CPUSET_CPUS || !cpus ||
		    cpus >= nr_sets || cpus & ~world->room || strlen(step->path) != 3) {
			is_stray = true;
			break;
		}
		state.cpus[step->path[2] - 'a'] = cpus;
		added += nr_added(before, conflicts(world, &state));
		free_after += before != 0;
	}
	if (is_stray || memcmp(state.cpus, world->target, sizeof(state.cpus)))
		complain(world, start, &plan, "strays", &tally->stray);
	else if (added && best < ONE_MEETING)
		complain(world, start, &plan, "meets without need", &tally->avoidable);
	else if (added > best / ONE_MEETING)
		complain(world, start, &plan, "meets more than it must", &tally->excessive);
	tally->plans++;
	tally->forced += best >= ONE_MEETING;
	tally->writes += plan.nr_steps;
	tally->shortest += best % ONE_MEETING;
	tally->drifted += conflicts(world, start) != 0;
	if (conflicts(world, start)) {
		tally->met_steps += free_after;
		tally->relief += relief[index_of(start)];
		if (free_after > relief[index_of(start)] + tally->latest_relief) {
			tally->latest_relief = free_after - relief[index_of(start)];
			show(world, start, &plan, "latest relief so far");
		}
	}
	if (plan.nr_steps > best % ONE_MEETING + tally->longest_detour) {
		tally->longest_detour = plan.nr_steps - best % ONE_MEETING;
		show(world, start, &plan, "longest so far");
	}
	plan_fini(&plan);
}

/* --- all worlds ------------------------------------------------------------------------------- */

static bool is_lawful(const struct world *world, const struct state *state)
{
	unsigned int shared = 0;

	for (unsigned int i = 0; i < NR_CONTAINERS; i++) {
		if (!state->cpus[i])
			return false;
		if (world->is_exclusive[i])
			continue;
		if (shared && shared != state->cpus[i])
			return false;
		shared = state->cpus[i];
	}
	return !conflicts(world, state);
}

enum starts { START_LAWFUL, START_DRIFTED };

static unsigned int targets_of(const struct world *world)
{
	struct state end;

	memcpy(end.cpus, world->target, sizeof(end.cpus));
	return all_of(&end);
}

static void play_world(const struct world *world, enum starts starts, struct tally *tally)
{
	unsigned int targets = targets_of(world);

	search_orders(world);
	if (starts == START_DRIFTED)
		search_relief(world);
	for (unsigned int index = 0; index < nr_states(); index++) {
		struct state start = state_at(index);

		if (all_of(&start) & ~world->room ||
		    (!world->has_root && (all_of(&start) | targets) != world->room) ||
		    is_lawful(world, &start) != (starts == START_LAWFUL))
			continue;
		play(world, &start, tally);
	}
}

/* Without a root, a container may only use CPUs that some container has or will have. */
static void play_targets(struct world *world, enum starts starts, struct tally *tally)
{
	unsigned int targets = targets_of(world);

	for (world->room = 1; world->room < nr_sets; world->room++) {
		if (!(targets & ~world->room) && (!world->has_root || world->room == nr_sets - 1))
			play_world(world, starts, tally);
	}
}

static void play_all(const char *name, enum starts starts, bool has_root)
{
	struct tally tally = {0};

	for (unsigned int exclusive = 1; exclusive < 1 << NR_CONTAINERS; exclusive++) {
		struct world world = {.has_root = has_root};

		for (unsigned int i = 0; i < NR_CONTAINERS; i++)
			world.is_exclusive[i] = exclusive >> i & 1;
		for (unsigned int end = 0; end < nr_states(); end++) {
			struct state target = state_at(end);

			if (!is_lawful(&world, &target))
				continue;
			memcpy(world.target, target.cpus, sizeof(world.target));
			play_targets(&world, starts, &tally);
		}
	}
	printf("# %s: %llu plans, %llu must add a conflict, %llu writes where %llu do, at most %u more; "
	       "%llu start with conflicts and end them after %llu writes where %llu do, at "
	       "most %u later\n",
	       name, (unsigned long long)tally.plans, (unsigned long long)tally.forced,
	       (unsigned long long)tally.writes, (unsigned long long)tally.shortest,
	       tally.longest_detour, (unsigned long long)tally.drifted,
	       (unsigned long long)tally.met_steps, (unsigned long long)tally.relief,
	       tally.latest_relief);
	verdict(tally.plans > 0 && !tally.stray && !tally.avoidable,
		"%s: %llu avoidable conflicts, %llu plans that stray", name,
		(unsigned long long)tally.avoidable, (unsigned long long)tally.stray);
	/* With 4 containers there may be two cycles at once, and each is broken separately. */
	if (NR_CONTAINERS == 3 && nr_cpus <= 4)
		verdict(!tally.excessive &&
				tally.longest_detour <= (starts == START_LAWFUL ? 1 : 4) &&
				tally.latest_relief <= 3,
			"%s: no plan meets, writes or takes longer than plan.h says", name);
}

static void write_texts(void)
{
	for (unsigned int mask = 0; mask < nr_sets; mask++) {
		struct cpuset set = CPUSET_EMPTY;

		for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
			if (mask >> cpu & 1)
				cpuset_add(&set, cpu);
		}
		cpuset_format(&set, texts[mask], sizeof(texts[mask]));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		nr_cpus = (unsigned int)atoi(argv[1]);
	if (nr_cpus < NR_CONTAINERS || nr_cpus > MAX_CPUS) {
		fprintf(stderr, "usage: plans [CPUS [all]], %d to %d CPUs\n", NR_CONTAINERS,
			MAX_CPUS);
		return 2;
	}
	nr_sets = 1U << nr_cpus;
	write_texts();
	play_all("from lawful states", START_LAWFUL, false);
	play_all("from lawful states below a root of all CPUs", START_LAWFUL, true);
	if (nr_cpus <= 4 && NR_CONTAINERS == 3)
		play_all("from drifted states", START_DRIFTED, false);
	if (argc > 2)
		play_all("from drifted states below a root of all CPUs", START_DRIFTED, true);
	return verdicts();
}
