/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that compare what the observer says with the kernel's own numbers, and print
 * TAP: real tasks in real cgroups. They run as root in a guest.
 */
#ifndef GUEST_OBSERVE_SCENE_H
#define GUEST_OBSERVE_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/places.h"
#include "bpf/observe.h"
#include "cgroup2_mount.h"
#include "count_checks.h"
#include "lib/file.h"
#include "lib/log.h"

#define MAX_TASKS      8
#define MAX_CONTAINERS 6
#define GROUP_ROOT     "pinfold-observe-test"

static struct topology topology;
static unsigned int cpus[CPUSET_MAX], nr_cpus;
static cpu_set_t whole_machine;

/* --- cgroups and tasks -------------------------------------------------------------------------- */

struct group {
	char path[700];
	uint64_t id;
	uint32_t level;
};

static inline int write_file(const char *directory, const char *name, const char *text)
{
	char path[800];
	int fd cleanup_close = -1;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static inline int make_group(struct group *group, const char *name, uint32_t level)
{
	struct stat status;

	snprintf(group->path, sizeof(group->path), "%s/%s", mount_path, name);
	if ((mkdir(group->path, 0755) && errno != EEXIST) || stat(group->path, &status))
		return log_err(-errno, "test: make cgroup '%s'", group->path);
	group->id = status.st_ino;
	group->level = level;
	return 0;
}

static inline int pin_self(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static inline void spin(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

struct tasks {
	pid_t pids[MAX_TASKS];
	int nr;
};

/* A busy task in the group on the CPUs cpus[first .. first + nr - 1] (modulo what there is). */
static inline void add_task(struct tasks *tasks, const struct group *group, unsigned int first,
			    unsigned int nr)
{
	char text[16];
	cpu_set_t set;
	pid_t pid = fork();

	if (pid == 0) {
		CPU_ZERO(&set);
		for (unsigned int i = 0; i < nr; i++)
			CPU_SET(cpus[(first + i) % nr_cpus], &set);
		snprintf(text, sizeof(text), "%d", getpid());
		if (write_file(group->path, "cgroup.procs", text) ||
		    sched_setaffinity(0, sizeof(set), &set))
			_exit(1);
		spin();
	}
	tasks->pids[tasks->nr++] = pid;
}

static inline void end_tasks(struct tasks *tasks)
{
	for (int i = 0; i < tasks->nr; i++)
		kill(tasks->pids[i], SIGKILL);
	for (int i = 0; i < tasks->nr; i++)
		waitpid(tasks->pids[i], NULL, 0);
	tasks->nr = 0;
}

static inline void pass_time(double seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&time, NULL);
}

static inline double run_ns(const struct observe_usage *usage)
{
	return (double)(usage->run_local_ns + usage->run_remote_ns + usage->run_outside_ns);
}

static inline struct observe_usage read_usage(struct observer *observer, const struct group *group)
{
	struct observe_usage usage = {0};
	int r = observe_usage(observer, group->id, &usage);

	if (r)
		check(false, "usage of %s: %s", group->path, strerror(-r));
	return usage;
}

static inline void claim(struct observer *observer, const struct group *group,
			 const struct cpuset *own)
{
	const struct observe_group wanted = {
		.cgroup_id = group->id, .level = group->level, .cpus = own, .nodes = 0};
	uint32_t slot;
	int r = observe_claim(observer, &wanted, &slot);

	if (r)
		check(false, "slot for %s: %s", group->path, strerror(-r));
}

static inline bool prepare(void)
{
	struct group root, pod;

	if (places_open(&topology) || find_mount())
		return log_err(-ENOENT, "test: needs sysfs and a cgroup2 mount") == 0;
	cpuset_for_each (cpu, &topology.all)
		cpus[nr_cpus++] = cpu;
	sched_getaffinity(0, sizeof(whole_machine), &whole_machine);
	if (make_group(&root, GROUP_ROOT, 1) || make_group(&pod, GROUP_ROOT "/pod", 2))
		return false;
	if (write_file(mount_path, "cgroup.subtree_control", "+cpu") == 0)
		write_file(root.path, "cgroup.subtree_control", "+cpu");
	/* waits are measured on CPUs 4 to 9; stay away from them */
	return pin_self(cpus[0]) == 0;
}

static inline void remove_groups(void)
{
	static const char *const names[] = {"/pod/run/below",	"/pod/run",  "/pod/queue",
					    "/pod/moved",	"/pod/move", "/pod/pin",
					    "/pod/exchange",	"/pod",	     "/own/container",
					    "/many/container",	"/own",	     "/many",
					    "/above/container", "/above",    ""};
	char path[800];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s%s", mount_path, GROUP_ROOT, names[i]);
		rmdir(path);
	}
}

/* Removes the cgroups, prints the plan and returns the status to exit with. */
static inline int finish(void)
{
	remove_groups();
	printf("1..%d\n", nr_passed + nr_failed);
	return nr_failed ? 1 : 0;
}

#endif
