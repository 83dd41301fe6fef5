// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * Is what the observer says of the causes and of the lengths of waits true? Tasks of containers and of the
 * host compete in several ways; a log of all switches and migrations meanwhile is replayed
 * by a model that shares nothing with the observer: for each wait it goes back through the
 * whole log of the CPU. All tasks are stopped before and after, so both have seen the same
 * waits, however long the machine takes. Runs as root.
 */
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

#include <bpf/bpf.h>
#include <pinfold/abi.h>

#include "../bpf/switch_log.h"
#include "../lib/places.h"
#include "bpf/observe.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "switch_log.skel.h"

DEFINE_CLEANUP(struct switch_log, log_closep, switch_log__destroy);
#define cleanup_log cleanup(log_closep)

#define GROUP_ROOT  "pinfold-causes-test"
#define MAX_TASKS   48
#define MAX_PIDS    (1u << 22)
#define WINDOW_MS   1500
#define MOVES_EVERY 20 /* ms */

/* Most of what two shares of a container's waiting may differ by. */
#define TOLERANCE 0.01

static struct topology topology;
static unsigned int first_cpu, second_cpu, driver_cpu;
static char mount_path[512];
static bool has_quota;
static int nr_passed, nr_failed;

static void check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void check(bool holds, const char *format, ...)
{
	va_list args;

	holds ? nr_passed++ : nr_failed++;
	printf("%sok %d - ", holds ? "" : "not ", nr_passed + nr_failed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* --- containers ----------------------------------------------------------------------------------- */

enum where { HOST, DATABASE, SIDECAR, OTHER, NR_WHERE };

static struct group {
	const char *name;
	uint64_t pod;
	char path[700];
	uint64_t id;
} groups[NR_WHERE] = {
	[DATABASE] = {.name = "pod/database", .pod = 7},
	[SIDECAR] = {.name = "pod/sidecar", .pod = 7},
	[OTHER] = {.name = "other/main", .pod = 8},
};

static int write_file(const char *directory, const char *name, const char *text)
{
	char path[800];
	int fd cleanup_close = -1;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int find_mount(void)
{
	FILE *mounts cleanup_file = fopen("/proc/self/mounts", "re");
	char line[1024], type[64];

	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %511s %63s", mount_path, type) == 2 &&
		    !strcmp(type, "cgroup2"))
			return 0;
	return -ENOENT;
}

static int make_directory(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/" GROUP_ROOT "%s%s", mount_path, *name ? "/" : "", name);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
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
	for (int i = DATABASE; !r && i < NR_WHERE; i++) {
		struct stat status;

		r = make_directory(groups[i].name, groups[i].path, sizeof(groups[i].path));
		if (!r && stat(groups[i].path, &status))
			r = -errno;
		if (!r)
			groups[i].id = status.st_ino;
	}
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
	enum { ON_FIRST, ON_BOTH, TO_AND_FRO } cpus;
	int priority; /* of a real-time task; 0 = of a usual one */
	bool writes;
	/* Two tasks hand a byte back and forth ROUNDS times; then the one that calls sleeps. */
	enum { NO_PARTNER, CALLS, ANSWERS } partner;
};

/* Each is two switches; the observer explains waits across 1,024 of them. */
#define ROUNDS 200

static const struct load {
	const char *name;
	const char *quota; /* cpu.max of DATABASE */
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
	{.name = "writers beside busy tasks",
	 .crowds = {{.where = DATABASE, .nr = 2, .run_us = 50, .writes = true},
		    {.where = OTHER, .nr = 1, .run_us = 50, .writes = true},
		    {.where = SIDECAR, .nr = 2},
		    {.where = HOST, .nr = 1}}},
	{.name = "waits across hundreds of switches",
	 .crowds = {{.where = HOST, .nr = 1, .sleep_us = 5000, .priority = 10, .partner = CALLS},
		    {.where = OTHER, .nr = 1, .priority = 10, .partner = ANSWERS},
		    {.where = DATABASE, .nr = 3, .run_us = 50, .sleep_us = 300, .priority = 5}}},
	{.name = "tasks sent to and fro",
	 .crowds = {{.where = DATABASE, .nr = 4, .cpus = TO_AND_FRO},
		    {.where = OTHER, .nr = 3, .cpus = TO_AND_FRO},
		    {.where = HOST, .nr = 2, .cpus = TO_AND_FRO},
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

static void work(const struct crowd *crowd)
{
	static char block[16384];
	int fd cleanup_close = -1;

	while (crowd->partner == CALLS)
		call(crowd);
	while (crowd->partner == ANSWERS)
		answer();
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
static void be_task(const struct crowd *crowd)
{
	const struct sched_param priority = {.sched_priority = crowd->priority};
	char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	if ((crowd->where != HOST && write_file(groups[crowd->where].path, "cgroup.procs", text)) ||
	    set_cpus(0, first_cpu, crowd->cpus == ON_BOTH) ||
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

/* Wait until all have stopped, which each does when it has a CPU. */
static bool await_stop(void)
{
	for (int i = 0; i < nr_tasks; i++) {
		int status;

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
		kill(tasks[i].pid, signal);
}

static bool add_tasks(const struct load *load)
{
	nr_tasks = 0;
	if (pipe2(calls, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(load->crowds); i++) {
		for (int j = 0; j < load->crowds[i].nr; j++) {
			pid_t pid = fork();

			if (pid == 0) {
				be_task(&load->crowds[i]);
				_exit(1);
			}
			if (pid < 0 || (uint32_t)pid >= MAX_PIDS)
				return false;
			tasks[nr_tasks] = (struct task){.pid = pid, .crowd = &load->crowds[i]};
			task_of[pid] = (uint8_t)++nr_tasks;
		}
	}
	return await_stop();
}

static void end_tasks(void)
{
	signal_all(SIGKILL);
	for (int i = 0; i < nr_tasks; i++) {
		waitpid(tasks[i].pid, NULL, 0);
		task_of[tasks[i].pid] = 0;
	}
	for (int i = 0; i < 2; i++) {
		close(calls[i]);
		close(answers[i]);
	}
}

static void pass_window(void)
{
	for (int i = 0; i < WINDOW_MS / MOVES_EVERY; i++) {
		pause_us(MOVES_EVERY * 1000);
		for (int j = 0; j < nr_tasks; j++)
			if (tasks[j].crowd->cpus == TO_AND_FRO)
				set_cpus(tasks[j].pid, i % 2 ? first_cpu : second_cpu, false);
	}
}

/* --- the model ------------------------------------------------------------------------------------ */

struct expected {
	uint64_t wait_ns[WAIT_CAUSE_NR];
	/*
	 * Beside them. With a quota, of what was not throttled the log cannot say who had it,
	 * unless it was the container itself.
	 */
	uint64_t unclear_ns;
	/*
	 * A task that a kernel since 6.12 moves while it sleeps counts as waiting from then on,
	 * for the kernel too. Nobody waits, so the observer does not follow the tasks of the host.
	 */
	uint64_t asleep_ns;
	uint64_t older_ns[WAIT_CAUSE_NR]; /* than what a CPU keeps, so it may be unattributed */
	struct latency latency;		  /* whole waits, wherever they took place */
};

static struct expected expected[NR_WHERE];
static int64_t before[SWITCH_LOG_RECORDS]; /* the switch before on that CPU; -1 = none */

static struct task *find_task(uint32_t pid)
{
	return pid < MAX_PIDS && task_of[pid] ? &tasks[task_of[pid] - 1] : NULL;
}

static enum wait_cause classify(enum where waiter, uint32_t pid, uint8_t kind)
{
	const struct task *task = find_task(pid);
	enum where owner = task ? task->crowd->where : HOST;

	if (kind == LOGGED_IDLE)
		return WAIT_IDLE;
	if (kind == LOGGED_KERNEL)
		return WAIT_KERNEL;
	if (owner == HOST)
		return WAIT_HOST;
	if (owner == waiter)
		return WAIT_OWN_CONTAINER;
	return groups[owner].pod == groups[waiter].pod ? WAIT_POD_SIBLING : WAIT_OTHER_POD;
}

/*
 * Who had the CPU from `from` to `until`, the instant of record `index` on it. What lies beyond the
 * last OBSERVE_INTERVALS switches of that CPU goes to `ret_older`: the observer keeps so many
 * intervals, and a switch ends one of them at most.
 */
static void replay_wait(const struct switch_record *records, int64_t index, enum where waiter,
			uint64_t from, uint64_t until, uint64_t ret_parts[WAIT_CAUSE_NR],
			uint64_t ret_older[WAIT_CAUSE_NR])
{
	const struct switch_record *record = &records[index];
	int64_t last = before[index];
	uint32_t pid = record->prev, nr_switches = 0;
	uint8_t kind = record->prev_kind;

	if (record->is_migration) {
		if (last < 0) {
			ret_parts[WAIT_UNATTRIBUTED] += until - from;
			return;
		}
		pid = records[last].next;
		kind = records[last].next_kind;
	}
	for (;;) {
		uint64_t start = last < 0 ? 0 : records[last].clock, *parts;

		if (start < from)
			start = from;
		parts = nr_switches++ < OBSERVE_INTERVALS ? ret_parts : ret_older;
		parts[classify(waiter, pid, kind)] += until - start;
		until = start;
		if (until <= from)
			return;
		pid = records[last].prev;
		kind = records[last].prev_kind;
		last = before[last];
	}
}

static void add_wait(const struct switch_record *records, int64_t index, struct task *task,
		     uint64_t wait)
{
	const struct switch_record *record = &records[index];
	struct expected *sum = &expected[task->crowd->where];
	uint64_t parts[WAIT_CAUSE_NR] = {0}, older[WAIT_CAUSE_NR] = {0}, quota = 0, left;

	replay_wait(records, index, task->crowd->where, record->clock - wait, record->clock, parts,
		    older);
	if (task->cpu == record->cpu && record->throttled_ns > task->throttled_ns)
		quota = record->throttled_ns - task->throttled_ns;
	if (!quota) {
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
			bool is_host = cause == WAIT_HOST || cause == WAIT_KERNEL ||
				       cause == WAIT_IDLE;

			*(task->was_delayed && is_host ? &sum->asleep_ns : &sum->wait_ns[cause]) +=
				parts[cause];
			sum->older_ns[cause] += older[cause];
		}
		return;
	}
	quota = quota < wait ? quota : wait;
	left = wait - quota;
	sum->wait_ns[WAIT_OWN_QUOTA] += quota;
	parts[WAIT_OWN_CONTAINER] += older[WAIT_OWN_CONTAINER];
	if (parts[WAIT_OWN_CONTAINER] > left)
		parts[WAIT_OWN_CONTAINER] = left;
	sum->wait_ns[WAIT_OWN_CONTAINER] += parts[WAIT_OWN_CONTAINER];
	sum->unclear_ns += left - parts[WAIT_OWN_CONTAINER];
}

/* What the kernel has added to the task's waits since, and what it is about to add. */
static uint64_t wait_at(const struct switch_record *record, struct task *task)
{
	uint64_t wait = 0;

	if (record->run_delay_ns > task->run_delay_ns)
		wait = record->run_delay_ns - task->run_delay_ns;
	task->run_delay_ns = record->run_delay_ns;
	if (!record->is_migration && record->queued && record->clock > record->queued) {
		wait += record->clock - record->queued;
		task->run_delay_ns += record->clock - record->queued;
	}
	return wait;
}

/* A wait is over if the task has got a CPU, not if it was only moved. */
static void add_length(const struct switch_record *record, struct task *task, uint64_t wait)
{
	struct latency *latency = &expected[task->crowd->where].latency;
	uint32_t bucket = 0;

	task->waited_ns += wait;
	if (record->is_migration)
		return;
	wait = task->waited_ns;
	task->waited_ns = 0;
	if (!wait && !record->queued)
		return;
	while (wait > latency_bound(bucket))
		bucket++;
	latency->counts[bucket]++;
	latency->sum_ns += wait;
	if (wait > latency->longest_ns)
		latency->longest_ns = wait;
}

/*
 * The first `nr_before` records only tell where each task ran last, and what its queue had been
 * throttled by then, which the observer knows as well. Returns how many switches are missing: on
 * some machines not every one is traced.
 */
static uint64_t replay(const struct switch_record *records, uint64_t nr_before, uint64_t nr)
{
	static int64_t last[ABI_CPUS_MAX];
	uint64_t nr_missing = 0;

	memset(expected, 0, sizeof(expected));
	memset(last, 0xff, sizeof(last));
	for (uint64_t i = 0; i < nr; i++) {
		const struct switch_record *record = &records[i];
		struct task *task = find_task(record->next);
		uint64_t wait;

		before[i] = last[record->cpu];
		if (!record->is_migration) {
			nr_missing += before[i] >= 0 && records[before[i]].next != record->prev;
			last[record->cpu] = (int64_t)i;
		}
		if (!task)
			continue;
		if (i >= nr_before) {
			wait = wait_at(record, task);
			add_length(record, task, wait);
			if (wait && task->crowd->where != HOST)
				add_wait(records, (int64_t)i, task, wait);
		}
		task->cpu = record->is_migration ? UINT32_MAX : record->cpu;
		task->throttled_ns = record->throttled_ns;
		task->was_delayed = record->is_migration && record->is_delayed;
	}
	return nr_missing;
}

/* --- one load --------------------------------------------------------------------------------------- */

static const char *const cause_names[WAIT_CAUSE_NR] = {
	"unattributed", "own_container", "pod_sibling", "other_pod",
	"host",		"kernel",	 "idle",	"own_quota",
};

static void compare(const char *load, enum where where, const struct observe_usage *first,
		    const struct observe_usage *last)
{
	const struct expected *sum = &expected[where];
	double total = (double)(sum->unclear_ns + sum->asleep_ns), counted = 0, worst = 0,
	       older = 0;
	enum wait_cause worst_cause = WAIT_UNATTRIBUTED;

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		total += (double)(sum->wait_ns[cause] + sum->older_ns[cause]);
		older += (double)sum->older_ns[cause];
	}
	if (total == 0) {
		printf("# %s, %s: nothing waited\n", load, groups[where].name);
		return;
	}
	for (enum wait_cause cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		double ours = (double)(last->wait_ns[cause] - first->wait_ns[cause]);
		double least = (double)sum->wait_ns[cause], most = least, difference = 0;

		if (cause != WAIT_OWN_QUOTA && cause != WAIT_OWN_CONTAINER)
			most += (double)sum->unclear_ns;
		if (cause == WAIT_HOST || cause == WAIT_KERNEL || cause == WAIT_IDLE)
			most += (double)sum->asleep_ns;
		most += cause == WAIT_UNATTRIBUTED ? older : (double)sum->older_ns[cause];
		if (ours < least)
			difference = (least - ours) / total;
		else if (ours > most)
			difference = (ours - most) / total;
		counted += ours;
		printf("# %s, %s: %s %.2f ms, the log %.2f to %.2f ms\n", load, groups[where].name,
		       cause_names[cause], ours / 1e6, least / 1e6, most / 1e6);
		if (difference > worst) {
			worst = difference;
			worst_cause = cause;
		}
	}
	check(counted > 0.999 * total && counted < 1.001 * total,
	      "%s, %s: the sum of the causes, %.1f ms, is the log's %.1f ms", load,
	      groups[where].name, counted / 1e6, total / 1e6);
	check(worst <= TOLERANCE, "%s, %s: each cause within %.0f point (most: %s by %.2f)", load,
	      groups[where].name, TOLERANCE * 100, cause_names[worst_cause], worst * 100);
	check((double)(last->wait_ns[WAIT_UNATTRIBUTED] - first->wait_ns[WAIT_UNATTRIBUTED]) <=
		      TOLERANCE * total + older,
	      "%s, %s: no more than %.0f %% is unattributed, and what is older than %d switches, %.2f ms",
	      load, groups[where].name, TOLERANCE * 100, OBSERVE_INTERVALS, older / 1e6);
}

/* Where the log has all switches, each bucket of the observer is as that of the log. */
static void compare_lengths(const char *load, enum where where, const struct latency *first,
			    const struct latency *last, uint64_t nr_missing)
{
	const struct latency *ours = &expected[where].latency;
	uint64_t differences = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		const uint64_t counted = last->counts[i] - first->counts[i];

		differences += counted > ours->counts[i] ? counted - ours->counts[i]
							 : ours->counts[i] - counted;
		if (counted || ours->counts[i])
			printf("# %s, %s: %llu waits in bucket %u, the log %llu\n", load,
			       groups[where].name, (unsigned long long)counted, i,
			       (unsigned long long)ours->counts[i]);
	}
	check(differences <= nr_missing, "%s, %s: %llu waits, by length as in the log", load,
	      groups[where].name, (unsigned long long)latency_count(ours));
	check(nr_missing || (last->sum_ns - first->sum_ns == ours->sum_ns &&
			     last->longest_ns >= ours->longest_ns),
	      "%s, %s: their sum, %.3f ms, is the log's %.3f ms, and none is longer than %.3f ms",
	      load, groups[where].name, (double)(last->sum_ns - first->sum_ns) / 1e6,
	      (double)ours->sum_ns / 1e6, (double)last->longest_ns / 1e6);
}

/* What the observer has counted by now. */
struct reading {
	struct observe_usage usages[NR_WHERE];
	struct latency latencies[NR_WHERE];
};

static bool read_all(struct observer *observer, struct reading *ret_reading)
{
	for (int i = DATABASE; i < NR_WHERE; i++)
		if (observe_usage(observer, groups[i].id, &ret_reading->usages[i]) ||
		    observe_latency(observer, groups[i].id, &ret_reading->latencies[i]))
			return false;
	return true;
}

static void run_load(struct observer *observer, struct switch_log *skeleton,
		     const struct switch_record *records, const struct load *load)
{
	struct reading first, last;
	uint64_t nr_before, nr;

	__atomic_store_n(&skeleton->bss->nr_records, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&skeleton->bss->is_on, 1, __ATOMIC_RELEASE);
	if (load->quota && write_file(groups[DATABASE].path, "cpu.max", load->quota))
		return check(false, "%s: set cpu.max", load->name);
	if (!add_tasks(load) || !read_all(observer, &first)) {
		end_tasks();
		return check(false, "%s: start the tasks", load->name);
	}
	for (int i = 0; i < nr_tasks; i++) {
		tasks[i].run_delay_ns = read_run_delay(tasks[i].pid);
		tasks[i].cpu = UINT32_MAX;
		tasks[i].waited_ns = 0;
	}
	nr_before = __atomic_load_n(&skeleton->bss->nr_records, __ATOMIC_ACQUIRE);
	/* one after the other: so that their first waits are not longer than the observer can explain */
	for (int i = 0; i < nr_tasks; i++) {
		kill(tasks[i].pid, SIGCONT);
		pause_us(5000);
	}
	pass_window();
	signal_all(SIGSTOP);
	check(await_stop() && read_all(observer, &last), "%s: all tasks stop", load->name);
	__atomic_store_n(&skeleton->bss->is_on, 0, __ATOMIC_RELEASE);
	pause_us(1000);
	nr = __atomic_load_n(&skeleton->bss->nr_records, __ATOMIC_ACQUIRE);
	check(nr > 100 && nr <= SWITCH_LOG_RECORDS, "%s: the log holds all %llu records",
	      load->name, (unsigned long long)nr);
	if (nr <= SWITCH_LOG_RECORDS) {
		uint64_t nr_missing = replay(records, nr_before, nr);

		if (nr_missing)
			printf("# %s: %llu switches were not traced\n", load->name,
			       (unsigned long long)nr_missing);
		for (int i = DATABASE; i < NR_WHERE; i++) {
			compare(load->name, (enum where)i, &first.usages[i], &last.usages[i]);
			compare_lengths(load->name, (enum where)i, &first.latencies[i],
					&last.latencies[i], nr_missing);
		}
	}
	end_tasks();
	if (load->quota)
		write_file(groups[DATABASE].path, "cpu.max", "max 100000");
}

/* --- the run ------------------------------------------------------------------------------------- */

static bool prepare(void)
{
	unsigned int cpus[CPUSET_MAX], nr = 0;

	if (places_open(&topology) || find_mount())
		return log_err(-ENOENT, "test: needs sysfs and a cgroup2 mount") == 0;
	cpuset_for_each (cpu, &topology.all)
		cpus[nr++] = cpu;
	driver_cpu = cpus[0];
	first_cpu = cpus[nr - 1];
	second_cpu = cpus[nr > 1 ? nr - 2 : 0];
	return !make_groups() && !set_cpus(0, driver_cpu, false);
}

static struct observer *open_observer(void)
{
	const struct observe_setup setup = {.topology = &topology, .max_containers = NR_WHERE};
	struct observer *observer cleanup_observer = NULL;

	if (observe_open(&setup, &observer))
		return NULL;
	for (int i = DATABASE; i < NR_WHERE; i++) {
		const struct observe_group group = {.cgroup_id = groups[i].id,
						    .level = 3,
						    .pod = groups[i].pod,
						    .cpus = &topology.all};
		uint32_t slot;

		if (observe_claim(observer, &group, &slot))
			return NULL;
	}
	return TAKE_PTR(observer);
}

static const struct switch_record *open_log(struct switch_log *skeleton)
{
	size_t size = SWITCH_LOG_RECORDS * sizeof(struct switch_record);
	void *memory;

	if (switch_log__load(skeleton) || switch_log__attach(skeleton))
		return NULL;
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.records), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
	struct observer *observer cleanup_observer = NULL;
	struct switch_log *skeleton cleanup_log = NULL;
	const struct switch_record *records;

	log_open("causes-test", LOG_LEVEL_INFO);
	if (!prepare())
		return 1;
	observer = open_observer();
	skeleton = switch_log__open();
	records = observer && skeleton ? open_log(skeleton) : NULL;
	if (!records)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		if (argc > 1 && strcmp(argv[1], loads[i].name))
			continue;
		if (loads[i].quota && !has_quota)
			printf("# no cpu controller: %s is not tested\n", loads[i].name);
		else
			run_load(observer, skeleton, records, &loads[i]);
	}
	remove_groups();
	printf("1..%d\n", nr_passed + nr_failed);
	return nr_failed ? 1 : 0;
}
