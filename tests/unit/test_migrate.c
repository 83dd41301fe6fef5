// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The order in which containers move between CPUs, from random states of a few containers on
 * a few CPUs. Without free CPUs an order may add conflicts, but never otherwise (plan.h), and
 * it takes no more writes than recorded here. tests/exhaustive/plans.c compares the plans of
 * three containers with all orders there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/plan/migrate.h"
#include "random.h"
#include "scene.h"

#define MAX_CONTAINERS 6
#define MAX_CPUS       8

struct container {
	struct group group;
	char path[4];	   /* the group's */
	struct cpuset now; /* after the steps so far */
	struct cpuset target;
	bool is_unlisted, is_unbounded;
};

struct world {
	uint32_t nr, nr_cpus;
	struct container containers[MAX_CONTAINERS];
	struct cpuset room;
};

/* A random share of what is left; never empty. */
static struct cpuset take_some(struct chance *chance, struct cpuset *left, uint32_t keep)
{
	struct cpuset some = CPUSET_EMPTY;
	uint32_t most = cpuset_count(left) - keep;

	for (uint32_t i = 1 + chance_below(chance, most); i; i--) {
		uint32_t skipped = chance_below(chance, cpuset_count(left));

		cpuset_for_each (cpu, left) {
			if (skipped--)
				continue;
			cpuset_add(&some, cpu);
			cpuset_remove(left, cpu);
			break;
		}
	}
	return some;
}

/*
 * Disjoint sets for all, except that one may have the same as its predecessor. Twins have the
 * same target, but not always the same CPUs now.
 */
static void deal(struct chance *chance, struct world *world, const uint32_t *twin_of, bool targets)
{
	struct cpuset left = world->room;
	bool are_all_taken = chance_percent(chance, 30);

	for (uint32_t i = 0; i < world->nr; i++) {
		struct container *container = &world->containers[i];
		struct container *twin = &world->containers[twin_of[i]];
		struct cpuset *set = targets ? &container->target : &container->now;

		if (twin_of[i] != i && (targets || chance_percent(chance, 50)))
			*set = targets ? twin->target : twin->now;
		else
			*set = take_some(chance, &left, world->nr - 1 - i);
		if (i == world->nr - 1 && twin_of[i] == i && are_all_taken)
			cpuset_union(set, &left);
	}
}

static void name_container(struct world *world, uint32_t at)
{
	struct container *container = &world->containers[at];

	snprintf(container->path, sizeof(container->path), "%u", at);
	container->group.path = container->path;
}

static void make_world(struct chance *chance, struct world *world)
{
	uint32_t twin_of[MAX_CONTAINERS];

	*world = (struct world){.nr = 2 + chance_below(chance, MAX_CONTAINERS - 1)};
	world->nr_cpus = world->nr + chance_below(chance, MAX_CPUS - world->nr + 1);
	for (uint32_t cpu = 0; cpu < world->nr_cpus; cpu++)
		cpuset_add(&world->room, cpu);
	for (uint32_t i = 0; i < world->nr; i++) {
		name_container(world, i);
		twin_of[i] = i && chance_percent(chance, 15) ? twin_of[i - 1] : i;
	}
	deal(chance, world, twin_of, true);
	deal(chance, world, twin_of, false);
}

/* What another writer may have done: lists that were removed, or that overlap. */
static void disturb(struct chance *chance, struct world *world)
{
	for (uint32_t i = 0; i < world->nr; i++) {
		struct container *container = &world->containers[i];

		if (chance_percent(chance, 20)) {
			cpuset_add(&container->now, chance_below(chance, world->nr_cpus));
		} else if (chance_percent(chance, 10)) {
			container->is_unbounded = true;
			container->now = world->room;
		} else if (chance_percent(chance, 10)) {
			container->now = CPUSET_EMPTY;
		}
		container->is_unlisted = chance_percent(chance, 10);
	}
}

static bool are_apart(const struct container *a, const struct container *b)
{
	return a != b && !cpuset_intersects(&a->target, &b->target);
}

/* The containers that conflict with this one on some of these CPUs. */
static uint32_t nr_conflicts(const struct world *world, const struct container *container,
			     const struct cpuset *cpus)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < world->nr; i++) {
		const struct container *other = &world->containers[i];

		nr += are_apart(container, other) && cpuset_intersects(&other->now, cpus);
	}
	return nr;
}

/* Twins count as one owner. */
static uint32_t nr_owners(const struct world *world)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < world->nr; i++)
		nr += !i || are_apart(&world->containers[i], &world->containers[i - 1]);
	return nr;
}

/* No migration lies behind the last one, so that a sanitizer sees a loop that goes too far. */
static struct planner make_planner(const struct world *world)
{
	struct planner planner = {.nr_migrations = world->nr, .room = world->room};

