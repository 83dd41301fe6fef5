// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Whose an exclusive CPU is while cgroups are unknown, renewed or shared, and what is made of the
 * entries that the kernel counts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_noise.h"
#include "lib/text.h"
#include "mixed_pod.h"
#include "node_scene.h"

/* Of the cgroup with this last name nothing can be told. */
static const char *hidden;
/* The first of these cgroups were made once more. */
static const char *const owners[] = {"pinfold.slice", "poduid-a", "exclusive"};
static size_t nr_renewed;
/* The cgroup with this last name was made once more. */
static const char *restarted;

static bool has_name(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return name && !strcmp(slash ? slash + 1 : path, name);
}

/* Each role is at its own level. */
static int tell_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = has_name(path, hidden) ? -EINPROGRESS : fake_status(self, path, ret_status);

	if (r)
		return r;
	ret_status->level = 0;
	for (const char *c = path; *c; c++)
		ret_status->level += *c == '/';
	for (size_t i = 0; i < nr_renewed; i++)
		if (has_name(path, owners[i]))
			ret_status->cgroup_id += 1000;
	if (has_name(path, restarted))
		ret_status->cgroup_id += 2000;
	return 0;
}

static int set_up_owners(void **state)
{
	int r = set_up_node(state);

	fake_noise_reset();
	hidden = NULL;
	nr_renewed = 0;
	restarted = NULL;
	groups.status = tell_status;
	return r;
}

static struct controller *start_with_noise(void)
{
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &groups,
					       .kernel = &fake_side_port,
					       .store = &fake_store,
					       .noise = &fake_noise_port};
	struct controller *controller = NULL;
	char error[256] = "";

	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static void next_second(struct controller *controller)
{
	fake->now_ns += S;
	controller_wake(controller);
	controller_tick(controller);
}

static struct group_status status_at(enum group_role role, const char *name)
{
	struct group_status status;

	assert_non_null(group_of(role, name));
	assert_int_equal(tell_status(NULL, group_of(role, name)->path, &status), 0);
	return status;
}

/* The rows of the only source that has any, all with this value. */
static void expect_rows(struct controller *controller, size_t nr, const char *key,
			const char *wanted)
{
	struct json_object *rows = query(controller, "noise");

	assert_int_equal(json_object_array_length(rows), nr);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal(member(json_object_array_get_idx(rows, i), key), wanted);
	json_object_put(rows);
}

/* --- whose a CPU is ---------------------------------------------------------------------------------- */

static void a_cpu_without_a_known_owner_is_not_watched(void **state)
{
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);

	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		struct controller *controller;

		tear_down(state);
		set_up_owners(state);
		hidden = owners[i];
		controller = start_with_noise();
		scan(controller, &spec, 1);
		next_second(controller);
		assert_int_equal(fake_noise.nr, 0);
		assert_int_equal(nr_rows(controller, "noise"), NOISE_SOURCE_NR);
		hidden = NULL;
		next_second(controller);
		assert_int_equal(fake_noise.nr, 1);
		controller_free(controller);
	}
	free_pods(&spec, 1);
}

/* The kernel compares ids, so an owner that was made once more is told again. */
static void a_renewed_cgroup_is_told(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 1000, true),
				   fake_pod("b", "web", 100, false),
				   fake_pod("c", "web", 100, false),
				   fake_pod("d", "web", 100, false)};

	scan(controller, pods, 1);
	next_second(controller);
	assert_int_equal(fake_noise.nr_calls, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(owners); i++) {
		nr_renewed = i + 1;
		/* another pod has the cgroups published */
		scan(controller, pods, i + 2);
		next_second(controller);
		assert_int_equal(fake_noise.nr_calls, i + 2);
		next_second(controller);
		assert_int_equal(fake_noise.nr_calls, i + 2);
	}
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* One of two CPUs was an init container's; that one is the pod's, and the other the container's. */
static struct pod_spec *pod_with_setup(void)
{
	struct pod_spec *spec = fake_pod("twice", "app", 2000, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	assert_non_null(containers);
	containers[0] = containers[1] = spec->containers[0];
	strcpy(containers[0].name, "setup");
	containers[0].kind = CONTAINER_INIT;
	containers[0].request.cpu_mcpu = containers[0].limit.cpu_mcpu = 1000;
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	return spec;
}

static struct group_status owner_of(uint32_t cpu)
{
	struct cpuset setup = cpuset_of_text(file_of("setup", GROUP_CPUSET_CPUS));
	struct cpuset app = cpuset_of_text(file_of("app", GROUP_CPUSET_CPUS));

