// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What "ready" means: each promise that cannot be kept or looked at is named by /readyz, the
 * pod concerned says so itself, and both end with the obstacle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "lib/text.h"

#define ROOT "pinfold.slice"

static void expect_ready(struct controller *controller)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[512] = "";

	if (!faces->ready(faces->self, reason, sizeof(reason)))
		fail_msg("not ready: %s", reason);
}

static void expect_not_ready(struct controller *controller, const char *why)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *node;
	char reason[512] = "";

	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	if (!strstr(reason, why))
		fail_msg("'%s' is not in '%s'", why, reason);
	/* The node's own report has the same reason. */
	node = query(controller, "node");
	assert_string_equal(json_object_get_string(json_object_object_get(node, "not_ready")),
			    reason);
	json_object_put(node);
}

/* Of the pod's row, and of its explanation. */
static void expect_state(struct controller *controller, const char *name, const char *state,
			 const char *why)
{
	static const char *const objects[] = {"pod", "explain"};

	for (size_t k = 0; k < ARRAY_SIZE(objects); k++) {
		struct json_object *pods = query(controller, objects[k]), *found = NULL;
		const char *detail;

		for (size_t i = 0; i < json_object_array_length(pods); i++) {
			struct json_object *pod = json_object_array_get_idx(pods, i);

			if (!strcmp(json_object_get_string(json_object_object_get(pod, "name")),
				    name))
				found = pod;
		}
		assert_non_null(found);
		assert_string_equal(json_object_get_string(json_object_object_get(found, "state")),
				    state);
		detail = json_object_get_string(json_object_object_get(found, "detail"));
		if (why)
			assert_non_null(strstr(detail, why));
		else
			assert_null(detail);
		json_object_put(pods);
	}
}

/* Time passes until everything that was put off is due. */
static void wake_later(struct controller *controller)
{
	fake->now_ns += 60ULL * 1000000000ULL;
	controller_wake(controller);
}

static struct controller *start_with(struct pod_spec **pods, uint32_t nr)
{
	struct controller *controller = start_controller();

	expect_not_ready(controller, "manifests");
	scan(controller, pods, nr);
	return controller;
}

static void a_pod_runs_once_it_is_held(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct source_pod source = {.spec = pods[0], .file = "pods.yaml", .line = 1, .name = ""};

	sink->scanned(sink->self, &source, 1, true);
	expect_state(controller, "a", "waiting", "have not been made yet");
	expect_not_ready(controller, "default/a");
	controller_wake(controller);
	expect_state(controller, "a", "running", NULL);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A grant that shrinks frees CPUs that others still have until the cgroups were written. */
static void a_change_counts_once_it_is_applied(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(pods, 1);
	const struct source_sink *sink = &controller_sinks(controller)->source;

	expect_ready(controller);
	sink->scanned(sink->self, NULL, 0, true);
	expect_not_ready(controller, "not been applied");
	controller_wake(controller);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The kernel runs it elsewhere, or on fewer CPUs: the promise is broken until they are back. */
static void a_grant_that_is_offline_counts(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive", 2000, true),
				   fake_pod("c", "shared", 1000, false)};
	struct controller *controller = start_with(pods, 3);

	expect_ready(controller);
	tell_online(controller, "0-1,6-15");
	expect_not_ready(controller,
			 "pod default/a is not enforced: CPUs 2-5 of container exclusive "
			 "are offline");
	controller_wake(controller);
	expect_not_ready(controller, "bring them online, or restart pinfoldd");
	expect_state(controller, "a", "failed", "CPUs 2-5 of container exclusive are offline");
	expect_state(controller, "b", "running", NULL);
	expect_state(controller, "c", "running", NULL);
	expect_metric(controller, "\npinfold_ready 0\n");
	expect_metric(controller, "\npinfold_pods{state=\"failed\"} 1\n");
	/* Of two pods the first is named; of each what it lacks. */
	tell_online(controller, "0-3,5-6,8-15");
	controller_wake(controller);
	expect_not_ready(controller, "pod default/a and 1 more pod are not enforced: CPU 4 of");
	expect_state(controller, "a", "failed", "CPU 4 of container exclusive is offline");
	expect_state(controller, "b", "failed", "CPU 7 of container exclusive is offline");
	tell_online(controller, "0-15");
	controller_wake(controller);
	expect_ready(controller);
	expect_state(controller, "a", "running", NULL);
	expect_metric(controller, "\npinfold_ready 1\n");
	controller_free(controller);
	free_pods(pods, 3);
}

/* It has what is left of it; without anything left, the kernel lets its containers run anywhere. */
static void a_shared_pool_that_is_offline_counts(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "shared", 1000, false)};
	struct controller *controller = start_with(pods, 2);

	tell_online(controller, "0-6");
	controller_wake(controller);
	expect_ready(controller);
	tell_online(controller, "0-5");
	controller_wake(controller);
	expect_not_ready(controller, "the whole shared pool, CPUs 6-15, is offline");
	expect_state(controller, "a", "running", NULL);
	expect_state(controller, "c", "failed", "the whole shared pool, CPUs 6-15, is offline");
	tell_online(controller, "0-5,15");
	controller_wake(controller);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 2);
}

