// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Containers of a runtime: what it is answered, when a grant counts, and when it ends. The
 * machine has CPUs 0 to 15, of which 0 and 1 are reserved.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "ctl/tier.h"
#include "runtime_scene.h"

/* --- creation ----------------------------------------------------------------------------------- */

static void who_shares_shrinks_before_the_owner_starts(void **state)
{
	struct controller *controller = start();

	assert_true(create(controller, "a", "main", "shared-1", 500));
	assert_string_equal(cpus_at("shared-1"), "2-15");
	assert_true(create(controller, "b", "main", "excl-1", 4000));
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(cpus_at("shared-1"), "6-15");
	assert_true(create(controller, "b", "log", "shared-2", 500));
	assert_string_equal(cpus_at("shared-2"), "6-15");
	assert_true(create(controller, "c", "main", "excl-2", 2000));
	assert_string_equal(cpus_at("shared-1"), "8-15");
	assert_string_equal(cpus_at("shared-2"), "8-15");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(pod_member(controller, "b", "state"), "running");
	controller_free(controller);
}

/* What is in force in cgroups that pinfold does not know is not claimed. */
static void the_report_says_whose_the_cgroups_are(void **state)
{
	struct controller *controller = start();
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	struct json_object *containers;

	create(controller, "a", "main", "excl-1", 4000);
	controller_wake(controller);
	assert_string_equal(pod_member(controller, "a", "detail"),
			    "the container runtime made its cgroups; pinfold sets their CPUs, "
			    "and neither the partition nor the guard covers them");
	containers = query(controller, "container");
	assert_int_equal(json_object_array_length(containers), 1);
	assert_null(
		json_object_object_get(json_object_array_get_idx(containers, 0), "effective_cpus"));
	json_object_put(containers);
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"exclusive\"} 4\n"));
	assert_non_null(strstr(page.data, "pinfold_admissions_total{result=\"admitted\","
					  "reason=\"none\"} 1\n"));
	controller_free(controller);
}

/* pinfold makes no cgroup for them, and the pods of manifests leave their CPUs. */
static void pods_of_manifests_leave_the_cpus(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 500);
	struct controller *controller = start();

	scan(controller, &spec, 1);
	create(controller, "b", "main", "excl-1", 4000);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_null(group_of(GROUP_POD, "podb"));
	assert_int_equal(nr_rows(controller, "pod"), 2);
	/* A scan that does not name the runtime's pod does not end it, */
	scan(controller, &spec, 1);
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_string_equal(pod_member(controller, "b", "state"), "running");
	/* nor does it before the runtime has said what it has. */
	controller_free(controller);
	controller = start_controller();
	controller_wake(controller);
	scan(controller, &spec, 1);
	assert_string_equal(pod_member(controller, "b", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

static void a_restarted_container_keeps_its_cpus(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "b", "main", "excl-2", 2000);
	stop(controller, "excl-1");
	forget("excl-1");
	assert_true(create(controller, "a", "main", "excl-1b", 4000));
	assert_string_equal(cpus_at("excl-1b"), "2-5");
	/* The remains of the first instance are removed later. */
	remove_container(controller, "excl-1");
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	controller_free(controller);
}

static void the_last_instance_releases_the_cpus(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "a", "log", "shared-1", 500);
	remove_container(controller, "excl-1");
	assert_string_equal(pod_member(controller, "a", "held"), "");
	/* Whoever shares grows with the next answer. */
	assert_string_equal(cpus_at("shared-1"), "6-15");
	stop(controller, "shared-1");
	assert_string_equal(cpus_at("shared-1"), "2-15");
	remove_container(controller, "shared-1");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

static void a_stopped_pod_releases_everything(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "a", "two", "excl-2", 4000);
	sink_of(controller)->pod_stopped(controller, "unknown");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	node.nr = 0;
	sink_of(controller)->pod_stopped(controller, "a");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	sink_of(controller)->pod_stopped(controller, "a");
	remove_container(controller, "excl-1");
	assert_true(create(controller, "b", "main", "excl-3", 12000));
	assert_string_equal(cpus_at("excl-3"), "2-5,8-15");
	controller_free(controller);
}

