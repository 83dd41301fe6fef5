// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * The cgroup room on a plain directory below the configured root: what it finds, refuses
 * and reads. What only a kernel can answer is tests/guest/cgroup's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/apply.h"
#include "cgroup/read_tree.h"
#include "cgroup/status.h"
#include "cgroup/port.h"
#include "cgroup/tasks.h"
#include "cgroup/watch.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/worker.h"

/* --- refusals --------------------------------------------------------------------------------- */

static void expect_problem(enum dir_problem wanted, const char *word)
{
	struct dir dir = DIR_CLOSED;
	enum dir_problem problem = DIR_FINE;
	char error[GROUP_ERROR_MAX] = "";

	assert_true(dir_open(root, DIR_TO_MANAGE, &dir, &problem, error) < 0);
	assert_string_equal(dir_problem_name(problem), dir_problem_name(wanted));
	if (!strstr(error, word))
		fail_msg("'%s' does not say '%s'", error, word);
	assert_int_equal(dir.mount_fd, -1);
}

static void test_refusals(void **state)
{
	put("cg/cgroup.events", "populated 1\n");
	expect_problem(DIR_OWN_NAMESPACE, "namespace");
	assert_int_equal(tear_down(NULL), 0);
	assert_int_equal(set_up(NULL), 0);

	put("cg/cgroup.controllers", "cpu io memory pids\n");
	expect_problem(DIR_NO_CPUSET, "CONFIG_CPUSETS");
	put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t0\n");
	expect_problem(DIR_NO_CPUSET, "cgroup_disable=cpuset");
	put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t4\t1\t1\n");
	expect_problem(DIR_NO_CPUSET, "cgroup_no_v1=all");

	put("proc/self/mountinfo", "30 25 0:26 / /gone rw - cgroup2 cgroup2 rw\n");
	expect_problem(DIR_UNREADABLE, "/gone");
	put("proc/self/mountinfo", "34 25 0:30 / /v1 rw - cgroup cgroup rw,cpuset\n");
	expect_problem(DIR_V1, "version 1");
}

static void test_cpuset_not_enabled(void **state)
{
	struct groups_options options = {.root = root,
					 .workload_root = "pinfold.slice",
					 .layout = GROUPS_LAYOUT_CGROUPFS,
					 .may_write = true};
	struct groups *groups = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	put("cg/cgroup.subtree_control", "memory\n");
	if (geteuid() != 0) {
		assert_int_equal(groups_open(&options, &groups, &problem, error), -EPERM);
		assert_int_equal(problem, DIR_NOT_PERMITTED);
		return;
	}
	/* A directory in its place cannot be written even by root. */
	snprintf(path, sizeof(path), "%s/cg/cgroup.subtree_control", root);
	groups = open_fake(true);
	assert_string_equal(groups_originals(groups)->items[0].value, "memory");
	assert_non_null(strstr(get("cg/cgroup.subtree_control"), "+cpu"));
	groups_close(groups);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	groups = NULL;
	assert_true(groups_open(&options, &groups, &problem, error) < 0);
	assert_null(groups);
}

static void test_workload_root_name(void **state)
{
	static const char *const bad[] = {"", "a/b", "/"};
	char name[129];
	struct groups_options options = {.root = root, .layout = GROUPS_LAYOUT_CGROUPFS};
	struct groups *groups = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		options.workload_root = bad[i];
		problem = DIR_FINE;
		assert_int_equal(groups_open(&options, &groups, &problem, error), -EINVAL);
		assert_non_null(strstr(error, "expected the name of a top-level group"));
		assert_int_not_equal(problem, DIR_FINE);
		assert_null(groups);
	}
	/* As long as there is room for, and one more. */
	options.workload_root = name;
	memset(name, 'x', sizeof(name));
	for (size_t len = 127; len <= 128; len++) {
		struct plan_layout layout;

		name[len] = '\0';
		assert_int_equal(groups_open(&options, &groups, &problem, error),
				 len > 127 ? -EINVAL : 0);
		if (len > 127)
			continue;
		groups_port(groups).layout(groups, &layout);
		assert_string_equal(layout.root, name);
		groups_close(groups);
		name[len] = 'x';
	}
}

/* --- paths ------------------------------------------------------------------------------------ */

