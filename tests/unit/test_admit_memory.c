// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* CPUs and memory through one admission: one alignment, one transaction, one refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"

/* `nr` nodes with ids 0, 2, 4, …: `cpus` CPUs and `gib` GiB each, 1 GiB more as 2Mi pages. */
static struct topology *machine(uint32_t nr, uint32_t cpus, int64_t gib)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	struct topology_cpu *list = calloc((size_t)nr * cpus, sizeof(*list));
	struct topology_facts facts = {
		.cpus = list,
		.nr_cpus = (size_t)nr * cpus,
		.nodes = nodes,
		.nr_nodes = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	assert_non_null(list);
	for (uint32_t i = 0; i < nr * cpus; i++)
		list[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / cpus * 2, .socket = i / cpus};
	for (uint32_t i = 0; i < nr; i++)
		nodes[i] = (struct topology_node){
			.id = i * 2,
			.memory_bytes = (uint64_t)((gib + 1) * GIB),
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, 512, UINT64_MAX}},
		};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	free(list);
	return topology;
}

static struct policy policy_of(enum align_policy align, enum align_scope scope)
{
	struct policy policy = strict_policy("0");

	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = align;
	policy.scope = scope;
	policy.may_empty_shared_pool = true;
	return policy;
}

static struct pod_spec *pod_of(const char *uid, int64_t cpus, int64_t gib)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *container = &spec->containers[0];

	container->request.memory_bytes = container->limit.memory_bytes = gib * GIB;
	return spec;
}

static node_mask_t mems_of(const struct ledger *ledger, const char *uid, uint32_t index)
{
	return ledger_find(ledger, uid)->grants[index].mems;
}

static uint64_t free_of(const struct ledger *ledger, uint32_t node)
{
	return ledger_memory_state(ledger)->nodes[node].free_bytes[0];
}

static void same_node_for_both(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	const struct ledger_pod *pod;

	(void)state;
	/* Node 0 has enough CPUs for the second pod, but not enough memory. */
	assert_true(admit_and_free(ledger, pod_of("a", 1, 6)).admitted);
	assert_int_equal(mems_of(ledger, "a", 0), 1);
	assert_true(admit_and_free(ledger, pod_of("b", 2, 3)).admitted);
	pod = ledger_find(ledger, "b");
	assert_int_equal(pod->grants[0].mems, 2);
	assert_cpus(pod->grants[0].cpus, "4-5");
	assert_int_equal(free_of(ledger, 1), 5 * GIB);
	assert_int_equal(ledger_remove(ledger, "b"), 0);
	assert_int_equal(free_of(ledger, 1), 8 * GIB);
}

static void refused_for_memory(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 6)).admitted);
	assert_true(admit_and_free(ledger, pod_of("b", 1, 7)).admitted);
	decision = admit_and_free(ledger, pod_of("c", 1, 3));
	assert_false(decision.admitted);
	assert_string_equal(decision.reason, "TopologyAffinityError");
	assert_true(decision.is_memory);
	assert_int_equal(decision.wanted, 3 * GIB);
	assert_int_equal(decision.available, 3 * GIB); /* but on nodes that cannot be combined */
	assert_non_null(strstr(decision.message, "3221225472 bytes of memory"));
	/* The amount that one node has left; test_explain.c tests the other changes. */
	assert_int_equal(decision.change.kind, CHANGE_CONTAINER_MEMORY);
	assert_int_equal(decision.change.bytes, 2 * GIB);
	assert_true(admit_and_free(ledger, pod_of("c", 1, 2)).admitted);
}

static void no_policy_needs_no_alignment(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 12)).admitted);
	assert_int_equal(mems_of(ledger, "a", 0), 3);
	decision = admit_and_free(ledger, pod_of("b", 1, 6));
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_MEMORY);
	assert_string_equal(decision.reason, "UnexpectedAdmissionError");
}