	assert_int_equal(cpuset_count(&setup), 1);
	if (cpuset_has(&setup, cpu))
		return status_at(GROUP_POD, "uid-twice");
	return status_at(GROUP_CONTAINER, cpuset_has(&app, cpu) ? "app" : "other");
}

/* Of the pod with the init container and of one that came before. */
static void only_shared_cpus_belong_to_the_pod(void **state)
{
	static const char *const unknown[] = {NULL, "setup", "app"};
	struct pod_spec *pods[] = {fake_pod("a", "other", 2000, true), pod_with_setup()};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		struct controller *controller;

		tear_down(state);
		set_up_owners(state);
		hidden = unknown[i];
		controller = start_with_noise();
		scan(controller, pods, 1);
		scan(controller, pods, 2);
		next_second(controller);
		hidden = NULL;
		/* without its cgroup the CPU of the app container alone is not watched */
		assert_int_equal(fake_noise.nr, i < 2 ? 4 : 3);
		for (uint32_t j = 0; j < fake_noise.nr; j++) {
			const struct noise_grant *grant = &fake_noise.grants[j];

			assert_int_equal(grant->owner.cgroup_id, owner_of(grant->cpu).cgroup_id);
			assert_int_equal(grant->owner.level, owner_of(grant->cpu).level);
		}
		controller_free(controller);
	}
	free_pods(pods, 2);
}

/* A pod that came later may have lower CPUs. */
static void cpus_are_told_in_ascending_order(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[] = {fake_pod("a", "first", 2000, true),
				   fake_pod("b", "second", 2000, true),
				   fake_pod("c", "third", 2000, true)};

	scan(controller, pods, 2);
	scan(controller, &pods[1], 1);
	scan(controller, &pods[1], 2);
	next_second(controller);
	assert_int_equal(fake_noise.nr, 4);
	assert_int_equal(fake_noise.grants[0].owner.cgroup_id,
			 status_at(GROUP_CONTAINER, "third").cgroup_id);
	for (uint32_t i = 1; i < fake_noise.nr; i++)
		assert_true(fake_noise.grants[i - 1].cpu < fake_noise.grants[i].cpu);
	controller_free(controller);
	free_pods(pods, 3);
}

static void every_cgroup_of_a_full_tree_is_seen(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[NR_FULL_TREE_PODS];

	make_full_tree(pods);
	scan(controller, pods, NR_FULL_TREE_PODS);
	next_second(controller);
	assert_int_equal(fake->nr_groups, 16);
	assert_int_equal(fake_noise.nr, 1);
	controller_free(controller);
	free_pods(pods, NR_FULL_TREE_PODS);
}

/* Its cgroups go with the next reconcile. */
static void a_released_pod_has_no_rows(void **state)
{
	struct controller *controller = start_with_noise();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);

	scan(controller, &spec, 1);
	next_second(controller);
	sink->scanned(sink->self, NULL, 0, true);
	assert_non_null(group_of(GROUP_CONTAINER, "exclusive"));
	assert_int_equal(nr_rows(controller, "noise"), 0);
	controller_free(controller);
	free_pods(&spec, 1);
}

/* --- what is counted --------------------------------------------------------------------------------- */

static void each_pod_has_the_sum_of_its_own_cpus(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[] = {fake_pod("one", "single", 1000, true),
				   fake_pod("two", "double", 2000, true)};

	scan(controller, pods, 2);
	next_second(controller);
	fake_noise_add(NOISE_TIMER, "", 1, S);
	assert_int_equal(nr_series(controller, "pod=\"one\",source=\"timer\"} 1.000000000\n"), 1);
	assert_int_equal(nr_series(controller, "pod=\"two\",source=\"timer\"} 2.000000000\n"), 1);
	controller_free(controller);
	free_pods(pods, 2);
}

