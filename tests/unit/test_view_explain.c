// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* What "pinfold explain" says of a pod: where it runs and why, or what refused it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view_scene.h"

static void explanations_say_where_and_why(void **state)
{
	const struct stage *stage = *state;
	const struct plan_layout layout = {.root = "pinfold.slice"};
	const struct refusal_row refusals[] = {
		{.namespace = "prod", .name = "big", .uid = "uid-big", .decision = &stage->refused},
		/* a changed document of a pod that runs */
		{.namespace = "prod", .name = "web", .uid = "uid-web", .decision = &stage->refused},
	};
	struct group_tree tree = {0};
	struct json_object *json;

	assert_int_equal(plan_desired(stage->ledger, &layout, NULL, &tree), 0);
	json = view_explains(stage->ledger, &tree, refusals, ARRAY_SIZE(refusals), NULL, 0);
	check("explain", &view_explain_desc, json);
	assert_int_equal(json_object_array_length(json), 3);
	expect(json, "/0/outcome", "admitted");
	expect(json, "/0/reason", "null");
	expect(json, "/0/held", "1-2,9-10");
	expect(json, "/0/containers/0/cpus", "1-2,9-10");
	expect(json, "/0/containers/0/cores", "1-2");
	expect(json, "/0/containers/0/numa", "0");
	expect(json, "/0/containers/0/sockets", "0");
	expect(json, "/0/containers/0/whole_cores", "true");
	expect(json, "/0/containers/0/siblings", "");
	expect(json, "/0/containers/0/pool", "null");
	expect(json, "/0/containers/0/cpu_max", "max 100000");
	expect(json, "/0/options/0/option", "cpuManagerPolicy");
	expect(json, "/0/options/1/option", "strict-cpu-reservation");
	expect(json, "/0/options/2/outcome",
	       "CPUs per NUMA node 0: 4; 1 node used, 1 could hold them");
	assert_int_equal(json_object_array_length(at(json, "/0/nodes")), 0);
	expect(json, "/1/outcome", "admitted");
	expect(json, "/1/reason", "UnexpectedAdmissionError");
	expect(json, "/1/containers/0/pool", "node");
	expect(json, "/1/containers/0/whole_cores", "null");
	assert_non_null(strstr(json_object_get_string(at(json, "/1/containers/0/why")),
			       "the pod is Burstable"));
	expect(json, "/2/outcome", "refused");
	expect(json, "/2/name", "big");
	expect(json, "/2/suggestion", "fits with 9 CPUs for container main");
	expect(json, "/2/grant", "null");
	expect(json, "/2/nodes/0/free", "3,11");
	expect(json, "/2/nodes/0/nr_free_cores", "1");
	expect(json, "/2/nodes/1/nr_free", "8");
	json_object_put(json);
	group_tree_fini(&tree);
}

/* One container per rule that keeps CPUs from it; the sentence names the rule. */
static void explanations_name_the_rule(void **state)
{
	const struct stage *stage = *state;
	const struct refusal_row refusal = {
		.namespace = "test", .name = "big", .decision = &stage->refused};
	struct topology *topology = scene_machine(2, 1, 4, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger;
	struct pod_spec *odd = scene_pod("odd"), *level = scene_pod("level");
	const char *wanted[] = {"no CPU", "1500m", "its CPU limit does not equal"};
	struct json_object *json;

	policy.cpu_options.strict_reservation = false;
	ledger = scene_ledger(topology, &policy);
	add_container(odd, "half", CONTAINER_APP, 1500, 1500);
	set_budget(level, 6);
	add_container(level, "none", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(level, "half", CONTAINER_APP, 1000, 2000);
	assert_true(admit_and_free(ledger, odd).admitted);
	assert_true(admit_and_free(ledger, level).admitted);
	json = view_explains(ledger, NULL, &refusal, 1, NULL, 0);
	check("explain-rules", &view_explain_desc, json);
	assert_non_null(strstr(json_object_get_string(at(json, "/0/containers/0/why")), wanted[0]));
	assert_non_null(strstr(json_object_get_string(at(json, "/0/containers/1/why")), wanted[2]));
	assert_non_null(strstr(json_object_get_string(at(json, "/1/containers/0/why")), wanted[1]));
	/* the reserved CPUs are in the shared pool, but never granted alone */
	expect(json, "/2/nodes/0/free", "1-3,9-11");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

static struct topology *machine_with_memory(void)
{
	struct topology_cpu cpus[16];
	struct topology_node nodes[2];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = nodes,
		.nr_nodes = ARRAY_SIZE(nodes),
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i, i / 8, i / 8, i / 8};
	for (uint32_t i = 0; i < ARRAY_SIZE(nodes); i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = 9 * (uint64_t)GIB,
			.nr_hugepages = 1,
			.hugepages = {{2 << 20, 512, 300}},
		};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	return topology;
}

/* What the core wrote down of a refusal, and what deciding again says of a grant. */
static void explanations_account_for_hints(void **state)
{
	struct topology *topology = machine_with_memory();
	struct policy policy = strict_policy("0");
	struct ledger *ledger;
	struct decision refused;
	struct refusal_row row = {.namespace = "test", .name = "p", .decision = &refused};
	struct pod_spec *spec = guaranteed_pod("p", 2);
	struct json_object *json;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	ledger = scene_ledger(topology, &policy);
	ledger_set_kernel_free(ledger, topology->memory_nodes, topology->nr_memory_nodes);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 4)).admitted);
	spec->containers[0].request.memory_bytes = spec->containers[0].limit.memory_bytes =
		10 * GIB;
	refused = admit_and_free(ledger, spec);
	json = view_explains(ledger, NULL, &row, 1, NULL, 0);
	check("explain-hints", &view_explain_desc, json);
	expect(json, "/0/containers/0/hints/0/resource", "cpu");
	expect(json, "/0/containers/0/hints/0/nodes", "0 preferred; 1 preferred; 0-1");
	expect(json, "/0/containers/0/hints/1/resource", "memory");
	expect(json, "/0/containers/0/merge/nodes", "0");
	expect(json, "/0/containers/0/merge/admitted", "true");
	expect(json, "/0/containers/0/steps/0/step",
	       "candidates 15: 1-15; excluding the reserved 0");
	expect(json, "/0/containers/0/steps/1/step", "aligned to NUMA node 0: 4 CPUs (1-4)");
	expect(json, "/1/unit", "bytes");
	expect(json, "/1/change/kind", "container_memory");
	expect(json, "/1/change/container", "main");
	expect(json, "/1/change/resource", "memory");
	expect(json, "/1/change/bytes", "8589934592");
	expect(json, "/1/change/cpus", "null");
	expect(json, "/1/hints/0/sets", "3");
	expect(json, "/1/hints/1/wanted", "10737418240");
	expect(json, "/1/hints/1/answer", "no nodes will do");
	expect(json, "/1/merge/admitted", "false");
	expect(json, "/1/memory/0/granted_bytes", "1073741824");
	expect(json, "/1/memory/0/used_with", "0");
	expect(json, "/1/memory/2/used_with", "null");
	expect(json, "/1/memory/1/type", "hugepages-2Mi");
	expect(json, "/1/memory/1/kernel_free_bytes", "629145600");
	json_object_put(json);
	refused = admit_and_free(ledger, guaranteed_pod("p", 10));
	json = view_refusals(&row, 1);
	check("refusal-memory", &view_refusal_desc, json);
	expect(json, "/0/unit", "CPUs");
	expect(json, "/0/change/kind", "container_cpus");
	expect(json, "/0/change/cpus", "8");
	expect(json, "/0/others/0/option", "topologyManagerPolicy");
	expect(json, "/0/others/0/value", "best-effort");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

