// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What is known of the cgroups: the last look, what the agent did since, what it did during a
 * look, and what cannot be read at present.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "node_scene.h"

static struct step step_on(enum step_kind kind, const char *path, char *value)
{
	struct step step = {
		.kind = kind, .role = GROUP_CONTAINER, .file = GROUP_CPU_MAX, .value = value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	snprintf(step.uid, sizeof(step.uid), "uid of %s", path);
	snprintf(step.container, sizeof(step.container), "name of %s", path);
	return step;
}

static struct group *add(struct group_tree *tree, enum group_role role, const char *path)
{
	struct group *group = group_tree_add(tree, role, path);

	assert_non_null(group);
	snprintf(group->uid, sizeof(group->uid), "uid of %s", path);
	snprintf(group->container, sizeof(group->container), "name of %s", path);
	return group;
}

static void set(struct group *group, enum group_file file, const char *value)
{
	group->files[file] = strdup(value);
	assert_non_null(group->files[file]);
}

static void expect_names(const struct group *group)
{
	char text[GROUP_PATH_MAX + 16];

	assert_non_null(group);
	snprintf(text, sizeof(text), "uid of %s", group->path);
	assert_string_equal(group->uid, text);
	snprintf(text, sizeof(text), "name of %s", group->path);
	assert_string_equal(group->container, text);
}

/* --- what the agent did ----------------------------------------------------------------------- */

static struct look look;

static int start_look(void **state)
{
	look = (struct look){0};
	add(&look.observed, GROUP_ROOT, "r");
	add(&look.observed, GROUP_POD, "r/a");
	add(&look.observed, GROUP_CONTAINER, "r/a/c");
	add(&look.observed, GROUP_POD, "r/b");
	return 0;
}

static int end_look(void **state)
{
	look_fini(&look);
	return 0;
}

static void a_step_is_known_when_it_has_ended(void **state)
{
	char max[] = "max 100000";
	struct step step = step_on(STEP_CREATE, "r/b/c", NULL);
	struct group *group;

	look_note(&look, OPERATION_STEP, &step, -EIO);
	assert_null(group_tree_find(&look.observed, "r/b/c"));
	look_note(&look, OPERATION_STEP, &step, 0);
	group = group_tree_find(&look.observed, "r/b/c");
	expect_names(group);
	assert_int_equal(group->role, GROUP_CONTAINER);
	step = step_on(STEP_WRITE, "r/b/c", max);
	look_note(&look, OPERATION_STEP, &step, 0);
	assert_string_equal(group->files[GROUP_CPU_MAX], max);
	/* A value that could not be kept is not known any more, which is no reason for doubt. */
	step = step_on(STEP_WRITE, "r/b/c", NULL);
	look_note(&look, OPERATION_STEP, &step, 0);
	assert_null(group->files[GROUP_CPU_MAX]);
	assert_false(look.is_in_doubt);
	assert_string_equal(look.problem, "");
	step = step_on(STEP_REMOVE, "r/a", NULL);
	look_note(&look, OPERATION_STEP, &step, 0);
	assert_null(group_tree_find(&look.observed, "r/a"));
	assert_null(group_tree_find(&look.observed, "r/a/c"));
	assert_int_equal(look.observed.nr_groups, 3);
	assert_int_equal(look.nr_done, 0);
}

static void a_join_populates_a_container_and_those_above(void **state)
{
	struct step step = step_on(STEP_CREATE, "r/a/c", NULL);

	look_note(&look, OPERATION_KILL, &step, 0);
	look_note(&look, OPERATION_JOIN, &step, -EIO);
	for (uint32_t i = 0; i < look.observed.nr_groups; i++)
		assert_false(look.observed.groups[i].populated);
	look_note(&look, OPERATION_JOIN, &step, 0);
	assert_true(group_tree_find(&look.observed, "r/a/c")->populated);
	assert_true(group_tree_find(&look.observed, "r/a")->populated);
	assert_true(group_tree_find(&look.observed, "r")->populated);
	assert_false(group_tree_find(&look.observed, "r/b")->populated);
	/* A group that is gone by now populates those that are not. */
	step = step_on(STEP_CREATE, "r/b/gone", NULL);
	look_note(&look, OPERATION_JOIN, &step, 0);
	assert_true(group_tree_find(&look.observed, "r/b")->populated);
	assert_int_equal(look.observed.nr_groups, 4);
}

/* --- what the agent did during a look --------------------------------------------------------- */

static void an_operation_during_a_look_is_recorded(void **state)
{
	char value[] = "max 100000", old[] = "5000 100000";
	struct step step = step_on(STEP_WRITE, "r/a/c", value), other;

	step.old = old;
	look.since_ns = 1;
	look_note(&look, OPERATION_STEP, &step, 0);
	assert_int_equal(look.nr_done, 1);
	assert_int_equal(look.done[0].kind, OPERATION_STEP);
	assert_string_equal(look.done[0].step.path, "r/a/c");
	/* Its own copy of the value; what was there before is borrowed from a plan. */
	assert_string_equal(look.done[0].step.value, value);
	assert_ptr_not_equal(look.done[0].step.value, value);
	assert_null(look.done[0].step.old);
	look_note(&look, OPERATION_STEP, &step, -EIO);
	assert_int_equal(look.nr_done, 2);
	assert_int_equal(look.done[1].result, -EIO);
	/* A join is recorded once for each container, though a step on it was recorded before. */
	step = step_on(STEP_CREATE, "r/a/c", NULL);
	other = step_on(STEP_CREATE, "r/b", NULL);
	for (int i = 0; i < 3; i++) {
		look_note(&look, OPERATION_JOIN, &step, 0);
		look_note(&look, OPERATION_JOIN, &other, 0);
	}
	assert_int_equal(look.nr_done, 4);
	/* Steps are not joins: each of them counts. */
	look_note(&look, OPERATION_STEP, &step, 0);
	look_note(&look, OPERATION_STEP, &step, 0);
	assert_int_equal(look.nr_done, 6);
	assert_false(look.forgot_done);
}

static void a_join_that_was_recorded_first_is_found(void **state)
{
	const struct step step = step_on(STEP_CREATE, "r/a/c", NULL);

	look.since_ns = 1;
	look_note(&look, OPERATION_JOIN, &step, 0);
	look_note(&look, OPERATION_JOIN, &step, 0);
	assert_int_equal(look.nr_done, 1);
}

static void the_record_of_a_look_is_bounded(void **state)
{
	const struct step step = step_on(STEP_CREATE, "r/a/c", NULL);

	look.since_ns = 1;
	for (uint32_t i = 0; i < MAX_DONE; i++)
		look_note(&look, OPERATION_KILL, &step, 0);
	assert_int_equal(look.nr_done, MAX_DONE);
	assert_false(look.forgot_done);
	look_note(&look, OPERATION_KILL, &step, 0);
	assert_int_equal(look.nr_done, MAX_DONE);
	assert_true(look.forgot_done);
}

/* --- a whole look ----------------------------------------------------------------------------- */

static struct controller *controller;
static struct pod_spec *pods[2];

static int start_scene(void **state)
{
	int r = set_up_node(state);

	if (r)
		return r;
	pods[0] = fake_pod("a", "exclusive", 4000, true);
	pods[1] = fake_pod("w", "web", 500, false);
	controller = start_node(NULL);
	scan(controller, pods, 2);
	fake->wake_ns = 0;
	return 0;
}

static int end_scene(void **state)
{
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, 2);
	return tear_down(state);
}

