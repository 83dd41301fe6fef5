// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* A pod that was taken over without its manifest gets it, and keeps exactly what it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "ctl/admission.h"
#include "ctl/lookup.h"
#include "kubelet/import.h"
#include "scene.h"

/* Two NUMA nodes of 8 CPUs and 8 GiB. CPU 0 is reserved. */
static struct topology *topology;
static struct policy policy;
static struct ledger *ledger;

static int set_up(void **state)
{
	struct topology_node nodes[2];
	struct topology_cpu cpus[16];
	const struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = nodes,
		.nr_nodes = ARRAY_SIZE(nodes),
		TOPOLOGY_COUNT_ALL,
	};
	char error[256];

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .node = i / 8, .socket = i / 8};
	for (uint32_t i = 0; i < ARRAY_SIZE(nodes); i++)
		nodes[i] = (struct topology_node){.id = i, .memory_bytes = 8 * GIB};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy = strict_policy("0");
	ledger = scene_ledger(topology, &policy);
	return 0;
}

static int tear_down(void **state)
{
	ledger_free(ledger);
	topology_free(topology);
	return 0;
}

/* Another ledger on the same machine, after `policy` was changed. */
static void use_policy(void)
{
	ledger_free(ledger);
	ledger = scene_ledger(topology, &policy);
}

/* --- pods ---------------------------------------------------------------------------------------- */

/* The ledger's record of the pod becomes one that was taken over without a manifest. */
static void take_over(const char *uid)
{
	struct pod_spec *spec = pod_spec_copy(ledger_find(ledger, uid)->spec);
	struct grant grants[POD_MAX_CONTAINERS];
	struct ledger_pod pod = record_of(ledger_find(ledger, uid), grants);
	char error[256] = "";

	assert_non_null(spec);
	snprintf(spec->namespace, sizeof(spec->namespace), REBUILT_NAMESPACE);
	pod.spec = spec;
	pod.memory = NULL;
	pod.state = POD_ENDING;
	assert_int_equal(ledger_remove(ledger, uid), 0);
	if (ledger_restore(ledger, &pod, error, sizeof(error)))
		fail_msg("restore: %s", error);
	free(pod.sets);
	pod_spec_free(spec);
}

/* Admit the pod behind another one, which then ends: decided again, it would move down. */
static void admit_and_take_over(const struct pod_spec *spec)
{
	struct decision decision;

	assert_true(admit_and_free(ledger, guaranteed_pod("other", 2)).admitted);
	assert_int_equal(admit_pod(ledger, spec, &decision), 0);
	assert_true(decision.admitted);
	assert_int_equal(ledger_remove(ledger, "other"), 0);
	take_over(spec->uid);
}

static int adopt(const struct pod_spec *spec)
{
	return adopt_prepare(ledger, ledger_find(ledger, spec->uid), spec);
}

/* The pod must be decided again: nothing has changed, and no transaction is open. */
static void expect_another_decision(const struct pod_spec *spec)
{
	const struct ledger_pod *known = ledger_find(ledger, spec->uid);

	assert_int_equal(adopt(spec), -ENOTSUP);
	assert_int_equal(ledger_begin(ledger), 0);
	ledger_abort(ledger);
	assert_ptr_equal(ledger_find(ledger, spec->uid), known);
	assert_string_equal(known->spec->namespace, REBUILT_NAMESPACE);
	assert_sound(ledger);
}

/* Exactly what was granted to the pod remains granted, in the name of its manifest. Takes `spec`. */
static void expect_kept(struct pod_spec *spec)
{
	struct grant grants[POD_MAX_CONTAINERS];
	struct ledger_pod before;
	const struct ledger_pod *pod;

	admit_and_take_over(spec);
	before = record_of(ledger_find(ledger, spec->uid), grants);
	assert_int_equal(adopt(spec), 0);
	ledger_commit(ledger);
	pod = ledger_find(ledger, spec->uid);
	assert_string_equal(pod->spec->namespace, "test");
	assert_int_equal(pod->state, POD_RUNNING);
	assert_string_equal(pod->detail, "");
	assert_true(cpuset_equal(pod->held, before.held));
	assert_true(cpuset_equal(pod->bubble, before.bubble));
	assert_int_equal(pod->nr_grants, spec->nr_containers);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		assert_int_equal(pod->grants[i].isolation, grants[i].isolation);
		assert_true(cpuset_equal(pod->grants[i].cpus, grants[i].cpus));
		assert_int_equal(pod->grants[i].mems, grants[i].mems);
	}
	assert_sound(ledger);
	assert_int_equal(ledger_remove(ledger, spec->uid), 0);
	free(before.sets);
	pod_spec_free(spec);
}