static void what_cannot_be_read_is_unknown(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(pods, 1);

	expect_ready(controller);
	fake->read_error = -EXDEV;
	fake->wake_ns = 0;
	wake_later(controller);
	expect_not_ready(controller, "cannot be read");
	expect_state(controller, "a", "unknown", "cannot be read");
	/* It looks again before the next resync. */
	assert_in_range(fake->wake_ns - fake->now_ns, 1, 5000000000ULL);
	fake->read_error = 0;
	wake_later(controller);
	expect_ready(controller);
	expect_state(controller, "a", "running", NULL);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Not only when there is something to write. */
static void a_state_that_could_not_be_written_counts(void **state)
{
	struct controller *controller = start_with(NULL, 0);

	expect_ready(controller);
	fake->save_error = -EPERM;
	controller_tick(controller);
	expect_not_ready(controller, "the directory is not ours");
	assert_int_equal(nr_findings(controller, "state_not_writable", "not ours"), 1);
	fake->save_error = 0;
	wake_later(controller);
	expect_ready(controller);
	assert_int_equal(nr_findings(controller, "state_not_writable", ""), 0);
	controller_free(controller);
}

/* What lies on the disk already is written again, because that shows that it can be. */
static void a_state_that_was_written_late_can_be_written_again(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(NULL, 0);

	fake->slow_save = true;
	scan(controller, pods, 1);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	scan(controller, pods, 1);
	expect_ready(controller);
	fake->save_error = -EPERM;
	controller_tick(controller);
	expect_not_ready(controller, "the directory is not ours");
	fake->save_error = 0;
	wake_later(controller);
	expect_ready(controller);
	assert_int_equal(nr_findings(controller, "state_not_writable", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void cgroups_out_of_reach_are_a_finding(void **state)
{
	struct controller *controller = start_with(NULL, 0);

	expect_ready(controller);
	fake->check_error = -EXDEV;
	controller_tick(controller);
	expect_not_ready(controller, "the cgroups are covered");
	assert_int_equal(nr_findings(controller, "cgroups_out_of_reach", "covered"), 1);
	fake->check_error = 0;
	fake->wake_ns = 0;
	controller_tick(controller);
	expect_ready(controller);
	assert_int_equal(nr_findings(controller, "cgroups_out_of_reach", ""), 0);
	/* What happened below the cover is looked at now. */
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
}

static void a_pod_without_a_cgroup_is_not_running(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller;

	fake->create_error = -EAGAIN;
	strcpy(fake->apply_path, ROOT "/poduid-b/web");
	controller = start_with(pods, 2);
	expect_not_ready(controller,
			 "pod default/b is not enforced: " ROOT "/poduid-b/web: injected");
	expect_state(controller, "b", "failed", "web: injected");
	expect_state(controller, "a", "running", NULL);
	expect_metric(controller, "\npinfold_ready 0\n");
	expect_metric(controller, "\npinfold_pods{state=\"running\"} 1\n");
	expect_metric(controller, "\npinfold_pods{state=\"failed\"} 1\n");
	fake->create_error = 0;
	wake_later(controller);
	expect_ready(controller);
	expect_state(controller, "b", "running", NULL);
	expect_metric(controller, "\npinfold_ready 1\n");
	expect_metric(controller, "\npinfold_pods{state=\"running\"} 2\n");
	controller_free(controller);
	free_pods(pods, 2);
}

static bool refuse_all_weights(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPU_WEIGHT &&
	       step->role == GROUP_CONTAINER;
}

static void all_pods_that_fail_are_counted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 500, false),
				   fake_pod("b", "two", 500, false),
				   fake_pod("c", "three", 500, false)};
	struct controller *controller;

	fake->refuses = refuse_all_weights;
	controller = start_with(pods, 3);
	expect_not_ready(controller, "pod default/a and 2 more pods are not enforced");
	expect_state(controller, "c", "failed", "Input/output error");
	scan(controller, pods, 2);
	wake_later(controller);
	expect_not_ready(controller, "pod default/a and 1 more pod are not enforced");
	fake->refuses = NULL;
	wake_later(controller);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 3);
}

