// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Containers that become known one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/admit/container.h"
#include "core/plan/plan.h"
#include "ledger_fixture.h"

/* 8 CPUs on one node; CPU 0 is reserved, so 1 to 7 are for pods. */
static void set_up(struct fixture *fixture)
{
	fixture->topology = scene_machine(1, 1, 8, 1);
	fixture->policy = strict_policy("0");
	fixture->ledger = scene_ledger(fixture->topology, &fixture->policy);
}

static struct pod_spec runtime_pod(const char *uid, enum qos_class qos)
{
	struct pod_spec spec = {.is_of_runtime = true, .stated_qos = qos};

	snprintf(spec.uid, sizeof(spec.uid), "%s", uid);
	snprintf(spec.name, sizeof(spec.name), "%s", uid);
	snprintf(spec.namespace, sizeof(spec.namespace), "test");
	spec.request = spec.limit = spec.overhead = RESOURCES_UNSET;
	return spec;
}

static struct container_spec container_of(const char *name, enum container_kind kind, int64_t mcpu)
{
	struct container_spec container = {.kind = kind};

	snprintf(container.name, sizeof(container.name), "%s", name);
	container.request = container.limit = RESOURCES_UNSET;
	container.request.cpu_mcpu = container.limit.cpu_mcpu = mcpu;
	container.request.memory_bytes = container.limit.memory_bytes = GIB;
	return container;
}

static struct decision create(struct fixture *fixture, const char *uid, enum qos_class qos,
			      const char *name, enum container_kind kind, int64_t mcpu)
{
	const struct pod_spec pod = runtime_pod(uid, qos);
	const struct container_spec container = container_of(name, kind, mcpu);
	struct decision decision;

	assert_int_equal(container_prepare(fixture->ledger, &pod, &container, &decision), 0);
	if (decision.admitted)
		ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
	return decision;
}

static void assert_holds(const struct fixture *fixture, const char *uid, const char *name,
			 const char *list)
{
	const struct grant *grant = ledger_find_grant(ledger_find(fixture->ledger, uid), name);

	assert_non_null(grant);
	assert_cpus(ledger_effective(fixture->ledger, grant), list);
}

static void a_container_joins_without_moving_the_others(void **state)
{
	FIXTURE(fixture);

	assert_true(create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000).admitted);
	assert_true(create(&fixture, "b", QOS_GUARANTEED, "other", CONTAINER_APP, 1000).admitted);
	assert_true(create(&fixture, "a", QOS_GUARANTEED, "two", CONTAINER_APP, 2000).admitted);
	assert_true(create(&fixture, "a", QOS_GUARANTEED, "log", CONTAINER_APP, 500).admitted);
	assert_holds(&fixture, "a", "one", "1-2");
	assert_holds(&fixture, "b", "other", "3");
	assert_holds(&fixture, "a", "two", "4-5");
	assert_holds(&fixture, "a", "log", "6-7");
	assert_int_equal(ledger_nr_pods(fixture.ledger), 2);
}

static void the_same_container_keeps_its_grant(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "b", QOS_GUARANTEED, "all", CONTAINER_APP, 4000);
	assert_true(create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "one", "1-2");
}

static void other_values_are_decided_anew(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "a", QOS_GUARANTEED, "two", CONTAINER_APP, 2000);
	assert_true(create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 4000).admitted);
	assert_int_equal(cpuset_count(ledger_find(fixture.ledger, "a")->held), 6);
	/* A refusal keeps the old grant. */
	assert_false(create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 6000).admitted);
	assert_int_equal(cpuset_count(ledger_find(fixture.ledger, "a")->held), 6);
	assert_holds(&fixture, "a", "two", "3-4");
}

static void a_refusal_leaves_the_ledger_alone(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 4000);
	decision = create(&fixture, "b", QOS_GUARANTEED, "big", CONTAINER_APP, 4000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_string_equal(decision.container, "big");
	assert_int_equal(decision.wanted, 4);
	assert_int_equal(decision.available, 3);
	assert_null(ledger_find(fixture.ledger, "b"));
	assert_cpus(ledger_shared_pool(fixture.ledger), "5-7");
}

/* The stated class decides, not the values of the containers that are known so far. */
static void only_a_guaranteed_pod_has_exclusive_cpus(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", QOS_BURSTABLE, "one", CONTAINER_APP, 2000);
	assert_holds(&fixture, "a", "one", "1-7");
	assert_int_equal(ledger_find(fixture.ledger, "a")->qos, QOS_BURSTABLE);
}