/* The kubelet's request for other CPUs is overridden. */
static void an_update_is_answered_with_the_grant(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	set_cpus("excl-1", "0-15");
	node.request++;
	update_otherwise(controller, node.request, "excl-1");
	assert_string_equal(cpus_at("excl-1"), "2-5");
	controller_free(controller);
}

/* --- refusals ----------------------------------------------------------------------------------- */

static void what_does_not_fit_is_denied_with_the_reason(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 12000);
	assert_true(create(controller, "b", "main", "excl-2", 4000));
	assert_string_equal(
		node.refusal,
		"pinfold: UnexpectedAdmissionError: container main asks for 4 exclusive "
		"CPUs, but only 2 are free (of 16 CPUs: 2 reserved, 12 held by other pods)");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(node.nr, 1);
	assert_int_equal(nr_events(controller, "refuse"), 1);
	controller_free(controller);
}

/* What a runtime has begun to ask may end without it. */
static void it_is_denied_although_nobody_hears_it(void **state)
{
	struct controller *controller;

	memset(&node, 0, sizeof(node));
	scene_runtime = NULL;
	controller = start_controller();
	assert_false(create(controller, "a", "main", "excl-1", 20000));
	assert_int_equal(nr_events(controller, "refuse"), 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

static void it_shares_if_the_operator_prefers_that(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	create(controller, "a", "main", "excl-1", 12000);
	assert_true(create(controller, "b", "main", "sharing", 4000));
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("sharing"), "6-7");
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_int_equal(nr_events(controller, "refuse"), 1);
	controller_free(controller);
}

static void an_invalid_pod_is_denied_or_shares(void **state)
{
	const struct runtime_pod sandbox = {.id = "a", .error = "unknown annotation"};
	const struct runtime_container container = {.id = "c", .pod = &sandbox, .cpus = ""};

	for (int shares = 0; shares < 2; shares++) {
		struct controller *controller;

		config.runtime_refusals = shares ? RUNTIME_REFUSALS_SHARE : RUNTIME_REFUSALS_DENY;
		controller = start();
		snprintf(node.creating, sizeof(node.creating), "c");
		node.request++;
		sink_of(controller)->created(controller, node.request, &container);
		assert_string_equal(node.refusal,
				    shares ? "" : "pinfold: InvalidPod: unknown annotation");
		if (shares) {
			assert_string_equal(cpus_at("c"), "2-15");
			/* It shrinks like others. */
			create(controller, "b", "main", "excl-1", 4000);
			assert_string_equal(cpus_at("c"), "6-15");
		}
		controller_free(controller);
	}
}

/* The record has no room for its id, so that it cannot be told to shrink later. */
static void a_container_with_a_long_id_starts_on_the_shared_pool(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	char id[200] = "";
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = ""};
	struct controller *controller;

	memset(id, 'x', sizeof(id) - 1);
	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	snprintf(node.creating, sizeof(node.creating), "c");
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	assert_string_equal(cpus_at("c"), "2-15");
	/* Nobody is told about the part of an id that would fit. */
	create(controller, "b", "main", "x", 500);
	assert_int_equal(node.nr_strange, 0);
	controller_free(controller);
}

/* --- durability --------------------------------------------------------------------------------- */

static void an_exclusive_grant_waits_for_the_state_file(void **state)
{
	struct controller *controller = start();

	fake->slow_save = true;
	assert_false(create(controller, "a", "main", "excl-1", 4000));
	assert_int_equal(nr_rows(controller, "pod"), 0);
	fake_end_save(controller, 0);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
}

static bool is_on_page(struct controller *controller, const char *line)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	return strstr(page.data, line) != NULL;
}

/* The runtime holds up all its calls for so long. */
static void the_time_of_a_creation_is_counted(void **state)
{
	struct controller *controller = start();

	fake->slow_save = true;
	assert_false(create(controller, "a", "main", "excl-1", 4000));
	assert_true(is_on_page(controller, "pinfold_admission_duration_seconds_count 0\n"));
	fake->now_ns += 1500000000;
	fake_end_save(controller, 0);
	assert_true(is_on_page(controller, "pinfold_admission_duration_seconds_count 1\n"));
	assert_true(is_on_page(controller, "pinfold_admission_duration_seconds_sum 1.500000000\n"));
	assert_true(create(controller, "b", "main", "excl-2", 12000));
	assert_true(*node.refusal);
	assert_true(is_on_page(controller, "pinfold_admission_duration_seconds_count 2\n"));
	controller_free(controller);
}

