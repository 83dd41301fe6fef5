// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* How groups, their processes and their names are read when the kernel refuses a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup_refused_scene.h"
#include "cgroup/read_tree.h"
#include "cgroup/tasks.h"

static ino_t inode_behind(int fd)
{
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	return info.st_ino;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Old kernels have no openat2, and old seccomp filters reject unknown system calls. */
static void groups_are_opened_without_openat2(void **state)
{
	static const int refusals[] = {ENOSYS, EPERM};
	const struct dir nowhere = DIR_CLOSED;
	char link[128], deep[GROUP_PATH_MAX + 8];
	unsigned int nr_before;
	int fd;

	snprintf(link, sizeof(link), "%s/cg/link", root);
	assert_int_equal(symlink("pinfold.slice", link), 0);
	memset(deep, 'x', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	nr_before = nr_open();
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		refuse("openat2", NULL, refusals[i]);
		fd = -1;
		assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice/poda", &fd), 0);
		assert_int_equal(inode_behind(fd), inode_of("cg/pinfold.slice/poda"));
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		close(fd);
		assert_int_equal(dir_open_group(&groups->dir, "", &fd), 0);
		assert_int_equal(inode_behind(fd), inode_of("cg"));
		close(fd);
		fd = -1;
		assert_int_equal(dir_open_group(&groups->dir, "../sys", &fd), -EXDEV);
		assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice/../../sys", &fd),
				 -EXDEV);
		assert_int_equal(dir_open_group(&groups->dir, "none", &fd), -ENOENT);
		assert_true(dir_open_group(&groups->dir, "link", &fd) < 0);
		deep[GROUP_PATH_MAX] = 'x';
		assert_int_equal(dir_open_group(&groups->dir, deep, &fd), -ENAMETOOLONG);
		deep[GROUP_PATH_MAX] = '\0';
		assert_int_equal(dir_open_group(&groups->dir, deep, &fd), -ENAMETOOLONG);
		assert_int_equal(dir_open_group(&nowhere, "x", &fd), -EBADF);
		assert_int_equal(fd, -1);
		assert_true(nr_refused() >= 8);
		assert_int_equal(nr_open(), nr_before);
	}
	/* Any other error is a result. */
	refuse("openat2", NULL, EMFILE);
	assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice", &fd), -EMFILE);
	assert_int_equal(fd, -1);
}

static void uncached_names_are_not_waited_for(void **state)
{
	int fd = -1;

	assert_int_equal(dir_open_cached(&groups->dir, "/pinfold.slice", &fd), -EINVAL);
	/*
	 * A name that nobody has looked up yet; finding that it does not exist takes the
	 * directory's lock.
	 */
	assert_int_equal(dir_open_cached(&groups->dir, "never-asked-for", &fd), -EAGAIN);
	assert_int_equal(dir_open_group(&groups->dir, "never-asked-for", &fd), -ENOENT);
	assert_int_equal(fd, -1);
}

static void entries_need_a_directory_and_a_descriptor(void **state)
{
	const unsigned int nr_before = nr_open();
	DIR *entries = NULL;
	uint64_t id = 7;

	assert_int_equal(file_open_dir(-1, ".", &entries), -EBADF);
	assert_null(entries);
	assert_int_equal(dir_group_id(-1, &id), -EBADF);
	assert_int_equal(id, 7);
	assert_int_equal(nr_open(), nr_before);
}

static void a_name_is_split_off_its_parent(void **state)
{
	static const char *const odd[] = {"", "a/", ".", "a/.", "..", "a/.."};
	char parent[8] = "kept";
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		assert_int_equal(dir_split(odd[i], parent, sizeof(parent), &name), -EINVAL);
	assert_int_equal(dir_split("12345678/x", parent, sizeof(parent), &name), -ENAMETOOLONG);
	assert_string_equal(parent, "kept");
	assert_null(name);
	assert_int_equal(dir_split("1/345/x", parent, sizeof(parent), &name), 0);
	assert_string_equal(parent, "1/345");
	assert_string_equal(name, "x");
}