static void test_paths_stay_inside(void **state)
{
	struct groups *groups = open_fake(false);
	char link[128];
	int fd = -1;

	put_group("a", "", "0-15\n", false);
	snprintf(link, sizeof(link), "%s/cg/link", root);
	assert_int_equal(symlink("a", link), 0);
	assert_int_equal(dir_open_group(&groups->dir, "a", &fd), 0);
	close(fd);
	assert_int_equal(dir_open_group(&groups->dir, "", &fd), 0);
	close(fd);
	fd = -1;
	assert_true(dir_open_group(&groups->dir, "../sys", &fd) < 0);
	assert_true(dir_open_group(&groups->dir, "a/../../sys", &fd) < 0);
	assert_true(dir_open_group(&groups->dir, "link", &fd) < 0);
	assert_true(dir_open_group(&groups->dir, "/sys", &fd) < 0);
	assert_true(dir_open_group(&groups->dir, "a/cpuset.cpus", &fd) < 0);
	assert_int_equal(dir_open_group(&groups->dir, "none", &fd), -ENOENT);
	assert_int_equal(fd, -1);
	groups_close(groups);
}

static void test_split(void **state)
{
	char parent[16];
	const char *name;

	assert_int_equal(dir_split("a/b/c", parent, sizeof(parent), &name), 0);
	assert_string_equal(parent, "a/b");
	assert_string_equal(name, "c");
	assert_int_equal(dir_split("top", parent, sizeof(parent), &name), 0);
	assert_string_equal(parent, "");
	assert_int_equal(dir_split("", parent, sizeof(parent), &name), -EINVAL);
	assert_int_equal(dir_split("a/", parent, sizeof(parent), &name), -EINVAL);
	assert_int_equal(dir_split("a/..", parent, sizeof(parent), &name), -EINVAL);
	assert_int_equal(dir_split("0123456789abcdef/x", parent, sizeof(parent), &name),
			 -ENAMETOOLONG);
}

/* --- observing -------------------------------------------------------------------------------- */

static void put_pod(void)
{
	put_group("pinfold.slice", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/podb", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/poda/main", "4-7\n", "4-7\n", true);
	put_group("pinfold.slice/poda/main/inner", "", "4-7\n", true);
	put_group("pinfold.slice/poda/shared", "8-9\n", "8-9\n", false);
	put_group("pinfold.slice/poda/shared/side", "8-9\n", "8-9\n", false);
}

/* What waits is a pod: its path has one slash. */
static bool podb_waits(struct groups *groups, const char *path)
{
	assert_ptr_equal(strchr(path, '/'), strrchr(path, '/'));
	return !strcmp(path, "pinfold.slice/podb");
}

