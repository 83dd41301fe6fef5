// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Admission of whole pods: grants, refusals, and suggestions that are then applied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

#include <errno.h>

struct node {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static void free_node(struct node *node)
{
	ledger_free(node->ledger);
	topology_free(node->topology);
	free(node);
}
DEFINE_CLEANUP(struct node, free_nodep, free_node);
#define cleanup_node cleanup(free_nodep)

static struct node *make_node(struct topology *topology, struct policy policy)
{
	struct node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	node->topology = topology;
	node->policy = policy;
	node->ledger = scene_ledger(topology, &node->policy);
	return node;
}

/* 8 CPUs: cores 0/4 1/5 2/6 3/7, one node, CPU 0 and 4 reserved. */
static struct node *small_node(void)
{
	return make_node(scene_machine(1, 1, 4, 2), strict_policy("0,4"));
}

static const struct grant *grant_of(const struct node *node, const char *uid, const char *name)
{
	const struct ledger_pod *pod = ledger_find(node->ledger, uid);

	assert_non_null(pod);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!strcmp(pod->grants[i].container, name))
			return &pod->grants[i];
	}
	fail_msg("no container %s", name);
	return NULL;
}

static void assert_grant(const struct node *node, const char *uid, const char *name,
			 enum isolation isolation, const char *cpus)
{
	const struct grant *grant = grant_of(node, uid, name);

	assert_int_equal(grant->isolation, isolation);
	assert_cpus(&grant->cpus, cpus);
}

/*
 * The pod is refused, nothing changes, and the suggestion is of this kind and works when
 * applied.
 */
static void assert_refused(struct node *node, struct pod_spec *spec, enum refusal refusal,
			   const char *reason, enum change_kind kind)
{
	struct cpuset before = *ledger_shared_pool(node->ledger);
	uint32_t nr_before = ledger_nr_pods(node->ledger);
	struct decision decision;

	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, refusal);
	assert_string_equal(decision.reason, reason);
	assert_true(decision.message[0]);
	assert_true(cpuset_equal(ledger_shared_pool(node->ledger), &before));
	assert_int_equal(ledger_nr_pods(node->ledger), nr_before);
	assert_sound(node->ledger);
	assert_int_equal(decision.change.kind, kind);
	assert_int_equal(decision.suggestion[0] != 0, kind != CHANGE_NONE);
	if (kind == CHANGE_NONE)
		return;
	if (kind == CHANGE_POD_LEAVES)
		assert_int_equal(ledger_remove(node->ledger, decision.change.uid), 0);
	change_apply(&decision.change, spec);
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	if (!decision.admitted)
		fail_msg("suggestion did not work: %s", decision.message);
	assert_sound(node->ledger);
}

static void example_machine(void **state)
{
	/* node 0 = CPUs 0-15,32-47 */
	struct node *node cleanup_node =
		make_node(scene_machine(2, 1, 16, 2), strict_policy("0,32,1,33,16,48"));

	assert_cpus(ledger_shared_pool(node->ledger), "2-15,17-31,34-47,49-63");
	assert_true(admit_and_free(node->ledger, guaranteed_pod("db", 6)).admitted);
	assert_true(admit_and_free(node->ledger, burstable_pod("web")).admitted);
	assert_grant(node, "db", "main", ISOLATION_CONTAINER, "2-4,34-36");
	assert_grant(node, "web", "main", ISOLATION_HOST, "");
	assert_cpus(ledger_effective(node->ledger, grant_of(node, "web", "main")),
		    "5-15,17-31,37-47,49-63");
}

static void only_whole_guaranteed_requests_are_exclusive(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec = scene_pod("mixed");

	add_container(spec, "half", CONTAINER_APP, 500, 500);
	add_container(spec, "two", CONTAINER_APP, 2000, 2000);
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_grant(node, "mixed", "half", ISOLATION_HOST, "");
	assert_grant(node, "mixed", "two", ISOLATION_CONTAINER, "1,5");
	spec = scene_pod("burst");
	add_container(spec, "two", CONTAINER_APP, 2000, 3000);
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_grant(node, "burst", "two", ISOLATION_HOST, "");
}

static void init_containers_lend_and_sidecars_keep(void **state)
{
	struct node *node cleanup_node = make_node(scene_machine(1, 1, 8, 2), strict_policy("0,8"));
	struct pod_spec *spec = scene_pod("p");

	add_container(spec, "setup", CONTAINER_INIT, 4000, 4000);
	add_container(spec, "side", CONTAINER_SIDECAR, 2000, 2000);
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_grant(node, "p", "setup", ISOLATION_CONTAINER, "1-2,9-10");
	assert_grant(node, "p", "side", ISOLATION_CONTAINER, "1,9");
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "2,10");
	assert_int_equal(cpuset_count(&ledger_find(node->ledger, "p")->held), 4);
}