/* Who came later was not there to be chosen from, and who left was. */
static void explanations_know_an_older_decision(void **state)
{
	struct topology *topology = scene_machine(2, 1, 4, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct json_object *json;

	(void)state;
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
	json = view_explains(ledger, NULL, NULL, 0, NULL, 0);
	expect(json, "/1/containers/0/steps/0/step",
	       "candidates 12: 2-7,10-15; excluding the reserved 0,8, other pods' 1,9");
	expect(json, "/1/containers/0/steps/1/step",
	       "packed, no NUMA node preferred: 1 whole core (2,10)");
	json_object_put(json);
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	json = view_explains(ledger, NULL, NULL, 0, NULL, 0);
	check("explain-older", &view_explain_desc, json);
	expect(json, "/0/containers/0/steps/0/step",
	       "decided when other pods were present; it would get other CPUs now");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

/* The kubelet's pod quota binds the exclusive container; ours does not. */
static void explanations_warn_of_the_pods_quota(void **state)
{
	const struct plan_layout layout = {.root = "pinfold.slice"};
	struct topology *topology = scene_machine(2, 1, 4, 2);

	for (int i = 0; i < COMPATIBILITY_NR; i++) {
		struct policy policy = strict_policy("0,8");
		struct pod_spec *spec = scene_pod("db");
		struct group_tree tree = {0};
		struct json_object *json;
		struct ledger *ledger;

		policy.compatibility = (enum compatibility)i;
		policy.align = ALIGN_RESTRICTED;
		policy.scope = ALIGN_SCOPE_POD;
		ledger = scene_ledger(topology, &policy);
		set_budget(spec, 6);
		add_container(spec, "side", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
		add_container(spec, "main", CONTAINER_APP, 4000, 4000);
		assert_true(admit_and_free(ledger, spec).admitted);
		assert_int_equal(plan_desired(ledger, &layout, NULL, &tree), 0);
		json = view_explains(ledger, &tree, NULL, 0, NULL, 0);
		check(compatibility_is_kubelet(i) ? "explain-quota-kubelet" : "explain-quota",
		      &view_explain_desc, json);
		if (compatibility_is_kubelet(i)) {
			expect(json, "/0/containers/1/pod_cpu_max", "600000 100000");
			assert_non_null(
				strstr(json_object_get_string(at(json, "/0/warnings/0/message")),
				       "also limits main"));
		} else {
			expect(json, "/0/containers/1/pod_cpu_max", "max 100000");
			expect(json, "/0/containers/0/level_cpu_max", "200000 100000");
			expect(json, "/0/containers/1/level_cpu_max", "null");
			assert_int_equal(json_object_array_length(at(json, "/0/warnings")), 0);
		}
		json_object_put(json);
		group_tree_fini(&tree);
		ledger_free(ledger);
	}
	topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explanations_say_where_and_why),
		cmocka_unit_test(explanations_name_the_rule),
		cmocka_unit_test(explanations_account_for_hints),
		cmocka_unit_test(explanations_know_an_older_decision),
		cmocka_unit_test(explanations_warn_of_the_pods_quota),
	};

	return cmocka_run_group_tests_name("explain", tests, open_stage, close_stage);
}
