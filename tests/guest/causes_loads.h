/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers of two pods and of the host, and the crowds of tasks that compete in them: what
 * causes_drive.c measures.
 */
#ifndef CAUSES_LOADS_H
#define CAUSES_LOADS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <pinfold/abi.h>

#include "../bpf/switch_log.h"
#include "../lib/places.h"
#include "bpf/observe.h"
#include "lib/clock.h"
#include "cgroup2_mount.h"
#include "count_checks.h"
#include "flood.h"
#include "lib/file.h"

#define GROUP_ROOT  "pinfold-causes-test"
#define MAX_TASKS   48
#define MAX_PIDS    (1u << 22)
#define WINDOW_MS   1500
#define MOVES_EVERY 20 /* ms */

static struct topology topology;
static unsigned int first_cpu, second_cpu, far_cpu, driver_cpu;
static bool has_quota, has_nodes, has_disk;

/* --- containers ----------------------------------------------------------------------------------- */

/* The last two are what DATABASE is after it was restarted, once and twice. */
enum where { HOST, DATABASE, SIDECAR, OTHER, SECOND_DATABASE, THIRD_DATABASE, NR_WHERE };

static struct group {
	const char *name, *directory;
	uint64_t pod;
	char path[700];
	uint64_t id; /* 0 = it has no cgroup now */
} groups[NR_WHERE] = {
	[DATABASE] = {.name = "pod/database", .directory = "pod/database", .pod = 7},
	[SIDECAR] = {.name = "pod/sidecar", .directory = "pod/sidecar", .pod = 7},
	[OTHER] = {.name = "other/main", .directory = "other/main", .pod = 8},
	[SECOND_DATABASE] = {.name = "pod/database, second", .directory = "pod/database", .pod = 7},
	[THIRD_DATABASE] = {.name = "pod/database, third", .directory = "pod/database", .pod = 7},
};

