// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* What is noted of a scope until its first process joins: it looks like a cgroup until then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cgroup/noted.h"
#include "cgroup/port.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

static struct noted noted;
static char error[GROUP_ERROR_MAX];

/* How often the lock of the notes was taken, and whether it is held. */
static unsigned int nr_locked;
static bool is_locked;

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	int r = LIBC(pthread_mutex_lock)(lock);

	if (lock == &noted.lock) {
		is_locked = true;
		nr_locked++;
	}
	return r;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	if (lock == &noted.lock) {
		assert_true(is_locked);
		is_locked = false;
	}
	return LIBC(pthread_mutex_unlock)(lock);
}

static int set_up(void **state)
{
	noted_init(&noted);
	return 0;
}

static int tear_down(void **state)
{
	noted_fini(&noted);
	return 0;
}

static struct step step_of(const char *path, enum group_file file, char *value)
{
	struct step step = {.role = GROUP_CONTAINER, .file = file, .value = value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	snprintf(step.uid, sizeof(step.uid), "uid-%s", path);
	snprintf(step.container, sizeof(step.container), "container-%s", path);
	return step;
}

static void add(const char *path)
{
	struct step step = step_of(path, GROUP_CPUSET_CPUS, NULL);

	assert_int_equal(noted_add(&noted, &step, error), 0);
}

static void set(const char *path, enum group_file file, const char *value)
{
	struct step step = step_of(path, file, (char *)(uintptr_t)value);

	assert_int_equal(noted_set(&noted, &step, error), 0);
}

static const struct group *find_in(struct group_tree *tree, const char *path)
{
	return group_tree_find(tree, path);
}

static void a_note_has_the_values_last_set(void **state)
{
	struct group_tree tree = {0};
	const struct group *group;

	add("a");
	set("a", GROUP_CPUSET_CPUS, "2-3");
	set("a", GROUP_CPU_WEIGHT, "59");
	set("a", GROUP_CPUSET_CPUS, "4-5");
	/* Adding it again changes nothing. */
	add("a");
	assert_int_equal(noted_find(&noted, "a", &tree), 0);
	assert_int_equal(tree.nr_groups, 1);
	group = find_in(&tree, "a");
	assert_non_null(group);
	assert_int_equal(group->role, GROUP_CONTAINER);
	assert_string_equal(group->uid, "uid-a");
	assert_string_equal(group->container, "container-a");
	assert_string_equal(group->files[GROUP_CPUSET_CPUS], "4-5");
	assert_string_equal(group->files[GROUP_CPU_WEIGHT], "59");
	assert_null(group->files[GROUP_CPU_MAX]);
	assert_false(group->populated);
	group_tree_fini(&tree);
}

static void only_notes_are_found(void **state)
{
	struct group_tree tree = {0};

	add("a");
	assert_true(noted_has(&noted, "a"));
	assert_false(noted_has(&noted, "b"));
	/* What is not noted is not remembered either. */
	set("b", GROUP_CPUSET_CPUS, "2-3");
	assert_false(noted_has(&noted, "b"));
	assert_int_equal(noted_find(&noted, "b", &tree), 0);
	assert_int_equal(tree.nr_groups, 0);
}

static void a_dropped_note_is_gone_and_the_others_stay(void **state)
{
	struct group_tree tree = {0};

	add("a");
	add("b");
	add("c");
	set("a", GROUP_CPUSET_CPUS, "2-3");
	set("c", GROUP_CPUSET_CPUS, "6-7");
	noted_drop(&noted, "a");
	noted_drop(&noted, "unknown");
	assert_false(noted_has(&noted, "a"));
	assert_true(noted_has(&noted, "b"));
	assert_int_equal(noted_find(&noted, "c", &tree), 0);
	assert_string_equal(find_in(&tree, "c")->files[GROUP_CPUSET_CPUS], "6-7");
	group_tree_fini(&tree);
	noted_drop(&noted, "c");
	noted_drop(&noted, "b");
	assert_false(noted_has(&noted, "b"));
	/* A new note of that name begins without values. */
	add("a");
	assert_int_equal(noted_find(&noted, "a", &tree), 0);
	assert_null(find_in(&tree, "a")->files[GROUP_CPUSET_CPUS]);
	group_tree_fini(&tree);
}

/* What the kernel shows wins over what was noted. */
static void groups_that_exist_are_not_replaced(void **state)
{
	struct group_tree tree = {0};
	struct group *shown;

	add("a");
	add("b");
	add("c");
	set("a", GROUP_CPUSET_CPUS, "2-3");
	set("b", GROUP_CPUSET_CPUS, "4-5");
	set("c", GROUP_CPUSET_CPUS, "6-7");
	shown = group_tree_add(&tree, GROUP_CONTAINER, "b");
	assert_non_null(shown);
	shown->files[GROUP_CPUSET_CPUS] = strdup("8-9");
	assert_int_equal(noted_copy_missing(&noted, &tree), 0);
	assert_int_equal(tree.nr_groups, 3);
	assert_string_equal(find_in(&tree, "a")->files[GROUP_CPUSET_CPUS], "2-3");
	assert_string_equal(find_in(&tree, "b")->files[GROUP_CPUSET_CPUS], "8-9");
	assert_string_equal(find_in(&tree, "c")->files[GROUP_CPUSET_CPUS], "6-7");
	group_tree_fini(&tree);
}

/* Threads call them; a lock that is not released would stop them all. */
static void every_function_takes_the_lock_and_releases_it(void **state)
{
	struct group_tree tree = {0};

	nr_locked = 0;
	add("a");
	assert_int_equal(nr_locked, 1);
	set("a", GROUP_CPUSET_CPUS, "2-3");
	assert_int_equal(nr_locked, 2);
	assert_true(noted_has(&noted, "a"));
	assert_int_equal(nr_locked, 3);
	assert_int_equal(noted_copy_missing(&noted, &tree), 0);
	assert_int_equal(nr_locked, 4);
	group_tree_fini(&tree);
	assert_int_equal(noted_find(&noted, "a", &tree), 0);
	assert_int_equal(nr_locked, 5);
	group_tree_fini(&tree);
	noted_drop(&noted, "a");
	assert_int_equal(nr_locked, 6);
	assert_false(is_locked);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_note_has_the_values_last_set),
		TEST(only_notes_are_found),
		TEST(a_dropped_note_is_gone_and_the_others_stay),
		TEST(groups_that_exist_are_not_replaced),
		TEST(every_function_takes_the_lock_and_releases_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
