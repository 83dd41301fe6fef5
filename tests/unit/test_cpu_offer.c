// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Hints of the CPU manager: the brief list gives the same result as the complete one, on
 * random machines and free sets. PINFOLD_STEPS and PINFOLD_SEED as in the property run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>

#include "chance.h"

static struct alignment merge(const struct topology *topology, enum align_policy policy,
			      const struct hint *hints, uint32_t nr)
{
	static const struct hint impossible = HINT_IMPOSSIBLE;
	struct hint_list list = {nr ? nr : 1, nr ? hints : &impossible};
	struct align_problem problem = {
		.policy = policy, .nr_nodes = topology->nodes.nr, .nr_lists = 1, .lists = &list};
	struct alignment alignment;

	assert_int_equal(align_merge(&problem, &alignment), 0);
	return alignment;
}

static void assert_same_decisions(const struct topology *topology, const struct cpu_offer *offer)
{
	struct hint brief[CPU_BRIEF_MAX], *hints cleanup_free = NULL;
	uint32_t nr, nr_brief = cpu_offer_brief(offer, brief);

	assert_true(nr_brief <= CPU_BRIEF_MAX);
	assert_int_equal(cpu_offer_list(offer, &hints, &nr), 0);
	for (enum align_policy policy = ALIGN_BEST_EFFORT; policy < ALIGN_NR; policy++) {
		struct alignment whole = merge(topology, policy, hints, nr);
		struct alignment few = merge(topology, policy, brief, nr_brief);

		assert_int_equal(few.admitted, whole.admitted);
		assert_int_equal(few.hint.preferred, whole.hint.preferred);
		assert_int_equal(few.hint.any, whole.hint.any);
		if (!whole.hint.any)
			assert_int_equal(few.hint.nodes, whole.hint.nodes);
	}
}

static void brief_list_decides_like_all(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", 20000) / 10;
	struct chance chance = {seed};

	printf("seed %llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < nr_steps; i++) {
		struct topology *topology cleanup_topology = chance_machine(&chance);
		struct policy policy = chance_policy(&chance, topology);
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
		uint32_t cpus = 1 + chance_below(&chance, topology->num_cpus);
		struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", cpus);
		struct cpu_reuse reuse = {.uid = "p"};
		struct ledger_pod *pod;
		struct cpu_offer offer;

		assert_int_equal(ledger_begin(ledger), 0);
		pod = ledger_new_pod(ledger, spec);
		assert_non_null(pod);
		cpuset_for_each (cpu, &topology->all) {
			if (chance_percent(&chance, 50))
				cpuset_remove(ledger_edit_shared_pool(ledger), cpu);
			else if (chance_percent(&chance, 3))
				cpuset_add(&reuse.cpus, cpu);
		}
		policy.cpu_options.align_by_socket = false;
		cpu_offer_container(ledger_cpu_manager(ledger), ledger_shared_pool(ledger), pod, 0,
				    &reuse, &offer);
		assert_same_decisions(topology, &offer);
		ledger_abort(ledger);
	}
}

static void too_wide_for_one_node(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(4, 1, 2, 1);
	struct policy policy = strict_policy("0");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 4);
	struct cpu_reuse reuse = {.uid = ""};
	struct hint *hints cleanup_free = NULL;
	struct cpu_offer offer;
	uint32_t nr;

	assert_int_equal(ledger_begin(ledger), 0);
	cpu_offer_container(ledger_cpu_manager(ledger), ledger_shared_pool(ledger),
			    ledger_new_pod(ledger, spec), 0, &reuse, &offer);
	ledger_abort(ledger);
	assert_int_equal(offer.min_nodes, 2);
	assert_int_equal(cpu_offer_list(&offer, &hints, &nr), 0);
	/* of six pairs the three without node 0, which has one CPU; four triples; all */
	assert_int_equal(nr, 8);
	assert_int_equal(hints[0].nodes, 0x6);
	assert_true(hints[0].preferred);
	assert_int_equal(hints[3].nodes, 0x7);
	assert_false(hints[3].preferred);
}

