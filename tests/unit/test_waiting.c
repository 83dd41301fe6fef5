// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller while something waits in the kernel or on the disk: the pod it is
 * for stands still, and who is to get its CPUs; all others go on, and an operator is
 * told. After each step the world is looked at: no exclusive container ever shares a
 * CPU with anybody.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "lib/log.h"
#include "lib/text.h"

#define SECOND 1000000000ULL

static void be_slow_with(const char *path, enum group_file file)
{
	snprintf(fake->slow_path, sizeof(fake->slow_path), "%s", path);
	fake->slow_file = file;
}

static void be_fast(void)
{
	*fake->slow_path = '\0';
}

static bool is_ready(struct controller *controller, char reason[512])
{
	const struct faces_port *faces = controller_faces(controller);

	*reason = '\0';
	return faces->ready(faces->self, reason, 512);
}

static unsigned int metric(struct controller *controller, const char *line)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	return strstr(page.data, line) != NULL;
}

static void expect_pod(struct controller *controller, const char *state, const char *detail)
{
	struct json_object *pods = query(controller, "pod"), *pod = NULL;
	const char *found;

	assert_int_equal(json_object_array_length(pods), 1);
	pod = json_object_array_get_idx(pods, 0);
	found = json_object_get_string(json_object_object_get(pod, "detail"));
	assert_string_equal(json_object_get_string(json_object_object_get(pod, "state")), state);
	assert_string_equal(found ? found : "none", detail);
	json_object_put(pods);
}

/* --- steps --------------------------------------------------------------------------------------- */

static void a_waiting_step_stops_its_pod_only(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = controller_groups_sink(controller);

	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	scan(controller, pods, 2);
	assert_true(fake->has_step);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	/* The fake aborts when it is asked for a second step of the chain that waits. */
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	tamper("exclusive-too", GROUP_CPUSET_CPUS, "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-b/exclusive-too", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	fake->wake_ns = 0;
	be_fast();
	fake_end_step(controller, 0);
	assert_int_not_equal(fake->wake_ns, 0);
	controller_wake(controller);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-a", GROUP_MEMORY_MAX), "67108864");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_step_that_fails_late_is_tried_again(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	be_fast();
	fake_end_step(controller, -EIO);
	controller_wake(controller);
	assert_null(file_of("exclusive", GROUP_CPUSET_CPUS));
	fake->now_ns += SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_repair_that_takes_long_is_a_repair(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	struct json_object *drift, *action;

	scan(controller, pods, 1);
	be_slow_with("exclusive", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_true(fake->has_step);
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	json_object_object_get_ex(json_object_array_get_idx(drift, 0), "action", &action);
	assert_string_equal(json_object_get_string(action), "repair");
	json_object_put(drift);
	controller_free(controller);
	free_pods(pods, 1);
}

/* What was not written yet, because an earlier step waited, nobody else has changed. */
static void a_delayed_write_is_not_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_CPUSET_MEMS);
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	controller_wake(controller);
	be_fast();
	/* The kernel has a value of its own in a file that was never written. */
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_CPU_WEIGHT], "100");
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "max");
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "67108864");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	/* From now on it is. */
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "max");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* What the kernel did not tell before the agent died is compared anew by the next one. */
static void a_crash_while_a_step_waits_loses_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	controller_free(controller);
	fake->has_step = false;
	be_fast();
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- CPUs that are not free yet ------------------------------------------------------------------- */

/* web runs on all CPUs; then an exclusive pod and one that has nothing to do with it come. */
static struct controller *start_with_web(struct pod_spec **pods)
{
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	populate(true);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	return controller;
}

static void a_waiting_release_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "batch", 500, false)};
	struct controller *controller = start_with_web(pods);

	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 3);
	assert_true(fake->has_step);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 3);
}

static void a_failed_release_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "batch", 500, false)};
	struct controller *controller = start_with_web(pods);

	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "web")->path);
	scan(controller, pods, 3);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
	/* Not even while the chain that failed waits for its next try. */
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	fake->apply_error = 0;
	fake->now_ns += 60 * SECOND;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 3);
}

/* The growth was right when it began; the CPUs have another owner by now. */
static void a_growth_under_way_holds_the_next_owner(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true),
				   fake_pod("d", "exclusive-too", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	assert_string_equal(fake->going_value, "2-15");
	{
		struct pod_spec *now[] = {pods[0], pods[2]};

		scan(controller, now, 2);
		assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "");
		be_fast();
		fake_end_step(controller, 0);
		controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 3);
}

