// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Admission of pods that are aligned or share a bubble: grants, refusals and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "admit_node.h"

static struct node *pod_scope_node(void)
{
	struct policy policy = strict_policy("0,8");

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	return make_node(scene_machine(1, 1, 8, 2), policy);
}

/* Budget 8, a database of 6, two sidecars without resources. */
static struct pod_spec *database_pod(int64_t database_cpus)
{
	struct pod_spec *spec = scene_pod("db");

	add_container(spec, "metrics-exporter", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "backup-agent", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "database", CONTAINER_APP, database_cpus * 1000, database_cpus * 1000);
	set_budget(spec, 8);
	return spec;
}

static void bubble_is_divided(void **state)
{
	struct node *node cleanup_node = pod_scope_node();

	assert_true(admit_and_free(node->ledger, database_pod(6)).admitted);
	assert_cpus(ledger_find(node->ledger, "db")->bubble, "1-4,9-12");
	assert_grant(node, "db", "database", ISOLATION_CONTAINER, "1-3,9-11");
	assert_grant(node, "db", "metrics-exporter", ISOLATION_POD, "4,12");
	assert_grant(node, "db", "backup-agent", ISOLATION_POD, "4,12");
	/* Admitted again: no second bubble and no refusal (F6). */
	assert_true(admit_and_free(node->ledger, database_pod(6)).admitted);
	assert_cpus(ledger_shared_pool(node->ledger), "5-7,13-15");
	assert_int_equal(ledger_remove(node->ledger, "db"), 0);
	assert_cpus(ledger_shared_pool(node->ledger), "1-7,9-15");
}

static void container_scope_has_no_bubble(void **state)
{
	struct policy policy = strict_policy("0,8");
	struct node *node cleanup_node;

	policy.align = ALIGN_BEST_EFFORT;
	node = make_node(scene_machine(1, 1, 8, 2), policy);
	assert_true(admit_and_free(node->ledger, database_pod(6)).admitted);
	assert_false(ledger_find(node->ledger, "db")->has_bubble);
	assert_grant(node, "db", "database", ISOLATION_CONTAINER, "1-3,9-11");
	assert_grant(node, "db", "backup-agent", ISOLATION_HOST, "");
}

static void empty_pod_pool_is_refused(void **state)
{
	struct node *node cleanup_node = pod_scope_node();
	struct pod_spec *spec cleanup_pod_spec = database_pod(8);

	assert_refused(node, spec, REFUSAL_EMPTY_SHARED_POOL, "EmptyPodSharedPoolError",
		       CHANGE_POD_CPUS);
	assert_int_equal(spec->request.cpu_mcpu, 9000);
}

static void slices_beyond_the_budget_are_refused(void **state)
{
	struct node *node cleanup_node = pod_scope_node();
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	add_container(spec, "one", CONTAINER_APP, 5000, 5000);
	add_container(spec, "two", CONTAINER_APP, 5000, 5000);
	set_budget(spec, 8);
	assert_refused(node, spec, REFUSAL_POD_BUDGET, "UnexpectedAdmissionError", CHANGE_POD_CPUS);
	assert_int_equal(spec->request.cpu_mcpu, 10000);
}

static struct node *aligned_node(enum align_policy align, enum align_scope scope)
{
	struct policy policy = strict_policy("0,8");

	policy.align = align;
	policy.scope = scope;
	/* node 0 = CPUs 0-3,8-11, node 1 = 4-7,12-15 */
	return make_node(scene_machine(2, 1, 4, 2), policy);
}

static void alignment_chooses_the_node(void **state)
{
	struct node *node cleanup_node = aligned_node(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);

	/*
	 * A packed take would start on the fuller node 0 and span both; 8 CPUs fit only
	 * on node 1.
	 */
	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 8)).admitted);
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "4-7,12-15");
	assert_int_equal(grant_of(node, "p", "main")->affinity.nodes, 2);
}

