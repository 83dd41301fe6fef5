// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* A configuration against a machine: the one answer of the agent and of the inspector. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "format/config.h"
#include "scene.h"

#define MIB (INT64_C(1) << 20)

/* Two nodes of 8 GiB, 256 huge pages of 2 MiB on each. */
static struct topology *machine(void)
{
	const struct hugepages pages = {.size_bytes = 2 * MIB, .total_pages = 256};
	const struct topology_node nodes[] = {
		{.id = 0, .memory_bytes = 8 * GIB, .nr_hugepages = 1, .hugepages = {pages}},
		{.id = 1, .memory_bytes = 8 * GIB, .nr_hugepages = 1, .hugepages = {pages}}};
	struct topology_cpu cpus[8];
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = 8, .nodes = nodes, .nr_nodes = 2, TOPOLOGY_COUNT_ALL};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4, .socket = i / 4, .uncore = i / 4};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	return topology;
}

/* Says what is wrong with it here, or "". */
static const char *verdict(const char *text)
{
	static char error[512];
	struct topology *topology cleanup_topology = machine();
	struct format_error format_error;
	struct config config;
	struct policy policy;
	int r;

	*error = '\0';
	config_default(&config);
	if (config_parse(text, strlen(text), &format_error, &config))
		fail_msg("'%s': %s", text, format_error.message);
	r = config_check(&config, topology, &CPUSET_EMPTY, &policy, error, sizeof(error));
	assert_int_equal(r, *error ? -EINVAL : 0);
	return error;
}

#define STATIC "reservedSystemCPUs: \"0\"\nmemoryManagerPolicy: Static\n"

static void refuses(const char *text, const char *says)
{
	const char *sentence = verdict(text);

	if (!strstr(sentence, says))
		fail_msg("'%s' says: %s", text, sentence);
}

static void mode_and_reservation(void **state)
{
	assert_string_equal(verdict("reservedSystemCPUs: \"0\""), "");
	refuses("{}", "reservedSystemCPUs");
	refuses("reservedSystemCPUs: \"9\"", "9");
}

/* It needs the kubelet's files, and it must not decide anything itself. */
static void guarding_needs_a_plan(void **state)
{
	assert_string_equal(verdict("mode: guard"), "");
	assert_string_equal(verdict("mode: guard\nreservedSystemCPUs: \"0\""), "");
	refuses("mode: guard\nreservedSystemCPUs: \"9\"", "9");
	refuses("mode: guard\nsources: {kubeletDirectory: \"\"}",
		"set the directory, or use mode: observe");
	refuses("mode: guard\nsources: {nri: /run/nri.sock}", "remove sources.nri");
}

/* Nothing is granted, so nothing need be kept; what the file does say is still checked. */
static void observing_needs_no_reservation(void **state)
{
	assert_string_equal(verdict("mode: observe"), "");
	assert_string_equal(verdict("mode: observe\nreservedSystemCPUs: \"0\""), "");
	refuses("mode: observe\nreservedSystemCPUs: \"9\"", "9");
	refuses("mode: observe\n" STATIC, "reservedMemory");
}

/* The kubelet's rule and numbers; 100Mi of eviction unless evictionHard is given. */
static void memory_sums_up(void **state)
{
	assert_string_equal(verdict(STATIC "kubeReserved: {memory: 600Mi}\n"
					   "systemReserved: {memory: 300Mi}\n"
					   "reservedMemory:\n"
					   "- {numaNode: 0, limits: {memory: 700Mi}}\n"
					   "- {numaNode: 1, limits: {memory: 300Mi}}\n"),
			    "");
	refuses(STATIC "kubeReserved: {memory: 900Mi}\n"
		       "reservedMemory: [{numaNode: 0, limits: {memory: 900Mi}}]\n",
		"the total amount \"900Mi\" of type \"memory\" is not equal to the value \"1000Mi\"");
	refuses(STATIC "reservedMemory: [{numaNode: 7, limits: {memory: 100Mi}}]\n", "NUMA node 7");
	refuses(STATIC "evictionHard: {}\n", "system reserved memory");
	refuses(STATIC "reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n"
		       "systemReserved: {hugepages-2Mi: 64Mi}\n",
		"of type \"hugepages-2Mi\"");
	/* not asked where memory is not pinned */
	assert_string_equal(verdict("reservedSystemCPUs: \"0\"\nkubeReserved: {memory: 900Mi}"),
			    "");
}

static void eviction_counts(void **state)
{
	assert_string_equal(verdict(STATIC "evictionHard: {memory.available: 256Mi}\n"
					   "reservedMemory: [{numaNode: 0, limits: {memory: "
					   "256Mi}}]\n"),
			    "");
	/* 12.5 % of 16 GiB */
	assert_string_equal(verdict(STATIC "evictionHard: {memory.available: 12.5%}\n"
					   "reservedMemory: [{numaNode: 0, limits: {memory: "
					   "2Gi}}]\n"),
			    "");
	/* given without memory there is no threshold; nor is all of it one */
	assert_string_equal(verdict(STATIC "evictionHard: {pid.available: 10%}\n"
					   "kubeReserved: {memory: 1Gi}\n"
					   "reservedMemory: [{numaNode: 0, limits: {memory: "
					   "1Gi}}]\n"),
			    "");
	assert_string_equal(verdict(STATIC "evictionHard: {memory.available: 100%}\n"
					   "kubeReserved: {memory: 1Gi}\n"
					   "reservedMemory: [{numaNode: 0, limits: {memory: "
					   "1Gi}}]\n"),
			    "");
}

/* What only making the ledger finds: more reserved than the node has. */
static void a_ledger_must_be_possible(void **state)
{
	refuses(STATIC "kubeReserved: {memory: 9Gi}\nevictionHard: {}\n"
		       "reservedMemory: [{numaNode: 0, limits: {memory: 9Gi}}]\n",
		"NUMA node 0 has 8589934592 bytes");
}

/* Its containers become known one by one. */
static void a_runtime_excludes_policies_for_whole_pods(void **state)
{
#define SCOPE "topologyManagerPolicy: restricted\ntopologyManagerScope: pod\n"
#define MEMORY                                                                         \
	"memoryManagerPolicy: Static\nkubeReserved: {memory: 1Gi}\nevictionHard: {}\n" \
	"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n"
#define NRI "reservedSystemCPUs: \"0\"\nsources: {nri: /run/nri.sock}\n"
	assert_string_equal(verdict(NRI), "");
	assert_string_equal(verdict(NRI "topologyManagerPolicy: restricted\n"), "");
	assert_string_equal(verdict(NRI SCOPE), "");
	refuses(NRI SCOPE MEMORY, "sources.nri: topologyManagerScope: pod is supported");
	assert_string_equal(verdict("mode: observe\n" NRI SCOPE MEMORY), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mode_and_reservation),
		cmocka_unit_test(guarding_needs_a_plan),
		cmocka_unit_test(observing_needs_no_reservation),
		cmocka_unit_test(memory_sums_up),
		cmocka_unit_test(eviction_counts),
		cmocka_unit_test(a_ledger_must_be_possible),
		cmocka_unit_test(a_runtime_excludes_policies_for_whole_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
