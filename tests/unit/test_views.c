// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * Every builder gives exactly the described keys, and the values the ledger
 * holds. Each object stands in tests/data/views, as JSON and as plain text.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pinfold/names.h>

#include "../lib/golden.h"
#include "../lib/object_check.h"
#include "format/config.h"
#include "format/event.h"
#include "format/metrics.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "scene.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* JSON does not know an order of keys, so that the files have them sorted. */
static struct json_object *sorted(struct json_object *json)
{
	struct json_object *copy;
	const char *keys[64];
	size_t nr = 0;

	if (json_object_is_type(json, json_type_array)) {
		copy = json_object_new_array();
		for (size_t i = 0; i < json_object_array_length(json); i++)
			json_object_array_add(copy, sorted(json_object_array_get_idx(json, i)));
		return copy;
	}
	if (!json_object_is_type(json, json_type_object))
		return json_object_get(json);
	copy = json_object_new_object();
	json_object_object_foreach (json, name, ignored) {
		(void)ignored;
		assert_in_range(nr, 0, ARRAY_SIZE(keys) - 1);
		keys[nr++] = name;
	}
	qsort(keys, nr, sizeof(*keys), by_name);
	for (size_t i = 0; i < nr; i++)
		json_object_object_add(copy, keys[i],
				       sorted(json_object_object_get(json, keys[i])));
	return copy;
}

/* As it was recorded, by the name of the case. */
static void compare(const char *name, const struct object_desc *desc, struct json_object *json)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			  JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *canonical = sorted(json);
	struct text text cleanup_text = {0};
	char path[96];

	snprintf(path, sizeof(path), "tests/data/views/%s.json", name);
	text_printf(&text, "%s\n", json_object_to_json_string_ext(canonical, flags));
	assert_int_equal(text.error, 0);
	golden_compare(path, text.data);
	json_object_put(canonical);
	if (!desc)
		return;
	text_fini(&text);
	object_render(desc, json, &text);
	assert_int_equal(text.error, 0);
	snprintf(path, sizeof(path), "tests/data/views/%s.txt", name);
	golden_compare(path, text.data ? text.data : "");
}

static void check(const char *name, const struct object_desc *desc, struct json_object *json)
{
	struct json_object *again;
	char error[200] = "";

	assert_non_null(json);
	if (object_check(desc, json, error, sizeof(error)))
		fail_msg("%s", error);
	/* what goes over the wire is what was checked */
	again = json_tokener_parse(json_object_to_json_string(json));
	assert_non_null(again);
	assert_int_equal(object_check(desc, again, error, sizeof(error)), 0);
	json_object_put(again);
	compare(name, desc, json);
}

static struct json_object *at(struct json_object *json, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(json, path, &found))
		fail_msg("no %s in %s", path, json_object_to_json_string(json));
	return found;
}

static void expect(struct json_object *json, const char *path, const char *wanted)
{
	struct json_object *found = at(json, path);

	assert_string_equal(found ? json_object_get_string(found) : "null", wanted);
}

/* 16 CPUs, 2 nodes; CPU i and i + 8 are one core. One exclusive pod, one sharing one. */
struct stage {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct decision refused;
};

/* As scene.h makes them, but in namespace "prod" and with a uid unlike the name. */
static struct decision add_pod(struct stage *stage, struct pod_spec *spec)
{
	snprintf(spec->uid, sizeof(spec->uid), "uid-%.32s", spec->name);
	snprintf(spec->namespace, sizeof(spec->namespace), "prod");
	return admit_and_free(stage->ledger, spec);
}

static int open_stage(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->topology = scene_machine(2, 1, 4, 2);
	stage->policy = strict_policy("0,8");
	stage->ledger = scene_ledger(stage->topology, &stage->policy);
	assert_true(add_pod(stage, guaranteed_pod("db", 4)).admitted);
	assert_true(add_pod(stage, burstable_pod("web")).admitted);
	stage->refused = add_pod(stage, guaranteed_pod("big", 14));
	assert_false(stage->refused.admitted);
	*state = stage;
	return 0;
}

static int close_stage(void **state)
{
	struct stage *stage = *state;

	ledger_free(stage->ledger);
	topology_free(stage->topology);
	free(stage);
	return 0;
}

static void cpus_have_place_and_owner(void **state)
{
	const struct stage *stage = *state;
	struct json_object *json = view_cpus(stage->ledger);
	unsigned int nr_owned = 0;

	check("cpus", &view_cpu_desc, json);
	assert_int_equal(json_object_array_length(json), 16);
	expect(json, "/0/state", "reserved");
	expect(json, "/0/in_shared_pool", "false");
	expect(json, "/0/owner", "null");
	expect(json, "/8/core", "0");
	expect(json, "/7/numa", "1");
	for (size_t i = 0; i < 16; i++) {
		struct json_object *item = json_object_array_get_idx(json, i);

		if (strcmp(json_object_get_string(at(item, "/state")), "exclusive"))
			continue;
		expect(item, "/owner", "prod/db/main");
		expect(item, "/owner_uid", "uid-db");
		expect(item, "/in_shared_pool", "false");
		nr_owned++;
	}
	assert_int_equal(nr_owned, 4);
	json_object_put(json);
}

