// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* The CPU manager by itself: who is entitled to how many CPUs, and calls in unusual order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "scene.h"

struct cpu_scene {
	struct topology *topology;
	struct policy policy;
	struct cpu_manager manager;
	struct cpuset shared;
	struct cpu_shortage shortage;
	struct cpu_reuse reuse;
};

/* 16 CPUs on two nodes, 0 and 8 of them reserved. */
static void scene_init(struct cpu_scene *scene, struct policy policy)
{
	char error[256] = "";

	*scene = (struct cpu_scene){.topology = scene_machine(1, 2, 4, 2), .policy = policy};
	if (cpu_manager_init(&scene->manager, scene->topology, &scene->policy, error,
			     sizeof(error)))
		fail_msg("%s", error);
	cpu_initial_pool(&scene->manager, &scene->shared);
}

static struct policy bubble_policy(void)
{
	struct policy policy = strict_policy("0,8");

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	return policy;
}

/* Takes `spec`; its containers run on the shared pool. */
static struct ledger_pod pod_of(struct pod_spec *spec)
{
	struct ledger_pod pod = {
		.spec = spec,
		.qos = pod_qos(spec),
		.nr_grants = spec->nr_containers,
		.grants = calloc(spec->nr_containers, sizeof(struct grant)),
	};

	assert_non_null(pod.grants);
	for (uint32_t i = 0; i < pod.nr_grants; i++)
		pod.grants[i].kind = spec->containers[i].kind;
	assert_int_equal(ledger_pod_own_sets(&pod), 0);
	return pod;
}

static void pod_fini(struct ledger_pod *pod)
{
	pod_spec_free(pod->spec);
	free(pod->grants);
	free(pod->sets);
}

/* Exclusive CPUs are for whole numbers of CPUs in Guaranteed pods, under the static policy. */
static void entitled_containers(void **state)
{
	static const struct {
		bool budget, managers;
		int64_t mcpu, memory, memory_limit;
		uint32_t nr;
	} cases[] = {
		{false, false, 2000, GIB, GIB, 2},
		{false, false, 2500, GIB, GIB, 0},
		{false, false, 0, GIB, GIB, 0},
		/* Memory decides only beside a budget, and only with the managers for it. */
		{false, true, 2000, GIB, 2 * GIB, 2},
		{true, false, 2000, GIB, 2 * GIB, 2},
		{true, true, 2000, GIB, 2 * GIB, 0},
		{true, true, 2000, 0, 0, 0},
		{true, true, 2000, 1, 1, 2},
	};
	struct cpu_scene scene;

	(void)state;
	scene_init(&scene, strict_policy("0,8"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("a");
		struct container_spec *container =
			add_container(spec, "main", CONTAINER_APP, cases[i].mcpu, cases[i].mcpu);

		container->request.memory_bytes = cases[i].memory;
		container->limit.memory_bytes = cases[i].memory_limit;
		spec->has_pod_resources = cases[i].budget;
		scene.policy.pod_level_managers = cases[i].managers;
		scene.policy.cpu = CPU_POLICY_STATIC;
		if (cpu_exclusive_count(&scene.manager, spec, QOS_GUARANTEED, 0) != cases[i].nr)
			fail_msg("case %zu", i);
		assert_int_equal(cpu_exclusive_count(&scene.manager, spec, QOS_BURSTABLE, 0), 0);
		scene.policy.cpu = CPU_POLICY_NONE;
		assert_int_equal(cpu_exclusive_count(&scene.manager, spec, QOS_GUARANTEED, 0), 0);
	}
	topology_free(scene.topology);
}

/* A bubble needs the static policy, the managers for budgets, an aligning policy, pod scope. */
static void pods_with_a_bubble(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);
	struct cpu_scene scene;

	(void)state;
	scene_init(&scene, bubble_policy());
	set_budget(spec, 4);
	for (uint32_t i = 0; i < 64; i++) {
		enum qos_class qos = i & 1 ? QOS_GUARANTEED : QOS_BURSTABLE;

		spec->has_pod_resources = i & 2;
		scene.policy.cpu = i & 4 ? CPU_POLICY_STATIC : CPU_POLICY_NONE;
		scene.policy.pod_level_managers = i & 8;
		scene.policy.align = i & 16 ? ALIGN_BEST_EFFORT : ALIGN_NONE;
		scene.policy.scope = i & 32 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		assert_int_equal(cpu_is_bubble_pod(&scene.manager, spec, qos), i == 63);
		assert_int_equal(cpu_bubble_count(spec, qos), (i & 3) == 3 ? 4 : 0);
	}
	topology_free(scene.topology);
}

