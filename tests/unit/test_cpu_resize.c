// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Which CPUs a resize in place takes: caches, whole cores, and the slices of a bubble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"
#include "resize_scene.h"

#include "core/cpu/take.h"

/* --- caches ----------------------------------------------------------------------------------- */

static struct topology *machine_of(const struct topology_cpu *cpus, size_t nr)
{
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* One node of 16 CPUs without threads, in caches of four; CPU 15 is reserved. */
static void set_up_caches(struct scene *scene)
{
	struct topology_cpu cpus[16] = {{0}};

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .uncore = i / 4};
	scene->topology = machine_of(cpus, ARRAY_SIZE(cpus));
	scene->policy = strict_policy("15");
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
}

static void a_whole_cache_is_preferred_if_wanted(void **state)
{
	static const struct {
		bool prefer_uncore, distribute;
		const char *cpus;
	} rows[] = {
		{true, false, "0,8-11"},
		{false, false, "0,6-9"},
		/* The distributed take of the proposal has no caches. */
		{true, true, "0,6-9"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene scene cleanup_scene = {0};

		set_up_caches(&scene);
		assert_true(admit_pods(&scene, guaranteed_pod("p", 1)).admitted);
		/* Nothing else of its cache is free, and two CPUs of the next one. */
		assert_true(admit_pods(&scene, guaranteed_pod("other", 5)).admitted);
		assert_has(&scene, "p", 0, "0");
		assert_has(&scene, "other", 0, "1-5");
		scene.policy.cpu_options.prefer_uncore = rows[i].prefer_uncore;
		scene.policy.cpu_options.distribute_across_numa = rows[i].distribute;
		assert_true(admit_pods(&scene, guaranteed_pod("p", 5)).admitted);
		assert_has(&scene, "p", 0, rows[i].cpus);
	}
}

/* The other thread of the first core, and then its cache, although another has a whole core free. */
static void a_core_that_is_held_in_part_is_completed(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct topology_cpu cpus[16] = {{0}};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i % 8, .uncore = i % 8 / 4};
	scene.topology = machine_of(cpus, ARRAY_SIZE(cpus));
	scene.policy = strict_policy("7,15");
	scene.ledger = scene_ledger(scene.topology, &scene.policy);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 1)).admitted);
	assert_has(&scene, "p", 0, "0");
	scene.policy.cpu_options.prefer_uncore = true;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 3)).admitted);
	assert_has(&scene, "p", 0, "0-1,8");
}

/*
 * Cores N/N+9, three in each cache. The free core of the first cache is less than is needed at
 * first. Once the second cache has completed half a core, it would be enough, but each cache is
 * tried once.
 */
static void a_cache_is_tried_once(void **state)
{
	struct topology_cpu cpus[18] = {{0}};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset held = cpus_of("0,3,9"), free_cpus = cpus_of("1,4,6-7,10,12,15-16"), got;
	const struct take_options options = {.sorting = TAKE_PACKED, .uncore = true};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i % 9, .uncore = i % 9 / 3};
	topology = machine_of(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(take_packed_near(topology, &held, &free_cpus, 6, &options, &got), TAKE_OK);
	assert_cpus(&got, "0,3,6,9,12,15");
}

/*
 * Nodes of twelve CPUs in caches of four. The node that is held has none left. After the whole
 * cache of the second node the rest comes from there, although the third has fewer free CPUs.
 */
static void the_rest_is_near_a_cache_that_was_taken(void **state)
{
	struct topology_cpu cpus[36] = {{0}};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset held = cpus_of("0"), free_cpus = cpus_of("12-16,20,24"), got;
	const struct take_options options = {.sorting = TAKE_PACKED, .uncore = true};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .uncore = i / 4, .node = i / 12, .socket = i / 12};
	topology = machine_of(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(take_packed_near(topology, &held, &free_cpus, 7, &options, &got), TAKE_OK);
	assert_cpus(&got, "0,12-16,20");
}

/*
 * Of the CPUs 0-8, node 0 has 0-3, and the sockets have 0-1, 2-5 and 6-8. With node 0 half of
 * socket 1 is taken, so its other half makes it whole and comes before socket 2, which is held.
 */
static void a_socket_that_a_node_makes_whole_comes_first(void **state)
{
	static const uint32_t sockets[] = {0, 0, 1, 1, 1, 1, 2, 2, 2};
	struct topology_cpu cpus[ARRAY_SIZE(sockets)] = {{0}};
	struct topology *topology cleanup_topology = NULL;
	struct cpuset held = cpus_of("6"), free_cpus = cpus_of("0-5,8"), got;
	const struct take_options options = {.sorting = TAKE_PACKED};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4 ? 1 : 0, .socket = sockets[i]};
	topology = machine_of(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(take_packed_near(topology, &held, &free_cpus, 7, &options, &got), TAKE_OK);
	assert_cpus(&got, "0-6");
}