static void a_shared_container_does_not_wait(void **state)
{
	struct controller *controller = start();

	fake->slow_save = true;
	assert_true(create(controller, "a", "main", "shared-1", 500));
	assert_string_equal(cpus_at("shared-1"), "2-15");
	controller_free(controller);
}

static void a_grant_that_cannot_be_saved_is_denied(void **state)
{
	struct controller *controller = start();

	fake->slow_save = true;
	assert_false(create(controller, "a", "main", "excl-1", 4000));
	fake_end_save(controller, -EIO);
	assert_non_null(strstr(node.refusal, "the state file cannot be written"));
	fake->slow_save = false;
	fake->save_error = -ENOSPC;
	assert_true(create(controller, "b", "main", "excl-2", 4000));
	assert_non_null(strstr(node.refusal, "the state file cannot be written"));
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

static void nobody_is_answered_after_the_session(void **state)
{
	struct controller *controller = start();
	uint32_t nr_answers;

	fake->slow_save = true;
	create(controller, "a", "main", "excl-1", 4000);
	nr_answers = node.nr_answers;
	sink_of(controller)->ended(controller);
	fake_end_save(controller, 0);
	assert_int_equal(node.nr_answers, nr_answers);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* --- a new session ------------------------------------------------------------------------------ */

static void a_restarted_agent_compares(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = "2-5"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "gone", "main", "excl-2", 2000);
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_string_equal(pod_member(controller, "a", "state"), "unknown");
	forget("excl-2");
	/* Somebody wrote the cgroup, and the runtime does not know. */
	set_cpus("excl-1", "0-15");
	synchronize(controller, &sandbox, 1, &container, 1);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(pod_member(controller, "a", "state"), "running");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
}

/* Its sandbox is listed until the pod is removed, which may be much later. */
static void a_pod_that_ended_unheard_releases_its_cpus(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a, .is_stopped = true},
					   {.id = "b", .spec = &b, .is_stopped = true}};
	const struct runtime_container container = {
		.id = "excl-2", .pod = &pods[1], .spec = &spec, .cpus = "6-9"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "b", "main", "excl-2", 4000);
	forget("excl-1");
	synchronize(controller, pods, 2, &container, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(pod_member(controller, "b", "state"), "running");
	controller_free(controller);
}

/* Whose it is nobody knows, so nobody's CPUs are taken and it keeps those that it has. */
static void a_container_without_a_sandbox_keeps_its_cpus(void **state)
{
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod unlisted = {.id = "", .error = "no uid"};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &unlisted, .spec = &spec, .cpus = "2-5"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	synchronize(controller, NULL, 0, &container, 1);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	/* Later it is listed again. */
	synchronize(controller, NULL, 0, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* CPUs that it shares are not its own: it leaves those that others get. */
static void a_sharer_without_a_sandbox_shrinks(void **state)
{
	const struct container_spec spec = container_of("main", 500);
	const struct runtime_pod unlisted = {.id = "", .error = "no uid"};
	const struct runtime_container container = {
		.id = "shared-1", .pod = &unlisted, .spec = &spec, .cpus = "2-15"};
	struct controller *controller = start();

	create(controller, "a", "main", "shared-1", 500);
	synchronize(controller, NULL, 0, &container, 1);
	create(controller, "b", "main", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(cpus_at("shared-1"), "6-15");
	controller_free(controller);
}

/* Without a record: CPUs that fit the request are kept, and others are chosen around them. */
static void running_containers_are_adopted(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "b", .spec = &b}};
	const struct runtime_container containers[] = {
		{.id = "excl-1", .pod = &pods[0], .spec = &spec, .cpus = ""},
		{.id = "excl-2", .pod = &pods[1], .spec = &spec, .cpus = "4-7"},
	};
	struct controller *controller = start();

	put_container("excl-1", "");
	put_container("excl-2", "4-7");
	synchronize(controller, pods, 2, containers, 2);
	assert_string_equal(cpus_at("excl-2"), "4-7");
	assert_string_equal(cpus_at("excl-1"), "2-3,8-9");
	assert_string_not_equal(pod_member(controller, "b", "detail"), "");
	controller_free(controller);
}

static void a_running_container_that_does_not_fit_shares(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 64000);
	const struct runtime_pod pod = {.id = "a", .spec = &a};
	const struct runtime_container container = {
		.id = "c", .pod = &pod, .spec = &spec, .cpus = ""};
	struct controller *controller = start();

	put_container("c", "");
	synchronize(controller, &pod, 1, &container, 1);
	assert_string_equal(cpus_at("c"), "2-15");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
}

