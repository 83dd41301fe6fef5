// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Which cgroup, container or pod a name, a uid or a path means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "controller_scene.h"
#include "core/admit/admit.h"
#include "ctl/lookup.h"

static struct group_tree tree;

static void add(enum group_role role, const char *uid, const char *container, const char *path)
{
	struct group *group = group_tree_add(&tree, role, path);

	assert_non_null(group);
	strcpy(group->uid, uid);
	strcpy(group->container, container);
}

/* No root, and the level of the shared containers before the pod: within a pod the order means nothing. */
static int make_tree(void **state)
{
	tree = (struct group_tree){0};
	add(GROUP_SHARED, "a", "", "r/a/shared");
	add(GROUP_POD, "a", "", "r/a");
	add(GROUP_CONTAINER, "a", "one", "r/a/one");
	add(GROUP_CONTAINER, "a", "two", "r/a/shared/two");
	add(GROUP_POD, "b", "", "r/b");
	add(GROUP_CONTAINER, "b", "one", "r/b/one");
	return 0;
}

static int free_tree(void **state)
{
	group_tree_fini(&tree);
	return 0;
}

static const char *path_of(const char *uid, const char *container)
{
	const struct group *group = lookup_group(&tree, uid, container);

	return group ? group->path : "none";
}

static void a_group_has_its_uid_and_container(void **state)
{
	assert_string_equal(path_of("a", ""), "r/a");
	assert_string_equal(path_of("b", ""), "r/b");
	assert_string_equal(path_of("a", "one"), "r/a/one");
	assert_string_equal(path_of("a", "two"), "r/a/shared/two");
	assert_string_equal(path_of("b", "one"), "r/b/one");
	assert_string_equal(path_of("b", "two"), "none");
	assert_string_equal(path_of("c", ""), "none");
	assert_string_equal(path_of("aa", ""), "none");
	assert_string_equal(path_of("", ""), "none");
	free_tree(state);
	tree = (struct group_tree){0};
	add(GROUP_POD, "a", "", "r/a");
	assert_string_equal(path_of("a", ""), "r/a");
}

static const char *container_at(const char *path)
{
	const struct group *group = lookup_container_at(&tree, path);

	return group ? group->path : "none";
}

static void a_path_below_a_container_belongs_to_it(void **state)
{
	assert_string_equal(container_at("r/b/one"), "r/b/one");
	assert_string_equal(container_at("r/b/one/nested/deeper"), "r/b/one");
	assert_string_equal(container_at("r/a/shared/two"), "r/a/shared/two");
	/* What only begins with the same characters is another cgroup. */
	assert_string_equal(container_at("r/b/one-more"), "none");
	assert_string_equal(container_at("r/a/shared"), "none");
	assert_string_equal(container_at("r/b"), "none");
	assert_string_equal(container_at(""), "none");
}

/* The entry behind the last is not looked at, even if it has been a container. */
static void a_dropped_container_is_not_found(void **state)
{
	group_tree_drop(&tree, "r/b/one");
	assert_string_equal(container_at("r/b/one"), "none");
	assert_string_equal(path_of("b", "one"), "none");
}

static void a_chain_is_named_after_its_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 1000, true)};
	struct ledger *ledger = NULL;
	struct decision decision;
	char label[160], error[256];

	assert_int_equal(set_up(state), 0);
	assert_int_equal(ledger_new(topology, &policy, error, sizeof(error), &ledger), 0);
	assert_int_equal(admit_prepare(ledger, pods[0], &decision), 0);
	ledger_commit(ledger);
	lookup_chain_label(ledger, "uid-a", label, sizeof(label));
	assert_string_equal(label, "pod default/a");
	lookup_chain_label(ledger, "uid-b", label, sizeof(label));
	assert_string_equal(label, "pod with uid uid-b");
	lookup_chain_label(ledger, "", label, sizeof(label));
	assert_string_equal(label, "the workload root");
	ledger_free(ledger);
	free_pods(pods, 1);
	tear_down(state);
}

static void a_name_without_a_namespace_is_in_the_default_one(void **state)
{
	char namespace[POD_NAME_MAX], name[POD_NAME_MAX];

	assert_true(lookup_split_name("web", namespace, name));
	assert_string_equal(namespace, "default");
	assert_string_equal(name, "web");
	assert_true(lookup_split_name("shop/web", namespace, name));
	assert_string_equal(namespace, "shop");
	assert_string_equal(name, "web");
	assert_false(lookup_split_name("", namespace, name));
	assert_false(lookup_split_name("shop/", namespace, name));
	assert_false(lookup_split_name("/web", namespace, name));
}

/* If it were cut, it would be the name of another pod. */
static void a_name_that_is_too_long_is_not_cut(void **state)
{
	char namespace[POD_NAME_MAX], name[POD_NAME_MAX], longest[POD_NAME_MAX],
		text[3 * POD_NAME_MAX];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(text, sizeof(text), "%s/%s", longest, longest);
	assert_true(lookup_split_name(text, namespace, name));
	assert_string_equal(namespace, longest);
	assert_string_equal(name, longest);
	snprintf(text, sizeof(text), "%sx/web", longest);
	assert_false(lookup_split_name(text, namespace, name));
	snprintf(text, sizeof(text), "shop/%sx", longest);
	assert_false(lookup_split_name(text, namespace, name));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, free_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_group_has_its_uid_and_container),
		TEST(a_path_below_a_container_belongs_to_it),
		TEST(a_dropped_container_is_not_found),
		cmocka_unit_test(a_name_without_a_namespace_is_in_the_default_one),
		cmocka_unit_test(a_name_that_is_too_long_is_not_cut),
		cmocka_unit_test(a_chain_is_named_after_its_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
