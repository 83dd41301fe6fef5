// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Pinned memory of containers that become known one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/admit/container.h"
#include "ledger_fixture.h"
#include "memory_scene.h"

/* 2 nodes with ids 0 and 2: 4 CPUs, 8 GiB and 512 huge pages of 2 MiB each; CPU 0 is reserved. */
static struct topology *machine(void)
{
	struct topology_node nodes[2] = {{0}};
	struct topology_cpu cpus[8];
	struct topology_facts facts = {
		.cpus = cpus, .nr_cpus = 8, .nodes = nodes, .nr_nodes = 2, TOPOLOGY_COUNT_ALL};
	struct topology *topology = NULL;
	char error[256] = "";

	for (uint32_t i = 0; i < 8; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 4 * 2, .socket = i / 4};
	for (uint32_t i = 0; i < 2; i++)
		nodes[i] = (struct topology_node){
			.id = i * 2,
			.memory_bytes = (uint64_t)(9 * GIB),
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, 512, UINT64_MAX}},
		};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

static void set_up(struct fixture *fixture)
{
	fixture->topology = machine();
	fixture->policy = strict_policy("0");
	fixture->policy.memory = MEMORY_POLICY_STATIC;
	fixture->policy.align = ALIGN_SINGLE_NUMA_NODE;
	fixture->ledger = scene_ledger(fixture->topology, &fixture->policy);
}

static struct pod_spec runtime_pod(const char *uid)
{
	struct pod_spec spec = {.is_of_runtime = true, .stated_qos = QOS_GUARANTEED};

	snprintf(spec.uid, sizeof(spec.uid), "%s", uid);
	snprintf(spec.name, sizeof(spec.name), "%s", uid);
	snprintf(spec.namespace, sizeof(spec.namespace), "test");
	spec.request = spec.limit = spec.overhead = RESOURCES_UNSET;
	return spec;
}

static struct container_spec container_of(const char *name, enum container_kind kind, int64_t mcpu,
					  int64_t gib)
{
	struct container_spec container = {.kind = kind};

	snprintf(container.name, sizeof(container.name), "%s", name);
	container.request = container.limit = RESOURCES_UNSET;
	container.request.cpu_mcpu = container.limit.cpu_mcpu = mcpu;
	container.request.memory_bytes = container.limit.memory_bytes = gib * GIB;
	return container;
}

static struct decision prepare(struct fixture *fixture, const char *uid,
			       const struct container_spec *container)
{
	const struct pod_spec pod = runtime_pod(uid);
	struct decision decision;

	assert_int_equal(container_prepare(fixture->ledger, &pod, container, &decision), 0);
	if (decision.admitted)
		ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
	return decision;
}

static struct decision create(struct fixture *fixture, const char *uid, const char *name,
			      enum container_kind kind, int64_t mcpu, int64_t gib)
{
	const struct container_spec container = container_of(name, kind, mcpu, gib);

	return prepare(fixture, uid, &container);
}

static node_mask_t mems_of(const struct fixture *fixture, const char *uid, const char *name)
{
	return ledger_find_grant(ledger_find(fixture->ledger, uid), name)->mems;
}

static int64_t free_gib(const struct fixture *fixture, uint32_t node)
{
	return (int64_t)ledger_memory_state(fixture->ledger)->nodes[node].free_bytes[0] / GIB;
}

static void cpus_and_memory_are_of_one_node(void **state)
{
	FIXTURE(fixture);

	assert_true(create(&fixture, "a", "one", CONTAINER_APP, 1000, 6).admitted);
	/* Node 0 has two more CPUs, but not the memory. */
	assert_true(create(&fixture, "a", "two", CONTAINER_APP, 2000, 3).admitted);
	assert_int_equal(mems_of(&fixture, "a", "one"), 1);
	assert_int_equal(mems_of(&fixture, "a", "two"), 2);
	assert_cpus(ledger_find_grant(ledger_find(fixture.ledger, "a"), "two")->cpus, "4-5");
	assert_int_equal(free_gib(&fixture, 0), 2);
	assert_int_equal(free_gib(&fixture, 1), 5);
}

static void a_shared_container_has_its_memory_pinned(void **state)
{
	FIXTURE(fixture);

	assert_true(create(&fixture, "a", "half", CONTAINER_APP, 500, 8).admitted);
	assert_int_equal(mems_of(&fixture, "a", "half"), 1);
	assert_int_equal(free_gib(&fixture, 0), 0);
}

static void memory_returns_with_its_container(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", "one", CONTAINER_APP, 1000, 6);
	create(&fixture, "a", "two", CONTAINER_APP, 1000, 5);
	create(&fixture, "a", "three", CONTAINER_APP, 1000, 2);
	assert_int_equal(container_release(fixture.ledger, "a", "one"), 0);
	assert_sound(fixture.ledger);
	assert_int_equal(free_gib(&fixture, 0), 6);
	/* The others keep theirs. */
	assert_int_equal(mems_of(&fixture, "a", "two"), 2);
	assert_int_equal(mems_of(&fixture, "a", "three"), 1);
	assert_int_equal(container_release(fixture.ledger, "a", "two"), 0);
	assert_int_equal(container_release(fixture.ledger, "a", "three"), 0);
	assert_int_equal(free_gib(&fixture, 0), 8);
	assert_int_equal(free_gib(&fixture, 1), 8);
}