/* Whoever shares for lack of CPUs is asked about again, and may be denied, with each creation. */
static void a_container_that_had_to_share_is_decided_again(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), big = pod_of("big", QOS_GUARANTEED);
	const struct container_spec small_spec = container_of("main", 4000),
				    big_spec = container_of("main", 12000);
	const struct runtime_pod pods[] = {{.id = "big", .spec = &big}, {.id = "a", .spec = &a}};
	const struct runtime_container containers[] = {
		{.id = "excl-big", .pod = &pods[0], .spec = &big_spec, .cpus = "2-13"},
		{.id = "c", .pod = &pods[1], .spec = &small_spec, .cpus = ""},
	};
	struct controller *controller = start();

	put_container("excl-big", "2-13");
	put_container("c", "");
	synchronize(controller, pods, 2, containers, 2);
	assert_string_equal(cpus_at("c"), "14-15");
	forget("c");
	create(controller, "a", "main", "c2", 4000);
	assert_non_null(strstr(node.refusal, "asks for 4 exclusive CPUs, but only 2 are free"));
	remove_container(controller, "excl-big");
	create(controller, "a", "main", "excl-c3", 4000);
	assert_string_equal(node.refusal, "");
	assert_string_equal(cpus_at("excl-c3"), "2-5");
	controller_free(controller);
}

/* It runs with what it was resized to meanwhile, but there are not so many CPUs. */
static void a_container_that_was_resized_in_place_keeps_its_cpus(void **state)
{
	const struct pod_spec b = pod_of("b", QOS_GUARANTEED);
	struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod pod = {.id = "b", .spec = &b};
	const struct runtime_container container = {
		.id = "excl-2", .pod = &pod, .spec = &spec, .cpus = "6-9"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	create(controller, "b", "main", "excl-2", 4000);
	remove_container(controller, "excl-1");
	spec.limit.memory_bytes = spec.request.memory_bytes = 2 * GIB;
	synchronize(controller, &pod, 1, &container, 1);
	assert_string_equal(cpus_at("excl-2"), "6-9");
	spec.limit.cpu_mcpu = spec.request.cpu_mcpu = 16000;
	synchronize(controller, &pod, 1, &container, 1);
	assert_string_equal(cpus_at("excl-2"), "6-9");
	assert_string_equal(pod_member(controller, "b", "held"), "6-9");
	assert_int_equal(nr_events(controller, "refuse"), 1);
	assert_int_equal(nr_events(controller, "admit"), 2);
	controller_free(controller);
}

/* Its container has what the manifest was granted, and only its source ends it. */
static void a_pod_of_a_manifest_with_the_same_uid_keeps_its_grant(void **state)
{
	const struct pod_spec of_runtime = pod_of("m", QOS_GUARANTEED);
	const struct container_spec container_spec = container_of("web", 4000);
	const struct runtime_pod pod = {.id = "m", .spec = &of_runtime};
	const struct runtime_container container = {
		.id = "c", .pod = &pod, .spec = &container_spec, .cpus = ""};
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 4000);

	spec->containers = reallocarray(spec->containers, 2, sizeof(*spec->containers));
	assert_non_null(spec->containers);
	spec->containers[spec->nr_containers++] = container_of("log", 500);
	scan(controller, &spec, 1);
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	put_container("c", "");
	synchronize(controller, &pod, 1, &container, 1);
	assert_string_equal(cpus_at("c"), "2-5");
	remove_container(controller, "c");
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

/* Otherwise the manifest would take over what the runtime's containers hold. */
static void a_manifest_with_the_uid_of_a_running_pod_is_refused(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("b", 2000);
	struct json_object *rows, *row;

	create(controller, "b", "main", "excl-1", 4000);
	scan(controller, &spec, 1);
	rows = query(controller, "refusal");
	assert_int_equal(json_object_array_length(rows), 1);
	row = json_object_array_get_idx(rows, 0);
	assert_string_equal(json_object_get_string(json_object_object_get(row, "reason")),
			    "InvalidPod");
	assert_string_equal(json_object_get_string(json_object_object_get(row, "refusal")), "spec");
	assert_string_equal(json_object_get_string(json_object_object_get(row, "message")),
			    "metadata.uid is that of a pod of the container runtime");
	assert_null(json_object_object_get(row, "wanted"));
	json_object_put(rows);
	assert_string_equal(pod_member(controller, "b", "held"), "2-5");
	pod_spec_free(spec);
	controller_free(controller);
}

/* pinfold does not call the runtime; it answers. */
static void who_has_not_left_the_cpus_of_a_manifest_pod_is_told(void **state)
{
	struct controller *controller = start();
	struct pod_spec *spec = manifest_pod("m", 4000);

	create(controller, "a", "main", "shared-1", 500);
	create(controller, "b", "main", "excl-1", 2000);
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	scan(controller, &spec, 1);
	assert_string_equal(cpus_at("shared-1"), "4-15");
	assert_int_equal(nr_findings(controller, "runtime_behind", "1 container "), 1);
	stop(controller, "nobody");
	assert_string_equal(cpus_at("shared-1"), "8-15");
	assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
	pod_spec_free(spec);
	controller_free(controller);
}

/* The next answer repeats what did not arrive. */
static void a_lost_answer_is_made_good(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "shared-1", 500);
	node.error = -ENOTCONN;
	create(controller, "b", "main", "excl-1", 4000);
	node.error = 0;
	*node.creating = '\0';
	stop(controller, "nobody");
	assert_string_equal(cpus_at("shared-1"), "6-15");
	controller_free(controller);
}

