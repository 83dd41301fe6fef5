// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What a look leads to: which container is mended before the look, whose CPUs wait for whom,
 * and what is told to the watch and to the operator.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "node_scene.h"

#define WEB_PATH "pinfold.slice/poduid-w/web"

static struct pod_spec *pods[4];
static struct controller *controller;
static unsigned int nr_read, nr_watched;

static int counting_read(void *self, struct group *group)
{
	nr_read++;
	return fake_read_group(self, group);
}

static int counting_rewatch(void *self, const struct group_tree *tree)
{
	nr_watched++;
	return fake_rewatch(self, tree);
}

static int start_scene(void **state)
{
	int r = set_up_node(state);

	if (r)
		return r;
	groups.read_group = counting_read;
	groups.rewatch = counting_rewatch;
	pods[0] = fake_pod("w", "web", 500, false);
	pods[1] = fake_pod("a", "exclusive", 4000, true);
	pods[2] = fake_pod("c", "batch", 500, false);
	pods[3] = fake_pod("d", "next", 2000, true);
	controller = start_node(&fake_side_port);
	return 0;
}

static int end_scene(void **state)
{
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
	return tear_down(state);
}

static void be_slow_with(const char *path, enum group_file file)
{
	snprintf(fake->slow_path, sizeof(fake->slow_path), "%s", path);
	fake->slow_file = file;
}

static void changed(const char *path)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	sink->changed(sink->self, path, "cpuset.cpus");
}

/* A wake whose whole look fails: only what is known by its path is mended. */
static void wake_without_look(void)
{
	fake->read_error = -EIO;
	controller_wake(controller);
	fake->read_error = 0;
}

static void expect_pod(const char *name, const char *state, const char *detail)
{
	struct json_object *list = query(controller, "pod");

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (strcmp(member(row, "name"), name))
			continue;
		assert_string_equal(member(row, "state"), state);
		assert_string_equal(member(row, "detail"), detail);
		json_object_put(list);
		return;
	}
	fail_msg("there is no pod %s", name);
}

/* --- containers that are mended first --------------------------------------------------------- */

/* The new manifest's value is written by a whole look, and the old one by nobody. */
static void a_container_whose_ledger_has_changed_waits_for_the_look(void **state)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct source_pod source = {.spec = pods[1], .file = "pods.yaml", .line = 1, .name = ""};

	scan(controller, &pods[1], 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	changed("pinfold.slice/poduid-a/exclusive");
	pods[1]->containers->request.cpu_mcpu = pods[1]->containers->limit.cpu_mcpu = 5000;
	sink->scanned(sink->self, &source, 1, true);
	wake_without_look();
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-6");
}

static void observing_mends_no_container(void **state)
{
	char error[256];

	scan(controller, pods, 1);
	config.mode = MODE_OBSERVE;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	changed(WEB_PATH);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
}

static void only_those_named_since_the_last_wake_are_mended(void **state)
{
	scan(controller, pods, 3);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	tamper("batch", GROUP_CPUSET_CPUS, "7");
	changed(WEB_PATH);
	changed("pinfold.slice/poduid-c/batch");
	wake_without_look();
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
	tamper("web", GROUP_CPUSET_CPUS, "7");
	tamper("batch", GROUP_CPUSET_CPUS, "7");
	changed(WEB_PATH);
	wake_without_look();
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "7");
}

/* The order in which the root and its containers change matters, so a whole look decides. */
static void only_containers_are_mended_first(void **state)
{
	struct fake_group *root;

	scan(controller, pods, 1);
	root = group_of(GROUP_ROOT, "pinfold.slice");
	strcpy(root->files[GROUP_CPUSET_CPUS], "2-15");
	strcpy(root->files[GROUP_CPU_WEIGHT], "7");
	nr_read = 0;
	changed("pinfold.slice");
	wake_without_look();
	assert_int_equal(nr_read, 0);
	changed("pinfold.slice/poduid-w");
	wake_without_look();
	assert_int_equal(nr_read, 0);
	changed(WEB_PATH);
	wake_without_look();
	assert_int_equal(nr_read, 1);
}