static void test_observe(void **state)
{
	static const struct {
		const char *path;
		enum group_role role;
		bool populated;
	} wanted[] = {
		{"pinfold.slice", GROUP_ROOT, true},
		{"pinfold.slice/poda", GROUP_POD, true},
		{"pinfold.slice/poda/main", GROUP_CONTAINER, true},
		{"pinfold.slice/poda/shared", GROUP_SHARED, false},
		{"pinfold.slice/poda/shared/side", GROUP_CONTAINER, false},
		{"pinfold.slice/podb", GROUP_POD, false},
	};
	struct groups *groups = open_fake(false);
	struct group_tree tree cleanup(group_tree_fini) = {0};

	assert_int_equal(read_tree(groups, NULL, &tree), -ENOENT);
	put_pod();
	assert_int_equal(read_tree(groups, NULL, &tree), 0);
	assert_int_equal(tree.nr_groups, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_string_equal(tree.groups[i].path, wanted[i].path);
		assert_int_equal(tree.groups[i].role, wanted[i].role);
		assert_int_equal(tree.groups[i].populated, wanted[i].populated);
	}
	assert_string_equal(tree.groups[2].uid, "a");
	assert_string_equal(tree.groups[2].container, "main");
	assert_string_equal(tree.groups[4].uid, "a");
	assert_string_equal(tree.groups[4].container, "side");
	assert_string_equal(tree.groups[0].uid, "");
	assert_string_equal(tree.groups[2].files[GROUP_CPUSET_CPUS], "4-7");
	assert_string_equal(tree.groups[2].files[GROUP_CPU_MAX], "max 100000");
	assert_false(tree.groups[5].unseen);
	group_tree_fini(&tree);
	tree = (struct group_tree){0};
	assert_int_equal(read_tree(groups, podb_waits, &tree), 0);
	assert_int_equal(tree.nr_groups, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(tree.groups[i].unseen, i == 5);
	groups_close(groups);
}

/* What a group is follows from its parent, and inside a pod from its name in either layout. */
static void test_roles(void **state)
{
	static const struct {
		enum group_role parent;
		const char *name;
		enum group_role role;
	} rows[] = {
		{GROUP_ROOT, "pod1", GROUP_POD},
		{GROUP_ROOT, "shared", GROUP_POD},
		{GROUP_POD, "shared", GROUP_SHARED},
		{GROUP_POD, "pinfold-pod1-shared.slice", GROUP_SHARED},
		{GROUP_POD, "-shared.slice", GROUP_CONTAINER},
		{GROUP_POD, "x.slice", GROUP_CONTAINER},
		{GROUP_POD, "pinfold-pod1-shared.scope", GROUP_CONTAINER},
		{GROUP_POD, "_shared", GROUP_CONTAINER},
		{GROUP_POD, "main", GROUP_CONTAINER},
		{GROUP_SHARED, "shared", GROUP_CONTAINER},
		{GROUP_CONTAINER, "shared", GROUP_CONTAINER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(read_role(rows[i].parent, rows[i].name), rows[i].role);
}

/* "cg/pinfold.slice/ppp…/ccc…", of so many characters without "cg/". */
static void long_path(size_t len, char ret_path[GROUP_PATH_MAX + 8])
{
	char *at = ret_path + snprintf(ret_path, GROUP_PATH_MAX + 8, "cg/pinfold.slice/");

	memset(at, 'p', NAME_MAX);
	at += NAME_MAX;
	*at++ = '/';
	memset(at, 'c', (size_t)(ret_path + 3 + len - at));
	ret_path[3 + len] = '\0';
}

/* A group whose path has no room is an error of the look; a list of processes goes without it. */
static void test_long_names(void **state)
{
	struct groups *groups = open_fake(false);
	char path[GROUP_PATH_MAX + 8], file[GROUP_PATH_MAX + 32];

	for (size_t len = GROUP_PATH_MAX - 1; len <= GROUP_PATH_MAX; len++) {
		struct group_tree tree cleanup(group_tree_fini) = {0};
		pid_t *pids = NULL;
		uint32_t nr = 0;

		long_path(len, path);
		snprintf(file, sizeof(file), "%s/cgroup.procs", path);
		put(file, "12\n");
		assert_int_equal(tasks_list(groups, "pinfold.slice", &pids, &nr), 0);
		assert_int_equal(nr, 1);
		free(pids);
		if (len == GROUP_PATH_MAX) {
			assert_int_equal(read_tree(groups, NULL, &tree), -ENAMETOOLONG);
			continue;
		}
		assert_int_equal(read_tree(groups, NULL, &tree), 0);
		assert_int_equal(tree.nr_groups, 3);
		assert_string_equal(tree.groups[2].path, path + strlen("cg/"));
	}
	groups_close(groups);
}

static void test_owners(void **state)
{
	static const struct {
		enum group_role role;
		const char *path, *uid, *container;
	} rows[] = {
		{GROUP_POD, "pinfold.slice/pod12-34", "12-34", ""},
		{GROUP_POD, "pinfold.slice/pinfold-pod12_34.slice", "12_34", ""},
		{GROUP_POD, "pinfold.slice/stranger", "", ""},
		{GROUP_CONTAINER, "x/main-app", "", "main-app"},
		{GROUP_CONTAINER, "x/_shared", "", "shared"},
		{GROUP_CONTAINER, "x/pinfold-12_34-main-app.scope", "", "main-app"},
		{GROUP_CONTAINER, "x/odd.scope", "", ""},
		{GROUP_CONTAINER, "x/pinfold-12_34-.scope", "", ""},
		{GROUP_CONTAINER, "x/pinfold-12_34.scope-x", "", ""},
		{GROUP_SHARED, "x/pinfold-pod12_34-shared.slice", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct group group = {.role = rows[i].role};

		snprintf(group.path, sizeof(group.path), "%s", rows[i].path);
		read_owner(&group, NULL);
		assert_string_equal(group.uid, rows[i].uid);
		assert_string_equal(group.container, rows[i].container);
	}
}

static void test_status(void **state)
{
	struct groups *groups = open_fake(false);
	struct group_status status;
	struct stat info;
	char path[128];

	put_pod();
	put("cg/pinfold.slice/poda/main/cpu.stat",
	    "usage_usec 1234\nuser_usec 1\nnr_throttled 5\nthrottled_usec 67\n");
	assert_int_equal(groups_status(groups, "pinfold.slice/poda/main", &status), 0);
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/main", root);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(status.cgroup_id, info.st_ino);
	assert_int_equal(status.level, 3);
	assert_true(status.populated);
	assert_int_equal(cpuset_count(&status.effective_cpus), 4);
	assert_string_equal(status.partition, "member");
	assert_false(status.is_root_partition);
	assert_int_equal(status.usage_usec, 1234);
	assert_int_equal(status.nr_throttled, 5);
	assert_int_equal(status.throttled_usec, 67);
	put("cg/pinfold.slice/poda/main/cpuset.cpus.partition", "root invalid (why)\n");
	assert_int_equal(groups_status(groups, "pinfold.slice/poda/main", &status), 0);
	assert_false(status.is_root_partition);
	put("cg/pinfold.slice/poda/main/cpuset.cpus.partition", "root\n");
	assert_int_equal(groups_status(groups, "pinfold.slice/poda/main", &status), 0);
	assert_true(status.is_root_partition);
	assert_int_equal(groups_status(groups, "pinfold.slice/none", &status), -ENOENT);
	groups_close(groups);
}

static uint64_t inode_of(const char *path)
{
	char whole[128];
	struct stat info;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	assert_int_equal(stat(whole, &info), 0);
	return info.st_ino;
}

static void test_surroundings(void **state)
{
	struct groups *groups = open_fake(false);
	struct managed_group around[5];
	uint32_t nr = 0;

	put_pod();
	put_group("init.scope", "", "0-1\n", true);
	put_group("system.slice", "", "0-1\n", true);
	put_group("user.slice", "", "0-1\n", true);
	assert_int_equal(read_surroundings(groups, around, 5, &nr), 0);
	assert_int_equal(nr, 4);
	assert_int_equal(around[0].scope, MANAGED_SELF);
	assert_int_equal(around[0].level, 0);
	assert_int_equal(around[1].scope, MANAGED_OVERLAP);
	assert_int_equal(around[1].level, 1);
	assert_int_equal(around[0].cgroup_id, inode_of("cg"));
	assert_int_equal(around[1].cgroup_id, inode_of("cg/init.scope"));
	assert_int_equal(around[2].cgroup_id, inode_of("cg/system.slice"));
	assert_int_equal(around[3].cgroup_id, inode_of("cg/user.slice"));
	assert_int_equal(read_surroundings(groups, around, 2, &nr), 0);
	assert_int_equal(nr, 2);
	memset(around, 0, sizeof(around));
	assert_int_equal(read_surroundings(groups, around, 0, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(around[0].cgroup_id, 0);
	groups_close(groups);
}

/* --- tasks ------------------------------------------------------------------------------------ */

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

/* --- applying --------------------------------------------------------------------------------- */

static int apply(struct groups *groups, const char *path, enum group_file file, const char *value,
		 char *error)
{
	struct step step = {.kind = STEP_WRITE, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	error[0] = '\0';
	return apply_step(groups, &step, error);
}

static void test_apply_reads_back(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "", "4-7\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	/* As the kernel does if the parent has none of the wanted CPUs. */
	put_group("g", "", "2-15\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "0-1", error), -EREMOTEIO);
	assert_non_null(strstr(error, "2-15"));
	assert_non_null(strstr(error, "0-1"));
	put_group("g", "", "4-5\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), -EREMOTEIO);
	/* CPUs that are offline or taken by a child partition are not missing. */
	put("sys/devices/system/cpu/online", "0-5\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	put("sys/devices/system/cpu/online", "0-15\n");
	put_group("g/child", "6-7\n", "6-7\n", true);
	put("cg/g/child/cpuset.cpus.partition", "isolated\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), 0);
	groups_close(groups);
}

static void test_apply_refuses(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "4-7\n", "4-7\n", true);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "", error), -EINVAL);
	assert_string_equal(get("cg/g/cpuset.cpus"), "4-7\n");
	assert_int_equal(apply(groups, "none", GROUP_CPUSET_CPUS, "4", error), -ENOENT);
	assert_non_null(strstr(error, "none"));
	groups_close(groups);
	groups = open_fake(false);
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_CPUS, "4-7", error), -EROFS);
	groups_close(groups);
}

static void test_partition_is_not_left_invalid(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct groups *groups;

	if (geteuid() != 0)
		skip();
	groups = open_fake(true);
	put_group("g", "4-7\n", "4-7\n", true);
	put_group("stranger", "6-9\n", "6-9\n", true);
	/* The plain file keeps the tail: the "kernel" answers "root invalid (why)". */
	put("cg/g/cpuset.cpus.partition", "xxxx invalid (why)\n");
	assert_int_equal(apply(groups, "g", GROUP_CPUSET_PARTITION, "root", error), -EREMOTEIO);
	assert_non_null(strstr(error, "why"));
	assert_non_null(strstr(error, "stranger"));
	assert_non_null(strstr(error, "6-9"));
	assert_memory_equal(get("cg/g/cpuset.cpus.partition"), "member", 6);
	groups_close(groups);
}

/* --- watching --------------------------------------------------------------------------------- */

static char changed_path[64], changed_file[64];
static unsigned int nr_changed;
static int populated_told = -1;

static void on_changed(void *self, const char *path, const char *file)
{
	snprintf(changed_path, sizeof(changed_path), "%s", path);
	snprintf(changed_file, sizeof(changed_file), "%s", file);
	nr_changed++;
}

static void on_populated(void *self, const char *path, bool populated)
{
	populated_told = populated;
}

/* What has happened, and the pause after it; false = nothing had. */
static bool turn(sd_event *event)
{
	bool any = false;

	while (sd_event_run(event, 50000) > 0)
		any = true;
	return any;
}

static void test_watch(void **state)
{
	const struct groups_sink sink = {.changed = on_changed, .populated = on_populated};
	struct group_tree tree cleanup(group_tree_fini) = {0};
	struct groups *groups = open_fake(false);
	struct groups_port port = groups_port(groups);
	sd_event *event = NULL;

	put_pod();
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(read_tree(groups, NULL, &tree), 0);
	assert_int_equal(port.rewatch(port.self, &tree), -ENOTCONN);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(sd_event_run(event, 0), 0);
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-15\n");
	assert_true(turn(event));
	assert_string_equal(changed_path, "pinfold.slice/poda/main");
	assert_string_equal(changed_file, "cpuset.cpus");
	put("cg/pinfold.slice/poda/main/cgroup.events", "populated 0\nfrozen 0\n");
	assert_true(turn(event));
	assert_int_equal(populated_told, 0);
	/* Events of a group that is no longer in the tree are ignored. */
	tree.nr_groups = 1;
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	turn(event);
	changed_path[0] = '\0';
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-14\n");
	assert_false(turn(event));
	put("cg/pinfold.slice/cpuset.cpus", "0-14\n");
	assert_true(turn(event));
	assert_string_equal(changed_path, "pinfold.slice");
	tree.nr_groups = 6;
	groups_close(groups);
	sd_event_unref(event);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A process that writes continuously causes at most one report every five milliseconds. */
static void test_watch_is_not_kept_busy(void **state)
{
	const struct groups_sink sink = {.changed = on_changed, .populated = on_populated};
	struct group_tree tree cleanup(group_tree_fini) = {0};
	struct groups *groups = open_fake(false);
	struct groups_port port = groups_port(groups);
	unsigned int nr_written = 0;
	sd_event *event = NULL;
	char path[256];
	uint64_t began;
	int fd;

	put_pod();
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(read_tree(groups, NULL, &tree), 0);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	turn(event);
	nr_changed = 0;
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/main/cgroup.procs", root);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (began = now_ms(); nr_written < 1000 || now_ms() - began < 300; nr_written++) {
		assert_int_equal(pwrite(fd, "1\n", 2, 0), 2);
		assert_true(sd_event_run(event, 0) >= 0);
	}
	close(fd);
	/* At most one read per 5 ms, however long the writes took. */
	assert_in_range(nr_changed, 1, (now_ms() - began) / 5 + 2);
	/* The last write is not lost. */
	turn(event);
	nr_changed = 0;
	put("cg/pinfold.slice/poda/main/cpuset.cpus", "0-13\n");
	assert_true(turn(event));
	assert_true(nr_changed > 0);
	groups_close(groups);
	sd_event_unref(event);
}

/* The mount's path must still refer to the hierarchy that was opened. */
static void test_check(void **state)
{
	struct groups *groups cleanup_groups = open_fake(false);
	const struct groups_port port = groups_port(groups);
	struct group_obstacle obstacle = {0};
	char place[96], aside[96];

	snprintf(place, sizeof(place), "%s/cg", root);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	assert_int_equal(port.check(port.self, &obstacle), 0);
	assert_int_equal(rename(place, aside), 0);
	assert_int_equal(port.check(port.self, &obstacle), -ENOENT);
	assert_non_null(strstr(obstacle.message, "/cg: cannot be looked up"));
	assert_int_equal(mkdir(place, 0755), 0);
	assert_int_equal(port.check(port.self, &obstacle), -EXDEV);
	assert_non_null(strstr(obstacle.message, "/cg: another file system is mounted over"));
	assert_non_null(strstr(obstacle.remedy, "unmount"));
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(rename(aside, place), 0);
	assert_int_equal(port.check(port.self, &obstacle), 0);
}

/* --- what waits ------------------------------------------------------------------------------- */

static char completed_path[GROUP_PATH_MAX];
static int completed_result;

static void on_completed(void *self, const char *path, int result, const char *error)
{
	snprintf(completed_path, sizeof(completed_path), "%s", path);
	completed_result = result;
}

static void on_looked(void *self)
{
}

static void dispatch(struct groups *groups)
{
	struct pollfd poll_fd = {.fd = worker_pool_fd(groups->pool), .events = POLLIN};

	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	worker_pool_dispatch(groups->pool);
}

/* A pipe in the place of cgroup.kill: whoever opens it to write waits for a reader. */
static void test_a_chain_that_waits(void **state)
{
	static const struct groups_sink sink = {.completed = on_completed, .looked = on_looked};
	struct step step = {
		.kind = STEP_WRITE, .file = GROUP_CPU_WEIGHT, .path = "pinfold.slice/podb/c"};
	struct group_tree tree cleanup(group_tree_fini) = {0};
	char error[GROUP_ERROR_MAX] = "", fifo[512], byte = 0;
	struct groups *groups cleanup_groups = NULL;
	int fd cleanup_close = -1;
	struct groups_port port;
	int r;

	put_group("pinfold.slice", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/poda", "\n", "2-15\n", true);
	put_group("pinfold.slice/poda/c", "2-5\n", "2-5\n", true);
	put_group("pinfold.slice/podb", "\n", "2-15\n", true);
	put_group("pinfold.slice/podb/c", "6-7\n", "6-7\n", true);
	snprintf(fifo, sizeof(fifo), "%s/cg/pinfold.slice/poda/c/cgroup.kill", root);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	groups = open_fake(true);
	port = groups_port(groups);
	assert_int_equal(worker_pool_new(4, &groups->pool), 0);
	worker_pool_set_grace(groups->pool, 1);
	groups->sink = &sink;
	assert_int_equal(port.kill(port.self, "pinfold.slice/poda/c"), -EINPROGRESS);
	/* The scan skips this pod and reads the other one. */
	while ((r = port.read_tree(port.self, &tree)) == -EINPROGRESS)
		dispatch(groups);
	assert_int_equal(r, 0);
	assert_true(group_tree_find(&tree, "pinfold.slice/poda")->unseen);
	assert_string_equal(group_tree_find(&tree, "pinfold.slice/poda")->uid, "a");
	assert_null(group_tree_find(&tree, "pinfold.slice/poda/c"));
	assert_false(group_tree_find(&tree, "pinfold.slice/podb")->unseen);
	assert_string_equal(
		group_tree_find(&tree, "pinfold.slice/podb/c")->files[GROUP_CPUSET_CPUS], "6-7");
	/* A step of the other pod works as well. */
	step.value = (char *)(uintptr_t) "777";
	r = port.apply(port.self, &step, error);
	if (r == -EINPROGRESS) {
		while (strcmp(completed_path, step.path))
			dispatch(groups);
		r = completed_result;
	}
	assert_int_equal(r, 0);
	assert_string_equal(get("cg/pinfold.slice/podb/c/cpu.weight"), "777\n");
	assert_string_not_equal(completed_path, "pinfold.slice/poda/c");
	fd = open(fifo, O_RDONLY | O_CLOEXEC);
	while (strcmp(completed_path, "pinfold.slice/poda/c"))
		dispatch(groups);
	assert_int_equal(completed_result, 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, '1');
	group_tree_fini(&tree);
	while ((r = port.read_tree(port.self, &tree)) == -EINPROGRESS)
		dispatch(groups);
	assert_false(group_tree_find(&tree, "pinfold.slice/poda")->unseen);
	assert_non_null(group_tree_find(&tree, "pinfold.slice/poda/c"));
	assert_int_equal(worker_pool_free(TAKE_PTR(groups->pool)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpuset_not_enabled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_workload_root_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_paths_stay_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_observe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_owners),
		cmocka_unit_test_setup_teardown(test_status, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_surroundings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_chain_that_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tasks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tasks_of_deep_groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tasks_have_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_outsiders, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_apply_reads_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_apply_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_partition_is_not_left_invalid, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_watch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_watch_is_not_kept_busy, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