/* The first container already has CPUs and memory when the second one is refused. */
static void all_or_nothing(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_BEST_EFFORT, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct memory_state before = *ledger_memory_state(ledger);
	struct pod_spec *spec = pod_of("a", 1, 5);
	struct decision decision;

	(void)state;
	ask(spec, "second", CONTAINER_APP, 20 * GIB);
	decision = admit_and_free(ledger, spec);
	assert_false(decision.admitted);
	assert_string_equal(decision.container, "second");
	assert_true(memory_state_equal(ledger_memory_manager(ledger), &before,
				       ledger_memory_state(ledger)));
	/* The same if the spec of an admitted pod changes. */
	spec = pod_of("b", 1, 5);
	assert_int_equal(admit_prepare(ledger, spec, &decision), 0);
	pod_spec_free(spec);
	assert_true(decision.admitted);
	assert_int_equal(free_of(ledger, 0), 3 * GIB);
	ledger_abort(ledger);
	assert_int_equal(free_of(ledger, 0), 8 * GIB);
	assert_null(ledger_find(ledger, "b"));
}

/* A pod that requests more and is refused keeps what it has. */
static void refused_change(void **state)
{
	struct topology *topology cleanup_topology = machine(1, 4, 8);
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 5)).admitted);
	assert_false(admit_and_free(ledger, pod_of("a", 1, 9)).admitted);
	assert_int_equal(free_of(ledger, 0), 3 * GIB);
	assert_true(admit_and_free(ledger, pod_of("a", 1, 7)).admitted);
	assert_int_equal(free_of(ledger, 0), GIB);
	assert_true(admit_and_free(ledger, pod_of("a", 1, 7)).admitted);
	assert_int_equal(free_of(ledger, 0), GIB);
}

/*
 * The first container's memory fits nowhere and the second one's CPUs are not whole
 * cores. The kubelet gives a container CPUs and memory before it looks at the next.
 */
static void first_failure_is_the_first_containers(void **state)
{
	(void)state;
	for (int compatibility = 0; compatibility < COMPATIBILITY_NR; compatibility++) {
		struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
		struct policy policy = policy_of(ALIGN_BEST_EFFORT, ALIGN_SCOPE_POD);
		struct ledger *ledger cleanup_ledger = NULL;
		struct pod_spec *spec = pod_of("a", 2, 8);
		struct decision decision;

		policy.compatibility = (enum compatibility)compatibility;
		policy.cpu_options.full_pcpus_only = true;
		ledger = scene_ledger(topology, &policy);
		ask(spec, "odd", CONTAINER_APP, GIB);
		decision = admit_and_free(ledger, spec);
		assert_false(decision.admitted);
		assert_string_equal(decision.reason, "UnexpectedAdmissionError");
		assert_string_equal(decision.container, "main");
		assert_int_equal(decision.refusal, REFUSAL_MEMORY);
		/* In the reverse order the CPUs are the reason. */
		spec = pod_of("b", 1, 0);
		spec->containers[0].request.memory_bytes = 1;
		spec->containers[0].limit.memory_bytes = 1;
		ask(spec, "large", CONTAINER_APP, 8 * GIB);
		decision = admit_and_free(ledger, spec);
		assert_false(decision.admitted);
		assert_string_equal(decision.reason, "SMTAlignmentError");
		assert_string_equal(decision.container, "main");
	}
}

static struct pod_spec *database_pod(void)
{
	struct pod_spec *spec = pod_of("db", 2, 5);

	set_budget(spec, 3);
	spec->request.memory_bytes = spec->limit.memory_bytes = 7 * GIB;
	add_container(spec, "exporter", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	return spec;
}

static void budget_on_one_node(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_POD);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

	(void)state;
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	assert_int_equal(mems_of(ledger, "db", 0), 1);
	assert_int_equal(mems_of(ledger, "db", 1), 1);
	assert_int_equal(free_of(ledger, 0), GIB);
	assert_int_equal(ledger_remove(ledger, "db"), 0);
	assert_int_equal(free_of(ledger, 0), 8 * GIB);
}

