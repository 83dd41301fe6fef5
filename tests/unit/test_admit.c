// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Admission of whole pods: grants, refusals, and suggestions that are then applied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "admit_node.h"

#include <errno.h>

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
	assert_int_equal(cpuset_count(ledger_find(node->ledger, "p")->held), 4);
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
		assert_int_equal(cpuset_count(ledger_find(node->ledger, "p")->held),
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
		cmocka_unit_test(bad_specs_are_errors),
		cmocka_unit_test(unbounded_names_are_errors),
		cmocka_unit_test(as_many_containers_as_a_pod_may_have),
		cmocka_unit_test(one_container_more_is_an_error),
		cmocka_unit_test(immense_requests_are_refusals),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