static void node_sums_up(void **state)
{
	const struct stage *stage = *state;
	const struct finding_row finding = {
		.name = "tier1_not_held", .message = "why", .remedy = "what"};
	const struct view_node row = {.source = "agent",
				      .ready = 0,
				      .not_ready = "a reason",
				      .nr_findings = 1,
				      .findings = &finding};
	const struct finding_row no_remedy = {.name = "lost", .message = "it is so"};
	const struct view_node full = {.source = "agent",
				       .mode = "allocate",
				       .kernel = "6.12.0",
				       .hierarchy = "systemd",
				       .workload_root = "pinfold.slice",
				       .partition = "root",
				       .guard = "enforce",
				       .tiers = "0 1 2",
				       .ready = 1,
				       .not_ready = "",
				       .nr_findings = 1,
				       .findings = &no_remedy};
	const struct view_node unknown = {.source = "state", .ready = -1};
	struct json_object *json = view_node(stage->ledger, &full);

	check("node-full", &view_node_desc, json);
	json_object_put(json);
	json = view_node(stage->ledger, &unknown);
	check("node-unknown", &view_node_desc, json);
	json_object_put(json);
	json = view_node(stage->ledger, &row);

	check("node", &view_node_desc, json);
	expect(json, "/cpus", "16");
	expect(json, "/numa_nodes", "2");
	expect(json, "/reserved", "0,8");
	expect(json, "/pods", "2");
	expect(json, "/mode", "null");
	expect(json, "/ready", "false");
	expect(json, "/not_ready", "a reason");
	expect(json, "/findings/0/name", "tier1_not_held");
	expect(json, "/nodes/0/cpus", "0-3,8-11");
	json_object_put(json);
}

static void pods_and_containers_say_what_is_held(void **state)
{
	const struct stage *stage = *state;
	const struct view_container observed[] = {
		{.uid = "uid-db",
		 .container = "main",
		 .effective_cpus = "1-2,9-10",
		 .processes = 3,
		 .run_ns = 1500000001,
		 .wait_ns = -1,
		 .migrations_within_node = 7,
		 .migrations_across_nodes = -1,
		 .cause_ns = {[0 ... WAIT_CAUSE_NR - 1] = -1}},
		{.uid = "uid-web",
		 .container = "main",
		 .cgroup = "pinfold.slice/web",
		 .effective_cpus = "",
		 .effective_mems = "0-1",
		 .wait_ns = 20000000,
		 .cause_ns = {[WAIT_OWN_QUOTA] = 12000000, [WAIT_HOST] = 8000000},
		 .migrations_across_nodes = 2},
	};
	struct json_object *pods = view_pods(stage->ledger, NULL, 0);
	struct json_object *containers =
		view_containers(stage->ledger, NULL, observed, ARRAY_SIZE(observed));

	check("containers-all-observed", &view_container_desc, containers);
	json_object_put(containers);
	containers = view_containers(stage->ledger, NULL, observed, 1);

	check("pods", &view_pod_desc, pods);
	check("containers-observed", &view_container_desc, containers);
	expect(pods, "/0/name", "db");
	expect(pods, "/0/qos", "Guaranteed");
	expect(pods, "/0/exclusive", "1-2,9-10");
	expect(pods, "/0/bubble", "null");
	expect(pods, "/1/containers/0/isolation", "host");
	expect(pods, "/1/containers/0/cpus", "3-7,11-15");
	expect(pods, "/1/cpu_limit_mcpu", "null");
	expect(containers, "/0/effective_cpus", "1-2,9-10");
	expect(containers, "/0/run_seconds", "1.500000001");
	expect(containers, "/0/wait_seconds", "null");
	expect(containers, "/0/migrations_within_node", "7");
	expect(containers, "/1/effective_cpus", "null");
	expect(containers, "/1/processes", "null");
	json_object_put(pods);
	json_object_put(containers);
}

static void pods_say_what_keeps_them_from_running(void **state)
{
	const struct stage *stage = *state;
	const struct pod_problem problems[] = {{"uid-nobody", "failed", "not this one"},
					       {"uid-db", "failed", "its cgroup cannot be made"}};
	struct json_object *pods = view_pods(stage->ledger, problems, ARRAY_SIZE(problems));

	check("pods-failed", &view_pod_desc, pods);
	expect(pods, "/0/state", "failed");
	expect(pods, "/0/detail", "its cgroup cannot be made");
	expect(pods, "/1/state", "running");
	expect(pods, "/1/detail", "null");
	json_object_put(pods);
	pods = view_explains(stage->ledger, NULL, NULL, 0, problems, ARRAY_SIZE(problems));
	check("explain-failed", &view_explain_desc, pods);
	expect(pods, "/0/state", "failed");
	expect(pods, "/0/detail", "its cgroup cannot be made");
	expect(pods, "/1/state", "running");
	json_object_put(pods);
}