/*
 * A pod that lacks memory is refused for that, even if its CPUs would have been the last
 * of the shared pool: with containers one by one, and with a budget.
 */
static void lack_of_memory_goes_before_the_last_shared_cpu(void **state)
{
	(void)state;
	for (int has_budget = 0; has_budget < 2; has_budget++) {
		struct topology *topology cleanup_topology = machine(2, 4, 8);
		struct policy policy = policy_of(ALIGN_BEST_EFFORT, ALIGN_SCOPE_POD);
		struct ledger *ledger cleanup_ledger = NULL;
		struct pod_spec *spec = pod_of("large", 7, 100);
		struct pod_spec *shares = scene_pod("shares");
		struct decision decision;

		policy.may_empty_shared_pool = false;
		ledger = scene_ledger(topology, &policy);
		add_container(shares, "main", CONTAINER_APP, 100, RESOURCE_UNSET);
		assert_true(admit_and_free(ledger, shares).admitted);
		if (has_budget) {
			set_budget(spec, 7);
			spec->request.memory_bytes = spec->limit.memory_bytes = 100 * GIB;
		}
		decision = admit_and_free(ledger, spec);
		assert_false(decision.admitted);
		assert_int_equal(decision.refusal, REFUSAL_MEMORY);
		assert_int_equal(decision.wanted, 100 * GIB);
	}
}

/* Restoring from the grants alone gives the state that was decided. */
static void restored(void **state)
{
	struct topology *topology cleanup_topology = machine(3, 4, 8);

	(void)state;
	for (int scope = 0; scope < ALIGN_SCOPE_NR; scope++) {
		struct policy policy = policy_of(ALIGN_RESTRICTED, (enum align_scope)scope);
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
		struct ledger *again cleanup_ledger = scene_ledger(topology, &policy);
		struct pod_spec *spec = pod_of("wide", 5, 10);
		char error[256] = "";

		ask(spec, "small", CONTAINER_APP, GIB / 2);
		assert_true(admit_and_free(ledger, database_pod()).admitted);
		assert_true(admit_and_free(ledger, spec).admitted);
		for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
			assert_int_equal(ledger_restore(again, ledger_pod_at(ledger, i), error,
							sizeof(error)),
					 0);
		assert_true(memory_state_equal(ledger_memory_manager(ledger),
					       ledger_memory_state(ledger),
					       ledger_memory_state(again)));
		assert_int_equal(ledger_remove(again, "wide"), 0);
		assert_int_equal(ledger_remove(again, "db"), 0);
		assert_int_equal(free_of(again, 0), 8 * GIB);
		assert_int_equal(ledger_memory_state(again)->nodes[2].nr_assignments, 0);
	}
}

/* A shared container comes first: with container scope it has no nodes. */
static struct pod_spec *sharing_pod(void)
{
	struct pod_spec *spec = scene_pod("sharing");

	set_budget(spec, 2);
	spec->request.memory_bytes = spec->limit.memory_bytes = 6 * GIB;
	add_container(spec, "exporter", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	ask(spec, "db", CONTAINER_APP, 4 * GIB);
	return spec;
}

/* A restart or reload with another scope affects new pods, but not running ones. */
static void restored_under_another_scope(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);

	(void)state;
	for (int scope = 0; scope < ALIGN_SCOPE_NR; scope++) {
		struct policy then = policy_of(ALIGN_RESTRICTED, (enum align_scope)scope);
		struct policy now = policy_of(ALIGN_RESTRICTED, (enum align_scope) !scope);
		struct ledger *before cleanup_ledger = scene_ledger(topology, &then);
		struct ledger *after cleanup_ledger = scene_ledger(topology, &now);
		char error[256] = "";

		assert_true(admit_and_free(before, sharing_pod()).admitted);
		assert_int_equal(free_of(before, 0), (scope == ALIGN_SCOPE_POD ? 2 : 4) * GIB);
		assert_int_equal(ledger_restore(after, ledger_find(before, "sharing"), error,
						sizeof(error)),
				 0);
		assert_true(memory_state_equal(ledger_memory_manager(before),
					       ledger_memory_state(before),
					       ledger_memory_state(after)));
	}
}

