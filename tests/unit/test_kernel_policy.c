// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The policy that the controller tells the BPF backend: which groups, whose CPUs, which
 * debuggers, and when it is told again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "node_scene.h"

static const struct managed_group *managed(const char *path)
{
	for (uint32_t i = 0; i < fake_side.policy.nr_groups; i++)
		if (fake_side.groups[i].cgroup_id == id_of_path(path))
			return &fake_side.groups[i];
	return NULL;
}

static int surroundings(void *self, struct managed_group *ret_groups, uint32_t max,
			uint32_t *ret_nr)
{
	assert_true(max > 1);
	ret_groups[0] = (struct managed_group){.cgroup_id = 5001, .scope = MANAGED_SELF};
	ret_groups[1] = (struct managed_group){.cgroup_id = 5002, .scope = MANAGED_OVERLAP};
	*ret_nr = 2;
	return 0;
}

static void the_policy_names_each_group(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 10000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller;
	const struct managed_group *group;
	char cpus[64];

	config.enforcement.guard[ASPECT_AFFINITY] = ENFORCEMENT_AUDIT;
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = ENFORCEMENT_OFF;
	config.guard_expiry_ns = 42;
	groups.surroundings = surroundings;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 2);
	assert_int_equal(fake_side.policy.nr_groups, 5 + 2);
	group = managed("pinfold.slice/poduid-a/exclusive");
	assert_non_null(group);
	assert_true(group->is_container);
	assert_int_equal(group->scope, MANAGED_TREE);
	assert_int_equal(group->level, 3);
	cpuset_format(group->cpus, cpus, sizeof(cpus));
	assert_string_equal(cpus, "2-3,8-15");
	/* CPUs 0 to 7 are on node 0, the others on node 1. */
	assert_int_equal(group->nodes, 3);
	assert_true(group->pod == managed("pinfold.slice/poduid-a")->pod);
	assert_true(group->pod != managed("pinfold.slice/poduid-b/web")->pod);
	group = managed("pinfold.slice/poduid-b/web");
	assert_int_equal(group->nodes, 1);
	group = managed("pinfold.slice/poduid-a");
	assert_non_null(group);
	assert_false(group->is_container);
	assert_int_equal(fake_side.groups[5].cgroup_id, 5001);
	assert_int_equal(fake_side.groups[6].cgroup_id, 5002);
	cpuset_format(&fake_side.policy.protected_cpus, cpus, sizeof(cpus));
	assert_string_equal(cpus, "2-3,8-15");
	assert_int_equal(fake_side.policy.modes[ASPECT_CPUSET_FILES], ENFORCEMENT_ENFORCE);
	assert_int_equal(fake_side.policy.modes[ASPECT_AFFINITY], ENFORCEMENT_AUDIT);
	assert_int_equal(fake_side.policy.modes[ASPECT_CGROUP_MOVES], ENFORCEMENT_OFF);
	assert_true(fake_side.policy.guards_siblings);
	assert_int_equal(fake_side.policy.guard_expiry_ns, 42);
	assert_int_equal(fake_side.policy.nr_actors, 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void expect_debugger(uint32_t at, uint64_t parent_id, uint32_t level, const char *name)
{
	const struct actor_unit *unit = &fake_side.actors[at];

	assert_true(at < fake_side.policy.nr_actors);
	assert_int_equal(unit->parent_id, parent_id);
	assert_int_equal(unit->level, level);
	assert_string_equal(unit->name, name);
}

static void debuggers_are_actors_when_their_parent_exists(void **state)
{
	struct cgroup_list *list = &config.enforcement.debuggers;
	struct controller *controller;
	unsigned int nr_published;
	uint64_t parent_id;

	*list = (struct cgroup_list){3, {"/debug.slice", "/user.slice/gdb.scope", "/a.slice/b/c"}};
	controller = start_node(&fake_side_port);
	controller_wake(controller);
	/* A cgroup of the first level is in the root, and need not exist itself. */
	assert_int_equal(fake_side.policy.nr_actors, 1);
	expect_debugger(0, 9999, 1, "debug.slice");
	make_stranger("user.slice");
	make_stranger("a.slice/b");
	controller_tick(controller);
	assert_int_equal(fake_side.policy.nr_actors, 3);
	expect_debugger(1, id_of_path("user.slice"), 2, "gdb.scope");
	parent_id = id_of_path("a.slice/b");
	expect_debugger(2, parent_id, 3, "c");
	/* Nothing is published while nothing changes. */
	nr_published = fake_side.nr_published;
	controller_tick(controller);
	assert_int_equal(fake_side.nr_published, nr_published);
	/* While the look waits, what was found before counts, and another path has not been found. */
	fake->status_error = -EINPROGRESS;
	controller_tick(controller);
	assert_int_equal(fake_side.nr_published, nr_published);
	strcpy(list->paths[1], "/b.slice/gdb.scope");
	controller_tick(controller);
	assert_int_equal(fake_side.policy.nr_actors, 2);
	expect_debugger(1, parent_id, 3, "c");
	/* What is gone has no right. */
	fake->status_error = -ENOENT;
	controller_tick(controller);
	assert_int_equal(fake_side.policy.nr_actors, 1);
	fake->status_error = 0;
	controller_tick(controller);
	assert_int_equal(fake_side.policy.nr_actors, 2);
	/* A reload takes the right away. */
	list->nr = 0;
	controller_tick(controller);
	assert_int_equal(fake_side.policy.nr_actors, 0);
	controller_free(controller);
}

static void an_observer_looks_for_no_debuggers(void **state)
{
	struct controller *controller;

	config.mode = MODE_OBSERVE;
	config.enforcement.debuggers = (struct cgroup_list){1, {"/debug.slice"}};
	controller = start_node(&fake_side_port);
	controller_wake(controller);
	controller_tick(controller);
	assert_true(fake_side.nr_published > 0);
	assert_int_equal(fake_side.policy.nr_actors, 0);
	controller_free(controller);
}

/* For a group whose memory is not pinned. */
static void near_are_the_nodes_of_a_groups_cpus(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 8000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "8-15");
	assert_int_equal(managed("pinfold.slice/poduid-a/exclusive")->nodes, 2);
	assert_int_equal(managed("pinfold.slice")->nodes, 3);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A pod of two small containers. */
static struct pod_spec *pair(const char *name)
{
	struct pod_spec *spec = fake_pod(name, "one", 100, false);

	spec->containers = realloc(spec->containers, 2 * sizeof(*spec->containers));
	assert_non_null(spec->containers);
	spec->containers[1] = spec->containers[0];
	strcpy(spec->containers[1].name, "two");
	spec->nr_containers = 2;
	return spec;
}

static void every_group_is_told_whatever_their_number(void **state)
{
	struct pod_spec *pods[] = {pair("a"), pair("b"), pair("c"), pair("d"),
				   pair("e"), pair("f"), pair("g"), pair("h")};
	struct controller *controller = start_node(&fake_side_port);

	for (uint32_t nr = 1; nr <= ARRAY_SIZE(pods); nr++) {
		scan(controller, pods, nr);
		assert_int_equal(fake_side.policy.nr_groups, 1 + 3 * nr);
		for (uint32_t i = 0; i < fake->nr_groups; i++)
			assert_non_null(managed(fake_at(i)->path));
	}
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* What lies around is looked at again with the next policy; the groups are guarded now. */
static int no_surroundings(void *self, struct managed_group *ret_groups, uint32_t max,
			   uint32_t *ret_nr)
{
	return -E2BIG;
}

static void without_surroundings_the_groups_are_guarded(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 8000, true)};
	struct controller *controller;

	groups.surroundings = no_surroundings;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	assert_int_equal(fake_side.policy.nr_groups, 3);
	controller_free(controller);
	free_pods(pods, 1);
}

