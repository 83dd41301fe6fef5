// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Controllers that are not enabled, groups that are not made, and processes that do not join. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup_refused_scene.h"
#include "cgroup/tasks.h"

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

/* The test itself, as the process that wants to join. */
static int show_self(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	assert_true(pidfd >= 0);
	show_process(getpid(), 0, "pinfold.slice/poda");
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
	show_process(getpid() + 1, 0, "pinfold.slice/poda");
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
		show_process(getpid(), 0, text);
		assert_int_equal(tasks_join(groups, "pinfold.slice/poda", getpid(), pidfd, error),
				 len < GROUP_PATH_MAX ? -EREMOTEIO : -ENAMETOOLONG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		REFUSED_TEST(a_refused_controller_is_explained),
		REFUSED_TEST(unusable_root_is_reported),
		REFUSED_TEST(only_missing_controllers_are_enabled),
		REFUSED_TEST(workload_root_enables_controllers),
		REFUSED_TEST(failure_to_enable_controllers_is_logged),
		REFUSED_TEST(failed_creation_is_reported),
		REFUSED_TEST(a_refused_join_is_explained),
		REFUSED_TEST(pid_alone_identifies_no_process),
		REFUSED_TEST(joined_process_may_run_on_the_whole_group),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