/*
 * A budget placed as one is charged whole, and one that was not only for its exclusive
 * containers. What is recorded tells which, whatever today's scope: a bubble, or the nodes of
 * a container that shares. Without either the scope is asked, which is the same here.
 */
static void a_budget_is_restored_as_it_was_placed(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);

	(void)state;
	for (unsigned int i = 0; i < 32; i++) {
		bool is_static = i & 1, in_parts = i & 2, shares = i & 4, tells;
		enum align_scope scope = i & 8 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		struct policy then = policy_of(ALIGN_RESTRICTED, scope), now;
		struct ledger *before cleanup_ledger = NULL, *after cleanup_ledger = NULL;
		struct pod_spec *spec = sharing_pod();
		char error[256] = "";

		then.cpu = is_static ? CPU_POLICY_STATIC : CPU_POLICY_NONE;
		then.cpu_options.strict_reservation = is_static;
		now = then;
		now.scope = i & 16 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		if (in_parts)
			spec->request.cpu_mcpu = spec->limit.cpu_mcpu = 2500;
		if (!shares)
			spec->containers[0] = spec->containers[--spec->nr_containers];
		tells = shares || (is_static && !in_parts);
		if (!tells)
			now.scope = scope;
		before = scene_ledger(topology, &then);
		after = scene_ledger(topology, &now);
		assert_true(admit_and_free(before, spec).admitted);
		assert_int_equal(free_of(before, 0), (scope == ALIGN_SCOPE_POD ? 2 : 4) * GIB);
		assert_int_equal(ledger_restore(after, ledger_find(before, "sharing"), error,
						sizeof(error)),
				 0);
		if (!memory_state_equal(ledger_memory_manager(before), ledger_memory_state(before),
					ledger_memory_state(after)))
			fail_msg("case %u: %llu bytes are free", i,
				 (unsigned long long)free_of(after, 0));
		for (uint32_t j = 0; j < ledger_find(after, "sharing")->nr_grants; j++)
			assert_int_equal(mems_of(after, "sharing", j),
					 mems_of(before, "sharing", j));
	}
}

/* Less memory than at admission: the pod continues and its record says what happened. */
static void restored_with_less_memory(void **state)
{
	struct topology *large cleanup_topology = machine(2, 4, 8);
	struct topology *small cleanup_topology = machine(2, 4, 4);
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *before cleanup_ledger = scene_ledger(large, &policy);
	struct ledger *after cleanup_ledger = scene_ledger(small, &policy);
	char error[256] = "";

	(void)state;
	assert_true(admit_and_free(before, pod_of("a", 1, 6)).admitted);
	assert_int_equal(ledger_restore(after, ledger_find(before, "a"), error, sizeof(error)), 0);
	assert_int_equal(mems_of(after, "a", 0), 3);
	assert_non_null(strstr(ledger_find(after, "a")->detail, "extended"));
	assert_true(admit_and_free(before, pod_of("b", 1, 8)).admitted);
	assert_int_equal(ledger_restore(after, ledger_find(before, "b"), error, sizeof(error)), 0);
	assert_int_equal(mems_of(after, "b", 0), 0);
	assert_non_null(strstr(ledger_find(after, "b")->detail, "dropped"));
}

