// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The processes of groups, and those that live outside of the groups that the agent manages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/tasks.h"
#include "cgroup_scene.h"

static void foreign_scopes_are_known_by_name(void **state)
{
	static const char *const foreign[] = {
		"machine.slice",
		"kubepods",
		"kubepods.slice",
		"docker",
		"lxc",
		"libpod_parent",
		"system.slice/docker-1.scope",
		"a/b/crio-2.scope",
		"cri-containerd-3.scope",
		"x/libpod-4.scope",
		"machine-qemu.scope",
		"lxc.payload.a",
		"nspawn-b",
	};
	static const char *const ours[] = {"system.slice", "user.slice/docker", "a/kubepods",
					   "mydocker-1.scope", "machine"};

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_true(tasks_is_foreign_scope(foreign[i]));
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_false(tasks_is_foreign_scope(ours[i]));
}

static void test_tasks(void **state)
{
	struct groups *groups = open_fake(false);
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_pod();
	put("cg/pinfold.slice/poda/main/cgroup.procs", "1\n0\n13\n");
	put("cg/pinfold.slice/poda/main/inner/cgroup.procs", "14\n");
	assert_int_equal(tasks_list(groups, "pinfold.slice/poda", &pids, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(pids[0], 1);
	assert_int_equal(pids[1], 13);
	assert_int_equal(pids[2], 14);
	free(pids);
	assert_int_equal(tasks_list(groups, "none", &pids, &nr), -ENOENT);
	groups_close(groups);
}

/* Groups inside groups are walked as deep as the kernel's own, and no deeper than that. */
static void test_tasks_of_deep_groups(void **state)
{
	struct groups *groups = open_fake(false);
	char path[GROUP_PATH_MAX] = "cg/pinfold.slice/poda";
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_group("pinfold.slice/poda", "", "2-15\n", true);
	for (int depth = 0; depth < 40; depth++) {
		size_t len = strlen(path);

		snprintf(path + len, sizeof(path) - len, "/cgroup.procs");
		put(path, "12\n");
		snprintf(path + len, sizeof(path) - len, "/d");
	}
	assert_int_equal(tasks_list(groups, "pinfold.slice/poda", &pids, &nr), 0);
	/* The group itself and 32 levels below it. */
	assert_int_equal(nr, 33);
	free(pids);
	groups_close(groups);
}

/* As many as a machine may have, whatever the groups they are in, and not one more. */
static void test_tasks_have_a_limit(void **state)
{
	struct groups *groups = open_fake(false);
	char *text cleanup_free = malloc(TASKS_MAX + 1);
	pid_t *pids = NULL;
	uint32_t nr = 0;

	assert_non_null(text);
	for (uint32_t i = 0; i < TASKS_MAX; i += 2)
		memcpy(text + i, "7\n", 2);
	text[TASKS_MAX] = '\0';
	put_pod();
	put("cg/pinfold.slice/poda/cgroup.procs", text);
	put("cg/pinfold.slice/poda/main/cgroup.procs", text);
	assert_int_equal(tasks_list(groups, "pinfold.slice/poda", &pids, &nr), 0);
	assert_int_equal(nr, TASKS_MAX);
	assert_int_equal(pids[TASKS_MAX - 1], 7);
	free(pids);
	pids = NULL;
	put("cg/pinfold.slice/poda/main/inner/cgroup.procs", "7\n");
	assert_int_equal(tasks_list(groups, "pinfold.slice/poda", &pids, &nr), -E2BIG);
	assert_null(pids);
	assert_int_equal(nr, TASKS_MAX);
	groups_close(groups);
}

static void test_outsiders(void **state)
{
	struct groups *groups = open_fake(false);
	char scope[64] = "x";
	uint32_t nr = 0;

	put_pod();
	/* Who lives in a group of ours is none. */
	put("cg/pinfold.slice/cgroup.procs", "11\n");
	put("cg/pinfold.slice/poda/main/cgroup.procs", "12\n");
	put("proc/11/stat", "11 (sh) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	put("proc/12/stat", "12 (sh) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	put("cg/cgroup.procs", "2\n20\n");
	put_group("system.slice", "", "0-15\n", true);
	put("cg/system.slice/cgroup.procs", "21\n22\n");
	/* 2 is a kernel thread, 22 has ended. */
	put("proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 1\n");
	put("proc/20/stat", "20 (sh) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	put("proc/21/stat", "21 (sshd) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(scope, "");
	put_group("system.slice/docker-12.scope", "", "0-15\n", true);
	put_group("machine.slice", "", "0-15\n", false);
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	assert_string_equal(scope, "system.slice/docker-12.scope");
	assert_int_equal(nr, 2);
	/* Of two that are populated one is named, and inside the first there may be more. */
	put_group("system.slice/docker-12.scope/crio-1", "", "0-15\n", true);
	put("cg/system.slice/docker-12.scope/crio-1/cgroup.procs", "21\n");
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	assert_string_equal(scope, "system.slice/docker-12.scope");
	assert_int_equal(nr, 3);
	groups_close(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_scopes_are_known_by_name),
		cmocka_unit_test_setup_teardown(test_tasks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tasks_of_deep_groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tasks_have_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_outsiders, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