static int write_file(const char *directory, const char *name, const char *text)
{
	char path[800];
	int fd cleanup_close = -1;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int make_directory(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/" GROUP_ROOT "%s%s", mount_path, *name ? "/" : "", name);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

static int make_group(struct group *group)
{
	struct stat status;
	int r = make_directory(group->directory, group->path, sizeof(group->path));

	if (r)
		return r;
	if (stat(group->path, &status))
		return -errno;
	group->id = status.st_ino;
	return 0;
}

static int make_groups(void)
{
	static const char *const above[] = {"", "pod", "other"};
	char path[700];
	int r = 0;

	has_quota = !write_file(mount_path, "cgroup.subtree_control", "+cpu");
	for (size_t i = 0; !r && i < ARRAY_SIZE(above); i++) {
		r = make_directory(above[i], path, sizeof(path));
		if (!r && has_quota)
			r = write_file(path, "cgroup.subtree_control", "+cpu");
	}
	for (int i = DATABASE; !r && i <= OTHER; i++)
		r = make_group(&groups[i]);
	return r;
}

static void remove_groups(void)
{
	static const char *const names[] = {"/pod/database", "/pod/sidecar", "/other/main",
					    "/pod",	     "/other",	     ""};
	char path[800];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s%s", mount_path, GROUP_ROOT, names[i]);
		rmdir(path);
	}
}

/* --- loads ---------------------------------------------------------------------------------------- */

/* Tasks that are alike: they compute for run_us, then sleep for sleep_us; 0 = they never sleep. */
struct crowd {
	enum where where;
	int nr;
	unsigned int run_us, sleep_us;
	enum { ON_FIRST, ON_SECOND, ON_BOTH, TO_AND_FRO, NODE_TO_NODE } cpus;
	int priority; /* of a real-time task; 0 = of a usual one */
	bool writes;
	bool sends;	   /* packets, without end */
	bool wakes_kernel; /* gives a kernel thread of each CPU work, without end */
	/* Two tasks hand a byte back and forth ROUNDS times; then the one that calls sleeps. */
	enum { NO_PARTNER, CALLS, ANSWERS } partner;
};

/* Each is two switches; the observer explains waits across 1,024 of them. */
#define ROUNDS 200

static const struct load {
	const char *name;
	const char *quota;	/* cpu.max of DATABASE */
	unsigned int window_ms; /* 0 = WINDOW_MS */
	bool needs_nodes;
	bool has_kernel;  /* kernel threads run on the first CPU */
	bool has_packets; /* the first CPU receives packets that others send */
	/* When the window is over DATABASE gets a new cgroup and goes on for another window, twice. */
	bool restarts;
	bool writes; /* DATABASE does; where there is a disk, it has to wait for it */
	struct crowd crowds[6];
} loads[] = {
	{.name = "two tasks of one container", .crowds = {{.where = DATABASE, .nr = 2}}},
	{.name = "own, sibling, other pod, host",
	 .crowds = {{.where = DATABASE, .nr = 2},
		    {.where = SIDECAR, .nr = 1},
		    {.where = OTHER, .nr = 1},
		    {.where = HOST, .nr = 1}}},
	{.name = "13 busy tasks",
	 .crowds = {{.where = DATABASE, .nr = 5},
		    {.where = SIDECAR, .nr = 4},
		    {.where = OTHER, .nr = 3},
		    {.where = HOST, .nr = 1}}},
	{.name = "short tasks beside busy ones",
	 .crowds = {{.where = DATABASE, .nr = 4, .run_us = 200, .sleep_us = 1000},
		    {.where = OTHER, .nr = 3, .run_us = 200, .sleep_us = 1000},
		    {.where = HOST, .nr = 3, .run_us = 200, .sleep_us = 1000},
		    {.where = DATABASE, .nr = 1},
		    {.where = SIDECAR, .nr = 1}}},
	{.name = "very short tasks",
	 .crowds = {{.where = DATABASE, .nr = 4, .run_us = 5, .sleep_us = 50},
		    {.where = SIDECAR, .nr = 4, .run_us = 5, .sleep_us = 50},
		    {.where = HOST, .nr = 4, .run_us = 5, .sleep_us = 50}}},
	{.name = "40 busy tasks",
	 .crowds = {{.where = DATABASE, .nr = 10},
		    {.where = SIDECAR, .nr = 10},
		    {.where = OTHER, .nr = 10},
		    {.where = HOST, .nr = 10}}},
	{.name = "a real-time task of the host",
	 .crowds = {{.where = HOST, .nr = 1, .run_us = 500, .sleep_us = 1000, .priority = 10},
		    {.where = DATABASE, .nr = 2},
		    {.where = SIDECAR, .nr = 1},
		    {.where = OTHER, .nr = 1, .run_us = 300, .sleep_us = 700}}},
	/*
	 * Until 6.11 the CPU is idle for up to 50 ms in each second although both wait, and its run queue
	 * counts neither. It is so no later than in the second period that begins within the window.
	 */
	{.name = "real-time tasks that are throttled",
	 .window_ms = 2500,
	 .crowds = {{.where = HOST, .nr = 1, .priority = 10},
		    {.where = DATABASE, .nr = 1, .priority = 5}}},
	{.name = "writers beside busy tasks",
	 .writes = true,
	 .crowds = {{.where = DATABASE, .nr = 2, .run_us = 50, .writes = true},
		    {.where = OTHER, .nr = 1, .run_us = 50, .writes = true},
		    {.where = SIDECAR, .nr = 2},
		    {.where = HOST, .nr = 1}}},
	{.name = "kernel threads beside busy tasks",
	 .has_kernel = true,
	 .crowds = {{.where = HOST, .nr = 1, .cpus = ON_SECOND, .wakes_kernel = true},
		    {.where = DATABASE, .nr = 2},
		    {.where = OTHER, .nr = 1}}},
	/* The rest of the packets is left to a thread of the kernel, which takes its turn. */
	{.name = "packets that are received beside busy tasks",
	 .has_kernel = true,
	 .has_packets = true,
	 .crowds = {{.where = HOST, .nr = 1, .cpus = ON_SECOND, .sends = true},
		    {.where = DATABASE, .nr = 2},
		    {.where = DATABASE, .nr = 2, .run_us = 200, .sleep_us = 1000},
		    {.where = SIDECAR, .nr = 1},
		    {.where = OTHER, .nr = 1}}},
	/* Who sends receives, too, so a pod that sends keeps the others waiting for both. */
	{.name = "packets that containers send",
	 .has_packets = true,
	 .crowds = {{.where = OTHER, .nr = 1, .sends = true},
		    {.where = DATABASE, .nr = 1, .sends = true},
		    {.where = DATABASE, .nr = 2, .run_us = 200, .sleep_us = 1000},
		    {.where = SIDECAR, .nr = 1}}},
	{.name = "a container that is restarted",
	 .window_ms = 700,
	 .restarts = true,
	 .crowds = {{.where = DATABASE, .nr = 2},
		    {.where = DATABASE, .nr = 2, .run_us = 200, .sleep_us = 1000},
		    {.where = SIDECAR, .nr = 1},
		    {.where = SIDECAR, .nr = 1, .run_us = 200, .sleep_us = 1000},
		    {.where = OTHER, .nr = 1}}},
	{.name = "waits across hundreds of switches",
	 .crowds = {{.where = HOST, .nr = 1, .sleep_us = 5000, .priority = 10, .partner = CALLS},
		    {.where = OTHER, .nr = 1, .priority = 10, .partner = ANSWERS},
		    {.where = DATABASE, .nr = 3, .run_us = 50, .sleep_us = 300, .priority = 5}}},
	{.name = "tasks sent to and fro",
	 .crowds = {{.where = DATABASE, .nr = 4, .cpus = TO_AND_FRO},
		    {.where = OTHER, .nr = 3, .cpus = TO_AND_FRO},
		    {.where = HOST, .nr = 2, .cpus = TO_AND_FRO},
		    {.where = SIDECAR, .nr = 1, .cpus = ON_BOTH}}},
	{.name = "tasks sent from node to node",
	 .needs_nodes = true,
	 .crowds = {{.where = DATABASE, .nr = 3, .cpus = NODE_TO_NODE},
		    {.where = OTHER, .nr = 2, .cpus = NODE_TO_NODE},
		    {.where = SIDECAR, .nr = 1, .cpus = ON_BOTH}}},
	{.name = "tasks on two CPUs as the scheduler likes",
	 .crowds = {{.where = DATABASE, .nr = 3, .cpus = ON_BOTH},
		    {.where = DATABASE, .nr = 3, .run_us = 300, .sleep_us = 500, .cpus = ON_BOTH},
		    {.where = SIDECAR, .nr = 3, .run_us = 50, .sleep_us = 50, .cpus = ON_BOTH},
		    {.where = OTHER, .nr = 3, .run_us = 1000, .sleep_us = 1000, .cpus = ON_BOTH},
		    {.where = HOST, .nr = 2, .cpus = ON_BOTH}}},
	{.name = "short tasks alone",
	 .crowds = {{.where = DATABASE, .nr = 2, .run_us = 300, .sleep_us = 300},
		    {.where = HOST, .nr = 2, .run_us = 300, .sleep_us = 300}}},
	{.name = "a quota beside another pod",
	 .quota = "30000 100000",
	 .crowds = {{.where = DATABASE, .nr = 2}, {.where = OTHER, .nr = 1}}},
	{.name = "a quota alone",
	 .quota = "20000 100000",
	 .crowds = {{.where = DATABASE, .nr = 3}}},
};

struct task {
	pid_t pid;
	const struct crowd *crowd;
	enum where where; /* of its crowd, or what that has become */
	bool has_ended;
	uint64_t first_record; /* of those in which its waits are looked for */
	uint64_t run_delay_ns; /* what the model has seen of it */
	uint32_t cpu;	       /* where it last got a CPU */
	uint64_t throttled_ns; /* of its queue then */
	uint64_t waited_ns;    /* on other CPUs, in the wait that goes on */
	bool was_delayed;      /* it was moved while it slept */
};

static struct task tasks[MAX_TASKS];
static int nr_tasks;
static uint8_t task_of[MAX_PIDS]; /* index + 1 */

static void pause_us(unsigned int us)
{
	const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

	nanosleep(&time, NULL);
}

static int set_cpus(pid_t pid, unsigned int cpu, bool both)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (both) {
		CPU_SET(first_cpu, &set);
		CPU_SET(second_cpu, &set);
	}
	return sched_setaffinity(pid, sizeof(set), &set);
}