static void later_containers_use_the_cpus_of_init_containers(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "init", CONTAINER_INIT, 3000);
	create(&fixture, "a", QOS_GUARANTEED, "side", CONTAINER_SIDECAR, 1000);
	create(&fixture, "a", QOS_GUARANTEED, "main", CONTAINER_APP, 3000);
	assert_holds(&fixture, "a", "init", "1-3");
	assert_holds(&fixture, "a", "side", "1");
	assert_holds(&fixture, "a", "main", "2-4");
	assert_cpus(ledger_shared_pool(fixture.ledger), "5-7");
	/* An init container that comes back is still the first. */
	assert_int_equal(container_release(fixture.ledger, "a", "init"), 0);
	create(&fixture, "a", QOS_GUARANTEED, "init", CONTAINER_INIT, 1000);
	assert_string_equal(ledger_find(fixture.ledger, "a")->grants[1].container, "init");
}

static void cpus_that_a_container_has_are_adopted(void **state)
{
	const struct pod_spec pod = runtime_pod("a", QOS_GUARANTEED);
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000);
	static const char *const wrong[] = {"5", "5-7", "0-1", "7-8", "3-4"};
	struct cpuset cpus = cpus_of("5-6");
	FIXTURE(fixture);

	create(&fixture, "b", QOS_GUARANTEED, "x", CONTAINER_APP, 3000);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		cpus = cpus_of(wrong[i]);
		assert_int_equal(
			container_prepare_as(fixture.ledger, &pod, &container,
					     &(struct container_found){.cpus = cpus, .nodes = 0}),
			-ENOTSUP);
		assert_null(ledger_find(fixture.ledger, "a"));
	}
	cpus = cpus_of("5-6");
	assert_int_equal(container_prepare_as(fixture.ledger, &pod, &container,
					      &(struct container_found){.cpus = cpus, .nodes = 0}),
			 0);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "one", "5-6");
	assert_cpus(ledger_shared_pool(fixture.ledger), "4,7");
}

static void a_container_can_be_put_on_the_shared_pool(void **state)
{
	const struct pod_spec pod = runtime_pod("a", QOS_GUARANTEED);
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000);
	FIXTURE(fixture);

	assert_int_equal(container_prepare_shared(fixture.ledger, &pod, &container), 0);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "one", "1-7");
	assert_int_equal(container_prepare_shared(fixture.ledger, &pod, &container), 0);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "one", "1-7");
	/* until it is decided again */
	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	assert_holds(&fixture, "a", "one", "1-2");
}

static void a_released_container_gives_back_its_cpus(void **state)
{
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "a", QOS_GUARANTEED, "two", CONTAINER_APP, 2000);
	assert_int_equal(container_release(fixture.ledger, "a", "three"), -ENOENT);
	assert_int_equal(container_release(fixture.ledger, "x", "one"), -ENOENT);
	assert_int_equal(container_release(fixture.ledger, "a", "one"), 0);
	assert_sound(fixture.ledger);
	assert_holds(&fixture, "a", "two", "3-4");
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-2,5-7");
	assert_int_equal(container_release(fixture.ledger, "a", "two"), 0);
	assert_null(ledger_find(fixture.ledger, "a"));
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-7");
}

static void a_pod_of_another_source_is_left_alone(void **state)
{
	const struct pod_spec pod = runtime_pod("a", QOS_GUARANTEED);
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000);
	struct decision decision;
	FIXTURE(fixture);

	admit_and_free(fixture.ledger, guaranteed_pod("a", 2));
	assert_int_equal(container_prepare(fixture.ledger, &pod, &container, &decision), -EINVAL);
	assert_int_equal(ledger_find(fixture.ledger, "a")->nr_grants, 1);
}

