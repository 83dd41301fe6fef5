// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the cgroup room does when the kernel refuses a call: it names what failed, why and
 * what to do, leaves the rest as it was, and takes the slower way where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"

#include "cgroup/apply.h"
#include "cgroup/originals.h"
#include "cgroup/remove.h"
#include "cgroup/watch.h"
#include "cgroup/read_tree.h"
#include "cgroup/tasks.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/log.h"

static struct groups *groups;
static struct groups_port port;

static int open_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	if (r || geteuid())
		return r;
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	groups = open_fake(true);
	port = groups_port(groups);
	files_go_with_their_group = true;
	return 0;
}

static int close_scene(void **state)
{
	refuse_nothing();
	files_go_with_their_group = false;
	mount_flags = 0;
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

static int do_step(enum step_kind kind, const char *path, enum group_file file, const char *value,
		   char *error)
{
	struct step step = {.kind = kind, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	error[0] = '\0';
	return port.apply(port.self, &step, error);
}

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

	assert_int_equal(dir_entries(-1, &entries), -EBADF);
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
		struct group_tree tree cleanup(group_tree_fini) = {0};

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

/* --- controllers ------------------------------------------------------------------------------ */

static void a_refused_controller_is_explained(void **state)
{
	static const struct {
		int err;
		const char *part;
	} rows[] = {
		{EBUSY, "cannot enable cpuset for its children: it has processes itself"},
		{EINVAL, "the kernel refuses cpuset in cgroup.subtree_control; with"},
		{EPERM, "not permitted to enable cpuset in cgroup.subtree_control (Operation not"},
		{EACCES, "its owner must run there: echo +cpuset > cgroup.subtree_control"},
		{EROFS, "(Read-only file system); its owner must"},
		{EIO, "cannot write +cpuset to cgroup.subtree_control: Input/output error"},
	};
	char error[GROUP_ERROR_MAX];
	int fd cleanup_close = -1;

	assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice/poda", &fd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refuse("write", "+cpuset", rows[i].err);
		expect_failure(-rows[i].err, dir_enable_controllers(fd, "a/b", error), error,
			       rows[i].part);
		assert_ptr_equal(strstr(error, "a/b: "), error);
		expect_failure(-rows[i].err, dir_enable_controllers(fd, "", error), error,
			       rows[i].part);
		assert_ptr_equal(strstr(error, "the root cgroup: "), error);
	}
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.subtree_control"), "\n");
	/* Without the other controllers a pod runs, but without weight or memory limit. */
	refuse("write", "+cpu", EBUSY);
	assert_int_equal(dir_enable_controllers(fd, "a/b", error), 0);
	assert_int_equal(nr_refused(), 1);
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.subtree_control"), "+memory");
}

static bool is_not_root;

uid_t geteuid(void)
{
	return is_not_root ? 1000 : LIBC(geteuid)();
}

/* An agent that may not enable cpuset in the root cgroup cannot start, unless it writes nothing. */
static void unusable_root_is_reported(void **state)
{
	const struct groups_options options = {.root = root,
					       .workload_root = "pinfold.slice",
					       .layout = GROUPS_LAYOUT_CGROUPFS,
					       .may_write = true};
	const unsigned int nr_before = nr_open();
	char error[GROUP_ERROR_MAX] = "";
	struct groups *others = NULL;
	enum dir_problem problem;

	put("cg/cgroup.subtree_control", "memory\n");
	refuse("write", "+cpuset", EPERM);
	expect_failure(-EOPNOTSUPP, groups_open(&options, &others, &problem, error), error,
		       "the root cgroup: not permitted to enable cpuset");
	assert_int_equal(problem, DIR_CPUSET_NOT_ENABLED);
	assert_null(others);
	assert_int_equal(nr_open(), nr_before);
	/* Who is not root does not try. */
	is_not_root = true;
	expect_failure(-EPERM, groups_open(&options, &others, &problem, error), error,
		       "changing cgroups requires root, but the user id is 1000");
	is_not_root = false;
	assert_int_equal(problem, DIR_NOT_PERMITTED);
	assert_null(others);
	others = open_fake(false);
	assert_int_equal(nr_refused(), 1);
	groups_close(others);
}

static void only_missing_controllers_are_enabled(void **state)
{
	char error[GROUP_ERROR_MAX];
	int fd cleanup_close = -1;

	assert_int_equal(dir_open_group(&groups->dir, "pinfold.slice/poda", &fd), 0);
	put("cg/pinfold.slice/poda/cgroup.subtree_control", "cpuset memory\n");
	assert_int_equal(dir_enable_controllers(fd, "a", error), 0);
	/* One write over the beginning of a plain file. */
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.subtree_control"), "+cpuet memory\n");
	put("cg/pinfold.slice/poda/cgroup.subtree_control", "");
	put("cg/pinfold.slice/poda/cgroup.controllers", "cpuset pids\n");
	assert_int_equal(dir_enable_controllers(fd, "a", error), 0);
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.subtree_control"), "+cpuset");
}

/* The workload root enables the controllers for its children from the start. */
static void workload_root_enables_controllers(void **state)
{
	char error[GROUP_ERROR_MAX];

	/* Opening the room did that; a plain file shows the last write. */
	assert_string_equal(get("cg/pinfold.slice/cgroup.subtree_control"), "+memory");
	put("cg/pinfold.slice/cgroup.subtree_control", "");
	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice", 0, NULL, error), 0);
	assert_string_equal(get("cg/pinfold.slice/cgroup.subtree_control"), "+memory");
	/* This does not apply to other top-level groups. */
	put("cg/pinfold.slice/cgroup.subtree_control", "");
	assert_int_equal(do_step(STEP_CREATE, "other.slice", 0, NULL, error), 0);
	assert_string_equal(get("cg/pinfold.slice/cgroup.subtree_control"), "");
	put("cg/pinfold.slice/cgroup.controllers", "cpu\n");
	expect_failure(-EOPNOTSUPP, do_step(STEP_CREATE, "pinfold.slice", 0, NULL, error), error,
		       "pinfold.slice has no cpuset controller");
	refuse("openat2", "pinfold.slice", EXDEV);
	expect_failure(-EXDEV, do_step(STEP_CREATE, "pinfold.slice", 0, NULL, error), error,
		       "pinfold.slice: cannot open the group: something is mounted over it");
}

/* The lines logged while the room is opened. */
static const char *opening_says(void)
{
	static char text[512];
	int pipe_fds[2], before = dup(STDERR_FILENO);
	ssize_t len;

	groups_close(groups);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
	log_set_level(LOG_LEVEL_WARN);
	groups = open_fake(true);
	log_set_level(LOG_LEVEL_ERR);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	len = read(pipe_fds[0], text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(before);
	return text;
}

/* If the workload root cannot do that, the first pod fails; until then only the log says so. */
static void failure_to_enable_controllers_is_logged(void **state)
{
	char path[128], aside[128];

	assert_string_equal(opening_says(), "");
	put("cg/pinfold.slice/cgroup.controllers", "cpu\n");
	assert_non_null(strstr(opening_says(), "cgroup: pinfold.slice has no cpuset controller"));
	/* A workload root that does not exist yet has nothing to enable. */
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice", root);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	assert_int_equal(rename(path, aside), 0);
	assert_string_equal(opening_says(), "");
}

static void failed_creation_is_reported(void **state)
{
	struct step step = {.kind = STEP_CREATE, .path = "pinfold.slice/podc"};
	char error[GROUP_ERROR_MAX];

	assert_int_equal(groups->manager->create(groups, &step, error), 0);
	expect_failure(-EINVAL, do_step(STEP_CREATE, "pinfold.slice/..", 0, NULL, error), error,
		       "pinfold.slice/..: cannot open its parent");
	refuse("mkdirat", "podb", EAGAIN);
	expect_failure(-EAGAIN, do_step(STEP_CREATE, "pinfold.slice/podb", 0, NULL, error), error,
		       "pinfold.slice/podb: cannot create the group: an ancestor has reached its "
		       "limit of cgroups; raise its cgroup.max.descendants");
	refuse("mkdirat", "podb", ENOSPC);
	expect_failure(-ENOSPC, do_step(STEP_CREATE, "pinfold.slice/podb", 0, NULL, error), error,
		       "pinfold.slice/podb: cannot create the group: No space left on device");
	assert_false(exists("cg/pinfold.slice/podb"));
}

/* --- joining ---------------------------------------------------------------------------------- */

static void a_refused_join_is_explained(void **state)
{
	char error[GROUP_ERROR_MAX] = "";

	refuse("write", "12", EBUSY);
	expect_failure(-EBUSY, groups->manager->join(groups, "pinfold.slice/poda", 12, error),
		       error,
		       "pinfold.slice/poda: cannot accept process 12: the container has enabled");
	refuse("write", "12", ENOSPC);
	expect_failure(-ENOSPC, groups->manager->join(groups, "pinfold.slice/poda", 12, error),
		       error,
		       "pinfold.slice/poda/cgroup.procs: cannot write '12': processes would have");
	refuse_nothing();
	assert_int_equal(groups->manager->join(groups, "pinfold.slice/poda", 12, error), 0);
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.procs"), "12");
}

/* What procfs would say of it. */
static void show_process(pid_t pid, const char *cgroup)
{
	char name[64], text[2 * GROUP_PATH_MAX];

	snprintf(name, sizeof(name), "proc/%d/stat", pid);
	put(name, "7 (a) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "0::/%s\n", cgroup);
	put(name, text);
}

/* The test itself, as the process that wants to join. */
static int show_self(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	assert_true(pidfd >= 0);
	show_process(getpid(), "pinfold.slice/poda");
	return pidfd;
}

/* A descriptor that is none, or not of a process, or of another one. */
static void pid_alone_identifies_no_process(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	int pidfd cleanup_close = show_self();
	const int wrong[] = {-1, groups->dir.mount_fd};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		expect_failure(-ESRCH,
			       tasks_join(groups, "pinfold.slice/poda", getpid(), wrong[i], error),
			       error, "has ended; nothing was moved");
	show_process(getpid() + 1, "pinfold.slice/poda");
	expect_failure(-ESRCH, tasks_join(groups, "pinfold.slice/poda", getpid() + 1, pidfd, error),
		       error, "has ended; nothing was moved");
	assert_string_equal(get("cg/pinfold.slice/poda/cgroup.procs"), "");
}

static void joined_process_may_run_on_the_whole_group(void **state)
{
	char error[GROUP_ERROR_MAX] = "", text[GROUP_PATH_MAX + 1];
	int pidfd cleanup_close = show_self();

	refuse("sched_setaffinity", NULL, EPERM);
	expect_failure(-EPERM, tasks_join(groups, "pinfold.slice/poda", getpid(), pidfd, error),
		       error, "its affinity cannot be widened: Operation not permitted");
	/* It has ended since: that it moved is true all the same. */
	*error = '\0';
	refuse("sched_setaffinity", NULL, ESRCH);
	assert_int_equal(tasks_join(groups, "pinfold.slice/poda", getpid(), pidfd, error), 0);
	assert_string_equal(error, "");
	refuse_nothing();
	assert_int_equal(tasks_join(groups, "pinfold.slice/poda", getpid(), pidfd, error), 0);
	assert_string_equal(error, "");
	/* Where it is now must be readable, however long it is. */
	for (size_t len = GROUP_PATH_MAX - 1; len <= GROUP_PATH_MAX; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		show_process(getpid(), text);
		assert_int_equal(tasks_join(groups, "pinfold.slice/poda", getpid(), pidfd, error),
				 len < GROUP_PATH_MAX ? -EREMOTEIO : -ENAMETOOLONG);
	}
}

/* --- partitions that are removed -------------------------------------------------------------- */

static void partition_becomes_a_member_before_removal(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "isolated\n");
	refuse("unlinkat", "poda", EPERM);
	expect_failure(-EPERM, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Operation not permitted");
	assert_string_equal(get("cg/pinfold.slice/poda/cpuset.cpus.partition"), "membered\n");
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	refuse("write", "member", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Permission denied");
	assert_true(exists("cg/pinfold.slice/poda"));
	/* An invalid partition is not written to. */
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root invalid (x)\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_int_equal(nr_refused(), 1);
	assert_false(exists("cg/pinfold.slice/poda"));
}

static void put_partition(const char *cpus)
{
	put_group("pinfold.slice/poda", cpus, cpus, false);
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "isolated\n");
}

/* Its CPUs cannot be granted before the kernel has returned them. */
/* Without the parent it cannot be removed, so it keeps its CPUs. */
static void partition_stays_if_its_parent_cannot_be_opened(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	refuse("openat2", "pinfold.slice", EMFILE);
	expect_failure(-EMFILE, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Too many open files");
	assert_string_equal(get("cg/pinfold.slice/poda/cpuset.cpus.partition"), "root\n");
}

static void the_cpus_of_a_partition_are_awaited(void **state)
{
	char error[GROUP_ERROR_MAX], path[128];

	put_partition("4-7\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	put_partition("4-7\n");
	put("cg/pinfold.slice/cpuset.cpus.effective", "2-3,5-15\n");
	expect_failure(-ETIMEDOUT, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error),
		       error,
		       "pinfold.slice/poda: removed, but its CPUs are not back in the parent's "
		       "cpuset.cpus.effective after 100 ms");
	assert_false(exists("cg/pinfold.slice/poda"));
	/* An offline CPU is not returned. */
	put_partition("4-7\n");
	put("sys/devices/system/cpu/online", "0-3,5-15\n");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	/* A group that was not a partition held no CPUs. */
	put("sys/devices/system/cpu/online", "0-15\n");
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	put_partition("4-7\n");
	put("cg/pinfold.slice/cpuset.cpus.effective", "odd\n");
	assert_true(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error) < 0);
	assert_non_null(strstr(error, "removed, but its CPUs are not back"));
	/* The parent no longer exists either. */
	put_partition("4-7\n");
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/cpuset.cpus.effective", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
}

static void busy_or_unreadable_group_is_not_removed(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/pinfold.slice/poda/cgroup.events", "populated 1\n");
	expect_failure(-EBUSY, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: still has processes; it is removed when the last");
	put("cg/pinfold.slice/poda/cgroup.events", "populated 0\n");
	refuse("openat2", "pinfold.slice/poda", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot open the group: Permission denied");
	refuse("openat2", "pinfold.slice", EACCES);
	expect_failure(-EACCES, do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), error,
		       "pinfold.slice/poda: cannot remove the group: Permission denied");
	assert_true(exists("cg/pinfold.slice/poda"));
	/* If the events cannot be read, the removal is tried and the kernel decides. */
	refuse("openat", "cgroup.events", ENODEV);
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_false(exists("cg/pinfold.slice/poda"));
}

/* --- the whole undone -------------------------------------------------------------------------- */

/* What fails first is told, and keeps nothing else from being tried. */
static void uninstall_reports_the_first_failure(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	refuse("openat2", "pinfold.slice", EACCES);
	expect_failure(-EACCES, groups_uninstall(groups, NULL, &nr_left, error), error,
		       "cannot read the groups below pinfold.slice: Permission denied");
	assert_int_equal(nr_left, 0);
	put("cg/pinfold.slice/cgroup.events", "populated 1\n");
	put_group("pinfold.slice/podb", "8-9\n", "8-9\n", true);
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root\n");
	put("cg/pinfold.slice/podb/cpuset.cpus.partition", "isolated\n");
	put("sys/devices/system/cpu/possible", "0-15\n");
	put("sys/devices/system/node/has_memory", "0\n");
	refuse("write", "member", EBUSY);
	/* Leaves first, and of leaves the last. */
	expect_failure(
		-EBUSY, groups_uninstall(groups, NULL, &nr_left, error), error,
		"pinfold.slice/podb: cannot make the partition a member: Device or resource");
	/* Once for podb, and for poda again, which is not removed as one; the root is a member. */
	assert_int_equal(nr_refused(), 3);
	assert_int_equal(nr_left, 2);
	assert_true(exists("cg/pinfold.slice/poda"));
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus.partition"), "member\n");
	assert_string_equal(get("cg/pinfold.slice/podb/memory.max"), "max\n");
	/* A group without such a file is no partition. */
	refuse("openat", "cpuset.cpus.partition", ENOENT);
	*error = '\0';
	put("cg/pinfold.slice/cgroup.events", "populated 0\n");
	put("cg/pinfold.slice/podb/cgroup.events", "populated 0\n");
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), 0);
	assert_string_equal(error, "");
	assert_int_equal(nr_left, 0);
	assert_false(exists("cg/pinfold.slice"));
}

static void uninstall_reports_a_group_that_cannot_be_opened(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left;

	refuse("openat2", "pinfold.slice/poda", EMFILE);
	expect_failure(-EMFILE, groups_uninstall(groups, NULL, &nr_left, error), error,
		       "pinfold.slice/poda: cannot make the partition a member: Too many open");
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

/* --- read back and put back -------------------------------------------------------------------- */

static void unreadable_group_is_not_read_back(void **state)
{
	char error[GROUP_ERROR_MAX];

	refuse_some("openat2", "pinfold.slice/poda", EXDEV, 1, 0);
	expect_failure(-EXDEV,
		       do_step(STEP_WRITE, "pinfold.slice/poda", GROUP_CPUSET_PARTITION, "member",
			       error),
		       error, "pinfold.slice/poda/cpuset.cpus.partition: cannot read it back");
	/* If the siblings cannot be read, no obstacle is named. */
	put("cg/pinfold.slice/poda/cpuset.cpus.partition", "root invalid (x)\n");
	put_group("pinfold.slice/podb", "4-7\n", "4-7\n", false);
	refuse("openat2", "pinfold.slice", EMFILE);
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/poda", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: x; the parent must be a partition root");
}

static int put_back(const char *path, const char *file, const char *value, char *error)
{
	struct original item = {.value = (char *)value};
	const struct originals originals = {1, &item};

	snprintf(item.path, sizeof(item.path), "%s", path);
	snprintf(item.file, sizeof(item.file), "%s", file);
	*error = '\0';
	return originals_restore(groups, &originals, error);
}

/* Only controllers that were disabled before and are enabled now are disabled. */
static void controllers_are_restored(void **state)
{
	char error[GROUP_ERROR_MAX];

	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-memory", EIO);
	expect_failure(-EIO, put_back("", "cgroup.subtree_control", "pids", error), error,
		       "the root cgroup/cgroup.subtree_control: cannot put back 'pids': Input");
	/* A unit needs it now. */
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpuset", EBUSY);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), 0);
	assert_int_equal(nr_refused(), 1);
	/* A failure does not keep the other controllers enabled. */
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpuset", EIO);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), -EIO);
	assert_memory_equal(get("cg/cgroup.subtree_control"), "-memory", 7);
	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	refuse("write", "-cpu", EIO);
	assert_int_equal(put_back("", "cgroup.subtree_control", "pids", error), 0);
	assert_int_equal(nr_refused(), 0);
	refuse("openat", "cgroup.subtree_control", EACCES);
	expect_failure(-EACCES, put_back("", "cgroup.subtree_control", "pids", error), error,
		       "cannot put back 'pids': Permission denied");
}

static void unchanged_values_are_not_written(void **state)
{
	struct original items[] = {
		{.path = "pinfold.slice", .file = "cpu.weight", .value = (char *)"7"},
		{.path = "pinfold.slice", .file = "memory.max", .value = (char *)"8"},
	};
	const struct originals originals = {ARRAY_SIZE(items), items};
	char error[GROUP_ERROR_MAX];

	refuse("write", NULL, EIO);
	assert_int_equal(put_back("pinfold.slice", "cpu.weight", "100", error), 0);
	assert_int_equal(nr_refused(), 0);
	/* If two values cannot be restored, the first one is reported. */
	expect_failure(-EIO, originals_restore(groups, &originals, error), error,
		       "pinfold.slice/cpu.weight: cannot put back '7'");
	assert_int_equal(nr_refused(), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_are_opened_without_openat2),
		TEST(uncached_names_are_not_waited_for),
		TEST(entries_need_a_directory_and_a_descriptor),
		TEST(a_name_is_split_off_its_parent),
		TEST(a_group_is_opened_at_once),
		TEST(online_cpus_are_read_or_unknown),
		TEST(an_obstacle_is_named_with_its_remedy),
		TEST(a_group_without_a_list_has_no_processes),
		TEST(too_many_groups_are_not_ours),
		TEST(a_refused_controller_is_explained),
		TEST(unusable_root_is_reported),
		TEST(only_missing_controllers_are_enabled),
		TEST(workload_root_enables_controllers),
		TEST(failure_to_enable_controllers_is_logged),
		TEST(failed_creation_is_reported),
		TEST(a_refused_join_is_explained),
		TEST(pid_alone_identifies_no_process),
		TEST(joined_process_may_run_on_the_whole_group),
		TEST(partition_becomes_a_member_before_removal),
		TEST(the_cpus_of_a_partition_are_awaited),
		TEST(busy_or_unreadable_group_is_not_removed),
		TEST(uninstall_reports_the_first_failure),
		TEST(uninstall_reports_a_group_that_cannot_be_opened),
		TEST(a_group_is_named_by_its_id),
		TEST(unreadable_group_is_not_read_back),
		TEST(controllers_are_restored),
		TEST(unchanged_values_are_not_written),
		TEST(partition_stays_if_its_parent_cannot_be_opened),
	};

	log_open("test", LOG_LEVEL_ERR);
	/* The room refuses to write for anybody except root, whatever the directory. */
	return _cmocka_run_group_tests("tests", tests, geteuid() ? 0 : ARRAY_SIZE(tests), NULL,
				       NULL);
}
