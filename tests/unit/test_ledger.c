// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Transactions, restoring, and the invariants noticing when they are broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

#include <errno.h>

struct fixture {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->topology = scene_machine(1, 2, 4, 2); /* 16 CPUs */
	fixture->policy = strict_policy("0,8");
	fixture->ledger = scene_ledger(fixture->topology, &fixture->policy);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	ledger_free(fixture->ledger);
	topology_free(fixture->topology);
	free(fixture);
	return 0;
}

static void starts_with_everything_shared(void **state)
{
	struct fixture *fixture = *state;
	struct cpuset exclusive;

	assert_cpus(ledger_shared_pool(fixture->ledger), "1-7,9-15");
	assert_cpus(ledger_reserved(fixture->ledger), "0,8");
	ledger_exclusive(fixture->ledger, &exclusive);
	assert_true(cpuset_is_empty(&exclusive));
	assert_sound(fixture->ledger);
}

static void reserved_by_count(void **state)
{
	struct fixture *fixture = *state;
	struct policy policy = policy_default();
	struct ledger *ledger cleanup_ledger = NULL;

	policy.reserved_mcpu = 1500;
	ledger = scene_ledger(fixture->topology, &policy);
	assert_cpus(ledger_reserved(ledger), "0,8");
	/* not strict: they stay in the shared pool */
	assert_cpus(ledger_shared_pool(ledger), "0-15");
}

static void abort_restores(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct pod_spec *late cleanup_pod_spec = guaranteed_pod("c", 2);
	const struct ledger_pod *kept;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
	kept = ledger_find(ledger, "a");
	assert_int_equal(ledger_begin(ledger), 0);
	assert_int_equal(ledger_begin(ledger), -EBUSY);
	assert_int_equal(ledger_set_state(ledger, "a", POD_ENDING, "gone"), 0);
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_int_equal(ledger_remove(ledger, "b"), 0);
	assert_non_null(ledger_new_pod(ledger, late));
	assert_int_equal(ledger_remove(ledger, "c"), 0);
	assert_non_null(ledger_new_pod(ledger, late));
	assert_int_equal(ledger_nr_pods(ledger), 1);
	ledger_abort(ledger);
	assert_int_equal(ledger_nr_pods(ledger), 2);
	assert_ptr_equal(ledger_find(ledger, "a"), kept);
	assert_int_equal(kept->state, POD_RUNNING);
	assert_cpus(ledger_shared_pool(ledger), "3-7,11-15");
	assert_sound(ledger);
}

static void removal_gives_back(void **state)
{
	struct fixture *fixture = *state;

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 4)).admitted);
	assert_cpus(ledger_shared_pool(fixture->ledger), "3-7,11-15");
	assert_int_equal(ledger_remove(fixture->ledger, "b"), -ENOENT);
	assert_int_equal(ledger_remove(fixture->ledger, "a"), 0);
	assert_cpus(ledger_shared_pool(fixture->ledger), "1-7,9-15");
	assert_sound(fixture->ledger);
}

static void restores_what_was_decided(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = NULL;
	char error[256] = "";

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 4)).admitted);
	assert_true(admit_and_free(fixture->ledger, burstable_pod("b")).admitted);
	again = scene_ledger(fixture->topology, &fixture->policy);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(ledger_restore(again, ledger_pod_at(fixture->ledger, i), error,
						sizeof(error)),
				 0);
	assert_sound(again);
	assert_true(cpuset_equal(ledger_shared_pool(again), ledger_shared_pool(fixture->ledger)));
	assert_int_equal(ledger_restore(again, ledger_pod_at(fixture->ledger, 0), error,
					sizeof(error)),
			 -EEXIST);
	assert_non_null(strstr(error, "a"));
}

static void refuses_to_restore_what_cannot_be(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = NULL;
	struct policy policy = strict_policy("1,9");
	struct ledger_pod wrong;
	struct grant grants[1];
	char error[256] = "";

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 2)).admitted);
	wrong = *ledger_find(fixture->ledger, "a");
	assert_cpus(&wrong.held, "1,9");
	/* its CPUs became reserved */
	again = scene_ledger(fixture->topology, &policy);
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "reserved"));
	/* fewer CPUs than it was promised */
	grants[0] = wrong.grants[0];
	grants[0].cpus = cpus_of("2");
	wrong.grants = grants;
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	/* CPUs that the machine does not have */
	grants[0].cpus = cpus_of("2,77");
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	/* CPUs of somebody else */
	assert_true(admit_and_free(again, guaranteed_pod("b", 2)).admitted);
	grants[0].cpus = ledger_find(again, "b")->held;
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "holder: b"));
	assert_int_equal(ledger_nr_pods(again), 1);
	assert_sound(again);
}

static void finds_by_name(void **state)
{
	struct fixture *fixture = *state;

	assert_true(admit_and_free(fixture->ledger, burstable_pod("b")).admitted);
	assert_true(admit_and_free(fixture->ledger, burstable_pod("a")).admitted);
	assert_string_equal(ledger_pod_at(fixture->ledger, 0)->spec->uid, "a");
	assert_non_null(ledger_find_name(fixture->ledger, "test", "b"));
	assert_null(ledger_find_name(fixture->ledger, "other", "b"));
	assert_int_equal(ledger_nr_host_containers(fixture->ledger), 2);
}