/* The look that is running has ended, with what it saw when it began. */
static int take_look(struct group_tree *ret_tree)
{
	assert_int_equal(fake->look, FAKE_LOOKING);
	fake->look = FAKE_LOOKED;
	return ctl_look(controller, ret_tree);
}

static void what_was_done_during_a_look_corrects_it(void **state)
{
	struct group_tree tree cleanup_tree = {0}, again cleanup_tree = {0};
	struct step step = step_on(STEP_CREATE, "pinfold.slice/new", NULL);

	fake->slow_look = true;
	assert_int_equal(ctl_look(controller, &tree), -EINPROGRESS);
	assert_true(controller->look.since_ns);
	look_note(&controller->look, OPERATION_STEP, &step, 0);
	assert_int_equal(take_look(&tree), 0);
	assert_int_equal(controller->look.since_ns, 0);
	expect_names(group_tree_find(&tree, "pinfold.slice/new"));
	assert_int_equal(fake->wake_ns, 0);
	/* The next look sees it or does not: what was done before it is not played again. */
	assert_int_equal(ctl_look(controller, &again), -EINPROGRESS);
	assert_int_equal(take_look(&again), 0);
	assert_null(group_tree_find(&again, "pinfold.slice/new"));
}

static void fill_record(void)
{
	const struct step step = step_on(STEP_CREATE, "pinfold.slice", NULL);

	for (uint32_t i = 0; i <= MAX_DONE; i++)
		look_note(&controller->look, OPERATION_KILL, &step, 0);
	assert_true(controller->look.forgot_done);
}