/* Reading it would wait for the same lock. */
static void a_container_with_an_operation_is_not_read(void **state)
{
	scan(controller, pods, 1);
	be_slow_with("web", GROUP_CPU_WEIGHT);
	tamper("web", GROUP_CPU_WEIGHT, "7");
	controller_wake(controller);
	assert_true(fake->has_step);
	nr_read = 0;
	changed(WEB_PATH);
	wake_without_look();
	assert_int_equal(nr_read, 0);
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

static void a_container_that_failed_is_mended_when_it_is_due(void **state)
{
	scan(controller, pods, 1);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	controller_wake(controller);
	fake->apply_error = 0;
	changed(WEB_PATH);
	wake_without_look();
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "7");
	fake->now_ns += 60 * S;
	changed(WEB_PATH);
	wake_without_look();
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
}

/* --- chains ----------------------------------------------------------------------------------- */

static void a_failed_chain_is_forgotten_when_nothing_is_left_to_do(void **state)
{
	scan(controller, pods, 1);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	controller_wake(controller);
	expect_pod("w", "failed", WEB_PATH ": injected");
	/* Another process writes what was wanted, long before the next attempt. */
	tamper("web", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	expect_pod("w", "running", "null");
}

static void a_reload_retries_what_is_due(void **state)
{
	char error[256];

	scan(controller, pods, 1);
	tamper("web", GROUP_CPUSET_CPUS, "7");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	controller_wake(controller);
	fake->apply_error = 0;
	fake->now_ns += 60 * S;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
}

/* web has to leave CPUs for the exclusive pod, and its write does not return. */
static void a_pod_that_waits_for_cpus_says_for_whose(void **state)
{
	scan(controller, pods, 1);
	populate(true);
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 3);
	assert_true(fake->has_step);
	expect_pod("a", "waiting",
		   "pinfold.slice/poduid-a/exclusive/cpuset.cpus waits for CPUs 2-5, which pod "
		   "default/w still has: its own step is blocked in the kernel");
	/* batch shares CPUs with web and waits for nobody. */
	expect_pod("c", "running", "null");
	*fake->slow_path = '\0';
	fake_end_step(controller, -EIO);
	controller_wake(controller);
	expect_pod("a", "waiting",
		   "pinfold.slice/poduid-a/exclusive/cpuset.cpus waits for CPUs 2-5, which pod "
		   "default/w still has: injected at the end");
	/* The second attempt blocks: what the first one failed with is not the reason any more. */
	fake->now_ns += 60 * S;
	be_slow_with("web", GROUP_CPUSET_CPUS);
	controller_wake(controller);
	assert_true(fake->has_step);
	expect_pod("a", "waiting",
		   "pinfold.slice/poduid-a/exclusive/cpuset.cpus waits for CPUs 2-5, which pod "
		   "default/w still has: its own step is blocked in the kernel");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

/* What is being written is held, except for what the container keeps. */
static void only_cpus_that_a_write_gives_away_are_held(void **state)
{
	struct pod_spec *now[] = {pods[0], pods[2], pods[3]};

	scan(controller, pods, 2);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	assert_string_equal(fake->going_value, "2-15");
	/* web is to have 4-15 now; batch shares that, and the new owner gets 2-3 later. */
	scan(controller, now, 3);
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "4-15");
	assert_string_equal(file_of("next", GROUP_CPUSET_CPUS), "");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_string_equal(file_of("next", GROUP_CPUSET_CPUS), "2-3");
}

static void a_blocked_first_write_holds_its_own_cpus_only(void **state)
{
	struct pod_spec *now[] = {pods[1], pods[3]};

	be_slow_with("exclusive", GROUP_CPUSET_CPUS);
	scan(controller, now, 1);
	assert_string_equal(fake->going_value, "2-5");
	scan(controller, now, 2);
	assert_string_equal(file_of("next", GROUP_CPUSET_CPUS), "6-7");
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

/* Without a list of its own it runs on all CPUs of the root, as long as it has a process. */
static void a_container_without_a_list_holds_all_cpus(void **state)
{
	scan(controller, pods, 1);
	populate(true);
	tamper("web", GROUP_CPUSET_CPUS, "");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	fake->apply_error = 0;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
}

static void a_container_holds_no_more_than_its_list(void **state)
{
	struct pod_spec *now[] = {pods[0], pods[1], pods[3]};

	scan(controller, pods, 1);
	populate(true);
	tamper("web", GROUP_CPUSET_CPUS, "4-5,12-15");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	scan(controller, now, 3);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "4-5,12-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("next", GROUP_CPUSET_CPUS), "6-7");
}

/* Nothing is wanted of it any more, but what it is left with it may share. */
static void a_container_that_is_not_wanted_holds_what_it_must_leave(void **state)
{
	scan(controller, pods, 1);
	populate(true);
	snprintf(pods[0]->containers->name, sizeof(pods[0]->containers->name), "other");
	strcpy(fake->apply_path, WEB_PATH);
	fake->apply_error = -EIO;
	scan(controller, pods, 3);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "");
	assert_string_equal(file_of("batch", GROUP_CPUSET_CPUS), "6-15");
}