static void kernel_lacks_pages(void **state)
{
	struct topology *topology cleanup_topology = machine(1, 4, 8);
	struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct topology_node now = topology->memory_nodes[0];
	struct pod_spec *spec = pod_of("a", 1, 1);
	struct decision decision;

	(void)state;
	ask_pages(&spec->containers[0], PAGE_2M, GIB / 2);
	now.hugepages[0].free_pages = 10;
	ledger_set_kernel_free(ledger, &now, 1);
	decision = admit_and_free(ledger, spec);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_HUGEPAGES);
	assert_non_null(strstr(decision.message, "asks for 536870912 bytes of hugepages-2Mi"));
	assert_non_null(strstr(decision.message, "has 1073741824 bytes not granted"));
	assert_non_null(strstr(decision.message, "the kernel has 20971520 bytes free"));
	assert_null(strstr(decision.message, "in use:"));
}

/* Enough is free, but not on nodes that may be combined: the message says how they are used. */
static void the_rule_of_groups_is_told(void **state)
{
	struct topology *topology cleanup_topology = machine(6, 4, 8);
	struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	const char *in_use = "; a node serves either requests that need no other node or one fixed "
			     "group of nodes; in use:";
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("first", 1, 12)).admitted);
	assert_true(admit_and_free(ledger, pod_of("second", 1, 12)).admitted);
	assert_true(admit_and_free(ledger, pod_of("alone", 1, 5)).admitted);
	/* 4 + 4 + 3 + 8 GiB are free, and the last node is not in use. */
	decision = admit_and_free(ledger, pod_of("large", 1, 19));
	assert_int_equal(decision.refusal, REFUSAL_MEMORY);
	assert_int_equal(decision.available, 19 * GIB);
	assert_non_null(strstr(decision.message, in_use));
	assert_string_equal(strstr(decision.message, in_use) + strlen(in_use),
			    " 8 alone 0,2 as one group 4,6 as one group");
	/* More than is free needs no rule to be refused. */
	decision = admit_and_free(ledger, pod_of("larger", 1, 20));
	assert_int_equal(decision.refusal, REFUSAL_MEMORY);
	assert_null(strstr(decision.message, in_use));
}

/* Groups are told by their first node, also if they interleave. */
static void groups_that_interleave(void **state)
{
	struct topology *topology cleanup_topology = machine(4, 4, 8);
	struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 5)).admitted);
	assert_true(admit_and_free(ledger, pod_of("b", 1, 5)).admitted);
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_true(admit_and_free(ledger, pod_of("c", 1, 12)).admitted);
	assert_int_equal(mems_of(ledger, "c", 0), 0x5);
	assert_int_equal(ledger_remove(ledger, "b"), 0);
	assert_true(admit_and_free(ledger, pod_of("d", 1, 12)).admitted);
	assert_int_equal(mems_of(ledger, "d", 0), 0xa);
	decision = admit_and_free(ledger, pod_of("large", 1, 5));
	assert_int_equal(decision.refusal, REFUSAL_MEMORY);
	assert_non_null(strstr(decision.message, "in use: 0,4 as one group 2,6 as one group"));
}

/* More groups than a sentence has room for: it is cut, and says the same up to there. */
static void a_long_sentence_is_cut(void **state)
{
	struct topology *topology cleanup_topology = machine(64, 4, 8);
	struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	char groups[2 * DECISION_TEXT_MAX] = "in use:";
	struct decision decision;
	const char *said;

	(void)state;
	for (uint32_t i = 0; i < 32; i++) {
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", i);
		assert_true(admit_and_free(ledger, pod_of(uid, 1, 12)).admitted);
		snprintf(groups + strlen(groups), sizeof(groups) - strlen(groups),
			 " %u,%u as one group", i * 4, i * 4 + 2);
	}
	decision = admit_and_free(ledger, pod_of("large", 1, 9));
	assert_int_equal(decision.refusal, REFUSAL_MEMORY);
	assert_int_equal(strlen(decision.message), DECISION_TEXT_MAX - 1);
	said = strstr(decision.message, "in use:");
	assert_non_null(said);
	assert_int_equal(strncmp(said, groups, strlen(said)), 0);
}