/* The error of an earlier call must not be reported. */
static void a_group_is_opened_at_once(void **state)
{
	int fd cleanup_close = -1;

	refuse("openat", ".", EMFILE);
	errno = EPERM;
	assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice", &fd), 0);
	assert_int_equal(nr_refused(), 0);
}

static void online_cpus_are_read_or_unknown(void **state)
{
	struct cpuset online = CPUSET_EMPTY, offline, all;
	char path[128];

	assert_int_equal(dir_online(&groups->dir, &online), 0);
	assert_int_equal(cpuset_count(&online), 16);
	/* If the state is not known, no CPU is reported as offline. */
	put("sys/devices/system/cpu/online", "0-7\n");
	all = online;
	dir_offline(&groups->dir, &all, &offline);
	assert_int_equal(cpuset_count(&offline), 8);
	put("sys/devices/system/cpu/online", "many\n");
	dir_offline(&groups->dir, &all, &offline);
	assert_true(cpuset_is_empty(&offline));
	assert_true(dir_online(&groups->dir, &online) < 0);
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(dir_online(&groups->dir, &online), -ENOENT);
	assert_int_equal(cpuset_count(&online), 16);
}

static void an_obstacle_is_named_with_its_remedy(void **state)
{
	struct group_obstacle obstacle = {0};

	assert_int_equal(port.check(port.self, &obstacle), 0);
	assert_string_equal(obstacle.message, "");
	refuse("fstatvfs", NULL, EIO);
	assert_int_equal(port.check(port.self, &obstacle), -EIO);
	assert_string_equal(obstacle.message, "/cg: cannot be examined: Input/output error");
	assert_string_equal(obstacle.remedy, "see the kernel log");
	refuse_nothing();
	mount_flags = ST_RDONLY;
	assert_int_equal(port.check(port.self, &obstacle), -EROFS);
	assert_string_equal(obstacle.message, "/cg: the cgroup file system is read-only");
	assert_string_equal(obstacle.remedy, "remount it: mount -o remount,rw");
	mount_flags = 0;
	is_mounted_over = true;
	assert_int_equal(port.check(port.self, &obstacle), -EXDEV);
	assert_string_equal(obstacle.message,
			    "/cg: another file system is mounted over the cgroups");
	is_mounted_over = false;
	refuse("openat2", "pinfold.slice", EXDEV);
	assert_int_equal(port.check(port.self, &obstacle), -EXDEV);
	assert_string_equal(obstacle.message,
			    "/cg/pinfold.slice: another file system is mounted over it");
	assert_string_equal(obstacle.remedy, "unmount what covers it");
	/*
	 * A workload root that does not exist, or cannot be opened for another reason, is
	 * not an obstacle.
	 */
	refuse("openat2", "pinfold.slice", EACCES);
	assert_int_equal(port.check(port.self, &obstacle), 0);
	assert_string_equal(dir_open_cause(-EXDEV), "something is mounted over it; unmount it");
	assert_string_equal(dir_open_cause(-EACCES), strerror(EACCES));
}

static void an_observer_needs_no_writable_mount(void **state)
{
	const struct groups_options options = {.root = root,
					       .workload_root = "pinfold.slice",
					       .layout = GROUPS_LAYOUT_CGROUPFS,
					       .purpose = DIR_TO_OBSERVE};
	struct group_obstacle obstacle = {0};
	char error[GROUP_ERROR_MAX] = "";
	struct groups *others = NULL;
	enum dir_problem problem;
	struct groups_port other;

	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	other = groups_port(others);
	mount_flags = ST_RDONLY;
	assert_int_equal(port.check(port.self, &obstacle), -EROFS);
	assert_int_equal(other.check(other.self, &obstacle), 0);
	mount_flags = 0;
	groups_close(others);
}

