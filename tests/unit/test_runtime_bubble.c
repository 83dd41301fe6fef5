// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* A runtime's pods with a pod-level budget, which is one bubble: what each container is answered. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/internal.h"
#include "runtime_scene.h"

static int set_up_scope(void **state)
{
	if (set_up(state))
		return -1;
	config.policy.align = ALIGN_BEST_EFFORT;
	config.policy.scope = ALIGN_SCOPE_POD;
	policy = config.policy;
	return 0;
}

/* What a runtime reports of a container in a pod whose budget is four CPUs. */
struct report {
	struct pod_spec pod;
	struct container_spec spec;
	struct runtime_pod sandbox;
	struct runtime_container container;
};

/* mcpu 0 = it states nothing, and shares. */
static void fill_report(struct report *report, const char *name, const char *id, int64_t mcpu,
			const char *cpus)
{
	report->pod = pod_of("a", QOS_GUARANTEED);
	report->pod.has_pod_resources = true;
	report->pod.request.cpu_mcpu = report->pod.limit.cpu_mcpu = 4000;
	report->pod.request.memory_bytes = report->pod.limit.memory_bytes = 4 * GIB;
	report->spec = container_of(name, mcpu);
	if (!mcpu)
		report->spec.request = report->spec.limit = RESOURCES_UNSET;
	report->sandbox = (struct runtime_pod){.id = "a", .spec = &report->pod};
	report->container = (struct runtime_container){
		.id = id, .pod = &report->sandbox, .spec = &report->spec, .cpus = cpus};
}

static void create_in_bubble(struct controller *controller, const char *name, const char *id,
			     int64_t mcpu)
{
	struct report report;

	fill_report(&report, name, id, mcpu, "");
	snprintf(node.creating, sizeof(node.creating), "%s", id);
	node.request++;
	sink_of(controller)->created(controller, node.request, &report.container);
}

/* Those that share leave the CPUs of a slice before its container starts, which `port` verifies. */
static void each_container_finds_its_part_of_the_budget(void **state)
{
	struct controller *controller = start();

	create(controller, "w", "web", "burst-1", 500);
	create_in_bubble(controller, "mesh", "mesh-1", 0);
	assert_string_equal(cpus_at("mesh-1"), "2-5");
	assert_string_equal(cpus_at("burst-1"), "6-15");
	create_in_bubble(controller, "db", "excl-1", 3000);
	assert_string_equal(cpus_at("excl-1"), "2-4");
	assert_string_equal(cpus_at("mesh-1"), "5");
	create_in_bubble(controller, "log", "log-1", 0);
	assert_string_equal(cpus_at("log-1"), "5");
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	controller_free(controller);
}

/* Whatever shares the budget is as durable as a slice of it, and comes back from the state file. */
static void a_bubble_survives_a_restart(void **state)
{
	struct report reports[2];
	struct controller *controller = start();
	struct runtime_container containers[2];

	create_in_bubble(controller, "mesh", "mesh-1", 0);
	create_in_bubble(controller, "db", "excl-1", 2000);
	controller_free(controller);
	controller = start_controller();
	fill_report(&reports[0], "mesh", "mesh-1", 0, "4-5");
	fill_report(&reports[1], "db", "excl-1", 2000, "2-3");
	containers[0] = reports[0].container;
	containers[1] = reports[1].container;
	synchronize(controller, &reports[0].sandbox, 1, containers, 2);
	assert_string_equal(cpus_at("excl-1"), "2-3");
	assert_string_equal(cpus_at("mesh-1"), "4-5");
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	assert_int_equal(nr_events(controller, "refuse"), 0);
	controller_free(controller);
}

/* Without a state file it is made of what the runtime has recorded. */
static void a_bubble_is_adopted(void **state)
{
	const struct pod_spec other = pod_of("w", QOS_BURSTABLE);
	const struct container_spec web = container_of("web", 500);
	struct report reports[2];
	struct controller *controller = start();
	struct runtime_pod pods[2];
	struct runtime_container containers[3];

	put_container("excl-1", "9-10");
	put_container("mesh-1", "11-12");
	put_container("burst-1", "13");
	fill_report(&reports[0], "db", "excl-1", 2000, "9-10");
	fill_report(&reports[1], "mesh", "mesh-1", 0, "11-12");
	pods[0] = reports[0].sandbox;
	pods[1] = (struct runtime_pod){.id = "w", .spec = &other};
	containers[0] = reports[0].container;
	containers[1] = reports[1].container;
	/* What another pod's container has is no part of it. */
	containers[2] = (struct runtime_container){
		.id = "burst-1", .pod = &pods[1], .spec = &web, .cpus = "13"};
	synchronize(controller, pods, 2, containers, 3);
	assert_string_equal(pod_member(controller, "a", "held"), "9-12");
	assert_string_equal(cpus_at("excl-1"), "9-10");
	assert_string_equal(cpus_at("mesh-1"), "11-12");
	controller_free(controller);
}

static void a_bubble_that_one_container_shares_is_adopted(void **state)
{
	struct report report;
	struct controller *controller = start();

	put_container("mesh-1", "9-12");
	fill_report(&report, "mesh", "mesh-1", 0, "9-12");
	synchronize(controller, &report.sandbox, 1, &report.container, 1);
	assert_string_equal(pod_member(controller, "a", "held"), "9-12");
	assert_string_equal(cpus_at("mesh-1"), "9-12");
	controller_free(controller);
}

