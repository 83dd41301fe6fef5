// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Which pod has to leave so that a refused one is admitted, and which are not even tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

#define MOST_PODS 16

static struct pod_spec *with_memory(const char *uid, int64_t cpus, int64_t bytes)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *main = &spec->containers[0];

	main->request.memory_bytes = main->limit.memory_bytes = bytes;
	return spec;
}

/* Takes `spec`. "" = no pod is proposed to leave. */
static void assert_leaves(struct ledger *ledger, struct pod_spec *spec, const char *uid)
{
	struct decision decision = admit_and_free(ledger, spec);
	const char *found = "";

	assert_false(decision.admitted);
	if (decision.change.kind == CHANGE_POD_LEAVES)
		found = decision.change.uid;
	for (uint32_t i = 0; i < decision.nr_others; i++) {
		if (decision.others[i].kind == CHANGE_POD_LEAVES)
			found = decision.others[i].uid;
	}
	assert_string_equal(found, uid);
}

/* Of a pod with a budget, what its containers get of the budget is not counted again. */
static void budgets_are_held_once(void **state)
{
	struct topology *topology = memory_machine_even(1, 8, 1, 16);
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = scene_pod("budget");
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	set_budget(spec, 2);
	spec->request.memory_bytes = spec->limit.memory_bytes = 3 * GIB;
	ask(spec, "main", CONTAINER_APP, 2 * GIB);
	add_container(spec, "side", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	assert_true(admit_and_free(ledger, spec).admitted);
	assert_true(admit_and_free(ledger, with_memory("another", 1, 4 * GIB)).admitted);
	assert_leaves(ledger, with_memory("p", 1, 12 * GIB), "budget");
	ledger_free(ledger);
	topology_free(topology);
}

/* Many pods on the shared pool hold nothing, and none of them is tried. */
static void pods_that_hold_nothing_stay(void **state)
{
	struct topology *topology = memory_machine_even(2, 8, 1, 8);
	struct policy policy = strict_policy("0");
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	ledger = scene_ledger(topology, &policy);
	/* On nodes that serve requests alone, and thus do not combine for another one. */
	assert_true(admit_and_free(ledger, with_memory("x", 1, 6 * GIB)).admitted);
	assert_true(admit_and_free(ledger, with_memory("y", 1, 7 * GIB)).admitted);
	for (uint32_t i = 0; i < MOST_PODS; i++) {
		char uid[] = {(char)('a' + i), 0};

		assert_true(admit_and_free(ledger, burstable_pod(uid)).admitted);
	}
	assert_leaves(ledger, with_memory("z", 1, 3 * GIB), "x");
	ledger_free(ledger);
	topology_free(topology);
}

/* Many pods hold less than is missing, and none of them is tried. */
static void pods_that_hold_too_little_stay(void **state)
{
	struct topology *topology = memory_machine_even(1, 40, 1, 8);
	struct policy policy = strict_policy("0");
	struct ledger *ledger = scene_ledger(topology, &policy);

	(void)state;
	for (uint32_t i = 0; i < MOST_PODS; i++) {
		char uid[] = {(char)('a' + i), 0};

		assert_true(admit_and_free(ledger, guaranteed_pod(uid, 1)).admitted);
	}
	assert_true(admit_and_free(ledger, guaranteed_pod("x", 10)).admitted);
	assert_leaves(ledger, guaranteed_pod("z", 20), "x");
	assert_leaves(ledger, guaranteed_pod("z", 30), "");
	ledger_free(ledger);
	topology_free(topology);
}

/* Two nodes of four CPUs; only the second has huge pages. */
static struct topology *machine_with_pages_on_the_second_node(void)
{
	struct topology_cpu cpus[8];
	struct topology_node nodes[] = {
		{.id = 0,
		 .memory_bytes = 16 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_2M, 0, UINT64_MAX}}},
		{.id = 1,
		 .memory_bytes = 16 * GIB,
		 .nr_hugepages = 1,
		 .hugepages = {{PAGE_2M, 64, UINT64_MAX}}},
	};
	struct topology_facts facts = {.cpus = cpus,
				       .nr_cpus = ARRAY_SIZE(cpus),
				       .nodes = nodes,
				       .nr_nodes = ARRAY_SIZE(nodes),
				       TOPOLOGY_COUNT_ALL};
	struct topology *topology = NULL;
	char error[256] = "";

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4, .socket = i / 4, .uncore = i / 4};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* Where the pages are, all CPUs are taken by a pod that has no such pages. */
static void a_pod_without_the_memory_may_hold_the_cpus(void **state)
{
	struct topology *topology = machine_with_pages_on_the_second_node();
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = with_memory("p", 1, GIB);
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	ledger = scene_ledger(topology, &policy);
	/* The first node has only three CPUs that are not reserved. */
	assert_true(admit_and_free(ledger, with_memory("x", 4, GIB)).admitted);
	ask_pages(&spec->containers[0], PAGE_2M, (int64_t)PAGE_2M);
	assert_leaves(ledger, spec, "x");
	ledger_free(ledger);
	topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budgets_are_held_once),
		cmocka_unit_test(pods_that_hold_nothing_stay),
		cmocka_unit_test(pods_that_hold_too_little_stay),
		cmocka_unit_test(a_pod_without_the_memory_may_hold_the_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