static void containers_show_what_is_written(void **state)
{
	const struct stage *stage = *state;
	const struct plan_layout layout = {.root = "pinfold.slice"};
	struct group_tree tree = {0};
	struct json_object *json;

	assert_int_equal(plan_desired(stage->ledger, &layout, NULL, &tree), 0);
	json = view_containers(stage->ledger, &tree, NULL, 0);
	check("containers-written", &view_container_desc, json);
	assert_string_equal(json_object_get_string(at(json, "/0/cpu_max")), "max 100000");
	assert_true(json_object_get_int64(at(json, "/0/cpu_weight")) > 0);
	assert_true(!strncmp(json_object_get_string(at(json, "/0/cgroup")), "pinfold.slice/", 14));
	json_object_put(json);
	group_tree_fini(&tree);
}

static void refusals_say_what_is_known(void **state)
{
	const struct stage *stage = *state;
	const struct decision wrong = {.refusal = REFUSAL_SPEC,
				       .reason = "InvalidPod",
				       .message = "x.yaml: line 7",
				       .wanted = -1,
				       .available = -1};
	const struct refusal_row rows[] = {
		{.namespace = "prod",
		 .name = "big",
		 .uid = "uid-big",
		 .file = "/d/big.yaml",
		 .line = 4,
		 .decision = &stage->refused},
		{.decision = &wrong},
	};
	struct json_object *json = view_refusals(rows, ARRAY_SIZE(rows));

	check("refusals", &view_refusal_desc, json);
	expect(json, "/0/name", "big");
	expect(json, "/0/reason", "UnexpectedAdmissionError");
	expect(json, "/0/available", "10");
	expect(json, "/0/line", "4");
	expect(json, "/0/suggestion", "fits with 9 CPUs for container main");
	expect(json, "/1/name", "null");
	expect(json, "/1/line", "null");
	expect(json, "/1/wanted", "null");
	expect(json, "/1/suggestion", "null");
	json_object_put(json);
}

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

static void simulate_has_the_promised_keys(void **state)
{
	const struct stage *stage = *state;
	const struct refusal_row refusal = {.namespace = "prod",
					    .name = "big",
					    .file = "big.yaml",
					    .decision = &stage->refused};
	const struct container_facts was = {.cpus = cpus_of("1-2"),
					    .mems = cpus_of("0"),
					    .isolation = "container",
					    .cpu_max = "max 100000"};
	const struct container_facts is = {
		.cpus = cpus_of("3"), .mems = cpus_of("0-1"), .isolation = "host"};
	const struct container_change change = {.namespace = "prod",
						.pod = "web",
						.container = "main",
						.before = &was,
						.after = &is};
	const struct expect_row expects = {
		.file = "s", .line = 3, .expect = "expect shared 1", .found = "2"};
	const struct simulate_row row = {.topology = "numa:2",
					 .nr_refusals = 1,
					 .refusals = &refusal,
					 .nr_changes = 1,
					 .changes = &change,
					 .nr_expects = 1,
					 .expects = &expects};
	struct json_object *json = view_simulate(stage->ledger, &row);

	check("simulate", &view_simulate_desc, json);
	expect(json, "/shared_pool", "3-7,11-15");
	expect(json, "/reserved", "0,8");
	expect(json, "/refusals/0/refusal", "cpus");
	expect(json, "/refusals/0/wanted", "14");
	expect(json, "/changes/0/before", "1-2");
	expect(json, "/changes/0/after_mems", "0-1");
	expect(json, "/changes/0/after_isolation", "host");
	expect(json, "/changes/0/before_cpu_max", "max 100000");
	expect(json, "/changes/0/after_cpu_max", "null");
	expect(json, "/expects/0/met", "false");
	expect(json, "/largest_request", "8");
	expect(json, "/conceivable_request", "8");
	expect(json, "/fragmentation_percent", "0");
	expect(json, "/totals/0/largest_request", "2");
	expect(json, "/totals/1/largest_request", "8");
	expect(json, "/totals/0/nr_free_cores", "1");
	expect(json, "/memory/0/type", "memory");
	expect(json, "/memory/0/free_bytes", "null");
	json_object_put(json);
}

