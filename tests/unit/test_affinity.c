// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The affinities of a group's tasks: of real tasks, in groups that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "cgroup/affinity.h"
#include "cgroup_scene.h"
#include "format/affinity.h"

#define NOBODY 4194304 /* above the kernel's highest pid_max */

static struct cpuset set_of(const char *list)
{
	return cpuset_of_text(list);
}

/* The CPUs that this process may use. */
static struct cpuset own_cpus(void)
{
	struct cpuset cpus = CPUSET_EMPTY;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpuset_add(&cpus, cpu);
	return cpus;
}

/* A process that may run on one CPU only and waits to be killed. */
static pid_t start_on(unsigned int cpu)
{
	cpu_set_t set;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void equal_affinities_are_one_group(void **state)
{
	const struct cpuset all = set_of("0-3"), some = set_of("2");
	struct affinities found = {0};

	(void)state;
	affinity_add(&found, 10, &all);
	affinity_add(&found, 11, &some);
	affinity_add(&found, 12, &all);
	assert_int_equal(found.nr, 2);
	assert_int_equal(found.nr_tasks, 3);
	assert_int_equal(found.groups[0].nr_tasks, 2);
	assert_int_equal(found.groups[0].task, 10);
	assert_int_equal(found.groups[1].nr_tasks, 1);
	assert_int_equal(found.groups[1].task, 11);
	assert_true(cpuset_equal(&found.groups[1].cpus, &some));
	assert_int_equal(found.nr_left_out, 0);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct affinities found = {0};

	(void)state;
	for (unsigned int cpu = 0; cpu < AFFINITY_GROUPS_MAX + 3; cpu++) {
		struct cpuset one = CPUSET_EMPTY;

		cpuset_add(&one, cpu);
		affinity_add(&found, (pid_t)cpu + 1, &one);
		affinity_add(&found, (pid_t)cpu + 100, &one);
	}
	assert_int_equal(found.nr, AFFINITY_GROUPS_MAX);
	assert_int_equal(found.nr_tasks, 2 * AFFINITY_GROUPS_MAX);
	assert_int_equal(found.nr_left_out, 6);
}

static void narrower_means_that_a_cpu_of_the_cpuset_is_missing(void **state)
{
	const struct cpuset cpuset = set_of("2-5"), equal = set_of("2-5"), less = set_of("2-4"),
			    more = set_of("0-15"), beside = set_of("6-7");

	(void)state;
	assert_false(affinity_is_narrower(&equal, &cpuset));
	assert_false(affinity_is_narrower(&more, &cpuset));
	assert_true(affinity_is_narrower(&less, &cpuset));
	assert_true(affinity_is_narrower(&beside, &cpuset));
}

static void affinities_are_those_of_the_kernel(void **state)
{
	const struct cpuset cpus = own_cpus();
	const unsigned int cpu = cpuset_next(&cpus, 0);
	struct groups *groups = open_fake(false);
	const pid_t pinned = start_on(cpu);
	struct affinities found;
	struct cpuset one = CPUSET_EMPTY;
	char text[64];

	(void)state;
	cpuset_add(&one, cpu);
	put_pod();
	snprintf(text, sizeof(text), "%d\n%d\n0\n", (int)getpid(), NOBODY);
	put("cg/pinfold.slice/poda/main/cgroup.threads", text);
	snprintf(text, sizeof(text), "%d\n", (int)pinned);
	put("cg/pinfold.slice/poda/main/inner/cgroup.threads", text);
	assert_int_equal(affinity_read(groups, "pinfold.slice/poda/main", &found), 0);
	stop(pinned);
	/* One has ended, which is no gap; one is in another pid namespace, which is. */
	assert_int_equal(found.nr_tasks, 2);
	assert_int_equal(found.nr_left_out, 1);
	assert_int_equal(found.groups[0].task, getpid());
	assert_true(cpuset_equal(&found.groups[0].cpus, &cpus));
	if (!cpuset_equal(&one, &cpus)) {
		assert_int_equal(found.nr, 2);
		assert_int_equal(found.groups[1].task, pinned);
		assert_true(cpuset_equal(&found.groups[1].cpus, &one));
	}
	groups_close(groups);
}

static void tasks_beyond_the_limit_are_counted(void **state)
{
	struct groups *groups = open_fake(false);
	char *text cleanup_free = malloc((AFFINITY_TASKS_MAX + 5) * 12), *at = text;
	struct affinities found;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < AFFINITY_TASKS_MAX + 5; i++)
		at += sprintf(at, "%d\n", (int)getpid());
	put_pod();
	put("cg/pinfold.slice/poda/main/cgroup.threads", text);
	assert_int_equal(affinity_read(groups, "pinfold.slice/poda/main", &found), 0);
	assert_int_equal(found.nr_tasks, AFFINITY_TASKS_MAX);
	assert_int_equal(found.nr_left_out, 5);
	groups_close(groups);
}

/* Only a task that has ended has no affinity; of any other it is not known. */
static void what_the_kernel_does_not_say_is_counted(void **state)
{
	struct groups *groups = open_fake(false);
	struct affinities found;
	char text[32];

	(void)state;
	put_pod();
	snprintf(text, sizeof(text), "%d\n%d\n", (int)getpid(), (int)getpid());
	put("cg/pinfold.slice/poda/main/cgroup.threads", text);
	refuse_some("sched_getaffinity", NULL, EPERM, 0, 1);
	assert_int_equal(affinity_read(groups, "pinfold.slice/poda/main", &found), 0);
	refuse_nothing();
	assert_int_equal(found.nr_tasks, 1);
	assert_int_equal(found.nr_left_out, 1);
	groups_close(groups);
}

static void a_group_that_is_gone_leaves_the_answer_untouched(void **state)
{
	struct groups *groups = open_fake(false);
	struct groups_port port = groups_port(groups);
	struct affinities found = {.nr_tasks = 77};

	(void)state;
	assert_int_equal(port.affinities(port.self, "pinfold.slice/none", &found), -ENOENT);
	assert_int_equal(found.nr_tasks, 77);
	put_pod();
	assert_int_equal(port.affinities(port.self, "pinfold.slice/poda", &found), 0);
	assert_int_equal(found.nr_tasks, 0);
	groups_close(groups);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_affinities_are_one_group),
		TEST(what_finds_no_room_is_counted),
		TEST(narrower_means_that_a_cpu_of_the_cpuset_is_missing),
		TEST(affinities_are_those_of_the_kernel),
		TEST(tasks_beyond_the_limit_are_counted),
		TEST(what_the_kernel_does_not_say_is_counted),
		TEST(a_group_that_is_gone_leaves_the_answer_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
