// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Where the sets of a record are: shared once it is committed, and each its own while it is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

static struct topology *topology;
static struct policy policy;
static struct ledger *ledger;

static int set_up(void **state)
{
	(void)state;
	topology = scene_machine(1, 2, 4, 2); /* 16 CPUs */
	policy = strict_policy("0,8");
	ledger = scene_ledger(topology, &policy);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ledger_free(ledger);
	topology_free(topology);
	return 0;
}

static bool is_among_own(const struct ledger_pod *pod, const struct cpuset *set, uint32_t nr)
{
	return set >= pod->sets && set < pod->sets + nr;
}

/* Nobody writes it, so equal sets are one, and there is none that is empty. */
static void assert_shared(const struct ledger_pod *pod)
{
	const uint32_t nr = 3 + 2 * pod->nr_grants;
	const struct cpuset **sets = calloc(nr, sizeof(struct cpuset *));
	uint32_t at = 0;

	assert_non_null(sets);
	sets[at++] = pod->bubble;
	sets[at++] = pod->bubble_baseline;
	sets[at++] = pod->held;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		sets[at++] = pod->grants[i].cpus;
		sets[at++] = pod->grants[i].baseline;
	}
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(cpuset_is_empty(sets[i]), sets[i] == &cpuset_none);
		for (uint32_t j = 0; j < i; j++)
			assert_int_equal(cpuset_equal(sets[i], sets[j]), sets[i] == sets[j]);
	}
	free(sets);
}

static void committed_records_share_equal_sets(void **state)
{
	struct pod_spec *spec = guaranteed_pod("c", 1);
	const struct ledger_pod *pod;

	(void)state;
	add_container(spec, "second", CONTAINER_APP, 1000, 1000);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("b")).admitted);
	assert_true(admit_and_free(ledger, spec).admitted);
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		assert_shared(ledger_pod_at(ledger, i));
	pod = ledger_find(ledger, "a");
	assert_cpus(pod->held, "1,9");
	assert_ptr_equal(pod->held, pod->grants[0].cpus);
	assert_ptr_equal(pod->held, pod->grants[0].baseline);
	assert_true(is_among_own(pod, pod->held, 1));
	assert_null(ledger_find(ledger, "b")->sets);
	pod = ledger_find(ledger, "c");
	assert_ptr_not_equal(pod->grants[0].cpus, pod->grants[1].cpus);
	assert_true(is_among_own(pod, pod->held, 3));
}

/* Otherwise a change of one set would be one of others, or of those that abort restores. */
static void records_to_be_changed_own_each_set(void **state)
{
	const struct ledger_pod *was;
	struct ledger_pod *pod;

	(void)state;
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	was = ledger_find(ledger, "a");
	assert_int_equal(ledger_begin(ledger), 0);
	pod = ledger_edit_pod(ledger, "a");
	assert_non_null(pod);
	cpuset_add(ledger_pod_edit(pod, pod->bubble), 3);
	cpuset_add(ledger_pod_edit(pod, pod->bubble_baseline), 4);
	cpuset_add(ledger_pod_edit(pod, pod->held), 5);
	cpuset_add(ledger_pod_edit(pod, pod->grants[0].cpus), 6);
	cpuset_add(ledger_pod_edit(pod, pod->grants[0].baseline), 7);
	assert_cpus(pod->bubble, "3");
	assert_cpus(pod->bubble_baseline, "4");
	assert_cpus(pod->held, "1,5,9");
	assert_cpus(pod->grants[0].cpus, "1,6,9");
	assert_cpus(pod->grants[0].baseline, "1,7,9");
	ledger_abort(ledger);
	assert_ptr_equal(ledger_find(ledger, "a"), was);
	assert_cpus(was->held, "1,9");
	assert_cpus(&cpuset_none, "");
	assert_shared(was);
	assert_sound(ledger);
}

