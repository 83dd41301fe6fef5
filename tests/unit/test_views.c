// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The objects of the node, its pods and its policy have the values that the ledger holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pinfold/names.h>

#include "format/config.h"
#include "format/metrics.h"
#include "view_scene.h"

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

/* The ledger of this stage has pods of its own, which mode guard and observe do not have. */
static void a_kubelets_cpus_have_its_owners(void **state)
{
	const struct stage *stage = *state;
	struct cpuset pod = cpuset_of_text("2-5,999"), container = cpuset_of_text("2-3"),
		      nameless = cpuset_of_text("6"), shared = cpuset_of_text("0-1,7");
	const struct cpu_claim claims[] = {
		{.uid = "u1", .namespace = "shop", .pod = "db-0", .container = "", .cpus = &pod},
		{.uid = "u1",
		 .namespace = "shop",
		 .pod = "db-0",
		 .container = "main",
		 .cpus = &container},
		{.uid = "u2", .container = "web", .cpus = &nameless},
	};
	struct json_object *json =
		view_kubelet_cpus(stage->ledger, claims, ARRAY_SIZE(claims), &shared);

	assert_int_equal(json_object_array_length(json), 16);
	expect(json, "/3/state", "exclusive");
	expect(json, "/3/owner", "shop/db-0/main");
	expect(json, "/3/owner_uid", "u1");
	expect(json, "/5/state", "pod_shared");
	expect(json, "/5/owner", "shop/db-0");
	expect(json, "/6/owner", "u2/web");
	expect(json, "/6/in_shared_pool", "false");
	expect(json, "/7/in_shared_pool", "true");
	json_object_put(json);
}

static void node_sums_up(void **state)
{
	const struct stage *stage = *state;
	const struct finding_row finding = {
		.kind = FINDING_TIER1_NOT_HELD, .message = "why", .remedy = "what"};
	const struct view_node row = {.source = "agent",
				      .ready = 0,
				      .not_ready = "a reason",
				      .nr_findings = 1,
				      .findings = &finding};
	const struct finding_row no_remedy = {.kind = FINDING_GRANT_LOST, .message = "it is so"};
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
	struct json_object *pods = view_pods(stage->ledger, NULL);
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
	const struct pod_problem problems[] = {{"uid-nobody", CONDITION_FAILED, "not this one"},
					       {"uid-db", CONDITION_FAILED,
						"its cgroup cannot be made"}};
	const struct pods_observed observed = {.problems = problems,
					       .nr_problems = ARRAY_SIZE(problems)};
	struct json_object *pods = view_pods(stage->ledger, &observed);

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
	config.enforcement.guard[ASPECT_AFFINITY] = ENFORCEMENT_AUDIT;
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
	config.enforcement.debuggers = (struct cgroup_list){2, {"/user.slice", "/debug"}};
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
	expect(json, "/host_tasks", "free");
	expect(json, "/enforcement/0/level", "enforce");
	expect(json, "/enforcement/1/what", "affinity");
	expect(json, "/enforcement/1/level", "audit");
	json_object_put(json);
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
		[PER_NODE] = 1, [PER_NUMA_NODE] = 2,	 [PER_HUGEPAGES] = 3,
		[PER_POD] = 30, [PER_EXCLUSIVE_POD] = 4, [PER_CONTAINER] = 60,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_have_place_and_owner),
		cmocka_unit_test(a_kubelets_cpus_have_its_owners),
		cmocka_unit_test(node_sums_up),
		cmocka_unit_test(pods_and_containers_say_what_is_held),
		cmocka_unit_test(pods_say_what_keeps_them_from_running),
		cmocka_unit_test(containers_show_what_is_written),
		cmocka_unit_test(refusals_say_what_is_known),
		cmocka_unit_test(simulate_has_the_promised_keys),
		cmocka_unit_test(simulate_keeps_the_book_of_memory),
		cmocka_unit_test(refusals_hold_every_kind_of_change),
		cmocka_unit_test(policy_lists_what_is_on),
		cmocka_unit_test(small_answers),
		cmocka_unit_test(metrics_and_their_budget),
	};

	return cmocka_run_group_tests_name("views", tests, open_stage, close_stage);
}