/* The rule of groups is the reason only if the kernel has enough pages as well. */
static void the_kernel_lacks_pages_before_the_rule(void **state)
{
	(void)state;
	for (uint64_t missing = 0; missing < 2; missing++) {
		struct topology *topology cleanup_topology = machine(2, 4, 8);
		struct policy policy = policy_of(ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
		struct topology_node now[] = {topology->memory_nodes[0], topology->memory_nodes[1]};
		struct pod_spec *spec = pod_of("p", 1, 1);
		struct decision decision;

		assert_true(admit_and_free(ledger, pod_of("a", 1, 5)).admitted);
		assert_true(admit_and_free(ledger, pod_of("b", 1, 5)).admitted);
		ask_pages(&spec->containers[0], PAGE_2M, 3 * GIB / 2);
		now[0].hugepages[0].free_pages = 512;
		now[1].hugepages[0].free_pages = 256 - missing;
		ledger_set_kernel_free(ledger, now, 2);
		decision = admit_and_free(ledger, spec);
		assert_int_equal(decision.refusal, missing ? REFUSAL_HUGEPAGES : REFUSAL_MEMORY);
		assert_int_equal(!strstr(decision.message, "in use: 0,2 alone"), missing);
	}
}

/* On more than 16 nodes too, nodes that have the CPUs but not the memory are not a choice. */
static void many_nodes_of_which_one_lacks_memory(void **state)
{
	struct topology *topology cleanup_topology = machine(20, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("first", 1, 5)).admitted);
	assert_int_equal(mems_of(ledger, "first", 0), 1);
	assert_true(admit_and_free(ledger, pod_of("second", 1, 5)).admitted);
	assert_int_equal(mems_of(ledger, "second", 0), 2);
}

/* More CPUs than the machine has: the memory that would fit must not give them any nodes. */
static void many_nodes_without_the_cpus(void **state)
{
	struct topology *topology cleanup_topology = machine(20, 4, 8);
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct decision decision;

	(void)state;
	decision = admit_and_free(ledger, pod_of("p", 80, 5));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_int_equal(decision.wanted, 80);
	assert_int_equal(decision.available, 79);
	assert_int_equal(decision.trace.providers[0].opinion, TRACE_IMPOSSIBLE);
}

/* Node 0 has enough CPUs, and node 1 has enough memory. */
static void nothing_in_common(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 7)).admitted);
	assert_true(admit_and_free(ledger, pod_of("b", 3, 2)).admitted);
	assert_int_equal(mems_of(ledger, "b", 0), 2);
	decision = admit_and_free(ledger, pod_of("c", 2, 3));
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(
		decision.message,
		"topologyManagerPolicy single-numa-node: container main asks for 2 exclusive "
		"CPUs and 3221225472 bytes of memory; each alone would fit, but no nodes have "
		"both: the CPUs are on NUMA node 0, which does not have enough memory free");
	assert_string_equal(decision.container, "main");
	assert_true(decision.is_both && decision.is_memory);
	assert_int_equal(decision.wanted, 3 * GIB);
	/*
	 * Either the memory left on the node with the CPUs, or the CPUs left on the node
	 * with the memory.
	 */
	assert_int_equal(decision.change.kind, CHANGE_CONTAINER_MEMORY);
	assert_int_equal(decision.change.bytes, GIB);
	assert_int_equal(decision.others[0].kind, CHANGE_CONTAINER_CPUS);
	assert_int_equal(decision.others[0].cpus, 1);
}

/*
 * On more than 16 nodes each provider lists a few sets only. 12 CPUs and 20 GiB need three nodes.
 * These are the nodes that get them; 0 = refused.
 */