/* --- telling ------------------------------------------------------------------------------------- */

static void a_wait_is_reported_and_cleared(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, NULL, 0);
	assert_true(metric(controller, "pinfold_operations_waiting 0\n"));
	be_slow_with("uid-a", GROUP_CPUSET_MEMS);
	scan(controller, pods, 1);
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	assert_true(metric(controller, "pinfold_operations_waiting 1\n"));
	/* "running" would say that they were written and read back. */
	expect_pod(controller, "waiting", "its cgroups are being written");
	assert_true(is_ready(controller, reason));
	fake->now_ns += 2 * SECOND;
	controller_tick(controller);
	expect_pod(controller, "waiting",
		   "pod default/a has waited 2 s in the kernel for the write of "
		   "pinfold.slice/poduid-a/exclusive/cpuset.mems (in fake_wait)");
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "pod default/a has waited 2 s in the kernel for the write of "
				     "pinfold.slice/poduid-a/exclusive/cpuset.mems (in fake_wait)"),
			 1);
	assert_true(is_ready(controller, reason));
	fake->now_ns += 4 * SECOND;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", "waited 6 s"), 1);
	assert_false(is_ready(controller, reason));
	assert_non_null(strstr(reason, "pod default/a has waited 6 s"));
	assert_true(metric(controller, "pinfold_operation_longest_wait_seconds 6"));
	be_fast();
	fake_end_step(controller, 0);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	assert_true(is_ready(controller, reason));
	assert_true(metric(controller, "pinfold_operations_waiting 0\n"));
	controller_wake(controller);
	expect_pod(controller, "running", "none");
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- looks --------------------------------------------------------------------------------------- */

static void a_slow_look_delays_no_pod_forever(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = controller_groups_sink(controller);

	scan(controller, pods, 2);
	fake->slow_look = true;
	controller_wake(controller);
	/* Drift that the look has passed already: known by name, it is mended at once. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-a/exclusive", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	/* Another one, that nobody knows the name of. */
	tamper("web", GROUP_CPUSET_CPUS, "7");
	sink->changed(sink->self, "", "");
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
	/* What was seen before the repair is not taken, and not what was before the wish. */
	fake->wake_ns = 0;
	for (int i = 0; i < 3 && strcmp(file_of("web", GROUP_CPUSET_CPUS), "6-15"); i++) {
		if (fake->look == FAKE_LOOKING)
			fake_end_look(controller);
		assert_int_not_equal(fake->wake_ns, 0);
		fake->wake_ns = 0;
		controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
}

/* Drift that nobody tells of by name, and that the look which goes on has passed already. */
static void a_request_during_a_look_triggers_another(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = controller_groups_sink(controller);

	scan(controller, pods, 1);
	fake->slow_look = true;
	controller_wake(controller);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	sink->changed(sink->self, "", "");
	controller_wake(controller);
	fake->slow_look = false;
	fake_end_look(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
	assert_int_not_equal(fake->wake_ns, 0);
	fake->wake_ns = 0;
	fake->slow_look = true;
	controller_wake(controller);
	fake_end_look(controller);
	assert_int_not_equal(fake->wake_ns, 0);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 1);
}

/* --- pinfold run --------------------------------------------------------------------------------- */

static uint64_t answered_request;
static unsigned int answered_status, nr_answers;
static char answered_text[1024];

static void on_answered(void *self, uint64_t request, unsigned int status, struct json_object *json)
{
	answered_request = request;
	answered_status = status;
	snprintf(answered_text, sizeof(answered_text), "%s", json_object_to_json_string(json));
	json_object_put(json);
	nr_answers++;
}

static const struct answer_sink answers = {NULL, on_answered};

static const struct answer_sink *listener = &answers;

/* This very process is who asks. */
static int run(struct controller *controller, uint64_t request, const char *pod,
	       const char *container, unsigned int *ret_status)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *body = json_object_new_object(), *answer = NULL;
	int r;

	answered_request = answered_status = nr_answers = 0;
	faces->listen(faces->self, listener);
	json_object_object_add(body, "pod", json_object_new_string(pod));
	json_object_object_add(body, "container", json_object_new_string(container));
	r = faces->command(faces->self, request, "run", "", body, getpid(), &answer, ret_status);
	json_object_put(body);
	json_object_put(answer);
	return r;
}