/* 8 GiB and 64 huge pages of 2 MiB on one node; 1 GiB reserved, 1 GiB granted. */
static void simulate_keeps_the_book_of_memory(void **state)
{
	const struct topology_node node = {.id = 0,
					   .memory_bytes = 8 * GIB,
					   .nr_hugepages = 1,
					   .hugepages = {{.size_bytes = 2 << 20,
							  .total_pages = 64,
							  .free_pages = UINT64_MAX}}};
	const struct topology_cpu cpus[] = {{.id = 0, .core = 0}, {.id = 1, .core = 1}};
	const struct topology_facts facts = {.cpus = cpus,
					     .nr_cpus = ARRAY_SIZE(cpus),
					     .nodes = &node,
					     .nr_nodes = 1,
					     TOPOLOGY_COUNT_ALL};
	const struct simulate_row row = {.topology = "facts.json"};
	struct policy policy = strict_policy("0");
	struct topology *topology cleanup_topology = NULL;
	struct ledger *ledger cleanup_ledger = NULL;
	struct json_object *json;
	char error[256];

	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] = (struct memory_reservation){.node_id = 0, .bytes = GIB};
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, guaranteed_pod("db", 1)).admitted);
	json = view_simulate(ledger, &row);
	check("simulate-memory", &view_simulate_desc, json);
	expect(json, "/memory/0/type", "memory");
	expect(json, "/memory/0/total_bytes", "8589934592");
	expect(json, "/memory/0/reserved_bytes", "1073741824");
	expect(json, "/memory/0/allocated_bytes", "1073741824");
	/* less the 128 MiB that are huge pages */
	expect(json, "/memory/0/free_bytes", "6308233216");
	expect(json, "/memory/1/type", "hugepages-2Mi");
	expect(json, "/memory/1/free_bytes", "134217728");
	json_object_put(json);
}

/* Every kind of change, with all that can be known and with as little as may be. */
static void refusals_hold_every_kind_of_change(void **state)
{
	struct decision decisions[CHANGE_KIND_NR];
	struct refusal_row rows[CHANGE_KIND_NR];
	struct json_object *json;

	(void)state;
	for (int i = 0; i < CHANGE_KIND_NR; i++) {
		decisions[i] = (struct decision){
			.refusal = (enum refusal)(1 + i % (REFUSAL_NR - 1)),
			.reason = "Reason",
			.message = "no room",
			.wanted = i,
			.available = i ? -1 : 0,
			.is_memory = i % 2,
			.change = {.kind = (enum change_kind)i,
				   .cpus = 4,
				   .bytes = GIB,
				   .page_bytes = i % 2 ? 2 << 20 : 0,
				   .to_page_bytes = 1 << 30,
				   .align = ALIGN_BEST_EFFORT,
				   .scope = ALIGN_SCOPE_POD,
				   .container = "main",
				   .uid = "uid-other",
				   .text = "fits otherwise"},
			.nr_others = i ? 0 : 1,
			.others = {{.kind = CHANGE_REPAIRED}},
		};
		rows[i] = (struct refusal_row){.name = "p", .decision = &decisions[i]};
	}
	json = view_refusals(rows, CHANGE_KIND_NR);
	check("refusals-of-every-change", &view_refusal_desc, json);
	expect(json, "/5/change/instead_of", "hugepages-2Mi");
	expect(json, "/5/change/resource", "hugepages-1Gi");
	expect(json, "/7/change/value", "best-effort");
	json_object_put(json);
}

static void policy_lists_what_is_on(void **state)
{
	const struct stage *stage = *state;
	struct config config;
	struct policy policy = stage->policy;
	struct json_object *json;

	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 1, .size_bytes = 2 << 20, .bytes = GIB};
	config_default(&config);
	config.enforcement.affinity = ENFORCEMENT_AUDIT;
	json = view_policy(&config, "config.yaml", &policy, ledger_reserved(stage->ledger));
	check("policy", &view_policy_desc, json);
	json_object_put(json);
	policy = policy_default();
	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	policy.max_nodes = 9;
	policy.prefer_closest_nodes = true;
	policy.cpu_options = (struct cpu_options){true, true, true, true, true, true};
	policy.excluded = cpus_of("3,5");
	json = view_policy(&config, NULL, &policy, NULL);
	check("policy-all-options", &view_policy_desc, json);
	json_object_put(json);
	policy = stage->policy;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 1, .size_bytes = 2 << 20, .bytes = GIB};
	json = view_policy(&config, "config.yaml", &policy, ledger_reserved(stage->ledger));
	expect(json, "/cpu_manager_policy", "static");
	expect(json, "/cpu_manager_policy_options/0", "strict-cpu-reservation");
	expect(json, "/reserved_system_cpus", "0,8");
	expect(json, "/reserved_memory/0/type", "hugepages-2Mi");
	expect(json, "/host_tasks", "shared");
	expect(json, "/enforcement/0/level", "enforce");
	expect(json, "/enforcement/1/what", "affinity");
	expect(json, "/enforcement/1/level", "audit");
	json_object_put(json);
}