static void policies_that_need_whole_pods_are_named(void **state)
{
	struct policy policy = strict_policy("0");
	char error[256];

	assert_int_equal(container_check_policy(&policy, error, sizeof(error)), 0);
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	assert_int_equal(container_check_policy(&policy, error, sizeof(error)), 0);
	policy.scope = ALIGN_SCOPE_POD;
	assert_int_equal(container_check_policy(&policy, error, sizeof(error)), 0);
	policy.memory = MEMORY_POLICY_STATIC;
	assert_int_equal(container_check_policy(&policy, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "topologyManagerScope: pod is supported for pods of a container "
				   "runtime only without memoryManagerPolicy: Static, because a "
				   "runtime names the containers of a pod one by one");
}

/* Its CPUs are taken from the pool of the pods whose cgroups are planned, and that is all. */
static void the_plan_has_no_cgroup_of_the_pod(void **state)
{
	const struct plan_layout layout = {.root = "pinfold.slice"};
	struct group_tree tree = {0};
	const struct group *group;
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	admit_and_free(fixture.ledger, burstable_pod("b"));
	assert_int_equal(plan_desired(fixture.ledger, &layout, NULL, &tree), 0);
	for (uint32_t i = 0; i < tree.nr_groups; i++)
		assert_string_not_equal(tree.groups[i].uid, "a");
	group = group_tree_find(&tree, "pinfold.slice/podb/main");
	assert_non_null(group);
	assert_string_equal(group->files[GROUP_CPUSET_CPUS], "3-7");
	group_tree_fini(&tree);
}

/* --- resize in place -------------------------------------------------------------------------- */

static struct decision resize(struct fixture *fixture, const char *uid, const char *name,
			      int64_t mcpu)
{
	const struct container_spec container = container_of(name, CONTAINER_APP, mcpu);
	struct decision decision;

	assert_int_equal(container_prepare_resize(fixture->ledger, uid, &container, &decision), 0);
	if (decision.admitted)
		ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
	return decision;
}

static void a_resize_keeps_what_is_there(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "a", QOS_GUARANTEED, "two", CONTAINER_APP, 1000);
	assert_true(resize(&fixture, "a", "one", 4000).admitted);
	assert_holds(&fixture, "a", "one", "1-2,4-5");
	assert_holds(&fixture, "a", "two", "3");
	assert_cpus(ledger_shared_pool(fixture.ledger), "6-7");
	assert_true(resize(&fixture, "a", "one", 3000).admitted);
	assert_holds(&fixture, "a", "one", "1-2,4");
	/* The same size again changes nothing. */
	assert_true(resize(&fixture, "a", "one", 3000).admitted);
	assert_holds(&fixture, "a", "one", "1-2,4");
	decision = resize(&fixture, "a", "one", 1000);
	assert_false(decision.admitted);
	assert_int_equal(decision.cpu_result, CPU_BELOW_BASELINE);
	assert_int_equal(decision.change.cpus, 2);
	decision = resize(&fixture, "a", "one", 9000);
	assert_false(decision.admitted);
	assert_int_equal(decision.wanted, 9);
	assert_int_equal(decision.available, 6);
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container one");
	assert_holds(&fixture, "a", "one", "1-2,4");
	/* What it was resized to counts for its successor. */
	assert_true(create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 3000).admitted);
	assert_holds(&fixture, "a", "one", "1-2,4");
}

static void the_last_shared_cpu_is_not_taken_by_a_resize(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "b", QOS_BURSTABLE, "web", CONTAINER_APP, 500);
	decision = resize(&fixture, "a", "one", 7000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_LAST_SHARED_CPU);
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container one");
}

/* Only the container that is named changes, although the other one would get CPUs now. */
static void who_had_to_share_is_not_resized_with_others(void **state)
{
	const struct pod_spec pod = runtime_pod("a", QOS_GUARANTEED);
	const struct container_spec two = container_of("two", CONTAINER_APP, 2000);
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	assert_int_equal(container_prepare_shared(fixture.ledger, &pod, &two), 0);
	ledger_commit(fixture.ledger);
	assert_true(resize(&fixture, "a", "one", 3000).admitted);
	assert_holds(&fixture, "a", "one", "1-3");
	assert_holds(&fixture, "a", "two", "4-7");
	assert_true(resize(&fixture, "a", "two", 1000).admitted);
	assert_holds(&fixture, "a", "two", "4");
}