static void other_amounts_are_decided_anew(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", "one", CONTAINER_APP, 1000, 6);
	create(&fixture, "a", "two", CONTAINER_APP, 1000, 1);
	assert_true(create(&fixture, "a", "one", CONTAINER_APP, 1000, 7).admitted);
	assert_int_equal(free_gib(&fixture, 0) + free_gib(&fixture, 1), 8);
	/* A refusal keeps the old memory. */
	assert_false(create(&fixture, "a", "one", CONTAINER_APP, 1000, 9).admitted);
	assert_int_equal(free_gib(&fixture, 0) + free_gib(&fixture, 1), 8);
}

static void a_refusal_names_the_memory(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", "one", CONTAINER_APP, 1000, 6);
	create(&fixture, "b", "one", CONTAINER_APP, 1000, 6);
	decision = create(&fixture, "b", "two", CONTAINER_APP, 1000, 3);
	assert_false(decision.admitted);
	assert_true(decision.is_memory);
	assert_int_equal(decision.wanted, 3 * GIB);
	assert_int_equal(ledger_find(fixture.ledger, "b")->nr_grants, 1);
	assert_int_equal(free_gib(&fixture, 1), 2);
}

/* Init containers leave their memory to the containers after them. */
static void memory_of_init_containers_is_used_again(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", "init", CONTAINER_INIT, 1000, 6);
	assert_true(create(&fixture, "a", "app", CONTAINER_APP, 1000, 5).admitted);
	assert_int_equal(mems_of(&fixture, "a", "app"), 1);
	assert_int_equal(free_gib(&fixture, 0), 2);
	assert_int_equal(container_release(fixture.ledger, "a", "init"), 0);
	assert_int_equal(free_gib(&fixture, 0), 3);
	assert_int_equal(container_release(fixture.ledger, "a", "app"), 0);
	assert_int_equal(free_gib(&fixture, 0), 8);
}

static void what_shared_without_its_memory_is_decided_again(void **state)
{
	const struct pod_spec pod = runtime_pod("b");
	const struct container_spec half = container_of("half", CONTAINER_APP, 500, 7);
	FIXTURE(fixture);

	create(&fixture, "a", "one", CONTAINER_APP, 1000, 4);
	create(&fixture, "a", "two", CONTAINER_APP, 1000, 5);
	assert_false(create(&fixture, "b", "half", CONTAINER_APP, 500, 7).admitted);
	assert_int_equal(container_prepare_shared(fixture.ledger, &pod, &half), 0);
	ledger_commit(fixture.ledger);
	assert_int_equal(mems_of(&fixture, "b", "half"), 0);
	assert_false(create(&fixture, "b", "half", CONTAINER_APP, 500, 7).admitted);
	assert_int_equal(ledger_remove(fixture.ledger, "a"), 0);
	assert_true(create(&fixture, "b", "half", CONTAINER_APP, 500, 7).admitted);
	assert_int_equal(mems_of(&fixture, "b", "half"), 1);
	/* It stays there. */
	assert_true(create(&fixture, "b", "half", CONTAINER_APP, 500, 7).admitted);
	assert_int_equal(free_gib(&fixture, 0), 1);
}

static void nodes_in_use_are_taken_over(void **state)
{
	const struct pod_spec pod = runtime_pod("a");
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000, 6);
	const struct cpuset cpus = cpus_of("5-6");
	FIXTURE(fixture);

	create(&fixture, "b", "one", CONTAINER_APP, 1000, 4);
	/* Its nodes; none; and one where others have the memory. */
	for (node_mask_t nodes = 2;; nodes = nodes == 2 ? 0 : 1) {
		assert_int_equal(container_prepare_as(fixture.ledger, &pod, &container,
						      &(struct container_found){.cpus = cpus,
										.nodes = nodes}),
				 0);
		ledger_commit(fixture.ledger);
		assert_cpus(ledger_find_grant(ledger_find(fixture.ledger, "a"), "one")->cpus,
			    "5-6");
		assert_int_equal(mems_of(&fixture, "a", "one"), 2);
		assert_int_equal(free_gib(&fixture, 1), 2);
		assert_int_equal(free_gib(&fixture, 0), 4);
		if (nodes == 1)
			break;
		assert_int_equal(ledger_remove(fixture.ledger, "a"), 0);
	}
}

static void nodes_of_a_shared_container_are_taken_over(void **state)
{
	const struct pod_spec pod = runtime_pod("a");
	const struct container_spec container = container_of("half", CONTAINER_APP, 500, 6);
	const struct cpuset cpus = cpus_of("1-7");
	FIXTURE(fixture);

	assert_int_equal(container_prepare_as(fixture.ledger, &pod, &container,
					      &(struct container_found){.cpus = cpus, .nodes = 0}),
			 -ENOTSUP);
	assert_int_equal(container_prepare_as(fixture.ledger, &pod, &container,
					      &(struct container_found){.cpus = cpus, .nodes = 2}),
			 0);
	ledger_commit(fixture.ledger);
	assert_int_equal(mems_of(&fixture, "a", "half"), 2);
	assert_true(cpuset_is_empty(ledger_find(fixture.ledger, "a")->held));
}

