// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Starts, ends, resizes, foreign writes, restarts of the agent, slow saves and fast writes in any order;
 * then all comes right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

static unsigned int random_state;

static unsigned int any(unsigned int nr)
{
	random_state = random_state * 1103515245U + 12345U;
	return (random_state >> 16) % nr;
}

static bool is_there(const char *uid, const char *name)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].uid, uid) && !strcmp(node.containers[i].name, name))
			return true;
	return false;
}

static void change_anything(void)
{
	static const char *const uids[] = {A, B};
	const char *uid = uids[any(2)];
	char name[32];

	snprintf(name, sizeof(name), "own-%u", any(2));
	switch (any(8)) {
	case 0:
		if (node.nr < 8 && !is_there(uid, name))
			container_with(start_in(uid, QOS_GUARANTEED, name, 2000))->has_bundle =
				any(3);
		break;
	case 1:
		if (node.nr < 8)
			start_in(C, QOS_BURSTABLE, "web", 500);
		break;
	case 2:
		if (node.nr)
			stop(node.containers[any(node.nr)].id);
		break;
	case 3:
		if (!any(2))
			remove_pod(uid);
		break;
	case 4:
		for (uint32_t i = 0; i < node.nr && any(2); i++)
			if (node.containers[i].qos == QOS_GUARANTEED)
				resize(node.containers[i].id, any(2) ? 2 : 4);
		break;
	case 5:
		if (node.nr)
			strcpy(node.containers[any(node.nr)].cpus, any(2) ? "" : "0-15");
		break;
	case 6:
		if (!node.rows && !fake->is_saving && !any(3))
			restart_agent();
		break;
	default:
		for (uint32_t i = 0; i < node.nr; i++)
			node.containers[i].has_bundle = true;
	}
}

static void come_to_rest(void)
{
	node.writes_at_once = fake->slow_save = false;
	for (uint32_t i = 0; i < node.nr; i++)
		node.containers[i].has_bundle = true;
	for (int i = 0; i < 30; i++) {
		end_saves();
		scan_node();
		end_writes();
		fake->now_ns += 1000000000;
		controller_tick(controller);
		controller_wake(controller);
	}
}

/* One that was admitted with more CPUs than it wants now keeps them. */
static bool is_alone(const struct node_container *container)
{
	const struct cpuset own = cpuset_of_text(container->cpus);

	for (uint32_t i = 0; i < node.nr; i++) {
		const struct cpuset other = cpuset_of_text(node.containers[i].cpus);

		if (&node.containers[i] != container && cpuset_intersects(&own, &other))
			return false;
	}
	return true;
}

/* Who has as many CPUs as its quota owns them. All others share the same, if there is no room. */
static void assert_right(unsigned int seed)
{
	const char *pool = NULL;

	for (uint32_t i = 0; i < node.nr; i++) {
		const struct node_container *owner = &node.containers[i];
		const struct cpuset own = cpuset_of_text(owner->cpus);
		const unsigned int nr_wanted = (unsigned int)atoi(owner->cpu_max) / 100000;

		if (owner->qos == QOS_BURSTABLE) {
			if (pool && strcmp(pool, owner->cpus) != 0)
				fail_msg("seed %u: some share %s, some %s", seed, pool,
					 owner->cpus);
			pool = owner->cpus;
			continue;
		}
		if (cpuset_count(&own) > nr_wanted && !is_alone(owner))
			fail_msg("seed %u: %s shares %s, where there is room for its %u CPUs", seed,
				 owner->name, owner->cpus, nr_wanted);
		if (cpuset_count(&own) != nr_wanted)
			continue;
		for (uint32_t j = 0; j < node.nr; j++) {
			struct cpuset other = cpuset_of_text(node.containers[j].cpus);

			if (j != i && cpuset_intersects(&own, &other))
				fail_msg("seed %u: %s has %s of %s", seed, node.containers[j].name,
					 node.containers[j].cpus, owner->name);
		}
	}
}

static void in_any_order_all_comes_right(void **state)
{
	for (unsigned int seed = 1; seed <= 300; seed++) {
		random_state = seed;
		for (int step = 0; step < 25; step++) {
			fake->slow_save = any(2);
			node.writes_at_once = any(2) && !node.rows;
			change_anything();
			if (fake->is_saving && !any(3))
				fake_end_save(controller, 0);
			if (node.rows && !any(3))
				end_write();
			if (any(3))
				scan_node();
		}
		come_to_rest();
		assert_right(seed);
		close_node(state);
		open_node(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_any_order_all_comes_right, open_node,
						close_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
