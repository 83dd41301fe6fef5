// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Which change of a pod is a resize in place, and which is decided anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"
#include "resize_scene.h"

static bool is_wanted(const struct scene *scene, const struct pod_spec *spec)
{
	return resize_is_wanted(scene->ledger, ledger_find(scene->ledger, spec->uid), spec);
}

struct row {
	const char *what;
	void (*change)(struct pod_spec *spec);
	bool is_resize;
};

/* Each change alone, applied to `spec`, which is admitted as it is. Takes `spec`. */
static void try_rows(struct scene *scene, struct pod_spec *spec, const struct row *rows, size_t nr)
{
	struct pod_spec *original cleanup_pod_spec = spec;

	assert_true(admit_pods(scene, pod_spec_copy(original)).admitted);
	for (size_t i = 0; i < nr; i++) {
		struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(original);

		rows[i].change(changed);
		if (is_wanted(scene, changed) != rows[i].is_resize)
			fail_msg("%s: expected %s", rows[i].what,
				 rows[i].is_resize ? "a resize" : "a new decision");
	}
}

/* --- containers ------------------------------------------------------------------------------- */

static void grow_first(struct pod_spec *spec)
{
	spec->containers[0].request.cpu_mcpu = spec->containers[0].limit.cpu_mcpu = 5000;
}

static void rename_first(struct pod_spec *spec)
{
	memcpy(spec->containers[0].name, "other", sizeof("other"));
}

static void rename_second(struct pod_spec *spec)
{
	memcpy(spec->containers[1].name, "other", sizeof("other"));
}

static void make_first_a_sidecar(struct pod_spec *spec)
{
	spec->containers[0].kind = CONTAINER_SIDECAR;
}

static void make_both_sidecars(struct pod_spec *spec)
{
	spec->containers[0].kind = spec->containers[1].kind = CONTAINER_SIDECAR;
}

static void add_third(struct pod_spec *spec)
{
	struct container_spec *grown =
		reallocarray(spec->containers, spec->nr_containers + 1, sizeof(*grown));

	assert_non_null(grown);
	spec->containers = grown;
	spec->containers[spec->nr_containers++] = (struct container_spec){
		.name = "third",
		.kind = CONTAINER_APP,
		.request = {.cpu_mcpu = 1000, .memory_bytes = GIB},
		.limit = {.cpu_mcpu = 1000, .memory_bytes = GIB},
	};
}

static void remove_second(struct pod_spec *spec)
{
	spec->nr_containers = 1;
}

static void add_budget(struct pod_spec *spec)
{
	set_budget(spec, 8);
}

static void share_first(struct pod_spec *spec)
{
	spec->containers[0].request.cpu_mcpu = spec->containers[0].limit.cpu_mcpu = 1500;
}

static void make_burstable(struct pod_spec *spec)
{
	spec->containers[1].limit.memory_bytes = 2 * GIB;
}

static void give_to_runtime(struct pod_spec *spec)
{
	spec->is_of_runtime = true;
	spec->stated_qos = QOS_GUARANTEED;
}

static void the_containers_are_the_same(void **state)
{
	static const struct row rows[] = {
		{"another size", grow_first, true},
		{"another first name", rename_first, false},
		{"another second name", rename_second, false},
		{"another kind", make_first_a_sidecar, false},
		{"other kinds", make_both_sidecars, false},
		{"one more container", add_third, false},
		{"one container less", remove_second, false},
		{"a budget", add_budget, false},
		{"a container that shares", share_first, false},
		{"another class", make_burstable, false},
		{"a pod of a runtime", give_to_runtime, false},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	try_rows(&scene, two(4, 2), rows, ARRAY_SIZE(rows));
}

/* A container runtime resizes its pods itself, by way of NRI. */
static void a_pod_of_a_runtime_is_not_resized(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *spec = two(4, 2);
	struct pod_spec *larger cleanup_pod_spec = two(5, 2);

	(void)state;
	set_up(&scene, ALIGN_NONE);
	give_to_runtime(spec);
	assert_true(admit_pods(&scene, spec).admitted);
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 0)->cpus), 4);
	assert_false(is_wanted(&scene, larger));
	give_to_runtime(larger);
	assert_false(is_wanted(&scene, larger));
}

/* A pod without an exclusive CPU has none to keep. */
static void a_pod_on_the_shared_pool_is_not_resized(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *larger cleanup_pod_spec = burstable_pod("p");

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, burstable_pod("p")).admitted);
	larger->containers[0].request.cpu_mcpu = 700;
	assert_false(is_wanted(&scene, larger));
}

/* --- budgets ---------------------------------------------------------------------------------- */

static void grow_budget(struct pod_spec *spec)
{
	set_budget(spec, 8);
}

/* No bubble is made of a budget that is not a whole number of CPUs. */
static void cut_budget(struct pod_spec *spec)
{
	spec->request.cpu_mcpu = spec->limit.cpu_mcpu = 7500;
}

static void remove_budget(struct pod_spec *spec)
{
	spec->has_pod_resources = false;
	spec->request = spec->limit = RESOURCES_UNSET;
	spec->containers[1].request = spec->containers[1].limit = spec->containers[0].limit;
}

static void a_bubble_stays_one(void **state)
{
	static const struct row rows[] = {
		{"a larger budget", grow_budget, true},
		{"a fraction of a CPU", cut_budget, false},
		{"no budget", remove_budget, false},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_RESTRICTED);
	scene.policy.scope = ALIGN_SCOPE_POD;
	try_rows(&scene, budget(6, 4), rows, ARRAY_SIZE(rows));
}

