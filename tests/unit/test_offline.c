// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * CPUs that go offline while the agent runs: nobody is granted one, and whoever holds one
 * keeps it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/admit/admit.h"
#include "core/capacity/capacity.h"
#include "scene.h"

static struct topology *topology;
static struct policy policy;
static struct ledger *ledger;

/* Two nodes of four cores with two threads each, numbered core by core within a node. */
static int set_up(void **state)
{
	topology = scene_machine(1, 2, 4, 2);
	policy = strict_policy("0");
	ledger = scene_ledger(topology, &policy);
	return 0;
}

static int tear_down(void **state)
{
	ledger_free(ledger);
	topology_free(topology);
	return 0;
}

static void use_policy(void)
{
	ledger_free(ledger);
	ledger = scene_ledger(topology, &policy);
}

static void turn_off(const char *list)
{
	struct cpuset offline = cpus_of(list);

	ledger_set_offline(ledger, &offline);
}

static const struct ledger_pod *pod_of(const char *uid)
{
	const struct ledger_pod *pod = ledger_find(ledger, uid);

	assert_non_null(pod);
	return pod;
}

static void no_pod_gets_an_offline_cpu(void **state)
{
	struct cpuset all = topology->all;

	turn_off("1-3,9-12");
	/* 16 CPUs: one is reserved, seven are offline. */
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 8)).admitted);
	cpuset_subtract(&all, pod_of("a")->held);
	assert_cpus(&all, "0-3,9-12");
}

static void a_refusal_counts_the_offline_cpus(void **state)
{
	struct decision decision;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	turn_off("1-3,9-12");
	decision = admit_and_free(ledger, guaranteed_pod("b", 9));
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_int_equal(decision.wanted, 9);
	assert_non_null(strstr(decision.message, "1 reserved, 2 held by other pods, "));
	assert_non_null(strstr(decision.message, " offline)"));
	assert_true(admit_and_free(ledger, guaranteed_pod("c", decision.available)).admitted);
}

/* Free, reserved, held and offline CPUs add up, also if a reserved one is offline. */
static void a_refusal_counts_each_cpu_once(void **state)
{
	struct decision decision;

	policy.cpu_options.strict_reservation = false;
	use_policy();
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	turn_off("0,4-6");
	decision = admit_and_free(ledger, guaranteed_pod("b", 11));
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_string_equal(
		decision.message,
		"container main asks for 11 exclusive CPUs, but only 10 are free (of 16 "
		"CPUs: 1 reserved, 2 held by other pods, 3 offline)");
}

static void who_holds_one_keeps_it(void **state)
{
	struct cpuset held;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 4)).admitted);
	held = *pod_of("a")->held;
	ledger_set_offline(ledger, &held);
	assert_sound(ledger);
	assert_true(cpuset_equal(pod_of("a")->held, &held));
	/* Nor does a second decision on the same pod take others. */
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 4)).admitted);
	assert_true(cpuset_equal(pod_of("a")->held, &held));
	/* Released, they are in the pool, but nobody gets them. */
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_true(cpuset_is_subset(&held, ledger_shared_pool(ledger)));
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 11)).admitted);
	assert_false(cpuset_intersects(pod_of("b")->held, &held));
}

static void they_are_granted_when_they_are_back(void **state)
{
	turn_off("1-15");
	assert_false(admit_and_free(ledger, guaranteed_pod("a", 1)).admitted);
	turn_off("");
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 15)).admitted);
}

static void an_aligned_pod_goes_where_enough_are_online(void **state)
{
	struct cpuset node;

	policy.align = ALIGN_SINGLE_NUMA_NODE;
	use_policy();
	/* Half of the first node that has none reserved. */
	node = topology->nodes.cpus[1];
	cpuset_remove(&node, cpuset_next(&node, 0));
	ledger_set_offline(ledger, &node);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 4)).admitted);
	assert_true(cpuset_is_subset(pod_of("a")->held, &topology->nodes.cpus[0]));
	assert_false(admit_and_free(ledger, guaranteed_pod("b", 4)).admitted);
}

static void whole_cores_are_online_cores(void **state)
{
	const struct topology_level *cores = &topology->cores;
	struct cpuset offline = CPUSET_EMPTY;

	policy.cpu_options.full_pcpus_only = true;
	use_policy();
	/* One thread of each core but two: the reserved one's, and one more. */
	for (uint32_t i = 2; i < cores->nr; i++)
		cpuset_add(&offline, cpuset_next(&cores->cpus[i], 0));
	ledger_set_offline(ledger, &offline);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_false(cpuset_intersects(pod_of("a")->held, &offline));
	assert_false(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
}

static void the_last_online_shared_cpu_stays(void **state)
{
	assert_true(admit_and_free(ledger, burstable_pod("web")).admitted);
	turn_off("8-15");
	/* 1-7 are left, and one of them is the pool's. */
	assert_int_equal(admit_and_free(ledger, guaranteed_pod("a", 7)).refusal,
			 REFUSAL_LAST_SHARED_CPU);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 6)).admitted);
}

/* Pods of the shared pool wait for a CPU; to refuse them would not give them one. */
static void a_pool_that_is_offline_refuses_nobody(void **state)
{
	turn_off("1-15");
	assert_true(admit_and_free(ledger, burstable_pod("web")).admitted);
}

static void capacity_counts_online_cpus(void **state)
{
	struct capacity capacity;

	turn_off("1-15");
	capacity_measure(ledger, &capacity);
	assert_int_equal(capacity.largest_request, 0);
	turn_off("2-15");
	capacity_measure(ledger, &capacity);
	assert_int_equal(capacity.largest_request, 1);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 1)).admitted);
}

/* A kubelet knows only the CPUs that it saw at its start. */
static void the_kubelet_does_not_notice(void **state)
{
	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	use_policy();
	turn_off("1-15");
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_pod_gets_an_offline_cpu),
		TEST(a_refusal_counts_the_offline_cpus),
		TEST(a_refusal_counts_each_cpu_once),
		TEST(who_holds_one_keeps_it),
		TEST(they_are_granted_when_they_are_back),
		TEST(an_aligned_pod_goes_where_enough_are_online),
		TEST(whole_cores_are_online_cores),
		TEST(the_last_online_shared_cpu_stays),
		TEST(a_pool_that_is_offline_refuses_nobody),
		TEST(capacity_counts_online_cpus),
		TEST(the_kubelet_does_not_notice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