static int calls[2], answers[2]; /* pipes */

static void call(const struct crowd *crowd)
{
	char byte = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (write(calls[1], &byte, 1) != 1 || read(answers[0], &byte, 1) != 1)
			_exit(1);
	pause_us(crowd->sleep_us);
}

static void answer(void)
{
	char byte;

	if (read(calls[0], &byte, 1) != 1 || write(answers[1], &byte, 1) != 1)
		_exit(1);
}

/* Each CPU's counters of memory are brought up to date by a thread of its own. */
static void wake_kernel(void)
{
	int fd cleanup_close = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);

	while (fd >= 0 && write(fd, "1", 1) == 1)
		;
	_exit(1);
}

static void work(const struct crowd *crowd)
{
	static char block[16384];
	int fd cleanup_close = -1;

	while (crowd->partner == CALLS)
		call(crowd);
	while (crowd->partner == ANSWERS)
		answer();
	if (crowd->wakes_kernel)
		wake_kernel();
	if (crowd->sends) {
		flood_send();
		_exit(1);
	}
	if (crowd->writes)
		fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	for (;;) {
		uint64_t end = clock_monotonic_ns() + crowd->run_us * 1000ULL;

		while (!crowd->run_us || clock_monotonic_ns() < end)
			;
		if (crowd->sleep_us)
			pause_us(crowd->sleep_us);
		if (fd >= 0 && (pwrite(fd, block, sizeof(block), 0) < 0 || fsync(fd)))
			_exit(1);
	}
}