/* Beyond any machine counts are capped, but keep their remainder for up to 8 threads a core. */
static void capped_counts(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");

	(void)state;
	spec->has_pod_resources = true;
	for (int64_t nr = CPUSET_MAX - 2; nr < CPUSET_MAX + 2000; nr++) {
		uint32_t counted;

		spec->request.cpu_mcpu = nr * 1000;
		counted = cpu_bubble_count(spec, QOS_GUARANTEED);
		if (nr <= CPUSET_MAX)
			assert_int_equal(counted, nr);
		else
			assert_in_range(counted, CPUSET_MAX + 1, 2 * CPUSET_MAX);
		for (uint32_t threads = 1; threads <= 8; threads++)
			assert_int_equal(counted % threads, nr % threads);
		assert_int_equal(cpu_asked(spec, UINT32_MAX, counted), nr);
	}
}

/* Only a capped count is replaced by that of the spec, and never by a smaller one. */
static void counts_for_messages(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 5);

	(void)state;
	spec->request.cpu_mcpu = 2 * CPUSET_MAX * INT64_C(1000);
	assert_int_equal(cpu_asked(spec, 0, 3), 3);
	assert_int_equal(cpu_asked(spec, 0, CPUSET_MAX + 5), CPUSET_MAX + 5);
	assert_int_equal(cpu_asked(spec, UINT32_MAX, CPUSET_MAX + 5), 2 * CPUSET_MAX);
	assert_int_equal(cpu_asked(spec, spec->nr_containers, CPUSET_MAX + 5), 2 * CPUSET_MAX);
}

static void reserved_cpus_must_exist(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 1);
	struct policy policy = strict_policy("0,77");
	struct cpu_manager manager;
	char error[256] = "";

	(void)state;
	assert_int_equal(cpu_manager_init(&manager, topology, &policy, error, sizeof(error)),
			 -EINVAL);
	assert_string_equal(error,
			    "cannot reserve 2 CPUs of the 4 this machine offers; reserve fewer");
}

/* Without alignment there is no affinity, or one that is not known and says nothing. */
static void allocation_without_affinity(void **state)
{
	struct cpu_affinity unknown = {.nodes = 2};
	struct cpu_scene scene;
	struct ledger_pod pod;

	(void)state;
	scene_init(&scene, strict_policy("0,8"));
	for (int i = 0; i < 2; i++) {
		pod = pod_of(guaranteed_pod("a", 2));
		assert_int_equal(cpu_allocate(&scene.manager, &scene.shared, &pod, 0,
					      i ? &unknown : NULL, &scene.reuse, &scene.shortage),
				 CPU_OK);
		assert_cpus(pod.held, "1,9");
		cpu_remove(&scene.shared, &pod, 0);
		assert_cpus(&scene.shared, "1-7,9-15");
		pod_fini(&pod);
	}
	topology_free(scene.topology);
}

/* The kubelet derives the threads per core from two counts, which may give 0. */
static void cores_without_threads(void **state)
{
	struct topology_cpu cpus[4];
	struct topology_facts facts = {.cpus = cpus, .nr_cpus = 4, TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	struct policy policy = strict_policy("0");
	struct cpu_manager manager;
	struct cpu_shortage shortage;
	struct cpu_reuse reuse = {{0}, CPUSET_EMPTY};
	struct cpuset shared;
	struct ledger_pod pod;
	char error[256] = "";

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i};
	facts.num_cores = 8;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(topology->cpus_per_core, 0);
	policy.cpu_options.full_pcpus_only = true;
	assert_int_equal(cpu_manager_init(&manager, topology, &policy, error, sizeof(error)), 0);
	cpu_initial_pool(&manager, &shared);
	pod = pod_of(guaranteed_pod("a", 2));
	assert_int_equal(cpu_allocate(&manager, &shared, &pod, 0, NULL, &reuse, &shortage), CPU_OK);
	assert_int_equal(cpuset_count(pod.held), 2);
	pod_fini(&pod);
}

static enum cpu_result allocate_bubble(struct cpu_scene *scene, struct ledger_pod *pod,
				       node_mask_t nodes)
{
	struct cpu_affinity affinity = {.known = true, .nodes = nodes};

	return cpu_allocate_pod(&scene->manager, &scene->shared, pod, &affinity, &scene->shortage);
}

/* Container `web` shares a bubble of four CPUs with `own`, which has two of them to itself. */
static struct ledger_pod start_with_bubble(struct cpu_scene *scene)
{
	struct pod_spec *spec = scene_pod("a");
	struct ledger_pod pod;

	scene_init(scene, bubble_policy());
	add_container(spec, "web", CONTAINER_APP, 500, 1000);
	add_container(spec, "own", CONTAINER_APP, 2000, 2000);
	set_budget(spec, 4);
	pod = pod_of(spec);
	assert_int_equal(allocate_bubble(scene, &pod, 1), CPU_OK);
	return pod;
}