static void unaligned_pods_are_refused(void **state)
{
	struct node *node cleanup_node = aligned_node(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("late", 6);

	assert_true(admit_and_free(node->ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("b", 6)).admitted);
	/* 4 and 2 CPUs are free: 6 CPUs could fit on one node, so two nodes are not acceptable. */
	assert_refused(node, spec, REFUSAL_TOPOLOGY, "TopologyAffinityError",
		       CHANGE_CONTAINER_CPUS);
	assert_int_equal(spec->containers[0].request.cpu_mcpu, 4000);
}

/* A refusal for lack of CPUs counts what is free, and what others hold. */
static void a_refusal_says_how_many_are_free(void **state)
{
	static const struct {
		int64_t first, second;
		const char *message;
	} cases[] = {
		{2, 5,
		 "container second asks for 5 exclusive CPUs, but only 3 are free (of 8 CPUs: 2 "
		 "reserved, 1 held by other pods)"},
		{4, 2,
		 "container second asks for 2 exclusive CPUs, but only 1 is free (of 8 CPUs: 2 "
		 "reserved, 1 held by other pods)"},
		{5, 1,
		 "container second asks for 1 exclusive CPU, but only 0 are free (of 8 CPUs: 2 "
		 "reserved, 1 held by other pods)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node *node cleanup_node = small_node();
		struct pod_spec *spec = guaranteed_pod("p", cases[i].first);
		struct decision decision;

		assert_true(admit_and_free(node->ledger, guaranteed_pod("other", 1)).admitted);
		add_container(spec, "second", CONTAINER_APP, cases[i].second * 1000,
			      cases[i].second * 1000);
		decision = admit_and_free(node->ledger, spec);
		assert_int_equal(decision.refusal, REFUSAL_CPUS);
		assert_string_equal(decision.message, cases[i].message);
		assert_string_equal(decision.container, "second");
	}
}

/* A refusal for alignment names what each node has, and the most that can be had together. */
static void a_refusal_says_what_the_nodes_have(void **state)
{
	static const struct {
		enum align_policy align;
		int64_t others, wanted, available;
		const char *message;
	} cases[] = {
		{ALIGN_SINGLE_NUMA_NODE, 1, 5, 4,
		 "topologyManagerPolicy single-numa-node: container main asks for 5 exclusive CPUs on 1 "
		 "NUMA node, but no node has more than 4 free CPUs; free by node: 0: 2 of 4, 1: 4 of 4, "
		 "2: 4 of 4"},
		{ALIGN_RESTRICTED, 4, 8, 7,
		 "topologyManagerPolicy restricted: container main asks for 8 exclusive CPUs on 2 NUMA "
		 "nodes, but no such set of nodes has more than 7 free CPUs; free by node: 0: 3 of 4, "
		 "1: 0 of 4, 2: 4 of 4"},
		{ALIGN_SINGLE_NUMA_NODE, 10, 2, 1,
		 "topologyManagerPolicy single-numa-node: container main asks for 2 exclusive CPUs on 1 "
		 "NUMA node, but no node has more than 1 free CPU; free by node: 0: 1 of 4, 1: 0 of 4, "
		 "2: 0 of 4"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy policy = strict_policy("0");
		struct node *node cleanup_node = NULL;
		struct decision decision;

		policy.align = ALIGN_BEST_EFFORT;
		node = make_node(scene_machine(3, 1, 4, 1), policy);
		assert_true(admit_and_free(node->ledger, guaranteed_pod("other", cases[i].others))
				    .admitted);
		node->policy.align = cases[i].align;
		decision = admit_and_free(node->ledger, guaranteed_pod("p", cases[i].wanted));
		assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
		assert_string_equal(decision.message, cases[i].message);
		assert_int_equal(decision.wanted, cases[i].wanted);
		assert_int_equal(decision.available, cases[i].available);
		assert_string_equal(decision.container, "main");
	}
}

/* Of many nodes the message names as many as there is room for. */
static void a_refusal_names_some_of_many_nodes(void **state)
{
	struct policy policy = strict_policy("0");
	struct node *node cleanup_node = NULL;
	struct decision decision;
	size_t len;

	(void)state;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	node = make_node(scene_machine(64, 1, 2, 1), policy);
	decision = admit_and_free(node->ledger, guaranteed_pod("p", 3));
	assert_non_null(strstr(decision.message, "free by node: 0: 1 of 2, 1: 2 of 2, 2: 2 of 2"));
	len = strlen(decision.message);
	assert_string_equal(decision.message + len - 7, " 2 of 2");
}

static void another_policy_is_suggested(void **state)
{
	struct node *node cleanup_node =
		aligned_node(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct decision decision;

	/* Two containers, each too large: reducing one of them is not enough. */
	add_container(spec, "one", CONTAINER_INIT, 9000, 9000);
	add_container(spec, "two", CONTAINER_APP, 9000, 9000);
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_int_equal(decision.change.kind, CHANGE_ALIGN_POLICY);
	assert_string_equal(decision.suggestion, "fits under topologyManagerPolicy restricted");
	ledger_free(node->ledger);
	node->policy.align = decision.change.align;
	node->ledger = scene_ledger(node->topology, &node->policy);
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_true(decision.admitted);
}

static void pod_scope_keeps_containers_together(void **state)
{
	struct node *node cleanup_node = aligned_node(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_POD);
	struct pod_spec *spec = scene_pod("p");

	/* One container alone would go to node 0; both together fit only on node 1. */
	add_container(spec, "one", CONTAINER_APP, 4000, 4000);
	add_container(spec, "two", CONTAINER_APP, 4000, 4000);
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_grant(node, "p", "one", ISOLATION_CONTAINER, "4-5,12-13");
	assert_grant(node, "p", "two", ISOLATION_CONTAINER, "6-7,14-15");
}

static void sixty_four_nodes(void **state)
{
	struct policy policy = strict_policy("0");
	struct node *node cleanup_node = NULL;

	policy.align = ALIGN_RESTRICTED;
	node = make_node(scene_machine(64, 1, 2, 2), policy);
	/* At least four nodes. Node 0 has a reserved CPU, so the lowest four are nodes 1 to 4. */
	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 16)).admitted);
	assert_int_equal(grant_of(node, "p", "main")->affinity.nodes, 0x1e);
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "2-9,130-137");
}

