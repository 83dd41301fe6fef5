// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Which modes of enforcement, and which CPUs of each container, are published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/publisher.h"
#include "node_scene.h"

/* Each aspect has its own mode. */
static void the_configured_modes_are_published(void **state)
{
	for (int i = 0; i < ENFORCEMENT_NR; i++) {
		for (int aspect = 0; aspect < ASPECT_NR; aspect++)
			config.enforcement.guard[aspect] = (i + aspect) % ENFORCEMENT_NR;
		controller_free(start_node(&fake_side_port));
		for (int aspect = 0; aspect < ASPECT_NR; aspect++)
			assert_int_equal(fake_side.policy.modes[aspect],
					 (i + aspect) % ENFORCEMENT_NR);
	}
}

static void an_observer_enforces_nothing(void **state)
{
	config.mode = MODE_OBSERVE;
	for (int aspect = 0; aspect < ASPECT_NR; aspect++)
		config.enforcement.guard[aspect] = ENFORCEMENT_ENFORCE;
	controller_free(start_node(&fake_side_port));
	for (int aspect = 0; aspect < ASPECT_NR; aspect++)
		assert_int_equal(fake_side.policy.modes[aspect], ENFORCEMENT_OFF);
}

static const struct managed_group *published_of(const struct fake_group *group)
{
	for (uint32_t i = 0; i < fake_side.policy.nr_groups; i++)
		if (fake_side.groups[i].cgroup_id == (uint64_t)(group - fake->groups) + 1)
			return &fake_side.groups[i];
	fail_msg("%s was not published", group->path);
	return NULL;
}

/*
 * Time on any other CPU counts as outside the grant. If the CPUs in force were published, drift
 * that the agent leaves to the operator would move the grant itself.
 */
static void the_granted_cpus_are_published_whatever_is_in_force(void **state)
{
	struct pod_spec *pods[2] = {fake_pod("a", "one", 2000, true), NULL};
	const struct managed_group *managed;
	struct controller *controller;
	struct cpuset granted;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	granted = cpuset_of_text(file_of("uid-a/one", GROUP_CPUSET_CPUS));
	assert_int_equal(cpuset_count(&granted), 2);
	tamper("uid-a/one", GROUP_CPUSET_CPUS, "14-15");
	/* Another pod, so that everything is published again. */
	pods[1] = fake_pod("b", "two", 2000, true);
	scan(controller, pods, 2);
	assert_string_equal(file_of("uid-a/one", GROUP_CPUSET_CPUS), "14-15");
	managed = published_of(group_of(GROUP_CONTAINER, "uid-a/one"));
	assert_true(managed->is_container);
	assert_true(cpuset_equal(managed->cpus, &granted));
	/* Its memory is not restricted, so it is near on the nodes of its CPUs. */
	assert_int_equal(managed->nodes, 1);
	controller_free(controller);
	free_pods(pods, 2);
}

/* It keeps its cgroups, so nothing but the grant has changed. */
static void the_cpus_of_a_changed_pod_are_published(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct cpuset granted;

	scan(controller, pods, 1);
	controller_wake(controller);
	pods[0]->containers->request.cpu_mcpu = pods[0]->containers->limit.cpu_mcpu = 4000;
	scan(controller, pods, 1);
	granted = cpuset_of_text(file_of("uid-a/one", GROUP_CPUSET_CPUS));
	assert_int_equal(cpuset_count(&granted), 4);
	assert_true(
		cpuset_equal(published_of(group_of(GROUP_CONTAINER, "uid-a/one"))->cpus, &granted));
	controller_free(controller);
	free_pods(pods, 1);
}

static bool is_published(const char *path)
{
	struct group_status status;

	assert_int_equal(fake_status(NULL, path, &status), 0);
	for (uint32_t i = 0; i < fake_side.policy.nr_groups; i++)
		if (fake_side.groups[i].cgroup_id == status.cgroup_id)
			return true;
	return false;
}

/*
 * What an agent cannot read when it begins stays as its predecessor published it. Once it has read
 * everything, it knows what to publish for a group that it cannot read, and drops what is gone.
 */