/* --- alignment -------------------------------------------------------------------------------- */

/* The memory is on one node, which is also used if it has too few CPUs. */
static void what_the_aligned_nodes_lack_comes_from_others(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	scene.topology = memory_machine_even(2, 8, 1, 16);
	scene.policy = strict_policy("0");
	scene.policy.memory = MEMORY_POLICY_STATIC;
	scene.policy.align = ALIGN_BEST_EFFORT;
	scene.ledger = scene_ledger(scene.topology, &scene.policy);
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	assert_cpus(ledger_find(scene.ledger, "p")->held, "1-4");
	assert_true(admit_pods(&scene, two(7, 2)).admitted);
	assert_has(&scene, "p", 0, "1-2,5-9");
	assert_int_equal(grant_of(&scene, "p", 0)->affinity.nodes, 1);
}

/* --- distribution over NUMA nodes ------------------------------------------------------------- */

/* A container of `cpus` CPUs has half of them on each of the two nodes. */
static void assert_even(struct scene *scene, int64_t cpus)
{
	const struct cpuset *got;

	assert_true(admit_pods(scene, guaranteed_pod("p", cpus)).admitted);
	got = grant_of(scene, "p", 0)->cpus;
	assert_int_equal(cpuset_count(got), cpus);
	assert_int_equal(cpuset_count_common(got, &scene->topology->nodes.cpus[0]), cpus / 2);
}

/* What it gets when it grows, and keeps when it shrinks, is as even as its admission. */
static void a_distributed_container_stays_even(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct scene scene cleanup_scene = {0};

		set_up(&scene, ALIGN_NONE);
		scene.policy.cpu_options.distribute_across_numa = true;
		scene.policy.cpu_options.full_pcpus_only = i & 1;
		scene.policy.cpu_options.align_by_socket = i & 2;
		assert_true(admit_pods(&scene, guaranteed_pod("p", 18)).admitted);
		assert_even(&scene, 28);
		assert_even(&scene, 24);
		/* Half of these is an odd number, and no core is divided where that is forbidden. */
		assert_true(admit_pods(&scene, guaranteed_pod("p", 22)).admitted);
		assert_int_equal(cpuset_count_common(grant_of(&scene, "p", 0)->cpus,
						     &scene.topology->nodes.cpus[0]) %
					 2,
				 !scene.policy.cpu_options.full_pcpus_only);
	}
}

/* Nothing is left to take, or nothing is wanted. */
static void a_distributed_take_of_nothing(void **state)
{
	static const struct take_options options = {.group = 1};
	struct topology *topology = scene_machine(2, 1, 4, 2);
	struct cpuset none = CPUSET_EMPTY, held = cpus_of("0-3"), got;

	(void)state;
	assert_int_equal(take_distributed_near(topology, &none, &none, 0, &options, &got), TAKE_OK);
	assert_true(cpuset_is_empty(&got));
	assert_int_equal(take_distributed_near(topology, &none, &none, 1, &options, &got),
			 TAKE_NOT_ENOUGH);
	assert_int_equal(take_distributed_near(topology, &held, &none, 4, &options, &got), TAKE_OK);
	assert_cpus(&got, "0-3");
	assert_int_equal(take_distributed_near(topology, &none, &held, 0, &options, &got), TAKE_OK);
	assert_true(cpuset_is_empty(&got));
	topology_free(topology);
}

/*
 * Three CPUs are held on the first node and one on the second. With a whole core on top of its
 * share one of them gets a CPU too many, for which the proposal fails. There are enough CPUs, so
 * they are taken packed instead.
 */
static void cores_that_do_not_come_out_even_are_packed(void **state)
{
	static const struct take_options options = {.group = 2};
	struct scene scene cleanup_scene = {0};
	struct cpuset got, pool;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("other", 11)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 3)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	assert_has(&scene, "p", 0, "7-8,22-23");
	assert_int_equal(ledger_remove(scene.ledger, "other"), 0);
	pool = *ledger_shared_pool(scene.ledger);
	assert_int_equal(take_distributed_near(scene.topology, grant_of(&scene, "p", 0)->cpus,
					       &pool, 6, &options, &got),
			 TAKE_TOO_MANY);
	scene.policy.cpu_options.distribute_across_numa = true;
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 0)->cpus), 6);
}

/* --- whole cores ------------------------------------------------------------------------------ */