static void rows_become_objects(void **state)
{
	const struct event_row event[] = {
		{.record = {.kind = EVENT_GUARD,
			    .aspect = ASPECT_NR,
			    .action = ACTION_DENY,
			    .pid = 42,
			    .comm = "bad\xff\xc0name",
			    .guard = {.hook = HOOK_NONE}},
		 .time_ns = 5,
		 .cgroup = "user.slice"},
		{.record = {.kind = EVENT_GUARD,
			    .aspect = ASPECT_CPUSET_FILES,
			    .action = ACTION_UNKNOWN,
			    .suppressed = 3,
			    .guard = {.hook = HOOK_NONE, .file = "cpuset.cpus"}},
		 .sequence = 7,
		 .time_ns = 1700000000123456789,
		 .target = "pinfold.slice/x",
		 .pod = "prod/db",
		 .container = "main"},
	};
	const struct drift_row drift[] = {
		{.path = "pinfold.slice/x",
		 .attribute = GROUP_CPUSET_CPUS,
		 .wanted = "1-2",
		 .found = "0-15",
		 .action = ACTION_NONE,
		 .since_ns = 9},
		{.path = "pinfold.slice/y",
		 .attribute = GROUP_CPUSET_MEMS,
		 .cause = CAUSE_USER,
		 .pid = 43,
		 .comm = "sh",
		 .cgroup = "user.slice",
		 .since_ns = 1700000000000000000,
		 .repaired_ns = 1700000000001000000,
		 .action = ACTION_REPAIR},
	};
	const struct feature_row feature[] = {
		{.name = "bpf_lsm", .state = FEATURE_UNKNOWN, .error = -EPERM, .reason = "why"},
		{.name = "cpuset", .state = FEATURE_YES},
		{.name = "psi", .state = FEATURE_NO, .error = ENOENT, .remedy = "boot with psi=1"},
	};
	const struct prog_row prog[] = {
		{.name = "p", .type = "lsm", .object = "guard", .id = 3},
		{.name = "q",
		 .type = "tp_btf",
		 .object = "watch",
		 .attached = true,
		 .pinned = true,
		 .run_time_ns = 1234,
		 .run_count = 2,
		 .recursion_misses = 1},
	};
	const struct view_pressure pressure[] = {
		{.namespace = "prod",
		 .pod = "db",
		 .uid = "u1",
		 .resource = PRESSURE_CPU,
		 .state = PRESSURE_MEASURED,
		 .some_10 = 10000,
		 .some_60 = 1234,
		 .some_300 = 205,
		 .some_ns = 123456789012},
		{.namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .resource = PRESSURE_IO,
		 .state = PRESSURE_OFF_CGROUP,
		 .some_10 = -1,
		 .some_60 = -1,
		 .some_300 = -1,
		 .full_10 = -1,
		 .full_60 = -1,
		 .full_300 = -1,
		 .some_ns = -1,
		 .full_ns = -1},
	};
	const struct view_latency_bucket buckets[] = {
		{.above_ns = 0, .up_to_ns = 1024, .count = 3},
		{.above_ns = 1024, .up_to_ns = 2048, .count = 0},
		{.above_ns = 2048, .up_to_ns = 4096, .count = 12345},
		{.above_ns = 4096, .up_to_ns = 8192, .count = 6000},
		{.above_ns = 8192, .up_to_ns = -1, .count = 1},
	};
	const struct view_latency latency[] = {
		{.namespace = "prod",
		 .pod = "db",
		 .uid = "u1",
		 .count = 18349,
		 .p50_ns = 4096,
		 .p50_least_ns = 2048,
		 .p90_ns = 8192,
		 .p90_least_ns = 4096,
		 .p99_ns = 8192,
		 .p99_least_ns = 4096,
		 .p999_ns = 8192,
		 .p999_least_ns = 4096,
		 .longest_ns = 1234567890,
		 .sum_ns = 1313131313,
		 .nr_buckets = ARRAY_SIZE(buckets),
		 .buckets = buckets,
		 .state = LATENCY_COUNTED},
		{.namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .p50_ns = -1,
		 .p50_least_ns = -1,
		 .p90_ns = -1,
		 .p90_least_ns = -1,
		 .p99_ns = -1,
		 .p99_least_ns = -1,
		 .p999_ns = -1,
		 .p999_least_ns = -1,
		 .nr_buckets = 1,
		 .buckets = buckets + 1,
		 .state = LATENCY_COUNTED},
		{.namespace = "prod",
		 .pod = "db",
		 .container = "late",
		 .uid = "u1",
		 .count = -1,
		 .p50_ns = -1,
		 .p50_least_ns = -1,
		 .p90_ns = -1,
		 .p90_least_ns = -1,
		 .p99_ns = -1,
		 .p99_least_ns = -1,
		 .p999_ns = -1,
		 .p999_least_ns = -1,
		 .longest_ns = -1,
		 .sum_ns = -1},
	};
	const struct view_noise noise[] = {
		{.cpu = 2,
		 .namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .source = NOISE_HARDIRQ,
		 .irq = 33,
		 .name = "eth0",
		 .count = 12345,
		 .total_ns = 1500000000,
		 .longest_ns = 42000},
		{.cpu = 2,
		 .namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .source = NOISE_HOST_TASK,
		 .irq = -1,
		 .name = "bash",
		 .cgroup = "user.slice",
		 .pid = 4242,
		 .count = 1,
		 .total_ns = 70,
		 .longest_ns = 70},
		{.cpu = 2,
		 .namespace = "prod",
		 .pod = "db",
		 .container = "main",
		 .uid = "u1",
		 .source = NOISE_KTHREAD,
		 .irq = -1,
		 .count = 3,
		 .total_ns = 60,
		 .longest_ns = 30},
		{.cpu = 3,
		 .namespace = "prod",
		 .pod = "db",
		 .uid = "u1",
		 .source = NOISE_TIMER,
		 .irq = -1,
		 .count = -1,
		 .total_ns = -1,
		 .longest_ns = -1,
		 .state = NOISE_ROW_UNSUPPORTED},
	};
	const struct view_irq irq[] = {
		{.kind = IRQ_KIND_DEFAULT,
		 .irq = -1,
		 .name = "new interrupts",
		 .state = IRQ_STATE_STEERED,
		 .affinity = "0-1,6-15",
		 .original = "0-15",
		 .fired = -1},
		{.kind = IRQ_KIND_INTERRUPT,
		 .irq = 24,
		 .name = "virtio0-config",
		 .state = IRQ_STATE_ALLOWED,
		 .affinity = "0",
		 .effective = "0"},
		{.kind = IRQ_KIND_INTERRUPT,
		 .irq = 25,
		 .name = "nvme0q3",
		 .state = IRQ_STATE_MANAGED,
		 .affinity = "2-3",
		 .effective = "2",
		 .exclusive_cpus = "2",
		 .fired = 1234,
		 .remedy = "boot with isolcpus=managed_irq,2"},
	};
	const struct view_discovery discovery[] = {
		{.kind = "pod",
		 .uid = "0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42",
		 .qos = "Burstable",
		 .driver = "cgroupfs",
		 .cpu_weight = -1,
		 .tasks = -1,
		 .run_ns = -1,
		 .throttled_ns = -1,
		 .cgroup = "kubepods/burstable/pod0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"},
		{.kind = "container",
		 .id = "3f4e5d6c7b8a",
		 .runtime = "podman",
		 .driver = "systemd",
		 .cpus = "",
		 .effective_cpus = "0-15",
		 .mems = "",
		 .effective_mems = "0",
		 .cpu_max = "200000 100000",
		 .memory_max = "max",
		 .cpu_weight = 79,
		 .tasks = 5,
		 .run_ns = 1234567890,
		 .throttled_ns = 20000000,
		 .cgroup = "machine.slice/libpod-3f4e5d6c7b8a.scope"},
	};
	const struct view_stranger stranger[] = {
		{.pid = 812,
		 .process = 812,
		 .name = "sshd",
		 .kind = STRANGER_TASK,
		 .state = STRANGER_STATE_MOVED,
		 .cause = STRANGER_CAUSE_DEFAULT,
		 .cgroup = "/system.slice/ssh.service",
		 .unit = "ssh.service",
		 .affinity = "0-1,6-15",
		 .original = "0-15"},
		{.pid = 31,
		 .process = 31,
		 .name = "migration/2",
		 .kind = STRANGER_BOUND,
		 .state = STRANGER_STATE_BOUND,
		 .cause = STRANGER_CAUSE_CHOSEN,
		 .cgroup = "/",
		 .affinity = "2",
		 .exclusive_cpus = "2",
		 .remedy = "nobody can move it"},
		{.pid = 4712,
		 .process = 4711,
		 .name = "fighter",
		 .kind = STRANGER_TASK,
		 .state = STRANGER_STATE_CONTENDED,
		 .cause = STRANGER_CAUSE_SET_BACK,
		 .affinity = "0-15",
		 .original = "0-15",
		 .exclusive_cpus = "2-5",
		 .set_back = 7,
		 .remedy = "find out what calls sched_setaffinity(2) for it"},
	};
	const char *const set_aside[] = {"state.json.bad-1"};
	const struct view_state state_file = {.file = "/s",
					      .version = -1,
					      .writable = -1,
					      .written_ns = -1,
					      .nr_pods = -1,
					      .nr_containers = -1,
					      .nr_set_aside = 1,
					      .set_aside = set_aside};
	const struct view_state good_file = {.file = "/s",
					     .present = 1,
					     .version = 1,
					     .boot_id = "boot",
					     .written_ns = 1700000000000000000,
					     .nr_pods = 2,
					     .problem = "none really"};
	struct json_object *events = view_events(event, ARRAY_SIZE(event)),
			   *drifts = view_drifts(drift, ARRAY_SIZE(drift)),
			   *pressures = view_pressures(pressure, ARRAY_SIZE(pressure)),
			   *latencies = view_latencies(latency, ARRAY_SIZE(latency)),
			   *noises = view_noises(noise, ARRAY_SIZE(noise)),
			   *irqs = view_irqs(irq, ARRAY_SIZE(irq)),
			   *strangers = view_strangers(stranger, ARRAY_SIZE(stranger)),
			   *discoveries = view_discoveries(discovery, ARRAY_SIZE(discovery)),
			   *features = view_features(feature, ARRAY_SIZE(feature)),
			   *progs = view_progs(prog, ARRAY_SIZE(prog)),
			   *file = view_state(&good_file);

	check("state", &view_state_desc, file);
	json_object_put(file);
	file = view_state(&state_file);
	check("events", &view_event_desc, events);
	check("drifts", &view_drift_desc, drifts);
	check("pressures", &view_pressure_desc, pressures);
	check("latencies", &view_latency_desc, latencies);
	check("noises", &view_noise_desc, noises);
	check("irqs", &view_irq_desc, irqs);
	check("strangers", &view_stranger_desc, strangers);
	check("discoveries", &view_discovery_desc, discoveries);
	check("features", &view_feature_desc, features);
	check("progs", &view_prog_desc, progs);
	check("state-unusable", &view_state_desc, file);
	/* a process may call itself anything; JSON may not */
	expect(events, "/0/comm", "bad\xef\xbf\xbd\xef\xbf\xbdname");
	expect(events, "/0/target", "null");
	expect(drifts, "/0/open", "true");
	expect(drifts, "/0/pid", "null");
	expect(pressures, "/0/some_60", "12.34");
	expect(pressures, "/0/some_300", "2.05");
	expect(pressures, "/0/container", "null");
	expect(pressures, "/1/some_10", "null");
	expect(latencies, "/0/container", "null");
	expect(latencies, "/0/buckets/4/up_to_seconds", "null");
	expect(latencies, "/1/count", "0");
	expect(latencies, "/1/p99_seconds", "null");
	expect(latencies, "/2/count", "null");
	expect(latencies, "/2/state", "unknown");
	expect(noises, "/0/irq", "33");
	expect(noises, "/1/irq", "null");
	expect(noises, "/2/name", "null");
	expect(noises, "/3/count", "null");
	expect(noises, "/3/container", "null");
	expect(irqs, "/0/irq", "null");
	expect(irqs, "/1/exclusive_cpus", "null");
	expect(irqs, "/2/fired", "1234");
	expect(strangers, "/0/exclusive_cpus", "null");
	expect(strangers, "/1/kind", "bound");
	expect(strangers, "/2/cause", "set_back");
	expect(discoveries, "/0/id", "null");
	expect(discoveries, "/0/run_seconds", "null");
	expect(discoveries, "/1/cpus", "");
	expect(discoveries, "/1/run_seconds", "1.234567890");
	expect(features, "/0/state", "unknown");
	expect(features, "/0/errno", "1");
	expect(features, "/0/error", "EPERM");
	expect(progs, "/0/run_count", "null");
	expect(file, "/present", "false");
	expect(file, "/set_aside/0", "state.json.bad-1");
	json_object_put(events);
	json_object_put(drifts);
	json_object_put(pressures);
	json_object_put(latencies);
	json_object_put(noises);
	json_object_put(irqs);
	json_object_put(strangers);
	json_object_put(discoveries);
	json_object_put(features);
	json_object_put(progs);
	json_object_put(file);
}

