// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Which CPUs are in use by migrations that are apart, compared with the definition after each
 * random move: exclusive containers, a few that share CPUs, and a pool with very many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/plan/uses.h"
#include "random.h"
#include "scene.h"

#define NR_CPUS	      150 /* three words */
#define NR_MIGRATIONS 40

static struct planner *planner;

static struct cpuset some_cpus(struct chance *chance, uint32_t most)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 1 + chance_below(chance, most); i; i--)
		cpuset_add(&cpus, chance_below(chance, NR_CPUS));
	return cpus;
}

/*
 * From `first` on, nr_pooled of them have one target; the others have few CPUs, which may be the
 * same.
 */
static void make_migrations(struct chance *chance, uint32_t first, uint32_t nr_pooled)
{
	struct cpuset pool = some_cpus(chance, 60);

	memset(planner->uses, 0, sizeof(planner->uses));
	for (uint32_t i = 0; i < NR_MIGRATIONS; i++) {
		struct migration *migration = &planner->migrations[i];

		*migration = (struct migration){
			.now = some_cpus(chance, 4),
			.target = i >= first && i < first + nr_pooled ? pool : some_cpus(chance, 2),
		};
		if (chance_percent(chance, 20))
			migration->now = migration->target;
		migration->is_astray = !cpuset_is_subset(&migration->now, &migration->target);
	}
	uses_init(planner);
}

static struct cpuset by_definition(const struct migration *migration, enum use use)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 0; i < NR_MIGRATIONS; i++) {
		const struct migration *other = &planner->migrations[i];

		if (cpuset_intersects(&other->target, &migration->target))
			continue;
		if (use == USE_TARGET || (use == USE_WANTED && other->is_astray))
			cpuset_union(&cpus, &other->target);
		if (use == USE_NOW || (use == USE_ASTRAY && other->is_astray))
			cpuset_union(&cpus, &other->now);
	}
	return cpus;
}

static uint32_t company_by_definition(const struct migration *migration)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR_MIGRATIONS; i++) {
		const struct migration *other = &planner->migrations[i];

		nr += other != migration && other->is_astray &&
		      cpuset_intersects(&other->target, &migration->target);
	}
	return nr;
}

static uint32_t nr_on(unsigned int cpu)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR_MIGRATIONS; i++)
		nr += cpuset_has(&planner->migrations[i].now, cpu);
	return nr;
}

static void compare(struct chance *chance)
{
	for (uint32_t i = 0; i < NR_MIGRATIONS; i++) {
		const struct migration *migration = &planner->migrations[i];
		struct cpuset within = some_cpus(chance, 3);

		for (enum use use = 0; use < USE_NR; use++) {
			struct cpuset wanted = by_definition(migration, use), got;

			uses_of_others(planner, migration, use, &got);
			assert_true(cpuset_equal(&got, &wanted));
			assert_int_equal(uses_meet(planner, migration, use, &within),
					 cpuset_intersects(&wanted, &within));
		}
		assert_int_equal(uses_count_company(planner, migration),
				 company_by_definition(migration));
	}
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		assert_int_equal(uses_count_on(planner, cpu), nr_on(cpu));
}

static void answers_follow_the_definition(void **state)
{
	static const struct {
		uint32_t first, nr;
	} pools[] = {
		{0, 0},
		{0, 2},
		{0, PEERS_MAX},
		{0, PEERS_MAX + 1},
		{1, PEERS_MAX + 1},
		{0, NR_MIGRATIONS},
	};
	struct chance chance = {1};

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(pools); row++) {
		make_migrations(&chance, pools[row].first, pools[row].nr);
		for (int i = 0; i < 100; i++) {
			struct migration *migration =
				&planner->migrations[chance_below(&chance, NR_MIGRATIONS)];
			struct cpuset cpus = chance_percent(&chance, 40) ? migration->target
									 : some_cpus(&chance, 4);

			compare(&chance);
			uses_move(planner, migration, &cpus);
			assert_true(cpuset_equal(&migration->now, &cpus));
			assert_int_equal(migration->is_astray,
					 !cpuset_is_subset(&cpus, &migration->target));
		}
	}
}

static int set_up(void **state)
{
	(void)state;
	planner = calloc(1, sizeof(*planner));
	if (!planner)
		return -1;
	planner->nr_migrations = NR_MIGRATIONS;
	planner->migrations = calloc(NR_MIGRATIONS, sizeof(*planner->migrations));
	return planner->migrations ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(planner->migrations);
	free(planner);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_follow_the_definition, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
