// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/*
 * Plans between random trees, each applied step by step. PINFOLD_STEPS and PINFOLD_SEED
 * as in the property run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "chance.h"
#include "plan_play.h"

/* Add and remove some pods, as after a while on a node. */
static void change_ledger(struct chance *chance, struct ledger *ledger, uint32_t nr_changes)
{
	uint32_t most = 1 + ledger_topology(ledger)->num_cpus / 4;

	for (uint32_t i = 0; i < nr_changes; i++) {
		struct decision decision;
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", chance_below(chance, 10));
		if (chance_percent(chance, 40)) {
			bool is_there = ledger_find(ledger, uid);

			assert_int_equal(ledger_remove(ledger, uid), is_there ? 0 : -ENOENT);
		} else {
			struct pod_spec *spec cleanup_pod_spec = chance_pod(chance, uid, most);

			assert_int_equal(admit_pod(ledger, spec, &decision), 0);
		}
	}
}

/* Foreign changes of the tree: lists, groups and tasks are removed. */
static void disturb(struct chance *chance, struct group_tree *tree)
{
	for (uint32_t i = 1; i < tree->nr_groups; i++) {
		struct group *group = &tree->groups[i];

		if (chance_percent(chance, 10))
			group->populated = false;
		if (chance_percent(chance, 5)) {
			free(group->files[GROUP_CPUSET_CPUS]);
			group->files[GROUP_CPUSET_CPUS] = NULL;
			group->populated = false;
		}
	}
}

static uint32_t play_random(struct chance *chance)
{
	struct topology *topology cleanup_topology = chance_machine(chance);
	struct policy policy = chance_policy(chance, topology);
	struct plan_layout layout = chance_percent(chance, 50) ? systemd : plain;
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree before cleanup_tree = {0}, after cleanup_tree = {0};
	struct group_tree observed cleanup_tree = {0};
	uint32_t nr_steps = 0;

	layout.root_partition = policy.cpu_options.strict_reservation;
	layout.isolated = chance_percent(chance, 60);
	change_ledger(chance, ledger, 4 + chance_below(chance, 12));
	before = desired_of(ledger, &layout);
	nr_steps += play_plan(&observed, &before);
	for (int i = 0; i < 4; i++) {
		copy_tree(&before, chance_percent(chance, 70), &observed);
		if (chance_percent(chance, 30))
			disturb(chance, &observed);
		change_ledger(chance, ledger, 1 + chance_below(chance, 8));
		if (chance_percent(chance, 20))
			layout.isolated = !layout.isolated;
		if (chance_percent(chance, 20))
			layout.root_partition = policy.cpu_options.strict_reservation &&
						!layout.root_partition;
		after = desired_of(ledger, &layout);
		nr_steps += play_plan(&observed, &after);
		group_tree_fini(&observed);
		group_tree_fini(&before);
		before = after;
		after = (struct group_tree){0};
	}
	return nr_steps;
}

static uint64_t playing;

static void random_plans(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", 20000), played = 0;

	printf("seed %llu, PINFOLD_STEPS %llu\n", (unsigned long long)seed,
	       (unsigned long long)nr_steps);
	while (played < nr_steps) {
		struct chance chance = {seed};

		playing = seed;
		played += play_random(&chance);
		seed = chance_next(&chance);
	}
	printf("%llu steps, %llu moves, %llu of them onto another's CPU for want of a free one\n",
	       (unsigned long long)played, (unsigned long long)nr_moves,
	       (unsigned long long)nr_forced);
	assert_true(nr_forced * 1000 <= nr_moves);
}

/* A failed assertion ends the test immediately; this prints how to repeat it. */
static int say_seed(void **state)
{
	printf("last plan: PINFOLD_SEED=%llu\n", (unsigned long long)playing);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(random_plans, say_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