/* The other thread of a reserved CPU's core is granted only where half a core may be. */
static void half_of_a_reserved_core(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	scene.topology = scene_machine(1, 1, 8, 2);
	scene.policy = strict_policy("0");
	scene.policy.cpu_options.full_pcpus_only = true;
	scene.ledger = scene_ledger(scene.topology, &scene.policy);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	decision = admit_pods(&scene, guaranteed_pod("p", 16));
	assert_int_equal(decision.cpu_result, CPU_SMT_NO_FREE_CORES);
	assert_int_equal(decision.available, 14);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 14)).admitted);
	assert_has(&scene, "p", 0, "1-7,9-15");
	scene.policy.cpu_options.full_pcpus_only = false;
	decision = admit_pods(&scene, guaranteed_pod("p", 16));
	assert_int_equal(decision.cpu_result, CPU_NOT_ENOUGH);
	assert_int_equal(decision.available, 15);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 15)).admitted);
	assert_has(&scene, "p", 0, "1-15");
}

/*
 * Two of the four threads of core 0 and of core 1 are held. Core 1 can be completed; of core 0
 * somebody else has one, although it has fewer free ones.
 */
static void a_core_that_becomes_whole_comes_first(void **state)
{
	struct topology *topology = scene_machine(1, 1, 4, 4);
	struct cpuset held = cpus_of("0-1,4-5"), free_cpus = cpus_of("2,6,9-10,12-14"), got;
	const struct take_options options = {.sorting = TAKE_PACKED};

	(void)state;
	assert_int_equal(take_packed_near(topology, &held, &free_cpus, 6, &options, &got), TAKE_OK);
	assert_cpus(&got, "0-1,4-5,9,13");
	topology_free(topology);
}

/* A policy that came after the admission concerns only what changes. */
static void half_a_core_that_stays_is_left_alone(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(3, 4)).admitted);
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, two(3, 6)).admitted);
	assert_true(admit_pods(&scene, two(3, 4)).admitted);
	assert_int_equal(admit_pods(&scene, two(5, 4)).refusal, REFUSAL_SMT);
}

static void half_a_core_of_a_bubble_is_left_alone(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(7, 3)).admitted);
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, budget(7, 4)).admitted);
	assert_int_equal(admit_pods(&scene, budget(9, 4)).refusal, REFUSAL_SMT);
}

/* --- slices of a bubble ----------------------------------------------------------------------- */

struct member {
	enum container_kind kind;
	int64_t cpus; /* 0 = it shares the rest */
};

/* A pod "p" with a budget, and containers that are named after their number. */
static struct pod_spec *bubble_of(int64_t cpus, const struct member *members, uint32_t nr)
{
	struct pod_spec *spec = scene_pod("p");

	for (uint32_t i = 0; i < nr; i++) {
		char name[16];
		int64_t mcpu = members[i].cpus * 1000;

		snprintf(name, sizeof(name), "c%u", i);
		add_container(spec, name, members[i].kind, mcpu ? mcpu : 500,
			      mcpu ? mcpu : RESOURCE_UNSET);
	}
	set_budget(spec, cpus);
	return spec;
}
#define BUBBLE(cpus, ...)                                       \
	bubble_of((cpus), (const struct member[]){__VA_ARGS__}, \
		  ARRAY_SIZE(((const struct member[]){__VA_ARGS__})))

#define INIT(cpus)                     \
	{                              \
		CONTAINER_INIT, (cpus) \
	}
#define SIDECAR(cpus)                     \
	{                                 \
		CONTAINER_SIDECAR, (cpus) \
	}
#define APP(cpus)                     \
	{                             \
		CONTAINER_APP, (cpus) \
	}

static void set_up_bubbles(struct scene *scene)
{
	set_up(scene, ALIGN_BEST_EFFORT);
	scene->policy.scope = ALIGN_SCOPE_POD;
}