static void a_join_under_way_is_answered_at_its_end(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 2);
	fake->slow_join = true;
	assert_int_equal(run(controller, 7, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_string_equal(fake->joining, "pinfold.slice/poduid-a/exclusive");
	fake->slow_join = false;
	assert_int_equal(run(controller, 8, "default/w", "web", &status), 0);
	assert_int_equal(status, 200);
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_request, 7);
	assert_int_equal(answered_status, 200);
	assert_non_null(strstr(answered_text, "exclusive"));
	/* The same, and it fails. */
	fake->slow_join = true;
	assert_int_equal(run(controller, 9, "default/a", "exclusive", &status), -EINPROGRESS);
	fake_end_join(controller, -ESRCH);
	assert_int_equal(answered_status, 500);
	assert_non_null(strstr(answered_text, "injected at the end"));
	controller_free(controller);
	free_pods(pods, 2);
}

/* What is longer than any name there can be is not cut to one that there is. */
static void a_longer_name_is_another_container(void **state)
{
	char name[POD_CONTAINER_NAME], longer[POD_CONTAINER_NAME + 3];
	unsigned int status = 0;
	struct controller *controller;
	struct pod_spec *pods[1];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(longer, sizeof(longer), "%syy", name);
	pods[0] = fake_pod("a", name, 500, false);
	controller = start_controller();
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", name, &status), 0);
	assert_int_equal(status, 200);
	assert_int_equal(run(controller, 2, "default/a", longer, &status), 0);
	assert_int_equal(status, 404);
	controller_free(controller);
	free_pods(pods, 1);
}

/* An init container and one that follows it. */
static struct pod_spec *init_pod(void)
{
	struct pod_spec *spec = fake_pod("a", "exclusive", 4000, true);

	spec->containers = realloc(spec->containers, 2 * sizeof(*spec->containers));
	assert_non_null(spec->containers);
	spec->containers[1] = spec->containers[0];
	spec->containers[0].kind = CONTAINER_INIT;
	strcpy(spec->containers[0].name, "init");
	spec->nr_containers = 2;
	return spec;
}

static void a_run_waits_for_its_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	be_slow_with("uid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 3, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	/* Once. */
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* The process of a request that has no answer is held no longer than the agent lives. */
static void a_request_ends_with_the_agent(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int nr = nr_descriptors(), status = 0;

	scan(controller, pods, 1);
	fake->slow_join = true;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_int_equal(nr_descriptors(), nr + 1);
	controller_free(controller);
	assert_int_equal(nr_descriptors(), nr);
	free_pods(pods, 1);
}

/* The sanitizer sees to it that the answer is freed. */
static void an_answer_that_nobody_takes_is_dropped(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_join = true;
	listener = NULL;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	listener = &answers;
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 0);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Whatever happens to the pod meanwhile, and whatever is tried again: one answer, at the end. */
static void a_join_is_answered_at_its_end_though_the_pod_ends(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};

	for (int is_populated = 0; is_populated <= 1; is_populated++) {
		struct controller *controller = start_controller();
		unsigned int status = 0;

		scan(controller, pods, 1);
		populate(is_populated);
		fake->slow_join = true;
		assert_int_equal(run(controller, 1, "default/a", "exclusive", &status),
				 -EINPROGRESS);
		scan(controller, NULL, 0);
		controller_wake(controller);
		assert_int_equal(nr_answers, 0);
		fake_end_join(controller, 0);
		assert_int_equal(nr_answers, 1);
		if (is_populated) {
			assert_int_equal(answered_status, 200);
		} else {
			assert_int_equal(answered_status, 404);
			assert_non_null(strstr(answered_text,
					       "the process has joined exclusive, but "
					       "its pod ended meanwhile"));
		}
		controller_free(controller);
		fake_world_reset();
	}
	free_pods(pods, 1);
}

static void a_run_waits_for_the_look_after_its_grant(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	fake->slow_look = true;
	scan(controller, pods, 1);
	assert_int_equal(fake->look, FAKE_LOOKING);
	/* It has no cgroup yet, and will have one. */
	assert_int_equal(run(controller, 1, "default/a", "init", &status), -EINPROGRESS);
	fake->slow_look = false;
	fake_end_look(controller);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 1);
}

