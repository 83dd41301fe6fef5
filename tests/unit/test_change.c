// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Applying changes that would admit a pod: each modifies only its own subject. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

static void ask_pages(struct resources *resources, uint64_t size_bytes, int64_t bytes)
{
	resources->hugepages[resources->nr_hugepages].size_bytes = size_bytes;
	resources->hugepages[resources->nr_hugepages++].bytes = bytes;
}

/* Containers "one" and "two" with CPUs, memory and pages of 2Mi, and a budget of the same kinds. */
static struct pod_spec *pod_with_everything(void)
{
	struct pod_spec *spec = scene_pod("a");

	add_container(spec, "one", CONTAINER_APP, 2000, 2000);
	add_container(spec, "two", CONTAINER_APP, 3000, 3000);
	set_budget(spec, 5);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		ask_pages(&spec->containers[i].request, PAGE_2M, 4 * (int64_t)PAGE_2M);
		ask_pages(&spec->containers[i].limit, PAGE_2M, 4 * (int64_t)PAGE_2M);
	}
	ask_pages(&spec->request, PAGE_2M, 8 * (int64_t)PAGE_2M);
	ask_pages(&spec->limit, PAGE_2M, 8 * (int64_t)PAGE_2M);
	return spec;
}

static void cpus_of_a_container(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct pod_spec *wanted cleanup_pod_spec = pod_with_everything();
	struct change change = {.kind = CHANGE_CONTAINER_CPUS, .cpus = 7, .container = "two"};

	change_apply(&change, spec);
	wanted->containers[1].request.cpu_mcpu = wanted->containers[1].limit.cpu_mcpu = 7000;
	assert_true(pod_spec_equal(spec, wanted));
}

/* Only the pod-level resources, whatever container the message may name. */
static void cpus_of_the_budget(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct pod_spec *wanted cleanup_pod_spec = pod_with_everything();
	struct change change = {.kind = CHANGE_POD_CPUS, .cpus = 4, .container = "one"};

	change_apply(&change, spec);
	wanted->request.cpu_mcpu = wanted->limit.cpu_mcpu = 4000;
	assert_true(pod_spec_equal(spec, wanted));
}

static void memory_of_a_container(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct pod_spec *wanted cleanup_pod_spec = pod_with_everything();
	struct change change = {
		.kind = CHANGE_CONTAINER_MEMORY, .bytes = 5 * PAGE_2M, .container = "one"};

	change_apply(&change, spec);
	wanted->containers[0].request.memory_bytes = 5 * (int64_t)PAGE_2M;
	wanted->containers[0].limit.memory_bytes = 5 * (int64_t)PAGE_2M;
	assert_true(pod_spec_equal(spec, wanted));

	change.page_bytes = PAGE_2M;
	change_apply(&change, spec);
	wanted->containers[0].request.hugepages[0].bytes = 5 * (int64_t)PAGE_2M;
	wanted->containers[0].limit.hugepages[0].bytes = 5 * (int64_t)PAGE_2M;
	assert_true(pod_spec_equal(spec, wanted));
}

/* A resource that was not requested is not requested afterwards either. */
static void unrequested_memory_stays_unrequested(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct pod_spec *wanted cleanup_pod_spec = pod_with_everything();
	struct change change = {.kind = CHANGE_POD_MEMORY, .bytes = 3 * PAGE_1G};

	change.page_bytes = PAGE_1G;
	change_apply(&change, spec);
	assert_true(pod_spec_equal(spec, wanted));

	change.page_bytes = 0;
	spec->request.memory_bytes = wanted->request.memory_bytes = RESOURCE_UNSET;
	change_apply(&change, spec);
	wanted->limit.memory_bytes = 3 * (int64_t)PAGE_1G;
	assert_true(pod_spec_equal(spec, wanted));

	/* Zero is an amount too. */
	spec->request.memory_bytes = 0;
	change_apply(&change, spec);
	wanted->request.memory_bytes = 3 * (int64_t)PAGE_1G;
	assert_true(pod_spec_equal(spec, wanted));
}

/* In all containers; added to what is already requested of the other size. */
static void pages_of_another_size(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct pod_spec *wanted cleanup_pod_spec = pod_with_everything();
	struct change change = {
		.kind = CHANGE_PAGE_SIZE, .page_bytes = PAGE_2M, .to_page_bytes = PAGE_1G};

	ask_pages(&spec->containers[1].limit, PAGE_1G, (int64_t)PAGE_1G);
	ask_pages(&wanted->containers[1].limit, PAGE_1G, (int64_t)PAGE_1G);
	spec->containers[0].request.nr_hugepages = wanted->containers[0].request.nr_hugepages = 0;
	change_apply(&change, spec);
	wanted->containers[0].limit.hugepages[0].size_bytes = PAGE_1G;
	wanted->containers[1].request.hugepages[0].size_bytes = PAGE_1G;
	wanted->containers[1].limit.hugepages[0].bytes = 0;
	wanted->containers[1].limit.hugepages[1].bytes += 4 * (int64_t)PAGE_2M;
	wanted->request.hugepages[0].size_bytes = PAGE_1G;
	wanted->limit.hugepages[0].size_bytes = PAGE_1G;
	assert_true(pod_spec_equal(spec, wanted));
}