static void a_look_that_cannot_be_corrected_is_repeated(void **state)
{
	struct group_tree tree cleanup_tree = {0}, again cleanup_tree = {0};

	fake->slow_look = true;
	assert_int_equal(ctl_look(controller, &tree), -EINPROGRESS);
	fill_record();
	tamper("web", GROUP_CPUSET_CPUS, "7");
	fake->slow_look = false;
	assert_int_equal(take_look(&tree), 0);
	assert_string_equal(
		group_tree_find(&tree, "pinfold.slice/poduid-w/web")->files[GROUP_CPUSET_CPUS],
		"7");
	assert_false(controller->look.forgot_done);
	/* The second one may take long as well: that is a look like any other. */
	fake->slow_look = true;
	assert_int_equal(ctl_look(controller, &again), -EINPROGRESS);
	fill_record();
	assert_int_equal(take_look(&again), -EINPROGRESS);
	assert_true(controller->look.since_ns);
	assert_false(controller->look.is_wanted_again);
	assert_int_equal(controller->look.nr_done, 0);
	assert_int_equal(take_look(&again), 0);
}

static void a_look_wanted_during_a_look_follows_it_at_once(void **state)
{
	struct group_tree tree cleanup_tree = {0}, again cleanup_tree = {0};

	fake->slow_look = true;
	assert_int_equal(ctl_look(controller, &tree), -EINPROGRESS);
	assert_int_equal(ctl_look(controller, &tree), -EINPROGRESS);
	assert_int_equal(take_look(&tree), 0);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	/* Once. */
	fake->wake_ns = 0;
	fake->slow_look = false;
	assert_int_equal(ctl_look(controller, &again), 0);
	assert_int_equal(fake->wake_ns, 0);
}

/* --- what cannot be read ---------------------------------------------------------------------- */

/* The pod comes first, and one of its containers is written at this moment. */
static int read_blocked(void *self, struct group_tree *ret_tree)
{
	struct group_tree tree = {0};

	add(&tree, GROUP_POD, "r/a")->unseen = true;
	set(add(&tree, GROUP_CONTAINER, "r/a/busy"), GROUP_CPUSET_CPUS, "5");
	add(&tree, GROUP_POD, "r/b");
	*ret_tree = tree;
	return 0;
}

static void what_cannot_be_read_is_as_it_was(void **state)
{
	struct group_tree known = {0}, before = {0};
	struct group_tree tree cleanup_tree = {0};
	struct group *group;

	group = add(&known, GROUP_POD, "r/a");
	group->populated = true;
	set(group, GROUP_CPU_WEIGHT, "7");
	group = add(&known, GROUP_CONTAINER, "r/a/c");
	group->populated = true;
	set(group, GROUP_CPUSET_MEMS, "1");
	set(group, GROUP_MEMORY_MAX, "max");
	set(add(&known, GROUP_CONTAINER, "r/a/busy"), GROUP_CPUSET_CPUS, "4");
	add(&known, GROUP_CONTAINER, "r/ab/c");
	add(&known, GROUP_CONTAINER, "r/b/removed");
	add(&known, GROUP_CONTAINER, "r/a/removed");
	group_tree_drop(&known, "r/a/removed");
	look_replace(&controller->look, &known, &before);
	group_tree_fini(&before);
	groups.read_tree = read_blocked;
	assert_int_equal(ctl_look(controller, &tree), 0);
	groups.read_tree = fake_read_tree;
	assert_int_equal(tree.nr_groups, 4);
	group = group_tree_find(&tree, "r/a");
	expect_names(group);
	assert_true(group->populated);
	assert_string_equal(group->files[GROUP_CPU_WEIGHT], "7");
	group = group_tree_find(&tree, "r/a/c");
	expect_names(group);
	assert_int_equal(group->role, GROUP_CONTAINER);
	assert_true(group->populated);
	assert_string_equal(group->files[GROUP_CPUSET_MEMS], "1");
	assert_string_equal(group->files[GROUP_MEMORY_MAX], "max");
	assert_null(group->files[GROUP_CPU_MAX]);
	assert_string_equal(group_tree_find(&tree, "r/a/busy")->files[GROUP_CPUSET_CPUS], "5");
	/* What can be read is what was read. */
	assert_non_null(group_tree_find(&tree, "r/b"));
}

#define TEST_NOTE(name) cmocka_unit_test_setup_teardown(name, start_look, end_look)
#define TEST(name)	cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_NOTE(a_step_is_known_when_it_has_ended),
		TEST_NOTE(a_join_populates_a_container_and_those_above),
		TEST_NOTE(an_operation_during_a_look_is_recorded),
		TEST_NOTE(a_join_that_was_recorded_first_is_found),
		TEST_NOTE(the_record_of_a_look_is_bounded),
		TEST(what_was_done_during_a_look_corrects_it),
		TEST(a_look_that_cannot_be_corrected_is_repeated),
		TEST(a_look_wanted_during_a_look_follows_it_at_once),
		TEST(what_cannot_be_read_is_as_it_was),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