/* A container with two CPUs and one that shares, in a budget if `budget_mcpu` is given. */
static struct pod_spec *pair(int64_t budget_mcpu)
{
	struct pod_spec *spec = guaranteed_pod("pair", 2);
	struct container_spec *rest = add_container(spec, "rest", CONTAINER_APP, 500, 500);

	if (budget_mcpu) {
		set_budget(spec, 0);
		spec->request.cpu_mcpu = spec->limit.cpu_mcpu = budget_mcpu;
		spec->request.memory_bytes = spec->limit.memory_bytes = 4 * GIB;
		rest->limit = RESOURCES_UNSET;
	}
	return spec;
}

/* --- which pods ---------------------------------------------------------------------------------- */

static void only_ending_pods_without_a_manifest_are_adopted(void **state)
{
	static const struct {
		const char *namespace;
		enum pod_state state;
		bool is_wanted;
	} cases[] = {
		{REBUILT_NAMESPACE, POD_ENDING, true},
		{KUBELET_IMPORT_NAMESPACE, POD_ENDING, true},
		{"default", POD_ENDING, false},
		{"", POD_ENDING, false},
		{REBUILT_NAMESPACE, POD_RUNNING, false},
		{KUBELET_IMPORT_NAMESPACE, POD_RUNNING, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_spec spec = {0};
		const struct ledger_pod pod = {.spec = &spec, .state = cases[i].state};

		snprintf(spec.namespace, sizeof(spec.namespace), "%s", cases[i].namespace);
		assert_int_equal(adopt_is_wanted(&pod), cases[i].is_wanted);
	}
}

/* --- what is kept -------------------------------------------------------------------------------- */

static void what_was_granted_stays_in_place(void **state)
{
	struct pod_spec *whole = burstable_pod("whole");

	/* Whole CPUs without a limit are not exclusive. */
	whole->containers->request.cpu_mcpu = 2000;
	expect_kept(guaranteed_pod("a", 3));
	expect_kept(burstable_pod("b"));
	expect_kept(whole);
	expect_kept(pair(0));
}

static void budgets_keep_their_cpus(void **state)
{
	static const enum align_scope scopes[] = {ALIGN_SCOPE_CONTAINER, ALIGN_SCOPE_POD};

	policy.align = ALIGN_RESTRICTED;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		policy.scope = scopes[i];
		for (int managed = 0; managed < 2; managed++) {
			policy.pod_level_managers = managed;
			use_policy();
			expect_kept(pair(0));
			expect_kept(pair(4000));
			/* Not whole CPUs: the pod has none, its container has. */
			expect_kept(pair(3500));
		}
	}
}

static void memory_stays_on_its_nodes(void **state)
{
	struct pod_spec *spec = guaranteed_pod("b", 2);

	spec->containers->request.memory_bytes = spec->containers->limit.memory_bytes = 6 * GIB;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	use_policy();
	expect_kept(guaranteed_pod("a", 2));
	expect_kept(burstable_pod("shared"));
	/* The only node with so much memory left is the second one. */
	assert_true(admit_and_free(ledger, guaranteed_pod("first", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("second", 2)).admitted);
	expect_kept(spec);
}

/* --- what is decided again ----------------------------------------------------------------------- */

static void a_manifest_with_another_request_is_decided_again(void **state)
{
	static const int64_t requests_mcpu[] = {1000, 3000, 2500, 500};
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);

	admit_and_take_over(spec);
	for (size_t i = 0; i < ARRAY_SIZE(requests_mcpu); i++) {
		spec->containers->request.cpu_mcpu = requests_mcpu[i];
		spec->containers->limit.cpu_mcpu = requests_mcpu[i];
		expect_another_decision(spec);
	}
}