/* In the child: enter the container, stop, and work when continued. */
static void be_task(const struct crowd *crowd, enum where where)
{
	const struct sched_param priority = {.sched_priority = crowd->priority};
	char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	if ((where != HOST && write_file(groups[where].path, "cgroup.procs", text)) ||
	    set_cpus(0, crowd->cpus == ON_SECOND ? second_cpu : first_cpu,
		     crowd->cpus == ON_BOTH) ||
	    (crowd->priority && sched_setscheduler(0, SCHED_FIFO, &priority)))
		_exit(1);
	raise(SIGSTOP);
	work(crowd);
}

static uint64_t read_run_delay(pid_t pid)
{
	char path[64];
	FILE *file cleanup_file = NULL;
	unsigned long long ran, delay = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "re");
	return file && fscanf(file, "%llu %llu", &ran, &delay) == 2 ? delay : 0;
}

/* Wait until all from this one on have stopped, which each does when it has a CPU. */
static bool await_stop(int first)
{
	for (int i = first; i < nr_tasks; i++) {
		int status;

		if (tasks[i].has_ended)
			continue;
		if (waitpid(tasks[i].pid, &status, WUNTRACED) != tasks[i].pid ||
		    !WIFSTOPPED(status))
			return false;
	}
	pause_us(50000); /* and has left it */
	return true;
}

static void signal_all(int signal)
{
	for (int i = 0; i < nr_tasks; i++)
		if (!tasks[i].has_ended)
			kill(tasks[i].pid, signal);
}

static bool add_crowd(const struct crowd *crowd, enum where where)
{
	for (int i = 0; i < crowd->nr; i++) {
		pid_t pid;

		if (nr_tasks == MAX_TASKS)
			return false;
		pid = fork();
		if (pid == 0) {
			be_task(crowd, where);
			_exit(1);
		}
		if (pid < 0 || (uint32_t)pid >= MAX_PIDS)
			return false;
		tasks[nr_tasks] = (struct task){.pid = pid, .crowd = crowd, .where = where};
		task_of[pid] = (uint8_t)++nr_tasks;
	}
	return true;
}

static bool add_tasks(const struct load *load)
{
	nr_tasks = 0;
	if (pipe2(calls, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(load->crowds); i++)
		if (!add_crowd(&load->crowds[i], load->crowds[i].where))
			return false;
	return await_stop(0);
}

/* They stay in the table, because the log has them. */
static void end_tasks_of(enum where where)
{
	for (int i = 0; i < nr_tasks; i++)
		if (tasks[i].where == where && !tasks[i].has_ended)
			kill(tasks[i].pid, SIGKILL);
	for (int i = 0; i < nr_tasks; i++) {
		if (tasks[i].where != where || tasks[i].has_ended)
			continue;
		waitpid(tasks[i].pid, NULL, 0);
		tasks[i].has_ended = true;
	}
	pause_us(50000); /* and have left their CPUs */
}

static void end_tasks(void)
{
	signal_all(SIGKILL);
	for (int i = 0; i < nr_tasks; i++) {
		if (!tasks[i].has_ended)
			waitpid(tasks[i].pid, NULL, 0);
		task_of[tasks[i].pid] = 0;
	}
	for (int i = 0; i < 2; i++) {
		close(calls[i]);
		close(answers[i]);
	}
}

static void pass_window(const struct load *load)
{
	const unsigned int ms = load->window_ms ? load->window_ms : WINDOW_MS;

	for (unsigned int i = 0; i < ms / MOVES_EVERY; i++) {
		pause_us(MOVES_EVERY * 1000);
		for (int j = 0; j < nr_tasks; j++)
			if (tasks[j].crowd->cpus == TO_AND_FRO)
				set_cpus(tasks[j].pid, i % 2 ? first_cpu : second_cpu, false);
			else if (tasks[j].crowd->cpus == NODE_TO_NODE)
				set_cpus(tasks[j].pid, i % 2 ? first_cpu : far_cpu, false);
	}
}

/* How often the first CPU has received packets. */
static uint64_t read_receptions(void)
{
	FILE *file cleanup_file = fopen("/proc/softirqs", "re");
	char line[16384];

	while (file && fgets(line, sizeof(line), file)) {
		char *word = strstr(line, "NET_RX:");

		if (!word)
			continue;
		word = strtok(word + strlen("NET_RX:"), " ");
		for (unsigned int cpu = 0; word && cpu < first_cpu; cpu++)
			word = strtok(NULL, " ");
		return word ? strtoull(word, NULL, 10) : 0;
	}
	return 0;
}

/* For how long tasks of the container have waited for a disk; 0 if that is not known. */
static uint64_t read_io_stalled_us(enum where where)
{
	unsigned long long total = 0;
	FILE *file cleanup_file = NULL;
	char path[800];

	snprintf(path, sizeof(path), "%s/io.pressure", groups[where].path);
	file = fopen(path, "re");
	return file && fscanf(file, "some %*s %*s %*s total=%llu", &total) == 1 ? total : 0;
}

#endif