/* The last container to go releases the bubble, and the pod then holds nothing. */
static void the_last_container_releases_the_bubble(void **state)
{
	struct cpu_scene scene;
	struct ledger_pod pod = start_with_bubble(&scene);

	(void)state;
	assert_cpus(pod.bubble, "1-2,9-10");
	cpu_remove(&scene.shared, &pod, 0);
	assert_true(pod.has_bubble);
	assert_cpus(&scene.shared, "3-7,11-15");
	cpu_remove(&scene.shared, &pod, 1);
	assert_false(pod.has_bubble);
	assert_true(cpuset_is_empty(pod.bubble));
	assert_true(cpuset_is_empty(pod.held));
	assert_cpus(&scene.shared, "1-7,9-15");
	pod_fini(&pod);
	topology_free(scene.topology);
}

/* A bubble that replaces an earlier one replaces all of its parts. */
static void a_second_bubble_replaces_the_first(void **state)
{
	struct cpu_scene scene;
	struct ledger_pod pod = start_with_bubble(&scene);

	(void)state;
	assert_int_equal(allocate_bubble(&scene, &pod, 2), CPU_OK);
	assert_cpus(pod.bubble, "4-5,12-13");
	assert_cpus(pod.grants[1].cpus, "4,12");
	assert_cpus(pod.grants[0].cpus, "5,13");
	assert_int_equal(pod.grants[0].isolation, ISOLATION_POD);
	pod_fini(&pod);
	topology_free(scene.topology);
}

/* CPUs that a container had of its own are not lost. */
static void a_bubble_returns_what_was_held_without_one(void **state)
{
	struct cpu_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct cpu_reuse reuse = {.uid = ""};
	struct ledger_pod pod;

	(void)state;
	scene_init(&scene, bubble_policy());
	add_container(spec, "own", CONTAINER_APP, 2000, 2000);
	set_budget(spec, 4);
	pod = pod_of(spec);
	assert_int_equal(cpu_allocate(&scene.manager, &scene.shared, &pod, 0, NULL, &reuse,
				      &scene.shortage),
			 CPU_OK);
	assert_cpus(pod.held, "1,9");
	assert_int_equal(allocate_bubble(&scene, &pod, 2), CPU_OK);
	assert_cpus(pod.held, "4-5,12-13");
	assert_cpus(&scene.shared, "1-3,6-7,9-11,14-15");
	pod_fini(&pod);
	topology_free(scene.topology);
}

/* If a bubble cannot be divided, no container has been given a part of it. */
static void a_bubble_that_is_too_small_gives_nothing(void **state)
{
	struct cpu_scene scene;
	struct pod_spec *spec = scene_pod("a");
	struct ledger_pod pod;

	(void)state;
	scene_init(&scene, bubble_policy());
	add_container(spec, "prepare", CONTAINER_INIT, 500, 1000);
	add_container(spec, "large", CONTAINER_INIT, 6000, 6000);
	add_container(spec, "main", CONTAINER_APP, 1000, 1000);
	set_budget(spec, 2);
	pod = pod_of(spec);
	assert_int_equal(allocate_bubble(&scene, &pod, 1), CPU_NOT_ENOUGH);
	assert_int_equal(scene.shortage.container, 1);
	assert_int_equal(scene.shortage.wanted, 6);
	assert_int_equal(scene.shortage.available, 2);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pod.grants[i].isolation, ISOLATION_HOST);
		assert_true(cpuset_is_empty(pod.grants[i].cpus));
	}
	pod_fini(&pod);
	/* Nor does a pod whose exclusive containers leave nothing to the others. */
	spec = scene_pod("b");
	add_container(spec, "web", CONTAINER_APP, 500, 1000);
	add_container(spec, "own", CONTAINER_APP, 2000, 2000);
	set_budget(spec, 2);
	pod = pod_of(spec);
	assert_int_equal(allocate_bubble(&scene, &pod, 1), CPU_EMPTY_POD_POOL);
	assert_int_equal(scene.shortage.container, UINT32_MAX);
	assert_int_equal(scene.shortage.wanted, 2);
	assert_int_equal(scene.shortage.available, 0);
	assert_false(pod.has_bubble);
	pod_fini(&pod);
	topology_free(scene.topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entitled_containers),
		cmocka_unit_test(pods_with_a_bubble),
		cmocka_unit_test(capped_counts),
		cmocka_unit_test(counts_for_messages),
		cmocka_unit_test(reserved_cpus_must_exist),
		cmocka_unit_test(allocation_without_affinity),
		cmocka_unit_test(cores_without_threads),
		cmocka_unit_test(the_last_container_releases_the_bubble),
		cmocka_unit_test(a_second_bubble_replaces_the_first),
		cmocka_unit_test(a_bubble_returns_what_was_held_without_one),
		cmocka_unit_test(a_bubble_that_is_too_small_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
