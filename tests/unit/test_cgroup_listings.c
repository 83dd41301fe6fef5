// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The children of a cgroup, when the kernel ends their listing with an error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup_scene.h"
#include "cut_listing.h"
#include "lib/log.h"

static const char *path_of(const char *path)
{
	static char whole[128];

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	return whole;
}

static void put_small_pod(void)
{
	put_group("pinfold.slice", "0-15\n", "0-15\n", true);
	put_group("pinfold.slice/poda", "\n", "0-15\n", true);
	put_group("pinfold.slice/poda/main", "2-3\n", "2-3\n", true);
}

/* A pod that is not seen would count as gone, and its CPUs as free. */
static void no_pod_is_missed(void **state)
{
	struct groups *groups;
	struct groups_port port;
	struct group_tree tree = {0};

	put_small_pod();
	groups = open_fake(true);
	port = groups_port(groups);
	cut_listing(path_of("cg/pinfold.slice"), 0);
	assert_int_equal(port.read_tree(port.self, &tree), -EIO);
	cut_listing(path_of("cg/pinfold.slice/poda"), 0);
	assert_int_equal(port.read_tree(port.self, &tree), -EIO);
	cut_nothing();
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 3);
	group_tree_fini(&tree);
	groups_close(groups);
}

static void no_task_is_missed(void **state)
{
	struct groups *groups;
	struct groups_port port;
	pid_t *pids cleanup_free = NULL;
	uint32_t nr = 0;

	put_small_pod();
	put("cg/pinfold.slice/poda/main/cgroup.procs", "77\n");
	groups = open_fake(true);
	port = groups_port(groups);
	cut_listing(path_of("cg/pinfold.slice/poda"), 0);
	assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &pids, &nr), -EIO);
	cut_nothing();
	assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &pids, &nr), 0);
	assert_int_equal(nr, 1);
	groups_close(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_pod_is_missed),
		TEST(no_task_is_missed),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
