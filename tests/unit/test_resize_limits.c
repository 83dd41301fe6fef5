// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * In-place resize where not every CPU can be used: cores with a reserved thread, CPUs that are
 * offline, the budget of a pod, CPUs that an init container left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "resize_scene.h"

static void assert_holds(const struct scene *scene, uint32_t index, const char *cpus)
{
	const struct ledger_pod *pod = ledger_find(scene->ledger, "p");

	assert_non_null(pod);
	assert_cpus(pod->grants[index].cpus, cpus);
	assert_sound(scene->ledger);
}

static void set_offline(struct scene *scene, const char *cpus)
{
	const struct cpuset offline = cpuset_of_text(cpus);

	ledger_set_offline(scene->ledger, &offline);
}

/* Node 0 has two CPUs that are free, but they are the other threads of reserved cores. */
static void halves_of_reserved_cores_are_not_taken(void **state)
{
	(void)state;
	for (enum align_policy align = 0; align < ALIGN_NR; align++) {
		struct scene scene cleanup_scene = {0};
		struct decision decision;

		set_up_reserved(&scene, "0,1", align);
		scene.policy.cpu_options.full_pcpus_only = true;
		assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
		assert_true(admit_pods(&scene, guaranteed_pod("q", 10)).admitted);
		assert_holds(&scene, 0, "2,18");
		decision = admit_pods(&scene, guaranteed_pod("p", 4));
		if (align == ALIGN_NONE || align == ALIGN_BEST_EFFORT) {
			assert_true(decision.admitted);
			assert_holds(&scene, 0, "2,8,18,24");
			continue;
		}
		assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
		assert_non_null(strstr(decision.message, "and 0 has 0 more free"));
		assert_holds(&scene, 0, "2,18");
	}
}

static void what_shrinks_gives_up_offline_cpus_first(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 8)).admitted);
	assert_holds(&scene, 0, "1-4,17-20");
	set_offline(&scene, "2,18");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_holds(&scene, 0, "1,3-4,17,19-20");
}

/* Four are online, two of them since the admission, so one that is offline makes up the number. */
static void an_offline_cpu_makes_up_the_number(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	assert_holds(&scene, 0, "1-3,17-19");
	set_offline(&scene, "2,18");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 5)).admitted);
	assert_holds(&scene, 0, "1-3,17,19");
}

/* The CPUs of the admission are kept, wherever they are, and so is what has to make up the number. */
static void offline_cpus_stay_if_there_are_not_enough_others(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 6)).admitted);
	set_offline(&scene, "1-2,17-18");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 5)).admitted);
	assert_holds(&scene, 0, "1-3,17,19");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	assert_holds(&scene, 0, "1,3,17,19");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 2)).admitted);
	assert_holds(&scene, 0, "1,17");
}

static void a_budget_that_the_node_does_not_have(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("q", 20)).admitted);
	decision = admit_pods(&scene, budget(16, 4));
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_string_equal(decision.message,
			    "the pod asks for 16 exclusive CPUs, but only 10 are free (of 32 CPUs: "
			    "2 reserved, 20 held by other pods)");
	assert_string_equal(decision.suggestion, "fits with a pod budget of 10 CPUs");
}

/* full-pcpus-only is a rule for the budget; how it is divided is the pod's own matter. */
static void slices_need_no_whole_cores(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, budget(6, 3)).admitted);
	assert_holds(&scene, 0, "1-2,17");
	assert_true(admit_pods(&scene, budget(8, 5)).admitted);
	assert_holds(&scene, 0, "1-3,17-18");
	assert_holds(&scene, 1, "4,19-20");
	decision = admit_pods(&scene, budget(9, 5));
	assert_int_equal(decision.refusal, REFUSAL_SMT);
	assert_string_equal(decision.container, "");
}

/* An exclusive init container, and a sidecar that runs beside it and all others. */
static struct pod_spec *after_init(int64_t init, int64_t sidecar, int64_t app)
{
	struct pod_spec *spec = scene_pod("p");

	if (sidecar)
		add_container(spec, "sidecar", CONTAINER_SIDECAR, sidecar * 1000, sidecar * 1000);
	add_container(spec, "init", CONTAINER_INIT, init * 1000, init * 1000);
	add_container(spec, "app", CONTAINER_APP, app * 1000, app * 1000);
	return spec;
}

/* The pod has them anyway, and nobody else can get them. */
static void what_init_containers_left_is_used(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * ALIGN_NR; i++) {
		struct scene scene cleanup_scene = {0};

		set_up_reserved(&scene, "0,16", (enum align_policy)(i / 2));
		scene.policy.scope = i % 2 ? ALIGN_SCOPE_POD : ALIGN_SCOPE_CONTAINER;
		assert_true(admit_pods(&scene, after_init(8, 0, 2)).admitted);
		assert_holds(&scene, 1, "1,17");
		/* The rest of the node. */
		assert_true(admit_pods(&scene, guaranteed_pod("q", 6)).admitted);
		assert_true(admit_pods(&scene, after_init(8, 0, 8)).admitted);
		assert_holds(&scene, 1, "1-4,17-20");
		assert_cpus(ledger_find(scene.ledger, "p")->held, "1-4,17-20");
	}
}

/* What went offline since is nothing to grow with. */
static void an_offline_cpu_of_an_init_container_is_not_used(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_NONE);
	assert_true(admit_pods(&scene, after_init(8, 0, 2)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("q", 22)).admitted);
	set_offline(&scene, "4,20");
	decision = admit_pods(&scene, after_init(8, 0, 8));
	assert_int_equal(decision.cpu_result, CPU_NOT_ENOUGH);
	assert_int_equal(decision.available, 6);
	assert_true(admit_pods(&scene, after_init(8, 0, 6)).admitted);
	assert_holds(&scene, 0, "1-4,17-20");
	assert_holds(&scene, 1, "1-3,17-19");
}

/* A sidecar runs while the init container after it does. */
static void a_sidecar_gets_nothing_of_a_later_init_container(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_reserved(&scene, "0,16", ALIGN_NONE);
	assert_true(admit_pods(&scene, after_init(8, 2, 2)).admitted);
	assert_holds(&scene, 0, "1,17");
	assert_holds(&scene, 1, "2-5,18-21");
	assert_true(admit_pods(&scene, after_init(8, 4, 6)).admitted);
	assert_holds(&scene, 0, "1,6,17,22");
	assert_holds(&scene, 2, "2-4,18-20");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_of_reserved_cores_are_not_taken),
		cmocka_unit_test(what_shrinks_gives_up_offline_cpus_first),
		cmocka_unit_test(an_offline_cpu_makes_up_the_number),
		cmocka_unit_test(offline_cpus_stay_if_there_are_not_enough_others),
		cmocka_unit_test(a_budget_that_the_node_does_not_have),
		cmocka_unit_test(slices_need_no_whole_cores),
		cmocka_unit_test(what_init_containers_left_is_used),
		cmocka_unit_test(an_offline_cpu_of_an_init_container_is_not_used),
		cmocka_unit_test(a_sidecar_gets_nothing_of_a_later_init_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
