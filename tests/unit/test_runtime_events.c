// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What an operator is told of a runtime's containers: events, findings, metrics and the reasons of
 * refusals; and what is refused because of an identity.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/runtime.h"
#include "runtime_scene.h"

/* The last event of this kind. */
static void expect_event(struct controller *controller, const char *kind, const char *pod,
			 const char *container, const char *detail)
{
	struct json_object *events = query(controller, "event"), *found = NULL;
	static const char *const keys[] = {"pod", "container", "detail"};
	const char *const wanted[] = {pod, container, detail};

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "kind")), kind))
			found = row;
	}
	assert_non_null(found);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct json_object *value = json_object_object_get(found, keys[i]);

		assert_string_equal(value ? json_object_get_string(value) : "null", wanted[i]);
	}
	json_object_put(events);
}

static void a_container_is_admitted_once(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	expect_event(controller, "admit", "default/a", "main", "granted");
	assert_int_equal(nr_events(controller, "admit"), 1);
	/* It is restarted. */
	forget("excl-1");
	create(controller, "a", "main", "excl-2", 4000);
	assert_int_equal(nr_events(controller, "admit"), 1);
	create(controller, "a", "log", "shared-1", 500);
	assert_int_equal(nr_events(controller, "admit"), 2);
	/* of pods, and of containers */
	expect_metric(controller,
		      "\npinfold_admissions_total{result=\"admitted\",reason=\"none\"} 1\n");
	expect_metric(controller, "\npinfold_container_assignments_total{resource_name=\"cpu\","
				  "assignment_type=\"node_exclusive\"} 1\n");
	expect_metric(controller, "\npinfold_container_assignments_total{resource_name=\"cpu\","
				  "assignment_type=\"node_shared\"} 1\n");
	expect_metric(controller, "\nresource_manager_allocations_total{resource_name=\"cpu\","
				  "source=\"node\"} 1\n");
	controller_free(controller);
}

static void a_release_is_told_once(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "a", "log", "shared-1", 500);
	remove_container(controller, "excl-1");
	assert_int_equal(nr_events(controller, "release"), 0);
	remove_container(controller, "shared-1");
	expect_event(controller, "release", "default/a", "null",
		     "its CPUs were returned to the shared pool");
	controller_free(controller);
}

static void a_refusal_says_what_became_of_the_container(void **state)
{
	static const char reason[] =
		"UnexpectedAdmissionError: container main asks for 4 exclusive CPUs, but only 2 are "
		"free (of 16 CPUs: 2 reserved, 12 held by other pods)";
	char detail[512];

	for (int shares = 0; shares < 2; shares++) {
		struct controller *controller;

		config.runtime_refusals = shares ? RUNTIME_REFUSALS_SHARE : RUNTIME_REFUSALS_DENY;
		controller = start();
		create(controller, "a", "main", "excl-1", 12000);
		create(controller, "b", "main", "sharing", 4000);
		snprintf(detail, sizeof(detail), "%s%s", reason,
			 shares ? "; it runs on the shared pool instead" : "");
		expect_event(controller, "refuse", "default/b", "main", detail);
		expect_metric(
			controller,
			"\npinfold_admissions_total{result=\"rejected\",reason=\"cpus\"} 1\n");
		controller_free(controller);
	}
}

/* --- pods of several sources -------------------------------------------------------------------- */

/* The runtime names a pod that a manifest has: it is one pod, which holds its CPUs once. */
static void a_pod_of_two_sources_is_one(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 4000);
	struct controller *controller = start();

	scan(controller, &spec, 1);
	assert_true(create(controller, "m", "web", "excl-1", 4000));
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_events(controller, "admit"), 1);
	/* Other CPUs that somebody asks for are answered with these. */
	update_otherwise(controller, ++node.request, "excl-1");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	/* What the runtime has removed, the manifest still names. */
	remove_container(controller, "excl-1");
	sink_of(controller)->pod_stopped(controller, "m");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

/* Its processes are in the runtime's cgroup, so the manifest's end frees nothing while they may run. */
static void a_pod_of_two_sources_holds_its_cpus_while_the_runtime_has_it(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 4000);
	struct controller *controller = start();

	scan(controller, &spec, 1);
	assert_true(create(controller, "m", "web", "excl-1", 4000));
	scan(controller, NULL, 0);
	controller_wake(controller);
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	assert_string_equal(pod_member(controller, "m", "state"), "ending");
	remove_container(controller, "excl-1");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	pod_spec_free(spec);
	controller_free(controller);
}

/* Another amount than the manifest's is no second decision. */
static void the_first_source_decides(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 4000);
	struct controller *controller = start();

	scan(controller, &spec, 1);
	create(controller, "m", "web", "excl-1", 4000);
	assert_true(resize(controller, "m", "web", "excl-1", 6000));
	end_update(controller);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	/* A container that the manifest does not have is none of this pod. */
	assert_true(create(controller, "m", "other", "excl-2", 2000));
	assert_string_equal(node.refusal,
			    "pinfold: InvalidPod: its uid is that of a pod of another "
			    "source, or it has too many containers");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