/* A partition would take its CPUs from the runtime's pods, which are not below it. */
static void the_workload_root_is_not_a_partition(void **state)
{
	struct controller *controller = start();

	assert_string_equal(group_of(GROUP_ROOT, "")->files[GROUP_CPUSET_PARTITION], "root");
	controller_free(controller);
	strcpy(config.sources.nri, "/run/nri.sock");
	controller = start();
	assert_string_equal(group_of(GROUP_ROOT, "")->files[GROUP_CPUSET_PARTITION], "member");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", "container runtime"), 1);
	controller_free(controller);
}

/* What a finding says is to be done. */
static const char *remedy_of(struct controller *controller, const char *name)
{
	struct json_object *shown = query(controller, "node");
	struct json_object *rows = json_object_object_get(shown, "findings");
	static char text[256];

	*text = '\0';
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "name")), name))
			snprintf(text, sizeof(text), "%s",
				 json_object_get_string(json_object_object_get(row, "remedy")));
	}
	json_object_put(shown);
	return text;
}

/* Nobody says when they end, and a partition would take their CPUs. A reboot ends them. */
static void pods_of_a_source_that_was_removed_are_told(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	controller_free(controller);
	scene_runtime = NULL;
	controller = start_controller();
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	assert_string_equal(group_of(GROUP_ROOT, "")->files[GROUP_CPUSET_PARTITION], "member");
	assert_int_equal(nr_findings(controller, "runtime_pods_remain",
				     "1 pod of the container runtime still holds CPUs"),
			 1);
	assert_string_equal(remedy_of(controller, "tier1_not_in_use"),
			    "see the finding runtime_pods_remain");
	controller_free(controller);
	/* It is set again. */
	snprintf(config.sources.nri, sizeof(config.sources.nri), "/run/nri.sock");
	controller = start_controller();
	assert_int_equal(nr_findings(controller, "runtime_pods_remain", ""), 0);
	assert_string_equal(
		remedy_of(controller, "tier1_not_in_use"),
		"remove sources.nri and sources.kubepods if the node has no container runtime");
	*config.sources.nri = '\0';
	ctl_choose_tier(controller);
	assert_int_equal(nr_findings(controller, "runtime_pods_remain", "1 pod"), 1);
	snprintf(config.sources.nri, sizeof(config.sources.nri), "/run/nri.sock");
	ctl_choose_tier(controller);
	assert_int_equal(nr_findings(controller, "runtime_pods_remain", ""), 0);
	*config.sources.nri = '\0';
	controller_free(controller);
	scene_boot_id = "the next one";
	controller = start_controller();
	scene_boot_id = "boot";
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_string_equal(group_of(GROUP_ROOT, "")->files[GROUP_CPUSET_PARTITION], "root");
	assert_int_equal(nr_findings(controller, "runtime_pods_remain", ""), 0);
	controller_free(controller);
}

