// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Whether the workload root becomes a root partition: who lives outside decides, and the operator. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "node_scene.h"

static int outsiders_error;

static int answer_outsiders(void *self, uint32_t *ret_nr, char *ret_scope, size_t size)
{
	return outsiders_error ? outsiders_error : outsiders(self, ret_nr, ret_scope, size);
}

static struct controller *controller;

static int start_scene(void **state)
{
	int r = set_up_node(state);

	outsiders_error = 0;
	groups.outsiders = answer_outsiders;
	config.partitions = PARTITIONS_AUTO;
	config.host_tasks = HOST_TASKS_AUTO;
	config.mode = MODE_ALLOCATE;
	return r;
}

static int end_scene(void **state)
{
	controller_free(controller);
	controller = NULL;
	return tear_down(state);
}

static void stop_agent(void)
{
	controller_free(controller);
	controller = NULL;
}

static void expect_partition(bool is_wanted, const char *finding)
{
	ctl_choose_tier(controller);
	assert_int_equal(controller->layout.root_partition, is_wanted);
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), !is_wanted);
	if (finding)
		assert_int_equal(nr_findings(controller, "tier1_not_in_use", finding), 1);
}

/* A container engine's scope would be pushed onto the reserved CPUs. */
static void a_foreign_scope_prevents_the_partition(void **state)
{
	controller = start_node(NULL);
	expect_partition(true, NULL);
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	expect_partition(false, "it would push machine.slice, which runs outside it");
	/* The operator accepts it. */
	config.host_tasks = HOST_TASKS_RESERVED;
	expect_partition(true, NULL);
	config.host_tasks = HOST_TASKS_AUTO;
	expect_partition(false, NULL);
	*foreign_scope = '\0';
	expect_partition(true, NULL);
}

static void the_operator_may_forbid_the_partition(void **state)
{
	controller = start_node(NULL);
	expect_partition(true, NULL);
	config.partitions = PARTITIONS_OFF;
	expect_partition(false, "user tasks of the host may run on CPUs of pods");
	config.partitions = PARTITIONS_AUTO;
	expect_partition(true, NULL);
	config.host_tasks = HOST_TASKS_FREE;
	expect_partition(false, NULL);
}

/* Nothing is enforced, so nothing is missing. */
static void an_observer_misses_no_partition(void **state)
{
	controller = start_node(NULL);
	config.partitions = PARTITIONS_ISOLATED;
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	expect_partition(false, NULL);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", "not a partition"), 1);
	config.mode = MODE_OBSERVE;
	ctl_choose_tier(controller);
	assert_false(controller->layout.root_partition);
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 0);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", ""), 0);
	config.mode = MODE_ALLOCATE;
	*foreign_scope = '\0';
	expect_partition(true, NULL);
	assert_true(controller->layout.isolated);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", ""), 0);
}

/* Its containers run outside the workload root. */
static void a_container_runtime_prevents_the_partition(void **state)
{
	controller = start_node(NULL);
	expect_partition(true, NULL);
	snprintf(config.sources.nri, sizeof(config.sources.nri), "/run/nri.sock");
	expect_partition(false, "pods of the container runtime run outside it");
	*config.sources.nri = '\0';
	expect_partition(true, NULL);
}

/* What the operator forbids needs no answer. */
static void a_question_without_an_answer_is_dropped_by_a_reload(void **state)
{
	outsiders_error = -EINPROGRESS;
	controller = start_node(NULL);
	assert_true(controller->tier.is_undecided);
	config.partitions = PARTITIONS_OFF;
	expect_partition(false, NULL);
	assert_false(controller->tier.is_undecided);
}

static void what_is_in_force_remains_while_the_list_of_tasks_is_blocked(void **state)
{
	controller = start_node(NULL);
	expect_partition(true, NULL);
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	outsiders_error = -EINPROGRESS;
	expect_partition(true, NULL);
	outsiders_error = 0;
	expect_partition(false, NULL);
	*foreign_scope = '\0';
	outsiders_error = -EINPROGRESS;
	expect_partition(false, "machine.slice");
	/* The choice is made when the answer is there. */
	controller_tick(controller);
	assert_false(controller->layout.root_partition);
	outsiders_error = 0;
	controller_tick(controller);
	assert_true(controller->layout.root_partition);
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 0);
}

/*
 * Nothing is in force yet, and pods are better protected with the partition than without. Whatever
 * the reason was that nobody knew, the choice is made again when somebody does.
 */
static void use_the_partition_until_a_scope_is_known(int error)
{
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	outsiders_error = error;
	controller = start_node(NULL);
	assert_true(controller->layout.root_partition);
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", ""), 0);
	controller_tick(controller);
	assert_true(controller->layout.root_partition);
	outsiders_error = 0;
	controller_tick(controller);
	assert_false(controller->layout.root_partition);
	assert_string_equal(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION], "member");
	assert_int_equal(nr_findings(controller, "tier1_not_in_use", "machine.slice"), 1);
	/* It is made once: what starts later is pushed onto the reserved CPUs. */
	*foreign_scope = '\0';
	controller_tick(controller);
	assert_false(controller->layout.root_partition);
}