/* What stands behind the last size that is requested is not a request. */
static void only_requested_sizes_change(void **state)
{
	struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
	struct change change = {
		.kind = CHANGE_PAGE_SIZE, .page_bytes = PAGE_2M, .to_page_bytes = PAGE_1G};
	struct resources *request = &spec->containers[0].request;

	(void)state;
	request->hugepages[1].size_bytes = PAGE_1G;
	request->hugepages[1].bytes = PAGE_1G;
	change_apply(&change, spec);
	assert_int_equal(request->nr_hugepages, 1);
	assert_int_equal(request->hugepages[0].size_bytes, PAGE_1G);
	assert_int_equal(request->hugepages[0].bytes, 4 * PAGE_2M);
}

/* Who leaves, what it holds if CPUs are short, and whether it is about to leave anyway. */
static void departures_are_told(void **state)
{
	static const struct {
		const char *uid;
		bool is_memory, is_ending;
		const char *says;
	} cases[] = {
		{"holds", false, false, "fits after pod test/holds leaves (it holds 2 CPUs)"},
		{"holds", true, false, "fits after pod test/holds leaves"},
		{"shares", false, false, "fits after pod test/shares leaves"},
		{"holds", false, true,
		 "fits after pod test/holds leaves (it holds 2 CPUs and is ending)"},
		{"shares", false, true, "fits after pod test/shares leaves (it is ending)"},
	};
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 2);
	struct policy policy = strict_policy("0,4");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);

	(void)state;
	assert_true(admit_and_free(ledger, guaranteed_pod("holds", 2)).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("shares")).admitted);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct change change = {.kind = CHANGE_POD_LEAVES};
		char text[CHANGE_TEXT_MAX];

		snprintf(change.uid, sizeof(change.uid), "%s", cases[i].uid);
		assert_int_equal(ledger_set_state(ledger, cases[i].uid,
						  cases[i].is_ending ? POD_ENDING : POD_RUNNING,
						  NULL),
				 0);
		change_say(ledger, cases[i].is_memory, &change, text, sizeof(text));
		assert_string_equal(text, cases[i].says);
	}
}

/* Each change modifies one thing: the pod's document or one option of the policy. */
static void options_of_the_policy(void **state)
{
	for (int kind = 0; kind < CHANGE_KIND_NR; kind++) {
		struct change change = {.kind = (enum change_kind)kind,
					.cpus = 1,
					.bytes = PAGE_1G,
					.align = ALIGN_RESTRICTED,
					.scope = ALIGN_SCOPE_POD,
					.container = "one"};
		struct pod_spec *spec cleanup_pod_spec = pod_with_everything();
		struct pod_spec *before cleanup_pod_spec = pod_with_everything();
		struct policy policy = policy_default();

		policy.align = ALIGN_BEST_EFFORT;
		policy.scope = ALIGN_SCOPE_CONTAINER;
		policy.cpu_options.full_pcpus_only = true;
		policy.compatibility = COMPATIBILITY_KUBELET_1_36;
		change_policy(&change, &policy);
		assert_int_equal(policy.align, kind == CHANGE_ALIGN_POLICY ? ALIGN_RESTRICTED
									   : ALIGN_BEST_EFFORT);
		assert_int_equal(policy.scope, kind == CHANGE_ALIGN_SCOPE ? ALIGN_SCOPE_POD
									  : ALIGN_SCOPE_CONTAINER);
		assert_int_equal(policy.cpu_options.full_pcpus_only, kind != CHANGE_ANY_CORES);
		assert_int_equal(policy.compatibility, kind == CHANGE_REPAIRED
							       ? COMPATIBILITY_REPAIRED
							       : COMPATIBILITY_KUBELET_1_36);
		change_apply(&change, spec);
		if (kind == CHANGE_NONE || kind >= CHANGE_POD_LEAVES)
			assert_true(pod_spec_equal(spec, before));
	}
}

static void names_differ(void **state)
{
	for (int i = 0; i < CHANGE_KIND_NR; i++) {
		for (int j = 0; j < i; j++)
			assert_string_not_equal(change_kind_name((enum change_kind)i),
						change_kind_name((enum change_kind)j));
	}
	/* Each refusal has a remedy; REFUSAL_NONE has none. */
	assert_string_equal(refusal_remedy(REFUSAL_NONE), "");
	for (int i = REFUSAL_NONE + 1; i < REFUSAL_NR; i++)
		assert_true(strlen(refusal_remedy((enum refusal)i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_of_a_container),
		cmocka_unit_test(cpus_of_the_budget),
		cmocka_unit_test(memory_of_a_container),
		cmocka_unit_test(unrequested_memory_stays_unrequested),
		cmocka_unit_test(pages_of_another_size),
		cmocka_unit_test(only_requested_sizes_change),
		cmocka_unit_test(departures_are_told),
		cmocka_unit_test(options_of_the_policy),
		cmocka_unit_test(names_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