/* F13: the init container leaves CPUs 1 and 5; CPU 4 would suffice too and comes first. */
static void init_cpus_are_taken_first(void **state)
{
	for (int i = 0; i < COMPATIBILITY_NR; i++) {
		struct policy policy = policy_default();
		struct node *node cleanup_node = NULL;
		struct pod_spec *spec = scene_pod("p");
		bool improved = i == COMPATIBILITY_IMPROVED;

		policy.compatibility = (enum compatibility)i;
		policy.has_reserved_list = true;
		policy.reserved_list = cpus_of("0");
		node = make_node(scene_machine(1, 1, 4, 2), policy);
		add_container(spec, "setup", CONTAINER_INIT, 2000, 2000);
		add_container(spec, "main", CONTAINER_APP, 1000, 1000);
		assert_true(admit_and_free(node->ledger, spec).admitted);
		assert_grant(node, "p", "setup", ISOLATION_CONTAINER, "1,5");
		assert_grant(node, "p", "main", ISOLATION_CONTAINER, improved ? "1" : "4");
		assert_int_equal(cpuset_count(&ledger_find(node->ledger, "p")->held),
				 improved ? 2 : 3);
	}
}

/* F13: the kubelet does not consider that an app container may use its init container's cores. */
static void init_cores_count_as_free(void **state)
{
	struct policy policy = strict_policy("0,4");
	struct node *node cleanup_node = NULL;
	struct pod_spec *spec = scene_pod("p");

	policy.cpu_options.full_pcpus_only = true;
	policy.compatibility = COMPATIBILITY_IMPROVED;
	node = make_node(scene_machine(1, 1, 4, 2), policy);
	add_container(spec, "setup", CONTAINER_INIT, 6000, 6000);
	add_container(spec, "main", CONTAINER_APP, 4000, 4000);
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "1-2,5-6");
}

static void readmission_is_idempotent(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 2);
	struct decision decision;

	node->policy.cpu_options.full_pcpus_only = true;
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_true(decision.admitted);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("q", 4)).admitted);
	/* Nothing is free now, but a running pod must not be refused because of that (F7). */
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_true(decision.admitted);
	assert_string_equal(decision.message, "pod is admitted already and holds 2 exclusive CPUs");
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "1,5");
	/* It runs again, whatever was recorded about its end. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ledger_set_state(node->ledger, "p",
						  i < 2 ? POD_ENDING : POD_RUNNING,
						  i ? "file removed" : NULL),
				 0);
		assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
		assert_int_equal(ledger_find(node->ledger, "p")->state, POD_RUNNING);
		assert_string_equal(ledger_find(node->ledger, "p")->detail, "");
	}
}

static void changed_spec_replaces_or_stays(void **state)
{
	struct node *node cleanup_node = small_node();
	struct decision decision;

	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 4)).admitted);
	/* Fits only because its own four CPUs are released first. */
	assert_true(admit_and_free(node->ledger, guaranteed_pod("p", 6)).admitted);
	assert_int_equal(ledger_nr_pods(node->ledger), 1);
	decision = admit_and_free(node->ledger, guaranteed_pod("p", 7));
	assert_false(decision.admitted);
	assert_int_equal(decision.wanted, 7);
	assert_int_equal(decision.available, 6);
	assert_grant(node, "p", "main", ISOLATION_CONTAINER, "1-3,5-7");
	assert_int_equal(ledger_find(node->ledger, "p")->spec->containers[0].request.cpu_mcpu,
			 6000);
}