static void assert_slices(const struct scene *scene, const char *const *cpus, uint32_t nr)
{
	const struct ledger_pod *pod = ledger_find(scene->ledger, "p");

	assert_non_null(pod);
	assert_int_equal(pod->nr_grants, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_cpus(pod->grants[i].cpus, cpus[i]);
}
#define ASSERT_SLICES(scene, ...)                                  \
	assert_slices((scene), (const char *const[]){__VA_ARGS__}, \
		      ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* A slice has a core that the bubble was not admitted with, and a nearer one is free. */
static void a_bubble_that_shrinks_keeps_the_slices(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_bubbles(&scene);
	assert_true(admit_pods(&scene, BUBBLE(8, APP(2), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,17", "2,18", "3-4,19-20");
	assert_true(admit_pods(&scene, BUBBLE(14, APP(2), APP(8), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,17", "2-5,18-21", "6-7,22-23");
	assert_true(admit_pods(&scene, BUBBLE(14, APP(4), APP(8), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,6,17,22", "2-5,18-21", "7,23");
	assert_true(admit_pods(&scene, BUBBLE(10, APP(4), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,6,17,22", "2,18", "3-4,19-20");
	assert_cpus(ledger_find(scene.ledger, "p")->bubble, "1-4,6,17-20,22");
}

/* An init container has ended when those after it start, so they use its CPUs. */
static void a_slice_may_have_cpus_of_an_init_container(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_bubbles(&scene);
	assert_true(admit_pods(&scene, BUBBLE(6, INIT(4), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1-2,17-18", "1,17", "2-3,18-19");
	assert_true(admit_pods(&scene, BUBBLE(6, INIT(4), APP(4), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1-2,17-18", "1-2,17-18", "3,19");
	/* The init container may have those of the app container, too. */
	assert_true(admit_pods(&scene, BUBBLE(8, INIT(8), APP(6), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1-4,17-20", "1-3,17-19", "4,20");
	assert_true(admit_pods(&scene, BUBBLE(8, INIT(6), APP(6), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1-3,17-19", "1-3,17-19", "4,20");
}

/* A sidecar runs on, so nobody after it gets its CPUs, and it gets none of theirs. */
static void a_slice_has_no_cpu_of_a_sidecar(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_bubbles(&scene);
	assert_true(admit_pods(&scene, BUBBLE(10, SIDECAR(2), INIT(2), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,17", "2,18", "2,18", "3-5,19-21");
	assert_true(admit_pods(&scene, BUBBLE(10, SIDECAR(2), INIT(4), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,17", "2-3,18-19", "2,18", "3-5,19-21");
	assert_true(admit_pods(&scene, BUBBLE(10, SIDECAR(4), INIT(4), APP(2), APP(0))).admitted);
	ASSERT_SLICES(&scene, "1,4,17,20", "2-3,18-19", "2,18", "3,5,19,21");
	decision = admit_pods(&scene, BUBBLE(10, SIDECAR(4), INIT(8), APP(2), APP(0)));
	assert_int_equal(decision.refusal, REFUSAL_POD_BUDGET);
	assert_string_equal(decision.message, "container c1 asks for 8 exclusive CPUs, but the "
					      "pod's budget of 10 has 6 left for it");
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container c1");
}

/* What a container shares is what the exclusive ones that run beside it leave. */
static void the_rest_goes_to_whom_shares_it(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_bubbles(&scene);
	assert_true(
		admit_pods(&scene, BUBBLE(8, INIT(0), SIDECAR(2), INIT(2), INIT(0), APP(2), APP(0)))
			.admitted);
	ASSERT_SLICES(&scene, "1-4,17-20", "1,17", "2,18", "2-4,18-20", "2,18", "3-4,19-20");
	assert_true(admit_pods(&scene,
			       BUBBLE(12, INIT(0), SIDECAR(2), INIT(4), INIT(0), APP(2), APP(0)))
			    .admitted);
	ASSERT_SLICES(&scene, "1-6,17-22", "1,17", "2-3,18-19", "2-6,18-22", "2,18", "3-6,19-22");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_cache_is_preferred_if_wanted),
		cmocka_unit_test(a_core_that_is_held_in_part_is_completed),
		cmocka_unit_test(a_cache_is_tried_once),
		cmocka_unit_test(the_rest_is_near_a_cache_that_was_taken),
		cmocka_unit_test(a_socket_that_a_node_makes_whole_comes_first),
		cmocka_unit_test(what_the_aligned_nodes_lack_comes_from_others),
		cmocka_unit_test(a_distributed_container_stays_even),
		cmocka_unit_test(a_distributed_take_of_nothing),
		cmocka_unit_test(cores_that_do_not_come_out_even_are_packed),
		cmocka_unit_test(half_of_a_reserved_core),
		cmocka_unit_test(a_core_that_becomes_whole_comes_first),
		cmocka_unit_test(half_a_core_that_stays_is_left_alone),
		cmocka_unit_test(half_a_core_of_a_bubble_is_left_alone),
		cmocka_unit_test(a_bubble_that_shrinks_keeps_the_slices),
		cmocka_unit_test(a_slice_may_have_cpus_of_an_init_container),
		cmocka_unit_test(a_slice_has_no_cpu_of_a_sidecar),
		cmocka_unit_test(the_rest_goes_to_whom_shares_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