static struct pod_spec *pod_with_two(void)
{
	struct pod_spec *spec = fake_pod("pair", "left", 1000, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	assert_non_null(containers);
	containers[0] = containers[1] = spec->containers[0];
	strcpy(containers[1].name, "right");
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	return spec;
}

/* What two CPUs have counted, which have this sum. */
static void expect_timer(struct controller *controller, const char *seconds)
{
	char sample[96];

	snprintf(sample, sizeof(sample), "pod=\"pair\",source=\"timer\"} %s\n", seconds);
	assert_int_equal(nr_series(controller, sample), 1);
}

/* A counter that falls to the rest of its CPUs would be taken for one that grew by all of it. */
static void what_a_cpu_had_counted_for_another_owner_is_kept(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[] = {pod_with_two(), fake_pod("b", "web", 100, false)};

	scan(controller, pods, 1);
	next_second(controller);
	fake_noise.begins_anew = true;
	fake_noise_add(NOISE_TIMER, "", 1, S);
	expect_timer(controller, "2.000000000");
	/* one container is restarted, and its CPU begins with 0 */
	restarted = "right";
	scan(controller, pods, 2);
	next_second(controller);
	expect_timer(controller, "2.000000000");
	/* nothing is kept twice */
	next_second(controller);
	expect_timer(controller, "2.000000000");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* From the moment it is given up, which the port is told of later. */
static void what_a_cpu_had_counted_that_was_given_up_is_kept(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *one = fake_pod("pair", "app", 1000, true);
	struct pod_spec *two = fake_pod("pair", "app", 2000, true);

	scan(controller, &one, 1);
	scan(controller, &two, 1);
	next_second(controller);
	assert_int_equal(fake_noise.nr, 2);
	fake_noise.begins_anew = true;
	fake_noise_add(NOISE_TIMER, "", 1, S);
	expect_timer(controller, "2.000000000");
	scan(controller, &one, 1);
	assert_int_equal(fake_noise.nr, 2);
	expect_timer(controller, "2.000000000");
	next_second(controller);
	assert_int_equal(fake_noise.nr, 1);
	expect_timer(controller, "2.000000000");
	controller_free(controller);
	free_pods(&one, 1);
	free_pods(&two, 1);
}

/* A pod of the same uid that comes again is another one. */
static void nothing_is_kept_of_a_released_pod(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *pods[] = {pod_with_two(), fake_pod("b", "other", 1000, true)};

	scan(controller, pods, 2);
	next_second(controller);
	fake_noise.begins_anew = true;
	fake_noise_add(NOISE_TIMER, "", 1, S);
	expect_timer(controller, "2.000000000");
	scan(controller, &pods[1], 1);
	next_second(controller);
	assert_int_equal(fake_noise.nr, 1);
	scan(controller, pods, 2);
	next_second(controller);
	expect_timer(controller, "0.000000000");
	controller_free(controller);
	free_pods(pods, 2);
}

static void any_source_may_be_one_that_the_kernel_lacks(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);

	scan(controller, &spec, 1);
	next_second(controller);
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++) {
		fake_noise.lacks[source] = true;
		assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"),
				 NOISE_SOURCE_NR - 1);
		expect_rows(controller, 1, "state", "unsupported");
		expect_rows(controller, 1, "longest_seconds", "null");
		fake_noise.lacks[source] = false;
	}
	controller_free(controller);
	free_pods(&spec, 1);
}

/* BPF programs of another version may know a source that this agent does not. */
static void an_unknown_source_is_left_out(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);

	scan(controller, &spec, 1);
	next_second(controller);
	fake_noise_add(NOISE_SOURCE_NR, "new", 1, S);
	fake_noise_add(NOISE_TIMER, "", 1, S);
	expect_rows(controller, 1, "source", "timer");
	assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"), NOISE_SOURCE_NR);
	controller_free(controller);
	free_pods(&spec, 1);
}