/* However long a round takes: what comes behind a step that failed is not tried in it. */
static void a_failing_step_ends_its_chain_for_the_round(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 500, false)};
	struct controller *controller;

	pods[0]->containers[0].limit.memory_bytes = 64 << 20;
	fake->reading_ns = 1000000000ULL;
	fake->refuses = refuse_all_weights;
	controller = start_with(pods, 1);
	expect_state(controller, "a", "failed", "Input/output error");
	assert_string_equal(file_of("one", GROUP_CPU_WEIGHT), "");
	assert_string_equal(file_of("one", GROUP_MEMORY_MAX), "");
	fake->refuses = NULL;
	wake_later(controller);
	assert_string_equal(file_of("one", GROUP_MEMORY_MAX), "67108864");
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 1);
}

/* An ending pod says that it ends; that it cannot be held counts all the same. */
static void an_ending_pod_counts(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(pods, 1);

	populate(true);
	scan(controller, NULL, 0);
	expect_state(controller, "a", "ending", "some of its processes are still alive");
	expect_metric(controller, "\npinfold_pods{state=\"ending\"} 1\n");
	expect_ready(controller);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->apply_error = -EBUSY;
	strcpy(fake->apply_path, ROOT "/poduid-a/exclusive");
	wake_later(controller);
	expect_state(controller, "a", "ending", "some of its processes are still alive");
	expect_not_ready(controller, "injected");
	controller_free(controller);
	free_pods(pods, 1);
}