/* Nothing tells when it will have one. */
static void without_a_look_there_is_no_cgroup_to_join(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	fake->read_error = -EIO;
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_int_equal(status, 503);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The pod that is asked for, not the one that has waited longest. */
static void who_stops_waiting_is_told_of_the_own_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	unsigned int status = 0;
	char why[512];

	scan(controller, pods, 2);
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	fake->now_ns += 9 * SECOND;
	fake->slow_join = true;
	assert_int_equal(run(controller, 1, "default/w", "web", &status), -EINPROGRESS);
	faces->withdraw(faces->self, 1, why, sizeof(why));
	assert_non_null(strstr(why, "pod default/w has waited 0 s"));
	fake_end_join(controller, 0);
	fake_end_step(controller, 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

/* A scope that came to be in a wake is looked at in the next, at once. */
static void a_new_scope_asks_for_a_wake(void **state)
{
	static struct groups_port groups;
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = &fake_store};
	static const struct controller_options options = {.config = &config,
							  .config_file = "",
							  .kernel_release = "6.1",
							  .boot_id = "boot",
							  .revision = "test"};
	struct controller *controller = NULL;
	unsigned int status = 0;
	char error[256];

	groups = fake_groups;
	groups.layout = systemd_layout;
	assert_int_equal(controller_new(topology, &policy, &options, &ports, error, sizeof(error),
					&controller),
			 0);
	assert_int_equal(controller_start(controller), 0);
	be_slow_with("uid_a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake_end_step(controller, 0);
	fake->wake_ns = 0;
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_client_that_gives_up_gets_the_reason(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	unsigned int status = 0;
	char why[512];

	scan(controller, pods, 1);
	fake->slow_join = true;
	assert_int_equal(run(controller, 4, "default/a", "exclusive", &status), -EINPROGRESS);
	fake->now_ns += 9 * SECOND;
	faces->withdraw(faces->self, 4, why, sizeof(why));
	assert_non_null(strstr(why, "pod default/a has waited 9 s in the kernel for a process to "
				    "join pinfold.slice/poduid-a/exclusive"));
	/* It ends all the same, and nobody is told. */
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 0);
	/* Another one, that had not begun. */
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 5, "default/a", "exclusive", &status), -EINPROGRESS);
	faces->withdraw(faces->self, 5, why, sizeof(why));
	assert_non_null(strstr(why, "cpuset.cpus"));
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 0);
	assert_string_equal(fake->joining, "");
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_slow_kill_comes_before_the_join(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_true(group_of(GROUP_CONTAINER, "init")->populated);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_false(group_of(GROUP_CONTAINER, "exclusive")->populated);
	assert_true(metric(controller, "pinfold_operations_waiting 1\n"));
	fake->wake_ns = 0;
	fake_end_kill(controller);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	assert_true(metric(controller, "pinfold_operations_waiting 0\n"));
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	assert_false(group_of(GROUP_CONTAINER, "init")->populated);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_kill_that_is_done_at_once_is_not_waited_for(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), 0);
	assert_int_equal(status, 200);
	assert_false(group_of(GROUP_CONTAINER, "init")->populated);
	assert_true(metric(controller, "pinfold_operations_waiting 0\n"));
	controller_free(controller);
	free_pods(pods, 1);
}

static void an_empty_init_container_is_not_waited_for(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), 0);
	assert_int_equal(status, 200);
	controller_free(controller);
	free_pods(pods, 1);
}

/* As one that fails at once: the log has it, and it is not tried without end. */
static void a_kill_that_fails_late_is_tried_once(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), -EINPROGRESS);
	fake_tell_end(controller, fake->killing, -EIO);
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	assert_true(metric(controller, "pinfold_operations_waiting 0\n"));
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- looks during which something ends ------------------------------------------------------------ */

/* Each look is late, and during each a process joins a pod. Drift of another pod is mended. */
static void joins_without_end_do_not_starve_a_look(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 2);
	fake->slow_join = true;
	fake->slow_look = true;
	tamper("web", GROUP_CPUSET_CPUS, "7");
	controller_wake(controller);
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(fake->look, FAKE_LOOKING);
		assert_int_equal(run(controller, 1 + i, "default/a", "exclusive", &status),
				 -EINPROGRESS);
		fake_end_join(controller, 0);
		assert_int_equal(answered_status, 200);
		fake_end_look(controller);
		controller_wake(controller);
		if (fake->look != FAKE_LOOKING)
			controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
}

/*
 * web leaves CPUs to an exclusive pod, which goes before the look has ended; web gets the
 * CPUs back during the look, and they are granted again. The look knows nothing of it all.
 */