/* Four nodes of four CPUs; nodes 1 and 3 are close to each other. */
static struct topology *machine_with_distances(void)
{
	static const uint32_t distances[] = {10, 20, 20, 20, 20, 10, 20, 11,
					     20, 20, 10, 20, 20, 11, 20, 10};
	struct topology_cpu cpus[16];
	struct topology_node nodes[4];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = 16,
		.nodes = nodes,
		.nr_nodes = 4,
		.distances = distances,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	for (uint32_t i = 0; i < 16; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4, .socket = i / 4, .uncore = i / 4};
	for (uint32_t i = 0; i < 4; i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = 8 * GIB};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* Without the option the lowest two nodes win; node 0 has a reserved CPU. */
static void the_closest_nodes_are_an_option(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		const bool closest = i & 1, with_memory = i & 2;
		struct policy policy = strict_policy("0");
		struct pod_spec *spec = guaranteed_pod("p", 8);
		struct container_spec *container = &spec->containers[0];
		struct node *node cleanup_node = NULL;

		container->request.memory_bytes = container->limit.memory_bytes = 12 * GIB;
		policy.align = ALIGN_RESTRICTED;
		policy.prefer_closest_nodes = closest;
		policy.memory = with_memory ? MEMORY_POLICY_STATIC : MEMORY_POLICY_NONE;
		node = make_node(machine_with_distances(), policy);
		assert_true(admit_and_free(node->ledger, spec).admitted);
		assert_int_equal(grant_of(node, "p", "main")->affinity.nodes, closest ? 0xa : 0x6);
	}
}

/*
 * Four CPUs are free on nodes 0 and 4 of two sockets, and on nodes 4 and 5 of one. Each socket has
 * more nodes with free CPUs, but two are enough.
 */
static void aligned_by_socket_on_few_nodes(void **state)
{
	struct policy policy = strict_policy("0-1,4-6,8-10,12-14,16-17,20-21,24-26,28-30");
	struct node *node cleanup_node = NULL;

	(void)state;
	policy.align = ALIGN_RESTRICTED;
	policy.cpu_options.align_by_socket = true;
	node = make_node(scene_machine(2, 4, 4, 1), policy);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 4)).admitted);
	assert_int_equal(grant_of(node, "p", "main")->affinity.nodes, 0x30);
}

/* Alignment numbers the nodes with those that have no CPUs, such as memory of a device. */
static void the_first_node_may_have_no_cpus(void **state)
{
	struct topology_cpu cpus[8];
	struct topology_node nodes[3];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = 8,
		.nodes = nodes,
		.nr_nodes = 3,
		TOPOLOGY_COUNT_ALL,
	};
	struct policy policy = strict_policy("0");
	struct topology *topology = NULL;
	struct node *node cleanup_node = NULL;
	char error[256] = "";

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = 1 + i / 4, .socket = i / 4, .uncore = i / 4};
	for (uint32_t i = 0; i < 3; i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = 8 * GIB};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	node = make_node(topology, policy);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 4)).admitted);
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "4-7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bubble_is_divided),
		cmocka_unit_test(container_scope_has_no_bubble),
		cmocka_unit_test(empty_pod_pool_is_refused),
		cmocka_unit_test(slices_beyond_the_budget_are_refused),
		cmocka_unit_test(alignment_chooses_the_node),
		cmocka_unit_test(unaligned_pods_are_refused),
		cmocka_unit_test(a_refusal_says_how_many_are_free),
		cmocka_unit_test(a_refusal_says_what_the_nodes_have),
		cmocka_unit_test(a_refusal_names_some_of_many_nodes),
		cmocka_unit_test(another_policy_is_suggested),
		cmocka_unit_test(pod_scope_keeps_containers_together),
		cmocka_unit_test(sixty_four_nodes),
		cmocka_unit_test(the_closest_nodes_are_an_option),
		cmocka_unit_test(aligned_by_socket_on_few_nodes),
		cmocka_unit_test(the_first_node_may_have_no_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