/* What shows a pod's resources may come later than a container that would not be exclusive then. */
static void an_older_container_is_not_resized_with_others(void **state)
{
	struct pod_spec pod = runtime_pod("a", QOS_GUARANTEED);
	struct container_spec one = container_of("one", CONTAINER_APP, 2000);
	const struct container_spec two = container_of("two", CONTAINER_APP, 1000);
	struct decision decision;
	FIXTURE(fixture);

	fixture.policy.pod_level_managers = true;
	ledger_free(fixture.ledger);
	fixture.ledger = scene_ledger(fixture.topology, &fixture.policy);
	one.limit.memory_bytes = 2 * GIB;
	assert_int_equal(container_prepare(fixture.ledger, &pod, &one, &decision), 0);
	assert_true(decision.admitted);
	ledger_commit(fixture.ledger);
	pod.has_pod_resources = true;
	assert_int_equal(container_prepare(fixture.ledger, &pod, &two, &decision), 0);
	assert_true(decision.admitted);
	ledger_commit(fixture.ledger);
	assert_true(resize(&fixture, "a", "two", 2000).admitted);
	assert_holds(&fixture, "a", "one", "1-2");
	assert_holds(&fixture, "a", "two", "3-4");
}

static void a_resize_keeps_the_kind_of_cpus(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	create(&fixture, "a", QOS_GUARANTEED, "one", CONTAINER_APP, 2000);
	create(&fixture, "a", QOS_GUARANTEED, "log", CONTAINER_APP, 500);
	decision = resize(&fixture, "a", "one", 4500);
	assert_false(decision.admitted);
	assert_string_equal(decision.reason, "inconsistentCPUAllocationError");
	assert_string_equal(decision.message,
			    "container one asks for 4500m CPU, which would put it on the shared "
			    "pool, but a resize in place keeps its 2 exclusive CPUs");
	assert_string_equal(decision.suggestion, "fits with 2 CPUs for container one");
	decision = resize(&fixture, "a", "one", RESOURCE_UNSET);
	assert_non_null(strstr(decision.message, "asks for no CPU"));
	decision = resize(&fixture, "a", "log", 1000);
	assert_false(decision.admitted);
	assert_string_equal(decision.reason, "inconsistentCPUAllocationError");
	assert_string_equal(decision.suggestion, "");
	assert_true(resize(&fixture, "a", "log", 700).admitted);
	assert_holds(&fixture, "a", "one", "1-2");
	assert_int_equal(ledger_find(fixture.ledger, "a")->spec->containers[1].request.cpu_mcpu,
			 700);
}

static void only_known_containers_of_a_runtime_are_resized(void **state)
{
	const struct container_spec container = container_of("one", CONTAINER_APP, 2000);
	struct pod_spec *spec = scene_pod("m");
	struct decision decision;
	FIXTURE(fixture);

	add_container(spec, "one", CONTAINER_APP, 1000, 1000);
	assert_int_equal(admit_pod(fixture.ledger, spec, &decision), 0);
	pod_spec_free(spec);
	create(&fixture, "a", QOS_GUARANTEED, "two", CONTAINER_APP, 2000);
	for (size_t i = 0; i < 3; i++) {
		static const char *const uids[] = {"a", "m", "unknown"};

		assert_int_equal(container_prepare_resize(fixture.ledger, uids[i], &container,
							  &decision),
				 -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_joins_without_moving_the_others),
		cmocka_unit_test(the_same_container_keeps_its_grant),
		cmocka_unit_test(other_values_are_decided_anew),
		cmocka_unit_test(a_refusal_leaves_the_ledger_alone),
		cmocka_unit_test(only_a_guaranteed_pod_has_exclusive_cpus),
		cmocka_unit_test(later_containers_use_the_cpus_of_init_containers),
		cmocka_unit_test(cpus_that_a_container_has_are_adopted),
		cmocka_unit_test(a_container_can_be_put_on_the_shared_pool),
		cmocka_unit_test(a_released_container_gives_back_its_cpus),
		cmocka_unit_test(a_pod_of_another_source_is_left_alone),
		cmocka_unit_test(policies_that_need_whole_pods_are_named),
		cmocka_unit_test(the_plan_has_no_cgroup_of_the_pod),
		cmocka_unit_test(a_resize_keeps_what_is_there),
		cmocka_unit_test(the_last_shared_cpu_is_not_taken_by_a_resize),
		cmocka_unit_test(who_had_to_share_is_not_resized_with_others),
		cmocka_unit_test(an_older_container_is_not_resized_with_others),
		cmocka_unit_test(a_resize_keeps_the_kind_of_cpus),
		cmocka_unit_test(only_known_containers_of_a_runtime_are_resized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