/* --- lists of processes ----------------------------------------------------------------------- */

/* The processes of a threaded group are its root's, and a dying group has none. */
static void a_group_without_a_list_has_no_processes(void **state)
{
	static const struct {
		int error, result;
	} rows[] = {{EOPNOTSUPP, 0}, {ENODEV, 0}, {ENOENT, 0}, {EIO, -EIO}, {EACCES, -EACCES}};

	put("cg/pinfold.slice/poda/cgroup.procs", "12\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t *pids = NULL;
		uint32_t nr = 99;

		refuse("openat", "cgroup.procs", rows[i].error);
		assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &pids, &nr),
				 rows[i].result);
		assert_int_equal(nr, rows[i].result ? 99 : 0);
		assert_null(pids);
		/* One that goes while it is walked has nothing below it either. */
		refuse("openat", ".", rows[i].error);
		if (rows[i].error == ENOENT || rows[i].result) {
			assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &pids, &nr),
					 rows[i].result);
			free(pids);
		}
	}
	/* Nor has one that goes before it is opened. */
	put_group("pinfold.slice/poda/main", "", "4-7\n", true);
	put("cg/pinfold.slice/poda/main/cgroup.procs", "13\n");
	refuse("openat", "main", ENOENT);
	for (uint32_t wanted = 1; wanted <= 2; wanted++) {
		pid_t *pids = NULL;
		uint32_t nr = 0;

		assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &pids, &nr), 0);
		assert_int_equal(nr, wanted);
		free(pids);
		refuse_nothing();
	}
	/* One list that cannot be read spoils the whole, whichever comes after it. */
	put_group("pinfold.slice/poda/other", "", "4-7\n", true);
	refuse_some("openat", "cgroup.procs", EIO, 1, 1);
	assert_int_equal(port.tasks(port.self, "pinfold.slice/poda", &(pid_t *){NULL},
				    &(uint32_t){0}),
			 -EIO);
}

/* --- very many groups ------------------------------------------------------------------------- */

/* So many groups come after the entries of the directory that is listed next, and go at once. */
static unsigned int nr_more_groups;

struct dirent *readdir(DIR *entries)
{
	static struct dirent more = {.d_type = DT_DIR};
	struct dirent *entry = LIBC(readdir)(entries);

	if (entry || !nr_more_groups)
		return entry;
	snprintf(more.d_name, sizeof(more.d_name), "more%u", nr_more_groups--);
	return &more;
}

static void too_many_groups_are_not_ours(void **state)
{
	struct managed_group around[4];
	uint32_t nr_around = 99;

	/* Beside poda. */
	for (unsigned int nr = 65535; nr <= 65536; nr++) {
		struct group_tree tree cleanup_tree = {0};

		nr_more_groups = nr;
		assert_int_equal(read_tree(groups, NULL, &tree), nr > 65535 ? -E2BIG : 0);
		assert_int_equal(tree.nr_groups, nr > 65535 ? 0 : 2);
	}
	/* Nor is anything told of those around, though some of them are known. */
	put_group("system.slice", "", "0-1\n", true);
	nr_more_groups = 65536;
	assert_int_equal(read_surroundings(groups, around, 4, &nr_around), -E2BIG);
	assert_int_equal(nr_around, 99);
	nr_more_groups = 0;
}

/* --- names of groups -------------------------------------------------------------------------- */

static struct {
	uint64_t id;
	const char *path; /* below the movable root; NULL = errno is `error` */
	int error;
} handle;

/* Only cgroups can be opened by id; here one id stands for one directory. */
int open_by_handle_at(int fd, struct file_handle *wanted, int flags)
{
	char whole[512];
	uint64_t id;

	memcpy(&id, wanted->f_handle, sizeof(id));
	if (wanted->handle_type != 0xfe || wanted->handle_bytes != sizeof(id) ||
	    fd != groups->dir.mount_fd || id != handle.id) {
		errno = ESTALE;
		return -1;
	}
	errno = handle.error;
	snprintf(whole, sizeof(whole), "%s/%s", root, handle.path ? handle.path : "");
	return handle.path ? open(whole, flags) : -1;
}

