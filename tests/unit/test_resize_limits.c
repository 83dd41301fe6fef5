// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * In-place resize where not every CPU can be used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

/* 2 sockets with one node each, 8 cores of 2 threads: cores N/N+16. */
struct scene {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static void set_up(struct scene *scene, const char *reserved, enum align_policy align)
{
	scene->topology = scene_machine(2, 1, 8, 2);
	scene->policy = strict_policy(reserved);
	scene->policy.align = align;
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
}

static void tear_down(struct scene *scene)
{
	ledger_free(scene->ledger);
	topology_free(scene->topology);
}
#define cleanup_scene cleanup(tear_down)

static struct decision decide(struct scene *scene, struct pod_spec *spec)
{
	return admit_and_free(scene->ledger, spec);
}

/* A pod with a budget, an exclusive container and one that shares the rest. */
static struct pod_spec *budget(int64_t pod, int64_t exclusive)
{
	struct pod_spec *spec = scene_pod("p");

	add_container(spec, "db", CONTAINER_APP, exclusive * 1000, exclusive * 1000);
	add_container(spec, "log", CONTAINER_APP, 500, RESOURCE_UNSET);
	set_budget(spec, pod);
	return spec;
}

static void a_budget_that_the_node_does_not_have(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, "0,16", ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(decide(&scene, budget(6, 4)).admitted);
	assert_true(decide(&scene, guaranteed_pod("q", 20)).admitted);
	decision = decide(&scene, budget(16, 4));
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_string_equal(decision.message,
			    "the pod asks for 16 exclusive CPUs, but only 10 are free (of 32 CPUs: "
			    "2 reserved, 20 held by other pods)");
	assert_string_equal(decision.suggestion, "fits with a pod budget of 10 CPUs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_that_the_node_does_not_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