static void prepare_leaves_the_transaction_open(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("p", 2);
	struct pod_spec *large cleanup_pod_spec = guaranteed_pod("q", 20);
	struct decision decision;

	assert_int_equal(admit_prepare(node->ledger, spec, &decision), 0);
	assert_true(decision.admitted);
	assert_string_equal(decision.message, "Guaranteed pod holds 2 exclusive CPUs; 4 CPUs stay "
					      "in the shared pool");
	assert_int_equal(decision.wanted, -1);
	assert_int_equal(decision.available, -1);
	assert_int_equal(admit_prepare(node->ledger, large, &decision), -EBUSY);
	/* A failure does not end the transaction that somebody else has open. */
	assert_true(decision.admitted);
	assert_int_equal(admit_pod(node->ledger, large, &decision), -EBUSY);
	assert_int_equal(ledger_begin(node->ledger), -EBUSY);
	ledger_abort(node->ledger);
	assert_int_equal(ledger_nr_pods(node->ledger), 0);
	assert_int_equal(admit_prepare(node->ledger, large, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(ledger_begin(node->ledger), 0);
	ledger_abort(node->ledger);
}

static void refusal_leaves_no_partial_grant(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	add_container(spec, "one", CONTAINER_APP, 4000, 4000);
	add_container(spec, "two", CONTAINER_APP, 4000, 4000);
	assert_refused(node, spec, REFUSAL_CPUS, "UnexpectedAdmissionError", CHANGE_CONTAINER_CPUS);
	assert_grant(node, "p", "two", ISOLATION_CONTAINER, "3,7");
}

static void suggests_which_pod_should_leave(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("late", 2);

	assert_true(admit_and_free(node->ledger, guaranteed_pod("large", 4)).admitted);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("small", 2)).admitted);
	assert_refused(node, spec, REFUSAL_CPUS, "UnexpectedAdmissionError", CHANGE_POD_LEAVES);
	assert_null(ledger_find(node->ledger, "small"));
}

static void suggests_nothing_that_does_not_work(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");

	/* 8 containers with one CPU each: reducing a single one does not help. */
	for (int i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "c%d", i);
		add_container(spec, name, CONTAINER_APP, 1000, 1000);
	}
	assert_refused(node, spec, REFUSAL_CPUS, "UnexpectedAdmissionError", CHANGE_NONE);
}

static void smt_alignment(void **state)
{
	struct policy policy = strict_policy("0,4");
	struct node *node cleanup_node;
	struct pod_spec *odd cleanup_pod_spec = guaranteed_pod("odd", 3);
	struct pod_spec *large cleanup_pod_spec = guaranteed_pod("large", 4);

	policy.cpu_options.full_pcpus_only = true;
	node = make_node(scene_machine(1, 1, 4, 2), policy);
	assert_refused(node, odd, REFUSAL_SMT, "SMTAlignmentError", CHANGE_CONTAINER_CPUS);
	assert_grant(node, "odd", "main", ISOLATION_CONTAINER, "1-2,5-6");
	assert_refused(node, large, REFUSAL_SMT, "SMTAlignmentError", CHANGE_CONTAINER_CPUS);
}

static void keeps_the_last_shared_cpu(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *all cleanup_pod_spec = guaranteed_pod("all", 6);

	assert_true(admit_and_free(node->ledger, burstable_pod("web")).admitted);
	assert_refused(node, all, REFUSAL_LAST_SHARED_CPU, "UnexpectedAdmissionError",
		       CHANGE_CONTAINER_CPUS);
	assert_cpus(ledger_shared_pool(node->ledger), "7");
}

/* The numbers of such a refusal: what the pod would hold, and one CPU less. */
static void the_last_shared_cpu_is_told(void **state)
{
	(void)state;
	for (int nr_sharing = 1; nr_sharing <= 2; nr_sharing++) {
		struct node *node cleanup_node = small_node();
		struct decision decision;

		assert_true(admit_and_free(node->ledger, burstable_pod("web")).admitted);
		if (nr_sharing > 1)
			assert_true(admit_and_free(node->ledger, burstable_pod("log")).admitted);
		decision = admit_and_free(node->ledger, guaranteed_pod("all", 6));
		assert_int_equal(decision.refusal, REFUSAL_LAST_SHARED_CPU);
		assert_int_equal(decision.wanted, 6);
		assert_int_equal(decision.available, 5);
		assert_string_equal(
			decision.message,
			nr_sharing == 1 ? "the pod's 6 exclusive CPUs would take the rest of the "
					  "shared pool, on which 1 container runs"
					: "the pod's 6 exclusive CPUs would take the rest of the "
					  "shared pool, on which 2 containers run");
	}
}

static void the_last_cpu_may_go_when_nobody_shares(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *web cleanup_pod_spec = burstable_pod("web");

	assert_true(admit_and_free(node->ledger, guaranteed_pod("all", 6)).admitted);
	assert_true(cpuset_is_empty(ledger_shared_pool(node->ledger)));
	assert_refused(node, web, REFUSAL_LAST_SHARED_CPU, "UnexpectedAdmissionError",
		       CHANGE_POD_LEAVES);
}

static void kubelet_gives_the_last_cpu_away(void **state)
{
	struct policy policy = strict_policy("0,4");
	struct node *node cleanup_node;

	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	node = make_node(scene_machine(1, 1, 4, 2), policy);
	assert_true(admit_and_free(node->ledger, burstable_pod("web")).admitted);
	assert_true(admit_and_free(node->ledger, guaranteed_pod("all", 6)).admitted);
}

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
	assert_cpus(&ledger_find(node->ledger, "db")->bubble, "1-4,9-12");
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