static void a_step_that_ended_during_a_look_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	populate(true);
	group_of(GROUP_CONTAINER, "exclusive")->populated = false;
	group_of(GROUP_POD, "uid-a")->populated = false;
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	controller_wake(controller);
	assert_true(fake->has_step);
	assert_string_equal(fake->going_value, "2-15");
	fake->slow_look = true;
	scan(controller, pods, 2);
	assert_int_equal(fake->look, FAKE_LOOKING);
	be_fast();
	fake_end_step(controller, 0);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	fake_end_look(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	/* What we wrote ourselves is not somebody's drift. */
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
}

/* The same, but the kernel took the CPUs and says that it failed: nobody knows what web has. */
static void a_step_that_failed_during_a_look_holds(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	populate(true);
	group_of(GROUP_CONTAINER, "exclusive")->populated = false;
	group_of(GROUP_POD, "uid-a")->populated = false;
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	controller_wake(controller);
	fake->slow_look = true;
	scan(controller, pods, 2);
	be_fast();
	tamper("web", GROUP_CPUSET_CPUS, "2-15");
	fake_end_step(controller, -EREMOTEIO);
	fake_end_look(controller);
	controller_wake(controller);
	/* The look saw web on 6-15. */
	assert_false(fake->overlap_seen);
	fake->slow_look = false;
	fake->now_ns += 60 * SECOND;
	if (fake->look == FAKE_LOOKING)
		fake_end_look(controller);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
}

static void a_cgroup_made_during_a_look_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, pods, 1);
	be_slow_with("uid-w/", GROUP_FILE_NR);
	scan(controller, pods, 2);
	assert_true(fake->has_step);
	assert_int_equal(fake->going.kind, STEP_CREATE);
	fake->slow_look = true;
	controller_wake(controller);
	be_fast();
	fake_end_step(controller, 0);
	fake_end_look(controller);
	controller_wake(controller);
	/* Made a second time it would have failed. */
	for (int i = 0; i < 3 && fake->look == FAKE_LOOKING; i++) {
		fake_end_look(controller);
		controller_wake(controller);
	}
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_true(is_ready(controller, reason));
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
}

/*
 * A pod that waits is not looked at. What it was given since it was seen last counts all
 * the same: here web's CPUs, written just before the file that waits.
 */
static void the_last_write_of_a_blocked_pod_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	populate(true);
	group_of(GROUP_CONTAINER, "exclusive")->populated = false;
	group_of(GROUP_POD, "uid-a")->populated = false;
	be_slow_with("web", GROUP_CPU_WEIGHT);
	tamper("web", GROUP_CPU_WEIGHT, "7");
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	be_fast();
	scan(controller, pods, 2);
	assert_false(fake->overlap_seen);
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 2);
}

/* The same where a repair by name waits, with no look since the pod was all right. */
static void a_pod_whose_repair_waits_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with_web(pods);
	const struct groups_sink *sink = controller_groups_sink(controller);

	be_slow_with("web", GROUP_CPU_WEIGHT);
	tamper("web", GROUP_CPU_WEIGHT, "7");
	sink->changed(sink->self, "pinfold.slice/poduid-w/web", "cpu.weight");
	controller_wake(controller);
	assert_true(fake->has_step);
	be_fast();
	scan(controller, pods, 2);
	assert_false(fake->overlap_seen);
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_false(fake->overlap_seen);
	controller_free(controller);
	free_pods(pods, 2);
}

/* Requests go on while the cgroups cannot be looked at: what they need is known without. */
static void a_run_continues_while_looks_fail(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_kill = true;
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake->read_error = -EIO;
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_run_continues_while_a_look_is_blocked(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake->slow_look = true;
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(fake->look, FAKE_LOOKING);
	assert_int_equal(answered_status, 200);
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 1);
}

/* --- the state file ------------------------------------------------------------------------------ */

