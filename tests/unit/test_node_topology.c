// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * The object for topology-aware schedulers: what each NUMA node has, what pods may get of it,
 * and what is still available.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "core/admit/admit.h"
#include "format/node_topology.h"
#include "memory_scene.h"
#include "scene.h"

/* Two nodes of eight CPUs, 9 GiB with 1 GiB of huge pages each; a third without CPUs. */
static struct topology *machine(void)
{
	static const uint32_t distances[9] = {10, 21, 30, 21, 10, 30, 30, 30, 10};
	struct topology_cpu cpus[16];
	struct topology_node nodes[3];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = nodes,
		.nr_nodes = ARRAY_SIZE(nodes),
		.distances = distances,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i,
			.core = i,
			.node = i / 8 * 4,
			.socket = i / 8,
			.uncore = i / 8,
		};
	for (uint32_t i = 0; i < ARRAY_SIZE(nodes); i++)
		nodes[i] = (struct topology_node){
			.id = 4 * i,
			.memory_bytes = 9 * (uint64_t)GIB,
			.nr_hugepages = i < 2,
			.hugepages = {{2 << 20, 512, 512}},
		};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	return topology;
}

static struct json_object *exported(const struct ledger *ledger)
{
	struct text text cleanup_text = {0};
	struct json_object *json;

	node_topology_write(ledger, "worker-1", EMIT_JSON, &text);
	assert_int_equal(text.error, 0);
	json = json_tokener_parse(text.data);
	assert_non_null(json);
	return json;
}

static struct json_object *member(struct json_object *json, const char *key)
{
	return json_object_object_get(json, key);
}

static const char *text_of(struct json_object *json, const char *key)
{
	return json_object_get_string(member(json, key));
}

static struct json_object *zone_at(struct json_object *json, size_t index)
{
	return json_object_array_get_idx(member(json, "zones"), index);
}

/* The item of a list that has this name. */
static struct json_object *named(struct json_object *list, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!strcmp(text_of(item, "name"), name))
			return item;
	}
	return NULL;
}

static void expect_resource(struct json_object *zone, const char *name, const char *capacity,
			    const char *allocatable, const char *available)
{
	struct json_object *resource = named(member(zone, "resources"), name);

	assert_non_null(resource);
	assert_string_equal(text_of(resource, "capacity"), capacity);
	assert_string_equal(text_of(resource, "allocatable"), allocatable);
	assert_string_equal(text_of(resource, "available"), available);
}

static struct policy pinning_policy(void)
{
	struct policy policy = strict_policy("0-1");

	policy.memory = MEMORY_POLICY_STATIC;
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	policy.scope = ALIGN_SCOPE_POD;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 0, .bytes = 1 * (uint64_t)GIB};
	return policy;
}

static void the_head_is_what_schedulers_look_for(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct json_object *json = exported(ledger), *attributes = member(json, "attributes");

	assert_string_equal(text_of(json, "apiVersion"), "topology.node.k8s.io/v1alpha2");
	assert_string_equal(text_of(json, "kind"), "NodeResourceTopology");
	assert_string_equal(text_of(member(json, "metadata"), "name"), "worker-1");
	assert_string_equal(text_of(named(attributes, "topologyManagerPolicy"), "value"),
			    "single-numa-node");
	assert_string_equal(text_of(named(attributes, "topologyManagerScope"), "value"), "pod");
	assert_int_equal(json_object_array_length(member(json, "zones")), 3);
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

static void a_zone_has_its_distances_under_the_kernels_ids(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct json_object *json = exported(ledger), *zone = zone_at(json, 1), *costs;

	assert_string_equal(text_of(zone, "name"), "node-4");
	assert_string_equal(text_of(zone, "type"), "Node");
	costs = member(zone, "costs");
	assert_int_equal(json_object_array_length(costs), 3);
	assert_int_equal(json_object_get_int(member(named(costs, "node-0"), "value")), 21);
	assert_int_equal(json_object_get_int(member(named(costs, "node-4"), "value")), 10);
	assert_int_equal(json_object_get_int(member(named(costs, "node-8"), "value")), 30);
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

static void what_is_granted_is_not_available(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct pod_spec *spec = guaranteed_pod("a", 4);
	struct json_object *json = exported(ledger), *zone = zone_at(json, 0);

	/* 2 of 8 CPUs are reserved, and 1 of 9 GiB; another one is huge pages. */
	expect_resource(zone, "cpu", "8", "6", "6");
	expect_resource(zone, "memory", "9663676416", "7516192768", "7516192768");
	expect_resource(zone, "hugepages-2Mi", "1073741824", "1073741824", "1073741824");
	json_object_put(json);

	spec->containers[0].request.memory_bytes = spec->containers[0].limit.memory_bytes = 2 * GIB;
	admit_and_free(ledger, spec);
	assert_int_equal(ledger_nr_pods(ledger), 1);
	json = exported(ledger);
	expect_resource(zone_at(json, 0), "cpu", "8", "6", "2");
	expect_resource(zone_at(json, 0), "memory", "9663676416", "7516192768", "5368709120");
	expect_resource(zone_at(json, 1), "cpu", "8", "8", "8");
	expect_resource(zone_at(json, 1), "memory", "9663676416", "8589934592", "8589934592");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

/* CPUs that the kernel isolates are there, but no pod gets them. */
static void isolated_cpus_are_not_allocatable(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger;
	struct json_object *json;

	policy.excluded = cpus_of("6-9");
	ledger = scene_ledger(topology, &policy);
	json = exported(ledger);
	expect_resource(zone_at(json, 0), "cpu", "8", "4", "4");
	expect_resource(zone_at(json, 1), "cpu", "8", "6", "6");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

/* They may come back, so they remain allocatable. */
static void offline_cpus_are_not_available(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger = scene_ledger(topology, &policy);
	const struct cpuset offline = cpus_of("1,6-7");
	struct json_object *json;

	ledger_set_offline(ledger, &offline);
	json = exported(ledger);
	expect_resource(zone_at(json, 0), "cpu", "8", "6", "4");
	expect_resource(zone_at(json, 1), "cpu", "8", "8", "8");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

/* Neither does it offer CPUs that it does not have, nor pages of a size that it does not know. */
static void a_node_has_what_it_has(void **state)
{
	struct topology *topology = machine();
	struct policy policy = pinning_policy();
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct json_object *json = exported(ledger), *zone = zone_at(json, 2);

	assert_string_equal(text_of(zone, "name"), "node-8");
	assert_null(named(member(zone, "resources"), "cpu"));
	assert_null(named(member(zone, "resources"), "hugepages-2Mi"));
	expect_resource(zone, "memory", "9663676416", "9663676416", "9663676416");
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

static void unknown_distances_are_left_out(void **state)
{
	struct topology *topology = scene_machine(1, 2, 4, 1);
	struct policy policy = strict_policy("0");
	struct ledger *ledger = scene_ledger(topology, &policy);
	struct json_object *json = exported(ledger);

	assert_null(member(zone_at(json, 0), "costs"));
	json_object_put(json);
	ledger_free(ledger);
	topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_is_what_schedulers_look_for),
		cmocka_unit_test(a_zone_has_its_distances_under_the_kernels_ids),
		cmocka_unit_test(what_is_granted_is_not_available),
		cmocka_unit_test(isolated_cpus_are_not_allocatable),
		cmocka_unit_test(offline_cpus_are_not_available),
		cmocka_unit_test(a_node_has_what_it_has),
		cmocka_unit_test(unknown_distances_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
