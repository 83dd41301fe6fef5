// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Room that is left: worked examples, and on random machines the proof by
 * admission that the largest request fits and a larger one does not.
 * PINFOLD_SEED as in the property run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>

#include "chance.h"
#include "core/capacity/capacity.h"

#define NR_WORLDS 1500

static struct capacity measure(const struct ledger *ledger)
{
	struct capacity capacity;

	capacity_measure(ledger, &capacity);
	return capacity;
}

/* Two nodes of 8 CPUs, one of each reserved. */
static void counts_per_node(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct capacity capacity;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 3)).admitted);
	capacity = measure(ledger);
	assert_int_equal(capacity.nr_nodes, 2);
	assert_int_equal(capacity.nodes[0].nr_cpus, 8);
	assert_int_equal(capacity.nodes[0].nr_reserved, 1);
	assert_int_equal(capacity.nodes[0].nr_exclusive, 3);
	assert_int_equal(capacity.nodes[0].nr_shared, 4);
	assert_int_equal(capacity.nodes[0].nr_free_cores, 4);
	assert_int_equal(capacity.nodes[0].largest_request, 4);
	assert_int_equal(capacity.nodes[1].largest_request, 7);
	assert_int_equal(capacity.largest_request, 7);
	assert_int_equal(capacity.fragmentation_percent, 0);
}

/* 3 CPUs are free on each of two nodes: together they would serve 6, they serve 3. */
static void fragmentation_is_relative_to_the_conceivable_request(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 1, 9, 1);
	struct policy policy = strict_policy("0,9");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct capacity capacity = measure(ledger);

	assert_int_equal(capacity.largest_request, 8);
	assert_int_equal(capacity.conceivable_request, 8);
	assert_int_equal(capacity.fragmentation_percent, 0);
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 5)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 5)).admitted);
	capacity = measure(ledger);
	assert_int_equal(capacity.conceivable_request, 6);
	assert_int_equal(capacity.largest_request, 3);
	assert_int_equal(capacity.fragmentation_percent, 50);
}

static void whole_cores_and_the_last_shared_cpu_limit_requests(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 2);
	struct policy policy = strict_policy("0");
	struct ledger *ledger = scene_ledger(topology, &policy);

	assert_int_equal(measure(ledger).largest_request, 7);
	assert_true(admit_and_free(ledger, burstable_pod("web")).admitted);
	assert_int_equal(measure(ledger).largest_request, 6);
	ledger_free(ledger);
	/* CPU 4, the sibling of the reserved CPU 0, is not on a whole core */
	policy.cpu_options.full_pcpus_only = true;
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(measure(ledger).nodes[0].nr_free_cores, 3);
	assert_int_equal(measure(ledger).largest_request, 6);
	ledger_free(ledger);
	policy.cpu = CPU_POLICY_NONE;
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(measure(ledger).largest_request, 0);
	ledger_free(ledger);
}

/* Who may empty the shared pool may have its last CPU, too; so may pods under the kubelet's rules. */
static void the_last_shared_cpu_may_be_granted(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 2);
	struct policy policy = strict_policy("1");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

	assert_true(admit_and_free(ledger, burstable_pod("web")).admitted);
	assert_int_equal(measure(ledger).largest_request, 6);
	assert_int_equal(measure(ledger).nodes[0].nr_free_cores, 3);
	policy.may_empty_shared_pool = true;
	assert_int_equal(measure(ledger).largest_request, 7);
	policy.may_empty_shared_pool = false;
	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_int_equal(measure(ledger).largest_request, 7);
	policy.cpu = CPU_POLICY_NONE;
	assert_int_equal(measure(ledger).largest_request, 0);
	assert_int_equal(measure(ledger).conceivable_request, 0);
}

/* Reserved CPUs cannot be granted, even where the shared pool has them. */
static void conceivable_is_the_larger_node_without_reserved_cpus(void **state)
{
	static const struct {
		const char *reserved;
		uint32_t conceivable;
	} cases[] = {{"0,8", 7}, {"8-9", 8}, {"0-1", 8}, {"0-2,8", 7}};
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy policy = strict_policy(cases[i].reserved);
		struct ledger *ledger cleanup_ledger = NULL;

		policy.cpu_options.strict_reservation = i & 1;
		ledger = scene_ledger(topology, &policy);
		assert_int_equal(measure(ledger).conceivable_request, cases[i].conceivable);
		assert_int_equal(measure(ledger).largest_request, cases[i].conceivable);
	}
}