/* As many as the kernel has room for, and besides them all that it lacks. */
static void all_entries_are_shown(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 14000, true);

	scan(controller, &spec, 1);
	next_second(controller);
	assert_int_equal(fake_noise.nr, 14);
	for (int i = 0; i < NOISE_ENTRIES; i++)
		fake_noise_add(NOISE_SOFTIRQ, "RCU", 1, S);
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
		fake_noise.lacks[source] = source != NOISE_SOFTIRQ;
	assert_int_equal(nr_rows(controller, "noise"), 14 * (NOISE_ENTRIES + NOISE_SOURCE_NR - 1));
	assert_int_equal(nr_series(controller, "source=\"softirq\"} 1792.000000000\n"), 1);
	controller_free(controller);
	free_pods(&spec, 1);
}

/* --- names ------------------------------------------------------------------------------------------- */

/* The id of an entry is that of a cgroup only if a user task was counted. */
static void only_user_tasks_have_a_cgroup(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);
	uint64_t id;

	scan(controller, &spec, 1);
	next_second(controller);
	id = status_at(GROUP_POD, "uid-a").cgroup_id;
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++) {
		bool is_task = source == NOISE_HOST_TASK || source == NOISE_POD_SIBLING ||
			       source == NOISE_OTHER_POD;

		fake_noise.nr_entries = 0;
		fake_noise_add(source, "name", 1, S)->id = id;
		expect_rows(controller, 1, "cgroup",
			    is_task ? group_of(GROUP_POD, "uid-a")->path : "null");
		fake_noise.entries[0].id = 0;
		expect_rows(controller, 1, "cgroup", "null");
	}
	controller_free(controller);
	free_pods(&spec, 1);
}

static void several_names_are_remembered(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);
	enum group_role roles[] = {GROUP_POD, GROUP_ROOT, GROUP_CONTAINER};

	scan(controller, &spec, 1);
	next_second(controller);
	for (int pass = 0; pass < 2; pass++) {
		/* Whatever is looked up now has to wait. */
		fake->naming = pass;
		for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
			fake_noise.nr_entries = 0;
			fake_noise_add(NOISE_HOST_TASK, "task", 1, S)->id =
				status_at(roles[i], "").cgroup_id;
			expect_rows(controller, 1, "cgroup", group_of(roles[i], "")->path);
		}
	}
	fake->naming = 0;
	controller_free(controller);
	free_pods(&spec, 1);
}

/* --- what is not counted yet ------------------------------------------------------------------------- */

static void the_state_of_what_is_missing(void **state)
{
	struct controller *controller = start_with_noise();
	struct pod_spec *spec = fake_pod("a", "exclusive", 1000, true);

	scan(controller, &spec, 1);
	/* The port has not been told of any CPU. */
	fake_noise.state = NOISE_LOADING;
	expect_rows(controller, NOISE_SOURCE_NR, "state", "loading");
	fake_noise.state = NOISE_OFF;
	expect_rows(controller, NOISE_SOURCE_NR, "state", "unknown");
	/* Now it has, and begins. */
	next_second(controller);
	expect_rows(controller, NOISE_SOURCE_NR, "state", "loading");
	controller_free(controller);
	free_pods(&spec, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_owners, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_cpu_without_a_known_owner_is_not_watched),
		TEST(a_renewed_cgroup_is_told),
		TEST(only_shared_cpus_belong_to_the_pod),
		TEST(cpus_are_told_in_ascending_order),
		TEST(every_cgroup_of_a_full_tree_is_seen),
		TEST(a_released_pod_has_no_rows),
		TEST(each_pod_has_the_sum_of_its_own_cpus),
		TEST(what_a_cpu_had_counted_for_another_owner_is_kept),
		TEST(what_a_cpu_had_counted_that_was_given_up_is_kept),
		TEST(nothing_is_kept_of_a_released_pod),
		TEST(any_source_may_be_one_that_the_kernel_lacks),
		TEST(an_unknown_source_is_left_out),
		TEST(all_entries_are_shown),
		TEST(only_user_tasks_have_a_cgroup),
		TEST(several_names_are_remembered),
		TEST(the_state_of_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