/* After a restart nothing has changed, and still the BPF backend must be told. */
static void a_restart_publishes_the_policy(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 8000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	controller_free(controller);
	fake_side_reset();
	controller = start_node(&fake_side_port);
	assert_int_equal(fake_side.nr_published, 1);
	assert_int_equal(fake_side.policy.nr_groups, 3);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The programs are there only now: they are told the whole policy. */
static void tell_again(struct controller *controller)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	sink->completed(sink->self);
}

/* The root too, which is the first; one that was never known is left out until it is. */
static void any_group_may_wait(void **state)
{
	static const char *const paths[] = {"pinfold.slice", "pinfold.slice/poduid-a",
					    "pinfold.slice/poduid-a/exclusive"};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "other", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		unknown_path = paths[i];
		tell_again(controller);
		assert_int_equal(fake_side.policy.nr_groups, ARRAY_SIZE(paths));
		assert_non_null(managed(paths[i]));
		fake->wake_ns = 0;
		controller_wake(controller);
		assert_int_equal(fake->wake_ns, fake->now_ns + S);
	}
	unknown_path = "pinfold.slice/poduid-b/other";
	scan(controller, pods, 2);
	assert_int_equal(fake_side.policy.nr_groups, 4);
	unknown_path = NULL;
	controller_wake(controller);
	assert_int_equal(fake_side.policy.nr_groups, 5);
	fake->wake_ns = 0;
	controller_wake(controller);
	assert_int_equal(fake->wake_ns, 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* A group of which nothing can be told now keeps the guard that it has. */
static void a_blocked_group_remains_guarded(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "other", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct managed_group before;
	struct cpuset cpus;
	char path[GROUP_PATH_MAX];
	unsigned int nr;

	scan(controller, pods, 1);
	assert_int_equal(fake_side.policy.nr_groups, 3);
	before = fake_side.groups[2];
	cpus = *before.cpus;
	snprintf(path, sizeof(path), "%s", group_of(GROUP_CONTAINER, "exclusive")->path);
	unknown_path = path;
	scan(controller, pods, 2);
	assert_int_equal(fake_side.policy.nr_groups, 5);
	for (nr = 0; nr < 5 && fake_side.groups[nr].cgroup_id != before.cgroup_id; nr++)
		;
	assert_in_range(nr, 0, 4);
	/* The same CPUs, wherever they are kept now. */
	assert_true(cpuset_equal(fake_side.groups[nr].cpus, &cpus));
	before.cpus = fake_side.groups[nr].cpus;
	assert_memory_equal(&fake_side.groups[nr], &before, sizeof(before));
	/* It is told again until all is known, and then no more. */
	nr = fake_side.nr_published;
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, nr + 1);
	unknown_path = NULL;
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, nr + 2);
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, nr + 2);
	controller_free(controller);
	free_pods(pods, 2);
}