/* With scope container there is no bubble, and the containers of a budget are resized. */
static void containers_of_a_budget_are_resized(void **state)
{
	static const struct row rows[] = {
		{"another size", grow_first, true},
		{"a larger budget", grow_budget, true},
		{"a fraction of a CPU", cut_budget, true},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_RESTRICTED);
	try_rows(&scene, budget(6, 4), rows, ARRAY_SIZE(rows));
}

/* Without pod-level managers no container of a budget would get exclusive CPUs any more. */
static void without_pod_level_managers_a_budget_is_decided_anew(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *larger cleanup_pod_spec = budget(6, 5);
	struct pod_spec *plain cleanup_pod_spec = guaranteed_pod("plain", 3);

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("plain", 2)).admitted);
	assert_true(is_wanted(&scene, larger));
	scene.policy.pod_level_managers = false;
	assert_false(is_wanted(&scene, larger));
	assert_true(is_wanted(&scene, plain));
}

/* --- memory ----------------------------------------------------------------------------------- */

/* One node with 8 CPUs, 32 GiB of memory and two sizes of huge pages. */
static void set_up_memory(struct scene *scene)
{
	struct topology_node node = {
		.memory_bytes = (uint64_t)(48 * GIB),
		.nr_hugepages = 2,
		.hugepages = {{PAGE_2M, 4096, UINT64_MAX}, {PAGE_1G, 8, UINT64_MAX}},
	};
	struct topology_cpu cpus[8] = {{0}};
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = &node,
		.nr_nodes = 1,
		TOPOLOGY_COUNT_ALL,
	};
	char error[256] = "";

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &scene->topology), 0);
	scene->policy = strict_policy("0");
	scene->policy.memory = MEMORY_POLICY_STATIC;
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
}

/*
 * A pod with a budget of memory and pages, a container that is exclusive and has pages, and one
 * that shares CPUs, so its request and its limit may differ.
 */
static struct pod_spec *memory_pod(void)
{
	struct pod_spec *spec = budget(6, 4);

	ask_pages(&spec->containers[0], PAGE_2M, GIB);
	ask_pages(&spec->containers[0], PAGE_1G, 2 * GIB);
	spec->containers[1].request.memory_bytes = GIB;
	spec->request.nr_hugepages = 2;
	spec->request.hugepages[0].size_bytes = PAGE_2M;
	spec->request.hugepages[0].bytes = 2 * GIB;
	spec->request.hugepages[1].size_bytes = PAGE_1G;
	spec->request.hugepages[1].bytes = 2 * GIB;
	spec->limit = spec->request;
	return spec;
}

static void request_more(struct pod_spec *spec)
{
	spec->containers[1].request.memory_bytes = 2 * GIB;
}

static void limit_memory(struct pod_spec *spec)
{
	spec->containers[1].limit.memory_bytes = 2 * GIB;
}

static void grow_memory_of_first(struct pod_spec *spec)
{
	spec->containers[0].request.memory_bytes = spec->containers[0].limit.memory_bytes = 2 * GIB;
}

static void request_more_pages(struct pod_spec *spec)
{
	spec->containers[0].request.hugepages[1].bytes = GIB;
}

static void request_no_pages_of_1g(struct pod_spec *spec)
{
	spec->containers[0].request.nr_hugepages = 1;
}

static void request_pages_of_another_size(struct pod_spec *spec)
{
	spec->containers[0].request.hugepages[0].size_bytes = PAGE_2M * 2;
}

static void request_pages_for_pod(struct pod_spec *spec)
{
	spec->request.hugepages[0].bytes = 3 * GIB;
}

static void limit_pages_of_pod(struct pod_spec *spec)
{
	spec->limit.hugepages[0].bytes = 3 * GIB;
}

static void swap_pages(struct pod_spec *spec)
{
	struct resources *request = &spec->containers[0].request;

	spec->containers[0].limit.hugepages[0] = request->hugepages[1];
	spec->containers[0].limit.hugepages[1] = request->hugepages[0];
	*request = spec->containers[0].limit;
}

static void pinned_memory_is_the_same(void **state)
{
	static const struct row rows[] = {
		{"another size", grow_first, true},
		{"a larger request", request_more, false},
		{"a limit", limit_memory, false},
		{"more memory", grow_memory_of_first, false},
		{"other pages", request_more_pages, false},
		{"no pages", request_no_pages_of_1g, false},
		{"pages of another size", request_pages_of_another_size, false},
		{"a larger budget of pages", request_pages_for_pod, false},
		{"a larger limit of pages", limit_pages_of_pod, false},
		{"another order of the page sizes", swap_pages, true},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_memory(&scene);
	try_rows(&scene, memory_pod(), rows, ARRAY_SIZE(rows));
}

static void memory_that_is_not_pinned_may_change(void **state)
{
	static const struct row rows[] = {
		{"a larger request", request_more, true},
		{"more memory", grow_memory_of_first, true},
		{"other pages", request_more_pages, true},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	try_rows(&scene, memory_pod(), rows, ARRAY_SIZE(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_containers_are_the_same),
		cmocka_unit_test(a_pod_of_a_runtime_is_not_resized),
		cmocka_unit_test(a_pod_on_the_shared_pool_is_not_resized),
		cmocka_unit_test(a_bubble_stays_one),
		cmocka_unit_test(containers_of_a_budget_are_resized),
		cmocka_unit_test(without_pod_level_managers_a_budget_is_decided_anew),
		cmocka_unit_test(pinned_memory_is_the_same),
		cmocka_unit_test(memory_that_is_not_pinned_may_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