static void small_answers(void **state)
{
	struct json_object *version = view_version("pinfold", NULL, "1.1"),
			   *run = view_run("prod", "db", "main", "pinfold.slice/x"),
			   *error = view_error("no"), *ledger = view_ledger("{}");

	/* the version changes with each release */
	expect(version, "/version", PINFOLD_VERSION);
	json_object_object_add(version, "version", json_object_new_string("VERSION"));
	check("version", &view_version_desc, version);
	check("run", &view_run_desc, run);
	check("error", &view_error_desc, error);
	check("ledger", &view_ledger_desc, ledger);
	json_object_put(ledger);
	json_object_put(version);
	json_object_put(run);
	json_object_put(error);
}

static void metrics_and_their_budget(void **state)
{
	static const uint64_t population[PER_NR] = {
		[PER_NODE] = 1,		 [PER_NUMA_NODE] = 2,  [PER_POD] = 30,
		[PER_EXCLUSIVE_POD] = 4, [PER_CONTAINER] = 60,
	};
	struct json_object *some = view_metrics("pinfold_p"), *none = view_metrics("frob"),
			   *budget = view_budget(population);

	check("metrics", &view_metric_desc, some);
	check("budget", &view_budget_desc, budget);
	assert_int_equal(json_object_array_length(none), 0);
	json_object_put(some);
	json_object_put(none);
	json_object_put(budget);
}