static void a_grant_waits_for_the_disk(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	char reason[512];

	scan(controller, pods, 1);
	fake->slow_save = true;
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_null(file_of("exclusive-too", GROUP_CPUSET_CPUS));
	/* Who runs is held as before. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	fake->now_ns += 6 * SECOND;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "every new grant has waited 6 s in the kernel for the write "
				     "of the state file (in fake_fsync)"),
			 1);
	assert_false(is_ready(controller, reason));
	assert_false(controller_wants_scan(controller));
	/* Named again meanwhile, it is not asked for twice. */
	scan(controller, pods, 3);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	/* How long it took is from when it was asked for first. */
	assert_true(metric(controller, "pinfold_admission_duration_seconds_sum 6.000000000\n"));
	/* It had the second pod; the third one's turn is at the next scan, asked for now. */
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_true(controller_wants_scan(controller));
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	assert_true(is_ready(controller, reason));
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 3);
	controller_free(controller);
	free_pods(pods, 3);
}

/* What was decided is not looked for in the manifests again. */
static void a_grant_that_is_durable_needs_no_scan(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_false(controller_wants_scan(controller));
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_save_that_fails_late_refuses(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	char reason[512];

	fake->slow_save = true;
	scan(controller, pods, 1);
	fake->slow_save = false;
	fake->save_error = -ENOSPC;
	fake_end_save(controller, -ENOSPC);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	expect_refusal(controller, 0, "reason", "UnexpectedAdmissionError");
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	expect_refusal(controller, 0, "line", "1");
	assert_false(is_ready(controller, reason));
	/* Space again, and slow: admitted once the record that says so is there. */
	fake->save_error = 0;
	fake->slow_save = true;
	for (int i = 0; i < 4 && nr_rows(controller, "pod") == 0; i++) {
		controller_wake(controller);
		if (fake->is_saving)
			fake_end_save(controller, 0);
	}
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_wake(controller);
	assert_true(is_ready(controller, reason));
	controller_free(controller);
	free_pods(pods, 1);
}

/* A disk that fails slowly is not asked again in the same moment, for ever. */
static void a_save_that_fails_late_is_not_repeated_at_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_wake(controller);
	fake->wake_ns = 0;
	fake_end_save(controller, -EIO);
	/* Not before then, and not never. */
	assert_true(fake->wake_ns >= fake->now_ns + SECOND);
	fake->now_ns += SECOND;
	controller_wake(controller);
	assert_true(fake->is_saving);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The ledger moved on while the file was written: the file follows, without being asked. */
static void a_release_during_a_save_reaches_the_file(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	fake->slow_save = true;
	scan(controller, pods, 2);
	assert_true(fake->is_saving);
	/* Both are gone before the record with both is there. */
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* No pod before the record is there, the whole pod after it, whenever the agent dies. */
static void a_crash_while_a_save_waits(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_free(controller);
	fake->is_saving = false;
	fake->slow_save = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 0);
	fake->slow_save = true;
	scan(controller, pods, 1);
	controller_free(controller);
	/* The record came to be, and nobody lived to hear of it. */
	fake->is_saving = false;
	memcpy(fake->state, fake->saving, fake->saving_len);
	fake->state_len = fake->saving_len;
	fake->has_state = true;
	fake->slow_save = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_waiting_step_stops_its_pod_only, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_fails_late_is_tried_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_repair_that_takes_long_is_a_repair, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_delayed_write_is_not_drift, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_crash_while_a_step_waits_loses_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_waiting_release_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_failed_release_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_growth_under_way_holds_the_next_owner,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_wait_is_reported_and_cleared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_look_delays_no_pod_forever, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_during_a_look_triggers_another, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_join_under_way_is_answered_at_its_end, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_longer_name_is_another_container, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_its_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_gives_up_gets_the_reason, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_ends_with_the_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_that_nobody_takes_is_dropped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_join_is_answered_at_its_end_though_the_pod_ends,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_the_look_after_its_grant, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_look_there_is_no_cgroup_to_join, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_stops_waiting_is_told_of_the_own_pod, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_new_scope_asks_for_a_wake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kill_that_is_done_at_once_is_not_waited_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_init_container_is_not_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_kill_that_fails_late_is_tried_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_slow_kill_comes_before_the_join, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(joins_without_end_do_not_starve_a_look, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_ended_during_a_look_is_known,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_step_that_failed_during_a_look_holds,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_cgroup_made_during_a_look_is_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_last_write_of_a_blocked_pod_is_known,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_pod_whose_repair_waits_is_known, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_continues_while_looks_fail, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_continues_while_a_look_is_blocked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_grant_waits_for_the_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_grant_that_is_durable_needs_no_scan, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_save_that_fails_late_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_save_that_fails_late_is_not_repeated_at_once,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_release_during_a_save_reaches_the_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_crash_while_a_save_waits, set_up, tear_down),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
