// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * In-place resize: which CPUs a pod keeps, gets and gives back, and what is said if it cannot.
 * The rule for the choice of CPUs is tested with recorded answers (tests/vectors/resize-cpu-*).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "random.h"
#include "resize_scene.h"

static void what_grows_keeps_its_cpus(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	/* Between two others: decided anew, the pod would get whole cores elsewhere. */
	assert_true(admit_pods(&scene, guaranteed_pod("a", 3)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 3)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("b", 2)).admitted);
	assert_has(&scene, "p", 0, "3,18-19");
	assert_int_equal(ledger_remove(scene.ledger, "a"), 0);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	/* First the other half of its core. */
	assert_has(&scene, "p", 0, "1-3,17-19");
	assert_cpus(grant_of(&scene, "p", 0)->baseline, "3,18-19");
}

static void what_shrinks_stays_within_its_cpus(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_has(&scene, "p", 0, "1,17");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_has(&scene, "p", 0, "1-3,17-19");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	assert_has(&scene, "p", 0, "1-2,17-18");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_has(&scene, "p", 0, "1,17");
}

static void the_cpus_of_the_admission_are_kept(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	decision = admit_pods(&scene, guaranteed_pod("p", 2));
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_int_equal(decision.cpu_result, CPU_BELOW_BASELINE);
	assert_string_equal(decision.reason, "prohibitedCPUAllocationError");
	assert_string_equal(decision.message,
			    "container main asks for 2 exclusive CPUs, but a resize in place keeps "
			    "4: those of the admission");
	assert_string_equal(decision.suggestion, "fits with 4 CPUs for container main");
	assert_int_equal(decision.wanted, 2);
	assert_int_equal(decision.available, 4);
	assert_has(&scene, "p", 0, "1-3,17-19");
}

static void what_one_gives_back_another_gets(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	/* All 30: the rest of the shared pool is empty. */
	assert_true(admit_pods(&scene, two(28, 2)).admitted);
	assert_true(admit_pods(&scene, two(4, 26)).admitted);
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 1)->cpus), 26);
}

static void more_than_there_is_keeps_what_it_has(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("other", 20)).admitted);
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	decision = admit_pods(&scene, two(2, 9));
	assert_false(decision.admitted);
	assert_string_equal(decision.container, "second");
	assert_string_equal(
		decision.message,
		"container second asks for 9 exclusive CPUs, but only 8 are free (of 32 "
		"CPUs: 2 reserved, 20 held by other pods)");
	assert_string_equal(decision.suggestion, "fits with 8 CPUs for container second");
	assert_int_equal(ledger_find(scene.ledger, "p")->spec->containers[1].request.cpu_mcpu,
			 2000);
}

static void the_numa_node_is_kept(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_SINGLE_NUMA_NODE);
	assert_true(admit_pods(&scene, guaranteed_pod("a", 8)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	assert_has(&scene, "p", 0, "5-6,21-22");
	/* Decided anew, it would fit on the other node, but it runs. */
	decision = admit_pods(&scene, guaranteed_pod("p", 8));
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(decision.reason, "TopologyAffinityError");
	assert_string_equal(
		decision.message,
		"topologyManagerPolicy single-numa-node: container main asks for 8 "
		"exclusive CPUs, but a resize in place keeps the NUMA nodes of its 4 CPUs, "
		"and 0 has 2 more free");
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container main");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_has(&scene, "p", 0, "5-7,21-23");
}

static void whole_cores_stay_whole(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	decision = admit_pods(&scene, guaranteed_pod("p", 7));
	assert_int_equal(decision.refusal, REFUSAL_SMT);
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container main");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_has(&scene, "p", 0, "1-3,17-19");
}

static void a_budget_is_resized_with_its_slices(void **state)
{
	struct scene scene cleanup_scene = {0};
	const struct ledger_pod *pod;
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_RESTRICTED);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_cpus(ledger_find(scene.ledger, "p")->bubble, "1-3,17-19");
	assert_has(&scene, "p", 0, "1-2,17-18");
	assert_has(&scene, "p", 1, "3,19");
	/* The slice grows into what the budget gets, and who shares it follows. */
	assert_true(admit_pods(&scene, budget(10, 7)).admitted);
	pod = ledger_find(scene.ledger, "p");
	assert_cpus(pod->bubble, "1-5,17-21");
	assert_cpus(pod->held, "1-5,17-21");
	assert_has(&scene, "p", 0, "1-4,17-19");
	assert_has(&scene, "p", 1, "5,20-21");
	/* The slice has CPUs beyond the baseline, so the budget alone cannot go back. */
	decision = admit_pods(&scene, budget(8, 8));
	assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
	decision = admit_pods(&scene, budget(5, 4));
	assert_string_equal(
		decision.message,
		"the pod asks for 5 exclusive CPUs, but a resize in place keeps 6: those "
		"of the admission, and those of its exclusive containers");
	assert_string_equal(decision.suggestion, "fits with a pod budget of 6 CPUs");
	assert_cpus(ledger_find(scene.ledger, "p")->bubble, "1-5,17-21");
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_cpus(ledger_find(scene.ledger, "p")->bubble, "1-3,17-19");
	assert_has(&scene, "p", 0, "1-2,17-18");
	assert_has(&scene, "p", 1, "3,19");
}