/* Only the last copy remains; those before it, and their sets, are freed. */
static void a_record_edited_twice_is_shared_once(void **state)
{
	struct ledger_pod *pod;

	(void)state;
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_int_equal(ledger_begin(ledger), 0);
	pod = ledger_edit_pod(ledger, "a");
	*ledger_pod_edit(pod, pod->grants[0].baseline) = cpus_of("1");
	pod = ledger_edit_pod(ledger, "a");
	assert_cpus(pod->grants[0].baseline, "1");
	*ledger_pod_edit(pod, pod->grants[0].baseline) = cpus_of("9");
	ledger_commit(ledger);
	assert_ptr_equal(ledger_find(ledger, "a"), pod);
	assert_cpus(pod->grants[0].baseline, "9");
	assert_cpus(pod->grants[0].cpus, "1,9");
	assert_shared(pod);
	assert_sound(ledger);
	/* One that was added and removed in the same transaction is gone, with its sets. */
	assert_int_equal(ledger_begin(ledger), 0);
	assert_non_null(ledger_edit_pod(ledger, "a"));
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	ledger_commit(ledger);
	assert_int_equal(ledger_nr_pods(ledger), 0);
	assert_sound(ledger);
}

/* What a record gets from others who write one: a missing set is empty, and what was there is kept. */
static void own_sets_keep_their_values(void **state)
{
	struct grant grants[2] = {{.cpus = set_of("2-3")}, {.baseline = set_of("4")}};
	struct ledger_pod pod = {.nr_grants = 1, .grants = grants, .held = set_of("2-3")};
	struct cpuset *first;

	(void)state;
	assert_int_equal(ledger_pod_own_sets(&pod), 0);
	first = pod.sets;
	assert_cpus(pod.bubble, "");
	assert_cpus(pod.bubble_baseline, "");
	assert_cpus(pod.held, "2-3");
	assert_cpus(pod.grants[0].cpus, "2-3");
	assert_cpus(pod.grants[0].baseline, "");
	cpuset_add(ledger_pod_edit(&pod, pod.grants[0].cpus), 5);
	/* One more grant needs a larger block. */
	pod.nr_grants = 2;
	assert_int_equal(ledger_pod_own_sets(&pod), 0);
	assert_ptr_not_equal(pod.sets, first);
	assert_cpus(pod.held, "2-3");
	assert_cpus(pod.grants[0].cpus, "2-3,5");
	assert_cpus(pod.grants[1].cpus, "");
	assert_cpus(pod.grants[1].baseline, "4");
	ledger_pod_share_sets(&pod);
	assert_shared(&pod);
	assert_cpus(pod.held, "2-3");
	assert_cpus(pod.grants[0].cpus, "2-3,5");
	assert_cpus(pod.grants[1].baseline, "4");
	free(pod.sets);
}

/* No other part of the agent may write so much that equal sets cannot be told apart on the stack. */
static void more_grants_than_a_pod_can_have_are_left_alone(void **state)
{
	const uint32_t nr = POD_MAX_CONTAINERS + 1;
	struct grant *grants = calloc(nr, sizeof(*grants));
	struct ledger_pod pod = {.nr_grants = nr, .grants = grants};

	(void)state;
	assert_non_null(grants);
	assert_int_equal(ledger_pod_own_sets(&pod), 0);
	for (uint32_t i = 0; i < nr; i++)
		cpuset_add(ledger_pod_edit(&pod, grants[i].cpus), i);
	ledger_pod_share_sets(&pod);
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(cpuset_has(grants[i].cpus, i));
		assert_int_equal(cpuset_count(grants[i].cpus), 1);
	}
	free(pod.sets);
	free(grants);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(committed_records_share_equal_sets, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(records_to_be_changed_own_each_set, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_record_edited_twice_is_shared_once, set_up,
						tear_down),
		cmocka_unit_test(own_sets_keep_their_values),
		cmocka_unit_test(more_grants_than_a_pod_can_have_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