/* Nodes keep the numbers that the machine gave them; there may be more cores than CPUs. */
static void unusual_numbers(void **state)
{
	struct topology_cpu cpus[8];
	struct topology_facts facts = {.cpus = cpus, .nr_cpus = 8, TOPOLOGY_COUNT_ALL};
	struct topology *topology cleanup_topology = NULL;
	struct policy policy = strict_policy("0");
	struct ledger *ledger cleanup_ledger = NULL;
	struct capacity capacity;
	char error[256];

	for (uint32_t i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .node = i < 4 ? 3 : 7};
	facts.num_cores = 16;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.cpu_options.full_pcpus_only = true;
	ledger = scene_ledger(topology, &policy);
	capacity = measure(ledger);
	assert_int_equal(capacity.nodes[0].id, 3);
	assert_int_equal(capacity.nodes[0].largest_request, 3);
	assert_int_equal(capacity.nodes[1].id, 7);
	assert_int_equal(capacity.nodes[1].largest_request, 4);
}

static bool fits(struct ledger *ledger, uint32_t cpus)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("probe", cpus);
	struct decision decision;

	assert_int_equal(admit_prepare(ledger, spec, &decision), 0);
	if (decision.admitted)
		ledger_abort(ledger);
	return decision.admitted;
}

/* The number is valid for alignment to one node without further options. */
static void check_by_admission(struct ledger *ledger, const struct policy *policy, uint64_t seed)
{
	struct policy single = *policy;
	struct capacity capacity = measure(ledger);
	uint32_t group =
		policy->cpu_options.full_pcpus_only ? ledger_topology(ledger)->cpus_per_core : 1;

	single.align = ALIGN_SINGLE_NUMA_NODE;
	single.scope = ALIGN_SCOPE_CONTAINER;
	ledger_use_policy(ledger, &single);
	if (capacity.largest_request && !fits(ledger, capacity.largest_request))
		fail_msg("seed 0x%llx: %u CPUs do not fit on a node", (unsigned long long)seed,
			 capacity.largest_request);
	if (fits(ledger, capacity.largest_request + group))
		fail_msg("seed 0x%llx: more than %u CPUs fit on a node", (unsigned long long)seed,
			 capacity.largest_request);
	ledger_use_policy(ledger, policy);
}

static void admission_accepts_the_largest_request(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	struct chance chance = {seed};
	uint32_t nr_checked = 0;

	for (int i = 0; i < NR_WORLDS; i++) {
		uint64_t world_seed = chance_next(&chance);
		struct chance world = {world_seed};
		struct topology *topology cleanup_topology = chance_machine(&world);
		struct policy policy = chance_policy(&world, topology);
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

		/* the kubelet forbids this option together with single-numa-node */
		if (policy.cpu_options.align_by_socket)
			continue;
		for (int p = 0; p < 6; p++) {
			char uid[8];

			snprintf(uid, sizeof(uid), "p%d", p);
			admit_and_free(ledger, chance_pod(&world, uid, 1 + topology->num_cpus / 4));
			check_by_admission(ledger, &policy, world_seed);
			nr_checked++;
		}
	}
	printf("# seed 0x%llx, %u ledgers\n", (unsigned long long)seed, nr_checked);
	assert_true(nr_checked > NR_WORLDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_per_node),
		cmocka_unit_test(fragmentation_is_relative_to_the_conceivable_request),
		cmocka_unit_test(whole_cores_and_the_last_shared_cpu_limit_requests),
		cmocka_unit_test(the_last_shared_cpu_may_be_granted),
		cmocka_unit_test(conceivable_is_the_larger_node_without_reserved_cpus),
		cmocka_unit_test(unusual_numbers),
		cmocka_unit_test(admission_accepts_the_largest_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