/* --- a state that cannot be wanted ------------------------------------------------------------ */

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

/* Two uids have one unit name: nothing is changed, and what was wanted before is still known. */
static void without_a_desired_state_nothing_is_changed(void **state)
{
	const struct faces_port *faces;
	struct json_object *list;
	char reason[256];

	controller_free(controller);
	groups.layout = systemd_layout;
	controller = start_node(&fake_side_port);
	snprintf(pods[0]->uid, sizeof(pods[0]->uid), "u-1");
	snprintf(pods[1]->uid, sizeof(pods[1]->uid), "u_1");
	scan(controller, pods, 1);
	scan(controller, pods, 2);
	faces = controller_faces(controller);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	assert_string_equal(reason,
			    "the desired state of the cgroups cannot be computed: File exists");
	list = query(controller, "container");
	assert_string_equal(member(json_object_array_get_idx(list, 0), "cpu_max"), "max 100000");
	json_object_put(list);
	scan(controller, pods, 1);
	assert_true(faces->ready(faces->self, reason, sizeof(reason)));
}

/* --- repairs in two writes -------------------------------------------------------------------- */

static unsigned int nr_events(const char *kind)
{
	struct json_object *list = query(controller, "event");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++)
		nr += !strcmp(member(json_object_array_get_idx(list, i), "kind"), kind);
	json_object_put(list);
	return nr;
}

/* The nodes that it has and those that it is to have, and then only the latter. */
static void a_repair_ends_with_its_last_write(void **state)
{
	for (int is_slow = 0; is_slow <= 1; is_slow++) {
		scan(controller, pods, 1);
		assert_string_equal(file_of("web", GROUP_CPUSET_MEMS), "0-1");
		tamper("web", GROUP_CPUSET_MEMS, "2");
		if (is_slow)
			be_slow_with("web", GROUP_CPUSET_MEMS);
		controller_wake(controller);
		*fake->slow_path = '\0';
		if (is_slow) {
			assert_string_equal(fake->going_value, "0-2");
			fake_end_step(controller, 0);
			assert_int_equal(nr_events("repair"), 1);
			controller_wake(controller);
		}
		assert_string_equal(file_of("web", GROUP_CPUSET_MEMS), "0-1");
		assert_int_equal(nr_rows(controller, "drift"), 1 + is_slow);
		assert_int_equal(nr_events("repair"), 1 + is_slow);
	}
}

/* --- what is told ----------------------------------------------------------------------------- */

static void only_new_cgroups_are_published_and_watched(void **state)
{
	unsigned int published;

	scan(controller, pods, 1);
	published = fake_side.nr_published;
	nr_watched = 0;
	tamper("web", GROUP_CPUSET_CPUS, "7");
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(fake_side.nr_published, published);
	assert_int_equal(nr_watched, 0);
	/* One that cannot be made is not new. */
	fake_remove(WEB_PATH);
	strcpy(fake->apply_path, WEB_PATH);
	fake->create_error = -EIO;
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, published);
	assert_int_equal(nr_watched, 0);
	fake->create_error = 0;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_non_null(fake_find(WEB_PATH));
	assert_int_equal(fake_side.nr_published, published + 1);
	assert_int_equal(nr_watched, 1);
}

static void a_cgroup_made_late_is_published_and_watched(void **state)
{
	unsigned int published;

	scan(controller, pods, 1);
	fake_remove(WEB_PATH);
	be_slow_with("web", GROUP_FILE_NR);
	controller_wake(controller);
	assert_int_equal(fake->going.kind, STEP_CREATE);
	*fake->slow_path = '\0';
	published = fake_side.nr_published;
	nr_watched = 0;
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_non_null(fake_find(WEB_PATH));
	assert_int_equal(fake_side.nr_published, published + 1);
	assert_int_equal(nr_watched, 1);
}