/* A container that leaves the shared pool or joins it has no CPUs that it could keep. */
static void another_kind_of_cpus_is_no_resize(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *shared cleanup_pod_spec = guaranteed_pod("p", 1);
	struct pod_spec *larger cleanup_pod_spec = guaranteed_pod("p", 4);
	struct pod_spec *other cleanup_pod_spec = two(4, 2);

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	shared->containers[0].request.cpu_mcpu = shared->containers[0].limit.cpu_mcpu = 1500;
	larger->containers[0].request.memory_bytes = 2 * GIB;
	larger->containers[0].limit.memory_bytes = 2 * GIB;
	assert_false(resize_is_wanted(scene.ledger, ledger_find(scene.ledger, "p"), shared));
	assert_false(resize_is_wanted(scene.ledger, ledger_find(scene.ledger, "p"), other));
	/* Memory that is not pinned does not matter. */
	assert_true(resize_is_wanted(scene.ledger, ledger_find(scene.ledger, "p"), larger));
}

/* --- what the ledger checks ------------------------------------------------------------------- */

static void assert_unsound(const struct scene *scene, const char *words)
{
	char error[256] = "";

	assert_int_equal(ledger_check(scene->ledger, error, sizeof(error)), -EUCLEAN);
	assert_string_equal(error, words);
}

static void a_lost_cpu_of_the_admission_is_seen(void **state)
{
	static const char *const words[] = {
		"pod p container first does not have all CPUs of its admission",
		"pod p container second does not have all CPUs of its admission",
	};
	struct scene scene cleanup_scene = {0};
	struct ledger_pod *pod;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ledger_begin(scene.ledger), 0);
		pod = ledger_edit_pod(scene.ledger, "p");
		cpuset_add(ledger_pod_edit(pod, pod->grants[i].baseline), 9);
		assert_unsound(&scene, words[i]);
		ledger_abort(scene.ledger);
	}
	/* Without a bubble its baseline says nothing. */
	assert_int_equal(ledger_begin(scene.ledger), 0);
	pod = ledger_edit_pod(scene.ledger, "p");
	cpuset_add(ledger_pod_edit(pod, pod->bubble_baseline), 9);
	assert_sound(scene.ledger);
	ledger_abort(scene.ledger);
}

static void a_lost_cpu_of_a_bubble_is_seen(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct ledger_pod *pod;

	(void)state;
	set_up(&scene, ALIGN_RESTRICTED);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_int_equal(ledger_begin(scene.ledger), 0);
	pod = ledger_edit_pod(scene.ledger, "p");
	cpuset_add(ledger_pod_edit(pod, pod->bubble_baseline), 9);
	assert_unsound(&scene, "pod p does not have all CPUs of its admission");
	ledger_abort(scene.ledger);
}

/* --- property --------------------------------------------------------------------------------- */

static void assert_same_pod(const struct ledger_pod *a, const struct ledger_pod *b)
{
	assert_true(pod_spec_equal(a->spec, b->spec));
	assert_true(cpuset_equal(a->held, b->held));
	for (uint32_t i = 0; i < a->nr_grants; i++) {
		assert_true(cpuset_equal(a->grants[i].cpus, b->grants[i].cpus));
		assert_true(cpuset_equal(a->grants[i].baseline, b->grants[i].baseline));
	}
}

static void assert_resized(const struct ledger_pod *was, const struct ledger_pod *is)
{
	for (uint32_t i = 0; i < is->nr_grants; i++) {
		const struct cpuset *old = was->grants[i].cpus, *now = is->grants[i].cpus;

		assert_int_equal(cpuset_count(now) * 1000,
				 is->spec->containers[i].request.cpu_mcpu);
		assert_true(cpuset_is_subset(was->grants[i].baseline, now));
		assert_true(cpuset_equal(was->grants[i].baseline, is->grants[i].baseline));
		if (cpuset_count(now) >= cpuset_count(old))
			assert_true(cpuset_is_subset(old, now));
		else
			assert_true(cpuset_is_subset(now, old));
	}
}