static void check_table(const struct object_desc *desc)
{
	assert_true(desc->row_size > 0);
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		assert_in_range(field->offset, 0, desc->row_size - 1);
		if (field->object)
			check_table(field->object);
		if (field->type == FIELD_PART)
			continue;
		assert_non_null(field->help);
		assert_int_equal(strspn(field->key, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				 strlen(field->key));
		assert_true((field->type == FIELD_ENUM) == (field->nr_words != 0));
	}
}

/* A key that stood twice would be once among the properties and twice required. */
static void check_keys_differ(struct json_object *schema)
{
	struct json_object *properties, *required;

	json_object_object_foreach (schema, key, value) {
		(void)key;
		if (json_object_is_type(value, json_type_object))
			check_keys_differ(value);
	}
	if (!json_object_object_get_ex(schema, "properties", &properties) ||
	    !json_object_object_get_ex(schema, "required", &required) ||
	    !json_object_is_type(required, json_type_array))
		return;
	assert_int_equal(json_object_object_length(properties), json_object_array_length(required));
}

static void descriptions_are_sound(void **state)
{
	struct json_object *schemas = json_object_new_object();

	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		struct json_object *schema = object_schema(*desc);

		assert_ptr_equal(view_find((*desc)->name), *desc);
		assert_non_null(schema);
		assert_non_null((*desc)->help);
		check_table(*desc);
		check_keys_differ(schema);
		json_object_object_add(schemas, (*desc)->name, schema);
	}
	assert_null(view_find("nothing"));
	compare("schemas", NULL, schemas);
	json_object_put(schemas);
}