/*
 * align-by-socket with more nodes than are all listed: no two nodes have six CPUs, and
 * the first three that have lie in three sockets. One socket as a whole has them, which
 * is as good as two nodes.
 */
static void a_socket_of_many_nodes(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(5, 4, 4, 1);
	struct policy policy = strict_policy("");
	struct ledger *ledger cleanup_ledger = NULL;
	struct decision decision;

	(void)state;
	assert_true(topology->nodes.nr > CPU_LIST_NODES);
	policy.cpu_options.align_by_socket = true;
	policy.align = ALIGN_RESTRICTED;
	policy.max_nodes = 64;
	policy.may_empty_shared_pool = true;
	/* Each node offers one CPU, but those of the third socket and two others two. */
	for (uint32_t cpu = 0; cpu < topology->num_cpus; cpu++) {
		uint32_t node = cpu / 4;
		bool offers_two = node / 4 == 2 || node == 0 || node == 4;

		if (cpu % 4 < (offers_two ? 2 : 3))
			cpuset_add(&policy.reserved_list, cpu);
	}
	ledger = scene_ledger(topology, &policy);
	decision = admit_and_free(ledger, guaranteed_pod("wide", 6));
	assert_true(decision.admitted);
	assert_int_equal(ledger_find(ledger, "wide")->grants[0].affinity.nodes, 0xf00);
	/* No socket has that many CPUs any more. */
	decision = admit_and_free(ledger, guaranteed_pod("again", 6));
	assert_false(decision.admitted);
	assert_string_equal(decision.reason, "TopologyAffinityError");
}

struct asking {
	struct topology *topology;
	struct policy policy;
	struct cpu_manager manager;
	struct cpu_offer offer;
};

/* What a container of "p" is offered if these CPUs are shared and its pod left `reusable`. */
static void ask_for(struct asking *asking, uint32_t cpus, const char *shared, const char *reusable)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", cpus);
	struct grant grant = {.kind = CONTAINER_APP, .cpus = &cpuset_none};
	struct ledger_pod pod = {
		.spec = spec, .qos = QOS_GUARANTEED, .nr_grants = 1, .grants = &grant};
	struct cpu_reuse reuse = {.uid = "p", .cpus = cpus_of(reusable)};
	struct cpuset pool = cpus_of(shared);
	char error[256] = "";

	if (cpu_manager_init(&asking->manager, asking->topology, &asking->policy, error,
			     sizeof(error)))
		fail_msg("%s", error);
	cpu_offer_container(&asking->manager, &pool, &pod, 0, &reuse, &asking->offer);
}

static bool has_hint(const struct hint *hints, uint32_t nr, node_mask_t nodes, bool preferred)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (hints[i].nodes == nodes && hints[i].preferred == preferred)
			return true;
	}
	return false;
}

static bool brief_has(const struct asking *asking, node_mask_t nodes, bool preferred)
{
	struct hint hints[CPU_BRIEF_MAX];
	uint32_t nr = cpu_offer_brief(&asking->offer, hints);

	return has_hint(hints, nr, nodes, preferred);
}

/* Reusable CPUs that are also free count twice, so a node may seem to have what it lacks. */
static void reusable_cpus_decide_the_nodes(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 4, 8, 1);
	struct asking asking = {.topology = topology, .policy = strict_policy("31")};

	(void)state;
	ask_for(&asking, 10, "0-30", "0-7");
	assert_int_equal(asking.offer.min_nodes, 2);
	assert_true(brief_has(&asking, 0x1, false));
	assert_true(brief_has(&asking, 0x3, true));
	/* Both nodes of the reusable CPUs are part of every hint, and they suffice. */
	ask_for(&asking, 10, "8-30", "7-8");
	assert_true(brief_has(&asking, 0x3, true));
	ask_for(&asking, 10, "9-30", "7-8");
	assert_true(brief_has(&asking, 0x7, false));
	/* Only all nodes together have six CPUs, although one would be preferred. */
	ask_for(&asking, 6, "0,8,16-17,24-25", "");
	assert_true(brief_has(&asking, 0xf, false));
}

