// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Groups are made and removed, and processes join them and are ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup_port_scene.h"

static void group_is_created_with_its_controllers(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_true(exists("cg/pinfold.slice/poda"));
	/* The plain file contains only the last write; the kernel would enable all three. */
	assert_string_equal(get("cg/pinfold.slice/cgroup.subtree_control"), "+memory");
	/* Repeating it is not a failure. */
	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/poda", 0, NULL, error), 0);
	expect_failure(-ENOENT, do_step(STEP_CREATE, "none/x", 0, NULL, error), error,
		       "none/x: cannot open its parent");
	expect_failure(-EINVAL, do_step(STEP_CREATE, "pinfold.slice/..", 0, NULL, error), error,
		       "cannot open its parent");
	put("cg/pinfold.slice/cgroup.controllers", "cpu memory\n");
	expect_failure(-EOPNOTSUPP, do_step(STEP_CREATE, "pinfold.slice/podb", 0, NULL, error),
		       error, "pinfold.slice has no cpuset controller: its parent must have");
	assert_false(exists("cg/pinfold.slice/podb"));
	expect_failure(-EINVAL, do_step(STEP_KIND_NR, "x", 0, NULL, error), error,
		       "invalid kind of step");
}

static void group_is_removed_with_its_subtree(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	expect_failure(-EBUSY, do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), error,
		       "still has processes");
	assert_true(exists("cg/pinfold.slice/g"));
	empty_directory("pinfold.slice/g");
	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/g", 0, NULL, error), 0);
	put("cg/pinfold.slice/g/inner/leaf/x", "");
	/*
	 * A file in a plain directory is in the way as a cgroup's never are; it looks as if
	 * somebody made groups inside all the time.
	 */
	expect_failure(-EAGAIN, do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), error,
		       "pinfold.slice/g: cannot remove the group");
	empty_directory("pinfold.slice/g");
	put("cg/pinfold.slice/g/inner/leaf/x", "");
	empty_directory("pinfold.slice/g/inner/leaf");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), 0);
	assert_false(exists("cg/pinfold.slice/g"));
	assert_true(exists("cg/pinfold.slice"));
	/* A group that does not exist counts as removed. */
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), 0);
}

/* A waiting child, used as the process that joins. */
static pid_t make_child(int *ret_pidfd)
{
	pid_t child = fork();

	if (!child) {
		/* A child that the test forgets must not wait forever. */
		alarm(60);
		for (;;)
			pause();
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(*ret_pidfd >= 0);
	return child;
}

static void end_child(pid_t child, int pidfd)
{
	int status;

	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(pidfd);
}

static void process_joins_and_may_use_the_whole_grant(void **state)
{
	cpu_set_t narrow, all;
	char error[GROUP_ERROR_MAX] = "", text[16], name[64];
	pid_t child;
	int pidfd;

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	child = make_child(&pidfd);
	show_process(child, 0, "pinfold.slice/g");
	assert_int_equal(sched_getaffinity(child, sizeof(all), &all), 0);
	CPU_ZERO(&narrow);
	for (size_t cpu = 0; !CPU_COUNT(&narrow); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &narrow);
	assert_int_equal(sched_setaffinity(child, sizeof(narrow), &narrow), 0);
	assert_int_equal(port.join(port.self, "pinfold.slice/g", child, pidfd, error), 0);
	snprintf(text, sizeof(text), "%d", child);
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.procs"), text);
	/* Without cgroup v1 there is only this line. */
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "0::/pinfold.slice/g\n");
	assert_int_equal(port.join(port.self, "pinfold.slice/g", child, pidfd, error), 0);
	/* Its previous affinity does not restrict its grant. */
	assert_int_equal(sched_getaffinity(child, sizeof(narrow), &narrow), 0);
	assert_true(CPU_EQUAL(&narrow, &all));
	end_child(child, pidfd);
}

static void failed_join_is_reported(void **state)
{
	char error[GROUP_ERROR_MAX] = "", name[128];
	pid_t child;
	int pidfd;

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	child = make_child(&pidfd);
	show_process(child, 0x00200000, "pinfold.slice/g");
	expect_failure(-EINVAL, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "is a kernel thread");
	show_process(child, 0, "elsewhere");
	expect_failure(-EREMOTEIO, port.join(port.self, "pinfold.slice/g", child, pidfd, error),
		       error, "but the kernel reports it in /elsewhere");
	/* Moved, but its cgroup cannot be read back. */
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "1:name=systemd:/x\n");
	expect_failure(-EPROTO, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "cannot read its cgroup back");
	snprintf(name, sizeof(name), "%s/proc/%d/cgroup", root, child);
	assert_int_equal(unlink(name), 0);
	expect_failure(-ENOENT, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "cannot read its cgroup back");
	expect_failure(-ENOENT, port.join(port.self, "pinfold.slice/no", child, pidfd, error),
		       error, "cannot open the group to join");
	/* The pid must refer to the process of the pidfd. */
	expect_failure(-ESRCH, port.join(port.self, "pinfold.slice/g", getpid(), pidfd, error),
		       error, "has ended; nothing was moved");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	put("cg/pinfold.slice/g/cgroup.procs", "");
	expect_failure(-ESRCH, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "has ended; nothing was moved");
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.procs"), "");
	end_child(child, pidfd);
	/* Nothing is moved in read-only mode either. */
	groups_close(groups);
	groups = open_fake(false);
	port = groups_port(groups);
	child = make_child(&pidfd);
	expect_failure(-EROFS, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "the agent changes no cgroups in this mode");
	end_child(child, pidfd);
}

static void all_processes_end_at_once(void **state)
{
	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	put("cg/pinfold.slice/g/cgroup.kill", "");
	assert_int_equal(port.kill(port.self, "pinfold.slice/g"), 0);
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.kill"), "1");
	assert_int_equal(port.kill(port.self, "pinfold.slice/none"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(group_is_created_with_its_controllers),
		PORT_TEST(group_is_removed_with_its_subtree),
		PORT_TEST(process_joins_and_may_use_the_whole_grant),
		PORT_TEST(failed_join_is_reported),
		PORT_TEST(all_processes_end_at_once),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