	planner.migrations = calloc(world->nr, sizeof(planner.migrations[0]));
	assert_non_null(planner.migrations);
	for (uint32_t i = 0; i < world->nr; i++) {
		const struct container *container = &world->containers[i];

		planner.migrations[i] = (struct migration){
			.group = &container->group,
			.now = container->now,
			.target = container->target,
			.is_unlisted = container->is_unlisted,
			.is_unbounded = container->is_unbounded,
			.is_astray = !cpuset_is_subset(&container->now, &container->target),
		};
		cpuset_union(&planner.home, &container->target);
	}
	return planner;
}

static bool is_settled(const struct container *container)
{
	return cpuset_equal(&container->now, &container->target) && !container->is_unlisted &&
	       !container->is_unbounded;
}

struct counts {
	uint32_t moves;	    /* containers that are not where they belong */
	uint32_t writes;    /* at least one for each of them */
	uint32_t conflicts; /* that writes added */
	uint32_t detours;   /* CPUs that a container gets and must leave again */
	uint32_t away;	    /* those of them on which no container ends */
	uint32_t given_up;  /* CPUs that a container has, must leave and gets back */
};

static void play(struct world *world, bool may_conflict, struct counts *counts)
{
	struct planner planner = make_planner(world);
	struct plan *plan = &planner.plan;

	for (uint32_t i = 0; i < world->nr; i++)
		counts->moves += !is_settled(&world->containers[i]);
	migrate_all(&planner);
	assert_int_equal(planner.error, 0);
	for (uint32_t i = 0; i < plan->nr_steps; i++) {
		uint32_t at = (uint32_t)atoi(plan->steps[i].path), added;
		struct container *container = &world->containers[at];
		struct cpuset cpus = cpus_of(plan->steps[i].value), gained = cpus, lost;

		assert_false(cpuset_is_empty(&cpus));
		assert_true(cpuset_is_subset(&cpus, &world->room));
		cpuset_subtract(&gained, &container->now);
		lost = container->now;
		cpuset_intersect(&lost, &container->target);
		cpuset_subtract(&lost, &cpus);
		counts->given_up += cpuset_count(&lost);
		added = nr_conflicts(world, container, &gained);
		if (added && !may_conflict)
			fail_msg("write %u adds a conflict", i);
		counts->conflicts += added;
		cpuset_subtract(&gained, &container->target);
		counts->detours += cpuset_count(&gained);
		cpuset_subtract(&gained, &planner.home);
		counts->away += cpuset_count(&gained);
		container->now = cpus;
		container->is_unlisted = container->is_unbounded = false;
	}
	for (uint32_t i = 0; i < world->nr; i++)
		assert_true(is_settled(&world->containers[i]));
	counts->writes += plan->nr_steps;
	plan_fini(plan);
	free(planner.migrations);
}

static void orders_are_safe_and_short(void **state)
{
	static const struct {
		const char *of;
		bool is_disturbed;
		struct counts counts;
	} rows[] = {
		{"states without conflicts", false, {71461, 88649, 2715, 2046, 599, 83}},
		{"states that others disturbed", true, {74937, 88153, 1183, 1460, 391, 446}},
	};

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct counts counts = {0};
		struct chance chance = {1};

		for (int i = 0; i < 20000; i++) {
			struct world world;
			bool is_full;

			make_world(&chance, &world);
			if (rows[row].is_disturbed)
				disturb(&chance, &world);
			is_full = world.nr_cpus <= nr_owners(&world);
			play(&world, is_full || rows[row].is_disturbed, &counts);
		}
		/* More is worse. Fewer of them are an improvement, to be recorded here. */
		if (memcmp(&counts, &rows[row].counts, sizeof(counts)))
			fail_msg("%s: {%u, %u, %u, %u, %u, %u}", rows[row].of, counts.moves,
				 counts.writes, counts.conflicts, counts.detours, counts.away,
				 counts.given_up);
	}
}

/*
 * Two containers exchange their only CPUs, and all others are in use. To make room, the container
 * that has two CPUs alone leaves one for a while. That takes one write there and one back, while
 * each of those that share two CPUs would have to be written.
 */
static void room_is_made_by_the_fewest_writes(void **state)
{
	static const char *const places[][2] = {{"2-3", "4-5"}, {"4-5", "2-3"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct world world = {.nr = 5, .nr_cpus = 6, .room = cpus_of("0-5")};
		const char *const now[] = {places[i][0], places[i][0], places[i][1], "0", "1"};
		const char *const target[] = {places[i][0], places[i][0], places[i][1], "1", "0"};
		struct planner planner;
		uint32_t nr_alone = 0;

		for (uint32_t j = 0; j < world.nr; j++) {
			name_container(&world, j);
			world.containers[j].now = cpus_of(now[j]);
			world.containers[j].target = cpus_of(target[j]);
		}
		planner = make_planner(&world);
		migrate_all(&planner);
		assert_int_equal(planner.error, 0);
		for (uint32_t j = 0; j < planner.plan.nr_steps; j++) {
			int at = atoi(planner.plan.steps[j].path);

			assert_true(at > 1);
			nr_alone += at == 2;
		}
		assert_int_equal(nr_alone, 2);
		plan_fini(&planner.plan);
		free(planner.migrations);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_safe_and_short),
		cmocka_unit_test(room_is_made_by_the_fewest_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