static void bad_specs_are_errors(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct decision decision;

	assert_int_equal(admit_pod(node->ledger, spec, &decision), -EINVAL);
	add_container(spec, "", CONTAINER_APP, 1000, 1000);
	assert_int_equal(admit_pod(node->ledger, spec, &decision), -EINVAL);
	spec->nr_containers = 1;
	memset(spec->containers[0].name, 'x', sizeof(spec->containers[0].name));
	assert_int_equal(admit_pod(node->ledger, spec, &decision), -EINVAL);
}

/* Each array of a spec is checked, of each container, before anything is begun. */
static void unbounded_names_are_errors(void **state)
{
	struct node *node cleanup_node = small_node();
	struct decision decision;

	for (int i = 0; i < 8; i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
		struct container_spec *second;

		add_container(spec, "first", CONTAINER_APP, 500, RESOURCE_UNSET);
		second = add_container(spec, "second", CONTAINER_APP, 500, RESOURCE_UNSET);
		switch (i) {
		case 0:
			break;
		case 1:
			spec->uid[0] = '\0';
			break;
		case 2:
			memset(spec->uid, 'x', sizeof(spec->uid));
			break;
		case 3:
			memset(spec->name, 'x', sizeof(spec->name));
			break;
		case 4:
			memset(spec->namespace, 'x', sizeof(spec->namespace));
			break;
		case 5:
			memset(second->name, 'x', sizeof(second->name));
			break;
		case 6:
			second->name[0] = '\0';
			break;
		case 7:
			second->kind = CONTAINER_KIND_NR;
			break;
		}
		assert_int_equal(admit_prepare(node->ledger, spec, &decision), i ? -EINVAL : 0);
		if (i)
			assert_int_equal(ledger_begin(node->ledger), 0);
		ledger_abort(node->ledger);
	}
}

static void as_many_containers_as_a_pod_may_have(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec = scene_pod("p");
	char name[8];

	for (uint32_t i = 0; i < POD_MAX_CONTAINERS; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		add_container(spec, name, CONTAINER_APP, 10, RESOURCE_UNSET);
	}
	assert_true(admit_and_free(node->ledger, spec).admitted);
	assert_int_equal(ledger_nr_host_containers(node->ledger), POD_MAX_CONTAINERS);
}

static void one_container_more_is_an_error(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec = scene_pod("p");
	struct decision decision;
	char name[8];

	free(spec->containers);
	spec->containers = calloc(POD_MAX_CONTAINERS + 1, sizeof(*spec->containers));
	assert_non_null(spec->containers);
	for (uint32_t i = 0; i <= POD_MAX_CONTAINERS; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		add_container(spec, name, CONTAINER_APP, 10, RESOURCE_UNSET);
	}
	assert_int_equal(admit_pod(node->ledger, spec, &decision), -EINVAL);
}

static void immense_requests_are_refusals(void **state)
{
	struct node *node cleanup_node = small_node();
	struct pod_spec *spec cleanup_pod_spec =
		guaranteed_pod("p", INT64_MAX / 1000 - INT64_MAX / 1000 % 1000);
	struct decision decision;

	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < REFUSAL_NR; i++)
		assert_non_null(refusal_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_machine),
		cmocka_unit_test(only_whole_guaranteed_requests_are_exclusive),
		cmocka_unit_test(init_containers_lend_and_sidecars_keep),
		cmocka_unit_test(init_cpus_are_taken_first),
		cmocka_unit_test(init_cores_count_as_free),
		cmocka_unit_test(readmission_is_idempotent),
		cmocka_unit_test(changed_spec_replaces_or_stays),
		cmocka_unit_test(prepare_leaves_the_transaction_open),
		cmocka_unit_test(refusal_leaves_no_partial_grant),
		cmocka_unit_test(suggests_which_pod_should_leave),
		cmocka_unit_test(suggests_nothing_that_does_not_work),
		cmocka_unit_test(smt_alignment),
		cmocka_unit_test(keeps_the_last_shared_cpu),
		cmocka_unit_test(the_last_shared_cpu_is_told),
		cmocka_unit_test(the_last_cpu_may_go_when_nobody_shares),
		cmocka_unit_test(kubelet_gives_the_last_cpu_away),
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
		cmocka_unit_test(bad_specs_are_errors),
		cmocka_unit_test(unbounded_names_are_errors),
		cmocka_unit_test(as_many_containers_as_a_pod_may_have),
		cmocka_unit_test(one_container_more_is_an_error),
		cmocka_unit_test(immense_requests_are_refusals),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
