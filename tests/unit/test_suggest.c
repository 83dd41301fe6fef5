// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The changes that a refusal proposes where the answer is known: how far they are searched for,
 * and what is not proposed. test_suggest_property.c has random machines and pods.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

/*
 * Takes `spec`. The change of this kind that its refusal proposes; CHANGE_NONE = none. A copy has
 * no room behind its last container, so a build with sanitizers sees whether that is read.
 */
static struct change proposed(struct ledger *ledger, struct pod_spec *spec, enum change_kind kind)
{
	struct pod_spec *copy = pod_spec_copy(spec);
	struct decision decision;

	assert_non_null(copy);
	pod_spec_free(spec);
	decision = admit_and_free(ledger, copy);
	assert_false(decision.admitted);
	if (decision.change.kind == kind)
		return decision.change;
	for (uint32_t i = 0; i < decision.nr_others; i++) {
		if (decision.others[i].kind == kind)
			return decision.others[i];
	}
	return (struct change){.kind = CHANGE_NONE};
}

static struct pod_spec *with_memory(const char *uid, int64_t cpus, int64_t bytes)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *main = &spec->containers[0];

	main->request.memory_bytes = main->limit.memory_bytes = bytes;
	return spec;
}

/*
 * Node 0 has the CPUs, and node 1 the memory. No number of the refusal says how many CPUs are
 * free on node 1, so they are searched for; at most 32 below the request each one is found.
 */
static void unknown_numbers_are_found(void **state)
{
	(void)state;
	for (uint32_t nr_free = 1; nr_free <= 28; nr_free++) {
		struct topology *topology = memory_machine_even(2, 64, 1, 8);
		struct policy policy = strict_policy("0");
		struct ledger *ledger;

		for (uint32_t cpu = 64 + nr_free; cpu < 128; cpu++)
			cpuset_add(&policy.reserved_list, cpu);
		policy.memory = MEMORY_POLICY_STATIC;
		policy.align = ALIGN_SINGLE_NUMA_NODE;
		ledger = scene_ledger(topology, &policy);
		assert_true(admit_and_free(ledger, with_memory("a", 1, 7 * GIB)).admitted);
		for (uint32_t below = 1; below <= 32; below++)
			assert_int_equal(proposed(ledger,
						  with_memory("p", nr_free + below, 3 * GIB),
						  CHANGE_CONTAINER_CPUS)
						 .cpus,
					 nr_free);
		ledger_free(ledger);
		topology_free(topology);
	}
}

/* If the refusal has the number of free CPUs, it is tried first, however far below it is. */
static void known_numbers_are_found(void **state)
{
	(void)state;
	for (uint32_t nr_free = 1; nr_free < 63; nr_free++) {
		struct topology *topology = memory_machine_even(1, 64, 1, 8);
		struct policy policy = strict_policy("0");
		struct ledger *ledger = scene_ledger(topology, &policy);
		struct change change;

		assert_true(admit_and_free(ledger, guaranteed_pod("a", 63 - nr_free)).admitted);
		change = proposed(ledger, guaranteed_pod("p", 63), CHANGE_CONTAINER_CPUS);
		assert_int_equal(change.cpus, nr_free);
		ledger_free(ledger);
		topology_free(topology);
	}
}

/* The container that fails finds no CPU at all, so the largest one has to leave it enough. */
static void the_largest_container_gives_way(void **state)
{
	struct topology *topology = memory_machine_even(1, 46, 1, 8);
	struct policy policy = strict_policy("0");
	struct ledger *ledger = scene_ledger(topology, &policy);

	(void)state;
	for (uint32_t nr = 1; nr < 45; nr++) {
		struct pod_spec *spec = guaranteed_pod("p", 45);
		struct change change;

		add_container(spec, "fails", CONTAINER_APP, nr * 1000, nr * 1000);
		change = proposed(ledger, spec, CHANGE_CONTAINER_CPUS);
		assert_string_equal(change.container, "main");
		assert_int_equal(change.cpus, 45 - nr);
	}
	ledger_free(ledger);
	topology_free(topology);
}