/* A pod made again has another uid while the one before it ends, whichever comes first. */
static void of_one_name_the_running_one_is_meant(void **state)
{
	static const char *const uids[] = {"a", "b"};

	for (size_t running = 0; running < ARRAY_SIZE(uids); running++) {
		struct fixture *fixture = *state;
		struct ledger *ledger cleanup_ledger =
			scene_ledger(fixture->topology, &fixture->policy);

		for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
			struct pod_spec *spec = burstable_pod(uids[i]);

			snprintf(spec->name, sizeof(spec->name), "same");
			assert_true(admit_and_free(ledger, spec).admitted);
		}
		assert_int_equal(ledger_begin(ledger), 0);
		assert_int_equal(ledger_set_state(ledger, uids[!running], POD_ENDING, ""), 0);
		ledger_commit(ledger);
		assert_string_equal(ledger_find_name(ledger, "test", "same")->spec->uid,
				    uids[running]);
		/* One that ends is better than none. */
		assert_int_equal(ledger_begin(ledger), 0);
		assert_int_equal(ledger_remove(ledger, uids[running]), 0);
		ledger_commit(ledger);
		assert_string_equal(ledger_find_name(ledger, "test", "same")->spec->uid,
				    uids[!running]);
	}
}

/* Break a sound ledger through the back door and see the check say so. */
static void assert_unsound(struct ledger *ledger, const char *words)
{
	char error[256] = "";

	assert_int_equal(ledger_check(ledger, error, sizeof(error)), -EUCLEAN);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
}

static void check_sees_each_violation(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct ledger_pod *a, *b;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);

	assert_int_equal(ledger_begin(ledger), 0);
	cpuset_add(ledger_edit_shared_pool(ledger), 1);
	assert_unsound(ledger, "granted exclusively");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	cpuset_remove(ledger_edit_shared_pool(ledger), 7);
	assert_unsound(ledger, "but pods may use");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	b = ledger_edit_pod(ledger, "b");
	b->grants[0].cpus = b->held = a->held;
	assert_unsound(ledger, "another pod");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	cpuset_add(&a->held, 5);
	assert_unsound(ledger, "sum of its grants");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	a->spec->containers[0].request.cpu_mcpu = a->spec->containers[0].limit.cpu_mcpu = 3000;
	assert_unsound(ledger, "for 3000m");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	a->grants[0].isolation = ISOLATION_POD;
	assert_unsound(ledger, "pod shared pool");
	ledger_abort(ledger);
	assert_sound(ledger);
}

/*
 * The kubelet takes a core of uneven size whole, also where only a part of it is
 * the pod's: kept on purpose in its mode, so a restart must keep such a pod too.
 */
static void kubelet_slices_outside_the_bubble_survive_a_restart(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger cleanup_ledger = NULL, *again cleanup_ledger = NULL;
	struct policy policy = fixture->policy;
	struct pod_spec *spec = guaranteed_pod("a", 2);
	struct ledger_pod *pod;
	char error[256] = "";

	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	set_budget(spec, 4);
	ledger = scene_ledger(fixture->topology, &policy);
	assert_true(admit_and_free(ledger, spec).admitted);
	assert_int_equal(ledger_begin(ledger), 0);
	pod = ledger_edit_pod(ledger, "a");
	assert_cpus(&pod->bubble, "1-2,9-10");
	pod->grants[0].cpus = cpus_of("2-3");
	assert_sound(ledger);
	again = scene_ledger(fixture->topology, &policy);
	assert_int_equal(ledger_restore(again, pod, error, sizeof(error)), 0);
	assert_cpus(&ledger_find(again, "a")->grants[0].cpus, "2-3");

	policy.compatibility = COMPATIBILITY_REPAIRED;
	assert_unsound(ledger, "does not hold");
	ledger_abort(ledger);
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < ISOLATION_NR; i++)
		assert_non_null(isolation_name(i));
	for (int i = 0; i < POD_STATE_NR; i++)
		assert_non_null(pod_state_name(i));
	for (int i = 0; i < CPU_RESULT_NR; i++)
		assert_non_null(cpu_result_name(i));
	for (int i = 0; i < CPU_STATE_PROBLEM_NR; i++)
		assert_non_null(cpu_state_problem_name(i));
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(starts_with_everything_shared),
		with_fixture(reserved_by_count),
		with_fixture(abort_restores),
		with_fixture(removal_gives_back),
		with_fixture(restores_what_was_decided),
		with_fixture(refuses_to_restore_what_cannot_be),
		with_fixture(kubelet_slices_outside_the_bubble_survive_a_restart),
		with_fixture(finds_by_name),
		with_fixture(of_one_name_the_running_one_is_meant),
		with_fixture(check_sees_each_violation),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
