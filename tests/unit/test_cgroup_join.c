// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* A process that ends while it joins a group: its pid may then belong to another one. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup/manager.h"
#include "cgroup/tasks.h"
#include "cgroup_scene.h"

static struct groups *groups;
static const struct manager *manager; /* of the groups, unless a test replaces it */
static pid_t child;
static int pidfd;

/* What procfs says of the child. */
static void show_child(unsigned int start_ticks)
{
	char name[64], text[128];

	snprintf(name, sizeof(name), "proc/%d/stat", child);
	snprintf(text, sizeof(text), "%d (a) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0 1\n",
		 child, start_ticks);
	put(name, text);
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "0::/pinfold.slice/g\n");
}

static int set_up_child(void **state)
{
	int r = set_up(state);

	if (r)
		return r;
	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	groups = open_fake(true);
	manager = groups->manager;
	child = fork();
	if (!child) {
		/* A child that the test forgets must not wait forever. */
		alarm(60);
		for (;;)
			pause();
	}
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(pidfd >= 0);
	show_child(9);
	return 0;
}

static int tear_down_child(void **state)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(pidfd);
	groups->manager = manager;
	groups_close(groups);
	return tear_down(state);
}

static int join_normally(struct groups *all, const char *path, pid_t pid, char *error)
{
	return 0;
}

/* It has ended, and nobody has waited for it yet. */
static int join_and_end(struct groups *all, const char *path, pid_t pid, char *error)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	return 0;
}

/* Another process has the pid; the descriptor is not looked at again before that is read. */
static int join_and_reuse(struct groups *all, const char *path, pid_t pid, char *error)
{
	show_child(10);
	return 0;
}

static int join_and_vanish(struct groups *all, const char *path, pid_t pid, char *error)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/proc/%d/stat", root, child);
	assert_int_equal(unlink(name), 0);
	return 0;
}

static void a_process_may_end_while_it_is_moved(void **state)
{
	static const struct manager managers[] = {
		{.name = "ends", .join = join_and_end},
		{.name = "is reused", .join = join_and_reuse},
		{.name = "vanishes", .join = join_and_vanish},
	};
	static const struct manager normal = {.name = "goes on", .join = join_normally};

	for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
		char error[GROUP_ERROR_MAX] = "";

		if (i) {
			tear_down_child(state);
			set_up_child(state);
		}
		groups->manager = &normal;
		assert_int_equal(tasks_join(groups, "pinfold.slice/g", child, pidfd, error), 0);
		groups->manager = &managers[i];
		expect_failure(-ESRCH, tasks_join(groups, "pinfold.slice/g", child, pidfd, error),
			       error, "ended while it was moved into pinfold.slice/g");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_may_end_while_it_is_moved, set_up_child,
						tear_down_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
