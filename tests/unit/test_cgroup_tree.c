// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * The tree of cgroups as it is read: paths that stay below the root, the role and the owner
 * of each group, its status and surroundings, and a pod that is left out because it waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <poll.h>

#include "cgroup/port.h"
#include "cgroup/read_tree.h"
#include "cgroup/status.h"
#include "cgroup/tasks.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/worker.h"

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
	struct group_tree tree cleanup_tree = {0};

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
		struct group_tree tree cleanup_tree = {0};
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
		struct group group = {.role = rows[i].role,
				      .path = (char *)(uintptr_t)rows[i].path};

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
	assert_true(status.is_member);
	assert_int_equal(status.usage_usec, 1234);
	assert_int_equal(status.nr_throttled, 5);
	assert_int_equal(status.throttled_usec, 67);
	put("cg/pinfold.slice/poda/main/cpuset.cpus.partition", "root invalid (why)\n");
	assert_int_equal(groups_status(groups, "pinfold.slice/poda/main", &status), 0);
	assert_false(status.is_root_partition);
	assert_false(status.is_member);
	put("cg/pinfold.slice/poda/main/cpuset.cpus.partition", "root\n");
	assert_int_equal(groups_status(groups, "pinfold.slice/poda/main", &status), 0);
	assert_true(status.is_root_partition);
	assert_int_equal(groups_status(groups, "pinfold.slice/none", &status), -ENOENT);
	groups_close(groups);
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

/* At each start a kubelet, and systemd for it, writes the lists of the cgroups of its pods. */
static void test_the_pods_of_a_kubelet_are_no_surroundings(void **state)
{
	struct groups *groups = open_fake(false);
	struct managed_group around[8];
	uint32_t nr = 0;

	put_pod();
	put_group("kubelet.slice", "", "0-15\n", true);
	put_group("kubelet.slice/kubelet-kubepods.slice", "", "0-15\n", true);
	put_group("kubepods", "", "0-15\n", true);
	put_group("kubepods.slice", "", "0-15\n", true);
	put_group("system.slice", "", "0-1\n", true);
	assert_int_equal(read_surroundings(groups, around, 8, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(around[0].scope, MANAGED_SELF);
	assert_int_equal(around[1].cgroup_id, inode_of("cg/system.slice"));
	groups_close(groups);
}

/* What was found of a cgroup is found anew when it gets a child, or loses one. */
static void test_a_kubelet_that_comes_and_goes_is_noticed(void **state)
{
	struct groups *groups = open_fake(false);
	struct managed_group around[8];
	uint32_t nr = 0;
	char path[256];

	put_pod();
	put_group("kubelet.slice", "", "0-15\n", true);
	snprintf(path, sizeof(path), "%s/cg/kubelet.slice/kubelet-kubepods.slice", root);
	for (int round = 0; round < 2; round++) {
		for (int look = 0; look < 2; look++) {
			assert_int_equal(read_surroundings(groups, around, 8, &nr), 0);
			assert_int_equal(nr, 2);
		}
		put_group("kubelet.slice/kubelet-kubepods.slice", "", "0-15\n", true);
		for (int look = 0; look < 2; look++) {
			assert_int_equal(read_surroundings(groups, around, 8, &nr), 0);
			assert_int_equal(nr, 1);
		}
		assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
	groups_close(groups);
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
	struct group_tree tree cleanup_tree = {0};
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
		cmocka_unit_test_setup_teardown(test_paths_stay_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_observe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_owners),
		cmocka_unit_test_setup_teardown(test_status, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_surroundings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_pods_of_a_kubelet_are_no_surroundings,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_kubelet_that_comes_and_goes_is_noticed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_chain_that_waits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