static void a_start_uses_the_partition_until_it_knows_of_a_scope(void **state)
{
	use_the_partition_until_a_scope_is_known(-EINPROGRESS);
}

static void a_start_uses_the_partition_after_an_error_too(void **state)
{
	use_the_partition_until_a_scope_is_known(-EIO);
}

/* A sibling of the partition can take CPUs from it, and one of a member cannot. */
static void the_guard_learns_of_a_choice_that_was_put_off(void **state)
{
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	outsiders_error = -EIO;
	controller = start_node(&fake_side_port);
	assert_true(fake_side.policy.guards_siblings);
	outsiders_error = 0;
	controller_tick(controller);
	assert_false(fake_side.policy.guards_siblings);
}

/* All cgroups are looked at only if another choice is made than that in force. */
static void a_choice_that_changes_nothing_costs_no_look(void **state)
{
	static const int errors[] = {0, -EIO, -EINPROGRESS, 0};
	uint64_t began_ns;

	controller = start_node(NULL);
	fake->look_ns = S;
	began_ns = fake->now_ns;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		outsiders_error = errors[i];
		ctl_choose_tier(controller);
		assert_int_equal(controller->tier.is_undecided, errors[i] != 0);
		controller_tick(controller);
		outsiders_error = 0;
		controller_tick(controller);
		assert_false(controller->tier.is_undecided);
		assert_int_equal(fake->now_ns, began_ns);
	}
	controller_wake(controller);
	assert_int_equal(fake->now_ns, began_ns + S);
}

/* What an earlier agent decided is in force, and its reason may be there still. */
static void a_restart_takes_what_is_in_force_until_it_knows(void **state)
{
	static const char *const values[] = {"member", "root"};

	for (size_t is_root = 0; is_root < ARRAY_SIZE(values); is_root++) {
		snprintf(foreign_scope, sizeof(foreign_scope), "%s", is_root ? "" : "docker");
		outsiders_error = 0;
		controller = start_node(NULL);
		stop_agent();
		/* The kernel says it of each group that is none. */
		if (!is_root)
			strcpy(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION], "member");
		assert_string_equal(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION],
				    values[is_root]);
		snprintf(foreign_scope, sizeof(foreign_scope), "%s", is_root ? "docker" : "");
		outsiders_error = -EINPROGRESS;
		/* One that is invalid is in force as well: it is to be one. */
		partition_invalid = is_root;
		controller = start_node(NULL);
		assert_int_equal(controller->layout.root_partition, is_root);
		assert_string_equal(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION],
				    values[is_root]);
		assert_int_equal(nr_findings(controller, "tier1_not_in_use",
					     "does not know yet which tasks run outside"),
				 !is_root);
		outsiders_error = 0;
		partition_invalid = false;
		controller_tick(controller);
		assert_int_equal(controller->layout.root_partition, !is_root);
		stop_agent();
	}
}

/* The operator accepts it, whatever the answer will be. */
static void a_restart_does_as_the_operator_says(void **state)
{
	snprintf(foreign_scope, sizeof(foreign_scope), "docker");
	controller = start_node(NULL);
	stop_agent();
	strcpy(fake_find("pinfold.slice")->files[GROUP_CPUSET_PARTITION], "member");
	outsiders_error = -EIO;
	config.host_tasks = HOST_TASKS_RESERVED;
	controller = start_node(NULL);
	assert_true(controller->layout.root_partition);
}

/* Without the partition's file the safer side is taken, as where there is none. */
static void a_restart_that_cannot_tell_uses_the_partition(void **state)
{
	snprintf(foreign_scope, sizeof(foreign_scope), "docker");
	controller = start_node(NULL);
	stop_agent();
	outsiders_error = -EIO;
	unknown_path = "pinfold.slice";
	unknown_error = -EIO;
	controller = start_node(NULL);
	assert_true(controller->layout.root_partition);
}

static void an_error_changes_nothing_that_is_in_force(void **state)
{
	controller = start_node(NULL);
	snprintf(foreign_scope, sizeof(foreign_scope), "machine.slice");
	expect_partition(false, NULL);
	outsiders_error = -EIO;
	expect_partition(false, "machine.slice");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_foreign_scope_prevents_the_partition),
		TEST(the_operator_may_forbid_the_partition),
		TEST(an_observer_misses_no_partition),
		TEST(a_container_runtime_prevents_the_partition),
		TEST(a_question_without_an_answer_is_dropped_by_a_reload),
		TEST(what_is_in_force_remains_while_the_list_of_tasks_is_blocked),
		TEST(a_start_uses_the_partition_until_it_knows_of_a_scope),
		TEST(a_start_uses_the_partition_after_an_error_too),
		TEST(the_guard_learns_of_a_choice_that_was_put_off),
		TEST(a_choice_that_changes_nothing_costs_no_look),
		TEST(a_restart_takes_what_is_in_force_until_it_knows),
		TEST(a_restart_does_as_the_operator_says),
		TEST(a_restart_that_cannot_tell_uses_the_partition),
		TEST(an_error_changes_nothing_that_is_in_force),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