/* A copy of the pod with what the comparisons read. */
static struct ledger_pod copy_of(const struct ledger_pod *pod, struct grant *grants)
{
	struct ledger_pod copy = record_of(pod, grants);

	copy.spec = pod_spec_copy(pod->spec);
	return copy;
}

static void resize_at_random(struct scene *scene, struct chance *chance)
{
	struct pod_spec *spec cleanup_pod_spec = NULL;
	struct cpuset shared = *ledger_shared_pool(scene->ledger);
	struct decision decision;
	struct grant grants[2];
	struct ledger_pod was;
	char uid[] = "p";

	uid[0] = (char)('p' + chance_below(chance, 3));
	spec = two(1 + chance_below(chance, 16), 1 + chance_below(chance, 16));
	snprintf(spec->uid, sizeof(spec->uid), "%s", uid);
	was = copy_of(ledger_find(scene->ledger, uid), grants);
	assert_int_equal(admit_pod(scene->ledger, spec, &decision), 0);
	assert_sound(scene->ledger);
	if (decision.admitted) {
		assert_resized(&was, ledger_find(scene->ledger, uid));
	} else {
		assert_same_pod(&was, ledger_find(scene->ledger, uid));
		assert_true(cpuset_equal(&shared, ledger_shared_pool(scene->ledger)));
	}
	if (!decision.admitted && decision.change.kind != CHANGE_NONE) {
		change_apply(&decision.change, spec);
		assert_int_equal(admit_pod(scene->ledger, spec, &decision), 0);
		assert_true(decision.admitted);
		assert_resized(&was, ledger_find(scene->ledger, uid));
	}
	pod_spec_free(was.spec);
	free(was.sets);
}

static void any_sequence_of_resizes_keeps_the_rules(void **state)
{
	static const enum align_policy aligns[] = {ALIGN_NONE, ALIGN_BEST_EFFORT, ALIGN_RESTRICTED,
						   ALIGN_SINGLE_NUMA_NODE};
	struct chance chance = {.state = 1};

	(void)state;
	for (uint32_t i = 0; i < 80; i++) {
		struct scene scene cleanup_scene = {0};

		set_up(&scene, aligns[i % 4]);
		scene.policy.scope = i / 4 % 2 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		scene.policy.cpu_options.prefer_uncore = i / 8 % 2;
		scene.policy.cpu_options.distribute_across_numa = i / 16 % 5 == 4;
		for (char uid = 'p'; uid < 's'; uid++) {
			struct pod_spec *spec =
				two(1 + chance_below(&chance, 3), 1 + chance_below(&chance, 3));

			snprintf(spec->uid, sizeof(spec->uid), "%c", uid);
			assert_true(admit_pods(&scene, spec).admitted);
		}
		for (uint32_t j = 0; j < 25; j++)
			resize_at_random(&scene, &chance);
	}
}

/* The refusal of an earlier size says nothing of the pod with its new size. */
static void a_resize_ends_the_refusal_of_the_one_before(void **state)
{
	struct scene scene cleanup_scene = {0};
	const struct ledger_pod *pod;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_int_equal(ledger_note_refused_change(scene.ledger, "p", "not enough CPUs"), 0);
	assert_true(ledger_find(scene.ledger, "p")->is_change_refused);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	pod = ledger_find(scene.ledger, "p");
	assert_false(pod->is_change_refused);
	assert_string_equal(pod->detail, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_grows_keeps_its_cpus),
		cmocka_unit_test(what_shrinks_stays_within_its_cpus),
		cmocka_unit_test(the_cpus_of_the_admission_are_kept),
		cmocka_unit_test(what_one_gives_back_another_gets),
		cmocka_unit_test(more_than_there_is_keeps_what_it_has),
		cmocka_unit_test(the_numa_node_is_kept),
		cmocka_unit_test(whole_cores_stay_whole),
		cmocka_unit_test(a_budget_is_resized_with_its_slices),
		cmocka_unit_test(another_kind_of_cpus_is_no_resize),
		cmocka_unit_test(a_resize_ends_the_refusal_of_the_one_before),
		cmocka_unit_test(a_lost_cpu_of_the_admission_is_seen),
		cmocka_unit_test(a_lost_cpu_of_a_bubble_is_seen),
		cmocka_unit_test(any_sequence_of_resizes_keeps_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