/* It does not ask for so many, so they are not found by chance, whoever else has some of them. */
static void a_bubble_that_another_pod_overlaps_is_adopted(void **state)
{
	static const struct runtime_port finder = {.answer = take_answer, .cannot_refuse = true};
	const struct pod_spec other = pod_of("w", QOS_BURSTABLE);
	const struct container_spec web = container_of("web", 500);
	struct runtime_container containers[2];
	struct runtime_pod pods[2];
	struct report report;
	struct controller *controller = start();

	controller->ports.runtime = &finder;
	put_container("mesh-1", "9-12");
	put_container("burst-1", "11-15");
	fill_report(&report, "mesh", "mesh-1", 0, "9-12");
	pods[0] = report.sandbox;
	pods[1] = (struct runtime_pod){.id = "w", .spec = &other};
	containers[0] = report.container;
	containers[1] = (struct runtime_container){
		.id = "burst-1", .pod = &pods[1], .spec = &web, .cpus = "11-15"};
	synchronize(controller, pods, 2, containers, 2);
	assert_string_equal(pod_member(controller, "a", "held"), "9-12");
	assert_string_equal(cpus_at("mesh-1"), "9-12");
	assert_string_equal(cpus_at("burst-1"), "2-8,13-15");
	controller_free(controller);
}

/* Other CPUs that are asked for are answered with those of the bubble. */
static void an_update_states_the_bubble_again(void **state)
{
	struct controller *controller = start();

	create_in_bubble(controller, "mesh", "mesh-1", 0);
	set_cpus("mesh-1", "0-15");
	update_otherwise(controller, ++node.request, "mesh-1");
	assert_string_equal(cpus_at("mesh-1"), "2-5");
	controller_free(controller);
}

/* A record with more than the budget is what the whole node shares. */
static void a_refused_container_is_no_part_of_the_bubble(void **state)
{
	struct report reports[3];
	struct controller *controller = start();
	struct runtime_container containers[3];

	put_container("big-1", "2-8,13-15");
	put_container("excl-1", "9-10");
	put_container("mesh-1", "11-12");
	fill_report(&reports[0], "big", "big-1", 4000, "2-8,13-15");
	fill_report(&reports[1], "db", "excl-1", 2000, "9-10");
	fill_report(&reports[2], "mesh", "mesh-1", 0, "11-12");
	for (int i = 0; i < 3; i++)
		containers[i] = reports[i].container;
	/* Of one pod. */
	for (int i = 0; i < 3; i++)
		containers[i].pod = &reports[0].sandbox;
	synchronize(controller, &reports[0].sandbox, 1, containers, 3);
	assert_string_equal(pod_member(controller, "a", "held"), "9-12");
	assert_string_equal(cpus_at("excl-1"), "9-10");
	assert_string_equal(cpus_at("mesh-1"), "11-12");
	assert_string_equal(cpus_at("big-1"), "2-8,13-15");
	controller_free(controller);
}

/* No list at all would let it run on everybody's CPUs. */
static void who_is_created_without_a_cpu_online_shares(void **state)
{
	struct controller *controller = start();

	create_in_bubble(controller, "db", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	remove_container(controller, "excl-1");
	create_in_bubble(controller, "db", "db-2", 4000);
	assert_string_equal(cpus_at("db-2"), "2-5");
	forget("db-2");
	tell_online(controller, "0-1,6-15");
	/* The runtime makes it anew, and has not said that the former one has ended. */
	create_in_bubble(controller, "db", "db-3", 4000);
	assert_string_equal(cpus_at("db-3"), "6-15");
	/* It leaves what others get, */
	create(controller, "b", "web", "excl-2", 4000);
	assert_string_equal(cpus_at("excl-2"), "8-11");
	assert_string_equal(cpus_at("db-3"), "6-7,12-15");
	/* and has its own when these are back. */
	tell_online(controller, "0-15");
	update_otherwise(controller, ++node.request, "db-3");
	assert_string_equal(cpus_at("db-3"), "2-5");
	controller_free(controller);
}

/* The same for one that shares the budget of its pod. */
static void who_shares_a_budget_that_is_offline_shares_with_the_node(void **state)
{
	struct controller *controller = start();

	create_in_bubble(controller, "mesh", "mesh-1", 0);
	assert_string_equal(cpus_at("mesh-1"), "2-5");
	forget("mesh-1");
	tell_online(controller, "0-1,6-14");
	create_in_bubble(controller, "mesh", "mesh-2", 0);
	assert_string_equal(cpus_at("mesh-2"), "6-14");
	/* The runtime cannot create it with these, which is better than on CPUs that are reserved. */
	forget("mesh-2");
	tell_online(controller, "0-1");
	create_in_bubble(controller, "mesh", "mesh-3", 0);
	assert_string_equal(cpus_at("mesh-3"), "6-15");
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_container_finds_its_part_of_the_budget,
						set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(a_bubble_survives_a_restart, set_up_scope,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bubble_is_adopted, set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(a_bubble_that_one_container_shares_is_adopted,
						set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(a_bubble_that_another_pod_overlaps_is_adopted,
						set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(a_refused_container_is_no_part_of_the_bubble,
						set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(who_is_created_without_a_cpu_online_shares,
						set_up_scope, tear_down),
		cmocka_unit_test_setup_teardown(
			who_shares_a_budget_that_is_offline_shares_with_the_node, set_up_scope,
			tear_down),
		cmocka_unit_test_setup_teardown(an_update_states_the_bubble_again, set_up_scope,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