static void a_late_failure_without_a_sentence_has_that_of_its_error(void **state)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	be_slow_with("web", GROUP_CPU_WEIGHT);
	scan(controller, pods, 1);
	*fake->slow_path = '\0';
	fake->has_step = false;
	sink->completed(sink->self, fake->going.path, -ENOSPC, "");
	expect_pod("w", "failed", "No space left on device");
}

static void what_changes_is_looked_at_at_once(void **state)
{
	unsigned int published;

	scan(controller, pods, 1);
	fake->slow_look = true;
	controller_wake(controller);
	fake->wake_ns = 0;
	fake->slow_look = false;
	fake_end_look(controller);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_wake(controller);
	published = fake_side.nr_published;
	fake->wake_ns = 0;
	tell_online(controller, "0-14");
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, published + 1);
}

static void a_watch_that_is_late_is_not_a_finding(void **state)
{
	static const int errors[] = {-EINPROGRESS, -ENOTCONN};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		fake->rewatch_error = errors[i];
		scan(controller, pods, (uint32_t)i + 1);
		assert_int_equal(nr_findings(controller, "cgroups_not_watched", ""), 0);
		nr_watched = 0;
		fake->wake_ns = 0;
		controller_wake(controller);
		assert_int_equal(nr_watched, 1);
		if (errors[i] == -EINPROGRESS)
			assert_int_equal(fake->wake_ns, fake->now_ns + S);
	}
	fake->rewatch_error = -ENOSPC;
	controller_wake(controller);
	assert_int_equal(nr_findings(controller, "cgroups_not_watched", "No space left"), 1);
}

static bool refuses_root(const struct step *step)
{
	return step->role == GROUP_ROOT;
}

/* The root is no leftover of a pod. */
static void a_failing_root_is_no_leftover(void **state)
{
	scan(controller, pods, 1);
	fake->refuses = refuses_root;
	strcpy(group_of(GROUP_ROOT, "pinfold.slice")->files[GROUP_CPUSET_CPUS], "7");
	controller_wake(controller);
	assert_int_equal(nr_findings(controller, "cgroups_left", ""), 0);
	fake->refuses_removal = true;
	scan(controller, NULL, 0);
	assert_int_equal(nr_findings(controller, "cgroups_left", "stays"), 1);
}

static void a_wait_is_told_by_the_next_wake(void **state)
{
	be_slow_with("web", GROUP_CPUSET_CPUS);
	scan(controller, pods, 1);
	fake->now_ns += 2 * S;
	controller_wake(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", "has waited 2 s"), 1);
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_whose_ledger_has_changed_waits_for_the_look),
		TEST(observing_mends_no_container),
		TEST(only_those_named_since_the_last_wake_are_mended),
		TEST(only_containers_are_mended_first),
		TEST(a_container_with_an_operation_is_not_read),
		TEST(a_container_that_failed_is_mended_when_it_is_due),
		TEST(a_failed_chain_is_forgotten_when_nothing_is_left_to_do),
		TEST(a_reload_retries_what_is_due),
		TEST(a_pod_that_waits_for_cpus_says_for_whose),
		TEST(only_cpus_that_a_write_gives_away_are_held),
		TEST(a_blocked_first_write_holds_its_own_cpus_only),
		TEST(a_container_without_a_list_holds_all_cpus),
		TEST(a_container_holds_no_more_than_its_list),
		TEST(a_container_that_is_not_wanted_holds_what_it_must_leave),
		TEST(without_a_desired_state_nothing_is_changed),
		TEST(a_repair_ends_with_its_last_write),
		TEST(only_new_cgroups_are_published_and_watched),
		TEST(a_cgroup_made_late_is_published_and_watched),
		TEST(a_late_failure_without_a_sentence_has_that_of_its_error),
		TEST(what_changes_is_looked_at_at_once),
		TEST(a_watch_that_is_late_is_not_a_finding),
		TEST(a_failing_root_is_no_leftover),
		TEST(a_wait_is_told_by_the_next_wake),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