/* Otherwise the CPUs of the container that is not named would be lost. */
static void a_manifest_must_name_each_container_with_cpus(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pair(0);
	struct pod_spec *renamed cleanup_pod_spec = pod_spec_copy(spec);
	struct pod_spec *fewer cleanup_pod_spec = pod_spec_copy(spec);

	admit_and_take_over(spec);
	assert_non_null(renamed);
	assert_non_null(fewer);
	snprintf(renamed->containers[0].name, sizeof(renamed->containers[0].name), "new");
	renamed->containers[0].request.cpu_mcpu = renamed->containers[0].limit.cpu_mcpu = 500;
	expect_another_decision(renamed);
	fewer->nr_containers = 0;
	expect_another_decision(fewer);
	/* One that only shares may go, another may come, and the order does not matter. */
	spec->containers[0] = spec->containers[1];
	spec->containers[1] = renamed->containers[1];
	snprintf(spec->containers[1].name, sizeof(spec->containers[1].name), "main");
	spec->containers[1].request.cpu_mcpu = spec->containers[1].limit.cpu_mcpu = 2000;
	snprintf(spec->containers[0].name, sizeof(spec->containers[0].name), "late");
	assert_int_equal(adopt(spec), 0);
	ledger_commit(ledger);
	assert_cpus(ledger_find_grant(ledger_find(ledger, spec->uid), "main")->cpus, "3-4");
	assert_sound(ledger);
}

/* Two containers may use the same CPUs only if the first ends before the second starts. */
static void containers_that_now_run_together_are_decided_again(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = scene_pod("a");

	add_container(spec, "init", CONTAINER_INIT, 2000, 2000);
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	admit_and_take_over(spec);
	spec->containers[0].kind = CONTAINER_APP;
	expect_another_decision(spec);
}

/* Its budget holds CPUs that none of its containers has. */
static void a_manifest_without_the_budget_is_decided_again(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);

	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	use_policy();
	set_budget(spec, 4);
	admit_and_take_over(spec);
	assert_int_equal(cpuset_count(ledger_find(ledger, "a")->held), 4);
	spec->has_pod_resources = false;
	spec->request = spec->limit = RESOURCES_UNSET;
	expect_another_decision(spec);
}

static void memory_that_is_not_bound_yet_is_decided_again(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);
	struct ledger_pod pod;
	struct grant grant;
	char error[256];

	/* It shares its CPUs, so only its memory has to be bound. */
	spec->containers->request.cpu_mcpu = spec->containers->limit.cpu_mcpu = 500;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	use_policy();
	admit_and_take_over(spec);
	pod = record_of(ledger_find(ledger, "a"), &grant);
	pod.spec = pod_spec_copy(pod.spec);
	assert_non_null(pod.spec);
	grant.mems = 0;
	pod.memory = NULL;
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_int_equal(ledger_restore(ledger, &pod, error, sizeof(error)), 0);
	free(pod.sets);
	pod_spec_free(pod.spec);
	expect_another_decision(spec);
}

static void more_memory_than_its_node_has_is_decided_again(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);

	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	use_policy();
	admit_and_take_over(spec);
	spec->containers->request.memory_bytes = spec->containers->limit.memory_bytes = 12 * GIB;
	expect_another_decision(spec);
}

static void an_open_transaction_is_left_alone(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = guaranteed_pod("a", 2);

	admit_and_take_over(spec);
	assert_int_equal(ledger_begin(ledger), 0);
	assert_int_equal(adopt(spec), -EBUSY);
	ledger_abort(ledger);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_ending_pods_without_a_manifest_are_adopted),
		TEST(what_was_granted_stays_in_place),
		TEST(budgets_keep_their_cpus),
		TEST(memory_stays_on_its_nodes),
		TEST(a_manifest_with_another_request_is_decided_again),
		TEST(a_manifest_must_name_each_container_with_cpus),
		TEST(containers_that_now_run_together_are_decided_again),
		TEST(a_manifest_without_the_budget_is_decided_again),
		TEST(memory_that_is_not_bound_yet_is_decided_again),
		TEST(more_memory_than_its_node_has_is_decided_again),
		TEST(an_open_transaction_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