/* --- docs/objects.md -------------------------------------------------------------------------- */

static void write_type(const struct field_desc *field, struct text *page)
{
	static const char *const names[FIELD_TYPE_NR] = {
		[FIELD_TEXT] = "text",
		[FIELD_CPULIST] = "list of ids, such as `0-3,8`",
		[FIELD_COUNT] = "integer",
		[FIELD_BYTES] = "integer, bytes",
		[FIELD_SECONDS] = "number, seconds",
		[FIELD_PERCENT] = "number, percent",
		[FIELD_TIME] = "integer, nanoseconds since 1970 UTC",
		[FIELD_BOOL] = "boolean",
		[FIELD_ENUM] = "",
		[FIELD_TEXTS] = "array of texts",
		[FIELD_OBJECT] = "object",
		[FIELD_LIST] = "array of objects",
	};

	text_append(page, names[field->type]);
	for (size_t i = 0; i < field->nr_words; i++)
		text_printf(page, "%s`%s`", i ? ", " : "", field_word(field, i));
	text_append(page, field->flags & FIELD_NULL ? ", or null" : "");
}

/* Fields of an object that stands under a key have that key in front: `nodes[].numa`. */
static void write_fields(const struct object_desc *desc, const char *above, struct text *page)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		char path[128];

		if (field->type == FIELD_PART) {
			write_fields(field->object, above, page);
			continue;
		}
		text_printf(page, "| `%s%s` | ", above, field->key);
		write_type(field, page);
		text_printf(page, " | %s |\n", field->help);
		snprintf(path, sizeof(path), "%s%s%s.", above, field->key,
			 field->type == FIELD_LIST ? "[]" : "");
		if (field->object)
			write_fields(field->object, path, page);
	}
}

/* The reference page is written from the tables. */
static void the_reference_page_is_of_these_tables(void **state)
{
	struct text page cleanup_text = {0};

	text_append(
		&page,
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		"<!-- Written by UPDATE_GOLDEN=1 build/tests/unit/test_views; do not edit. -->\n"
		"# Objects\n\n"
		"What `pinfold -j OBJECT show` and `GET /v1/OBJECT` give. Keys are only added "
		"within one schema\nversion. `pinfold schema OBJECT` says the same as JSON "
		"Schema. A failure is `{\"error\": TEXT}`.\n");
	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		text_printf(&page,
			    "\n## %s\n\n%s%s\n\n| key | value | meaning |\n| --- | --- | --- |\n",
			    (*desc)->name, (*desc)->is_list ? "An array of these: " : "",
			    (*desc)->help);
		write_fields(*desc, "", &page);
	}
	assert_int_equal(page.error, 0);
	golden_compare("docs/objects.md", page.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_have_place_and_owner),
		cmocka_unit_test(node_sums_up),
		cmocka_unit_test(pods_and_containers_say_what_is_held),
		cmocka_unit_test(pods_say_what_keeps_them_from_running),
		cmocka_unit_test(containers_show_what_is_written),
		cmocka_unit_test(refusals_say_what_is_known),
		cmocka_unit_test(explanations_say_where_and_why),
		cmocka_unit_test(explanations_name_the_rule),
		cmocka_unit_test(explanations_account_for_hints),
		cmocka_unit_test(explanations_know_an_older_decision),
		cmocka_unit_test(explanations_warn_of_the_pods_quota),
		cmocka_unit_test(simulate_has_the_promised_keys),
		cmocka_unit_test(simulate_keeps_the_book_of_memory),
		cmocka_unit_test(refusals_hold_every_kind_of_change),
		cmocka_unit_test(policy_lists_what_is_on),
		cmocka_unit_test(rows_become_objects),
		cmocka_unit_test(small_answers),
		cmocka_unit_test(metrics_and_their_budget),
		cmocka_unit_test(descriptions_are_sound),
		cmocka_unit_test(the_reference_page_is_of_these_tables),
	};

	return cmocka_run_group_tests_name("views", tests, open_stage, close_stage);
}