static node_mask_t three_of_many(const int64_t gib[20], const char *reserved)
{
	int64_t bytes[20];
	struct topology *topology cleanup_topology = NULL;
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = NULL;
	const struct grant *grant;

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		bytes[i] = gib[i] * GIB;
	topology = memory_machine_with(20, 4, 1, bytes);
	policy.reserved_list = cpus_of(reserved);
	ledger = scene_ledger(topology, &policy);
	if (!admit_and_free(ledger, pod_of("p", 12, 20)).admitted)
		return 0;
	grant = &ledger_find(ledger, "p")->grants[0];
	assert_int_equal(grant->affinity.nodes, grant->mems);
	return grant->mems;
}

/* As above, but the last type that the container asks for is not the one that is short. */
static void the_type_that_is_short_is_named(void **state)
{
	struct topology *topology cleanup_topology = machine(2, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct pod_spec *spec = pod_of("c", 2, 3);

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("a", 1, 7)).admitted);
	assert_true(admit_and_free(ledger, pod_of("b", 3, 2)).admitted);
	ask_pages(&spec->containers[0], PAGE_2M, GIB / 2);
	assert_string_equal(
		admit_and_free(ledger, spec).message,
		"topologyManagerPolicy single-numa-node: container main asks for 2 exclusive "
		"CPUs and 3221225472 bytes of memory, 536870912 bytes of hugepages-2Mi; each "
		"alone would fit, but no nodes have both: the CPUs are on NUMA node 0, which does "
		"not have enough memory free");
}

/* Node 0 is short of memory, node 2 of pages, and node 4 has no CPUs left. */
static void no_type_is_short_everywhere(void **state)
{
	struct topology *topology cleanup_topology = machine(3, 4, 8);
	struct policy policy = policy_of(ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct pod_spec *pages = pod_of("b", 1, 2), *spec = pod_of("d", 2, 3);
	struct decision decision;

	(void)state;
	ask_pages(&pages->containers[0], PAGE_2M, GIB);
	ask_pages(&spec->containers[0], PAGE_2M, GIB / 2);
	assert_true(admit_and_free(ledger, pod_of("a", 1, 7)).admitted);
	assert_true(admit_and_free(ledger, pages).admitted);
	assert_int_equal(mems_of(ledger, "b", 0), 2);
	assert_true(admit_and_free(ledger, pod_of("c", 4, 2)).admitted);
	assert_int_equal(mems_of(ledger, "c", 0), 4);
	decision = admit_and_free(ledger, spec);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_true(decision.is_both);
	assert_string_equal(
		decision.message,
		"topologyManagerPolicy single-numa-node: container main asks for 2 exclusive "
		"CPUs and 3221225472 bytes of memory, 536870912 bytes of hugepages-2Mi; each "
		"alone would fit, but no nodes have both");
}

static void a_set_that_only_one_provider_lists_is_found(void **state)
{
	int64_t gib[20] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};

	(void)state;
	/* The memory manager begins with node 0, which has only three CPUs. */
	assert_int_equal(three_of_many(gib, "0"), 0xe);
	/* The CPU manager lists nodes 0 to 2, but node 1 has little memory. */
	gib[1] = 1;
	assert_int_equal(three_of_many(gib, "79"), 0xd);
}