static void a_group_is_named_by_its_id(void **state)
{
	const unsigned int nr_before = nr_open();
	struct dir dir = groups->dir;
	char path[64] = "untouched", small[8] = "small", whole[256];

	/* As on a real machine, whose root directory is "/". */
	assert_true((size_t)snprintf(dir.mount_path, sizeof(dir.mount_path), "%s/cg", root) <
		    sizeof(dir.mount_path));
	handle.path = NULL;
	handle.id = 1ULL << 40 | 5;
	handle.error = EPERM;
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), -EPERM);
	handle.error = ESTALE;
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), -ENOENT);
	handle.path = "sys";
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), -EXDEV);
	handle.path = "cg/pinfold.slice/poda";
	assert_int_equal(dir_path_of(&dir, handle.id, small, sizeof(small)), -ENAMETOOLONG);
	assert_string_equal(path, "untouched");
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), 0);
	assert_string_equal(path, "pinfold.slice/poda");
	assert_int_equal(dir_path_of(&dir, handle.id, path, strlen(path)), -ENAMETOOLONG);
	assert_int_equal(dir_path_of(&dir, handle.id, path, strlen("pinfold.slice/poda") + 1), 0);
	handle.path = "cg";
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), 0);
	assert_string_equal(path, "");
	/* A group may have the name of a removed group, so its id is compared. */
	snprintf(whole, sizeof(whole), "%s/cg/x (deleted)", root);
	assert_int_equal(mkdir(whole, 0755), 0);
	handle.path = "cg/x (deleted)";
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), -ENOENT);
	handle.id = inode_of("cg/x (deleted)");
	assert_int_equal(dir_path_of(&dir, handle.id, path, sizeof(path)), 0);
	assert_string_equal(path, "x (deleted)");
	assert_int_equal(nr_open(), nr_before);
}

/* A group of which nothing can be said may be one of docker's. */
static void outsiders_that_cannot_be_read_are_unknown(void **state)
{
	char scope[64];
	uint32_t nr = 99;

	put_group("system.slice", "", "0-15\n", true);
	put_group("system.slice/docker-1.scope", "", "0-15\n", true);
	refuse("openat", "docker-1.scope", EMFILE);
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), -EMFILE);
	refuse("openat", "cgroup.events", ENOMEM);
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), -ENOMEM);
	assert_int_equal(nr, 99);
	/* One that has gone has nothing in it. */
	refuse("openat", "docker-1.scope", ENOENT);
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	assert_string_equal(scope, "");
	refuse("openat", "cgroup.events", ENODEV);
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	refuse_nothing();
	assert_int_equal(tasks_outsiders(groups, &nr, scope, sizeof(scope)), 0);
	assert_string_equal(scope, "system.slice/docker-1.scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		REFUSED_TEST(groups_are_opened_without_openat2),
		REFUSED_TEST(uncached_names_are_not_waited_for),
		REFUSED_TEST(entries_need_a_directory_and_a_descriptor),
		REFUSED_TEST(a_name_is_split_off_its_parent),
		REFUSED_TEST(a_group_is_opened_at_once),
		REFUSED_TEST(online_cpus_are_read_or_unknown),
		REFUSED_TEST(an_obstacle_is_named_with_its_remedy),
		REFUSED_TEST(an_observer_needs_no_writable_mount),
		REFUSED_TEST(a_group_without_a_list_has_no_processes),
		REFUSED_TEST(too_many_groups_are_not_ours),
		REFUSED_TEST(a_group_is_named_by_its_id),
		REFUSED_TEST(outsiders_that_cannot_be_read_are_unknown),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
