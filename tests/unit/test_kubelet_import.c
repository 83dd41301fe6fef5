// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
/* A kubelet's files as pods of a ledger: what is kept exactly, and what is refused by name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kubelet/import.h"
#include "scene.h"

/* "pod/container=list" words; a word without container is the pod as a whole. */
static struct kubelet_cpu_state cpu_state(const char *const *words)
{
	struct kubelet_cpu_state state = {.version = 3};

	for (; *words; words++) {
		const char *slash = strchr(*words, '/'), *equals = strchr(*words, '=');
		struct kubelet_entries *entries = slash ? &state.containers : &state.pods;
		struct kubelet_entry *entry;
		char pod[80], container[80];

		assert_non_null(equals);
		snprintf(pod, sizeof(pod), "%.*s", (int)((slash ? slash : equals) - *words),
			 *words);
		snprintf(container, sizeof(container), "%.*s",
			 slash ? (int)(equals - slash - 1) : 0, slash ? slash + 1 : "");
		assert_int_equal(kubelet_entries_add(entries, pod, container, equals + 1), 0);
		entry = &entries->entries[entries->nr - 1];
		assert_int_equal(cpuset_parse(equals + 1, strlen(equals + 1), &entry->cpus), 0);
	}
	return state;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int import(struct ledger *ledger, const char *const *words, char error[320])
{
	struct kubelet_cpu_state state cleanup_kubelet_cpu_state = cpu_state(words);
	int r = kubelet_import(ledger, &state, NULL, error, 320);

	assert_sound(ledger);
	return r;
}

static void exclusive_containers_keep_their_cpus(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);
	struct policy policy = strict_policy("0");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	const struct ledger_pod *pod;
	char error[320] = "";

	assert_int_equal(import(ledger, WORDS("a/main=2-4", "b/x=5", "b/y=8-9"), error), 0);
	assert_int_equal(ledger_nr_pods(ledger), 2);
	pod = ledger_find(ledger, "a");
	assert_cpus(pod->grants[0].cpus, "2-4");
	assert_int_equal(pod->grants[0].isolation, ISOLATION_CONTAINER);
	assert_int_equal(pod->state, POD_ENDING);
	assert_string_equal(pod->spec->namespace, KUBELET_IMPORT_NAMESPACE);
	assert_cpus(ledger_shared_pool(ledger), "1,6-7,10-15");
}

/* The kubelet lets a later container have what an init container had. */
static void init_containers_lend(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);
	struct policy policy = strict_policy("0");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	const struct ledger_pod *pod;
	char error[320] = "";

	assert_int_equal(import(ledger, WORDS("a/free=7", "a/setup=2-4", "a/work=3-5"), error), 0);
	pod = ledger_find(ledger, "a");
	assert_string_equal(pod->grants[0].container, "setup");
	assert_int_equal(pod->grants[0].kind, CONTAINER_INIT);
	assert_int_equal(pod->grants[1].kind, CONTAINER_APP);
	assert_cpus(pod->held, "2-5,7");
}

static void pod_level_pods_need_pod_scope(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);
	struct policy policy = strict_policy("0");
	const char *const *words = WORDS("p=1-6", "p/db=1-3", "p/log=4-6", "p/sync=4-6");
	struct ledger *ledger = scene_ledger(topology, &policy);
	const struct ledger_pod *pod;
	char error[320] = "";

	assert_int_equal(import(ledger, words, error), -EINVAL);
	assert_non_null(strstr(error, "topologyManagerScope pod"));
	assert_int_equal(ledger_nr_pods(ledger), 0);
	ledger_free(ledger);
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(import(ledger, words, error), 0);
	pod = ledger_find(ledger, "p");
	assert_true(pod->has_bubble);
	assert_int_equal(pod->grants[0].isolation, ISOLATION_CONTAINER);
	assert_int_equal(pod->grants[1].isolation, ISOLATION_POD);
	assert_int_equal(pod->grants[2].isolation, ISOLATION_POD);
	ledger_free(ledger);
}

static void refusals_name_the_thing(void **state)
{
	const struct {
		const char *const *words;
		const char *says;
	} cases[] = {
		{WORDS("a/main=2-4", "b/main=14-17"), "pod b has CPUs 16-17"},
		{WORDS("a/main=2-4", "b/main=4-5"), "CPU 4, which is not free"},
		{WORDS("a/main=0-1"), "holds reserved CPUs"},
		{WORDS("/main=2"), "a pod has no uid"},
	};
	struct topology *topology cleanup_topology = scene_machine(2, 1, 8, 1);
	struct policy policy = strict_policy("0");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
		char error[320] = "";

		assert_int_equal(import(ledger, cases[i].words, error), -EINVAL);
		if (!strstr(error, cases[i].says))
			fail_msg("case %zu: %s", i, error);
		/* all or nothing */
		assert_int_equal(ledger_nr_pods(ledger), 0);
	}
}

/* Two nodes of 8 GiB; the kubelet pinned 2 GiB of pod a on node 1. */
static void memory_stays_on_its_nodes(void **state)
{
	const struct topology_node nodes[] = {{.id = 0, .memory_bytes = 8 * GIB},
					      {.id = 1, .memory_bytes = 8 * GIB}};
	struct topology_cpu cpus[8];
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = 8, .nodes = nodes, .nr_nodes = 2, TOPOLOGY_COUNT_ALL};
	struct policy policy = strict_policy("0");
	uint32_t on_one[] = {1};
	char type[] = "memory", pod_name[] = "a", container[] = "main";
	struct kubelet_memory_block block = {
		.type = type, .nr_nodes = 1, .nodes = on_one, .bytes = 2 * GIB};
	struct kubelet_memory_entry entry = {
		.pod = pod_name, .container = container, .nr_blocks = 1, .blocks = &block};
	const struct kubelet_memory_state memory = {.containers = {.nr = 1, .entries = &entry}};
	struct kubelet_cpu_state cpu cleanup_kubelet_cpu_state = cpu_state(WORDS("a/main=4-5"));
	struct topology *topology cleanup_topology = NULL;
	struct ledger *ledger = NULL;
	char error[320] = "";

	for (uint32_t i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4, .socket = i / 4, .uncore = i / 4};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] = (struct memory_reservation){.node_id = 0, .bytes = GIB};
	ledger = scene_ledger(topology, &policy);
	assert_int_equal(kubelet_import(ledger, &cpu, &memory, error, sizeof(error)), 0);
	assert_int_equal(ledger_find(ledger, "a")->grants[0].mems, 2);
	assert_int_equal(ledger_memory_state(ledger)->nodes[1].free_bytes[0], 6 * GIB);
	assert_sound(ledger);
	ledger_free(ledger);
	ledger = scene_ledger(topology, &policy);
	on_one[0] = 7;
	assert_int_equal(kubelet_import(ledger, &cpu, &memory, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "NUMA node 7"));
	ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exclusive_containers_keep_their_cpus),
		cmocka_unit_test(init_containers_lend),
		cmocka_unit_test(pod_level_pods_need_pod_scope),
		cmocka_unit_test(refusals_name_the_thing),
		cmocka_unit_test(memory_stays_on_its_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