static void cpus_are_not_given_up_for_memory(void **state)
{
	const struct pod_spec pod = runtime_pod("a");
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000, 6);
	const struct cpuset cpus = cpus_of("5-6");
	FIXTURE(fixture);

	create(&fixture, "b", "one", CONTAINER_APP, 1000, 4);
	create(&fixture, "c", "one", CONTAINER_APP, 1000, 5);
	assert_int_equal(mems_of(&fixture, "c", "one"), 2);
	/* It runs, and there is no room for its memory anywhere. */
	assert_int_equal(container_prepare_as(fixture.ledger, &pod, &container,
					      &(struct container_found){.cpus = cpus, .nodes = 1}),
			 0);
	ledger_commit(fixture.ledger);
	assert_true(prepare(&fixture, "a", &container).admitted);
	assert_int_equal(mems_of(&fixture, "a", "one"), 0);
	assert_int_equal(ledger_remove(fixture.ledger, "c"), 0);
	assert_true(prepare(&fixture, "a", &container).admitted);
	assert_int_equal(mems_of(&fixture, "a", "one"), 2);
	assert_cpus(ledger_find_grant(ledger_find(fixture.ledger, "a"), "one")->cpus, "5-6");
	assert_int_equal(free_gib(&fixture, 1), 2);
}

static void huge_pages_are_pinned_too(void **state)
{
	struct container_spec container = container_of("one", CONTAINER_APP, 1000, 1);
	FIXTURE(fixture);

	container.request.nr_hugepages = container.limit.nr_hugepages = 1;
	container.request.hugepages[0].size_bytes = container.limit.hugepages[0].size_bytes =
		PAGE_2M;
	container.request.hugepages[0].bytes = container.limit.hugepages[0].bytes = 600 * PAGE_2M;
	assert_false(prepare(&fixture, "a", &container).admitted);
	container.request.hugepages[0].bytes = container.limit.hugepages[0].bytes = 400 * PAGE_2M;
	assert_true(prepare(&fixture, "a", &container).admitted);
	assert_int_equal(ledger_memory_state(fixture.ledger)->nodes[0].free_bytes[1],
			 112 * PAGE_2M);
}

static void a_resize_keeps_pinned_memory(void **state)
{
	struct container_spec container = container_of("one", CONTAINER_APP, 2000, 4);
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", "one", CONTAINER_APP, 1000, 4);
	assert_int_equal(container_prepare_resize(fixture.ledger, "a", &container, &decision), 0);
	assert_true(decision.admitted);
	ledger_commit(fixture.ledger);
	assert_int_equal(mems_of(&fixture, "a", "one"), 1);
	container.request.memory_bytes = container.limit.memory_bytes = 5 * GIB;
	assert_int_equal(container_prepare_resize(fixture.ledger, "a", &container, &decision), 0);
	assert_false(decision.admitted);
	assert_string_equal(decision.reason, "inconsistentMemoryAllocationError");
	assert_string_equal(decision.message,
			    "container one asks for other memory, but its memory is pinned to NUMA "
			    "nodes, and a resize in place keeps it; create the pod anew");
	assert_string_equal(decision.suggestion, "");
	assert_int_equal(free_gib(&fixture, 0), 4);
}

static void the_kubelets_compatibility_is_refused(void **state)
{
	char error[256];
	FIXTURE(fixture);

	assert_int_equal(container_check_policy(&fixture.policy, error, sizeof(error)), 0);
	fixture.policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_int_equal(container_check_policy(&fixture.policy, error, sizeof(error)), -EINVAL);
	assert_string_equal(
		error, "memoryManagerPolicy: Static is supported for pods of a container runtime "
		       "only with compatibility: repaired or improved");
	fixture.policy.compatibility = COMPATIBILITY_REPAIRED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_and_memory_are_of_one_node),
		cmocka_unit_test(a_shared_container_has_its_memory_pinned),
		cmocka_unit_test(memory_returns_with_its_container),
		cmocka_unit_test(other_amounts_are_decided_anew),
		cmocka_unit_test(a_refusal_names_the_memory),
		cmocka_unit_test(memory_of_init_containers_is_used_again),
		cmocka_unit_test(what_shared_without_its_memory_is_decided_again),
		cmocka_unit_test(nodes_in_use_are_taken_over),
		cmocka_unit_test(nodes_of_a_shared_container_are_taken_over),
		cmocka_unit_test(cpus_are_not_given_up_for_memory),
		cmocka_unit_test(huge_pages_are_pinned_too),
		cmocka_unit_test(a_resize_keeps_pinned_memory),
		cmocka_unit_test(the_kubelets_compatibility_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