/* Of what no pod holds any more nothing was promised. */
static void leftovers_do_not_count(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(pods, 1);

	fake->refuses_removal = true;
	scan(controller, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_non_null(group_of(GROUP_CONTAINER, "exclusive"));
	expect_ready(controller);
	assert_int_equal(nr_findings(controller, "cgroups_left", "poduid-a"), 1);
	fake->refuses_removal = false;
	wake_later(controller);
	assert_null(group_of(GROUP_CONTAINER, "exclusive"));
	/* The next look finds nothing left to do. */
	wake_later(controller);
	assert_int_equal(nr_findings(controller, "cgroups_left", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void the_root_counts_wherever_it_fails(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false)};
	struct controller *controller;

	/* The pod fails first, so the root's failure is the second that is kept. */
	fake->create_error = -EAGAIN;
	strcpy(fake->apply_path, ROOT "/poduid-a/web");
	controller = start_with(pods, 1);
	strcpy(fake->apply_path, ROOT);
	strcpy(group_of(GROUP_ROOT, ROOT)->files[GROUP_CPUSET_CPUS], "0");
	fake->apply_error = -EBUSY;
	wake_later(controller);
	expect_not_ready(controller, "the workload root cannot be set up: pinfold.slice: injected");
	fake->apply_error = fake->create_error = 0;
	wake_later(controller);
	wake_later(controller);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_partition_that_is_wanted_counts(void **state)
{
	struct controller *controller;

	config.host_tasks = HOST_TASKS_RESERVED;
	/* What others change is left, so the partition stays lost. */
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_with(NULL, 0);
	expect_ready(controller);
	strcpy(group_of(GROUP_ROOT, ROOT)->files[GROUP_CPUSET_PARTITION], "root invalid (x)");
	wake_later(controller);
	expect_not_ready(controller, "pinfold.slice is not a valid root partition");
	strcpy(group_of(GROUP_ROOT, ROOT)->files[GROUP_CPUSET_PARTITION], "root");
	wake_later(controller);
	expect_ready(controller);
	controller_free(controller);
}

/* Nothing is written, so nothing is promised. */
static void a_partition_that_is_only_observed_does_not_count(void **state)
{
	struct controller *controller;

	config.host_tasks = HOST_TASKS_RESERVED;
	config.mode = MODE_OBSERVE;
	controller = start_with(NULL, 0);
	expect_ready(controller);
	controller_free(controller);
}

/* The state file says what is promised, but nobody has seen yet whether it is so. */
static void a_first_look_that_waits_counts(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with(pods, 1);

	controller_free(controller);
	fake->slow_look = true;
	controller = start_controller();
	expect_not_ready(controller, "the cgroups have not been read yet");
	fake->slow_look = false;
	fake_end_look(controller);
	scan(controller, pods, 1);
	expect_ready(controller);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_guard_that_was_not_told_counts(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false)};
	struct controller *controller;

	scene_kernel = &fake_kernel;
	controller = start_with(NULL, 0);
	expect_ready(controller);
	fake->publish_error = -E2BIG;
	scan(controller, pods, 1);
	expect_not_ready(controller, "the last change could not be published to the guard");
	assert_int_equal(nr_findings(controller, "guard_policy_old", ""), 1);
	/* It is told with the next look, though nothing changed. */
	fake->publish_error = 0;
	wake_later(controller);
	expect_ready(controller);
	assert_int_equal(nr_findings(controller, "guard_policy_old", ""), 0);
	controller_free(controller);
	scene_kernel = NULL;
	free_pods(pods, 1);
}

static void what_is_not_watched_is_a_finding(void **state)
{
	struct controller *controller;

	fake->rewatch_error = -ENOSPC;
	controller = start_with(NULL, 0);
	assert_int_equal(nr_findings(controller, "cgroups_not_watched", "No space"), 1);
	/* Every look sees all the same. */
	expect_ready(controller);
	fake->rewatch_error = 0;
	wake_later(controller);
	assert_int_equal(nr_findings(controller, "cgroups_not_watched", ""), 0);
	controller_free(controller);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(a_pod_runs_once_it_is_held),
		SCENE(a_change_counts_once_it_is_applied),
		SCENE(a_grant_that_is_offline_counts),
		SCENE(a_shared_pool_that_is_offline_counts),
		SCENE(what_cannot_be_read_is_unknown),
		SCENE(a_state_that_could_not_be_written_counts),
		SCENE(a_state_that_was_written_late_can_be_written_again),
		SCENE(cgroups_out_of_reach_are_a_finding),
		SCENE(a_pod_without_a_cgroup_is_not_running),
		SCENE(all_pods_that_fail_are_counted),
		SCENE(a_failing_step_ends_its_chain_for_the_round),
		SCENE(an_ending_pod_counts),
		SCENE(leftovers_do_not_count),
		SCENE(the_root_counts_wherever_it_fails),
		SCENE(a_partition_that_is_wanted_counts),
		SCENE(a_partition_that_is_only_observed_does_not_count),
		SCENE(a_first_look_that_waits_counts),
		SCENE(a_guard_that_was_not_told_counts),
		SCENE(what_is_not_watched_is_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