static void observing_enforces_nothing(void **state)
{
	struct controller *controller;

	config.mode = MODE_OBSERVE;
	config.policy.cpu_options.strict_reservation = false;
	policy = config.policy;
	controller = start_node(&fake_side_port);
	assert_int_equal(fake_side.policy.modes[ASPECT_CPUSET_FILES], ENFORCEMENT_OFF);
	assert_int_equal(fake_side.policy.modes[ASPECT_AFFINITY], ENFORCEMENT_OFF);
	assert_int_equal(fake_side.policy.modes[ASPECT_CGROUP_MOVES], ENFORCEMENT_OFF);
	assert_false(fake_side.policy.guards_siblings);
	controller_free(controller);
}

static void a_policy_that_cannot_be_published_is_a_finding(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 8000, true)};
	struct controller *controller = start_node(&fake_side_port);
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;
	unsigned int nr;

	fake_side.publish_error = -ENOSPC;
	scan(controller, pods, 1);
	assert_int_equal(nr_findings(controller, "guard_policy_old", "could not be published"), 1);
	nr = fake_side.nr_published;
	/* Each look tries again, until it is told; then there is nothing to tell. */
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, ++nr);
	assert_int_equal(nr_findings(controller, "guard_policy_old", "could not be published"), 1);
	fake_side.publish_error = 0;
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, ++nr);
	assert_int_equal(nr_findings(controller, "guard_policy_old", ""), 0);
	controller_wake(controller);
	assert_int_equal(fake_side.nr_published, nr);
	/* What comes into force late is told at once, and what it missed is looked for. */
	fake->wake_ns = 0;
	sink->completed(sink->self);
	assert_int_equal(fake_side.nr_published, nr + 1);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	assert_int_equal(nr_findings(controller, "guard_policy_old", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A group that is gone by now, or cannot be read, is left out; the others are guarded. */
static void removed_groups_are_left_out(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 8000, true)};
	struct controller *controller = start_node(&fake_side_port);
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	scan(controller, pods, 1);
	assert_int_equal(fake_side.policy.nr_groups, 3);
	fake_remove("pinfold.slice/poduid-a/exclusive");
	sink->completed(sink->self);
	assert_int_equal(fake_side.policy.nr_groups, 2);
	controller_free(controller);
	free_pods(pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(debuggers_are_actors_when_their_parent_exists,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(an_observer_looks_for_no_debuggers, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(the_policy_names_each_group, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(near_are_the_nodes_of_a_groups_cpus, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(every_group_is_told_whatever_their_number,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(without_surroundings_the_groups_are_guarded,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(any_group_may_wait, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_restart_publishes_the_policy, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(a_blocked_group_remains_guarded, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(observing_enforces_nothing, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_policy_that_cannot_be_published_is_a_finding,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(removed_groups_are_left_out, set_up_node,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