/* The same if the runtime names it when the agent connects, whatever it has recorded. */
static void a_running_container_of_two_sources_has_its_grant(void **state)
{
	static const char *const recorded[] = {"", "2-5", "0-15", "9-12"};
	const struct pod_spec pod = pod_of("m", QOS_GUARANTEED);
	const struct container_spec container_spec = container_of("web", 4000);
	const struct runtime_pod sandbox = {.id = "m", .spec = &pod};
	struct pod_spec *spec = manifest_pod("m", 4000);

	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct runtime_container container = {.id = "excl-c",
							    .pod = &sandbox,
							    .spec = &container_spec,
							    .cpus = recorded[i]};
		struct controller *controller = start();

		scan(controller, &spec, 1);
		put_container("excl-c", recorded[i]);
		synchronize(controller, &sandbox, 1, &container, 1);
		assert_string_equal(cpus_at("excl-c"), "2-5");
		assert_int_equal(nr_events(controller, "refuse"), 0);
		assert_int_equal(nr_rows(controller, "pod"), 1);
		/* The manifest's pod is not the runtime's now. */
		assert_null(strstr(pod_member(controller, "m", "detail"), "container runtime"));
		controller_free(controller);
		fake_world_reset();
	}
	pod_spec_free(spec);
}

/* The other way round: the runtime was first, and the manifest adds nothing. */
static void a_manifest_of_a_runtimes_pod_adds_none(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 4000);
	struct controller *controller = start();

	create(controller, "m", "web", "excl-1", 4000);
	scan(controller, &spec, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

static void several_containers_may_be_behind(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 4000);

	create(controller, "a", "main", "shared-1", 500);
	create(controller, "b", "main", "shared-2", 500);
	create(controller, "c", "main", "excl-1", 2000);
	scan(controller, &spec, 1);
	assert_int_equal(
		nr_findings(controller, "runtime_behind",
			    "2 containers of the runtime may run on exclusive CPUs of other "
			    "pods until the runtime asks about any container again"),
		1);
	/* One of them ends, and then the other one. */
	remove_container(controller, "shared-1");
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"), 1);
	node.nr = 0;
	sink_of(controller)->pod_stopped(controller, "b");
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	pod_spec_free(spec);
	controller_free(controller);
}

/* Pods of manifests leave the CPUs in the next round, which begins at once. */
static void a_grant_is_followed_by_a_reconcile(void **state)
{
	char reason[ROW_DETAIL_MAX] = "";
	struct controller *controller;

	*config.sources.manifest_directory = '\0';
	controller = start();
	controller_wake(controller);
	assert_true(controller_faces(controller)->ready(controller, reason, sizeof(reason)));
	fake->wake_ns = 0;
	create(controller, "a", "main", "excl-1", 4000);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	assert_false(controller_faces(controller)->ready(controller, reason, sizeof(reason)));
	controller_wake(controller);
	assert_true(controller_faces(controller)->ready(controller, reason, sizeof(reason)));
	fake->wake_ns = 0;
	remove_container(controller, "excl-1");
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
}

static void a_denial_changes_nothing(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 12000);
	controller_wake(controller);
	fake->wake_ns = 0;
	create(controller, "b", "main", "excl-2", 4000);
	assert_string_not_equal(node.refusal, "");
	assert_int_equal(fake->wake_ns, 0);
	controller_free(controller);
}

/* A pod of a manifest that was refused may fit when a runtime's pod has ended. */
static void refused_pods_of_manifests_are_decided_again(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 4000);

	create(controller, "a", "main", "excl-1", 12000);
	scan(controller, &spec, 1);
	assert_string_equal(pod_member(controller, "m", "held"), "");
	remove_container(controller, "excl-1");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

/* --- identities --------------------------------------------------------------------------------- */

static void report_container(struct controller *controller, const char *id, const char *sandbox_id)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = sandbox_id, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = ""};

	strcpy(node.creating, "excl-1");
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
}

static void an_id_has_to_fit_its_record(void **state)
{
	char id[RUNTIME_ID_MAX + 1] = "";
	struct controller *controller = start();

	memset(id, 'x', RUNTIME_ID_MAX);
	report_container(controller, id, "a");
	assert_string_equal(node.refusal,
			    "pinfold: InvalidPod: the runtime's id of the container or "
			    "its sandbox is too long");
	report_container(controller, "excl-1", id);
	assert_string_equal(node.refusal,
			    "pinfold: InvalidPod: the runtime's id of the container or "
			    "its sandbox is too long");
	expect_event(controller, "refuse", "default/a", "null",
		     "InvalidPod: the runtime's id of the container or its sandbox is too long");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	/* The longest that fits, for both. */
	id[RUNTIME_ID_MAX - 1] = '\0';
	report_container(controller, id, id);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	sink_of(controller)->removed(controller, id);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

static void an_invalid_container_is_denied_with_its_reason(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "c", .pod = &sandbox, .error = "invalid container name", .cpus = ""};
	struct controller *controller = start();

	strcpy(node.creating, "c");
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	assert_string_equal(node.refusal, "pinfold: InvalidPod: invalid container name");
	expect_event(controller, "refuse", "default/a", "null",
		     "InvalidPod: invalid container name");
	controller_free(controller);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_admitted_once),
		TEST(a_release_is_told_once),
		TEST(a_refusal_says_what_became_of_the_container),
		TEST(a_pod_of_two_sources_is_one),
		TEST(a_pod_of_two_sources_holds_its_cpus_while_the_runtime_has_it),
		TEST(the_first_source_decides),
		TEST(a_manifest_of_a_runtimes_pod_adds_none),
		TEST(a_running_container_of_two_sources_has_its_grant),
		TEST(several_containers_may_be_behind),
		TEST(a_grant_is_followed_by_a_reconcile),
		TEST(a_denial_changes_nothing),
		TEST(refused_pods_of_manifests_are_decided_again),
		TEST(an_id_has_to_fit_its_record),
		TEST(an_invalid_container_is_denied_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