/* What a source will name, or say is gone, is not taken for ended. */
static void a_reboot_leaves_pods_whose_source_is_set(void **state)
{
	struct pod_spec *manifest = manifest_pod("m", 4000);
	struct controller *controller;

	snprintf(config.sources.nri, sizeof(config.sources.nri), "/run/nri.sock");
	controller = start();
	scan(controller, &manifest, 1);
	create(controller, "a", "main", "excl-1", 2000);
	controller_free(controller);
	scene_boot_id = "the next one";
	controller = start_controller();
	scene_boot_id = "boot";
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	assert_string_equal(pod_member(controller, "a", "held"), "6-7");
	controller_free(controller);
	*config.sources.nri = '\0';
	scene_boot_id = "the one after it";
	controller = start_controller();
	scene_boot_id = "boot";
	assert_string_equal(pod_member(controller, "m", "held"), "2-5");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	pod_spec_free(manifest);
}

/* The node may have no manifests at all. */
static void pods_need_the_runtime_to_be_ready(void **state)
{
	struct controller *controller;
	char reason[ROW_DETAIL_MAX] = "";

	*config.sources.manifest_directory = '\0';
	controller = start();
	create(controller, "a", "main", "excl-1", 4000);
	controller_wake(controller);
	assert_true(controller_faces(controller)->ready(controller, reason, sizeof(reason)));
	sink_of(controller)->ended(controller);
	assert_false(controller_faces(controller)->ready(controller, reason, sizeof(reason)));
	assert_string_equal(reason, "pod default/a is not enforced: its container runtime is not "
				    "connected");
	controller_free(controller);
}

/* Offline CPUs would make the runtime's write fail. */
static void offline_cpus_are_left_out(void **state)
{
	struct controller *controller = start();

	tell_online(controller, "0-13");
	create(controller, "a", "main", "shared-1", 500);
	assert_string_equal(cpus_at("shared-1"), "2-13");
	controller_free(controller);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(who_shares_shrinks_before_the_owner_starts),
		TEST(the_report_says_whose_the_cgroups_are),
		TEST(pods_of_manifests_leave_the_cpus),
		TEST(a_restarted_container_keeps_its_cpus),
		TEST(the_last_instance_releases_the_cpus),
		TEST(a_stopped_pod_releases_everything),
		TEST(an_update_is_answered_with_the_grant),
		TEST(what_does_not_fit_is_denied_with_the_reason),
		TEST(it_is_denied_although_nobody_hears_it),
		TEST(it_shares_if_the_operator_prefers_that),
		TEST(a_container_that_had_to_share_is_decided_again),
		TEST(an_invalid_pod_is_denied_or_shares),
		TEST(a_container_with_a_long_id_starts_on_the_shared_pool),
		TEST(an_exclusive_grant_waits_for_the_state_file),
		TEST(the_time_of_a_creation_is_counted),
		TEST(a_shared_container_does_not_wait),
		TEST(a_grant_that_cannot_be_saved_is_denied),
		TEST(nobody_is_answered_after_the_session),
		TEST(a_restarted_agent_compares),
		TEST(a_pod_that_ended_unheard_releases_its_cpus),
		TEST(a_container_without_a_sandbox_keeps_its_cpus),
		TEST(a_sharer_without_a_sandbox_shrinks),
		TEST(running_containers_are_adopted),
		TEST(a_running_container_that_does_not_fit_shares),
		TEST(a_container_that_was_resized_in_place_keeps_its_cpus),
		TEST(a_pod_of_a_manifest_with_the_same_uid_keeps_its_grant),
		TEST(a_manifest_with_the_uid_of_a_running_pod_is_refused),
		TEST(who_has_not_left_the_cpus_of_a_manifest_pod_is_told),
		TEST(a_lost_answer_is_made_good),
		TEST(the_workload_root_is_not_a_partition),
		TEST(pods_of_a_source_that_was_removed_are_told),
		TEST(a_reboot_leaves_pods_whose_source_is_set),
		TEST(pods_need_the_runtime_to_be_ready),
		TEST(offline_cpus_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