/* The same for a pod with a budget, one CPU of which is its container's. */
static void unknown_budgets_are_found(void **state)
{
	(void)state;
	for (uint32_t nr_free = 1; nr_free <= 28; nr_free++) {
		struct topology *topology = memory_machine_even(2, 64, 1, 20);
		struct policy policy = strict_policy("0");
		struct ledger *ledger;

		for (uint32_t cpu = 64 + nr_free; cpu < 128; cpu++)
			cpuset_add(&policy.reserved_list, cpu);
		policy.memory = MEMORY_POLICY_STATIC;
		policy.align = ALIGN_SINGLE_NUMA_NODE;
		policy.scope = ALIGN_SCOPE_POD;
		ledger = scene_ledger(topology, &policy);
		assert_true(admit_and_free(ledger, with_memory("a", 1, 7 * GIB)).admitted);
		for (uint32_t below = 1; below <= 32; below++) {
			struct pod_spec *spec = scene_pod("p");

			set_budget(spec, nr_free + below);
			add_container(spec, "main", CONTAINER_APP, 1000, 1000);
			assert_int_equal(proposed(ledger, spec, CHANGE_POD_CPUS).cpus, nr_free);
		}
		ledger_free(ledger);
		topology_free(topology);
	}
}

/* Exclusive containers need 7 of a budget of 4, and a shared one needs the eighth. */
static void budgets_grow_for_shared_containers(void **state)
{
	struct topology *topology = memory_machine_even(1, 32, 1, 64);
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = scene_pod("p");
	struct ledger *ledger;

	(void)state;
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	set_budget(spec, 4);
	add_container(spec, "side", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "first", CONTAINER_APP, 4000, 4000);
	add_container(spec, "second", CONTAINER_APP, 3000, 3000);
	assert_int_equal(proposed(ledger, spec, CHANGE_POD_CPUS).cpus, 8);
	ledger_free(ledger);
	topology_free(topology);
}

/* Counts that the kubelet was given may say that a core has less than one CPU. */
static void cores_may_have_no_size(void **state)
{
	struct topology_cpu cpus[4] = {{0}};
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		TOPOLOGY_COUNT_ALL,
	};
	struct policy policy = strict_policy("0");
	struct topology *topology = NULL;
	struct ledger *ledger;
	char error[256];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i].id = cpus[i].core = i;
	facts.num_cores = 2 * ARRAY_SIZE(cpus);
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.cpu_options.full_pcpus_only = true;
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(proposed(ledger, guaranteed_pod("p", 9), CHANGE_CONTAINER_CPUS).cpus, 3);
	ledger_free(ledger);
	topology_free(topology);
}

/* Of the billions, the lowest 32 bits say 3, and 4 is the next number of whole cores. */
static void immense_numbers_are_not_cut(void **state)
{
	struct topology *topology = memory_machine_even(1, 8, 2, 64);
	struct policy policy = strict_policy("0,8");
	struct pod_spec *spec = scene_pod("p");
	struct ledger *ledger;

	(void)state;
	policy.cpu_options.full_pcpus_only = true;
	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(
		proposed(ledger, guaranteed_pod("p", 4294967299), CHANGE_CONTAINER_CPUS).cpus, 14);
	set_budget(spec, 4294967299);
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	assert_int_equal(proposed(ledger, spec, CHANGE_POD_CPUS).cpus, 14);
	ledger_free(ledger);
	topology_free(topology);
}

static void memory_by_node(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_SINGLE_NUMA_NODE;
}

/*
 * The free memory of one node and that of several are totals that may fit. The eight largest
 * ones below the request are tried, then halves of the request.
 */
static void totals_of_nodes_are_tried(void **state)
{
	static const struct {
		uint32_t nr_nodes;
		int64_t bytes[10];
		int64_t wanted, fits; /* on one node */
	} rows[] = {
		{9,
		 {2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB, 2 * GIB},
		 18 * GIB,
		 2 * GIB},
		{10, {16 * GIB, GIB, GIB, GIB, GIB, GIB, GIB, GIB, GIB, GIB}, 32 * GIB, 16 * GIB},
		{2, {2 * GIB + 12345, GIB}, 8 * GIB, 2 * GIB + 12345},
		{2, {GIB, 2 * GIB + 12345}, 8 * GIB, 2 * GIB + 12345},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct topology *topology =
			memory_machine_with(rows[i].nr_nodes, 2, 1, rows[i].bytes);
		struct policy policy = strict_policy("0");
		struct change change;
		struct ledger *ledger;

		memory_by_node(&policy);
		ledger = scene_ledger(topology, &policy);
		change = proposed(ledger, with_memory("p", 1, rows[i].wanted),
				  CHANGE_CONTAINER_MEMORY);
		assert_int_equal(change.bytes, rows[i].fits);
		ledger_free(ledger);
		topology_free(topology);
	}
}