static void what_neither_provider_accepts_is_refused(void **state)
{
	/* Only nodes 0, 2 and 3 have the memory, and they have 11 CPUs. */
	static const int64_t gib[20] = {8, 1, 8, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

	(void)state;
	assert_int_equal(three_of_many(gib, "0"), 0);
	assert_int_equal(three_of_many(gib, "79"), 0xd);
}

/* These CPUs, and so many nodes of 8 GiB. */
static struct topology *machine_of(struct topology_cpu *cpus, uint32_t nr_cpus, uint32_t nr_nodes)
{
	struct topology_node nodes[20];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cpus,
		.nodes = nodes,
		.nr_nodes = nr_nodes,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology;
	char error[256] = "";

	for (uint32_t i = 0; i < nr_nodes; i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = 8 * GIB};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* The two CPUs fit on one node and the memory takes two: one without CPUs does not help. */
static void many_nodes_of_which_one_has_no_cpus(void **state)
{
	struct topology_cpu cpus[68];
	struct topology *topology cleanup_topology = NULL;
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = NULL;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = 1 + i / 4, .socket = i / 4, .uncore = i / 4};
	topology = machine_of(cpus, ARRAY_SIZE(cpus), 18);
	policy.reserved_list = cpus_of("67");
	ledger = scene_ledger(topology, &policy);
	assert_false(admit_and_free(ledger, pod_of("p", 2, 12)).admitted);
	assert_true(admit_and_free(ledger, pod_of("p", 2, 6)).admitted);
}

/*
 * Two sockets of 10 nodes of 4 CPUs: 2 are free on nodes 1 and 2, and 1 on the others. Aligned by
 * socket, nodes 1 and 2 are as good as one node that had 4, and the memory takes two.
 */
static void many_nodes_aligned_by_socket(void **state)
{
	struct topology_cpu cpus[80];
	struct topology *topology cleanup_topology = NULL;
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = NULL;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		const uint32_t node = i / 4;

		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = node, .socket = node / 10, .uncore = node};
		if (i % 4 < (node == 1 || node == 2 ? 2 : 3))
			cpuset_add(&policy.reserved_list, i);
	}
	topology = machine_of(cpus, ARRAY_SIZE(cpus), 20);
	policy.cpu_options.align_by_socket = true;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, pod_of("p", 4, 12)).admitted);
	assert_int_equal(mems_of(ledger, "p", 0), 0x6);
}

/* Both providers name only a few of the sets here, and must still find a common one. */
static void sixty_four_nodes(void **state)
{
	struct topology *topology cleanup_topology = machine(64, 4, 8);
	struct policy policy = policy_of(ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	const struct grant *grant;
	struct decision decision;

	(void)state;
	assert_true(admit_and_free(ledger, pod_of("one", 2, 6)).admitted);
	assert_true(admit_and_free(ledger, pod_of("few", 12, 20)).admitted);
	grant = &ledger_find(ledger, "few")->grants[0];
	assert_int_equal(__builtin_popcountll(grant->mems), 3);
	assert_int_equal(grant->affinity.nodes, grant->mems);
	/* CPU 0 is reserved, and the two pods have 14. */
	decision = admit_and_free(ledger, pod_of("all", 256, 5));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_int_equal(decision.available, 256 - 1 - 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_node_for_both),
		cmocka_unit_test(refused_for_memory),
		cmocka_unit_test(no_policy_needs_no_alignment),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(refused_change),
		cmocka_unit_test(first_failure_is_the_first_containers),
		cmocka_unit_test(budget_on_one_node),
		cmocka_unit_test(lack_of_memory_goes_before_the_last_shared_cpu),
		cmocka_unit_test(restored),
		cmocka_unit_test(restored_under_another_scope),
		cmocka_unit_test(a_budget_is_restored_as_it_was_placed),
		cmocka_unit_test(restored_with_less_memory),
		cmocka_unit_test(kernel_lacks_pages),
		cmocka_unit_test(the_rule_of_groups_is_told),
		cmocka_unit_test(groups_that_interleave),
		cmocka_unit_test(a_long_sentence_is_cut),
		cmocka_unit_test(the_kernel_lacks_pages_before_the_rule),
		cmocka_unit_test(many_nodes_of_which_one_lacks_memory),
		cmocka_unit_test(many_nodes_without_the_cpus),
		cmocka_unit_test(nothing_in_common),
		cmocka_unit_test(the_type_that_is_short_is_named),
		cmocka_unit_test(no_type_is_short_everywhere),
		cmocka_unit_test(a_set_that_only_one_provider_lists_is_found),
		cmocka_unit_test(what_neither_provider_accepts_is_refused),
		cmocka_unit_test(many_nodes_of_which_one_has_no_cpus),
		cmocka_unit_test(many_nodes_aligned_by_socket),
		cmocka_unit_test(sixty_four_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