static void sixty_four_nodes(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 32, 2, 1);
	struct asking asking = {.topology = topology, .policy = strict_policy("0")};

	(void)state;
	ask_for(&asking, 127, "1-127", "");
	assert_int_equal(asking.offer.min_nodes, 64);
	assert_true(brief_has(&asking, ~(node_mask_t)0, true));
	/* With align-by-socket a whole socket is as good as the fewest nodes. */
	asking.policy.cpu_options.align_by_socket = true;
	ask_for(&asking, 40, "1-127", "");
	assert_int_equal(asking.offer.min_nodes, 20);
	assert_true(brief_has(&asking, 0xffffffff, true));
	assert_true(brief_has(&asking, (node_mask_t)0xffffffff << 32, true));
	/* The kubelet derives the nodes per socket from two counts, one of which may be 0. */
	topology->num_sockets = 0;
	ask_for(&asking, 40, "1-127", "");
	assert_int_equal(asking.offer.min_sockets, 0);
}

/* All sets are listed up to 16 nodes, and none without an offer. */
static void lists_are_complete_up_to_sixteen_nodes(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 16, 2, 1);
	struct asking asking = {.topology = topology, .policy = strict_policy("0")};
	struct hint *hints = NULL, unused;
	uint32_t nr = 0;

	(void)state;
	ask_for(&asking, 1, "0-31", "");
	assert_int_equal(cpu_offer_list(&asking.offer, &hints, &nr), 0);
	assert_int_equal(nr, (1 << 16) - 1);
	free(hints);
	asking.policy.cpu = CPU_POLICY_NONE;
	ask_for(&asking, 1, "0-31", "");
	assert_int_equal(asking.offer.opinion, CPU_NO_OPINION);
	assert_false(cpu_offer_has(&asking.offer, 1));
	hints = &unused;
	assert_int_equal(cpu_offer_list(&asking.offer, &hints, &nr), 0);
	assert_null(hints);
	assert_int_equal(nr, 0);
}

/* Without the static policy there is no bubble to be aligned, however large the budget. */
static void no_opinion_without_the_static_policy(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 2, 4, 1);
	struct policy policy = strict_policy("0");
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 1);
	struct grant grant = {.kind = CONTAINER_APP, .cpus = &cpuset_none};
	struct ledger_pod pod = {
		.spec = spec, .qos = QOS_GUARANTEED, .nr_grants = 1, .grants = &grant};
	struct cpu_reuse reuse = {.uid = ""};
	struct cpuset shared = cpus_of("1-7");
	struct cpu_manager manager;
	struct cpu_offer offer;
	char error[256] = "";

	(void)state;
	set_budget(spec, 2);
	assert_int_equal(cpu_manager_init(&manager, topology, &policy, error, sizeof(error)), 0);
	cpu_offer_pod(&manager, &shared, &pod, &reuse, &offer);
	assert_int_equal(offer.opinion, CPU_OFFERS);
	assert_int_equal(offer.request, 2);
	policy.cpu = CPU_POLICY_NONE;
	cpu_offer_pod(&manager, &shared, &pod, &reuse, &offer);
	assert_int_equal(offer.opinion, CPU_NO_OPINION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brief_list_decides_like_all),
		cmocka_unit_test(a_socket_of_many_nodes),
		cmocka_unit_test(too_wide_for_one_node),
		cmocka_unit_test(reusable_cpus_decide_the_nodes),
		cmocka_unit_test(sixty_four_nodes),
		cmocka_unit_test(lists_are_complete_up_to_sixteen_nodes),
		cmocka_unit_test(no_opinion_without_the_static_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