/* The 16 CPUs are on nodes 1 and 2, whose memory is what fits; node 0 makes smaller totals. */
static void totals_begin_with_the_largest_nodes(void **state)
{
	static const int64_t bytes[] = {2 * GIB, 8 * GIB, 8 * GIB};
	struct topology *topology = memory_machine_with(3, 8, 1, bytes);
	struct policy policy = strict_policy("0-7");
	struct change change;
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	ledger = scene_ledger(topology, &policy);
	change = proposed(ledger, with_memory("p", 16, 18 * GIB), CHANGE_CONTAINER_MEMORY);
	assert_int_equal(change.bytes, 16 * GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/* Only node 0 has CPUs, and the least memory. The same total of many nodes is tried once. */
static void equal_totals_are_tried_once(void **state)
{
	static const int64_t bytes[] = {GIB,	 8 * GIB, 8 * GIB, 8 * GIB,
					8 * GIB, 8 * GIB, 8 * GIB, 8 * GIB};
	struct topology *topology = memory_machine_with(8, 2, 1, bytes);
	struct policy policy = strict_policy("2-15");
	struct change change;
	struct ledger *ledger;

	(void)state;
	memory_by_node(&policy);
	ledger = scene_ledger(topology, &policy);
	change = proposed(ledger, with_memory("p", 1, 30 * GIB), CHANGE_CONTAINER_MEMORY);
	assert_int_equal(change.bytes, GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/* As many nodes as there may be. */
static void all_nodes_make_a_total(void **state)
{
	struct topology *topology = memory_machine_even(TOPOLOGY_MAX_NODES, 2, 1, 1);
	struct policy policy = strict_policy("0");
	struct change change;
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	ledger = scene_ledger(topology, &policy);
	change = proposed(ledger, with_memory("p", 1, (TOPOLOGY_MAX_NODES + 1) * GIB),
			  CHANGE_CONTAINER_MEMORY);
	assert_int_equal(change.bytes, TOPOLOGY_MAX_NODES * GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/* The budget is more than the node has, and its container asks for little of it. */
static void a_budget_of_memory_shrinks(void **state)
{
	struct topology *topology = memory_machine_even(1, 8, 1, 16);
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = scene_pod("p");
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	set_budget(spec, 2);
	spec->request.memory_bytes = spec->limit.memory_bytes = 20 * GIB;
	ask(spec, "main", CONTAINER_APP, 2 * GIB);
	add_container(spec, "side", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	assert_int_equal(proposed(ledger, spec, CHANGE_POD_MEMORY).bytes, 16 * GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/* All memory is taken: less is no help, and nothing at all is no proposal. */
static void nothing_is_not_proposed(void **state)
{
	struct topology *topology = memory_machine_even(1, 4, 1, 8);
	struct policy policy = strict_policy("0");
	struct ledger *ledger;

	(void)state;
	memory_by_node(&policy);
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, with_memory("a", 1, 8 * GIB)).admitted);
	assert_int_equal(proposed(ledger, with_memory("p", 1, GIB), CHANGE_CONTAINER_MEMORY).kind,
			 CHANGE_NONE);
	ledger_free(ledger);
	topology_free(topology);
}

/* Of two containers that request the same amount, the first one is to request less. */
static void the_first_of_equals_gives_way(void **state)
{
	struct topology *topology = memory_machine_even(1, 8, 1, 8);
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = scene_pod("p");
	struct change change;
	struct ledger *ledger;

	(void)state;
	memory_by_node(&policy);
	ledger = scene_ledger(topology, &policy);
	ask(spec, "first", CONTAINER_APP, 4 * GIB);
	ask(spec, "second", CONTAINER_APP, 4 * GIB);
	ask(spec, "third", CONTAINER_APP, GIB);
	change = proposed(ledger, spec, CHANGE_CONTAINER_MEMORY);
	assert_string_equal(change.container, "first");
	assert_int_equal(change.bytes, 3 * GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/* The node has pages of another size. Ten smaller amounts of the requested size are tried first. */
static void page_sizes_have_their_own_tries(void **state)
{
	struct topology_cpu cpus[2] = {{.id = 0}, {.id = 1, .core = 1}};
	struct topology_node node = {
		.memory_bytes = 8 * GIB,
		.nr_hugepages = 1,
		.hugepages = {{PAGE_1G, 2, UINT64_MAX}},
	};
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = &node,
		.nr_nodes = 1,
		TOPOLOGY_COUNT_ALL,
	};
	struct policy policy = strict_policy("0");
	struct pod_spec *spec = guaranteed_pod("p", 1);
	struct topology *topology = NULL;
	struct ledger *ledger;
	struct change change;
	char error[256];

	(void)state;
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.memory = MEMORY_POLICY_STATIC;
	ledger = scene_ledger(topology, &policy);
	ask_pages(&spec->containers[0], PAGE_2M, 2 * GIB);
	change = proposed(ledger, spec, CHANGE_PAGE_SIZE);
	assert_int_equal(change.to_page_bytes, PAGE_1G);
	ledger_free(ledger);
	topology_free(topology);
}

/* The second container lacks one CPU; how many the third lacks, the refusal does not say. */
static void larger_budgets_are_tried(void **state)
{
	struct topology *topology = memory_machine_even(1, 32, 1, 64);
	struct policy policy = strict_policy("0");
	struct ledger *ledger;
	struct pod_spec *spec;

	(void)state;
	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	for (uint32_t nr = 1; nr <= 4; nr++) {
		struct change change;

		spec = scene_pod("p");
		set_budget(spec, 4);
		add_container(spec, "first", CONTAINER_APP, 3000, 3000);
		add_container(spec, "second", CONTAINER_APP, 2000, 2000);
		add_container(spec, "third", CONTAINER_APP, nr * 1000, nr * 1000);
		change = proposed(ledger, spec, CHANGE_POD_CPUS);
		/* Four numbers are tried. */
		assert_int_equal(change.kind, nr < 4 ? CHANGE_POD_CPUS : CHANGE_NONE);
		assert_int_equal(change.cpus, nr < 4 ? 5 + nr : 0);
	}
	/* What the second container lacks, here five, is the first number. */
	spec = scene_pod("p");
	set_budget(spec, 4);
	add_container(spec, "first", CONTAINER_APP, 3000, 3000);
	add_container(spec, "second", CONTAINER_APP, 6000, 6000);
	assert_int_equal(proposed(ledger, spec, CHANGE_POD_CPUS).cpus, 9);
	ledger_free(ledger);
	topology_free(topology);
}

/*
 * Pods on node 0 and one on node 1 hold the same number of CPUs. Only the last one, which is
 * tried after all others, is in the way of a pod that needs the whole of node 1. At most
 * twelve are tried, because each costs as much as an admission.
 */
static void twelve_departures_are_tried(void **state)
{
	(void)state;
	for (uint32_t nr = 10; nr < 14; nr++) {
		struct topology *topology = memory_machine_even(2, 2 * nr + 2, 1, 8);
		struct policy policy = strict_policy("0");
		struct ledger *ledger;
		struct change change;

		policy.align = ALIGN_SINGLE_NUMA_NODE;
		ledger = scene_ledger(topology, &policy);
		for (uint32_t i = 0; i <= nr; i++) {
			char uid[] = {(char)('a' + i), 0};

			assert_true(admit_and_free(ledger, guaranteed_pod(uid, 2)).admitted);
		}
		change = proposed(ledger, guaranteed_pod("p", 2 * nr + 2), CHANGE_POD_LEAVES);
		assert_int_equal(change.kind, nr < 12 ? CHANGE_POD_LEAVES : CHANGE_NONE);
		if (nr < 12)
			assert_int_equal(change.uid[0], 'a' + (int)nr);
		ledger_free(ledger);
		topology_free(topology);
	}
}

/*
 * The kubelet would never return here. It starts with a reservation above the node's memory,
 * which the repaired rules reject, so that they are no way out for such a node.
 */
static void invalid_policies_are_not_proposed(void **state)
{
	struct topology *topology = memory_machine_even(5, 5, 2, 8);

	(void)state;
	for (int is_invalid = 0; is_invalid < 2; is_invalid++) {
		struct policy policy = strict_policy("3,43,46");
		struct ledger *ledger;

		policy.compatibility = COMPATIBILITY_KUBELET_1_36;
		policy.cpu_options.full_pcpus_only = true;
		policy.cpu_options.distribute_across_numa = true;
		policy.memory = MEMORY_POLICY_STATIC;
		policy.nr_memory_reservations = 1;
		policy.memory_reservations[0].bytes = (uint64_t)(is_invalid ? 9 : 1) * GIB;
		ledger = scene_ledger(topology, &policy);
		assert_int_equal(proposed(ledger, guaranteed_pod("p", 30), CHANGE_REPAIRED).kind,
				 is_invalid ? CHANGE_NONE : CHANGE_REPAIRED);
		ledger_free(ledger);
	}
	topology_free(topology);
}

/* Without whole cores other CPUs would be reserved, some of which pods may have. */
static void reserved_cpus_stay_where_they_are(void **state)
{
	struct topology *topology = memory_machine_even(2, 2, 2, 8);

	(void)state;
	for (int is_listed = 0; is_listed < 2; is_listed++) {
		struct policy policy = strict_policy("0-2,4-6");
		struct ledger *ledger;

		policy.has_reserved_list = is_listed;
		policy.reserved_mcpu = 6000;
		policy.cpu_options.full_pcpus_only = true;
		policy.cpu_options.distribute_across_numa = true;
		ledger = scene_ledger(topology, &policy);
		assert_int_equal(cpuset_count(ledger_reserved(ledger)), 6);
		assert_int_equal(proposed(ledger, guaranteed_pod("p", 1), CHANGE_ANY_CORES).kind,
				 is_listed ? CHANGE_ANY_CORES : CHANGE_NONE);
		ledger_free(ledger);
	}
	topology_free(topology);
}

/*
 * The kubelet expects as many CPUs in each of these three sockets, 1, and takes both of a socket,
 * one of which is reserved. Under the repaired rules no pod may hold that.
 */
static void policies_must_suit_all_pods(void **state)
{
	struct topology_cpu cpus[5];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		TOPOLOGY_COUNT_ALL,
	};
	struct policy policy = strict_policy("0,4");
	struct topology *topology = NULL;
	struct ledger *ledger;
	char error[256];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i, .socket = i / 2, .uncore = i};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	policy.cpu_options.strict_reservation = false;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 3)).admitted);
	assert_true(cpuset_intersects(ledger_find(ledger, "a")->held, ledger_reserved(ledger)));
	assert_int_equal(proposed(ledger, guaranteed_pod("p", 2), CHANGE_REPAIRED).kind,
			 CHANGE_NONE);
	ledger_free(ledger);
	topology_free(topology);
}

/*
 * The pod has all of the node's memory and asks for more. With the memory that it has, it is the
 * pod that runs already.
 */
static void what_a_pod_has_is_proposed(void **state)
{
	struct topology *topology = memory_machine_even(1, 8, 1, 8);
	struct policy policy = strict_policy("0");
	struct ledger *ledger;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, with_memory("p", 2, 8 * GIB)).admitted);
	assert_int_equal(
		proposed(ledger, with_memory("p", 2, 9 * GIB), CHANGE_CONTAINER_MEMORY).bytes,
		8 * GIB);
	ledger_free(ledger);
	topology_free(topology);
}

/*
 * A pod with another amount of memory is admitted anew; with the memory that it has, it is resized,
 * which keeps its node. Node 0 has 8 GiB and seven CPUs for pods.
 */
static void a_resize_is_proposed_if_it_succeeds(void **state)
{
	static const struct {
		int64_t cpus, bytes;
	} rows[] = {{3, 8 * GIB}, {7, 8 * GIB}, {8, 9 * GIB / 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct topology *topology = memory_machine_even(2, 8, 1, 8);
		struct policy policy = strict_policy("0");
		struct ledger *ledger;

		policy.memory = MEMORY_POLICY_STATIC;
		policy.align = ALIGN_SINGLE_NUMA_NODE;
		ledger = scene_ledger(topology, &policy);
		assert_true(admit_and_free(ledger, with_memory("p", 2, 8 * GIB)).admitted);
		assert_int_equal(ledger_find(ledger, "p")->grants[0].mems, 1);
		assert_int_equal(proposed(ledger, with_memory("p", rows[i].cpus, 9 * GIB),
					  CHANGE_CONTAINER_MEMORY)
					 .bytes,
				 rows[i].bytes);
		ledger_free(ledger);
		topology_free(topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_numbers_are_found),
		cmocka_unit_test(unknown_budgets_are_found),
		cmocka_unit_test(known_numbers_are_found),
		cmocka_unit_test(the_largest_container_gives_way),
		cmocka_unit_test(immense_numbers_are_not_cut),
		cmocka_unit_test(cores_may_have_no_size),
		cmocka_unit_test(totals_of_nodes_are_tried),
		cmocka_unit_test(equal_totals_are_tried_once),
		cmocka_unit_test(all_nodes_make_a_total),
		cmocka_unit_test(a_budget_of_memory_shrinks),
		cmocka_unit_test(nothing_is_not_proposed),
		cmocka_unit_test(totals_begin_with_the_largest_nodes),
		cmocka_unit_test(the_first_of_equals_gives_way),
		cmocka_unit_test(page_sizes_have_their_own_tries),
		cmocka_unit_test(larger_budgets_are_tried),
		cmocka_unit_test(budgets_grow_for_shared_containers),
		cmocka_unit_test(twelve_departures_are_tried),
		cmocka_unit_test(invalid_policies_are_not_proposed),
		cmocka_unit_test(reserved_cpus_stay_where_they_are),
		cmocka_unit_test(policies_must_suit_all_pods),
		cmocka_unit_test(what_a_pod_has_is_proposed),
		cmocka_unit_test(a_resize_is_proposed_if_it_succeeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