static void a_start_that_cannot_read_a_group_keeps_what_is_in_force(void **state)
{
	static const int errors[] = {-EINPROGRESS, -EIO};
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller;
	char path[GROUP_PATH_MAX];

	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	assert_false(fake_side.policy.keeps_others);
	controller_free(controller);
	snprintf(path, sizeof(path), "%s", group_of(GROUP_CONTAINER, "uid-a/one")->path);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		unknown_path = path;
		unknown_error = errors[i];
		controller = start_node(&fake_side_port);
		assert_false(is_published(path));
		assert_true(fake_side.policy.keeps_others);
		assert_int_equal(nr_findings(controller, "guard_policy_partial", path), 1);
		assert_int_equal(nr_findings(controller, "guard_policy_partial",
					     "1 cgroup has not been readable"),
				 1);
		unknown_path = NULL;
		fake->wake_ns = 0;
		ctl_publish(controller);
		assert_true(is_published(path));
		assert_false(fake_side.policy.keeps_others);
		assert_int_equal(nr_findings(controller, "guard_policy_partial", ""), 0);
		/* There is nothing to be read again. */
		assert_int_equal(fake->wake_ns, 0);
		unknown_path = path;
		ctl_publish(controller);
		assert_true(is_published(path));
		assert_false(fake_side.policy.keeps_others);
		assert_int_equal(nr_findings(controller, "guard_policy_partial", ""), 0);
		controller_free(controller);
	}
	free_pods(pods, 1);
}

static int status_of_others(void *self, const char *path, struct group_status *ret_status)
{
	return strstr(path, "uid-a") ? -EIO : status_of(self, path, ret_status);
}

static void all_unreadable_groups_are_counted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	controller_free(controller);
	groups.status = status_of_others;
	controller = start_node(&fake_side_port);
	assert_int_equal(nr_findings(controller, "guard_policy_partial",
				     "2 cgroups have not been readable"),
			 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* An operation that is blocked hides a group as well, and a policy that fails leaves it hidden. */
static void the_finding_remains_until_everything_was_published(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	char path[GROUP_PATH_MAX];

	scan(controller, pods, 1);
	controller_free(controller);
	snprintf(path, sizeof(path), "%s", group_of(GROUP_CONTAINER, "uid-a/one")->path);
	unknown_path = path;
	controller = start_node(&fake_side_port);
	assert_int_equal(nr_findings(controller, "guard_policy_partial", path), 1);
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "guard_policy_partial", path), 1);
	fake_side.publish_error = -EIO;
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "guard_policy_partial", path), 1);
	fake_side.publish_error = 0;
	unknown_path = NULL;
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "guard_policy_partial", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* If all cgroups seem to be gone, the tree is out of reach, and what is guarded stays guarded. */
static void only_an_observer_may_empty_the_policy(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	assert_true(fake_side.policy.nr_groups > 0);
	assert_false(fake_side.policy.may_be_empty);
	unknown_path = group_of(GROUP_ROOT, "")->path;
	unknown_error = -ENOENT;
	ctl_publish(controller);
	assert_int_equal(fake_side.policy.nr_groups, 0);
	assert_false(fake_side.policy.may_be_empty);
	controller_free(controller);
	/* Mode guard makes no cgroups either. */
	for (config.mode = MODE_GUARD; config.mode <= MODE_OBSERVE; config.mode++) {
		controller = start_node(&fake_side_port);
		assert_int_equal(fake_side.policy.nr_groups, 0);
		assert_true(fake_side.policy.may_be_empty);
		controller_free(controller);
	}
}

/* The observer is loaded before the first look ends. There is no desired tree yet to be published. */
static void nothing_is_published_before_the_first_look(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	const struct kernel_sink *sink;

	scan(controller, pods, 1);
	controller_free(controller);
	fake_side.nr_published = 0;
	fake->slow_look = fake->stuck_look = true;
	controller = start_node(&fake_side_port);
	sink = &controller_sinks(controller)->kernel;
	sink->completed(sink->self);
	assert_int_equal(fake_side.nr_published, 0);
	fake->slow_look = fake->stuck_look = false;
	fake_end_look(controller);
	controller_wake(controller);
	assert_true(fake_side.nr_published > 0);
	assert_true(is_published(group_of(GROUP_CONTAINER, "uid-a/one")->path));
	controller_free(controller);
	free_pods(pods, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)

/* The map of the BPF programs has no room for all that a runtime has. */
static void groups_without_room_are_a_finding(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	assert_int_equal(nr_findings(controller, "groups_left_out", ""), 0);
	fake_side.nr_left_out = 2;
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "groups_left_out", "2 cgroups of a container"), 1);
	fake_side.nr_left_out = 1;
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "groups_left_out", "1 cgroup of a container"), 1);
	fake_side.nr_left_out = 0;
	ctl_publish(controller);
	assert_int_equal(nr_findings(controller, "groups_left_out", ""), 0);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_configured_modes_are_published),
		TEST(an_observer_enforces_nothing),
		TEST(nothing_is_published_before_the_first_look),
		TEST(a_start_that_cannot_read_a_group_keeps_what_is_in_force),
		TEST(all_unreadable_groups_are_counted),
		TEST(the_finding_remains_until_everything_was_published),
		TEST(only_an_observer_may_empty_the_policy),
		TEST(the_granted_cpus_are_published_whatever_is_in_force),
		TEST(the_cpus_of_a_changed_pod_are_published),
		TEST(groups_without_room_are_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
